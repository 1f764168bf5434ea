import type { RouteAnnotation } from '@plinth/http'
import { service } from '@plinth/kernel'

/** A call that is executed once. */
export interface IdempotentCall {
  /** Owner and purpose of the key, as any text. Keys of different scopes are independent. */
  readonly scope: string
  /** Chosen by the caller, a new one for each action: 1 to 255 visible ASCII characters. */
  readonly key: string
  /** Everything that determines the action, as text. Two calls with one key must have the same fingerprint. */
  readonly fingerprint: string
}

export interface IdempotentResponse<T> {
  readonly value: T
  /** True if this is the result of an earlier call and the work was not executed now. */
  readonly replayed: boolean
}

export interface Idempotency {
  /**
   * Executes the work once. If a call with the key has completed, returns its stored result instead. If several callers
   * arrive at the same time, one executes the work. A call that throws stores nothing: the next call with the key
   * executes the work.
   *
   * A result is stored encrypted for `platform.idempotency.retention`. Do not call this inside a database transaction.
   *
   * The result is not part of the transaction of the work. If the process ends or the shared store fails after the
   * commit and before the result is stored, the call stays marked as running. When its lease has expired, the work is
   * executed again. Work that must never happen twice also needs a unique key in its own transaction.
   *
   * @param work returns a value that JSON can represent
   * @throws BusinessError `400` `idempotency.key-invalid`; `422` `idempotency.key-reused`, if the key was used with
   *   another fingerprint; `409` `idempotency.in-progress`, with the seconds to wait in `data.retryAfter`; `409`
   *   `idempotency.answer-not-kept`, if the work was executed and its result was not stored, for example because it was
   *   too large; `503` `idempotency.store-unavailable`, if the shared store failed and the work was not executed
   */
  run<T>(call: IdempotentCall, work: () => Promise<T>): Promise<IdempotentResponse<T>>
}

/** Executes a call once, even if it is sent several times. */
export const idempotency = service<Idempotency>('idempotency', { from: '@plinth/idempotency' })

export const idempotentAnnotation = 'idempotency.idempotent'

/**
 * Lets callers of a route send the header `Idempotency-Key`: `annotations: [idempotent]`. For POST, PUT and PATCH
 * routes with known callers. Without the header, or without this plugin in the product, it has no effect.
 */
export const idempotent: RouteAnnotation<true> = { id: idempotentAnnotation, value: true }
