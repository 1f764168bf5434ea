import { type Database, findPage } from '@plinth/database'
import {
  type HttpReply,
  id,
  idParams,
  line,
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  nullable,
  routesWith,
  sortQuery,
  Type,
  version,
  versionQuery,
} from '@plinth/http'
import { callerRows, operatorOf, requirePrincipal } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import { type Clock, localize } from '@plinth/kernel'
import type { Static } from 'typebox'
import { largestLimit } from '../config.ts'
import type { OpenScopes } from '../contract.ts'
import { permissionCodes } from '../declarations.ts'
import { AppRow, appOwnerColumn } from '../entities.ts'
import { appStatus, appView, appWithSecretView, scopeView, viewOfApp } from './app-views.ts'
import type { Applications, AppWithSecret } from './applications.ts'

interface AppRouteDependencies {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly applications: Applications
  readonly scopes: OpenScopes
}

const root = '/api/v1/admin/open-platform'
const maxGraceSeconds = 30 * 86_400

const sort = sortQuery({ id: 'id', name: 'name', createdAt: 'created_at' }, '-id')
const params = idParams
const optionalVersion = Type.Optional(version)

const members = {
  name: line(128, { minLength: 1 }),
  description: Type.Optional(nullable(line(500))),
  scopes: Type.Optional(Type.Array(Type.String({ maxLength: 128 }), { maxItems: 200, uniqueItems: true })),
  rateLimitPerMinute: Type.Optional(
    nullable(
      Type.Integer({
        minimum: -largestLimit,
        maximum: largestLimit,
        description: 'Maximum calls per minute. Null or absent: the default of the product. 0 or negative: unlimited.',
      }),
    ),
  ),
  ownerUserId: Type.Optional(nullable(id)),
}

const emptyContent = { description: null, scopes: [], rateLimitPerMinute: null, ownerUserId: null }
const appQuery = Type.Object({
  ...listQuery.properties,
  ...sort.properties,
  keyword: Type.Optional(line(100)),
  status: Type.Optional(appStatus),
})
const rotation = Type.Object({
  graceSeconds: Type.Integer({
    minimum: 0,
    maximum: maxGraceSeconds,
    default: 86_400,
    description:
      'Seconds for which the old secret stays valid. 0: all earlier secrets become invalid immediately, which is required after a leak.',
  }),
  force: Type.Boolean({
    default: false,
    description:
      'True: create a new secret even if the previous rotation is still in its grace period. The secret from before that ' +
      'rotation becomes invalid immediately. Default: reject the call, because that secret may still be in use.',
  }),
  version: optionalVersion,
})

const { route } = routesWith<AppRouteDependencies>()

/** Reason codes of the routes that create or change an application. */
const writeReasons = [
  'open-platform.app-unknown',
  'open-platform.grace-running',
  'open-platform.owner-out-of-scope',
  'open-platform.scope-unknown',
  'open-platform.secret-key-unusable',
  'open-platform.version-conflict',
]

export const appRoutes = [
  route({
    method: 'GET',
    path: `${root}/apps`,
    summary: 'List applications',
    access: { permission: permissionCodes.appView, scope: 'caller' },
    request: { query: appQuery },
    response: listPage(appView),
    reasons: [],
    handler: (request, parts) => listApps(request.query, callerRows(request, appOwnerColumn), parts),
  }),
  route({
    method: 'GET',
    path: `${root}/apps/:id`,
    summary: 'Get an application',
    access: { permission: permissionCodes.appView, scope: 'caller' },
    request: { params },
    response: appView,
    reasons: ['open-platform.app-unknown'],
    handler: async (request, { applications, clock }) =>
      viewOfApp(await applications.get(request.params.id, requirePrincipal(request)), clock.now()),
  }),
  route({
    method: 'POST',
    path: `${root}/apps`,
    summary: 'Create an application; only this response contains its secret',
    access: { permission: permissionCodes.appCreate, scope: 'caller' },
    annotations: [idempotent],
    request: { body: Type.Object(members) },
    compress: false,
    response: appWithSecretView,
    reasons: writeReasons,
    async handler(request, { applications, clock }, reply) {
      const { userId, dataScope } = requirePrincipal(request)
      // Default owner: the caller, or none if the caller has scope `all`.
      const owner = { ownerUserId: dataScope === 'all' ? null : userId }
      const content = { ...emptyContent, ...owner, ...request.body }
      const created = await applications.create(content, operatorOf(request))
      return answerSecret(created, clock, reply)
    },
  }),
  route({
    method: 'PUT',
    path: `${root}/apps/:id`,
    summary: 'Change an application; omitted fields do not change',
    access: { permission: permissionCodes.appUpdate, scope: 'caller' },
    request: { params, body: Type.Object({ ...members, name: Type.Optional(members.name), version: optionalVersion }) },
    response: appView,
    reasons: writeReasons,
    async handler(request, { applications, clock }) {
      const { version, ...change } = request.body
      return viewOfApp(await applications.update(request.params.id, change, version, operatorOf(request)), clock.now())
    },
  }),
  switchRoute('enable', 'Enable a disabled application', 'active'),
  switchRoute('disable', 'Disable an application; its calls are rejected immediately', 'disabled'),
  route({
    method: 'POST',
    path: `${root}/apps/:id/rotate-secret`,
    compress: false,
    summary: 'Create a new secret; only this response contains it, and the old secret stays valid for the grace period',
    access: { permission: permissionCodes.appRotateSecret, scope: 'caller' },
    annotations: [idempotent],
    request: { params, body: rotation },
    response: appWithSecretView,
    reasons: writeReasons,
    async handler(request, { applications, clock }, reply) {
      const { version, ...terms } = request.body
      const rotated = await applications.rotateSecret(request.params.id, terms, version, operatorOf(request))
      return answerSecret(rotated, clock, reply)
    },
  }),
  route({
    method: 'DELETE',
    path: `${root}/apps/:id`,
    summary: 'Delete an application; its metering records stay',
    access: { permission: permissionCodes.appDelete, scope: 'caller' },
    request: { params, query: versionQuery },
    response: Type.Null(),
    reasons: ['open-platform.app-unknown', 'open-platform.version-conflict'],
    async handler(request, { applications }) {
      await applications.delete(request.params.id, request.query.version, operatorOf(request))
      return null
    },
  }),
  route({
    method: 'GET',
    path: `${root}/scopes`,
    summary: 'List scopes that applications can have',
    access: { permission: permissionCodes.appView, scope: 'none' },
    response: Type.Array(scopeView),
    reasons: [],
    handler: ({ locale }, { scopes }) => scopes.all.map((scope) => viewOfScope(scope, locale)),
  }),
]

function switchRoute(action: 'enable' | 'disable', summary: string, status: 'active' | 'disabled') {
  return route({
    method: 'POST',
    path: `${root}/apps/:id/${action}`,
    summary,
    access: { permission: permissionCodes.appUpdate, scope: 'caller' },
    request: { params, body: versionQuery },
    response: appView,
    reasons: writeReasons,
    handler: async (request, { applications, clock }) => {
      const { params, body } = request
      return viewOfApp(await applications.setStatus(params.id, status, body.version, operatorOf(request)), clock.now())
    },
  })
}

function listApps(query: Static<typeof appQuery>, rows: object, { db, clock }: AppRouteDependencies) {
  const { keyword, status } = query
  const where = { $and: [status === undefined ? {} : { status }, rows] }
  const search = { text: keyword ?? '', properties: ['name', 'appKey'] }
  return listResponse(query, sort.parse(query.sort), async (window) =>
    mapListRows(await findPage(db.fork(), AppRow, where, window, { search }), (app) => viewOfApp(app, clock.now())),
  )
}

function answerSecret({ app, secret }: AppWithSecret, clock: Pick<Clock, 'now'>, reply: HttpReply) {
  reply.header('cache-control', 'no-store')
  return { ...viewOfApp(app, clock.now()), secret }
}

const viewOfScope = ({ code, plugin, displayName, description }: OpenScopes['all'][number], locale: string) => ({
  code,
  plugin,
  displayName: localize(displayName, locale),
  displayDescription: description === undefined ? null : localize(description, locale),
})
