import { checkRateLimitRequest, type RateLimitRequest } from '@plinth/kernel'
import { maxDurationMs, type QuotaAlgorithm } from './contract.ts'
import { type Entry, type EntryId, entryKey } from './entries.ts'
import { decideBucket, decideWindow, entryNameOf, type QuotaDecision, quotaKinds } from './quota-rules.ts'

export interface QuotaQuestion {
  readonly id: EntryId
  readonly algorithm: QuotaAlgorithm
  readonly request: RateLimitRequest
  readonly take: boolean
}

export type Question = readonly QuotaQuestion[]

/** Decides items one after another. Each item sees the changes of the items before it. */
export function decider(live: ReadonlyMap<string, Entry>, now: number) {
  const changed = new Map<string, Entry>()
  const ruled = (requested: QuotaQuestion) => {
    const key = entryKey(requested.id)
    const { decision, entry } = rule(requested, changed.get(key) ?? live.get(key), now)
    if (entry !== undefined) changed.set(key, entry)
    return decision
  }
  return {
    item(questions: Question): QuotaDecision[] {
      if (questions.length === 1) return questions.map(ruled)
      const looked = questions.map((requested) => ruled({ ...requested, take: false }))
      if (looked.every(({ allowed }) => allowed)) return questions.map(ruled)
      return looked.map((decision, index) => untouched(decision, questions[index]?.request.cost ?? 0))
    },
    changed: () => changed.values(),
  }
}

/**
 * Returns the decision of a request that takes no quota after all. Its remaining quota is the quota before the request.
 */
const untouched = (decision: QuotaDecision, cost: number): QuotaDecision =>
  decision.allowed ? { ...decision, remaining: decision.remaining + cost } : decision

export function question(algorithm: QuotaAlgorithm, request: RateLimitRequest, take: boolean): QuotaQuestion {
  checkRateLimitRequest(request)
  const name = entryNameOf(quotaKinds[algorithm], request.key)
  const span = String(Math.min(request.windowMs, maxDurationMs))
  const variant = algorithm === 'window' ? span : `${request.limit}:${span}`
  return { id: { name, variant }, algorithm, request, take }
}

/**
 * For a window, the row stores the used amount and the end. For a bucket, it stores the level and the time of the
 * level.
 */
function rule({ id, algorithm, request, take }: QuotaQuestion, held: Entry | undefined, now: number) {
  if (algorithm === 'window') {
    const state = held && { used: held.amount, endsAt: held.since }
    const ruling = decideWindow(state, request, now, take)
    return { decision: ruling.decision, entry: ruling.state && row(id, ruling.state.used, ruling.state.endsAt, ruling) }
  }
  const state = held && { level: held.amount, at: held.since }
  const ruling = decideBucket(state, request, now, take)
  return { decision: ruling.decision, entry: ruling.state && row(id, ruling.state.level, ruling.state.at, ruling) }
}

const row = (id: EntryId, amount: number, since: number, { forgetAt = 0 }: { forgetAt?: number }): Entry => ({
  ...id,
  content: null,
  amount,
  since,
  expiresAt: forgetAt,
})
