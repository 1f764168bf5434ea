import type { RateLimitDecision, RateLimitRequest } from '@plinth/kernel'

/** What peeking at requests told, as the answer of a joint call that takes nothing: `remaining` is what is left. */
export function untouched(
  looked: readonly RateLimitDecision[],
  requests: readonly RateLimitRequest[],
): RateLimitDecision[] {
  return looked.map((decision, index) => {
    const cost = requests[index]?.cost ?? 0
    return decision.allowed ? { ...decision, remaining: decision.remaining + cost } : decision
  })
}
