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
import type { Operator } from '@plinth/iam'
import { type AuditSummary, auditFieldsOfCaller, BusinessError, maskedValue, writeAuditEntry } from '@plinth/kernel'
import { type AnyHooks, type Definition, type Reach, type Row, reasonedUniques, versionConflict } from './definition.ts'
import type { ResourceParts, RowIn, Work } from './options.ts'

/** The caller of an operation, and the rows that it may reach. */
export interface Caller {
  readonly operator: Operator
  readonly reach: Reach
}

/** Reads and writes rows in the data scope of an operator, with version, unique values and audit. */
export interface Store<S> {
  /**
   * @param version version that the caller has read, if any
   * @throws BusinessError "404" if the row does not exist or is outside the data scope, "409" for another version
   */
  get(id: number, operator: Operator, version?: number): Promise<RowIn<S>>
  /**
   * Inserts a row. Columns that `columns` omits get their default.
   *
   * @throws BusinessError "403" `iam.out-of-scope`, "409" the reason of a unique value that another row has
   */
  create(columns: Partial<RowIn<S>>, operator: Operator): Promise<RowIn<S>>
  /**
   * Changes columns of a row that `get` returned, if nobody else has changed it since then.
   *
   * @param verb second word of the action in the audit, such as `update`
   * @param summary summary of the audit entry; default: that of the resource
   * @throws BusinessError "404", "409" for another version; the errors of `create`
   */
  change(
    before: RowIn<S>,
    columns: Partial<RowIn<S>>,
    verb: string,
    operator: Operator,
    summary?: AuditSummary,
  ): Promise<RowIn<S>>
}

/** Circumstances of a write. */
interface WriteOptions {
  readonly caller: Caller
  readonly hooks?: AnyHooks
  /** The request, for the hooks. */
  readonly input?: unknown
  readonly summary?: AuditSummary | undefined
}

/** One write. `columns` are those that the caller or the code has set. */
interface Write extends WriteOptions {
  readonly verb: string
  /** The stored row; `undefined` for a new row. */
  readonly before: Row | undefined
  readonly row: Row
  readonly columns: Row
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

/** Rows of one resource. Each write is one transaction: statement, hook, audit. */
export class RowStore {
  readonly #definition: Definition
  readonly #parts: ResourceParts<unknown>

  constructor(definition: Definition, parts: ResourceParts<unknown>) {
    this.#definition = definition
    this.#parts = parts
  }

  /** Returns what hooks receive. */
  workOf({ operator }: Caller): Work<unknown, string> {
    return { parts: this.#parts.parts, error: this.#definition.error, operator, now: this.#now }
  }

  /** Returns a page of the rows that the caller may reach. */
  find(where: object, { operator, reach }: Caller, window: PageWindow, search: TextSearch) {
    const rows = { $and: [where, this.#rows({ operator, reach })] }
    return findPage<Row>(this.#db.fork(), this.#entity, rows, window, { search })
  }

  /**
   * @param version version that the caller has read, if any
   * @throws BusinessError "404" if the row does not exist or the caller may not reach it, "409" for another version
   */
  async get(id: number, caller: Caller, version?: number): Promise<Row> {
    const [row] = await this.getAll([id], caller)
    if (row === undefined) throw this.#definition.error(this.#definition.notFound, { params: { id } })
    if (version !== undefined && version !== row['version']) throw this.#conflict(row)
    return row
  }

  /** Returns the rows with these ids that the caller may reach, in the order of their ids. */
  async getAll(ids: readonly number[], caller: Caller): Promise<readonly Row[]> {
    const where = { $and: [{ id: { $in: [...ids] } }, this.#rows(caller)] }
    const found = await this.#db.fork().find<Row>(this.#entity, where, { orderBy: { id: 'asc' } as never })
    const selection = selectionOf(this.#definition.table.entity)
    return found.map((row) => selection.of(row as never) as Row)
  }

  async create(columns: Row, options: WriteOptions): Promise<Row> {
    const { caller } = options
    const set = await this.#prepared(columns, undefined, options)
    const row = { ...this.#newRow(caller), ...set, id: this.#db.newId() }
    await this.#commit({ ...options, verb: 'create', before: undefined, row, columns: set })
    return row
  }

  async change(before: Row, columns: Row, verb: string, options: WriteOptions): Promise<Row> {
    const write = await this.#changeOf(before, columns, verb, options)
    await this.#commit(write)
    return write.row
  }

  async remove(before: Row, options: WriteOptions): Promise<void> {
    await this.#commit(await this.#removalOf(before, options))
  }

  /**
   * Changes or removes several rows in one transaction. Rows that another transaction changes meanwhile are skipped.
   *
   * @param columnsOf columns of a change; `undefined`: the rows are removed
   * @returns number of affected rows
   */
  async writeAll(
    rows: readonly Row[],
    columnsOf: ((row: Row) => Promise<Row>) | undefined,
    verb: string,
    options: WriteOptions,
  ): Promise<number> {
    const writes: Write[] = []
    for (const row of rows)
      writes.push(
        columnsOf === undefined
          ? await this.#removalOf(row, options)
          : await this.#changeOf(row, await columnsOf(row), verb, options),
      )
    return this.#transactional(async (em) => {
      let affected = 0
      for (const write of writes) if (await this.#apply(em, write)) affected++
      return affected
    })
  }

  async #changeOf(before: Row, columns: Row, verb: string, options: WriteOptions): Promise<Write> {
    const set = await this.#prepared(columns, before, options)
    const { username: updatedBy } = options.caller.operator.principal
    const edited = this.#definition.table.hasEdits
      ? { version: Number(before['version']) + 1, updatedAt: this.#now, updatedBy }
      : {}
    return { ...options, verb, before, row: { ...before, ...set, ...edited }, columns: set }
  }

  async #removalOf(before: Row, options: WriteOptions): Promise<Write> {
    await this.#prepared({}, before, options)
    return { ...options, verb: 'delete', before, row: before, columns: {} }
  }

  /** Checks the columns, and returns them with those of the hook. */
  async #prepared(columns: Row, before: Row | undefined, { caller, hooks, input }: WriteOptions): Promise<Row> {
    await this.#assertUsers(columns, caller)
    return { ...columns, ...Object(await hooks?.prepare?.({ ...this.workOf(caller), input, before })) }
  }

  async #commit(write: Write): Promise<void> {
    await this.#transactional(async (em) => {
      if (!(await this.#apply(em, write))) throw this.#conflict(await this.get(Number(write.row['id']), write.caller))
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
    const { caller, before, row, hooks, input } = write
    if ((await this.#execute(em, write)) === 0) return false
    await this.#assertReached(em, write)
    const work = { ...this.workOf(caller), row }
    await hooks?.inTransaction?.({ ...work, em, input, before })
    await this.#record(write)
    const afterCommit = hooks?.afterCommit
    if (afterCommit !== undefined) this.#db.afterCommit(async () => void (await afterCommit(work)))
    return true
  }

  /** Executes the statement. It affects the row only if version and owner are those that were read. */
  async #execute(em: SqlEntityManager, { verb, before, row, columns }: Write): Promise<number> {
    const { entity, hasEdits, ownerProperties } = this.#definition.table
    if (before === undefined) {
      await assertFree(row, insertRow(this.#db, entity, row as never))
      return 1
    }
    const read = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, before[name]]))
    const where = read(['id', ...(hasEdits ? ['version'] : []), ...ownerProperties])
    if (verb === 'delete') return em.nativeDelete<Row>(this.#entity, where)
    const names = [...Object.keys(columns), ...(hasEdits ? ['version', 'updatedAt', 'updatedBy'] : [])]
    if (names.length === 0) return 1
    const values = Object.fromEntries(names.map((name) => [name, row[name]]))
    return assertFree(row, em.nativeUpdate<Row>(this.#entity, where, values))
  }

  /** Checks that a new owner is in the data scope, so that nobody moves a row out of their own reach. */
  async #assertReached(em: SqlEntityManager, { caller, row, columns, before }: Write): Promise<void> {
    const { ownerProperties, columns: described } = this.#definition.table
    const { reach, operator } = caller
    if (reach === 'all' || reach === 'none' || (reach === 'caller' && operator.principal.dataScope === 'all')) return
    const chosen = ownerProperties.filter((name) => before === undefined || name in columns)
    // The caller reaches itself, and `#assertUsers` has checked a user whom the caller has chosen.
    const isKnown = (name: string) => {
      const role = described[name]?.description.role
      return role === 'caller' || (role === 'user' && row[name] !== null && reach === 'caller')
    }
    if (chosen.every(isKnown)) return
    const reached = await em.count<Row>(this.#entity, { $and: [{ id: row['id'] }, this.#rows(caller)] })
    if (reached === 0) throw outOfScope(chosen[0])
  }

  /** @throws BusinessError "403" `iam.out-of-scope` for a chosen user outside the data scope */
  async #assertUsers(columns: Row, { operator }: Caller): Promise<void> {
    for (const [name, value] of Object.entries(columns)) {
      const isUser = this.#definition.table.columns[name]?.description.role === 'user'
      if (isUser && typeof value === 'number')
        await this.#parts.services.identity.assertInScope(operator.principal, [value], name)
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
      if (isTaken) return this.#definition.error(reason, { data: { field: columns[0] }, cause })
    }
    return cause
  }

  #conflict(row: Row): BusinessError {
    const { table, error, notFound } = this.#definition
    if (!table.hasEdits) return error(notFound, { params: { id: Number(row['id']) } })
    return error(versionConflict, { data: versionConflictData(row as never) })
  }

  async #record(write: Write): Promise<void> {
    const { caller, verb, row, columns } = write
    const { auditKind, options } = this.#definition
    if (auditKind === undefined || caller.reach === 'own') return
    const own = options.audit === 'none' ? undefined : options.audit?.summary
    const summary = write.summary ?? own?.(row, verb, columns) ?? this.#summaryOf(write)
    const action = `${auditKind}.${verb}`
    const entry = { ...auditFieldsOfCaller(caller.operator), action, subject: Number(row['id']), summary }
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
  #newRow({ operator }: Caller): Row {
    const { userId, username } = operator.principal
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
  #rows({ operator: { principal }, reach }: Caller): object {
    const { owner } = this.#definition.table
    if (owner === undefined || reach === 'all' || reach === 'none') return {}
    const scoped = reach === 'own' ? { ...principal, dataScope: 'self' as const } : principal
    return this.#parts.services.identity.rowsInScope(scoped, owner)
  }

  get #db() {
    return this.#parts.services.database
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

/** The same error as `Identity.assertInScope`, for owners that are no user. */
const outOfScope = (field: string | undefined) =>
  new BusinessError('403', 'At least one of these users is outside your data scope.', {
    reason: 'iam.out-of-scope',
    data: { field },
  })

/** Returns a value of a column as a value of an audit summary. */
function auditable(value: unknown): AuditSummary[string] {
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value) && value.every((one) => typeof one === 'string' || typeof one === 'number')) return value
  if (typeof value === 'object' && value !== null) return JSON.stringify(value)
  return (value ?? null) as string | number | boolean | null
}
