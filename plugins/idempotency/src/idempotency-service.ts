import { hash } from 'node:crypto'
import { type Clock, FailureLog, type Logger, reasonOf } from '@plinth/kernel'
import type { Lease, SharedStore } from '@plinth/shared-store'
import type { SealedBox } from '@plinth/system-config'
import type { Idempotency, IdempotentAnswer, IdempotentCall } from './contract.ts'
import { refusal } from './declarations.ts'

const longestKey = 255
const keyForm = new RegExp(`^[!-~]{1,${longestKey}}$`)
/** Bytes of an answer in JSON. A larger one is not kept: what a caller may make the store hold is bounded. */
export const largestAnswer = 64 * 1024
/** A call that works for longer loses its lease: whoever hangs does not hold its key for ever. */
const longestWorkMs = 15 * 60_000
/** What callers of a call in progress are told to wait. Most calls take less; one that died takes what is left of its lease. */
const retryAfterSeconds = 2

interface IdempotencyParts {
  readonly store: Pick<SharedStore, 'get' | 'setIfAbsent' | 'acquire'>
  readonly box: Pick<SealedBox, 'seal' | 'open'>
  readonly clock: Clock
  readonly log: Logger
  /** Milliseconds. */
  readonly retentionMs: () => number
  /** Milliseconds. */
  readonly leaseMs: () => number
}

/**
 * A call that was carried out, as the shared store holds it: sealed as a whole, because a hash of what was asked would let
 * passwords in it be guessed.
 */
interface Kept {
  readonly fingerprint: string
  /** Absent when the answer was too large. */
  readonly answer?: unknown
}

/** Stands for a call of which nothing else could be kept. */
const nothingKept = '-'

/** Marks running calls by leases, and keeps the answers of those that are done, in the shared store. */
export class IdempotencyService implements Idempotency {
  readonly #parts: IdempotencyParts
  readonly #failures: FailureLog

  constructor(parts: IdempotencyParts) {
    this.#parts = parts
    this.#failures = new FailureLog(parts.log, {
      failing: 'shared store failed; calls with an idempotency key are refused',
      over: 'shared store answers again; calls with an idempotency key are carried out',
    })
  }

  async run<T>({ scope, key, fingerprint }: IdempotentCall, work: () => Promise<T>): Promise<IdempotentAnswer<T>> {
    if (!keyForm.test(key)) throw refusal('key-invalid', { params: { longest: longestKey } })
    const name = `idempotency:${hash('sha256', JSON.stringify([scope, key]))}`
    const asked = hash('sha256', fingerprint)
    const earlier = await this.#find<T>(name, asked)
    if (earlier !== undefined) return earlier
    const lease = await this.#reach(() => this.#parts.store.acquire(name, this.#parts.leaseMs()))
    // Whoever held the lease a moment ago may have ended since the first look.
    const ended = await this.#find<T>(name, asked).catch((error: unknown) => this.#leave(lease, error))
    if (ended !== undefined) {
      await this.#release(lease)
      return ended
    }
    if (lease === undefined) {
      const params = { seconds: retryAfterSeconds }
      throw refusal('in-progress', { params, data: { retryAfter: retryAfterSeconds } })
    }
    const value = await this.#whileHeld(lease, work).catch((error: unknown) => this.#leave(lease, error))
    // With the mark left where it is, nobody does it again before an operator could look.
    if (await this.#keep(name, asked, value)) await this.#release(lease)
    return { value, replayed: false }
  }

  async #find<T>(name: string, fingerprint: string): Promise<IdempotentAnswer<T> | undefined> {
    const text = await this.#reach(() => this.#parts.store.get(name))
    if (text === undefined) return undefined
    if (text === nothingKept) throw refusal('answer-not-kept')
    const opened = await this.#parts.box.open(name, text).catch((error: unknown) => {
      this.#parts.log.error({ reason: reasonOf(error) }, 'a kept answer cannot be decrypted')
      throw refusal('answer-not-kept', { cause: error })
    })
    const kept = JSON.parse(opened) as Kept
    if (kept.fingerprint !== fingerprint) throw refusal('key-reused')
    if (!('answer' in kept)) throw refusal('answer-not-kept')
    return { value: kept.answer as T, replayed: true }
  }

  /** False when the store holds nothing of it. */
  async #keep(name: string, fingerprint: string, value: unknown): Promise<boolean> {
    const { store, log, retentionMs } = this.#parts
    const text = await this.#sealed(name, fingerprint, value)
    try {
      // The first that ended counts, should a lease have been lost on the way.
      await store.setIfAbsent(name, text, retentionMs())
      return true
    } catch (error) {
      log.error({ reason: reasonOf(error) }, 'a call was carried out and its answer could not be kept')
      return false
    }
  }

  async #sealed(name: string, fingerprint: string, value: unknown): Promise<string> {
    const answer = JSON.stringify(value ?? null)
    const isKept = Buffer.byteLength(answer) <= largestAnswer
    const text = isKept ? `{"fingerprint":"${fingerprint}","answer":${answer}}` : JSON.stringify({ fingerprint })
    return this.#parts.box.seal(name, text).catch((error: unknown) => {
      this.#parts.log.error({ reason: reasonOf(error) }, 'an answer cannot be encrypted, so it is not kept')
      return nothingKept
    })
  }

  /** Renews the lease while the work goes on. */
  async #whileHeld<T>(lease: Lease, work: () => Promise<T>): Promise<T> {
    const over = new AbortController()
    const renewed = this.#renew(lease, over.signal)
    try {
      return await work()
    } finally {
      over.abort()
      await renewed
    }
  }

  async #renew(lease: Lease, over: AbortSignal): Promise<void> {
    const { clock, log, leaseMs } = this.#parts
    const startedAt = clock.monotonic()
    while (clock.monotonic() - startedAt < longestWorkMs) {
      await clock.sleep(leaseMs() / 3, over)
      if (over.aborted) return
      const isHeld = await lease.renew(leaseMs()).catch((error: unknown) => {
        log.warn({ reason: reasonOf(error) }, 'the lease of a running call could not be renewed')
        return true
      })
      if (!isHeld) break
    }
    log.error('a running call has lost its idempotency key: it may be carried out twice')
  }

  /** What failed leaves nothing behind. */
  async #leave(lease: Lease | undefined, error: unknown): Promise<never> {
    await this.#release(lease)
    throw error
  }

  async #release(lease: Lease | undefined): Promise<void> {
    await lease?.release().catch((error: unknown) => {
      this.#parts.log.warn({ reason: reasonOf(error) }, 'an idempotency key stays taken until its lease ends')
    })
  }

  async #reach<T>(call: () => Promise<T>): Promise<T> {
    try {
      const answer = await call()
      this.#failures.succeeded()
      return answer
    } catch (cause) {
      this.#failures.failed(cause)
      throw refusal('store-unavailable', { cause })
    }
  }
}
