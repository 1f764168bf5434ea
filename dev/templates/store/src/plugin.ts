import {
  type Clock,
  checkRateLimitRequest,
  definePlugin,
  type RateLimitDecision,
  type RateLimitRequest,
  rateLimitStore,
} from '@plinth/kernel'

interface Hits {
  readonly hits: readonly { readonly atMs: number; readonly cost: number }[]
  readonly idleAtMs: number
}

/**
 * Creates a store with a sliding window. It records every request, so that no interval of the window length contains
 * more than the limit.
 */
export function createSampleNameStore(clock: Clock) {
  /**
   * Hits by key, then by window length. Rules with the same key and different windows must not remove each other's
   * hits.
   */
  const keys = new Map<string, Map<number, Hits>>()
  let calls = 0
  const forgetIdle = (nowMs: number) => {
    for (const [key, windows] of keys) {
      for (const [windowMs, { idleAtMs }] of windows) if (idleAtMs <= nowMs) windows.delete(windowMs)
      if (windows.size === 0) keys.delete(key)
    }
  }
  const decide = (request: RateLimitRequest, take: boolean): RateLimitDecision => {
    checkRateLimitRequest(request)
    const { key, limit, windowMs, cost } = request
    const nowMs = Math.floor(clock.monotonic())
    if (take && ++calls % 1024 === 0) forgetIdle(nowMs)
    const windows = keys.get(key) ?? new Map<number, Hits>()
    const hits = (windows.get(windowMs)?.hits ?? []).filter(({ atMs }) => atMs > nowMs - windowMs)
    const free = hits.reduce((left, hit) => left - hit.cost, limit)
    const allowed = cost <= free
    if (take && allowed) {
      keys.set(key, windows.set(windowMs, { hits: [...hits, { atMs: nowMs, cost }], idleAtMs: nowMs + windowMs }))
    }
    let missing = cost - free
    // The hit after whose expiry enough units are free. Undefined if the cost is above the limit.
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
  id: 'sample-name',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [rateLimitStore],
  setup: ({ clock, contribute }) => contribute(rateLimitStore, 'sample-name', createSampleNameStore(clock)),
})
