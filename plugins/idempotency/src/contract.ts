import type { RouteAnnotation } from '@plinth/http'
import { service } from '@plinth/kernel'

/** A call that is executed once. */
export interface IdempotentCall {
  /** Any text. The same key in different scopes means different calls. */
  readonly scope: string
  /** Chosen by the caller for each action: 1 to 255 visible ASCII characters. */
  readonly key: string
  /** Text with everything that determines the action. Calls with the same key must have the same fingerprint. */
  readonly fingerprint: string
}

export interface IdempotentResponse<T> {
  readonly value: T
  /** True if this is the stored result of an earlier call and the work was not executed now. */
  readonly replayed: boolean
}

export interface Idempotency {
  /**
   * Executes the work once per key. If a call with the key has completed, returns its stored result. If several callers
   * arrive at the same time, only one executes the work. If the work throws, nothing is stored, and the next call with
   * the key executes it.
   *
   * The result is stored encrypted for `platform.idempotency.retention`. Must not be called inside a database
   * transaction.
   *
   * The result is not part of the transaction of the work. If the process dies after the commit and before the result
   * is stored, the work is executed again when the lease has expired. Work that must never happen twice also needs a
   * unique key in its own transaction.
   *
   * @param work returns a value that JSON can represent
   * @throws BusinessError `400` `idempotency.key-invalid`; `422` `idempotency.key-reused` if the key was used with
   *   another fingerprint; `409` `idempotency.in-progress` with the seconds to wait in `data.retryAfter`; `409`
   *   `idempotency.answer-not-kept` if the work was executed but its result was not stored, for example because it was
   *   too large; `503` `idempotency.store-unavailable` if the shared store failed and the work was not executed
   */
  run<T>(call: IdempotentCall, work: () => Promise<T>): Promise<IdempotentResponse<T>>
}

/** Executes a call once, even if it is sent several times. */
export const idempotency = service<Idempotency>('idempotency', { from: '@plinth/idempotency' })

export const idempotentAnnotation = 'idempotency.idempotent'

/**
 * Lets callers of a route send the header `Idempotency-Key`: `annotations: [idempotent]`. Only allowed on POST, PUT and
 * PATCH routes with identified callers. Has no effect without the header or without this plugin.
 */
export const idempotent: RouteAnnotation<true> = { id: idempotentAnnotation, value: true }
