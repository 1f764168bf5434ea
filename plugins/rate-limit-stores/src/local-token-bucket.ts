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
import { type BucketState, decideBucket, type QuotaDecision, toRateLimitDecision } from '@plinth/shared-store'
import {
  decisionsWithoutCost,
  flattenKeyString,
  IdlePurge,
  type LocalStoreOptions,
  type PurgeableStore,
  PurgePace,
} from './purge-pace.ts'
import { cleanupIntervalKey, enabledKey, maxKeysKey, providerKey } from './store-keys.ts'

/** A bucket. The buckets of one key with different limits or windows form a linked list. */
interface Bucket {
  readonly limit: number
  readonly windowMs: number
  state: BucketState
  /** Time at which the bucket is full. From then on it can be removed, because a new bucket is full too. */
  fullAtMs: number
  next: Bucket | undefined
}

const visitsPerStep = 256
/** Maximum number of purge steps for a new key if the store is full. */
const stepsWhenFull = 16

/**
 * Token buckets in the memory of this process. The limit is the capacity of a bucket. The window is the time in which
 * an empty bucket is refilled. All methods are synchronous, so each decision is atomic. Uses the monotonic clock.
 */
export class LocalBucketStore implements RateLimitStore, PurgeableStore {
  readonly traits = { shared: false, algorithm: 'token-bucket' } as const
  readonly #clock: Clock
  readonly #monotonic: () => number
  readonly #pace: PurgePace
  readonly #maxKeys: number
  readonly #onHeld: ((store: PurgeableStore) => void) | undefined
  readonly #buckets = new Map<string, Bucket>()
  /** Position of the running purge. The iterator is kept, because a new one would start from the beginning. */
  #purgeAt: MapIterator<[string, Bucket]> | undefined
  #isSweeping = false

  constructor({ clock, cleanupInterval, maxKeys, onHeld }: LocalStoreOptions) {
    this.#clock = clock
    this.#monotonic = createTickClock(clock)
    this.#pace = new PurgePace(cleanupInterval)
    this.#maxKeys = maxKeys
    this.#onHeld = onHeld
  }

  /** Number of stored keys, including full buckets that are not purged yet. */
  get size(): number {
    return this.#buckets.size
  }

  /** @throws Error for a new key if `maxKeys` buckets are in use, because removing one would allow too much */
  consume(request: RateLimitRequest): RateLimitDecision {
    checkRateLimitRequest(request)
    const nowMs = this.#nowMs()
    if (this.#pace.isStepDue()) this.#purge(nowMs)
    const bucket = this.#find(request)
    const { decision, state, forgetAt } = decideBucket(bucket?.state, request, nowMs, true)
    if (state !== undefined && forgetAt !== undefined) {
      if (bucket === undefined) this.#add(request, state, forgetAt, nowMs)
      else {
        bucket.state = state
        bucket.fullAtMs = forgetAt
      }
    }
    return this.#shown(decision)
  }

  consumeAll(requests: readonly RateLimitRequest[]): RateLimitDecision[] {
    const looked = requests.map((request) => this.peek(request))
    if (!looked.every(({ allowed }) => allowed)) return decisionsWithoutCost(looked, requests)
    // Makes room before the first request takes quota, because a full store throws an error.
    this.#makeRoom(requests.filter(({ key }) => !this.#buckets.has(key)).length, this.#nowMs())
    return requests.map((request) => this.consume(request))
  }

  peek(request: RateLimitRequest): RateLimitDecision {
    checkRateLimitRequest(request)
    return this.#shown(decideBucket(this.#find(request)?.state, request, this.#nowMs(), false).decision)
  }

  reset(key: string): void {
    this.#buckets.delete(key)
  }

  sweep(): boolean {
    // Starts from the beginning, because an earlier purge may have stopped anywhere.
    if (!this.#isSweeping) this.#purgeAt = undefined
    this.#purgeAt ??= this.#buckets.entries()
    this.#purgeStep(this.#nowMs())
    this.#isSweeping = this.#purgeAt !== undefined
    return this.#isSweeping
  }

  /** Whole milliseconds, so that sums and differences are exact. */
  #nowMs(): number {
    return Math.floor(this.#monotonic())
  }

  #shown(decision: QuotaDecision): RateLimitDecision {
    return toRateLimitDecision(decision, this.#clock.now())
  }

  #find({ key, limit, windowMs }: RateLimitRequest): Bucket | undefined {
    let bucket = this.#buckets.get(key)
    while (bucket !== undefined && (bucket.limit !== limit || bucket.windowMs !== windowMs)) bucket = bucket.next
    return bucket
  }

  #add({ key, limit, windowMs }: RateLimitRequest, state: BucketState, fullAtMs: number, nowMs: number): void {
    const others = this.#buckets.get(key)
    if (others === undefined) this.#makeRoom(1, nowMs)
    const kept = others === undefined ? flattenKeyString(key) : key
    this.#buckets.set(kept, { limit, windowMs, state, fullAtMs, next: inUse(others, nowMs) })
    this.#onHeld?.(this)
  }

  #makeRoom(keys: number, nowMs: number): void {
    for (let step = 0; this.#buckets.size + keys > this.#maxKeys; step++) {
      if (step === stepsWhenFull) {
        const fix = 'raise platform.rate-limit.stores.local-token-bucket.max-keys or use a shared store'
        throw new Error(`The local-token-bucket store holds ${this.#maxKeys} buckets in use, its maximum: ${fix}`)
      }
      this.#purgeAt ??= this.#buckets.entries()
      this.#purgeStep(nowMs)
    }
  }

  #purge(nowMs: number): void {
    if (this.#purgeAt === undefined) {
      if (!this.#pace.starts()) return
      this.#purgeAt = this.#buckets.entries()
    }
    this.#purgeStep(nowMs)
  }

  #purgeStep(nowMs: number): void {
    for (let visit = 0; visit < visitsPerStep; visit++) {
      const next = this.#purgeAt?.next()
      if (next === undefined || next.done) {
        this.#purgeAt = undefined
        return
      }
      const [key, bucket] = next.value
      const left = inUse(bucket, nowMs)
      if (left === undefined) this.#buckets.delete(key)
      else if (left !== bucket) this.#buckets.set(key, left)
    }
  }
}

function inUse(bucket: Bucket | undefined, nowMs: number): Bucket | undefined {
  if (bucket === undefined) return undefined
  const next = inUse(bucket.next, nowMs)
  if (bucket.fullAtMs <= nowMs) return next
  bucket.next = next
  return bucket
}

const name = 'local-token-bucket'

/** Token buckets in one process: bursts up to the limit, then an even rate. Instances do not share these quotas. */
export default definePlugin({
  id: 'rate-limit-stores.local-token-bucket',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [rateLimitStore],
  config: {
    'platform.rate-limit.stores.local-token-bucket.enabled': enabledKey(name),
    'platform.rate-limit.stores.local-token-bucket.provider': providerKey(name),
    'platform.rate-limit.stores.local-token-bucket.cleanup-interval': cleanupIntervalKey({
      en: 'Removal of idle buckets starts at most once per this number of calls and works in small steps.',
      'zh-CN': '每隔这么多次调用最多启动一次空闲桶清理，清理分小步进行。',
    }),
    'platform.rate-limit.stores.local-token-bucket.max-keys': maxKeysKey({
      en: 'Maximum number of keys with buckets in use. Further new keys are rejected with an error.',
      'zh-CN': '最多保存的使用中键数。超出后新键会被拒绝并报错。',
    }),
  },
  setup({ config, clock, contribute, onStop }) {
    if (!config.get('platform.rate-limit.stores.local-token-bucket.enabled')) return
    const cleanupInterval = config.get('platform.rate-limit.stores.local-token-bucket.cleanup-interval')
    const maxKeys = config.get('platform.rate-limit.stores.local-token-bucket.max-keys')
    const idle = new IdlePurge(clock)
    onStop(() => idle.stop())
    const onHeld = (store: PurgeableStore) => idle.held(store)
    contribute(rateLimitStore, name, new LocalBucketStore({ clock, cleanupInterval, maxKeys, onHeld }))
  },
})
