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
  /**
   * True if the work can return the result of an earlier call whose response was lost. The work is then called again,
   * with `current.isRepeated`. Default: such a call fails with `idempotency.answer-not-kept`.
   */
  readonly canResume?: boolean
}

/** The call in which code runs. */
export interface CurrentCall {
  /** Id of its claim, which also identifies a repeated call. Store it with the effects of the call. */
  readonly id: number
  /**
   * True if an earlier call with this key committed a transaction, but its response was lost. Execute nothing, and
   * return what is known of the earlier call. Only routes with `idempotentResumable` are called in this case.
   */
  readonly isRepeated: boolean
}

export interface IdempotentResponse<T> {
  readonly value: T
  /** True if this is the stored result of an earlier call and the work was not executed now. */
  readonly replayed: boolean
  /**
   * False if the work committed no transaction. Then a repeated call is executed again if this process dies before the
   * result is stored.
   */
  readonly isClaimed: boolean
}

export interface Idempotency {
  /**
   * Executes the work once per key. If a call with the key has completed, returns its stored result. If several callers
   * arrive at the same time, only one executes the work. If the work throws before it commits a transaction, nothing is
   * stored, and the next call with the key executes it.
   *
   * The key is claimed in the first transaction of the work (`transactional` or `statements` of the database), and
   * commits or rolls back with it. If the process dies after the commit and before the result is stored, the next call
   * gets `idempotency.answer-not-kept`, and nothing is executed. So the work must make its whole effect in one
   * transaction. Work without a transaction has no claim: it is executed again when the lease of the killed process has
   * expired.
   *
   * The result is stored encrypted for `platform.idempotency.retention`. Must not be called inside a database
   * transaction.
   *
   * @param work returns a value that JSON can represent
   * @throws BusinessError `400` `idempotency.key-invalid`; `422` `idempotency.key-reused` if the key was used with
   *   another fingerprint; `409` `idempotency.in-progress` with the seconds to wait in `data.retryAfter`; `409`
   *   `idempotency.answer-not-kept` if the work was executed but its result was not stored, because the process died or
   *   the result was too large; `503` `idempotency.store-unavailable` if the shared store failed and the work was not
   *   executed
   */
  run<T>(call: IdempotentCall, work: () => Promise<T>): Promise<IdempotentResponse<T>>

  /** The call with a key in which the calling code runs; `undefined` if there is none. */
  readonly current: CurrentCall | undefined
}

/** Executes a call once, even if it is sent several times. */
export const idempotency = service<Idempotency>('idempotency', { from: '@plinth/idempotency' })

export const idempotentAnnotation = 'idempotency.idempotent'

/**
 * Lets callers of a route send the header `Idempotency-Key`: `annotations: [idempotent]`. Only allowed on POST, PUT and
 * PATCH routes with identified callers. Has no effect without the header or without this plugin.
 */
export const idempotent: RouteAnnotation<true> = { id: idempotentAnnotation, value: true }

/**
 * Like `idempotent`, for routes that call other servers. Before the first of these calls, the handler commits a
 * transaction that stores `Idempotency.current.id`. If a response was lost, the handler runs again for a repeated call.
 * Then `current.isRepeated` is true, and the handler builds the response from what it stored.
 */
export const idempotentResumable: RouteAnnotation<'resumable'> = { id: idempotentAnnotation, value: 'resumable' }
