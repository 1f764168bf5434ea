/**
 * Records the behaviour of operations: the response, the rows that change in all tables (with audits, events and claims of idempotency
 * keys), and the statements, for a valid call and for each kind of rejected call.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { firstIdAt } from '@plinth/database'
import { until } from '@plinth/dev/testing'
import { administrator } from '../fixtures/product-process.ts'
import { type InsertedRow, insertedAt, type RecordedOperation, recordedResources } from './recorded-operations.ts'
import {
  type Call,
  createAdministrator,
  dataOf,
  prepareRecordedProduct,
  type RecordedProduct,
  type Response,
  signIn,
} from './recorded-product.ts'

/** The members of a JSON schema that are used here. */
interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly maxLength?: number
  readonly properties?: Readonly<Record<string, Schema>>
}

interface DescribedOperation {
  readonly operationId: string
  readonly 'x-permission'?: string
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}

interface ApiDescription {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** An operation with its schemas and its valid input. */
interface CalledOperation extends RecordedOperation {
  readonly method: string
  /** Path below `/api/v1/`. */
  readonly path: string
  readonly permission: string | undefined
  readonly headers: readonly string[]
  readonly bodyMembers: Readonly<Record<string, Schema>>
  readonly queryMembers: Readonly<Record<string, Schema>>
}

function operationOf({ paths, components }: ApiDescription, recorded: RecordedOperation): CalledOperation {
  const resolved = (schema: Schema): Schema => components.schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (operation.operationId !== recorded.id) continue
      const { parameters = [], requestBody } = operation
      const body = Object.values(requestBody?.content ?? {})[0]?.schema
      const query = parameters.filter((parameter) => parameter.in === 'query')
      return {
        ...recorded,
        method: method.toUpperCase(),
        path: path.replace('/api/v1/', ''),
        permission: operation['x-permission'],
        headers: parameters.flatMap((parameter) => (parameter.in === 'header' ? parameter.name : [])),
        bodyMembers: body === undefined ? {} : (resolved(body).properties ?? {}),
        queryMembers: Object.fromEntries(query.map(({ name, schema }) => [name, resolved(schema)])),
      }
    }
  }
  throw new Error(`The product has no operation ${recorded.id}.`)
}

/** Returns a value that the schema rejects. */
function invalidValue(schema: Schema): unknown {
  const { type, enum: values, anyOf = [], maxLength } = schema
  const [first = schema] = anyOf
  if (values !== undefined) return 'no such value'
  if (first !== schema) return invalidValue(first)
  if (type === 'string') return maxLength === undefined ? 'no such value\n' : 'x'.repeat(maxLength + 1)
  return type === 'object' ? [] : 'no such value'
}

interface Input {
  readonly body?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, string>>
}

/** Returns an input for each member, in which only this member is invalid, and one with an unknown member. */
function invalidInputs({ body, query, bodyMembers, queryMembers }: CalledOperation): [string, Input][] {
  const inBody = Object.entries({ ...bodyMembers, unknown: {} }).map(([name, schema]): [string, Input] => [
    `invalid body ${name}`,
    { body: { ...body, [name]: invalidValue(schema) }, ...(query && { query }) },
  ])
  const inQuery = Object.entries({ ...queryMembers, unknown: {} }).map(([name, schema]): [string, Input] => [
    `invalid query ${name}`,
    { query: { ...query, [name]: `${invalidValue(schema)}` }, ...(body && { body }) },
  ])
  return [...(Object.keys(bodyMembers).length === 0 ? [] : inBody), ...inQuery]
}

/** Tables whose rows change without a call, for example because of time. */
const unsteadyTables = new Set([
  'database_clock',
  'shared_store_entry',
  'shared_store_message',
  'sys_config',
  'sys_config_history',
  'sys_config_instance',
  'sys_config_version',
])

/** Statements that depend on time, because their results are cached for a short time. */
const unsteadyStatements = new Set(['pragma', 'select iam_epoch'])

type Rows = ReadonlyMap<string, ReadonlySet<string>>

function readRows(file: string): Rows {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    const tables = db.prepare("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'").all()
    return new Map(
      tables.map(({ name }) => {
        const select = db.prepare(`select * from "${name}"`)
        select.setReadBigInts(true)
        const text = (_: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)
        return [`${name}`, new Set(select.all().map((row) => JSON.stringify(row, text)))]
      }),
    )
  } finally {
    db.close()
  }
}

/** Returns the rows that were added and removed, by table. A changed row is a removed and an added one. */
function rowChanges(before: Rows, after: Rows) {
  const missingIn = (rows: ReadonlySet<string> = new Set(), others: ReadonlySet<string> = new Set()) =>
    [...rows].filter((row) => !others.has(row)).map((row): unknown => JSON.parse(row))
  const changes = [...after].map(([table, rows]) => {
    const [removed, added] = [missingIn(before.get(table), rows), missingIn(rows, before.get(table))]
    return [table, { removed, added }] as const
  })
  return Object.fromEntries(
    changes.filter(([table, { removed, added }]) => removed.length + added.length > 0 && !unsteadyTables.has(table)),
  )
}

/** Replaces what differs between two runs: times, ids by the order of their occurrence, and random texts. */
function normalized(value: unknown): unknown {
  const ids = new Map<string, string>()
  const numbered = (id: string) => {
    if (!ids.has(id)) ids.set(id, `${ids.size + 1}`)
    return `#${ids.get(id)}`
  }
  const inText = (text: string) =>
    text
      .replace(/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?/g, '<time>')
      .replace(/\b1\d{12}\b/g, '<time>')
      .replace(/\b\d{14,16}\b/g, numbered)
      .replace(/[\w+/=-]{20,}/g, (word) => (/\d/.test(word) && /[a-z]/i.test(word) ? '<random>' : word))
  const inMember = (_: string, member: unknown) => {
    if (typeof member === 'number' && Number.isInteger(member) && member >= 1e12) return inText(`${member}`)
    return typeof member === 'string' ? inText(member) : member
  }
  return JSON.parse(JSON.stringify(value, inMember))
}

const countBy = (texts: readonly string[]) =>
  Object.fromEntries([...Map.groupBy(texts, (text) => text)].map(([text, same]) => [text, same.length]))

class BehaviourRecorder {
  readonly #root: string
  readonly #product: RecordedProduct
  /** The database. */
  readonly #file: string
  /** File to which the product writes its statements. */
  readonly #statements: string
  /** Plugin whose operations are recorded. */
  #plugin = ''
  /** Number of rows of this plugin. */
  #rows = 0
  #calls = 0

  constructor(root: string, product: RecordedProduct) {
    this.#root = root
    this.#product = product
    this.#file = join(product.directory, 'record.sqlite')
    this.#statements = join(product.directory, 'statements.jsonl')
  }

  async record(): Promise<ReadonlyMap<string, unknown>> {
    const settings = { 'platform.database.sqlite.file': this.#file }
    await this.#product.run(['migrate'], settings)
    await createAdministrator(this.#product, settings)
    const { url } = await this.#product.start(settings, {
      NODE_OPTIONS: `--import=${join(import.meta.dirname, 'statement-counts.mjs')}`,
      RECORDED_CHECKOUT: this.#root,
      RECORDED_STATEMENTS: this.#statements,
    })
    const api = (await this.#product.run(['openapi'])) as ApiDescription
    const root = await signIn(url)
    const files = new Map<string, unknown>()
    for (const [plugin, resource] of Object.entries(recordedResources)) {
      this.#plugin = plugin
      this.#rows = 0
      const { create } = resource
      const createRow = async () =>
        'table' in create ? this.#insertRow(create) : this.#createRow(root, operationOf(api, create))
      for (const [index, recorded] of resource.operations.entries()) {
        const operation = operationOf(api, recorded)
        const users = await this.#usersOf(url, root, operation)
        const name = `behaviour/${plugin}/${operation.id}`
        const file = files.has(`${name}.json`) ? `${name}-${index + 1}.json` : `${name}.json`
        files.set(file, await this.#recordOperation(operation, users, createRow))
      }
    }
    return files
  }

  /** Creates a user with the permission and all data, one with the permission and their own data, and one without it. */
  async #usersOf(url: string, root: Call, { id, permission }: CalledOperation) {
    const user = async (dataScope: 'all' | 'self', permissions: readonly (string | undefined)[]) => {
      this.#rows += 1
      const code = `${this.#plugin}-${this.#rows}`
      const content = { code, name: id, dataScope, permissions: permissions.filter((one) => one !== undefined) }
      const role = await dataOf(root('POST', 'admin/iam/roles', { body: content }))
      const { password } = administrator
      await dataOf(root('POST', 'admin/iam/users', { body: { username: code, password, roleIds: [role.id] } }))
      return signIn(url, code)
    }
    return {
      operator: await user('all', [permission]),
      other: await user('self', [permission]),
      guest: await user('all', []),
    }
  }

  async #createRow(root: Call, { method, path, body }: CalledOperation): Promise<number> {
    return (await dataOf(root(method, path, { body: this.#filled(body ?? {}) }))).id
  }

  #insertRow({ table, columns }: InsertedRow): number {
    this.#rows += 1
    const row = { id: firstIdAt(insertedAt) + this.#rows, ...columns }
    const places = Object.keys(row).map(() => '?')
    const db = new DatabaseSync(this.#file)
    try {
      const insert = db.prepare(`insert into ${table} (${Object.keys(row).join(', ')}) values (${places.join(', ')})`)
      insert.run(...Object.values(row))
    } finally {
      db.close()
    }
    return row.id
  }

  /** Replaces `{n}` in texts by a new number, and `{id}` by the id of a row. */
  #filled<T>(body: T, id = 0): T {
    this.#rows += 1
    return JSON.parse(JSON.stringify(body).replaceAll('{n}', `${this.#rows}`).replaceAll('"{id}"', `${id}`))
  }

  async #recordOperation(
    operation: CalledOperation,
    { operator, other, guest }: Readonly<Record<'operator' | 'other' | 'guest', Call>>,
    createRow: () => Promise<number>,
  ): Promise<unknown> {
    const { method, path, body, other: otherBody = {}, query, headers, bodyMembers, queryMembers } = operation
    const hasRow = `${path} ${JSON.stringify(body)}`.includes('{id}')
    const valid: Input = { ...(body && { body }), ...(query && { query }) }
    const cases: Record<string, unknown> = {}
    const record = async (name: string, call: Call, input = valid, { id, key }: { id?: number; key?: string } = {}) => {
      const row = hasRow ? (id ?? (await createRow())) : 0
      const target = `${path.replace('{id}', `${row}`)}?${new URLSearchParams(input.query)}`
      cases[name] = await this.#recordCall((extra) =>
        call(method, target, {
          ...(input.body && { body: this.#filled(input.body, row) }),
          headers: { ...(key === undefined ? {} : { 'idempotency-key': key }), ...extra },
        }),
      )
    }
    // A list has at least one row.
    await createRow()
    await record('valid', operator)
    await record('without the permission', guest)
    await record('own rows only', other)
    if (hasRow) await record('unknown row', operator, valid, { id: 1 })
    if ('version' in bodyMembers) await record('other version', operator, { ...valid, body: { ...body, version: 7 } })
    if ('version' in queryMembers)
      await record('other version', operator, { ...valid, query: { ...query, version: '7' } })
    if (headers.includes('Idempotency-Key')) {
      const same = { key: operation.id, ...(hasRow ? { id: await createRow() } : {}) }
      const once = { ...valid, ...(body && { body: this.#filled(body, same.id) }) }
      await record('with a key', operator, once, same)
      await record('with the same key', operator, once, same)
      await record('with the same key and other content', operator, { ...valid, body: otherBody }, same)
    }
    for (const [name, input] of invalidInputs(operation)) await record(name, operator, input)
    return cases
  }

  async #recordCall(call: (headers: Readonly<Record<string, string>>) => Promise<Response>): Promise<unknown> {
    this.#calls += 1
    const id = `call-${this.#calls}`
    const before = readRows(this.#file)
    const { status, text } = await call({ 'x-recorded-call': id })
    const statements = await this.#statementsOf(id)
    return normalized({
      status,
      response: JSON.parse(text),
      changes: rowChanges(before, readRows(this.#file)),
      statements: { all: statements.length, ...countBy(statements) },
    })
  }

  /** Returns the statements of a call. The product writes them after it has sent the response. */
  async #statementsOf(id: string): Promise<readonly string[]> {
    const find = () => {
      const lines = existsSync(this.#statements) ? readFileSync(this.#statements, 'utf8').split('\n') : []
      return lines.find((line) => line.startsWith(`{"id":"${id}",`))
    }
    await until(find, `the statements of ${id} are written`)
    const { statements }: { readonly statements: readonly string[] } = JSON.parse(find() ?? '')
    return statements.filter((statement) => !unsteadyStatements.has(statement))
  }
}

/**
 * Records the behaviour of the operations in `recorded-operations.ts` on SQLite.
 *
 * @param root directory of the checkout
 * @returns the content of the files of the record by name
 */
export async function behaviourRecord(root: string): Promise<ReadonlyMap<string, unknown>> {
  const product = prepareRecordedProduct(root, 'quickstart')
  try {
    return await new BehaviourRecorder(root, product).record()
  } finally {
    await product.remove()
  }
}
