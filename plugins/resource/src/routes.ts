import {
  bulkRateLimit,
  bulkResult,
  id,
  idParams,
  type ListQuery,
  listPage,
  listResponse,
  type Method,
  nothing,
  operatorVisibleTo,
  type Route,
  type RouteAnnotation,
  type RouteRequest,
  routesWith,
  Type,
  version,
  versionQuery,
} from '@plinth/http'
import { operatorOf } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import { omitUndefined } from '@plinth/kernel'
import { inSentence, kebabCase, reasonedUniques, withColumnTitles } from '@plinth/table'
import type { TSchema } from 'typebox'
import {
  type ActionOf,
  type AnyHooks,
  type AnyOptions,
  belongToProduct,
  type Definition,
  type Row,
  reachOf,
  versionConflict,
} from './definition.ts'
import { checkedRows, type ImportMode, importBody, importView, maxImportBytes, problemsOf } from './import.ts'
import { listReader } from './list-query.ts'
import type { Operation, ResourceParts } from './options.ts'
import { RowStore } from './store.ts'

type Parts = ResourceParts<unknown>
export type AnyRoute = Route<Parts>
type Declared<Name extends keyof AnyOptions> = NonNullable<AnyOptions[Name]>

/** Members of a route that an operation may replace. */
const replaceable = ['path', 'summary', 'description', 'annotations', 'fresh'] as const
const batchBody = Type.Object({ ids: Type.Array(id, { minItems: 1, maxItems: 200, uniqueItems: true }) })

/** Builds the routes of a resource by the name of their operation. */
export function routesOf(definition: Definition): Readonly<Record<string, AnyRoute>> {
  const { list, get, create, change, remove, actions = {} } = definition.options
  const routes = new Routes(definition)
  if (list !== undefined) routes.addList(list)
  if (get !== undefined) routes.addGet(get)
  if (create !== undefined) routes.addCreate(create)
  if (change !== undefined) routes.addChange(change)
  if (remove !== undefined) routes.addRemove(remove)
  for (const [name, action] of Object.entries(actions)) routes.addAction(name, action)
  return routes.byName
}

/** A request after its validation. */
interface Checked extends Omit<RouteRequest, 'params' | 'query' | 'body'> {
  readonly params: { readonly id: number }
  readonly query: ListQuery & { readonly version?: number; readonly [name: string]: unknown }
  readonly body: Row
}

type Viewed = Pick<Checked, 'locale' | 'principal'>

interface Details {
  readonly method: Method
  /** Path if the operation does not declare one. */
  readonly path: string
  readonly summary: string
  readonly request: { readonly params?: TSchema; readonly query?: TSchema; readonly body?: TSchema }
  readonly response: TSchema
  /** Reasons of the operation itself. */
  readonly reasons: readonly string[]
  readonly annotations?: readonly RouteAnnotation[]
  readonly maxBodyBytes?: number
  readonly handler: (request: Checked, store: RowStore, parts: Parts) => Promise<unknown>
}

class Routes {
  readonly byName: Record<string, AnyRoute> = {}
  readonly #definition: Definition
  readonly #path: string
  readonly #one: string
  readonly #aRow: string
  readonly #many: string
  readonly #reasons: Readonly<Record<'notFound' | 'values' | 'change', readonly string[]>>

  constructor(definition: Definition) {
    const { options, table, notFound } = definition
    this.#definition = definition
    this.#path = options.path
    this.#one = inSentence(table.title.one.en)
    this.#aRow = `${/^[aeio]/i.test(this.#one) ? 'an' : 'a'} ${this.#one}`
    this.#many = inSentence(table.title.many.en)
    const reason = (name: string) => `${options.area}.${name}`
    const isChosen = Object.values(table.columns).some(({ description }) => description.role === 'user')
    const taken = reasonedUniques(table).map((unique) => reason(unique.reason))
    const values = isChosen ? [...taken, 'iam.out-of-scope'] : taken
    const change = [reason(notFound), ...(table.hasEdits ? [reason(versionConflict)] : [])]
    this.#reasons = { notFound: [reason(notFound)], change, values }
  }

  addList(list: Declared<'list'>): void {
    const { shape } = this.#definition
    const reader = listReader(this.#definition, list)
    this.#add('list', list, {
      method: 'GET',
      path: this.#path,
      summary: `List ${this.#many}`,
      request: { query: reader.schema },
      response: listPage(shape.schemas.view),
      reasons: [],
      // The language of a request is an accessor, which a copy of the request would lose.
      handler: (request, store, parts) => {
        const { query } = request
        const search = { text: String(query['keyword'] ?? ''), properties: list.search ?? [] }
        const find: Parameters<typeof listResponse>[2] = async (window) => {
          const found = await store.find(await reader.whereOf(query, parts.parts), window, search)
          return { ...found, items: await this.#viewsOf(found.items, request, parts) }
        }
        return listResponse(query, reader.orderOf(query), find, reader.range, reader.filter)
      },
    })
  }

  addGet(get: Operation): void {
    this.#add('get', get, {
      method: 'GET',
      path: `${this.#path}/:id`,
      summary: `Get ${this.#aRow}`,
      request: { params: idParams },
      response: this.#definition.shape.schemas.view,
      reasons: this.#reasons.notFound,
      handler: async (request, store, parts) => this.#viewOf(await store.get(request.params.id), request, parts),
    })
  }

  addCreate(create: Declared<'create'>): void {
    const { shape } = this.#definition
    const hooks = create as AnyHooks
    this.#add('create', create, {
      method: 'POST',
      path: this.#path,
      summary: `Create ${this.#aRow}`,
      request: { body: shape.schemas.create },
      response: create.response === 'id' ? Type.Object({ id }) : shape.schemas.view,
      reasons: this.#reasons.values,
      annotations: [idempotent],
      handler: async (request, store, parts) => {
        const row = await store.create(shape.rowOf(request.body), { hooks, input: request.body })
        return create.response === 'id' ? { id: row['id'] } : this.#viewOf(row, request, parts)
      },
    })
    this.#addImport(create)
  }

  /** Adds the creation of several rows, which checks each row as the creation of one row does. */
  #addImport({ access, scope, fresh, throws = [], import: isImported, ...create }: Declared<'create'>): void {
    if (isImported === undefined) return
    const { shape } = this.#definition
    const hooks = create as AnyHooks
    this.#add('import', omitUndefined({ access, scope, fresh }), {
      method: 'POST',
      path: `${this.#path}/import`,
      summary: `Create several ${this.#many}, or only check them`,
      request: { body: importBody },
      response: importView,
      reasons: [...this.#reasons.values, ...throws],
      annotations: [bulkRateLimit, idempotent],
      maxBodyBytes: maxImportBytes,
      async handler(request, store) {
        const mode = request.body['mode'] as ImportMode
        const { inputs, errors } = await checkedRows(
          request.body['rows'] as readonly Row[],
          shape.schemas.create,
          request,
        )
        const wanted = inputs.map(({ row, input }) => ({ row, input, columns: shape.rowOf(input) }))
        const { valid, created, errors: others } = await store.createEach(wanted, mode, errors.length > 0, hooks)
        const problems = await problemsOf([...errors, ...others], request)
        const outcome = mode === 'check' ? 'checked' : created > 0 ? 'imported' : 'rejected'
        return { outcome, valid, created, problems }
      },
    })
  }

  addChange(change: Declared<'change'>): void {
    const { shape } = this.#definition
    const hooks = change as AnyHooks
    this.#add('change', change, {
      method: 'PUT',
      path: `${this.#path}/:id`,
      summary: `Change ${this.#aRow}; omitted fields do not change`,
      request: { params: idParams, body: shape.schemas.change },
      response: shape.schemas.view,
      reasons: [...this.#reasons.change, ...this.#reasons.values],
      handler: async (request, store, parts) => {
        const { version, input } = this.#partsOf(request.body)
        const before = await store.get(request.params.id, version)
        const row = await store.change(before, shape.rowOf(input), 'update', { hooks, input })
        return this.#viewOf(row, request, parts)
      },
    })
  }

  addRemove(remove: Declared<'remove'>): void {
    const hooks = remove as AnyHooks
    const query = this.#definition.table.hasEdits ? { query: versionQuery } : {}
    this.#add('remove', remove, {
      method: 'DELETE',
      path: `${this.#path}/:id`,
      summary: `Delete ${this.#aRow}`,
      request: { params: idParams, ...query },
      response: nothing,
      reasons: this.#reasons.change,
      handler: async ({ params, query }, store, _caller) => {
        await store.remove(await store.get(params.id, query.version), { hooks })
        return null
      },
    })
    if (remove.bulk === undefined) return
    const { access, scope, fresh, throws = [] } = remove
    this.#add('deleteBatch', omitUndefined({ access, scope, fresh }), {
      method: 'POST',
      path: `${this.#path}/delete-batch`,
      summary: `Delete several ${this.#many}`,
      request: { body: batchBody },
      response: bulkResult,
      reasons: throws,
      annotations: [bulkRateLimit, idempotent],
      handler: ({ body }, store) => store.removeEach(body['ids'] as readonly number[], { hooks }),
    })
  }

  addAction(name: string, action: ActionOf): void {
    const { shape, table } = this.#definition
    const [title] = action.title
    const verb = kebabCase(name)
    const hooks = action as AnyHooks
    const input = withColumnTitles(table.columns, action.input?.properties ?? {})
    const members = { ...input, ...(table.hasEdits ? { version: Type.Optional(version) } : {}) }
    this.#add(name, action, {
      method: 'POST',
      path: `${this.#path}/:id/${verb}`,
      summary: `${title} ${this.#aRow}`,
      request: { params: idParams, ...(Object.keys(members).length === 0 ? {} : { body: Type.Object(members) }) },
      response: shape.schemas.view,
      reasons: [...this.#reasons.change, ...this.#reasons.values],
      ...(action.input === undefined ? {} : { annotations: [idempotent] }),
      handler: async (request, store, parts) => {
        const { version, input } = this.#partsOf(request.body ?? {})
        const before = await store.get(request.params.id, version)
        const columns = await columnsOf(action, store, before, input)
        return this.#viewOf(await store.change(before, columns, verb, { hooks, input }), request, parts)
      },
    })
  }

  #add(name: string, operation: Operation, { handler, ...details }: Details): void {
    const { access, throws = [] } = operation
    const reach = reachOf(operation, this.#definition)
    const { legacyPath } = this.#definition.options
    const own = replaceable.flatMap((member) => (operation[member] === undefined ? [] : [[member, operation[member]]]))
    this.byName[name] = routesWith<Parts>().route({
      ...details,
      ...Object.fromEntries(own),
      ...(legacyPath && access !== 'user' && { legacyPath }),
      access: access === 'user' || reach === 'own' ? 'user' : { permission: access.code, scope: reach },
      reasons: [...new Set([...details.reasons, ...throws])],
      handler: (request, parts) => {
        const caller = { reach, operator: () => operatorOf(request) }
        return handler(request as unknown as Checked, new RowStore(this.#definition, parts, caller), parts)
      },
    })
  }

  /** Separates the version, which the body contains if the table has the columns of `c.edits()`. */
  #partsOf(body: Row): { readonly version: number | undefined; readonly input: Row } {
    if (!this.#definition.table.hasEdits) return { version: undefined, input: body }
    const { version, ...input } = body
    return { version: version as number | undefined, input }
  }

  async #viewOf(row: Row, request: Viewed, parts: Parts): Promise<Row> {
    const [view] = await this.#viewsOf([row], request, parts)
    return view ?? row
  }

  async #viewsOf(rows: readonly Row[], request: Viewed, { services: { database } }: Parts): Promise<readonly Row[]> {
    const { shape, table } = this.#definition
    const at = { now: new Date(database.clock.now()), locale: request.locale, em: database.fork() }
    const views = await shape.viewsOf(rows, at)
    if (!belongToProduct(this.#definition) || !table.hasEdits) return views
    // All callers see the row, but not the names of operators outside their data scope.
    return views.map((view) => {
      const updatedBy = operatorVisibleTo(request, view['updatedBy'] as string | null | undefined)
      return 'updatedBy' in view ? { ...view, updatedBy } : view
    })
  }
}

const columnsOf = async ({ set }: ActionOf, store: RowStore, row: Row, input: unknown): Promise<Row> =>
  typeof set === 'function' ? set({ ...store.work, row, input } as never) : set
