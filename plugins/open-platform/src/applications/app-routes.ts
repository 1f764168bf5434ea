import type { Database } from '@plinth/database'
import { type HttpReply, idParams, routesWith, Type, version } from '@plinth/http'
import { operatorOf, requirePrincipal } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import { localize } from '@plinth/kernel'
import type { OpenScopes } from '../contract.ts'
import { permissionCodes } from '../declarations.ts'
import { App } from '../entities.ts'
import { appJson, appWithSecretView, scopeView } from './app-views.ts'
import type { Applications, AppWithSecret } from './applications.ts'
import { root, writeReasons } from './apps.ts'

interface AppRouteDependencies {
  readonly db: Database
  readonly applications: Applications
  readonly scopes: OpenScopes
}

const maxGraceSeconds = 30 * 86_400

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
  version: Type.Optional(version),
})

const { route } = routesWith<AppRouteDependencies>()

/** Routes whose responses contain a secret, and the list of scopes. `apps` declares the others. */
export const appRoutes = [
  route({
    method: 'POST',
    path: `${root}/apps`,
    summary: 'Create an application; only this response contains its secret',
    access: { permission: permissionCodes.appCreate, scope: 'caller' },
    fresh: '5m',
    annotations: [idempotent],
    request: { body: App.schemas.create },
    compress: false,
    response: appWithSecretView,
    reasons: writeReasons,
    async handler(request, parts, reply) {
      const { userId, dataScope } = requirePrincipal(request)
      // Default owner: the caller, or none if the caller has scope `all`.
      const owner = { ownerUserId: dataScope === 'all' ? null : userId }
      const content = { ...owner, ...App.rowOf(request.body as never) }
      const created = await parts.applications.create(content, operatorOf(request))
      return respondWithSecret(created, request.locale, parts.db, reply)
    },
  }),
  route({
    method: 'POST',
    path: `${root}/apps/:id/rotate-secret`,
    compress: false,
    summary: 'Create a new secret; only this response contains it, and the old secret stays valid for the grace period',
    access: { permission: permissionCodes.appRotateSecret, scope: 'caller' },
    fresh: '5m',
    annotations: [idempotent],
    request: { params: idParams, body: rotation },
    response: appWithSecretView,
    reasons: writeReasons,
    async handler(request, { applications, db }, reply) {
      const { version, ...terms } = request.body
      const rotated = await applications.rotateSecret(request.params.id, terms, version, operatorOf(request))
      return respondWithSecret(rotated, request.locale, db, reply)
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

async function respondWithSecret({ app, secret }: AppWithSecret, locale: string, db: Database, reply: HttpReply) {
  reply.header('cache-control', 'no-store')
  const [view] = await appJson.viewsOf([app], { now: new Date(db.clock.now()), locale, em: db.fork() })
  return { ...view, secret }
}

const viewOfScope = ({ code, plugin, displayName, description }: OpenScopes['all'][number], locale: string) => ({
  code,
  plugin,
  displayName: localize(displayName, locale),
  displayDescription: description === undefined ? null : localize(description, locale),
})
