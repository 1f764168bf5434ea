import { selectionOf } from '@plinth/database'
import {
  affectedCount,
  bulkRateLimit,
  id,
  idParams,
  type ListQuery,
  line,
  listPage,
  listQuery,
  listResponse,
  type Method,
  newestFirst,
  nothing,
  operatorVisibleTo,
  type RangeQuery,
  type Route,
  type RouteAnnotation,
  type RouteRequest,
  rangeQuery,
  routesWith,
  sortQuery,
  Type,
  version,
  versionQuery,
} from '@plinth/http'
import { operatorOf } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import { withTitle } from '@plinth/table'
import type { TObject, TSchema } from 'typebox'
import {
  type AnyAction,
  type AnyHooks,
  type AnyList,
  type Definition,
  inSentence,
  type Row,
  reachOf,
} from './definition.ts'
import type { Operation, ResourceParts } from './options.ts'
import { type Caller, RowStore } from './store.ts'

type Parts = ResourceParts<unknown>
type AnyRoute = Route<Parts>

/** Method and path of an operation. Pages need them for its id. */
export interface Address {
  readonly method: Method
  readonly path: string
}

const maxBatch = 200
const batchBody = Type.Object({ ids: Type.Array(id, { minItems: 1, maxItems: maxBatch, uniqueItems: true }) })

const kebabCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** Returns method and path of each declared operation by its name. */
export function addressesOf({ options }: Definition): Readonly<Record<string, Address>> {
  const { path, list, get, create, change, remove, actions = {} } = options
  const of = (method: Method, operation: Operation | undefined, usual: string) =>
    operation === undefined ? undefined : { method, path: operation.path ?? usual }
  const addresses: Record<string, Address | undefined> = {
    list: of('GET', list, path),
    get: of('GET', get, `${path}/:id`),
    create: of('POST', create, path),
    change: of('PUT', change, `${path}/:id`),
    remove: of('DELETE', remove, `${path}/:id`),
    deleteBatch: remove?.bulk && { method: 'POST', path: `${path}/delete-batch` },
  }
  for (const [name, action] of Object.entries(actions)) {
    addresses[name] = of('POST', action, `${path}/:id/${kebabCase(name)}`)
    if (action.bulk) addresses[`${name}Batch`] = { method: 'POST', path: `${path}/${kebabCase(name)}-batch` }
  }
  return Object.fromEntries(Object.entries(addresses).flatMap(([name, address]) => (address ? [[name, address]] : [])))
}

/** Builds the routes of a resource by the name of their operation. */
export function routesOf(definition: Definition): Readonly<Record<string, AnyRoute>> {
  const { list, get, create, change, remove, actions = {} } = definition.options
  const routes = new Routes(definition)
  return Object.fromEntries(
    Object.entries({
      ...(list && { list: routes.list(list) }),
      ...(get && { get: routes.get(get) }),
      ...(create && { create: routes.create(create) }),
      ...(change && { change: routes.change(change) }),
      ...(remove && { remove: routes.remove(remove) }),
      ...(remove?.bulk && { deleteBatch: routes.removeAll(remove) }),
      ...Object.fromEntries(
        Object.entries(actions).flatMap(([name, action]) => [
          [name, routes.run(name, action)],
          ...(action.bulk ? [[`${name}Batch`, routes.runAll(name, action)] as const] : []),
        ]),
      ),
    }),
  )
}

interface Request {
  readonly params?: TSchema
  readonly query?: TSchema
  readonly body?: TSchema
}
/** A request after its validation. */
interface Checked extends Omit<RouteRequest, 'params' | 'query' | 'body'> {
  readonly params: { readonly id: number }
  readonly query: ListQuery & { readonly version?: number; readonly [name: string]: unknown }
  readonly body: Row
}
interface Details {
  readonly summary: string
  readonly request: Request
  readonly response: TSchema
  readonly reasons: readonly string[]
  readonly annotations?: readonly RouteAnnotation[]
  readonly handler: (request: Checked, store: RowStore, caller: Caller, parts: Parts) => Promise<unknown>
}

class Routes {
  readonly #definition: Definition
  readonly #addresses: ReturnType<typeof addressesOf>
  readonly #one: string
  readonly #many: string

  constructor(definition: Definition) {
    this.#definition = definition
    this.#addresses = addressesOf(definition)
    const { one, many } = definition.table.title
    this.#one = inSentence(one.en)
    this.#many = inSentence(many.en)
  }

  list(list: AnyList): AnyRoute {
    const { shape } = this.#definition
    const { query, orderOf, range, whereOf } = this.#listQuery(list)
    return this.#route('list', list, {
      summary: `List ${this.#many}`,
      request: { query },
      response: listPage(shape.schemas.view),
      reasons: [],
      handler: (request, store, caller, parts) =>
        listResponse(
          request.query,
          orderOf(request.query['sort']),
          async (window) => {
            const search = { text: String(request.query['keyword'] ?? ''), properties: list.search ?? [] }
            const found = await store.find(whereOf(request.query), caller, window, search)
            return { ...found, items: await this.#viewsOf(found.items, request, parts) }
          },
          range,
        ),
    })
  }

  get(get: Operation): AnyRoute {
    return this.#route('get', get, {
      summary: `Get ${this.#a()}`,
      request: { params: idParams },
      response: this.#definition.shape.schemas.view,
      reasons: this.#reasons('notFound'),
      handler: async (request, store, caller, parts) =>
        this.#viewOf(await store.get(request.params.id, caller), request, parts),
    })
  }

  create(create: Operation & AnyHooks & { readonly response?: 'id' }): AnyRoute {
    const { shape } = this.#definition
    return this.#route('create', create, {
      summary: `Create ${this.#a()}`,
      request: { body: shape.schemas.create },
      response: create.response === 'id' ? Type.Object({ id }) : shape.schemas.view,
      reasons: this.#reasons('values'),
      annotations: [idempotent],
      handler: async (request, store, caller, parts) => {
        const row = await store.create(shape.rowOf(request.body), caller, create, request.body)
        return create.response === 'id' ? { id: row['id'] } : this.#viewOf(row, request, parts)
      },
    })
  }

  change(change: Operation & AnyHooks): AnyRoute {
    const { shape } = this.#definition
    return this.#route('change', change, {
      summary: `Change ${this.#a()}; omitted fields do not change`,
      request: { params: idParams, body: shape.schemas.change },
      response: shape.schemas.view,
      reasons: this.#reasons('notFound', 'conflict', 'values'),
      handler: async (request, store, caller, parts) => {
        const { version, input } = this.#partsOf(request.body)
        const before = await store.get(request.params.id, caller)
        store.assertVersion(before, version)
        const row = await store.change(before, shape.rowOf(input), 'update', caller, change, input)
        return this.#viewOf(row, request, parts)
      },
    })
  }

  remove(remove: Operation & AnyHooks): AnyRoute {
    const query = this.#definition.table.hasEdits ? { query: versionQuery } : {}
    return this.#route('remove', remove, {
      summary: `Delete ${this.#a()}`,
      request: { params: idParams, ...query },
      response: nothing,
      reasons: this.#reasons('notFound', 'conflict'),
      handler: async (request, store, caller) => {
        const before = await store.get(request.params.id, caller)
        store.assertVersion(before, request.query.version)
        await store.remove(before, caller, remove)
        return null
      },
    })
  }

  removeAll(remove: Operation & AnyHooks): AnyRoute {
    return this.#batch('deleteBatch', remove, `Delete several ${this.#many}`, async (ids, store, caller) => {
      return store.writeAll(await store.getAll(ids, caller), undefined, 'delete', caller, remove)
    })
  }

  run(name: string, action: AnyAction): AnyRoute {
    const { shape, table } = this.#definition
    const members = { ...action.input?.properties, ...(table.hasEdits ? { version: Type.Optional(version) } : {}) }
    const body = Object.keys(members).length === 0 ? {} : { body: Type.Object(members) }
    return this.#route(name, action, {
      summary: `${action.title[0]}: ${this.#one}`,
      request: { params: idParams, ...body },
      response: shape.schemas.view,
      reasons: this.#reasons('notFound', 'conflict', 'values'),
      ...(action.input === undefined ? {} : { annotations: [idempotent] }),
      handler: async (request, store, caller, parts) => {
        const { version, input } = this.#partsOf(request.body ?? {})
        const before = await store.get(request.params.id, caller)
        store.assertVersion(before, version)
        const columns = await columnsOf(action, store, caller, before, input)
        const row = await store.change(before, columns, kebabCase(name), caller, action, input)
        return this.#viewOf(row, request, parts)
      },
    })
  }

  runAll(name: string, action: AnyAction): AnyRoute {
    return this.#batch(
      `${name}Batch`,
      action,
      `${action.title[0]}: several ${this.#many}`,
      async (ids, store, caller) => {
        const rows = await store.getAll(ids, caller)
        const set = (row: Row) => columnsOf(action, store, caller, row, undefined)
        return store.writeAll(rows, set, kebabCase(name), caller, action)
      },
    )
  }

  #batch(
    name: string,
    operation: Operation,
    summary: string,
    write: (ids: readonly number[], store: RowStore, caller: Caller) => Promise<number>,
  ): AnyRoute {
    const { access, scope, throws = [] } = operation
    return this.#route(
      name,
      { access, throws, ...(scope && { scope }) },
      {
        summary,
        request: { body: batchBody },
        response: affectedCount,
        reasons: this.#reasons('values'),
        annotations: [bulkRateLimit, idempotent],
        handler: async ({ body }, store, caller) => ({
          affected: await write(body['ids'] as readonly number[], store, caller),
        }),
      },
    )
  }

  #route(name: string, operation: Operation, details: Details): AnyRoute {
    const { area } = this.#definition.options
    const { access, summary = details.summary, throws = [], reasons } = operation
    const reach = reachOf(operation, this.#definition.table)
    const { handler, ...rest } = details
    const { route } = routesWith<Parts>()
    return route({
      ...rest,
      ...(this.#addresses[name] as Address),
      summary,
      access: access === 'user' || reach === 'own' ? 'user' : { permission: access.code, scope: reach },
      reasons: reasons ?? [...new Set([...details.reasons, ...throws.map((reason) => `${area}.${reason}`)])],
      handler: (request, parts) => {
        const caller = { operator: operatorOf(request), reach }
        return handler(request as never, new RowStore(this.#definition, parts), caller, parts)
      },
    })
  }

  /** Returns the reasons of a row that is not found, of a conflict, and of values that cannot be stored. */
  #reasons(...kinds: readonly ('notFound' | 'conflict' | 'values')[]): readonly string[] {
    const { options, table, notFound, conflict } = this.#definition
    const columns = Object.values(table.columns)
    const isChosen = columns.some(({ description }) => description.role === 'user')
    const reasons = {
      notFound: [`${options.area}.${notFound}`],
      conflict: table.hasEdits ? [`${options.area}.${conflict}`] : [],
      values: [
        ...table.uniques.map(({ reason }) => `${options.area}.${reason}`),
        ...(isChosen ? ['iam.out-of-scope'] : []),
      ],
    }
    return kinds.flatMap((kind) => reasons[kind])
  }

  /** Returns the schema of the query, and functions that read it. */
  #listQuery({ filters = [], search = [], range, sort = [], order = '-id' }: AnyList) {
    const { columns, entity } = this.#definition.table
    const times = range === undefined ? undefined : this.#rangeQuery(range)
    const columnNames = new Map(selectionOf(entity).columns.map(({ property, name }) => [property, name]))
    const sortable = Object.fromEntries(
      [...new Set([...sort, order.replace(/^-/, '')])].map((name) => [name, columnNames.get(name) ?? name]),
    )
    const sorts = sortQuery(sortable, order as never)
    const query: TObject = Type.Object({
      ...listQuery.properties,
      ...(sort.length === 0 ? {} : sorts.properties),
      ...(search.length === 0 ? {} : { keyword: Type.Optional(line(100)) }),
      ...Object.fromEntries(
        filters.flatMap((name) => {
          const description = columns[name]?.description
          return description ? [[name, Type.Optional(withTitle(description.inputSchema, description.title))]] : []
        }),
      ),
      ...times?.properties,
    })
    return {
      query,
      range: times,
      orderOf: (sort: unknown) => (order === '-id' && sort === undefined ? newestFirst : sorts.parse(sort as never)),
      whereOf: (query: Row) =>
        Object.fromEntries(
          filters.flatMap((name) => {
            const value = query[name]
            if (value === undefined) return []
            return [[name, columns[name]?.description.kind === 'time' ? new Date(String(value)) : value]]
          }),
        ),
    }
  }

  /** The id of a row was created together with its creation time, so that no index on this time is needed. */
  #rangeQuery(property: string): RangeQuery {
    const isCreation = this.#definition.table.columns[property]?.description.isCreation === true
    return isCreation ? rangeQuery(property, 'id') : rangeQuery(property)
  }

  /** Separates the version, which the body contains if the table has the columns of `c.edits()`. */
  #partsOf(body: Row): { readonly version: number | undefined; readonly input: Row } {
    if (!this.#definition.table.hasEdits) return { version: undefined, input: body }
    const { version, ...input } = body
    return { version: version as number | undefined, input }
  }

  async #viewOf(row: Row, request: Checked, parts: Parts): Promise<Row> {
    const [view] = await this.#viewsOf([row], request, parts)
    return view ?? row
  }

  async #viewsOf(rows: readonly Row[], request: Checked, { services: { database } }: Parts): Promise<readonly Row[]> {
    const { shape, table } = this.#definition
    const at = { now: new Date(database.clock.now()), locale: request.locale, em: database.fork() }
    const views = await shape.viewsOf(rows, at)
    if (table.owner !== undefined || !table.hasEdits) return views
    // All callers see the row, but not the names of operators outside their data scope.
    return views.map((view) =>
      'updatedBy' in view
        ? { ...view, updatedBy: operatorVisibleTo(request, view['updatedBy'] as string | null) }
        : view,
    )
  }

  #a(): string {
    return `${/^[aeio]/i.test(this.#one) ? 'an' : 'a'} ${this.#one}`
  }
}

const columnsOf = async ({ set }: AnyAction, store: RowStore, caller: Caller, row: Row, input: unknown) =>
  typeof set === 'function' ? set({ ...store.workOf(caller), row, input }) : set
