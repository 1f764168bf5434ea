import type { RateLimitRequest, RateLimitStore } from '@plinth/kernel'
import type { FailurePolicy } from './contract.ts'
import type { OutcomeSums } from './limiter-metrics.ts'

export type Operation = 'consume' | 'peek'

/** A rule with everything filled in. Without a store nothing is limited. */
export interface ResolvedRule {
  readonly storeName: string
  readonly store: RateLimitStore | undefined
  /** Where outcomes are counted. */
  readonly outcomes: OutcomeSums
  readonly limit: number
  readonly windowMs: number
  readonly policy: FailurePolicy
  /** Counts and never denies. */
  readonly shadow: boolean
}

export type LimitingRule = ResolvedRule & { readonly store: RateLimitStore }

/** A request as its store gets it, and the rule that it falls under. */
export interface PreparedRequest<Rule extends ResolvedRule = ResolvedRule> {
  readonly rule: Rule
  readonly request: RateLimitRequest
}

export const isLimiting = (rule: ResolvedRule): rule is LimitingRule => rule.store !== undefined

export const isLimited = (prepared: PreparedRequest): prepared is PreparedRequest<LimitingRule> =>
  isLimiting(prepared.rule)

/** What the stores can decide in one step. */
const mostTogether = 128

/** Two limits on one key would count in one window, and no store could tell what to take. */
export function checkJoint(requests: readonly PreparedRequest[]): void {
  if (requests.length > mostTogether) {
    throw new RangeError(`At most ${mostTogether} rate limits can be decided together, not ${requests.length}`)
  }
  const seen = new Set<string>()
  for (const { rule, request } of requests) {
    const name = `${rule.storeName}\0${request.key}`
    if (seen.has(name)) throw new RangeError(`Joint rate limits must differ in "key": ${request.key} comes twice`)
    seen.add(name)
  }
}
