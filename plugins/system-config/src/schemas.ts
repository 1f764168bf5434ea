import { id, instant, listPage, listQuery, nullable, rangeQuery, reason, Type, text } from '@plinth/http'
import { maxChanges, maxKeyLength } from './changes/change-check.ts'

const keyName = Type.String({ minLength: 1, maxLength: maxKeyLength, examples: ['platform.rate-limit.default-window'] })
const why = Type.Optional(reason('Reason for the change, stored in the history.'))
const dryRun = Type.Optional(
  Type.Boolean({ default: false, description: 'True: return the effects without saving changes.' }),
)
const verify = Type.Optional(
  Type.Boolean({ default: true, description: 'False: store values without a check by their plugins.' }),
)
const version = Type.Integer({ minimum: 0 })
/** Any JSON value. Absent if the key has no value. */
const value = Type.Unknown({ description: 'Value as text, for example "5m". Secrets are masked.' })

export const itemQuery = Type.Object({
  query: Type.Optional(
    Type.String({
      maxLength: 500,
      description:
        'Words and filters. A key must match all of them: @modified @stored @secret (or @sensitive) @restart @live @env @locked @process @orphaned @deprecated @pending @problem @insecure @source:env @group:x @plugin:x',
    }),
  ),
})
export const keyParams = Type.Object({ key: keyName })

const sourcedValue = Type.Object({
  source: text,
  place: Type.String({ description: 'Place of the value: file and line, variable, stored value, or argument.' }),
  value: Type.Optional(value),
  active: Type.Boolean({ description: 'True for the source of the effective value.' }),
  withheld: Type.Optional(
    Type.Array(text, {
      description:
        'For a secret that is not used: keys of the destination whose values differ from those that the secret was entered for.',
    }),
  ),
})

export const item = Type.Object({
  key: text,
  orphaned: Type.Boolean({ description: 'True for a stored value whose key no loaded plugin declares.' }),
  plugin: Type.Optional(text),
  group: text,
  displayTitle: text,
  displayDescription: Type.Optional(text),
  displayRule: Type.Optional(
    Type.String({ description: 'Description of the pattern, which completes the sentence "must ..." or 必须….' }),
  ),
  type: Type.Optional(text),
  schema: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'JSON Schema of the value.' })),
  default: Type.Optional(value),
  examples: Type.Optional(Type.Array(Type.Unknown())),
  destination: Type.Optional(
    Type.Array(text, {
      description:
        'For a secret: keys that decide where it is sent. If one of them changes without a new secret, the secret is removed.',
    }),
  ),
  destinationVersion: Type.Optional(
    Type.String({
      description:
        'For a secret: changes whenever a stored value of its destination changes. Pass it as `expectedDestination`.',
    }),
  ),
  required: Type.Boolean(),
  sensitive: Type.Boolean(),
  reload: Type.Optional(Type.Enum(['live', 'restart'])),
  scope: Type.Optional(
    Type.Enum(['product', 'process'], {
      description: 'process: set per process, never stored in the database.',
    }),
  ),
  editable: Type.Boolean({ description: 'False if this API cannot change the key.' }),
  locked: Type.Optional(
    Type.Enum(['process', 'state', 'safety', 'orphaned', 'permission'], {
      description:
        'Reason why this API does not change the key. process: it is set per process. state: only its plugin writes it. safety: it can only be set in a file, in the environment or on the command line. orphaned: no loaded plugin declares it, so it can only be removed. permission: the caller lacks the permission in `permission`.',
    }),
  ),
  permission: Type.Optional(
    Type.String({ description: 'Permission that is needed to change the key, in addition to that of the operation.' }),
  ),
  env: Type.Optional(Type.String({ description: 'Name of the environment variable.' })),
  deprecated: Type.Optional(
    Type.Object({ since: text, replacement: Type.Optional(text), reason: Type.Optional(text) }),
  ),
  value: Type.Optional(value),
  isSet: Type.Boolean({ description: 'True if a source other than the default has a value.' }),
  source: Type.Optional(text),
  sources: Type.Array(sourcedValue, { description: 'All sources with a value, lowest priority first.' }),
  version: Type.Integer({ minimum: 0, description: 'Version of the stored value. 0 if there is none.' }),
  stored: Type.Optional(
    Type.Object({
      value: Type.Optional(value),
      updatedAt: instant,
      updatedBy: nullable(
        Type.String({
          description: 'User who stored the value. Null if this user is outside the data scope of the caller.',
        }),
      ),
    }),
  ),
  shadowed: Type.Boolean({ description: 'True if a source with higher priority overrides the stored value.' }),
  pendingRestart: Type.Boolean(),
  refused: Type.Optional(
    Type.String({ description: 'Reason why the plugin rejected the newest value. An older value is effective.' }),
  ),
  insecure: Type.Optional(Type.String({ description: 'Reason why the effective value is not safe in production.' })),
  problem: Type.Optional(Type.String({ description: 'Reason why the stored value cannot be used.' })),
})

export const list = Type.Object({
  version,
  total: Type.Integer({ minimum: 0 }),
  groups: Type.Array(Type.Object({ group: text, displayTitle: text, items: Type.Array(item) })),
})

const expectedDestination = Type.Optional(
  Type.String({
    maxLength: 500,
    description:
      'For a secret: `destinationVersion` that the caller has read. If the destination has changed since, nothing is stored.',
  }),
)

const change = Type.Object({
  key: keyName,
  action: Type.Enum(['set', 'reset']),
  value: Type.Optional(Type.Unknown({ description: 'For "set": the new value as text.' })),
  expectedVersion: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Version of the stored value that the caller has read. A different current version is a conflict.',
    }),
  ),
  expectedDestination,
})
export const changesBody = Type.Object({
  changes: Type.Array(change, { minItems: 1, maxItems: maxChanges }),
  reason: why,
  verify,
})
export const previewBody = Type.Object({ changes: Type.Array(change, { minItems: 1, maxItems: maxChanges }) })

/** How a value of a key is shown. */
const display = {
  displayTitle: text,
  format: Type.Optional(Type.String({ description: 'Format of the value, such as `duration`.' })),
  fallback: Type.Optional(
    Type.Unknown({ description: 'Default, if it applies while no value is stored. Absent for secrets.' }),
  ),
}

export const effect = Type.Object({
  key: text,
  ...display,
  plugin: Type.Optional(text),
  outcome: Type.Enum(['applied', 'pendingRestart', 'shadowed', 'rejected', 'unchanged', 'unset', 'requested']),
  reason: Type.Optional(text),
  before: Type.Optional(value),
  after: Type.Optional(value),
  destination: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'For a new secret: the keys that decide where it is sent, with their values after the changes.',
    }),
  ),
})
const problem = Type.Object({ field: text, rule: text, message: text })
/** Effects of a save. A dry run returns problems in `errors` instead of failing. */
export const outcome = Type.Object({
  dryRun: Type.Boolean(),
  version,
  effects: Type.Array(effect),
  plugins: Type.Array(text, { description: 'Plugins whose values change.' }),
  restartRequired: Type.Boolean(),
  errors: Type.Array(problem),
  requestId: Type.Optional(
    Type.Integer({
      description: 'Request that another operator must approve. The changes are not stored until then.',
    }),
  ),
})

const requestStatus = Type.Enum(['open', 'applied', 'rejected', 'withdrawn', 'expired'], {
  description: 'applied: approved, and the changes are stored. expired: it can no longer be approved.',
})
const shownName = (description: string) =>
  nullable(Type.String(), { description: `${description} Null if this user is outside the data scope of the caller.` })

export const requestRange = rangeQuery('createdAt', 'id')
export const requestQuery = Type.Object({
  ...listQuery.properties,
  ...requestRange.properties,
  status: Type.Optional(requestStatus),
})
export const requestParams = Type.Object({ id })
export const requestBody = Type.Object({ reason: why })
export const request = Type.Object({
  id,
  status: requestStatus,
  origin: Type.Enum(['save', 'import', 'rollback', 'state']),
  changes: Type.Array(
    Type.Object({
      key: text,
      ...display,
      action: Type.Enum(['set', 'reset']),
      before: Type.Optional(value),
      after: Type.Optional(value),
      isOutdated: Type.Boolean({
        description: 'True if the stored value changed since the request. The request can then not be approved.',
      }),
    }),
  ),
  keys: Type.Array(text),
  requestedBy: shownName('User who made the request.'),
  isOwn: Type.Boolean({ description: 'True if the caller made the request.' }),
  reason: nullable(text),
  createdAt: instant,
  expiresAt: instant,
  decidedBy: shownName('User who decided. Null without a decision.'),
  decisionReason: nullable(text),
  decidedAt: nullable(instant),
})
export const requestPage = listPage(request)

export const verifyBody = Type.Object({ key: keyName, value: Type.Unknown(), expectedDestination })
export const verification = Type.Object({
  outcome: Type.Enum(['verified', 'unverified', 'refused']),
  reason: Type.Optional(text),
  isStored: Type.Optional(
    Type.Boolean({ description: 'For a secret: true if it equals the stored one. Absent if no value is stored.' }),
  ),
})

export const historyRange = rangeQuery('changedAt')
export const historyQuery = Type.Object({
  ...listQuery.properties,
  ...historyRange.properties,
  version: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Version number. Returns all changes of this version.' }),
  ),
  key: Type.Optional(keyName),
  actor: Type.Optional(Type.String({ maxLength: 128 })),
  actorUserId: Type.Optional(Type.Integer({ minimum: 1, description: 'Id of the user who acted.' })),
})
export const historyEntry = Type.Object({
  id: Type.String({ description: 'Version and key of the change.' }),
  version,
  versionBefore: Type.Integer({
    minimum: 0,
    description: 'Version before the change. A rollback of the key to this version undoes the change.',
  }),
  key: text,
  ...display,
  before: Type.Optional(value),
  after: Type.Optional(value),
  sensitive: Type.Boolean(),
  origin: Type.Enum(['save', 'import', 'rollback', 'state']),
  actor: Type.String({ description: 'Name of the actor at the time of the change.' }),
  actorUserId: Type.Optional(Type.Integer({ description: 'Id of the user, if a user made the change.' })),
  reason: Type.Optional(text),
  traceId: Type.Optional(text),
  changedAt: instant,
})
export const historyPage = listPage(historyEntry)
export const historyParams = Type.Object({
  id: Type.String({
    maxLength: maxKeyLength + 17,
    pattern: '^[1-9][0-9]{0,15}:.+$',
    description: 'Version and key of the change.',
  }),
})

export const rollbackBody = Type.Object({
  toVersion: version,
  keys: Type.Optional(Type.Array(keyName, { minItems: 1, maxItems: maxChanges })),
  reason: why,
  verify,
  dryRun,
})

export const document = Type.Object({
  format: Type.Literal('plinth-config/1'),
  product: text,
  version,
  exportedAt: instant,
  values: Type.Record(Type.String(), Type.Unknown()),
  omittedSecrets: Type.Array(text),
})
export const importBody = Type.Object({
  document: Type.Object(
    {
      format: Type.Literal('plinth-config/1'),
      values: Type.Record(Type.String(), Type.Unknown()),
    },
    // An export also contains metadata, and exports of other versions may contain more.
    { additionalProperties: true },
  ),
  mode: Type.Optional(Type.Enum(['merge', 'replace'], { default: 'merge' })),
  expectedVersion: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Version returned by a dry run. A different current version is a conflict.',
    }),
  ),
  reason: why,
  verify,
  dryRun,
})

const keyedReason = Type.Object({ key: text, reason: text })
export const instances = Type.Object({
  version: Type.Integer({ minimum: 0, description: 'Newest version.' }),
  items: Type.Array(
    Type.Object({
      id: text,
      host: text,
      pid: Type.Integer(),
      roles: Type.Array(text),
      version,
      upToDate: Type.Boolean(),
      startedAt: instant,
      seenAt: instant,
      pendingRestart: Type.Array(text),
      refused: Type.Array(keyedReason),
      problems: Type.Array(keyedReason),
    }),
  ),
})
