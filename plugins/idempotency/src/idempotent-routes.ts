import { database } from '@plinth/database'
import {
  type GuardHandler,
  type HttpServer,
  type RouteInfo,
  type RouteWrapper,
  serializedDataOf,
  Type,
} from '@plinth/http'
import type { Kernel, Logger, Plugin } from '@plinth/kernel'
import type { IdentityResolvers } from '@plinth/rate-limit'
import { type Idempotency, idempotent, idempotentAnnotation, idempotentResumable } from './contract.ts'
import { idempotencyError } from './declarations.ts'

type Request = Parameters<GuardHandler>[0]

const keyHeader = 'Idempotency-Key'
const replayedHeader = 'Idempotency-Replayed'

const annotationOf = ({ annotations }: Pick<RouteInfo, 'annotations'>) =>
  annotations.find(({ id }) => id === idempotentAnnotation)?.value
const isIdempotent = (route: Pick<RouteInfo, 'annotations'>) =>
  [idempotent.value, idempotentResumable.value].some((value) => value === annotationOf(route))

interface IdempotentRouteDependencies {
  readonly idempotency: Pick<Idempotency, 'run'>
  readonly callers: Pick<IdentityResolvers, 'identityOf'>
  /** Called after each successful call that committed no claim. */
  readonly onUnclaimed: (route: RouteInfo) => void
}

/** Executes requests with the header `Idempotency-Key` once, on routes with the annotation. */
export function idempotentRoutes({ idempotency, callers, onUnclaimed }: IdempotentRouteDependencies): RouteWrapper {
  return {
    name: 'idempotency',
    forRoute(route) {
      if (!isIdempotent(route)) return undefined
      const canResume = annotationOf(route) === idempotentResumable.value
      return async (request, reply, handle) => {
        const key = request.headers[keyHeader.toLowerCase()]
        if (key === undefined) return handle()
        const caller = await callers.identityOf(request)
        // An unknown caller is an error. Otherwise unknown callers would share keys and could receive each other's
        // results.
        if (caller === undefined) throw new Error(`${route.method} ${route.path}: no plugin knows who calls`)
        const scope = JSON.stringify([caller, route.method, route.path])
        const call = { scope, key: String(key), fingerprint: fingerprintOf(request), canResume }
        const work = async () => serializedDataOf(await handle(), reply)
        const { value, replayed, isClaimed } = await idempotency.run(call, work)
        if (!isClaimed) onUnclaimed(route)
        if (replayed) reply.header(replayedHeader, 'true')
        return value
      }
    },
    headers: (route) => (isIdempotent(route) ? headers : undefined),
  }
}

/**
 * Returns the content of a request as text with sorted properties. Caller and route are not included, because each
 * idempotency key already belongs to one caller and one route.
 */
function fingerprintOf({ params, query, body }: Request): string {
  return JSON.stringify([params, query, body], (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
}

/**
 * Returns a function that reports routes without a claim. Routes of plugins that do not require the database have none.
 * In production, each route is logged once.
 */
export function unclaimedRoutes(
  { plugins }: Pick<Kernel, 'plugins'>,
  log: Pick<Logger, 'warn'>,
  isProduction: boolean,
) {
  const withDatabase = new Set(plugins.filter(requiresDatabase).map(({ id }) => id))
  const reported = new Set<RouteInfo>()
  return (route: RouteInfo): void => {
    if (!withDatabase.has(route.plugin) || reported.has(route)) return
    const { method, path, plugin } = route
    const error = idempotencyError('PLINTH_IDEMPOTENCY_NO_CLAIM', { route: `${method} ${path}`, plugin })
    if (!isProduction) throw error
    reported.add(route)
    log.warn({ code: error.code }, error.message)
  }
}

const requiresDatabase = ({ requires = {} }: Plugin) =>
  Object.values(requires).some((need) => (need.kind === 'optional' ? need.ref : need).id === database.id)

/** @throws PlinthError `PLINTH_IDEMPOTENCY_ROUTE` with all routes on which the annotation is not allowed */
export function assertRoutesIdempotent(routes: HttpServer['routes']): void {
  const wrong = routes
    .filter(isIdempotent)
    .filter(({ method, access }) => access === 'public' || !['POST', 'PUT', 'PATCH'].includes(method))
  if (wrong.length === 0) return
  const names = wrong.map(({ method, path, plugin }) => `${method} ${path} of plugin "${plugin}"`)
  throw idempotencyError('PLINTH_IDEMPOTENCY_ROUTE', { routes: names.join(', ') })
}

const headers = {
  request: {
    [keyHeader]: {
      description:
        'Executes the call only once, even if it is sent several times. Use a new key for each new call, and the same key to ' +
        'repeat a call. The same key with the same content returns the stored response, for one day by default. With ' +
        'different content, the call is rejected (`422` `idempotency.key-reused`). While the first call is running, the ' +
        'response is `409` `idempotency.in-progress` with `Retry-After`. If the call was executed but its response was lost, ' +
        'the response is `409` `idempotency.answer-not-kept`, and nothing is executed. Failed calls are not stored.',
      schema: Type.String({ minLength: 1, maxLength: 255, pattern: '^[!-~]+$' }),
    },
  },
  response: {
    [replayedHeader]: {
      description:
        '`true` if this is the stored response of an earlier call with the same key. This call then had no effect.',
      schema: Type.Literal('true'),
    },
  },
}
