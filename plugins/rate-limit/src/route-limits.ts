import { type KeyStrategy, type RateLimited, type RouteInfo, rateLimitedAnnotation } from '@plinth/http'
import { errorReason } from '@plinth/kernel'
import type { LimitRule, RouteLimits } from './contract.ts'
import { rateLimitError } from './declarations.ts'
import { checkCost, checkRule } from './request-rules.ts'

export const defaultStrategy: KeyStrategy = 'IP_ROUTE'

/** Whether the route and the caller have separate quotas in each strategy. */
export const dimensions: Readonly<Record<KeyStrategy, { readonly route: boolean; readonly caller?: 'ip' | 'user' }>> = {
  GLOBAL: { route: false },
  IP: { route: false, caller: 'ip' },
  USER: { route: false, caller: 'user' },
  ROUTE: { route: true },
  IP_ROUTE: { route: true, caller: 'ip' },
  USER_ROUTE: { route: true, caller: 'user' },
}

/**
 * Returns the part of the key that is known before a request, without the prefix. Empty if only the caller is relevant.
 * It is readable, because it contains no personal data.
 */
export function quotaName({ method, path }: RouteInfo, limit: RateLimited): string {
  const { route, caller } = dimensions[limit.keyStrategy ?? defaultStrategy]
  const named = limit.key || undefined
  // Without a key, GLOBAL would be one counter for the whole product.
  const isOfRoute = route || (named === undefined && caller === undefined)
  return [named, isOfRoute ? `${method}:${path}` : undefined].filter((part) => part !== undefined).join(':')
}

/** Paths where a denial must never be silent (document 1 of the specification, "Usage rules" 7). */
const neverSilent = /(^|\/)(auth|logins?|orders?|payments?|pay|cashier|checkout|gateway)(\/|$)/

/** Checks the name of a store. Throws `PLINTH_RATE_LIMIT_UNKNOWN_STORE`. */
type CheckStore = (name: string) => unknown

interface PathLimit {
  readonly path: string
  readonly limit: RateLimited
  used: boolean
}

/** Finds the limit of a route: its own, or that of the longest path above it. */
export class RouteLimitRegistry implements RouteLimits {
  readonly #checkStore: CheckStore
  readonly #paths: PathLimit[] = []

  constructor(checkStore: CheckStore) {
    this.#checkStore = checkStore
  }

  under(path: string, limit: RateLimited): void {
    const isPlain = /^(\/[A-Za-z0-9._~-]+)+$/.test(path)
    if (!isPlain) throw declarationError(`of the path ${path}`, 'it must look like /api/v1/things, without parameters')
    if (this.#paths.some((one) => one.path === path))
      throw declarationError(`of the path ${path}`, 'it is declared twice')
    this.#check(`of the path ${path}`, limit)
    this.#paths.push({ path, limit, used: false })
    this.#paths.sort((one, other) => other.path.length - one.path.length)
  }

  /** Returns the limit of a route. An invalid declaration stops the start, so that no request is affected. */
  of(route: RouteInfo): RateLimited | undefined {
    const above = this.#paths.filter(({ path }) => route.path === path || route.path.startsWith(`${path}/`))
    for (const one of above) one.used = true
    const own = route.annotations.find(({ id }) => id === rateLimitedAnnotation)?.value as RateLimited | undefined
    const limit = own ?? above[0]?.limit
    if (limit === undefined) return undefined
    const place = placeOf(route)
    this.#check(place, limit)
    if (limit.silent === true && neverSilent.test(route.path)) {
      throw declarationError(place, '"silent" is not for logins, orders, payments and gateways')
    }
    return limit
  }

  /**
   * Checks all routes. Throws for a path without routes, which is probably misspelt. Also throws for routes that share
   * a quota but have different windows, because they would be counted separately.
   */
  checkAll(routes: readonly RouteInfo[]): void {
    const sharing = new Map<string, { readonly place: string; readonly window: string }>()
    for (const route of routes) {
      const limit = this.of(route)
      if (limit === undefined) continue
      const { caller } = dimensions[limit.keyStrategy ?? defaultStrategy]
      const quota = JSON.stringify([quotaName(route, limit), caller])
      const [place, window] = [placeOf(route), windowOf(limit)]
      const other = sharing.get(quota)
      if (other === undefined) sharing.set(quota, { place, window })
      else if (other.window !== window) {
        const key = limit.key ? `the key "${limit.key}"` : `the strategy ${limit.keyStrategy}`
        const reason = `${key} is also used by the rate limit ${other.place}, which has ${other.window} instead of ${window}`
        throw declarationError(place, reason)
      }
    }
    const unused = this.#paths.find(({ used }) => !used)
    if (unused !== undefined)
      throw declarationError(`of the path ${unused.path}`, 'no route has this path or a path below it')
  }

  #check(place: string, limit: RateLimited): void {
    try {
      const strategy = limit.keyStrategy ?? defaultStrategy
      if (!Object.hasOwn(dimensions, strategy)) {
        throw new RangeError(`"keyStrategy" must be one of ${Object.keys(dimensions).join(', ')}, not ${strategy}`)
      }
      checkRule(limitRule(limit))
      checkCost(limit.cost)
      if (limit.store) this.#checkStore(limit.store)
    } catch (cause) {
      throw declarationError(place, errorReason(cause), cause)
    }
  }
}

/** Converts a declared limit. In a declaration, 0 or less means the default. For the limiter, it means unlimited. */
export function limitRule(limit: RateLimited): LimitRule {
  const { maxAttempts = 0, windowSeconds = 0, store, failurePolicy, shadow } = limit
  return {
    ...(maxAttempts <= 0 ? {} : { maxAttempts }),
    ...(windowSeconds <= 0 ? {} : { windowMs: windowSeconds * 1000 }),
    ...(store ? { store } : {}),
    ...(failurePolicy === undefined ? {} : { failurePolicy }),
    ...(shadow === undefined ? {} : { shadow }),
  }
}

const placeOf = ({ method, path, plugin }: RouteInfo) => `of ${method} ${path} (plugin "${plugin}")`

/** The default window can change at run time. So a default of 60 s is not the same as a declared window of 60 s. */
const windowOf = ({ windowSeconds = 0 }: RateLimited) =>
  windowSeconds <= 0 ? 'the default window' : `a window of ${windowSeconds} s`

const declarationError = (place: string, reason: string, cause?: unknown) =>
  rateLimitError('PLINTH_RATE_LIMIT_DECLARATION', { place, reason }, cause)
