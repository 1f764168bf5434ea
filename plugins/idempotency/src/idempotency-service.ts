import { hash } from 'node:crypto'
import { type Clock, errorReason, type Logger, RepeatedFailureLog } from '@plinth/kernel'
import type { Lease, SharedStore } from '@plinth/shared-store'
import type { PluginEncryption } from '@plinth/system-config'
import type { Idempotency, IdempotentCall, IdempotentResponse } from './contract.ts'
import { businessError } from './declarations.ts'

const maxKeyLength = 255
const keyForm = new RegExp(`^[!-~]{1,${maxKeyLength}}$`)
/** Maximum size of a stored result in bytes of JSON, so that a caller cannot fill the store. */
export const maxResponseBytes = 64 * 1024
/**
 * After this time in milliseconds the lease is no longer renewed, so that a call that hangs does not block its key
 * forever.
 */
const maxWorkMs = 15 * 60_000
/**
 * Seconds after which a caller may repeat a call that is still running. Most calls are faster. After a crash, the key
 * is blocked until its lease expires.
 */
const retryAfterSeconds = 2

interface IdempotencyDependencies {
  readonly store: Pick<SharedStore, 'get' | 'setIfAbsent' | 'acquire'>
  readonly box: Pick<PluginEncryption, 'seal' | 'open'>
  readonly clock: Clock
  readonly log: Logger
  /** Retention time of results in milliseconds. */
  readonly retentionMs: () => number
  /** Lease of a running call in milliseconds. */
  readonly leaseMs: () => number
}

/**
 * A completed call in the shared store. The record is encrypted as a whole, because with a plain hash of the request an
 * attacker could guess passwords in it.
 */
interface CompletedCall {
  readonly fingerprint: string
  /** Absent if the result was too large. */
  readonly answer?: unknown
}

/** Stored for a completed call whose record could not be encrypted. */
const nothingKept = '-'

/** Marks running calls with leases in the shared store, and stores the results of completed calls. */
export class IdempotencyService implements Idempotency {
  readonly #parts: IdempotencyDependencies
  readonly #failures: RepeatedFailureLog

  constructor(parts: IdempotencyDependencies) {
    this.#parts = parts
    this.#failures = new RepeatedFailureLog(parts.log, {
      failing: 'shared store failed; calls with an idempotency key are refused',
      over: 'shared store answers again; calls with an idempotency key are carried out',
    })
  }

  async run<T>({ scope, key, fingerprint }: IdempotentCall, work: () => Promise<T>): Promise<IdempotentResponse<T>> {
    if (!keyForm.test(key)) throw businessError('key-invalid', { params: { longest: maxKeyLength } })
    const name = `idempotency:${hash('sha256', JSON.stringify([scope, key]))}`
    const requested = hash('sha256', fingerprint)
    const earlier = await this.#find<T>(name, requested)
    if (earlier !== undefined) return earlier
    const lease = await this.#reach(() => this.#parts.store.acquire(name, this.#parts.leaseMs()))
    // The previous owner of the lease may have completed after the first read, so the result is read again.
    const ended = await this.#find<T>(name, requested).catch((error: unknown) => this.#leave(lease, error))
    if (ended !== undefined) {
      await this.#release(lease)
      return ended
    }
    if (lease === undefined) {
      const params = { seconds: retryAfterSeconds }
      throw businessError('in-progress', { params, data: { retryAfter: retryAfterSeconds } })
    }
    const value = await this.#whileHeld(lease, work).catch((error: unknown) => this.#leave(lease, error))
    // If nothing could be stored, the lease is not released, so that no caller repeats the work before it expires.
    if (await this.#keep(name, requested, value)) await this.#release(lease)
    return { value, replayed: false }
  }

  async #find<T>(name: string, fingerprint: string): Promise<IdempotentResponse<T> | undefined> {
    const text = await this.#reach(() => this.#parts.store.get(name))
    if (text === undefined) return undefined
    if (text === nothingKept) throw businessError('answer-not-kept')
    const opened = await this.#parts.box.open(name, text).catch((error: unknown) => {
      this.#parts.log.error({ reason: errorReason(error) }, 'a stored result cannot be decrypted')
      throw businessError('answer-not-kept', { cause: error })
    })
    const kept: CompletedCall = JSON.parse(opened)
    if (kept.fingerprint !== fingerprint) throw businessError('key-reused')
    if (!('answer' in kept)) throw businessError('answer-not-kept')
    return { value: kept.answer as T, replayed: true }
  }

  /** Stores the result. Returns false if nothing could be stored. */
  async #keep(name: string, fingerprint: string, value: unknown): Promise<boolean> {
    const { store, log, retentionMs } = this.#parts
    const text = await this.#sealed(name, fingerprint, value)
    try {
      // If the lease was lost, another call may have completed first. Then its result is kept.
      await store.setIfAbsent(name, text, retentionMs())
      return true
    } catch (error) {
      log.error({ reason: errorReason(error) }, 'a call was executed, but its result could not be stored')
      return false
    }
  }

  async #sealed(name: string, fingerprint: string, value: unknown): Promise<string> {
    const answer = JSON.stringify(value ?? null)
    const isKept = Buffer.byteLength(answer) <= maxResponseBytes
    const text = isKept ? `{"fingerprint":"${fingerprint}","answer":${answer}}` : JSON.stringify({ fingerprint })
    return this.#parts.box.seal(name, text).catch((error: unknown) => {
      this.#parts.log.error({ reason: errorReason(error) }, 'a result cannot be encrypted, so it is not stored')
      return nothingKept
    })
  }

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
    while (clock.monotonic() - startedAt < maxWorkMs) {
      await clock.sleep(leaseMs() / 3, over)
      if (over.aborted) return
      const isHeld = await lease.renew(leaseMs()).catch((error: unknown) => {
        log.warn({ reason: errorReason(error) }, 'the lease of a running call could not be renewed')
        return true
      })
      if (!isHeld) break
    }
    log.error('a running call has lost its idempotency key and may be executed twice')
  }

  /** Releases the lease of a failed call and throws its error. */
  async #leave(lease: Lease | undefined, error: unknown): Promise<never> {
    await this.#release(lease)
    throw error
  }

  async #release(lease: Lease | undefined): Promise<void> {
    await lease?.release().catch((error: unknown) => {
      this.#parts.log.warn(
        { reason: errorReason(error) },
        'an idempotency key could not be released; it stays in use until its lease expires',
      )
    })
  }

  async #reach<T>(call: () => Promise<T>): Promise<T> {
    try {
      const answer = await call()
      this.#failures.succeeded()
      return answer
    } catch (cause) {
      this.#failures.failed(cause)
      throw businessError('store-unavailable', { cause })
    }
  }
}
