import type { Dialect } from '@plinth/migrations'
import { CompiledQuery, type Kysely } from 'kysely'
import type { ServerInfo } from '../contract.ts'

const versionQuery: Readonly<Record<Dialect, string>> = {
  sqlite: 'select sqlite_version() as version',
  postgresql: `select current_setting('server_version') as version`,
  mysql: 'select version() as version',
  mariadb: 'select version() as version',
}

/** Asks the server who it is. MySQL and MariaDB speak one protocol, so the answer counts, not the setting. */
export async function readServerInfo(db: Kysely<unknown>, dialect: Dialect): Promise<ServerInfo> {
  const { rows } = await db.executeQuery<{ version: string }>(CompiledQuery.raw(versionQuery[dialect]))
  const version = rows[0]?.version ?? ''
  if (dialect === 'sqlite') return { product: 'SQLite', version }
  if (dialect === 'postgresql') return { product: 'PostgreSQL', version }
  return { product: /mariadb/i.test(version) ? 'MariaDB' : 'MySQL', version }
}
