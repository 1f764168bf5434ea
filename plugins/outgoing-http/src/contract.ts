import { service } from '@plinth/kernel'

export interface OutgoingRequest {
  /** Absolute `https:` address (`http:` where the operator allows it), without user name and password. */
  readonly url: string | URL
  /** `POST` when absent. */
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Names in any case. `accept-encoding` is always `identity`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Milliseconds from the call to the last byte of the answer; `platform.outgoing-http.deadline` when absent. */
  readonly deadlineMs?: number
  /** Gives the request up when it aborts; the socket is destroyed. */
  readonly signal?: AbortSignal
  /** Bytes of the answer that are read; `platform.outgoing-http.max-response-size` when absent. */
  readonly maxResponseBytes?: number
}

/** What the server answered, whatever its status: a redirect is an answer like any other, and is never followed. */
export interface OutgoingResponse {
  readonly status: number
  /** By name in lower case; repeated ones joined by a comma. */
  readonly headers: Readonly<Record<string, string>>
  /** Read as UTF-8. */
  readonly body: string
  /** True when the answer was longer than may be read: `body` is its beginning, and the socket was destroyed. */
  readonly truncated: boolean
}

/** Why no answer came. Stable; also a tag of the metrics. */
export type OutgoingFailure =
  | 'url-refused'
  | 'port-refused'
  | 'address-refused'
  | 'request-refused'
  | 'host-unknown'
  | 'connect-failed'
  | 'connect-timeout'
  | 'tls-failed'
  | 'connection-lost'
  | 'answer-invalid'
  | 'answer-timeout'
  | 'deadline-exceeded'
  | 'aborted'
  | 'stopped'

/**
 * No answer. Holds no more of the address than its origin, neither headers nor bodies, and no cause: whatever a library
 * says of a request may hold its secrets.
 */
export class OutgoingHttpError extends Error {
  override readonly name = 'OutgoingHttpError'
  readonly code: OutgoingFailure
  /** `https://host:port`; absent when the address was not even a URL. */
  readonly origin: string | undefined
  /**
   * False: nothing was sent, trying again is safe. True: the request was on its way, and the server may have carried it
   * out; only an idempotent request may be tried again.
   */
  readonly mayHaveArrived: boolean

  constructor(code: OutgoingFailure, text: string, origin: string | undefined, mayHaveArrived = false) {
    super(origin === undefined ? text : `${origin}: ${text}`)
    this.code = code
    this.origin = origin
    this.mayHaveArrived = mayHaveArrived
  }
}

/** True for every failure of an outgoing request, by name, because another copy of the package may have made it. */
export const isOutgoingHttpError = (error: unknown): error is OutgoingHttpError =>
  error instanceof Error && error.name === 'OutgoingHttpError' && 'mayHaveArrived' in error

/**
 * The way out for all requests to addresses that somebody chose (reference "Security of outgoing webhooks", 6.1). Only
 * public addresses are reached unless the operator allows others; the socket connects to the very addresses that were
 * checked; redirects are not followed; no proxy of the environment is used.
 */
export interface OutgoingHttp {
  /** @throws OutgoingHttpError when no answer came in time, or the address is refused */
  request(request: OutgoingRequest): Promise<OutgoingResponse>
  /**
   * Checks an address as far as that is possible without a request: form, protocol, port and, of a literal IP, the address.
   *
   * @throws OutgoingHttpError as `request` would
   */
  check(url: string | URL): void
  /**
   * Opens a connection to the server of an address, with TLS where the address asks for it, and closes it: proves that a
   * request could be sent, and sends none.
   *
   * @throws OutgoingHttpError as `request` would
   */
  reach(request: Pick<OutgoingRequest, 'url' | 'deadlineMs' | 'signal'>): Promise<void>
}

export const outgoingHttp = service<OutgoingHttp>('outgoing-http', { from: '@plinth/outgoing-http' })
