import type { RouteAnnotation } from '@plinth/http'
import { service } from '@plinth/kernel'

/** What is carried out once. */
export interface IdempotentCall {
  /** Whose key it is, and what for: keys of different scopes have nothing to do with each other. Any text. */
  readonly scope: string
  /** Chosen by the caller, anew for each thing that it wants done: 1 to 255 visible ASCII characters. */
  readonly key: string
  /** All that decides what is done, as text. Two calls under one key must have the same. */
  readonly fingerprint: string
}

export interface IdempotentAnswer<T> {
  readonly value: T
  /** True when it is the answer of an earlier call, and nothing was done now. */
  readonly replayed: boolean
}

export interface Idempotency {
  /**
   * Does the work unless the call was carried out before; then it answers what was answered then. Of callers that come at the
   * same time one does the work. What throws leaves nothing: the next call under the key does the work.
   *
   * An answer is kept for `platform.idempotency.retention`, encrypted. Not inside a database transaction.
   *
   * It is no part of the transaction of the work. A process that ends, or a shared store that fails, between the commit and
   * the keeping of the answer leaves the mark of a running call; when its lease has ended, the call is done again. What must
   * never happen twice has its own unique key in its transaction as well.
   *
   * @param work answers what JSON can carry
   * @throws BusinessError `400` `idempotency.key-invalid`; `422` `idempotency.key-reused`, when the key came with another
   *   fingerprint before; `409` `idempotency.in-progress`, with the seconds to wait in `data.retryAfter`; `409`
   *   `idempotency.answer-not-kept`, when it was carried out and its answer was too large to keep; `503`
   *   `idempotency.store-unavailable`, when nothing was done because the shared store does not answer
   */
  run<T>(call: IdempotentCall, work: () => Promise<T>): Promise<IdempotentAnswer<T>>
}

/** Calls that are carried out once, however often they are made. */
export const idempotency = service<Idempotency>('idempotency', { from: '@plinth/idempotency' })

export const idempotentAnnotation = 'idempotency.idempotent'

/**
 * Lets callers of a route send the header `Idempotency-Key`: `annotations: [idempotent]`. For POST, PUT and PATCH routes whose
 * callers are known. Without the header, or without this plugin in the product, nothing changes.
 */
export const idempotent: RouteAnnotation<true> = { id: idempotentAnnotation, value: true }
