/**
 * Records the behaviour of operations: the response, the rows that change in all tables (with audits, events and claims of idempotency
 * keys), and the statements, for a valid call and for each kind of rejected call.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { firstIdAt } from '@plinth/database'
import { until } from '@plinth/dev/testing'
import { type InsertedRow, insertedAt, type RecordedOperation, recordedResources } from './recorded-operations.ts'
import { type Call, createUser, dataOf, type RecordedProduct, type Response, signIn } from './recorded-product.ts'

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

/** Returns an operation with its schemas and its valid input. */
function operationOf({ paths, components }: ApiDescription, recorded: RecordedOperation) {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ method: method.toUpperCase(), path, ...described })),
  )
  const operation = operations.find(({ operationId }) => operationId === recorded.id)
  if (operation === undefined) throw new Error(`The product has no operation ${recorded.id}.`)
  const { method, path, parameters = [], requestBody } = operation
  const resolved = (schema: Schema = {}): Schema => components.schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema
  const query = parameters.filter((parameter) => parameter.in === 'query')
  return {
    ...recorded,
    method,
    path: path.replace('/api/v1/', ''),
    permissions: operation['x-permission'] === undefined ? [] : [operation['x-permission']],
    acceptsKey: parameters.some(({ name }) => name === 'Idempotency-Key'),
    bodyMembers: resolved(Object.values(requestBody?.content ?? {})[0]?.schema).properties ?? {},
    queryMembers: Object.fromEntries(query.map(({ name, schema }) => [name, resolved(schema)])),
  }
}
type Operation = ReturnType<typeof operationOf>

/** Returns a value that the schema rejects. */
function invalidValue(schema: Schema): unknown {
  const { type, enum: values, anyOf, maxLength } = schema
  if (values !== undefined) return 'no such value'
  if (anyOf?.[0] !== undefined) return invalidValue(anyOf[0])
  if (type === 'string') return maxLength === undefined ? 'no such value\n' : 'x'.repeat(maxLength + 1)
  return type === 'object' ? [] : 'no such value'
}

type Members = NonNullable<RecordedOperation['body']>

interface Input {
  readonly body?: Members | undefined
  readonly query?: RecordedOperation['query'] | undefined
}

/** Returns an input for each member, in which only this member is invalid, and one with an unknown member. */
function invalidInputs({ body, query, bodyMembers, queryMembers }: Operation): Readonly<Record<string, Input>> {
  const inputs: Record<string, Input> = {}
  const hasBody = Object.keys(bodyMembers).length > 0
  for (const [name, schema] of Object.entries(hasBody ? { ...bodyMembers, unknown: {} } : {}))
    inputs[`invalid body ${name}`] = { body: { ...body, [name]: invalidValue(schema) }, query }
  for (const [name, schema] of Object.entries({ ...queryMembers, unknown: {} }))
    inputs[`invalid query ${name}`] = { body, query: { ...query, [name]: `${invalidValue(schema)}` } }
  return inputs
}

/** Tables whose rows change without a call, for example because of time. */
const unsteadyTables = /^(database_clock|shared_store_(entry|message)|sys_config(_history|_instance|_version)?)$/

/** Statements that depend on time, because their results are cached for a short time. */
const unsteadyStatements = /^(pragma|select iam_epoch)$/

type Rows = ReadonlyMap<string, ReadonlySet<string>>

function readRows(file: string): Rows {
  const db = new DatabaseSync(file, { readOnly: true, readBigInts: true })
  const tables = db.prepare("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'").all()
  const names = tables.map(({ name }) => `${name}`).filter((name) => !unsteadyTables.test(name))
  const text = (_: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)
  const rowsOf = (table: string) => db.prepare(`select * from "${table}"`).all()
  const rows = new Map(names.map((name) => [name, new Set(rowsOf(name).map((row) => JSON.stringify(row, text)))]))
  db.close()
  return rows
}

/** Returns the rows that were added and removed, by table. A changed row is a removed and an added one. */
function rowChanges(before: Rows, after: Rows) {
  const missingIn = (rows: ReadonlySet<string>, others: ReadonlySet<string>) =>
    [...rows].filter((row) => !others.has(row)).map((row): unknown => JSON.parse(row))
  const changes = [...after].map(([table, rows]) => {
    const old = before.get(table) ?? new Set()
    return [table, { removed: missingIn(old, rows), added: missingIn(rows, old) }] as const
  })
  return Object.fromEntries(changes.filter(([, { removed, added }]) => removed.length + added.length > 0))
}

/** Replaces what differs between two runs: times, ids by the order of their occurrence, and random texts. */
function normalized(value: unknown): unknown {
  const ids: string[] = []
  const numbered = (id: string) => {
    if (!ids.includes(id)) ids.push(id)
    return `#${ids.indexOf(id) + 1}`
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
  Object.fromEntries([...Map.groupBy(texts, (text) => text)].map(([text, { length }]) => [text, length]))

/** Records the operations in `recorded-operations.ts` on SQLite. */
class BehaviourRecorder {
  readonly #product: RecordedProduct
  readonly #database: string
  readonly #statements: string
  /** Number of recorded calls. */
  #calls = 0
  /** Number of users and bodies of the plugin whose operations are recorded. */
  #count = 0

  constructor(product: RecordedProduct) {
    this.#product = product
    this.#database = join(product.directory, 'record.sqlite')
    this.#statements = join(product.directory, 'statements.jsonl')
  }

  async record(): Promise<void> {
    const settings = { 'platform.database.sqlite.file': this.#database }
    await this.#product.run(['migrate'], settings)
    writeFileSync(this.#statements, '')
    const { url } = await this.#product.start(settings, {
      NODE_OPTIONS: `--import=${join(import.meta.dirname, 'statement-counts.mjs')}`,
      RECORDED_STATEMENTS: this.#statements,
    })
    const api = (await this.#product.run(['openapi'])) as ApiDescription
    const root = await signIn(url)
    const files = new Set<string>()
    for (const [plugin, { create, operations }] of Object.entries(recordedResources)) {
      this.#count = 0
      const user = async (name: string, dataScope: string, permissions: readonly string[]) => {
        this.#count += 1
        const code = `${plugin}-${this.#count}`
        await createUser(root, { code, name, dataScope, permissions })
        return signIn(url, code)
      }
      const createRow = async (): Promise<number> => {
        if ('table' in create) return this.#insertRow(create)
        const { method, path, body = {} } = operationOf(api, create)
        return (await dataOf(root(method, path, this.#filled(body)))).id
      }
      for (const [index, recorded] of operations.entries()) {
        const operation = operationOf(api, recorded)
        const { id, permissions } = operation
        const operator = await user(id, 'all', permissions)
        const other = await user(id, 'self', permissions)
        const guest = await user(id, 'all', [])
        const cases = await this.#recordOperation(operation, { operator, other, guest }, createRow)
        const name = `behaviour/${plugin}/${id}`
        const file = files.has(name) ? `${name}-${index + 1}` : name
        this.#product.write(`${file}.json`, cases)
        files.add(file)
      }
    }
  }

  /**
   * @param users a user with the permission and all data, one with the permission and their own data, and one without it
   * @returns what each call did, by the name of the case
   */
  async #recordOperation(
    operation: Operation,
    { operator, other, guest }: Readonly<Record<'operator' | 'other' | 'guest', Call>>,
    createRow: () => Promise<number>,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { method, path, body, query, acceptsKey, bodyMembers, queryMembers } = operation
    const hasRow = `${path} ${JSON.stringify(body)}`.includes('{id}')
    const cases: Record<string, unknown> = {}
    const record = async (name: string, call: Call, input: Input, id?: number, headers = {}) => {
      const row = hasRow ? (id ?? (await createRow())) : 0
      const target = `${path.replace('{id}', `${row}`)}?${new URLSearchParams(input.query)}`
      const content = input.body && this.#filled(input.body, row)
      cases[name] = await this.#recordCall((recorded) => call(method, target, content, { ...headers, ...recorded }))
    }
    // A list has at least one row.
    await createRow()
    await record('valid', operator, operation)
    await record('without the permission', guest, operation)
    await record('own rows only', other, operation)
    if (hasRow) await record('unknown row', operator, operation, 1)
    if ('version' in bodyMembers) await record('other version', operator, { query, body: { ...body, version: 7 } })
    if ('version' in queryMembers) await record('other version', operator, { body, query: { ...query, version: '7' } })
    if (acceptsKey) {
      const id = hasRow ? await createRow() : 0
      const key = { 'idempotency-key': operation.id }
      const same = { query, body: body && this.#filled(body, id) }
      await record('with a key', operator, same, id, key)
      await record('with the same key', operator, same, id, key)
      await record('with the same key and other content', operator, { query, body: operation.other ?? {} }, id, key)
    }
    for (const [name, input] of Object.entries(invalidInputs(operation))) await record(name, operator, input)
    return cases
  }

  #insertRow({ table, columns }: InsertedRow): number {
    this.#count += 1
    const row = { id: firstIdAt(insertedAt) + this.#count, ...columns }
    const db = new DatabaseSync(this.#database)
    const places = Object.keys(row).map(() => '?')
    db.prepare(`insert into ${table} (${Object.keys(row)}) values (${places})`).run(...Object.values(row))
    db.close()
    return row.id
  }

  /** Replaces `{n}` in texts by a new number, and `{id}` by the id of a row. */
  #filled(body: Members, id = 0): Members {
    this.#count += 1
    return JSON.parse(JSON.stringify(body).replaceAll('{n}', `${this.#count}`).replaceAll('"{id}"', `${id}`))
  }

  async #recordCall(call: (headers: Readonly<Record<string, string>>) => Promise<Response>): Promise<unknown> {
    const before = readRows(this.#database)
    const { status, text } = await call({ 'x-recorded-call': 'yes' })
    // The product writes the statements after it has sent the response. The last line is empty.
    const lines = () => readFileSync(this.#statements, 'utf8').split('\n').slice(0, -1)
    await until(() => lines().length > this.#calls, 'the statements are written')
    const all: readonly string[] = JSON.parse(lines()[this.#calls] ?? '')
    const statements = all.filter((statement) => !unsteadyStatements.test(statement))
    this.#calls += 1
    return normalized({
      status,
      response: JSON.parse(text),
      changes: rowChanges(before, readRows(this.#database)),
      statements: { all: statements.length, ...countBy(statements) },
    })
  }
}

/** @param product a product that contains the operations in `recorded-operations.ts` */
export const recordBehaviour = (product: RecordedProduct) => new BehaviourRecorder(product).record()
