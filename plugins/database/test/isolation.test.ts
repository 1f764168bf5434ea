/** Tests the isolation level of transactions, with the defaults of a server that differ. */
import { type AddressInfo, createServer, connect as openSocket } from 'node:net'
import { IsolationLevel } from '@mikro-orm/core'
import { database } from '@plinth/database'
import { rejectsWith, startForTest } from '@plinth/dev/testing'
import { skipPgbouncer, skipWithoutMariadbPrograms, startMariadb, startPgbouncer } from '@plinth/dev/testing/database'
import { healthCheck, type JsonValue, type Role } from '@plinth/kernel'
import type { Kysely } from 'kysely'
import t, { type Test } from 'tap'
import { createDatabase, dialectSkip, onEachDatabase, productOn, runOnServer } from './fixtures/databases.ts'
import samplePlugin from './fixtures/sample-plugin.ts'

async function startOn(t: Test, { config }: { readonly config: Readonly<Record<string, JsonValue>> }, role?: Role) {
  const product = productOn({ config }, samplePlugin)
  const running = await startForTest(product, role === undefined ? {} : { roles: [role] })
  t.teardown(() => running.stop('test ended'))
  return running
}

const levelQueries = {
  postgresql: `select current_setting('transaction_isolation') as level`,
  mariadb: 'select @@session.tx_isolation as level',
} as const

for (const { dialect, setting, throughPooler = false } of [
  { dialect: 'postgresql', setting: 'read committed' },
  { dialect: 'postgresql', setting: 'repeatable read' },
  { dialect: 'postgresql', setting: 'serializable' },
  { dialect: 'postgresql', setting: 'repeatable read', throughPooler: true },
  { dialect: 'mariadb', setting: 'repeatable read' },
] as const) {
  const title = `transactions are read committed (${dialect}${throughPooler ? ' with a pooler' : ''}, default ${setting})`
  const skip = dialectSkip(dialect) || (throughPooler && skipPgbouncer)
  t.test(title, { skip, timeout: 600_000 }, async (t) => {
    const db = await createDatabase(dialect)
    t.teardown(() => db.drop())
    if (dialect === 'postgresql') {
      const name = db.config['platform.database.name']
      await runOnServer(dialect, `alter database ${name} set default_transaction_isolation = '${setting}'`)
    }
    const config: Record<string, JsonValue> = { ...db.config }
    if (throughPooler) {
      const pooler = await startPgbouncer({ poolSize: 2 })
      t.teardown(() => pooler.drop())
      config['platform.database.port'] = pooler.port
    }
    const service = (await startOn(t, { config })).service(database)
    const level = async () => (await service.query<{ level: string }>(levelQueries[dialect]))[0]?.level
    if (dialect === 'postgresql') t.equal(await level(), setting, 'the server has this default')
    const levels = {
      transactional: await service.transactional(level),
      statements: await service.statements(level),
      orm: await service.fork().transactional(level),
      readOnly: await service.fork().transactional(level, { readOnly: true }),
      requested: await service.fork().transactional(level, { isolationLevel: IsolationLevel.READ_COMMITTED }),
      savepoint: await service.transactional((em) => em.transactional(level)),
    }
    const expected = dialect === 'postgresql' ? 'read committed' : 'READ-COMMITTED'
    t.same(levels, Object.fromEntries(Object.keys(levels).map((way) => [way, expected])))
  })
}

onEachDatabase(t, 'a transaction that requests another isolation level is rejected', async (t, db) => {
  const service = (await startOn(t, db)).service(database)
  const isolationLevel = IsolationLevel.SERIALIZABLE
  const kysely = () => service.fork().getKysely() as Kysely<unknown>
  const ways = {
    orm: () => service.fork().transactional(async () => {}, { isolationLevel }),
    begin: () => service.fork().begin({ isolationLevel }),
    savepoint: () => service.transactional((em) => em.transactional(async () => {}, { isolationLevel })),
    kysely: () =>
      kysely()
        .transaction()
        .setIsolationLevel('repeatable read')
        .execute(async () => {}),
  }
  // More attempts than the pool has connections: none of them keeps its connection.
  for (let round = 0; round < 4; round++) {
    for (const [way, begin] of Object.entries(ways)) {
      const level = way === 'kysely' ? 'repeatable read' : 'serializable'
      await rejectsWith(t, begin(), { code: 'PLINTH_DATABASE_TRANSACTION_ISOLATION', message: RegExp(level) })
    }
  }
  const update = `update sample_counter set value = value + 1 where name = 'first'`
  t.equal(await service.statements(() => service.execute(update)), 1)
})

/** Starts a proxy that replaces the isolation level which the product requests, without an error. */
async function startReplacingProxy(t: Test, target: number): Promise<number> {
  // Both texts have the same length, because messages of both protocols contain their length.
  const replace = (chunk: Buffer) =>
    Buffer.from(
      chunk.toString('latin1').replaceAll('isolation level read committed', 'isolation level serializable  '),
      'latin1',
    )
  const proxy = createServer((client) => {
    const server = openSocket({ host: '127.0.0.1', port: target })
    for (const [from, to] of [[client, server] as const, [server, client] as const]) {
      from.on('error', () => {})
      from.on('close', () => to.destroy())
    }
    client.on('data', (chunk) => void server.write(replace(chunk)))
    server.pipe(client)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void proxy.close())
  return (proxy.address() as AddressInfo).port
}

for (const [dialect, port] of [
  ['postgresql', 5432],
  ['mariadb', 3306],
] as const) {
  const title = `a server that replaces the isolation level is reported, and the product does not start (${dialect})`
  t.test(title, { skip: dialectSkip(dialect), timeout: 600_000 }, async (t) => {
    const db = await createDatabase(dialect)
    t.teardown(() => db.drop())
    const config = { ...db.config, 'platform.database.port': await startReplacingProxy(t, port) }
    const rejected = { code: 'PLINTH_DATABASE_SERVER_ISOLATION', message: /"serializable"/ }
    await rejectsWith(t, startForTest(productOn({ config }, samplePlugin)), {
      code: 'PLINTH_START_FAILED',
      cause: rejected,
    })
    const command = await startOn(t, { config }, 'cli')
    const check = command.contributions(healthCheck).get('database')
    await rejectsWith(t, Promise.resolve(check?.(new AbortController().signal)), rejected)
    const probing = await startOn(t, db)
    const { settings } = db
    if (settings.type === 'sqlite') return
    const target = { ...settings, port: config['platform.database.port'] }
    await rejectsWith(t, probing.service(database).probe(target), rejected)
  })
}

t.test(
  'the defaults of a MariaDB server do not change when work commits',
  { skip: skipWithoutMariadbPrograms, timeout: 600_000 },
  async (t) => {
    const defaults = { autocommit: 0, 'completion-type': 'CHAIN', 'transaction-isolation': 'SERIALIZABLE' }
    const server = await startMariadb(defaults)
    t.teardown(() => server.drop())
    const access = { 'platform.database.type': 'mariadb', 'platform.database.username': 'root' }
    const config = { ...access, 'platform.database.port': server.port }
    const writer = (await startOn(t, { config })).service(database)
    const reader = (await startOn(t, { config })).service(database)
    const add = () => writer.execute(`update sample_counter set value = value + 1 where name = 'first'`)
    const stored = async () => {
      const [row] = await reader.query<{ value: unknown }>(`select value from sample_counter where name = 'first'`)
      return Number(row?.value)
    }
    const before = await stored()
    await add()
    t.equal(await stored(), before + 1, 'a statement outside a transaction commits')
    await writer.statements(add)
    await add()
    t.equal(await stored(), before + 3, 'no transaction follows a transaction')
    t.equal(
      await writer.statements(async () => (await writer.query<{ level: string }>(levelQueries.mariadb))[0]?.level),
      'READ-COMMITTED',
    )
  },
)
