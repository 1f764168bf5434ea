import {
  bulkRateLimit,
  listResponse,
  nothing,
  operatorVisibleTo,
  previewRateLimit,
  type RouteAnnotation,
  routesWith,
} from '@plinth/http'
import { bilingual, type JsonValue, localize, maskedValue, omitUndefined } from '@plinth/kernel'
import type { Static } from 'typebox'
import { problem } from './changes/change-check.ts'
import type {
  Actor,
  ChangeRequest,
  ConfigCentre,
  ConfigChange,
  HistoryEntry,
  ImportDocument,
  InstanceState,
  Preview,
  SaveOptions,
  SaveResult,
} from './contract.ts'
import { businessError, permissions, savePermission } from './declarations.ts'
import { itemView, orderedGroups, type Caller as User } from './item-view.ts'
import { requestOrder } from './requests/change-requests.ts'
import * as schema from './schemas.ts'
import { historyOrder } from './storage/history.ts'

const root = '/api/v1/admin/system-config'

/** The access guard of the plugin iam sets `principal`. */
interface Caller {
  readonly principal?:
    | (User & {
        readonly permissions?: ReadonlySet<string>
        readonly assertFresh?: (maxAge: string) => void | Promise<void>
      })
    | undefined
  readonly traceId: string
  readonly clientIp: string
  readonly locale: string
  readonly reason?: string
}

/**
 * A person decides about requests, so iam rejects API tokens on these routes, also while fresh proofs are off. iam reads
 * this annotation. It is not imported, because the config centre does not need iam.
 */
const sessionOnly: RouteAnnotation<boolean> = { id: 'iam.api-tokens', value: false }

/** Maximum age of the proof of identity for changes of secrets and of keys that decide about access. */
const maxProofAge = '5m'

/**
 * Returns which groups a caller may change who has the permission only for single groups. Callers with the permission
 * for all keys, and those without any, are not restricted here: the access rules of the routes apply.
 */
function groupsOf(principal: NonNullable<Caller['principal']>): Pick<Actor, 'mayChange'> {
  const { permissions: codes = new Set<string>() } = principal
  const isLimited = [...codes].some((code) => code.startsWith(`${savePermission}:`)) && !principal.can(savePermission)
  return isLimited ? { mayChange: (group) => codes.has(`${savePermission}:${group}`) } : {}
}

const actorOf = ({ principal, traceId, clientIp }: Caller): Actor => ({
  ...(principal === undefined
    ? { name: 'unknown' }
    : {
        name: principal.username,
        userId: principal.userId,
        can: (code: string) => principal.can(code),
        ...groupsOf(principal),
        assertFresh: () => principal.assertFresh?.(maxProofAge),
      }),
  traceId,
  clientIp,
})

const readerOf = ({ principal, traceId, clientIp, locale }: Caller) => ({
  principal,
  traceId,
  locale,
  mayChange: actorOf({ principal, traceId, clientIp, locale }).mayChange,
})

const { view: mayView, history: mayViewHistory, save: maySave, export: mayExport, approve: mayApprove } = permissions
const { route } = routesWith<{ readonly centre: ConfigCentre }>()

/** Reason codes of the routes that preview and save changes. */
const changeReasons = [
  'system-config.conflict',
  'system-config.destination-changed',
  'system-config.invalid',
  'system-config.key-unknown',
  'system-config.master-key',
  'system-config.storage-unavailable',
  'system-config.version-changed',
]

const saveReasons = [
  ...changeReasons,
  'iam.proof-required',
  'system-config.approval-needed',
  'system-config.key-protected',
  'system-config.request-limit',
]

const decisionReasons = [
  'system-config.master-key',
  'system-config.own-request',
  'system-config.request-closed',
  'system-config.request-unknown',
  'system-config.storage-unavailable',
]

/** Routes of the config centre. A caller with read access can use dry runs, which change nothing. */
export const routes = [
  route({
    method: 'GET',
    path: `${root}/keys`,
    summary: 'List configuration keys by group, with search and filters',
    access: mayView,
    request: { query: schema.itemQuery },
    response: schema.list,
    reasons: ['system-config.filter-unknown', 'system-config.key-unknown', 'system-config.storage-unavailable'],
    handler: async (request, { centre }) => {
      const items = await centre.list(request.query.query ?? '')
      return { version: centre.version, total: items.length, groups: orderedGroups(items, readerOf(request)) }
    },
  }),
  route({
    method: 'GET',
    path: `${root}/keys/:key`,
    summary: 'Get a configuration key with its values and history',
    access: mayView,
    request: { params: schema.keyParams },
    response: schema.item,
    reasons: ['system-config.invalid', 'system-config.key-unknown', 'system-config.storage-unavailable'],
    handler: async (request, { centre }) => itemView(await centre.get(request.params.key), readerOf(request)),
  }),
  route({
    method: 'POST',
    path: `${root}/changes/preview`,
    summary: 'Preview changes: values, affected plugins, restart and problems; changes nothing',
    access: mayView,
    annotations: [previewRateLimit],
    request: { body: schema.previewBody },
    response: schema.outcome,
    reasons: changeReasons,
    handler: async (request, { centre }) =>
      previewView(await centre.preview(changesOf(request.body.changes, request.locale), previewOptions(request)), {
        centre,
        locale: request.locale,
      }),
  }),
  route({
    method: 'POST',
    path: `${root}/changes`,
    summary: 'Save changes of several keys, all or none',
    access: maySave,
    request: { body: schema.changesBody },
    response: schema.outcome,
    reasons: saveReasons,
    handler: async (request, { centre }) => {
      const { changes, ...options } = request.body
      return resultView(await centre.save(changesOf(changes, request.locale), saveOptions(request, options)), {
        centre,
        locale: request.locale,
      })
    },
  }),
  route({
    method: 'POST',
    path: `${root}/verifications`,
    summary: 'Verify a value with the plugin that owns the key, and compare it with the stored secret; stores nothing',
    access: maySave,
    // Limits guesses of a secret.
    annotations: [bulkRateLimit],
    request: { body: schema.verifyBody },
    response: schema.verification,
    reasons: [...changeReasons, 'system-config.key-protected'],
    handler: async (request, { centre }) => {
      const { key, value, expectedDestination } = request.body
      const actor = actorOf(request)
      const group = centre.find(key)?.declaration?.group ?? ''
      if (actor.mayChange?.(group) === false) {
        const permissions = [`${savePermission}:${group}`]
        throw businessError('key-protected', {
          params: { permissions: permissions.join(), keys: key },
          data: { permissions },
        })
      }
      const verification = await centre.verify(key, value as JsonValue, { expectedDestination })
      return {
        ...verification,
        ...omitUndefined<{ isStored?: boolean }>({
          isStored: await centre.isStoredSecret(key, value as JsonValue, actor),
        }),
      }
    },
  }),
  route({
    method: 'GET',
    path: `${root}/history`,
    summary: 'List changes of configuration keys, newest first',
    access: mayViewHistory,
    request: { query: schema.historyQuery },
    response: schema.historyPage,
    reasons: ['system-config.filter-unknown', 'system-config.key-unknown', 'system-config.storage-unavailable'],
    handler: ({ query, locale }, { centre }) =>
      listResponse(
        query,
        historyOrder,
        async (window) => {
          const { version, key, actor, actorUserId } = query
          const found = await centre.history(omitUndefined({ version, key, actor, actorUserId }), window)
          return { ...found, items: found.items.map((entry) => historyView(entry, { centre, locale })) }
        },
        schema.historyRange,
      ),
  }),
  route({
    method: 'GET',
    path: `${root}/history/:id`,
    summary: 'Get a change of a configuration key',
    access: mayViewHistory,
    request: { params: schema.historyParams },
    response: schema.historyEntry,
    reasons: [
      'system-config.change-unknown',
      'system-config.filter-unknown',
      'system-config.key-unknown',
      'system-config.storage-unavailable',
    ],
    handler: async ({ params: { id }, locale }, { centre }) => {
      const version = Number(id.slice(0, id.indexOf(':')))
      const key = id.slice(id.indexOf(':') + 1)
      const [entry] = (await centre.history({ version, key }, { size: 1, offset: 0, count: 'none' })).items
      if (entry === undefined) throw businessError('change-unknown')
      return historyView(entry, { centre, locale })
    },
  }),
  route({
    method: 'POST',
    path: `${root}/rollback`,
    summary: 'Restore the stored values of a version as a new version',
    access: maySave,
    annotations: [bulkRateLimit],
    request: { body: schema.rollbackBody },
    response: schema.outcome,
    reasons: [...saveReasons, 'system-config.version-unknown'],
    handler: async (request, { centre }) => {
      const { toVersion, keys, dryRun, ...options } = request.body
      if (dryRun)
        return previewView(
          await centre.preview(await centre.rollbackChanges(toVersion, keys), previewOptions(request)),
          { centre, locale: request.locale },
        )
      const done = await centre.rollback(toVersion, omitUndefined({ ...saveOptions(request, options), keys }))
      return resultView(done, { centre, locale: request.locale })
    },
  }),
  route({
    method: 'GET',
    path: `${root}/export`,
    summary: 'Export the stored values without secrets',
    access: mayExport,
    annotations: [bulkRateLimit],
    response: schema.document,
    reasons: ['system-config.key-unknown', 'system-config.storage-unavailable'],
    handler: async (_request, { centre }) => {
      const { values, omittedSecrets, ...about } = await centre.export()
      return { ...about, values, omittedSecrets: [...omittedSecrets] }
    },
  }),
  route({
    method: 'POST',
    path: `${root}/import`,
    summary: 'Import an exported document; a dry run returns the differences only',
    access: maySave,
    annotations: [bulkRateLimit],
    request: { body: schema.importBody },
    response: schema.outcome,
    reasons: [...saveReasons, 'system-config.document-invalid', 'system-config.filter-unknown'],
    handler: async (request, { centre }) => {
      const { document: imported, mode = 'merge', expectedVersion, dryRun, ...options } = request.body
      const document = imported as ImportDocument
      const changes = await centre.importChanges(document, mode)
      if (dryRun)
        return previewView(await centre.preview(changes, previewOptions(request)), { centre, locale: request.locale })
      if (expectedVersion !== undefined && expectedVersion !== centre.version) {
        const current = centre.version
        const window = { orderBy: historyOrder, size: 1, offset: 0, count: 'none' } as const
        const [last] = (await centre.history({}, window)).items
        const changed = { updatedBy: last?.actor ?? null, updatedAt: last?.changedAt.toISOString() ?? null }
        throw businessError('version-changed', {
          params: { expected: expectedVersion, current },
          data: { currentVersion: current, ...changed },
        })
      }
      return resultView(await centre.import(document, { mode, ...saveOptions(request, options) }), {
        centre,
        locale: request.locale,
      })
    },
  }),
  route({
    method: 'GET',
    path: `${root}/requests`,
    summary: 'List changes that wait for the approval of another operator, and earlier ones, newest first',
    access: mayViewHistory,
    request: { query: schema.requestQuery },
    response: schema.requestPage,
    reasons: ['system-config.storage-unavailable'],
    handler: (request, { centre }) =>
      listResponse(
        request.query,
        requestOrder,
        async (window) => {
          const found = await centre.requests(omitUndefined({ status: request.query.status }), window)
          return {
            ...found,
            items: found.items.map((one) => requestView(one, { centre, locale: request.locale }, request)),
          }
        },
        schema.requestRange,
      ),
  }),
  route({
    method: 'GET',
    path: `${root}/requests/:id`,
    summary: 'Get changes that wait for approval',
    access: mayViewHistory,
    request: { params: schema.requestParams },
    response: schema.request,
    reasons: ['system-config.request-unknown', 'system-config.storage-unavailable'],
    handler: async (request, { centre }) => {
      await centre.refresh()
      return requestView(await centre.request(request.params.id), { centre, locale: request.locale }, request)
    },
  }),
  route({
    method: 'POST',
    path: `${root}/requests/:id/approve`,
    summary: 'Approve changes that another operator requested, and store them',
    description: 'Also needs the permissions of the changed keys. The user who made the request cannot approve it.',
    access: mayApprove,
    annotations: [sessionOnly],
    fresh: maxProofAge,
    request: { params: schema.requestParams, body: schema.requestBody },
    response: schema.outcome,
    reasons: [...new Set([...saveReasons, ...decisionReasons])],
    handler: async (request, { centre }) => {
      const { actor, ...options } = saveOptions(request, request.body)
      // The permission to approve is for all groups.
      const { mayChange: _, ...approver } = actor
      const done = await centre.approve(request.params.id, { ...options, actor: approver })
      return resultView(done, { centre, locale: request.locale })
    },
  }),
  route({
    method: 'POST',
    path: `${root}/requests/:id/reject`,
    summary: 'Reject changes that another operator requested',
    access: mayApprove,
    annotations: [sessionOnly],
    fresh: maxProofAge,
    request: { params: schema.requestParams, body: schema.requestBody },
    response: nothing,
    reasons: decisionReasons,
    handler: async (request, { centre }) => {
      await centre.reject(request.params.id, saveOptions(request, request.body))
      return null
    },
  }),
  route({
    method: 'POST',
    path: `${root}/requests/:id/withdraw`,
    summary: 'Withdraw your own request',
    access: maySave,
    request: { params: schema.requestParams, body: schema.requestBody },
    response: nothing,
    reasons: ['system-config.request-closed', 'system-config.request-unknown', 'system-config.storage-unavailable'],
    handler: async (request, { centre }) => {
      await centre.withdraw(request.params.id, saveOptions(request, request.body))
      return null
    },
  }),
  route({
    method: 'GET',
    path: `${root}/instances`,
    summary: 'List running instances with their versions and the changes that they rejected',
    access: mayView,
    response: schema.instances,
    reasons: ['system-config.filter-unknown', 'system-config.key-unknown', 'system-config.storage-unavailable'],
    handler: async (_request, { centre }) => {
      await centre.refresh()
      const items = (await centre.instances()).map((instance) => instanceView(instance, centre.version))
      return { version: centre.version, items }
    },
  }),
]

interface KeyReader {
  readonly centre: ConfigCentre
  readonly locale: string
}

/** Returns how values of a key are shown: its title, its format, and the value that applies without a stored one. */
function displayOf(key: string, { centre, locale }: KeyReader) {
  const { declaration, explanation } = centre.find(key) ?? {}
  const sources = explanation?.sources ?? []
  const weaker = sources.findLast(({ source }) => source !== 'database' && source !== 'command-line')
  const fallback = weaker?.source === 'default' && declaration?.sensitive === false ? weaker.value : undefined
  return {
    displayTitle: declaration === undefined ? key : localize(declaration.title, locale),
    ...(declaration?.format !== undefined && { format: declaration.format }),
    ...(fallback !== undefined && { fallback }),
  }
}

const historyView = ({ changedAt, ...entry }: HistoryEntry, reader: KeyReader) =>
  omitUndefined<Static<typeof schema.historyEntry>>({
    ...displayOf(entry.key, reader),
    id: `${entry.version}:${entry.key}`,
    versionBefore: entry.version - 1,
    ...entry,
    changedAt: changedAt.toISOString(),
  })

const previewOptions = (caller: Caller) => ({ actor: actorOf(caller), locale: caller.locale })

function saveOptions(caller: Caller, { reason, verify = true }: { reason?: string; verify?: boolean }) {
  return omitUndefined<SaveOptions>({
    actor: actorOf(caller),
    verify,
    locale: caller.locale,
    reason: reason ?? caller.reason,
  })
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
  changes: readonly {
    key: string
    action: 'set' | 'reset'
    value?: unknown
    expectedVersion?: number
    expectedDestination?: string
  }[],
  locale: string,
): readonly ConfigChange[] {
  const missing = changes.filter(({ action, value }) => action === 'set' && value === undefined)
  const errors = missing.map(({ key }) => problem(key, 'required', bilingual('needs a value', '需要一个值'), locale))
  if (errors.length > 0) throw businessError('invalid', { data: { errors } })
  return changes.map(({ key, action, value, expectedVersion, expectedDestination }) => {
    const common = omitUndefined<Pick<ConfigChange, 'key' | 'expectedVersion'>>({ key, expectedVersion })
    return action === 'set'
      ? omitUndefined<ConfigChange>({ ...common, action, value: value as JsonValue, expectedDestination })
      : { ...common, action }
  })
}

function previewView({ effects, plugins, faults, version }: Preview, reader: KeyReader) {
  return {
    dryRun: true,
    version,
    effects: effects.map((effect) =>
      omitUndefined<Static<typeof schema.effect>>({ ...displayOf(effect.key, reader), ...effect }),
    ),
    plugins: [...plugins],
    restartRequired: effects.some(({ outcome }) => outcome === 'pendingRestart'),
    errors: faults.map((problem) => ({ ...problem })),
  }
}

function requestView(
  { changes, expiresAt, createdAt, decidedAt, ...request }: ChangeRequest,
  reader: KeyReader,
  caller: Caller,
): Static<typeof schema.request> {
  const { id, status, origin, requestedBy, requestedByUserId, reason, decidedBy, decisionReason } = request
  return {
    id,
    status,
    origin,
    changes: changes.map(({ key, action, value, isSecret, expectedVersion = 0 }) => {
      const stored = reader.centre.find(key)?.stored
      const after = action === 'reset' ? undefined : isSecret ? maskedValue : value
      return omitUndefined<Static<typeof schema.request>['changes'][number]>({
        ...displayOf(key, reader),
        key,
        action,
        before: stored?.value,
        after,
        isOutdated: status === 'open' && (stored?.version ?? 0) !== expectedVersion,
      })
    }),
    keys: changes.map(({ key }) => key),
    requestedBy: operatorVisibleTo(caller, requestedBy),
    isOwn: caller.principal?.userId === requestedByUserId,
    reason: reason ?? null,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
    decidedBy: decidedBy === undefined ? null : operatorVisibleTo(caller, decidedBy),
    decisionReason: decisionReason ?? null,
    decidedAt: decidedAt?.toISOString() ?? null,
  }
}

function resultView({ effects, version, requestId }: SaveResult, reader: KeyReader) {
  const moved = effects.filter(({ outcome }) => outcome === 'applied' || outcome === 'pendingRestart')
  const plugins = [...new Set(moved.flatMap(({ plugin }) => plugin ?? []))].sort()
  const view = { ...previewView({ effects, plugins, faults: [], version }, reader), dryRun: false }
  return requestId === undefined ? view : { ...view, requestId }
}
