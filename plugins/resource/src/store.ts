import { setImmediate as nextTurn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import {
  findPage,
  insertRow,
  type PageWindow,
  selectionOf,
  type TextSearch,
  versionConflictData,
} from '@plinth/database'
import { bulkResultOf } from '@plinth/http'
import { callerRows, type Operator, outOfScope } from '@plinth/iam'
import { type AuditSummary, auditFieldsOfCaller, maskedValue, writeAuditEntry } from '@plinth/kernel'
import { assertColumns, reasonedUniques } from '@plinth/table'
import { type AnyHooks, type Definition, type Reach, type Row, versionConflict } from './definition.ts'
import type { ImportMode, RowError } from './import.ts'
import type { ResourceParts, RowIn, Work } from './options.ts'

/** The caller of an operation, and the rows that it may reach. */
export interface Caller {
  /** Throws a business error if the caller is not a user. Only operations that need the user call it. */
  readonly operator: () => Operator
  readonly reach: Reach
}

/** Reads and writes rows in the data scope of an operator, with version, unique values and audit. */
export interface Store<S> {
  /**
   * @param version version that the caller has read, if any
   * @throws BusinessError "404" if the row does not exist or is outside the data scope, "409" for another version
   */
  get(id: number, version?: number): Promise<RowIn<S>>
  /** Returns the rows with these ids in the data scope, in the order of their ids. */
  getAll(ids: readonly number[]): Promise<readonly RowIn<S>[]>
  /**
   * Inserts a row. Columns that `columns` omits get their default.
   *
   * @throws BusinessError "403" `iam.out-of-scope`, "409" the reason of a unique value that another row has
   */
  create(columns: Partial<RowIn<S>>): Promise<RowIn<S>>
  /**
   * Changes columns of a row that `get` returned, if nobody else has changed it since then.
   *
   * @param verb second word of the action in the audit, such as `update`
   * @param options `summary`: summary of the audit entry; default: that of the resource
   * @throws BusinessError "404", "409" for another version; the errors of `create`
   */
  change(
    before: RowIn<S>,
    columns: Partial<RowIn<S>>,
    verb: string,
    options?: { readonly summary?: AuditSummary },
  ): Promise<RowIn<S>>
  /** Removes rows that `getAll` returned, without those that have changed since then. Returns their number. */
  removeAll(rows: readonly RowIn<S>[]): Promise<number>
  /** Removes the rows with these ids. Returns the response of the operation, with the outcome of each row. */
  removeEach(ids: readonly number[]): Promise<BulkResult>
}

type BulkResult = ReturnType<typeof bulkResultOf>

/** Options of a write. */
interface WriteOptions {
  readonly hooks?: AnyHooks
  /** The request, for the hooks. */
  readonly input?: unknown
  readonly summary?: AuditSummary
}

/** Numbers of rows after which other work gets a turn, and that one query compares. */
const rowsPerTurn = 50
const rowsPerQuery = 100

/** A row of an import: its index in the request, the checked request, and its columns. */
interface NewRow {
  readonly row: number
  readonly input: Row
  readonly columns: Row
}

/** One write. `columns` are those that the caller or the code has set. */
interface Write extends WriteOptions {
  readonly verb: string
  /** The stored row; `undefined` for a new row. */
  readonly before: Row | undefined
  /** The row after the write, or the removed row. */
  readonly row: Row
  readonly columns: Row
  readonly isRemoval?: true
}

/** A unique index rejected the row of the resource itself, not a row that a hook has written. */
class TakenValueError extends Error {
  override readonly name = 'TakenValueError'
  readonly row: Row

  constructor(row: Row, cause: unknown) {
    super('A unique index rejected the row.', { cause })
    this.row = row
  }
}

/** Rows of one resource, for one caller. Each write is one transaction: statement, hook, audit. */
export class RowStore {
  readonly #definition: Definition
  readonly #parts: ResourceParts<unknown>
  readonly #caller: Caller

  constructor(definition: Definition, parts: ResourceParts<unknown>, caller: Caller) {
    this.#definition = definition
    this.#parts = parts
    this.#caller = caller
  }

  /** Returns what hooks receive. */
  get work(): Work<unknown> {
    return { parts: this.#parts.parts, operator: this.#caller.operator(), now: this.#now }
  }

  /** Returns a page of the rows that the caller may reach. */
  async find(where: object, window: PageWindow, search: TextSearch) {
    const reached = { $and: [where, await this.#rows()] }
    const { unread } = this.#definition.shape
    return findPage<Row>(this.#db.fork(), this.#entity, reached, window, { search, exclude: unread })
  }

  /**
   * @param version version that the caller has read, if any
   * @throws BusinessError "404" if the row does not exist or the caller may not reach it, "409" for another version
   */
  async get(id: number, version?: number): Promise<Row> {
    const [row] = await this.getAll([id])
    if (row === undefined) throw this.#definition.error(this.#definition.notFound, { params: { id } })
    if (version !== undefined && version !== row['version']) throw this.#conflict(row)
    return row
  }

  /** Returns the rows with these ids that the caller may reach, in the order of their ids. */
  async getAll(ids: readonly number[]): Promise<readonly Row[]> {
    const where = { $and: [{ id: { $in: [...ids] } }, await this.#rows()] }
    const found = await this.#db.fork().find<Row>(this.#entity, where, { orderBy: { id: 'asc' } as never })
    const selection = selectionOf(this.#definition.table.entity)
    return found.map((row) => selection.of(row as never) as Row)
  }

  async create(columns: Row, options: WriteOptions = {}): Promise<Row> {
    const set = await this.#prepared(columns, undefined, options)
    const row = { ...this.#newRow(), ...set, id: this.#db.newId() }
    await this.#commit({ ...options, verb: 'create', before: undefined, row, columns: set })
    return row
  }

  /**
   * Checks new rows, and creates them in one transaction. A row with an error is not created. If one of the others cannot be
   * written, nothing is.
   *
   * @param mode `check`: creates nothing. `all`: creates nothing if a row has an error
   * @param isFaulty true if another row of the import already has an error
   */
  async createEach(rows: readonly NewRow[], mode: ImportMode, isFaulty: boolean, hooks: AnyHooks) {
    // Reads the data scope also if no row is left to be checked against it.
    await this.#rows()
    const errors: RowError[] = []
    const writes: (Write & { readonly index: number })[] = []
    for (const { row: index, input, columns } of await this.#free(rows, errors)) {
      if (index % rowsPerTurn === 0) await nextTurn()
      try {
        const set = await this.#prepared(columns, undefined, { hooks, input })
        const row = { ...this.#newRow(), ...set, id: this.#db.newId() }
        writes.push({ index, hooks, input, verb: 'create', before: undefined, row, columns: set })
      } catch (error) {
        errors.push({ row: index, error })
      }
    }
    const valid = writes.length
    const hasErrors = isFaulty || errors.length > 0
    // The claim of an idempotency key is part of a transaction, also if there is nothing to write.
    const rejected = async (result: { readonly valid: number; readonly errors: readonly RowError[] }) => {
      await this.#db.transactional(async () => undefined)
      return { ...result, created: 0 }
    }
    if (mode === 'check' || valid === 0 || (mode === 'all' && hasErrors)) return rejected({ valid, errors })
    let written = 0
    try {
      await this.#transactional(async (em) => {
        for (written = 0; written < writes.length; written++) {
          if (written % rowsPerTurn === 0) await nextTurn()
          await this.#apply(em, writes[written] as Write)
        }
      })
      return { valid, created: valid, errors }
    } catch (error) {
      const failed = writes[written]
      if (failed === undefined) throw error
      return rejected({ valid: valid - 1, errors: [...errors, { row: failed.index, error }] })
    }
  }

  /** Returns the rows without a unique value that an earlier row of the import or a stored row has. */
  async #free(rows: readonly NewRow[], errors: RowError[]): Promise<readonly NewRow[]> {
    let free = rows
    for (const { columns: names, reason } of reasonedUniques(this.#definition.table)) {
      const keyOf = (row: Row) => JSON.stringify(names.map((name) => row[name] ?? null))
      const isValued = ({ columns }: NewRow) => names.every((name) => (columns[name] ?? null) !== null)
      const valued = free.filter(isValued)
      const taken = new Set<string>()
      for (let from = 0; from < valued.length; from += rowsPerQuery) {
        const some = valued.slice(from, from + rowsPerQuery)
        const where = { $or: some.map(({ columns }) => Object.fromEntries(names.map((name) => [name, columns[name]]))) }
        const found = await this.#db.fork().find<Row>(this.#entity, where, { fields: names as never })
        for (const row of found) taken.add(keyOf(row))
      }
      const isFree = (one: NewRow) => {
        if (!isValued(one)) return true
        const key = keyOf(one.columns)
        if (!taken.has(key)) return taken.add(key)
        const values = Object.fromEntries(names.map((name) => [name, one.columns[name]]))
        const error = this.#definition.error(reason, { params: values as never, data: { field: names[0] } })
        errors.push({ row: one.row, error })
        return false
      }
      free = free.filter(isFree)
    }
    return free
  }

  async change(before: Row, columns: Row, verb: string, options: WriteOptions = {}): Promise<Row> {
    const set = await this.#prepared(columns, before, options)
    const { username: updatedBy } = this.#caller.operator().principal
    const edited = this.#definition.table.hasEdits
      ? { version: Number(before['version']) + 1, updatedAt: this.#now, updatedBy }
      : {}
    const row = { ...before, ...set, ...edited }
    await this.#commit({ ...options, verb, before, row, columns: set })
    return row
  }

  async remove(before: Row, options: WriteOptions): Promise<void> {
    await this.#commit(await this.#removalOf(before, options))
  }

  /** Removes rows in one transaction, without those that another transaction changes meanwhile. Returns their number. */
  async removeAll(rows: readonly Row[], options: WriteOptions = {}): Promise<number> {
    return (await this.#removed(rows, options)).size
  }

  /** Removes the rows with these ids that the caller may reach, in one transaction. */
  async removeEach(ids: readonly number[], options: WriteOptions = {}): Promise<BulkResult> {
    const rows = await this.getAll(ids)
    const found = new Set(rows.map(({ id }) => Number(id)))
    const removed = await this.#removed(rows, options)
    return bulkResultOf(ids, (id) => (removed.has(id) ? 'done' : found.has(id) ? 'changed' : 'unknown'))
  }

  /** Returns the ids of the removed rows. */
  async #removed(rows: readonly Row[], options: WriteOptions): Promise<ReadonlySet<number>> {
    const writes: Write[] = []
    for (const row of rows) writes.push(await this.#removalOf(row, options))
    return this.#transactional(async (em) => {
      const removed = new Set<number>()
      for (const write of writes) if (await this.#apply(em, write)) removed.add(Number(write.row['id']))
      return removed
    })
  }

  async #removalOf(before: Row, options: WriteOptions): Promise<Write> {
    await this.#prepared({}, before, options)
    return { ...options, verb: 'delete', before, row: before, columns: {}, isRemoval: true }
  }

  /** Checks the columns, and returns them with those of the hook. */
  async #prepared(columns: Row, before: Row | undefined, { hooks, input }: WriteOptions): Promise<Row> {
    await this.#assertUsers(columns)
    const set: Row = { ...columns, ...Object(await hooks?.prepare?.({ ...this.work, input, before })) }
    assertColumns(this.#definition.table, set)
    return set
  }

  async #commit(write: Write): Promise<void> {
    await this.#transactional(async (em) => {
      if (!(await this.#apply(em, write))) throw this.#conflict(await this.get(Number(write.row['id'])))
    })
  }

  async #transactional<T>(work: (em: SqlEntityManager) => Promise<T>): Promise<T> {
    try {
      return await this.#db.transactional(work)
    } catch (error) {
      throw error instanceof TakenValueError ? await this.#takenError(error.row, error.cause) : error
    }
  }

  /** Returns false if another transaction has changed or removed the row since it was read. */
  async #apply(em: SqlEntityManager, write: Write): Promise<boolean> {
    const { before, row, hooks, input } = write
    if ((await this.#execute(em, write)) === 0) return false
    await this.#assertReached(em, write)
    const work = { ...this.work, row }
    await hooks?.inTransaction?.({ ...work, em, input, before })
    await this.#record(write)
    const afterCommit = hooks?.afterCommit
    if (afterCommit !== undefined) this.#db.afterCommit(async () => void (await afterCommit(work)))
    return true
  }

  /** Executes the statement. It affects the row only if version and owner are those that were read. */
  async #execute(em: SqlEntityManager, { before, row, columns, isRemoval }: Write): Promise<number> {
    const { entity, hasEdits, ownerProperties } = this.#definition.table
    if (before === undefined) {
      await assertFree(row, insertRow(this.#db, entity, row as never))
      return 1
    }
    const read = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, before[name]]))
    const where = read(['id', ...(hasEdits ? ['version'] : []), ...ownerProperties])
    if (isRemoval) return em.nativeDelete<Row>(this.#entity, where)
    const names = [...Object.keys(columns), ...(hasEdits ? ['version', 'updatedAt', 'updatedBy'] : [])]
    if (names.length === 0) return 1
    const values = Object.fromEntries(names.map((name) => [name, row[name]]))
    return assertFree(row, em.nativeUpdate<Row>(this.#entity, where, values))
  }

  /** Checks that a new owner is in the data scope, so that nobody moves a row out of their own reach. */
  async #assertReached(em: SqlEntityManager, { row, columns, before }: Write): Promise<void> {
    const { ownerProperties, columns: described } = this.#definition.table
    const { reach, operator } = this.#caller
    if (reach === 'all' || reach === 'none' || (reach === 'caller' && operator().principal.dataScope === 'all')) return
    const chosen = ownerProperties.filter((name) => before === undefined || name in columns)
    // The caller reaches itself, and `#assertUsers` has checked a user whom the caller has chosen.
    const isKnown = (name: string) => {
      const role = described[name]?.description.role
      return role === 'caller' || (role === 'user' && row[name] !== null && reach === 'caller')
    }
    if (chosen.every(isKnown)) return
    const reached = await em.count<Row>(this.#entity, { $and: [{ id: row['id'] }, await this.#rows()] })
    if (reached === 0) throw outOfScope(chosen[0])
  }

  /** @throws BusinessError "403" `iam.out-of-scope` for a chosen user outside the data scope */
  async #assertUsers(columns: Row): Promise<void> {
    const { principal } = this.#caller.operator()
    for (const [name, value] of Object.entries(columns)) {
      const isUser = this.#definition.table.columns[name]?.description.role === 'user'
      if (isUser && typeof value === 'number') await this.#identity.assertInScope(principal, [value], name)
    }
  }

  /** Returns the error for a unique value. The database does not say in the same way which index rejected the row. */
  async #takenError(row: Row, cause: unknown): Promise<unknown> {
    // Rows may have the same values if one of them is null.
    const { table } = this.#definition
    const uniques = reasonedUniques(table).filter(({ columns }) => columns.every((name) => row[name] !== null))
    const em = this.#db.fork()
    for (const { columns, reason } of uniques) {
      const values = Object.fromEntries(columns.map((name) => [name, row[name]]))
      const isTaken =
        table.uniques.length === 1 || (await em.count<Row>(this.#entity, { ...values, id: { $ne: row['id'] } })) > 0
      const details = { params: values as never, data: { field: columns[0] }, cause }
      if (isTaken) return this.#definition.error(reason, details)
    }
    return cause
  }

  #conflict(row: Row) {
    const { table, error, notFound } = this.#definition
    if (!table.hasEdits) return error(notFound, { params: { id: Number(row['id']) } })
    return error(versionConflict, { data: versionConflictData(row as never) })
  }

  async #record(write: Write): Promise<void> {
    const { verb, row, columns } = write
    const { auditKind, options } = this.#definition
    if (auditKind === undefined || this.#caller.reach === 'own') return
    const summary = write.summary ?? options.audit?.summary?.(row, verb, columns) ?? this.#summaryOf(write)
    const action = `${auditKind}.${verb}`
    const entry = { ...auditFieldsOfCaller(this.#caller.operator()), action, subject: Number(row['id']), summary }
    await writeAuditEntry(this.#parts.services.kernel, entry)
  }

  /** Returns the name of the object, and the values that were set. Of a changed value also the one before. */
  #summaryOf({ row, columns, before }: Write): AuditSummary {
    const { name, table } = this.#definition
    const facts = Object.entries(columns).flatMap(([property, value]) => {
      const { isShown, isAudited } = table.columns[property]?.description ?? { isShown: false, isAudited: false }
      const old = before?.[property]
      if (!isShown || (before !== undefined && isDeepStrictEqual(old, value))) return []
      if (!isAudited) return [[property, maskedValue] as const]
      const was = before === undefined ? [] : [[`${property}Before`, auditable(old)] as const]
      return [[property, auditable(value)] as const, ...was]
    })
    return { ...(name === undefined ? {} : { [name]: auditable(row[name]) }), ...Object.fromEntries(facts) }
  }

  /** Returns the columns of a new row that neither the request nor a hook sets. */
  #newRow(): Row {
    const { userId, username } = this.#caller.operator().principal
    const { columns, hasEdits } = this.#definition.table
    const now = this.#now
    const values = Object.entries(columns).map(([name, { description }]) => {
      if (description.role === 'caller') return [name, userId]
      if (description.isCreation === true) return [name, now]
      return [name, description.defaultValue ?? (description.isNullable ? null : undefined)]
    })
    const edited = hasEdits ? { version: 1, updatedAt: now, updatedBy: username } : {}
    return { ...Object.fromEntries(values), ...edited }
  }

  /** Returns the condition for the rows that the caller may reach. */
  #rows(): object | Promise<object> {
    const { reach } = this.#caller
    const { table, options } = this.#definition
    if (reach === 'all' || reach === 'none') return {}
    const { principal } = this.#caller.operator()
    if (reach === 'caller' && options.rows !== undefined) return options.rows(principal, this.#parts.parts)
    if (table.owner === undefined) return {}
    return callerRows({ principal: reach === 'own' ? { ...principal, dataScope: 'self' } : principal }, table.owner)
  }

  get #db() {
    return this.#parts.services.database
  }
  get #identity() {
    const { identity } = this.#parts.services
    if (identity === undefined) throw new TypeError(`${this.#definition.table.name}: rows of users need iam.`)
    return identity
  }
  get #entity() {
    return this.#definition.table.entity as never
  }
  get #now() {
    return new Date(this.#db.clock.now())
  }
}

async function assertFree<T>(row: Row, statement: Promise<T>): Promise<T> {
  try {
    return await statement
  } catch (cause) {
    if (!(cause instanceof UniqueConstraintViolationException)) throw cause
    throw new TakenValueError(row, cause)
  }
}

/** Returns a value of a column as a value of an audit summary. */
function auditable(value: unknown): AuditSummary[string] {
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value) && value.every((one) => typeof one === 'string' || typeof one === 'number')) return value
  if (typeof value === 'object' && value !== null) return JSON.stringify(value)
  return (value ?? null) as string | number | boolean | null
}
