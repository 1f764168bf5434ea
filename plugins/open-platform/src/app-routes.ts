import { raw } from '@mikro-orm/core'
import { type Database, findPage } from '@plinth/database'
import { answerList, type HttpServer, listPage, listQuery, sortQuery, Type } from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import { type Clock, localize } from '@plinth/kernel'
import { appStatus, appView, appWithSecretView, scopeView, viewOfApp } from './app-views.ts'
import type { Actor, Applications, AppWithSecret } from './applications.ts'
import { largestLimit } from './config.ts'
import type { GuardedReply, GuardedRequest, OpenScopes } from './contract.ts'
import { OpenApp } from './entities.ts'
import { own } from './permissions.ts'

interface AppRouteParts {
  readonly http: HttpServer
  readonly plugin: string
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly applications: Applications
  readonly scopes: OpenScopes
}

const root = '/api/v1/admin/open-platform'
const tags = ['open-platform']
const longestGraceSeconds = 30 * 86_400

const sort = sortQuery({ id: 'id', name: 'name', createdAt: 'created_at' }, '-id')
const id = Type.Integer({ minimum: 1 })
const params = Type.Object({ id })
/** Text without control characters and halves of characters, which not every database can store. */
const line = (minLength: number, maxLength: number) =>
  Type.String({ minLength, maxLength, pattern: '^[^\\p{Cc}\\p{Cs}]*$' })
const nullable = <T extends Parameters<typeof Type.Array>[0]>(schema: T) => Type.Union([schema, Type.Null()])
const version = Type.Optional(Type.Integer({ minimum: 1, description: 'Version that the change starts from.' }))
const versionBody = Type.Object({ version })

const members = {
  name: line(1, 128),
  description: Type.Optional(nullable(line(0, 500))),
  scopes: Type.Optional(Type.Array(Type.String({ maxLength: 128 }), { maxItems: 200, uniqueItems: true })),
  rateLimitPerMinute: Type.Optional(
    nullable(
      Type.Integer({
        minimum: -largestLimit,
        maximum: largestLimit,
        description: 'Null or absent: the default of the product counts. 0 or negative: unlimited.',
      }),
    ),
  ),
  ownerUserId: Type.Optional(nullable(id)),
}

/** Administration of applications. */
export function addAppRoutes({ http, plugin, db, clock, applications, scopes }: AppRouteParts): void {
  const view = (app: OpenApp) => viewOfApp(app, clock.now())
  const withSecret = ({ app, secret }: AppWithSecret, reply: GuardedReply) => {
    reply.header('cache-control', 'no-store')
    return { ...view(app), secret }
  }

  http.route(plugin, {
    method: 'GET',
    path: `${root}/apps`,
    summary: 'Applications',
    tags,
    access: { permission: own.appView },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...sort.properties,
        keyword: Type.Optional(line(0, 100)),
        status: Type.Optional(appStatus),
      }),
    },
    response: listPage(appView),
    async handler({ query }) {
      const { keyword, status } = query
      const conditions = [...(status ? [{ status }] : []), ...(keyword ? [holdsText(db, keyword)] : [])]
      return answerList(query, sort.parse(query.sort), async (window) => {
        const found = await findPage(db.fork(), OpenApp, { $and: conditions }, window)
        return { ...found, items: found.items.map(view) }
      })
    },
  })
  http.route(plugin, {
    method: 'GET',
    path: `${root}/apps/:id`,
    summary: 'One application',
    tags,
    access: { permission: own.appView },
    request: { params },
    response: appView,
    handler: async ({ params }) => view(await applications.get(params.id)),
  })
  http.route(plugin, {
    method: 'POST',
    path: `${root}/apps`,
    summary: 'Create an application; its secret is shown here only',
    tags,
    access: { permission: own.appCreate },
    annotations: [idempotent],
    request: { body: Type.Object(members) },
    response: appWithSecretView,
    async handler(request, reply) {
      const { name, description, scopes = [], rateLimitPerMinute, ownerUserId } = request.body
      const content = {
        ...{ name, scopes },
        description: description ?? null,
        rateLimitPerMinute: rateLimitPerMinute ?? null,
        ownerUserId: ownerUserId ?? null,
      }
      return withSecret(await applications.create(content, actorOf(request)), reply)
    },
  })
  http.route(plugin, {
    method: 'PUT',
    path: `${root}/apps/:id`,
    summary: 'Change an application; what is left out stays',
    tags,
    access: { permission: own.appUpdate },
    request: { params, body: Type.Object({ ...members, name: Type.Optional(members.name), version }) },
    response: appView,
    async handler(request) {
      const { version, ...change } = request.body
      return view(await applications.update(request.params.id, change, version, actorOf(request)))
    },
  })
  for (const [action, summary, status] of [
    ['enable', 'Let a disabled application call again', 'active'],
    ['disable', 'Refuse every call of an application, at once', 'disabled'],
  ] as const) {
    http.route(plugin, {
      method: 'POST',
      path: `${root}/apps/:id/${action}`,
      summary,
      tags,
      access: { permission: own.appUpdate },
      request: { params, body: versionBody },
      response: appView,
      handler: async (request) =>
        view(await applications.setStatus(request.params.id, status, request.body.version, actorOf(request))),
    })
  }
  http.route(plugin, {
    method: 'POST',
    path: `${root}/apps/:id/rotate-secret`,
    summary: 'Make a new secret, shown here only; the old one counts for the grace period',
    tags,
    access: { permission: own.appRotateSecret },
    annotations: [idempotent],
    request: {
      params,
      body: Type.Object({
        graceSeconds: Type.Integer({
          minimum: 0,
          maximum: longestGraceSeconds,
          default: 86_400,
          description: '0: every earlier secret ends at once, as it must after a leak.',
        }),
        force: Type.Boolean({
          default: false,
          description:
            'True rotates while the secret before the last rotation is in its grace period, and ends that one now. Without it ' +
            'such a rotation is refused: a repeated one would end a secret that somebody works with.',
        }),
        version,
      }),
    },
    response: appWithSecretView,
    async handler(request, reply) {
      const { version, ...terms } = request.body
      const { id } = request.params
      return withSecret(await applications.rotateSecret(id, terms, version, actorOf(request)), reply)
    },
  })
  http.route(plugin, {
    method: 'DELETE',
    path: `${root}/apps/:id`,
    summary: 'Delete an application; its metering records stay',
    tags,
    access: { permission: own.appDelete },
    request: { params, query: versionBody },
    response: Type.Null(),
    async handler(request) {
      await applications.delete(request.params.id, request.query.version, actorOf(request))
      return null
    },
  })
  http.route(plugin, {
    method: 'GET',
    path: `${root}/scopes`,
    summary: 'Scopes that applications can be granted',
    tags,
    access: { permission: own.appView },
    response: Type.Array(scopeView),
    handler: ({ locale }) =>
      scopes.all.map(({ code, plugin, displayName, description }) => ({
        ...{ code, plugin },
        displayName: localize(displayName, locale),
        displayDescription: description === undefined ? null : localize(description, locale),
      })),
  })
}

const actorOf = (request: Pick<GuardedRequest, 'principal' | 'clientIp' | 'traceId'>): Actor => ({
  principal: requirePrincipal(request),
  clientIp: request.clientIp,
  traceId: request.traceId,
})

/** A function instead of `like`, whose wild cards and escapes differ between databases. */
function holdsText({ dialect }: Pick<Database, 'dialect'>, text: string): object {
  const find = dialect === 'postgresql' ? 'strpos' : 'instr'
  const holds = (column: string) => ({
    [raw((alias) => `${find}(lower(${alias}.${column}), ?)`, [text.toLowerCase()])]: { $gt: 0 },
  })
  return { $or: [holds('name'), holds('app_key')] }
}
