import type { RateLimitRequest, RateLimitStore } from '@plinth/kernel'
import type { FailurePolicy } from './contract.ts'
import type { OutcomeSums } from './limiter-metrics.ts'

export type Operation = 'consume' | 'peek'

/** A request with everything filled in. Without a store nothing is limited. */
export interface PreparedRequest {
  readonly storeName: string
  readonly store: RateLimitStore | undefined
  /** Where its outcome is counted. */
  readonly outcomes: OutcomeSums
  readonly request: RateLimitRequest
  readonly policy: FailurePolicy
  /** Counts and never denies. */
  readonly shadow: boolean
}

export type LimitedRequest = PreparedRequest & { readonly store: RateLimitStore }

export const isLimited = (prepared: PreparedRequest): prepared is LimitedRequest => prepared.store !== undefined

/** What the stores can decide in one step. */
const mostTogether = 128

/** Two limits on one key would count in one window, and no store could tell what to take. */
export function checkJoint(requests: readonly PreparedRequest[]): void {
  if (requests.length > mostTogether) {
    throw new RangeError(`At most ${mostTogether} rate limits can be decided together, not ${requests.length}`)
  }
  const seen = new Set<string>()
  for (const { storeName, request } of requests) {
    const name = `${storeName}\0${request.key}`
    if (seen.has(name)) throw new RangeError(`Joint rate limits must differ in "key": ${request.key} comes twice`)
    seen.add(name)
  }
}
