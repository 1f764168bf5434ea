import {
  type GuardHandler,
  type HttpServer,
  type RouteInfo,
  type RouteWrapper,
  serializedDataOf,
  Type,
} from '@plinth/http'
import type { IdentityResolvers } from '@plinth/rate-limit'
import { type Idempotency, idempotentAnnotation } from './contract.ts'
import { idempotencyError } from './declarations.ts'

type Request = Parameters<GuardHandler>[0]

const keyHeader = 'Idempotency-Key'
const replayedHeader = 'Idempotency-Replayed'

const isIdempotent = ({ annotations }: Pick<RouteInfo, 'annotations'>) =>
  annotations.some(({ id, value }) => id === idempotentAnnotation && value === true)

/** Executes requests with the header `Idempotency-Key` once, on routes with the annotation. */
export function idempotentRoutes(
  idempotency: Idempotency,
  callers: Pick<IdentityResolvers, 'identityOf'>,
): RouteWrapper {
  return {
    name: 'idempotency',
    forRoute(route) {
      if (!isIdempotent(route)) return undefined
      return async (request, reply, handle) => {
        const key = request.headers[keyHeader.toLowerCase()]
        if (key === undefined) return handle()
        const caller = await callers.identityOf(request)
        // An unknown caller is an error. Otherwise unknown callers would share keys and could receive each other's
        // results.
        if (caller === undefined) throw new Error(`${route.method} ${route.path}: no plugin knows who calls`)
        const scope = JSON.stringify([caller, route.method, route.path])
        const call = { scope, key: String(key), fingerprint: fingerprintOf(request) }
        const { value, replayed } = await idempotency.run(call, async () => serializedDataOf(await handle(), reply))
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
        'response is `409` `idempotency.in-progress` with `Retry-After`. Failed calls are not stored.',
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
