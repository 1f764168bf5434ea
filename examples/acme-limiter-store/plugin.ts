import { type Clock, definePlugin, type RateLimitDecision, type RateLimitRequest, rateLimitStore } from '@plinth/kernel'

/** A sliding window that remembers every hit: no interval of the window's length ever sees more than the limit. */
export function slidingWindowStore(clock: Clock) {
  const keys = new Map<string, { hits: { atMs: number; cost: number }[]; idleAtMs: number }>()
  let calls = 0
  const decide = ({ key, limit, windowMs, cost }: RateLimitRequest, take: boolean): RateLimitDecision => {
    const nowMs = Math.floor(clock.monotonic())
    if (take && ++calls % 1024 === 0) {
      for (const [idle, { idleAtMs }] of keys) if (idleAtMs <= nowMs) keys.delete(idle)
    }
    const hits = (keys.get(key)?.hits ?? []).filter(({ atMs }) => atMs > nowMs - windowMs)
    const free = hits.reduce((left, hit) => left - hit.cost, limit)
    const allowed = cost <= free
    if (take && allowed) keys.set(key, { hits: [...hits, { atMs: nowMs, cost }], idleAtMs: nowMs + windowMs })
    let missing = cost - free
    // The hit whose end frees enough; a cost above the limit never fits.
    const awaited = hits.find((hit) => {
      missing -= hit.cost
      return missing <= 0
    })
    const retryAfterMs = allowed ? 0 : (awaited?.atMs ?? nowMs) + windowMs - nowMs
    const remaining = Math.max(0, allowed ? free - cost : free)
    return { allowed, remaining, resetAtMs: clock.now() + windowMs, retryAfterMs }
  }
  return {
    traits: { shared: false, algorithm: 'sliding-window' } as const,
    consume: (request: RateLimitRequest) => decide(request, true),
    peek: (request: RateLimitRequest) => decide(request, false),
    reset: (key: string) => void keys.delete(key),
    size: () => keys.size,
  }
}

export default definePlugin({
  id: 'acme.sliding-window',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [rateLimitStore],
  setup: ({ clock, contribute }) => contribute(rateLimitStore, 'acme-sliding-window', slidingWindowStore(clock)),
})
