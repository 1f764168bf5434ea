import type { HttpRequest, HttpServer } from '@plinth/http'

interface InnerCall {
  /** Path with its query. */
  readonly url: string
  /** Body of a `POST`. Without it, the method is `GET`. */
  readonly payload?: object
}

/** Calls an operation with the credentials, address, language and idempotency key of the caller of a request. */
export function callAsCaller(http: Pick<HttpServer, 'inject'>, request: HttpRequest, { url, payload }: InnerCall) {
  // These headers describe the body of the request, or the response to it.
  const {
    'accept-encoding': _,
    'content-encoding': __,
    'content-length': ___,
    range: ____,
    ...headers
  } = request.headers
  const body = payload === undefined ? {} : { payload, headers: { ...headers, 'content-type': 'application/json' } }
  const method = payload === undefined ? 'GET' : 'POST'
  return http.inject({ method, url, headers, ...body, remoteAddress: request.peerIp })
}
