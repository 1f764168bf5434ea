import { randomBytes } from 'node:crypto'

/** A right on tables that the product needs: `alter` includes indexes, `write` includes reading, changing and deleting. */
export type TableRight = 'create' | 'alter' | 'write' | 'drop'

export interface MissingRight {
  readonly right: TableRight
  /** The error of the database. */
  readonly error: unknown
}

const statements = (table: string): readonly (readonly [TableRight, string])[] => [
  ['create', `create table ${table} (id integer not null)`],
  ['alter', `create unique index ${table}_unique on ${table} (id)`],
  ['alter', `alter table ${table} add column note varchar(16)`],
  ['write', `insert into ${table} (id, note) values (1, 'probe')`],
  ['write', `update ${table} set note = 'changed' where id = 1`],
  ['write', `select note from ${table}`],
  ['write', `delete from ${table} where id = 1`],
]

/**
 * Creates a table with a random name, changes it, writes to it and drops it.
 *
 * @param execute runs one statement that commits
 * @returns the first right that is missing; the table remains only where it is `drop`
 */
export async function findMissingRight(execute: (sql: string) => Promise<unknown>): Promise<MissingRight | undefined> {
  const table = `plinth_preflight_${randomBytes(6).toString('hex')}`
  let missing: MissingRight | undefined
  for (const [right, sql] of statements(table)) {
    await execute(sql).catch((error: unknown) => {
      missing = { right, error }
    })
    if (missing !== undefined) break
  }
  if (missing?.right === 'create') return missing
  await execute(`drop table ${table}`).catch((error: unknown) => {
    missing ??= { right: 'drop', error }
  })
  return missing
}
