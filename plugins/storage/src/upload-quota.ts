import type { Clock, RateLimitDecision, RateLimitRequest } from '@plinth/kernel'
import { businessError } from './declarations.ts'

/** The quotas of the shared store, on which this package does not depend. Takes the costs of all requests or of none. */
export interface SharedQuota {
  decideAll(algorithm: 'window', requests: readonly RateLimitRequest[]): Promise<readonly RateLimitDecision[]>
}

export interface UploadLimits {
  /** Maximum bytes per user and day. */
  readonly userBytes: number
  /** Maximum bytes of all users per day. */
  readonly totalBytes: number
}

interface UploadQuotaDependencies {
  /** Undefined in a product without a shared store. Then each process counts its own uploads. */
  readonly shared: SharedQuota | undefined
  readonly clock: Clock
  readonly limits: () => UploadLimits
  /** Called when the shared store does not decide. This process then counts its own uploads. */
  readonly onFailure: (error: unknown) => void
}

const dayMs = 24 * 60 * 60_000
const mebibyte = 1024 * 1024
/** Share of the total from which the health check warns. */
const warnedShare = 0.8

/** Limits the bytes of uploads per day, for each user and for all users together. */
export class UploadQuota {
  readonly #parts: UploadQuotaDependencies
  readonly #local: LocalQuota
  /** State of the total quota after the last upload. */
  #total: { readonly remaining: number; readonly resetAtMs: number } | undefined

  constructor(parts: UploadQuotaDependencies) {
    this.#parts = parts
    this.#local = new LocalQuota(parts.clock)
  }

  /**
   * Takes the bytes of an upload.
   *
   * @param user id of the user, or of the client if there is no user
   * @throws BusinessError "429" `storage.upload-quota`, "503" `storage.upload-total-quota`
   */
  async take(user: string, bytes: number): Promise<void> {
    const { userBytes, totalBytes } = this.#parts.limits()
    const request = { windowMs: dayMs, cost: Math.max(1, bytes) }
    const [own, total] = await this.#decide([
      { ...request, key: `storage:uploads:user:${user}`, limit: userBytes },
      { ...request, key: 'storage:uploads:total', limit: totalBytes },
    ])
    this.#total = total
    if (own?.allowed === false) throw businessError('upload-quota', detailsOf(userBytes, own))
    if (total?.allowed === false) throw businessError('upload-total-quota', detailsOf(totalBytes, total))
  }

  /** Returns a warning while the uploads of all users need most of their quota. */
  get warning(): string | undefined {
    const { totalBytes } = this.#parts.limits()
    if (this.#total === undefined || this.#total.resetAtMs <= this.#parts.clock.now()) return undefined
    const used = totalBytes - this.#total.remaining
    if (used < totalBytes * warnedShare) return undefined
    return (
      `Uploads of the last day use ${mebibytes(used)} of ${mebibytes(totalBytes)} MiB. When the limit is reached, ` +
      'uploads are rejected. Raise platform.storage.uploads.max-total-bytes if the disk has space.'
    )
  }

  async #decide(requests: readonly RateLimitRequest[]): Promise<readonly RateLimitDecision[]> {
    const { shared, onFailure } = this.#parts
    if (shared !== undefined) {
      try {
        return await shared.decideAll('window', requests)
      } catch (error) {
        onFailure(error)
      }
    }
    return this.#local.decideAll(requests)
  }
}

const mebibytes = (bytes: number) => Math.floor(bytes / mebibyte)

function detailsOf(limit: number, { retryAfterMs }: RateLimitDecision) {
  const retryAfter = Math.max(1, Math.ceil(retryAfterMs / 1000))
  return { params: { limit: mebibytes(limit), hours: Math.ceil(retryAfter / 3600) }, data: { limit, retryAfter } }
}

/** Fixed windows in the memory of this process. There are few keys, because uploads need a permission. */
class LocalQuota {
  readonly #clock: Clock
  readonly #windows = new Map<string, { used: number; readonly endsAt: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  decideAll(requests: readonly RateLimitRequest[]): readonly RateLimitDecision[] {
    const now = this.#clock.monotonic()
    for (const [key, { endsAt }] of this.#windows) if (endsAt <= now) this.#windows.delete(key)
    const windowOf = ({ key, windowMs }: RateLimitRequest) =>
      this.#windows.get(key) ?? { used: 0, endsAt: now + windowMs }
    const isAllowed = (request: RateLimitRequest) => windowOf(request).used + request.cost <= request.limit
    const takes = requests.every(isAllowed)
    return requests.map((request) => {
      const window = windowOf(request)
      const allowed = isAllowed(request)
      if (takes) {
        window.used += request.cost
        this.#windows.set(request.key, window)
      }
      const leftMs = Math.ceil(window.endsAt - now)
      return {
        allowed,
        remaining: Math.max(0, request.limit - window.used),
        resetAtMs: this.#clock.now() + leftMs,
        retryAfterMs: allowed ? 0 : leftMs,
      }
    })
  }
}
