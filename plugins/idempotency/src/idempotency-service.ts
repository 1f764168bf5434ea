import { AsyncLocalStorage } from 'node:async_hooks'
import { hash } from 'node:crypto'
import { type Clock, errorReason, type Logger, RepeatedFailureLog } from '@plinth/kernel'
import type { Lease, SharedStore } from '@plinth/shared-store'
import type { PluginEncryption } from '@plinth/system-config'
import type { Claim, Claims } from './claims.ts'
import type { CurrentCall, Idempotency, IdempotentCall, IdempotentResponse } from './contract.ts'
import { businessError, inProgress } from './declarations.ts'
import type { CallRow } from './entities.ts'

const maxKeyLength = 255
const keyForm = new RegExp(`^[!-~]{1,${maxKeyLength}}$`)
/** Maximum size of a stored result in bytes of JSON, so that a caller cannot fill the store. */
export const maxResponseBytes = 64 * 1024
/**
 * After this time in milliseconds the lease is no longer renewed, so that a call that hangs does not block its key
 * forever.
 */
const maxWorkMs = 15 * 60_000
interface IdempotencyDependencies {
  readonly store: Pick<SharedStore, 'get' | 'setIfAbsent' | 'acquire'>
  readonly claims: Pick<Claims, 'create' | 'find' | 'resume'>
  readonly box: Pick<PluginEncryption, 'seal' | 'open'>
  readonly clock: Clock
  readonly log: Logger
  /** Retention time of results in milliseconds. */
  readonly retentionMs: () => number
  /** Lease of a running call in milliseconds. */
  readonly leaseMs: () => number
}

/**
 * Record of a claim, and of a completed call in the shared store. It is encrypted as a whole, because with a plain hash
 * of the request an attacker could guess passwords in it.
 */
interface CompletedCall {
  readonly fingerprint: string
  /** Absent if the call has not completed, or if its result was too large. */
  readonly answer?: unknown
}

/** Stored if a record could not be encrypted. */
const nothingKept = '-'

/** An earlier call with the same key and content. */
type EarlierCall<T> = { readonly value: T } | { readonly claimed: CallRow | undefined }

/**
 * Marks running calls with leases in the shared store. The claim of a key commits in the first transaction of its call,
 * so a repeated call never executes work that was committed.
 *
 * Results are stored with the claim, and also in the shared store: instances of earlier versions know only the shared
 * store, and calls without a transaction have no claim.
 */
export class IdempotencyService implements Idempotency {
  readonly #parts: IdempotencyDependencies
  readonly #failures: RepeatedFailureLog
  /** Claim of the call in which the calling code runs. */
  readonly #current = new AsyncLocalStorage<Claim>()

  constructor(parts: IdempotencyDependencies) {
    this.#parts = parts
    this.#failures = new RepeatedFailureLog(parts.log, {
      failing: 'shared store failed; calls with an idempotency key are refused',
      over: 'shared store answers again; calls with an idempotency key are carried out',
    })
  }

  async run<T>(call: IdempotentCall, work: () => Promise<T>): Promise<IdempotentResponse<T>> {
    const { scope, key, fingerprint, canResume = false } = call
    if (!keyForm.test(key)) throw businessError('key-invalid', { params: { longest: maxKeyLength } })
    const id = hash('sha256', JSON.stringify([scope, key]))
    const requested = hash('sha256', fingerprint)
    const { lease, stored } = await this.#enter(storeNameOf(id))
    try {
      const earlier = await this.#find<T>(id, requested, stored)
      if (earlier !== undefined && 'value' in earlier) return await this.#replay(lease, earlier.value)
      if (lease === undefined) throw inProgress()
      const claim = await this.#claimOf(id, requested, earlier, canResume)
      const value = await this.#whileHeld(lease, () => this.#current.run(claim, () => claim.run(work)))
      // If nothing could be stored, the lease is not released, so that no caller repeats the work before it expires.
      if (await this.#keep(claim, id, requested, value)) await this.#release(lease)
      return { value, replayed: false, isClaimed: claim.isCommitted }
    } catch (error) {
      await this.#release(lease)
      throw error
    }
  }

  get current(): CurrentCall | undefined {
    return this.#current.getStore()
  }

  /** Acquires the lease of a call, and reads its stored record. `lease` is undefined if another call holds it. */
  #enter(name: string) {
    const { store, leaseMs } = this.#parts
    return this.#reach(async () => {
      const lease = await store.acquire(name, leaseMs())
      try {
        return { lease, stored: await store.get(name) }
      } catch (error) {
        await this.#release(lease)
        throw error
      }
    })
  }

  async #replay<T>(lease: Lease | undefined, value: T): Promise<IdempotentResponse<T>> {
    await this.#release(lease)
    return { value, replayed: true, isClaimed: true }
  }

  /** @throws BusinessError `409` `idempotency.answer-not-kept` if the call was executed and cannot be resumed */
  async #claimOf(
    id: string,
    fingerprint: string,
    earlier: { readonly claimed: CallRow | undefined } | undefined,
    canResume: boolean,
  ): Promise<Claim> {
    const { claims } = this.#parts
    if (earlier === undefined) return claims.create(id, await this.#seal(id, JSON.stringify({ fingerprint })))
    if (!canResume || earlier.claimed === undefined) throw businessError('answer-not-kept')
    return claims.resume(earlier.claimed)
  }

  /** @param stored record in the shared store */
  async #find<T>(id: string, fingerprint: string, stored: string | undefined): Promise<EarlierCall<T> | undefined> {
    const claimed = await this.#parts.claims.find(id)
    const text = stored ?? claimed?.record
    if (text === undefined) return undefined
    if (text === nothingKept) throw businessError('answer-not-kept')
    const opened = await this.#parts.box.open(storeNameOf(id), text).catch((error: unknown) => {
      this.#parts.log.error({ reason: errorReason(error) }, 'a stored result cannot be decrypted')
      throw businessError('answer-not-kept', { cause: error })
    })
    const kept: CompletedCall = JSON.parse(opened)
    if (kept.fingerprint !== fingerprint) throw businessError('key-reused')
    return 'answer' in kept ? { value: kept.answer as T } : { claimed }
  }

  /** Stores the result. Returns false if a repeated call would execute the work again. */
  async #keep(claim: Claim, id: string, fingerprint: string, value: unknown): Promise<boolean> {
    const { store, log, retentionMs } = this.#parts
    const text = await this.#sealed(id, fingerprint, value)
    const write = (work: () => Promise<unknown>) =>
      work().then(
        () => true,
        (error: unknown) => {
          log.error({ reason: errorReason(error) }, 'a call was executed, but its result could not be stored')
          return false
        },
      )
    if (claim.isCommitted) await write(() => claim.complete(text))
    // If the lease was lost, another call may have completed first. Then its result is kept.
    const isStored = await write(() => store.setIfAbsent(storeNameOf(id), text, retentionMs()))
    return isStored || claim.isCommitted
  }

  #sealed(id: string, fingerprint: string, value: unknown): Promise<string> {
    const answer = JSON.stringify(value ?? null)
    const isKept = Buffer.byteLength(answer) <= maxResponseBytes
    const text = isKept ? `{"fingerprint":"${fingerprint}","answer":${answer}}` : JSON.stringify({ fingerprint })
    return this.#seal(id, text)
  }

  #seal(id: string, text: string): Promise<string> {
    return this.#parts.box.seal(storeNameOf(id), text).catch((error: unknown) => {
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
    log.error('a running call has lost its idempotency key; without a transaction, it may be executed twice')
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

/** Name of the lease and of the record of a call in the shared store. @param id SHA-256 of scope and key */
const storeNameOf = (id: string) => `idempotency:${id}`
