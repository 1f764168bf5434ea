import type { Readable } from 'node:stream'
import { service } from '@plinth/kernel'

export interface OutgoingRequest {
  /** Absolute `https:` address without user name and password. `http:` only if the operator allows it. */
  readonly url: string | URL
  /** HTTP method; default: `POST`. */
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Names in any case. `accept-encoding` is always `identity`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Time limit in milliseconds for the whole request. Default: `platform.outgoing-http.deadline`. */
  readonly deadlineMs?: number
  /** Cancels the request and destroys the socket when it aborts. */
  readonly signal?: AbortSignal
  /** Maximum number of bytes of the body. Default: `platform.outgoing-http.max-response-size`. */
  readonly maxResponseBytes?: number
  /**
   * True to send `traceparent` (W3C Trace Context) of the current trace, which lets the receiver recognise requests of
   * one trace. Default: only to the hosts of `platform.opentelemetry.shown-to`.
   */
  readonly showsTrace?: boolean
}

/** The response with any status. Redirects are returned and not followed. */
export interface OutgoingResponse {
  readonly status: number
  /** Names in lower case. Repeated headers are joined by commas. */
  readonly headers: Readonly<Record<string, string>>
  /** Body, decoded as UTF-8. */
  readonly body: string
  /** True if the body was longer than the maximum. `body` is its beginning. */
  readonly truncated: boolean
}

/** The response of `stream` with any status. Redirects are returned and not followed. */
export interface OutgoingStream extends Pick<OutgoingResponse, 'status' | 'headers'> {
  /** The bytes of the body. Must be read to its end or destroyed. Its errors are `OutgoingHttpError`. */
  readonly content: Readable
}

/** Stable reason of a request without a response. Also a label of the metrics. */
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
 * A request failed without a response. Only contains the origin of the address, and no headers, bodies or cause,
 * because these may contain secrets.
 */
export class OutgoingHttpError extends Error {
  override readonly name = 'OutgoingHttpError'
  readonly code: OutgoingFailure
  /** Origin as `https://host:port`; absent if the address is not a URL. */
  readonly origin: string | undefined
  /**
   * False if nothing was sent, so that a retry is safe. True if the server may have executed the request, so that only
   * idempotent requests may be retried.
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
 * True for every error of an outgoing request. Checks the name, because the class may come from another copy of the
 * package.
 */
export const isOutgoingHttpError = (error: unknown): error is OutgoingHttpError =>
  error instanceof Error && error.name === 'OutgoingHttpError' && 'mayHaveArrived' in error

/**
 * Sends all requests whose address a user can choose. Only connects to public addresses, unless the operator allows
 * others. The socket connects to exactly the addresses that were checked. Does not follow redirects and does not use
 * proxies of the environment.
 */
export interface OutgoingHttp {
  /** @throws OutgoingHttpError if the address is not allowed or no response arrived in time */
  request(request: OutgoingRequest): Promise<OutgoingResponse>
  /**
   * Sends a request and returns when the headers of the response have arrived. The body is not limited in size. It is
   * read as fast as the caller reads it.
   *
   * `deadlineMs` is the time until the headers. `platform.outgoing-http.body-timeout` limits each pause of the body.
   * The signal also cancels the body.
   *
   * @throws OutgoingHttpError the errors of `request`
   */
  stream(request: Omit<OutgoingRequest, 'maxResponseBytes'>): Promise<OutgoingStream>
  /**
   * Checks an address without a DNS lookup and without a request: form, protocol, port and, for an IP address, its
   * range.
   *
   * @throws OutgoingHttpError the errors of `request`
   */
  check(url: string | URL): void
  /**
   * Connects to the server of an address, with TLS for https, and closes the connection, without sending a request.
   *
   * @throws OutgoingHttpError the errors of `request`
   */
  reach(request: Pick<OutgoingRequest, 'url' | 'deadlineMs' | 'signal'>): Promise<void>
}

export const outgoingHttp = service<OutgoingHttp>('outgoing-http', { from: '@plinth/outgoing-http' })

/** Parses a response body as JSON. Returns `undefined` if it is not valid JSON. */
export function parseJsonOrUndefined(body: string): unknown {
  // Many services return an empty body, and an exception for each would be slow.
  if (body === '') return undefined
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** Properties of a JSON object. */
export type JsonObject = { readonly [name: string]: unknown }

/** Returns true for an object that is not an array. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the value at a path such as `error.message` or `items.0`, or `undefined`. */
export function valueAtPath(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((part, name) => {
    return typeof part === 'object' && part !== null && Object.hasOwn(part, name) ? Reflect.get(part, name) : undefined
  }, value)
}
