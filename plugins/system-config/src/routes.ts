import type { HttpServer } from '@plinth/http'
import type { JsonValue } from '@plinth/kernel'
import { fault } from './change-check.ts'
import type { ConfigCentre, ConfigChange, ImportDocument, Preview, SaveResult } from './contract.ts'
import { invalid, versionChanged } from './failures.ts'
import { itemView, orderedGroups } from './item-view.ts'
import { permissions } from './permissions.ts'
import * as schema from './schemas.ts'

const root = '/api/v1/admin/system-config'
const tags = ['system-config']

/** The access guard of the identity plugin puts the principal there. */
interface Caller {
  readonly principal?: { readonly username: string } | undefined
  readonly traceId: string
}

const actorOf = ({ principal, traceId }: Caller) => ({ name: principal?.username ?? 'unknown', traceId })

/** Routes of the configuration centre. A dry run is allowed to whoever may look; it changes nothing. */
export function addRoutes(http: HttpServer, plugin: string, centre: ConfigCentre): void {
  const { view, save, export: mayExport } = permissions
  http.route(plugin, {
    method: 'GET',
    path: `${root}/keys`,
    summary: 'List configuration keys by group, with search and filters',
    tags,
    access: view,
    request: { query: schema.listQuery },
    response: schema.list,
    async handler({ query, locale }) {
      const items = await centre.list(query.query ?? '')
      return { version: centre.version, total: items.length, groups: orderedGroups(items, locale) }
    },
  })

  http.route(plugin, {
    method: 'GET',
    path: `${root}/keys/:key`,
    summary: 'Everything about one configuration key',
    tags,
    access: view,
    request: { params: schema.keyParams },
    response: schema.item,
    handler: async ({ params, locale }) => itemView(await centre.get(params.key), locale),
  })

  http.route(plugin, {
    method: 'POST',
    path: `${root}/changes/preview`,
    summary: 'What changes would do: values, plugins, restart, every fault',
    tags,
    access: view,
    request: { body: schema.previewBody },
    response: schema.outcome,
    handler: async ({ body }) => previewView(await centre.preview(changesOf(body.changes))),
  })

  http.route(plugin, {
    method: 'POST',
    path: `${root}/changes`,
    summary: 'Save changes of several keys, all or none',
    tags,
    access: save,
    request: { body: schema.changesBody },
    response: schema.outcome,
    async handler(request) {
      const { changes, reason, verify = true } = request.body
      return resultView(
        await centre.save(changesOf(changes), { actor: actorOf(request), verify, ...given({ reason }) }),
      )
    },
  })

  http.route(plugin, {
    method: 'POST',
    path: `${root}/verifications`,
    summary: 'Let the plugin that owns a key prove a value without storing it',
    tags,
    access: save,
    request: { body: schema.verifyBody },
    response: schema.verification,
    handler: ({ body }) => centre.verify(body.key, body.value as JsonValue),
  })

  http.route(plugin, {
    method: 'GET',
    path: `${root}/history`,
    summary: 'Who changed what, when and why, newest first',
    tags,
    access: view,
    request: { query: schema.historyQuery },
    response: schema.historyPage,
    async handler({ query: { page, size, ...filter } }) {
      const { items, total } = await centre.history({ page, size, ...given(filter) })
      const views = items.map(({ changedAt, ...entry }) => ({ ...given(entry), changedAt: changedAt.toISOString() }))
      return { items: views, page, size, total }
    },
  })

  http.route(plugin, {
    method: 'POST',
    path: `${root}/rollback`,
    summary: 'Go back to the stored values of a version, as a new version',
    tags,
    access: save,
    request: { body: schema.rollbackBody },
    response: schema.outcome,
    async handler(request) {
      const { toVersion, keys, reason, verify = true, dryRun } = request.body
      if (dryRun) return previewView(await centre.preview(await centre.rollbackChanges(toVersion, keys)))
      const options = { actor: actorOf(request), verify, ...given({ reason, keys }) }
      return resultView(await centre.rollback(toVersion, options))
    },
  })

  http.route(plugin, {
    method: 'GET',
    path: `${root}/export`,
    summary: 'The stored values without secrets',
    tags,
    access: mayExport,
    response: schema.document,
    async handler() {
      const { values, omittedSecrets, ...about } = await centre.export()
      return { ...about, values, omittedSecrets: [...omittedSecrets] }
    },
  })

  http.route(plugin, {
    method: 'POST',
    path: `${root}/import`,
    summary: 'Store the values of an exported document; a dry run answers the difference',
    tags,
    access: save,
    request: { body: schema.importBody },
    response: schema.outcome,
    async handler(request) {
      const { document: imported, mode = 'merge', expectedVersion, reason, verify = true, dryRun } = request.body
      const document = imported as ImportDocument
      const changes = await centre.importChanges(document, mode)
      if (dryRun) return previewView(await centre.preview(changes))
      if (expectedVersion !== undefined && expectedVersion !== centre.version) {
        throw versionChanged(expectedVersion, centre.version)
      }
      return resultView(await centre.import(document, { mode, actor: actorOf(request), verify, ...given({ reason }) }))
    },
  })

  http.route(plugin, {
    method: 'GET',
    path: `${root}/instances`,
    summary: 'Running instances with the version that each runs and what it refused',
    tags,
    access: view,
    response: schema.instances,
    async handler() {
      await centre.refresh()
      const items = (await centre.instances()).map(({ startedAt, seenAt, ...instance }) => ({
        ...instance,
        roles: [...instance.roles],
        pendingRestart: [...instance.pendingRestart],
        refused: [...instance.refused],
        problems: [...instance.problems],
        upToDate: instance.version === centre.version,
        startedAt: startedAt.toISOString(),
        seenAt: seenAt.toISOString(),
      }))
      return { version: centre.version, items }
    },
  })
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
