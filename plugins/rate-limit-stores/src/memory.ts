import {
  type Clock,
  checkRateLimitRequest,
  definePlugin,
  type RateLimitDecision,
  type RateLimitRequest,
  type RateLimitStore,
  rateLimitStore,
} from '@plinth/kernel'
import { createTickClock } from '@plinth/kernel/host'
import {
  decisionsWithoutCost,
  flattenKeyString,
  IdlePurge,
  type LocalStoreOptions,
  type PurgeableStore,
  PurgePace,
} from './purge-pace.ts'
import { cleanupIntervalKey, maxKeysKey, providerKey } from './store-keys.ts'

/** Limits of one purge step. */
const visitsPerStep = 512
const removalsPerStep = 256
/** Maximum number of purge steps for a new key if the store is full. */
const stepsWhenFull = 16

/** Initial length of the arrays, and the maximum number of windows that are moved to shorten the arrays. */
const minSlots = 64
const movedAtMost = 16_384

/** End time of a free slot. It never expires, so a purge skips it. */
const vacant = Number.POSITIVE_INFINITY
const none = -1

/**
 * Fixed windows in the memory of this process. A window starts with its first request and is never extended. For one
 * key, windows of different lengths are separate. All methods are synchronous, so each decision is atomic.
 *
 * Windows are stored in typed arrays, with one Map from keys to slots, so that the garbage collector need not visit a
 * million objects. The windows of one key form a linked list. The wall clock is only used for display.
 */
export class MemoryStore implements RateLimitStore, PurgeableStore {
  readonly traits = { shared: false, algorithm: 'fixed-window' } as const
  readonly #clock: Clock
  readonly #monotonic: () => number
  readonly #pace: PurgePace
  readonly #maxKeys: number
  readonly #onHeld: ((store: PurgeableStore) => void) | undefined

  readonly #slots = new Map<string, number>()
  #keys: string[] = []
  #used = new Float64Array(minSlots)
  #endMs = new Float64Array(minSlots).fill(vacant)
  #resetAtMs = new Float64Array(minSlots)
  #windowMs = new Float64Array(minSlots)
  #next = new Float64Array(minSlots)
  #vacated: number[] = []

  /** Next slot of the running purge. After the last slot, the purge is complete. */
  #purgeAt = 0
  #isSweeping = false

  constructor({ clock, cleanupInterval, maxKeys, onHeld }: LocalStoreOptions) {
    this.#clock = clock
    this.#monotonic = createTickClock(clock)
    this.#pace = new PurgePace(cleanupInterval)
    this.#maxKeys = maxKeys
    this.#onHeld = onHeld
  }

  /** Number of stored windows, including expired ones that are not purged yet. */
  get size(): number {
    return this.#keys.length - this.#vacated.length
  }

  /** @throws Error for a new key if `maxKeys` windows are active, because removing one would allow too much */
  consume(request: RateLimitRequest): RateLimitDecision {
    const nowMs = this.#nowMs()
    if (this.#pace.isStepDue()) this.#purge(nowMs)
    return this.#decide(request, nowMs, true)
  }

  consumeAll(requests: readonly RateLimitRequest[]): RateLimitDecision[] {
    const nowMs = this.#nowMs()
    const looked = requests.map((request) => this.#decide(request, nowMs, false))
    if (!looked.every(({ allowed }) => allowed)) return decisionsWithoutCost(looked, requests)
    // Makes room before the first request takes quota, because a full store throws an error.
    this.#makeRoom(requests.filter((request) => this.#find(request) === none).length, nowMs)
    return requests.map((request) => this.consume(request))
  }

  peek(request: RateLimitRequest): RateLimitDecision {
    return this.#decide(request, this.#nowMs(), false)
  }

  refund(request: RateLimitRequest): void {
    const slot = this.#find(request)
    if (slot !== none) this.#used[slot] = Math.max(0, (this.#used[slot] ?? 0) - request.cost)
  }

  reset(key: string): void {
    for (let slot = this.#slots.get(key); slot !== undefined; slot = this.#slots.get(key)) this.#vacate(slot)
  }

  sweep(): boolean {
    // Starts from the beginning, because an earlier purge may have stopped anywhere.
    if (!this.#isSweeping) this.#purgeAt = 0
    this.#purgeStep(this.#nowMs())
    this.#isSweeping = this.#purgeAt < this.#keys.length
    if (this.#isSweeping) return true
    this.#giveBack()
    return false
  }

  /** Whole milliseconds, so that sums and differences are exact. */
  #nowMs(): number {
    return Math.floor(this.#monotonic())
  }

  #decide(request: RateLimitRequest, nowMs: number, take: boolean): RateLimitDecision {
    checkRateLimitRequest(request)
    const { limit, windowMs, cost } = request
    const slot = this.#find(request)
    const runningMs = slot === none ? 0 : (this.#endMs[slot] ?? 0) - nowMs
    const runs = runningMs > 0
    const used = runs ? (this.#used[slot] ?? 0) : 0
    const remainingMs = runs ? runningMs : windowMs
    const resetAtMs = runs ? (this.#resetAtMs[slot] ?? 0) : this.#clock.now() + windowMs

    const remaining = used < limit ? limit - used : 0
    const allowed = cost <= remaining
    if (take && allowed) {
      if (runs) this.#used[slot] = used + cost
      else {
        const opened = slot === none ? this.#occupy(request, nowMs) : slot
        this.#used[opened] = cost
        this.#endMs[opened] = nowMs + windowMs
        this.#resetAtMs[opened] = resetAtMs
      }
    }
    return allowed
      ? { allowed, remaining: remaining - cost, resetAtMs, retryAfterMs: 0 }
      : { allowed, remaining, resetAtMs, retryAfterMs: remainingMs }
  }

  #find({ key, windowMs }: RateLimitRequest): number {
    let slot = this.#slots.get(key) ?? none
    while (slot !== none && this.#windowMs[slot] !== windowMs) slot = this.#next[slot] ?? 0
    return slot
  }

  #makeRoom(windows: number, nowMs: number): void {
    for (let step = 0; this.size + windows > this.#maxKeys; step++) {
      if (step === stepsWhenFull) {
        const fix = 'raise platform.rate-limit.stores.memory.max-keys or use a shared store'
        throw new Error(`The memory store holds ${this.#maxKeys} running windows, its maximum: ${fix}`)
      }
      if (this.#purgeAt >= this.#keys.length) this.#purgeAt = 0
      this.#purgeStep(nowMs)
    }
  }

  #occupy({ key, windowMs }: RateLimitRequest, nowMs: number): number {
    this.#makeRoom(1, nowMs)
    for (let other = this.#slots.get(key) ?? none; other !== none; ) {
      const next = this.#next[other] ?? 0
      if ((this.#endMs[other] ?? 0) <= nowMs) this.#vacate(other)
      other = next
    }
    const slot = this.#vacated.pop() ?? this.#keys.length
    if (slot === this.#endMs.length) this.#grow()
    const first = this.#slots.get(key)
    const kept = first === undefined ? flattenKeyString(key) : (this.#keys[first] as string)
    this.#keys[slot] = kept
    this.#windowMs[slot] = windowMs
    this.#next[slot] = first ?? none
    this.#slots.set(kept, slot)
    this.#onHeld?.(this)
    return slot
  }

  #vacate(slot: number): void {
    const key = this.#keys[slot] as string
    const next = this.#next[slot] ?? 0
    const first = this.#slots.get(key) as number
    if (first !== slot) {
      let before = first
      while (this.#next[before] !== slot) before = this.#next[before] ?? 0
      this.#next[before] = next
    } else if (next === none) this.#slots.delete(key)
    else this.#slots.set(key, next)
    this.#keys[slot] = ''
    this.#endMs[slot] = vacant
    this.#vacated.push(slot)
  }

  #grow(): void {
    const enlarged = (column: Float64Array<ArrayBuffer>) => {
      const larger = new Float64Array(2 * column.length).fill(vacant)
      larger.set(column)
      return larger
    }
    this.#used = enlarged(this.#used)
    this.#endMs = enlarged(this.#endMs)
    this.#resetAtMs = enlarged(this.#resetAtMs)
    this.#windowMs = enlarged(this.#windowMs)
    this.#next = enlarged(this.#next)
  }

  /** Shortens the arrays if most slots are free. */
  #giveBack(): void {
    const { size } = this
    if (size > movedAtMost || 4 * Math.max(size, minSlots) >= this.#endMs.length) return
    const from = [...this.#slots.values()].flatMap((first) => this.#chain(first))
    const moved = new Map(from.map((slot, to) => [slot, to]))
    const length = Math.max(minSlots, 2 ** Math.ceil(Math.log2(size + 1)))
    const shortened = (column: Float64Array<ArrayBuffer>) => {
      const shorter = new Float64Array(length).fill(vacant)
      for (const [to, slot] of from.entries()) shorter[to] = column[slot] ?? 0
      return shorter
    }
    this.#keys = from.map((slot) => this.#keys[slot] as string)
    this.#used = shortened(this.#used)
    this.#endMs = shortened(this.#endMs)
    this.#resetAtMs = shortened(this.#resetAtMs)
    this.#windowMs = shortened(this.#windowMs)
    this.#next = shortened(this.#next).map((next) => moved.get(next) ?? none)
    this.#vacated = []
    for (const [key, first] of this.#slots) this.#slots.set(key, moved.get(first) as number)
    this.#purgeAt = this.#keys.length
  }

  /** Returns a slot and the slots after it in the list. */
  #chain(first: number): number[] {
    const slots: number[] = []
    for (let slot = first; slot !== none; slot = this.#next[slot] ?? 0) slots.push(slot)
    return slots
  }

  #purge(nowMs: number): void {
    if (this.#purgeAt >= this.#keys.length) {
      if (!this.#pace.starts()) return
      this.#purgeAt = 0
    }
    this.#purgeStep(nowMs)
  }

  #purgeStep(nowMs: number): void {
    const lastVisit = Math.min(this.#purgeAt + visitsPerStep, this.#keys.length)
    let removals = 0
    while (this.#purgeAt < lastVisit && removals < removalsPerStep) {
      const slot = this.#purgeAt++
      if ((this.#endMs[slot] ?? 0) > nowMs) continue
      this.#vacate(slot)
      removals += 1
    }
  }
}

const name = 'memory'

/** Fixed windows in one process: for tests, for diagnosis, and for a product that runs as one process. */
export default definePlugin({
  id: 'rate-limit-stores.memory',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [rateLimitStore],
  config: {
    'platform.rate-limit.stores.memory.provider': providerKey(name),
    'platform.rate-limit.stores.memory.cleanup-interval': cleanupIntervalKey({
      en: 'Removal of expired windows starts at most once per this number of calls and works in small steps.',
      'zh-CN': '每隔这么多次调用最多启动一次过期窗口清理，清理分小步进行。',
    }),
    'platform.rate-limit.stores.memory.max-keys': maxKeysKey({
      en: 'Maximum number of active windows, about 150 bytes each. Further new keys are rejected with an error.',
      'zh-CN': '最多保存的活动窗口数，每个约 150 字节。超出后新键会被拒绝并报错。',
    }),
  },
  setup({ config, clock, contribute, onStop }) {
    const cleanupInterval = config.get('platform.rate-limit.stores.memory.cleanup-interval')
    const maxKeys = config.get('platform.rate-limit.stores.memory.max-keys')
    const idle = new IdlePurge(clock)
    onStop(() => idle.stop())
    const onHeld = (store: PurgeableStore) => idle.held(store)
    contribute(rateLimitStore, name, new MemoryStore({ clock, cleanupInterval, maxKeys, onHeld }))
  },
})
