import { firstIdAt } from '@plinth/database'
import { type HttpReply, idParams, routesWith, Type, text, version } from '@plinth/http'
import { type Operator, operatorOf, requirePrincipal, sessionOnly } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import { auditFieldsOfCaller, localize, writeAuditEntry } from '@plinth/kernel'
import type { ResourceServices } from '@plinth/resource'
import { businessError, manageEndpoints, redeliver, viewEndpoints } from './declarations.ts'
import { isEnabled } from './delivery-store.ts'
import { assertContent, contentReasons, type EndpointParts, endpoints, root, writeSubscriptions } from './endpoints.ts'
import { Delivery, Endpoint } from './entities.ts'
import type { EndpointSecrets } from './secrets.ts'
import { newSecret } from './signature.ts'

interface EndpointRouteDependencies {
  readonly services: ResourceServices
  readonly parts: EndpointParts
  readonly secrets: EndpointSecrets
  readonly maxEndpoints: () => number
  /** Called after the commit of deliveries that are due. */
  readonly added: () => void
}

const maxGraceSeconds = 30 * 86_400
/** Maximum number of deliveries that one call sends again. */
const maxRedelivered = 1_000
/** States of deliveries that a call for a range sends again. */
const redeliverable = ['failed', 'held', 'rejected'] as const

const { ownerId, ...members } = Endpoint.schemas.create.properties
const newEndpoint = Type.Object({
  ...members,
  ownerId: Type.Optional({ ...ownerId, description: 'User whose data scope applies. Default: the caller.' }),
})
const withSecret = Type.Object({
  ...Endpoint.schemas.view.properties,
  secret: Type.String({ description: 'Signing secret, with the prefix `whsec_`. Only this response contains it.' }),
})
const rotation = Type.Object({
  graceSeconds: Type.Integer({
    minimum: 0,
    maximum: maxGraceSeconds,
    default: 86_400,
    description:
      'Seconds for which requests also have a signature of the old secret. 0: the old secret ends immediately.',
  }),
  force: Type.Boolean({ default: false, description: 'True: replace a previous secret that still signs.' }),
  version: Type.Optional(version),
})
const time = Type.String({ format: 'date-time' })
const range = Type.Object({ from: time, to: time })
const eventTypeView = Type.Object({
  type: text,
  title: text,
  permission: Type.String({ description: 'Permission that the owner of the endpoint needs.' }),
  schema: Type.Unknown({ description: 'JSON Schema of `data`, to which `sequence` is added.' }),
})

const { route } = routesWith<EndpointRouteDependencies>()

/** Routes whose responses contain a secret, redelivery of a range, and the list of event types. */
export const endpointRoutes = [
  route({
    method: 'POST',
    path: `${root}/endpoints`,
    summary: 'Create a webhook endpoint; only this response contains its secret',
    access: { permission: manageEndpoints.code, scope: 'caller' },
    fresh: '5m',
    // The endpoint receives events after the end of an API token.
    annotations: [idempotent, sessionOnly],
    compress: false,
    request: { body: newEndpoint },
    response: withSecret,
    reasons: [...contentReasons, 'webhooks.too-many-endpoints', 'webhooks.secret-key-unusable', 'iam.out-of-scope'],
    async handler(request, dependencies, reply) {
      const { parts, secrets, maxEndpoints } = dependencies
      const operator = operatorOf(request)
      const { userId } = requirePrincipal(request)
      const content = Endpoint.rowOf(request.body as never)
      assertContent(content, parts, operator)
      const max = maxEndpoints()
      if ((await parts.db.fork().count(Endpoint.entity)) >= max)
        throw businessError('too-many-endpoints', { params: { max } })
      const secret = newSecret()
      // The secret is sealed outside of the transaction, because sealing the first secret stores a new key.
      const secretEnc = await secrets.seal(secret)
      const columns = { ownerId: userId, ...content, authorizedBy: userId, secretEnc }
      const created = await parts.db.transactional(async (em) => {
        const row = await storeOf(dependencies, operator).create(columns)
        await writeSubscriptions(parts.db, em, row)
        return row
      })
      return respondWithSecret(created, secret, request.locale, dependencies, reply)
    },
  }),
  route({
    method: 'POST',
    path: `${root}/endpoints/:id/rotate-secret`,
    summary:
      'Create a new secret; only this response contains it, and the old secret also signs during the grace period',
    access: { permission: manageEndpoints.code, scope: 'caller' },
    fresh: '5m',
    annotations: [idempotent, sessionOnly],
    compress: false,
    request: { params: idParams, body: rotation },
    response: withSecret,
    reasons: [
      'webhooks.endpoint-unknown',
      'webhooks.version-conflict',
      'webhooks.grace-running',
      'webhooks.secret-key-unusable',
    ],
    async handler(request, dependencies, reply) {
      const { graceSeconds, force, version } = request.body
      const { clock } = dependencies.parts.db
      const store = storeOf(dependencies, operatorOf(request))
      const before = await store.get(request.params.id, version)
      const until = before.previousValidUntil?.getTime() ?? 0
      if (until > clock.now() && graceSeconds > 0 && !force) {
        const previousValidUntil = new Date(until).toISOString()
        throw businessError('grace-running', { params: { until: previousValidUntil }, data: { previousValidUntil } })
      }
      const secret = newSecret()
      const columns = {
        secretEnc: await dependencies.secrets.seal(secret),
        previousSecretEnc: graceSeconds === 0 ? null : before.secretEnc,
        previousValidUntil: graceSeconds === 0 ? null : new Date(clock.now() + graceSeconds * 1000),
      }
      const summary = { name: before.name, graceSeconds, ...(force ? { force } : {}) }
      const changed = await store.change(before, columns, 'rotate-secret', { summary })
      return respondWithSecret(changed, secret, request.locale, dependencies, reply)
    },
  }),
  route({
    method: 'POST',
    path: `${root}/endpoints/:id/redeliver`,
    summary:
      'Send failed, held and out-of-scope deliveries of a time range again, at most 1,000 per call, oldest first',
    access: { permission: redeliver.code, scope: 'caller' },
    annotations: [idempotent],
    request: { params: idParams, body: range },
    response: Type.Object({ redelivered: Type.Integer(), isMore: Type.Boolean() }),
    reasons: ['webhooks.endpoint-unknown', 'webhooks.endpoint-disabled', 'webhooks.range-invalid'],
    async handler(request, dependencies) {
      const { parts, services, added } = dependencies
      const { from, to } = request.body
      const operator = operatorOf(request)
      const { id: endpointId, name, status } = await storeOf(dependencies, operator).get(request.params.id)
      if (!isEnabled({ status })) throw businessError('endpoint-disabled')
      const [first, end] = [Date.parse(from), Date.parse(to)]
      if (end <= first) throw businessError('range-invalid', { data: { field: 'to' } })
      const where = { endpointId, status: { $in: redeliverable }, id: { $gte: firstIdAt(first), $lt: firstIdAt(end) } }
      const options = { fields: ['id'], orderBy: { id: 'asc' }, limit: maxRedelivered + 1 } as const
      return parts.db.transactional(async (em) => {
        const found = (await em.find(Delivery.entity, where, options)).map(({ id }) => id)
        const ids = found.slice(0, maxRedelivered)
        const due = dueAgain(new Date(parts.db.clock.now()))
        const redelivered = await em.nativeUpdate(
          Delivery.entity,
          { id: { $in: ids }, status: { $in: redeliverable } },
          due,
        )
        const summary = { name, from, to, redelivered }
        const entry = {
          ...auditFieldsOfCaller(operator),
          action: 'webhook-endpoint.redeliver',
          subject: endpointId,
          summary,
        }
        await writeAuditEntry(services.kernel, entry)
        parts.db.afterCommit(added)
        return { redelivered, isMore: found.length > ids.length }
      })
    },
  }),
  route({
    method: 'GET',
    path: `${root}/event-types`,
    summary: 'List the event types that the product offers to webhook endpoints',
    access: { permission: viewEndpoints.code, scope: 'none' },
    response: Type.Array(eventTypeView),
    reasons: [],
    handler: ({ locale }, { parts }) =>
      [...parts.types]
        .map(([type, { title, permission, schema }]) => ({ type, title: localize(title, locale), permission, schema }))
        .sort((a, b) => (a.type < b.type ? -1 : 1)),
  }),
]

/** Columns of a delivery that is sent again, with all attempts of the schedule. */
export const dueAgain = (now: Date) => ({
  status: 'pending' as const,
  step: 0,
  nextAt: now,
  finishedAt: null,
  leaseToken: null,
})

const storeOf = ({ services, parts }: EndpointRouteDependencies, operator: Operator) =>
  endpoints.store({ services, parts }, operator)

async function respondWithSecret(
  endpoint: Endpoint,
  secret: string,
  locale: string,
  { parts: { db } }: EndpointRouteDependencies,
  reply: HttpReply,
) {
  reply.header('cache-control', 'no-store')
  const [view] = await Endpoint.viewsOf([endpoint], { now: new Date(db.clock.now()), locale, em: db.fork() })
  return { ...view, secret } as never
}
