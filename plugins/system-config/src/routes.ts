import {
  type Access,
  answerList,
  type HttpServer,
  type RequestSchemas,
  type RouteAnnotation,
  type RouteDeclaration,
} from '@plinth/http'
import type { JsonValue } from '@plinth/kernel'
import { bulkLimited } from '@plinth/rate-limit'
import type { TSchema } from 'typebox'
import { fault } from './change-check.ts'
import type { ConfigCentre, ConfigChange, ImportDocument, InstanceState, Preview, SaveResult } from './contract.ts'
import { invalid, versionChanged } from './failures.ts'
import { historyOrder } from './history.ts'
import { itemView, orderedGroups } from './item-view.ts'
import { permissions } from './permissions.ts'
import * as schema from './schemas.ts'

const root = '/api/v1/admin/system-config'
const tags = ['system-config']

/** The access guard of the identity plugin puts the principal there. */
interface Caller {
  readonly principal?: { readonly username: string; readonly userId: number } | undefined
  readonly traceId: string
  readonly clientIp: string
}

const actorOf = ({ principal, traceId, clientIp }: Caller) => ({
  ...(principal === undefined ? { name: 'unknown' } : { name: principal.username, userId: principal.userId }),
  ...{ traceId, clientIp },
})

/** Routes of the configuration centre. A dry run is allowed to whoever may look; it changes nothing. */
export function addRoutes(http: HttpServer, plugin: string, centre: ConfigCentre): void {
  const { view, save, export: mayExport } = permissions
  const route = <const S extends RequestSchemas, const R extends TSchema>(
    call: `${'GET' | 'POST'} ${string}`,
    access: Access,
    summary: string,
    request: S,
    response: R,
    handler: RouteDeclaration<S, R>['handler'],
    annotations: readonly RouteAnnotation[] = [],
  ) => {
    const [method, path] = call.split(' ') as ['GET' | 'POST', string]
    const about = { method, path: `${root}/${path}`, summary, tags, access, annotations }
    http.route(plugin, { ...about, request, response, handler })
  }

  route(
    'GET keys',
    view,
    'List configuration keys by group, with search and filters',
    { query: schema.itemQuery },
    schema.list,
    async ({ query, locale }) => {
      const items = await centre.list(query.query ?? '')
      return { version: centre.version, total: items.length, groups: orderedGroups(items, locale) }
    },
  )
  route(
    'GET keys/:key',
    view,
    'Everything about one configuration key',
    { params: schema.keyParams },
    schema.item,
    async ({ params, locale }) => itemView(await centre.get(params.key), locale),
  )
  route(
    'POST changes/preview',
    view,
    'What changes would do: values, plugins, restart, every fault',
    { body: schema.previewBody },
    schema.outcome,
    async ({ body }) => previewView(await centre.preview(changesOf(body.changes))),
    [bulkLimited],
  )
  route(
    'POST changes',
    save,
    'Save changes of several keys, all or none',
    { body: schema.changesBody },
    schema.outcome,
    async (request) => {
      const { changes, ...options } = request.body
      return resultView(await centre.save(changesOf(changes), saveOptions(request, options)))
    },
  )
  route(
    'POST verifications',
    save,
    'Let the plugin that owns a key prove a value without storing it',
    { body: schema.verifyBody },
    schema.verification,
    ({ body }) => centre.verify(body.key, body.value as JsonValue),
  )
  route(
    'GET history',
    view,
    'Who changed what, when and why, newest first',
    { query: schema.historyQuery },
    schema.historyPage,
    ({ query }) =>
      answerList(query, historyOrder, async (window) => {
        const { key, actor, actorUserId } = query
        const found = await centre.history(given({ key, actor, actorUserId }), window)
        const views = found.items.map(({ changedAt, ...entry }) => ({
          ...given(entry),
          changedAt: changedAt.toISOString(),
        }))
        return { ...found, items: views }
      }),
  )
  route(
    'POST rollback',
    save,
    'Go back to the stored values of a version, as a new version',
    { body: schema.rollbackBody },
    schema.outcome,
    async (request) => {
      const { toVersion, keys, dryRun, ...options } = request.body
      if (dryRun) return previewView(await centre.preview(await centre.rollbackChanges(toVersion, keys)))
      return resultView(await centre.rollback(toVersion, { ...saveOptions(request, options), ...given({ keys }) }))
    },
    [bulkLimited],
  )
  route(
    'GET export',
    mayExport,
    'The stored values without secrets',
    {},
    schema.document,
    async () => {
      const { values, omittedSecrets, ...about } = await centre.export()
      return { ...about, values, omittedSecrets: [...omittedSecrets] }
    },
    [bulkLimited],
  )
  route(
    'POST import',
    save,
    'Store the values of an exported document; a dry run answers the difference',
    { body: schema.importBody },
    schema.outcome,
    async (request) => {
      const { document: imported, mode = 'merge', expectedVersion, dryRun, ...options } = request.body
      const document = imported as ImportDocument
      const changes = await centre.importChanges(document, mode)
      if (dryRun) return previewView(await centre.preview(changes))
      if (expectedVersion !== undefined && expectedVersion !== centre.version) {
        throw versionChanged(expectedVersion, centre.version)
      }
      return resultView(await centre.import(document, { mode, ...saveOptions(request, options) }))
    },
    [bulkLimited],
  )
  route(
    'GET instances',
    view,
    'Running instances with the version that each runs and what it refused',
    {},
    schema.instances,
    async () => {
      await centre.refresh()
      const items = (await centre.instances()).map((instance) => instanceView(instance, centre.version))
      return { version: centre.version, items }
    },
  )
}

function saveOptions(caller: Caller, { reason, verify = true }: { reason?: string; verify?: boolean }) {
  return { actor: actorOf(caller), verify, ...given({ reason }) }
}

function instanceView({ startedAt, seenAt, ...instance }: InstanceState, newest: number) {
  return {
    ...instance,
    roles: [...instance.roles],
    pendingRestart: [...instance.pendingRestart],
    refused: [...instance.refused],
    problems: [...instance.problems],
    upToDate: instance.version === newest,
    startedAt: startedAt.toISOString(),
    seenAt: seenAt.toISOString(),
  }
}

function changesOf(
  changes: readonly { key: string; action: 'set' | 'reset'; value?: unknown; expectedVersion?: number }[],
): readonly ConfigChange[] {
  const missing = changes.filter(({ action, value }) => action === 'set' && value === undefined)
  if (missing.length > 0) throw invalid(missing.map(({ key }) => fault(key, 'required', 'needs a value')))
  return changes.map(({ key, action, value, expectedVersion }) => {
    const common = { key, ...given({ expectedVersion }) }
    return action === 'set' ? { ...common, action, value: value as JsonValue } : { ...common, action }
  })
}

type Given<T> = { [N in keyof T as undefined extends T[N] ? never : N]: T[N] } & {
  [N in keyof T as undefined extends T[N] ? N : never]?: Exclude<T[N], undefined>
}

/** Without the members that are undefined. */
function given<T extends object>(members: T): Given<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Given<T>
}

function previewView({ effects, plugins, faults, version }: Preview) {
  return {
    dryRun: true,
    version,
    effects: effects.map(given),
    plugins: [...plugins],
    restartRequired: effects.some(({ outcome }) => outcome === 'pendingRestart'),
    errors: faults.map((fault) => ({ ...fault })),
  }
}

function resultView({ effects, version }: SaveResult) {
  const moved = effects.filter(({ outcome }) => outcome === 'applied' || outcome === 'pendingRestart')
  const plugins = [...new Set(moved.flatMap(({ plugin }) => plugin ?? []))].sort()
  return { ...previewView({ effects, plugins, faults: [], version }), dryRun: false }
}
