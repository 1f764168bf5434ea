import { service } from '@plinth/kernel'

export interface OutgoingRequest {
  /** Absolute `https:` address (`http:` if the operator allows it), without user name and password. */
  readonly url: string | URL
  /** `POST` when absent. */
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Names in any case. `accept-encoding` is always `identity`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Milliseconds from the call to the last byte of the response; `platform.outgoing-http.deadline` when absent. */
  readonly deadlineMs?: number
  /** Cancels the request when it aborts, and destroys the socket. */
  readonly signal?: AbortSignal
  /** Maximum bytes of the response to read; `platform.outgoing-http.max-response-size` when absent. */
  readonly maxResponseBytes?: number
}

/** The response with any status. Redirects are returned like other responses and never followed. */
export interface OutgoingResponse {
  readonly status: number
  /** By name in lower case. Repeated headers are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>
  /** Decoded as UTF-8. */
  readonly body: string
  /** True if the response was longer than the maximum: `body` is its beginning, and the socket was destroyed. */
  readonly truncated: boolean
}

/** Reason of a request without a response. Stable; also a tag of the metrics. */
export type OutgoingFailure =
  | 'url-refused'
  | 'port-refused'
  | 'address-refused'
  | 'request-refused'
  | 'host-undeclared'
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
 * A request failed without a response. It contains only the origin of the address. It contains no headers, no bodies
 * and no cause, because a message of a library may contain secrets of the request.
 */
export class OutgoingHttpError extends Error {
  override readonly name = 'OutgoingHttpError'
  readonly code: OutgoingFailure
  /** `https://host:port`; absent if the address is not a URL. */
  readonly origin: string | undefined
  /**
   * False: nothing was sent, so a retry is safe. True: the server may have executed the request, so only an idempotent
   * request may be retried.
   */
  readonly mayHaveArrived: boolean

  constructor(code: OutgoingFailure, text: string, origin: string | undefined, mayHaveArrived = false) {
    super(origin === undefined ? text : `${origin}: ${text}`)
    this.code = code
    this.origin = origin
    this.mayHaveArrived = mayHaveArrived
  }
}

/**
 * True for every error of an outgoing request. Checks the name, because another copy of the package may have created
 * it.
 */
export const isOutgoingHttpError = (error: unknown): error is OutgoingHttpError =>
  error instanceof Error && error.name === 'OutgoingHttpError' && 'mayHaveArrived' in error

/**
 * Sends all requests whose address a user can choose (reference "Security of outgoing webhooks", 6.1). Only public
 * addresses are reached unless the operator allows others. The socket connects to exactly the addresses that were
 * checked. Redirects are not followed. Proxies of the environment are not used.
 */
export interface OutgoingHttp {
  /** @throws OutgoingHttpError if no response arrived in time or the address is rejected */
  request(request: OutgoingRequest): Promise<OutgoingResponse>
  /**
   * Checks an address without a request: form, protocol, port and, for a literal IP address, the range.
   *
   * @throws OutgoingHttpError as `request` would
   */
  check(url: string | URL): void
  /**
   * Opens and closes a connection to the server of an address, with TLS for https. Proves that a request could be sent,
   * without sending one.
   *
   * @throws OutgoingHttpError as `request` would
   */
  reach(request: Pick<OutgoingRequest, 'url' | 'deadlineMs' | 'signal'>): Promise<void>
}

export const outgoingHttp = service<OutgoingHttp>('outgoing-http', { from: '@plinth/outgoing-http' })

/** Parses a response body as JSON. Returns `undefined` if it is not valid JSON. */
export function jsonOf(body: string): unknown {
  // Many services return an empty body; an exception for each would be slow.
  if (body === '') return undefined
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** Properties of a JSON object. */
export type Members = { readonly [name: string]: unknown }

/** Returns whether a value is an object and not an array. */
export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Returns the part of a JSON value at a path such as `error.message` or `items.0`, or `undefined` if it is not found.
 */
export function memberAt(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((part, name) => {
    return typeof part === 'object' && part !== null && Object.hasOwn(part, name) ? Reflect.get(part, name) : undefined
  }, value)
}
