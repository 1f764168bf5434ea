import type { LocalizedText, PersonalDataSubject, PersonalTable } from '@plinth/kernel'
import { type Database, exactInteger } from '../contract.ts'
import type { Parameter } from './bound-parameters.ts'
import { updateRows } from './insert-rows.ts'
import { type ExpiredRows, purgeOldRows } from './purge.ts'
import {
  type Column,
  columnOf,
  type Entity,
  type PropertyOf,
  type RowChanges,
  type Table,
  tableOf,
} from './row-table.ts'
import { parameterOf } from './row-values.ts'
import { Selection } from './selection.ts'

/**
 * How a row refers to its owner. All members are names in the database, never input of a caller.
 *
 * - text: column with the id of a user, such as `owner_id`
 * - `type` and `id`: columns with the type of the owner (`user` for users) and its id as decimal text
 * - `user` and `org`: columns with the id of a user, or of an organisation for rows of several users. Either may be
 *   null.
 * - `through`: table with the row that belongs to the user. Its column `key` equals `column` of this row.
 */
export type RowOwner =
  | string
  | { readonly type: string; readonly id: string }
  | { readonly user: string; readonly org: string }
  | { readonly column: string; readonly through: string; readonly key: string; readonly owner: RowOwner }

/** SQL condition with a `?` for each parameter. */
interface SqlCondition {
  readonly sql: string
  readonly parameters: readonly (string | number)[]
}

/**
 * @param alias name of the table in the statement
 * @param depth level of nesting, for unique names
 */
export function rowsOfUser(alias: string, owner: RowOwner, userId: number, depth = 0): SqlCondition {
  if (typeof owner === 'string') return { sql: `${alias}.${owner} = ?`, parameters: [userId] }
  if ('type' in owner) {
    return { sql: `${alias}.${owner.type} = 'user' and ${alias}.${owner.id} = ?`, parameters: [String(userId)] }
  }
  if ('user' in owner) return rowsOfUser(alias, owner.user, userId)
  const linked = `owner_${depth}`
  const { sql, parameters } = rowsOfUser(linked, owner.owner, userId, depth + 1)
  return { sql: rowsThroughSql(alias, owner, linked, sql), parameters }
}

/**
 * Returns a condition for rows that refer to a row of another table.
 *
 * @param linked name of the other table in `sql`
 * @param sql condition for the row of the other table
 */
export const rowsThroughSql = (
  alias: string,
  { column, through, key }: Extract<RowOwner, { readonly through: string }>,
  linked: string,
  sql: string,
): string => `exists (select 1 from ${through} ${linked} where ${linked}.${key} = ${alias}.${column} and ${sql})`

/**
 * How a row refers to a user. In addition to `RowOwner`:
 *
 * - `actor`: column with `user:<id>`
 * - `username`: column with the name that the user had at that time
 * - `where`: any other condition, which uses the `columns` of the table
 */
export type PersonalOwner =
  | RowOwner
  | { readonly actor: string }
  | { readonly username: string }
  | { readonly columns: readonly string[]; readonly where: (userId: number) => PersonalCondition }

export interface PersonalCondition {
  readonly sql: string
  readonly parameters: readonly Parameter[]
}

interface Removed {
  readonly erasure: 'removed'
  /** See the same member of `ExpiredRows`. */
  readonly dependents?: ExpiredRows['dependents']
  /** See the same member of `ExpiredRows`. */
  readonly tally?: ExpiredRows['tally']
}

interface Anonymised<E extends Entity> {
  readonly erasure: 'anonymised'
  /** Values that replace the personal data: null, `erasedName`, or an empty text, list or object. */
  readonly set: RowChanges<E>
  readonly reason: LocalizedText
}

interface Kept {
  readonly erasure: 'kept'
  readonly reason: LocalizedText
}

type PersonalRows<E extends Entity> = (Removed | Anonymised<E> | Kept) & {
  readonly title: LocalizedText
  readonly owner: PersonalOwner
  /** Properties that are not exported, for example secrets or data of other users. */
  readonly omit?: readonly PropertyOf<E>[]
}

/** Replaces the name of an erased user in required columns. */
export const erasedName = 'erased-user'

type Values = Readonly<Record<string, unknown>>

const pageSize = 500
/** Number of rows that one transaction anonymises. */
const stepSize = 100

/**
 * Declares the rows of users in one table, for `personalData`. If the table has no primary key `id`, one statement
 * removes all rows of a user.
 *
 * @example
 * contribute(personalData, 'shop', [
 *   personalTable(db, Order, { title, owner: 'user_id', erasure: 'kept', reason }),
 *   personalTable(db, Review, { title, owner: 'user_id', erasure: 'removed' }),
 * ])
 */
export function personalTable<E extends Entity>(db: Database, entity: E, rows: PersonalRows<E>): PersonalTable {
  const table = tableOf(entity)
  const { title, owner, omit = [] } = rows
  const omitted: ReadonlySet<string> = new Set(omit)
  const exported = table.columns.filter(({ property, isPrimary }) => isPrimary || !omitted.has(property))
  const ofPerson = (person: PersonalDataSubject) => conditionOf(table.name, owner, person)
  const common = {
    table: table.name,
    title,
    columns: columnsOf(owner),
    read: (person: PersonalDataSubject) =>
      readRows(db, { table, columns: exported, where: ofPerson(person), size: pageSize }),
    count: (person: PersonalDataSubject) => countRows(db, table, ofPerson(person)),
  }
  switch (rows.erasure) {
    case 'kept':
      return { ...common, erasure: 'kept', reason: rows.reason, erase: async () => 0 }
    case 'removed': {
      const { dependents, tally } = rows
      return {
        ...common,
        erasure: 'removed',
        async erase(person, signal) {
          const where = ofPerson(person)
          if (where === undefined) return 0
          const { sql, parameters } = where
          if (table.byProperty.get('id') === undefined)
            return db.execute(`delete from ${table.name} where ${sql}`, parameters)
          const old = { table: table.name, where: sql, parameters, orderBy: 'id', dependents, tally }
          return removeRows(db, old, signal)
        },
      }
    }
    case 'anonymised': {
      const changed = Object.entries(rows.set).map(([property, value]) => [columnOf(table, property), value] as const)
      const values: Values = { ...rows.set }
      const differs = differing(db, table.name, changed)
      const pending = (person: PersonalDataSubject) => {
        const where = ofPerson(person)
        return where && both(where, differs)
      }
      return {
        ...common,
        erasure: 'anonymised',
        overwritten: changed.map(([{ name }]) => name),
        reason: rows.reason,
        count: (person) => countRows(db, table, pending(person)),
        async erase(person, signal) {
          let erased = 0
          const walk = { table, columns: keysOf(table), where: pending(person), size: stepSize }
          for await (const page of pagesOf(db, walk)) {
            signal.throwIfAborted()
            await db.transactional(async () => {
              for (const key of page) await updateRows<Entity, Values, Values>(db, entity, key, values)
            })
            erased += page.length
            await db.checkpointed()
          }
          return erased
        },
      }
    }
  }
}

/** @throws the reason of the signal if it aborts */
export async function removeRows(db: Database, rows: ExpiredRows, signal: AbortSignal): Promise<number> {
  let removed = 0
  for (;;) {
    const step = await purgeOldRows(db, rows, { signal })
    signal.throwIfAborted()
    if (step === 0) return removed
    removed += step
  }
}

/** Returns `undefined` if the rows contain only the user name, and the name is not known. */
function conditionOf(
  table: string,
  owner: PersonalOwner,
  { userId, username }: PersonalDataSubject,
): PersonalCondition | undefined {
  if (typeof owner === 'string') return rowsOfUser(table, owner, userId)
  if ('where' in owner) return owner.where(userId)
  if ('actor' in owner) return { sql: `${table}.${owner.actor} = ?`, parameters: [`user:${userId}`] }
  if ('username' in owner) {
    return username === undefined ? undefined : { sql: `${table}.${owner.username} = ?`, parameters: [username] }
  }
  return rowsOfUser(table, owner, userId)
}

function columnsOf(owner: PersonalOwner): readonly string[] {
  if (typeof owner === 'string') return [owner]
  if ('where' in owner) return owner.columns
  if ('through' in owner) return [owner.column]
  if ('type' in owner) return [owner.type, owner.id]
  if ('user' in owner) return [owner.user]
  return Object.values(owner)
}

const both = (one: PersonalCondition, other: PersonalCondition): PersonalCondition => ({
  sql: `(${one.sql}) and (${other.sql})`,
  parameters: [...one.parameters, ...other.parameters],
})

function differing(
  { dialect }: Pick<Database, 'dialect'>,
  table: string,
  values: readonly (readonly [Column, unknown])[],
): PersonalCondition {
  const type = dialect === 'mysql' || dialect === 'mariadb' ? 'char' : 'text'
  const terms = values.map(([column, value]) => {
    const name = `${table}.${column.name}`
    if (value === null) return { sql: `${name} is not null`, parameters: [] }
    const text = column.kind === 'json' ? `cast(${name} as ${type})` : name
    return { sql: `${text} <> ?`, parameters: [parameterOf(column, value)] }
  })
  return { sql: terms.map(({ sql }) => sql).join(' or '), parameters: terms.flatMap(({ parameters }) => parameters) }
}

async function countRows(db: Database, { name }: Table, where: PersonalCondition | undefined): Promise<number> {
  if (where === undefined) return 0
  const { sql, parameters } = where
  const [row] = await db.query<{ total: unknown }>(`select count(*) as total from ${name} where ${sql}`, parameters)
  return exactInteger(row?.total)
}

interface Walk {
  readonly table: Table
  /** Columns to read. They include the primary key. */
  readonly columns: readonly Column[]
  readonly where: PersonalCondition | undefined
  /** Number of rows per page. */
  readonly size: number
}

const keysOf = ({ columns }: Table) => columns.filter(({ isPrimary }) => isPrimary)

async function* readRows(db: Database, walk: Walk): AsyncGenerator<object> {
  for await (const page of pagesOf(db, walk)) yield* page
}

/** Reads in the order of the primary key, so that each row is visited once although rows change. */
async function* pagesOf(db: Database, { table, columns, where, size }: Walk): AsyncGenerator<readonly Values[]> {
  if (where === undefined) return
  const keys = keysOf(table)
  const order = keys.map(({ name }) => `${table.name}.${name}`)
  const selection = new Selection<Values>(table, columns)
  let after: PersonalCondition = { sql: '1 = 1', parameters: [] }
  for (;;) {
    const { sql, parameters } = both(where, after)
    const end = `order by ${order.join(', ')} limit ${size}`
    const page = await selection.select(db, `where ${sql} ${end}`, parameters)
    if (page.length > 0) yield page
    const last = page.at(-1)
    if (last === undefined || page.length < size) return
    after = following(
      order,
      keys.map((key) => parameterOf(key, last[key.property])),
    )
  }
}

function following(columns: readonly string[], position: readonly Parameter[]): PersonalCondition {
  const terms = columns.map((column, at) =>
    [...columns.slice(0, at).map((equal) => `${equal} = ?`), `${column} > ?`].join(' and '),
  )
  return {
    sql: terms.map((term) => `(${term})`).join(' or '),
    parameters: columns.flatMap((_, at) => position.slice(0, at + 1)),
  }
}
