import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Type } from '@plinth/config-schema/typebox'
import { type BusinessError, errorCodeOf, isBusinessError } from '@plinth/kernel'
import { isUnavailable } from '@plinth/kernel/host'
import type { TSchema } from 'typebox'
import { InvalidInput } from './schemas/input-validation.ts'
import { STATUS_CODES } from './server/door-server.ts'
import { englishText, type Translate } from './texts.ts'

declare module 'node:net' {
  interface Socket {
    /** Internal member of Node.js that its types omit: the response that is being sent. */
    readonly _httpMessage?: ServerResponse | null
  }
}

export const successCode = '200'
const successMessage = 'success'

export const envelopeType = 'application/json; charset=utf-8'

/** Prevents browsers from interpreting the data as a page. */
export const noSniff = { name: 'x-content-type-options', value: 'nosniff' } as const

/** Returns the envelope of a success. Undefined `data` becomes null. */
export function successEnvelope(data: unknown): Record<string, unknown> {
  return { code: successCode, message: successMessage, data: data === undefined ? null : data }
}

/** Returns the schema of a success. Code and message are constants, so the serializer does not read them. */
export function successSchema(data: TSchema): TSchema {
  return Type.Object({ code: Type.Literal(successCode), message: Type.Literal(successMessage), data })
}

/** Codes of transport errors and of unexpected errors. */
const transportCodes = ['400', '404', '405', '408', '413', '414', '415', '417', '431', '500', '501', '503']

/**
 * Returns the schema of a failure for the API description. `code` cannot be "200", so clients can distinguish failures
 * from successes.
 *
 * @param codes codes of business errors; may contain duplicates
 * @param reasons values of `data.reason`; `undefined` if they are not known in advance
 */
export function failureSchema(codes: readonly string[], reasons: readonly string[] | undefined): TSchema {
  const description = { description: 'Stable code of the exact reason, in dotted form.' }
  const known = [...new Set(codes)].sort()
  return Type.Object(
    {
      code: Type.Unsafe({ type: 'string', enum: known, description: 'Result code; never "200".' }),
      message: Type.String({ description: 'Text for users, in the language of the request.' }),
      data: Type.Union([
        Type.Object(
          {
            reason: Type.Optional(
              reasons === undefined
                ? Type.String(description)
                : Type.Unsafe({ type: 'string', enum: [...reasons], ...description }),
            ),
            field: Type.Optional(Type.String({ description: 'Affected member of the request.' })),
            errors: Type.Optional(
              Type.Array(Type.Object({ field: Type.String(), rule: Type.String(), message: Type.String() }), {
                description: 'All violated rules of the input.',
              }),
            ),
          },
          { additionalProperties: true },
        ),
        Type.Null(),
      ]),
    },
    { description: 'Envelope of an error. Business errors have HTTP status 200.' },
  )
}

/** Returns the schema of a failure that any request can receive. */
export const anyFailureSchema = (codes: readonly string[]): TSchema =>
  failureSchema([...transportCodes, ...codes], undefined)

/** Returns a failure envelope as JSON. `data` becomes null if it cannot be converted. */
export function failureText(code: string, message: string, data: object | null): string {
  try {
    return JSON.stringify({ code, message, data })
  } catch {
    return JSON.stringify({ code, message, data: null })
  }
}

export function bareResponse({ status, code, message, data }: Failure) {
  // Node.js sends text together with the headers in one system call. Bytes would need a second call.
  const body = failureText(code, message, data)
  const length = Buffer.byteLength(body)
  const headers = { [noSniff.name]: noSniff.value, 'content-type': envelopeType, 'content-length': length }
  return { status, headers, body }
}

/** Returns a response that also closes the connection, because the server cannot find the start of the next request. */
function closingResponse(failure: Failure) {
  const { status, headers, body } = bareResponse(failure)
  return { status, headers: { ...headers, connection: 'close' }, body }
}

export function sendBareFailure(response: ServerResponse, failure: Failure): void {
  const { status, headers, body } = closingResponse(failure)
  response.writeHead(status, headers).end(body)
}

/** Responds to a request that Node.js could not parse. If a response is already being sent, destroys the connection. */
export function sendFailureToSocket(socket: Socket, failure: Failure): void {
  // This internal member contains the response that is being sent. Node.js itself checks it before it responds to a
  // parse error.
  const { _httpMessage: current } = socket
  if (current?.headersSent) {
    socket.destroy()
    return
  }
  const { status, headers, body } = closingResponse(failure)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
}

export interface Failure {
  /** HTTP status: 200 for business errors and unexpected errors. Transport errors have the values of decision B2. */
  readonly status: number
  readonly code: string
  readonly kind: 'business' | 'transport' | 'unexpected'
  readonly message: string
  readonly data: object | null
  readonly headers?: Readonly<Record<string, string>>
}

/** HTTP status and reason of each transport error, by the error code of Fastify, Node.js or `TransportError`. */
const transportErrors: Readonly<Record<string, readonly [status: number, reason: string]>> = {
  FST_ERR_NOT_FOUND: [404, 'http.route-unknown'],
  FST_ERR_BAD_URL: [400, 'http.url-malformed'],
  FST_ERR_MAX_PARAM_LENGTH: [414, 'http.url-malformed'],
  FST_ERR_CTP_INVALID_JSON_BODY: [400, 'http.body-malformed'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [400, 'http.body-malformed'],
  FST_ERR_CTP_BODY_TOO_LARGE: [413, 'http.body-too-large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [415, 'http.media-type-unsupported'],
  FST_ERR_CTP_EMPTY_TYPE: [415, 'http.media-type-unsupported'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'http.request-timeout'],
  HPE_HEADER_OVERFLOW: [431, 'http.headers-too-large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'http.body-too-large'],
  FST_STATIC_FORBIDDEN_PATH: [404, 'http.route-unknown'],
  hostAmbiguous: [400, 'http.host-ambiguous'],
  notUtf8: [400, 'http.body-malformed'],
  methodNotAllowed: [405, 'http.method-not-allowed'],
  contentEncoding: [415, 'http.content-encoding-unsupported'],
  charset: [415, 'http.charset-unsupported'],
  transferEncoding: [501, 'http.transfer-encoding-unsupported'],
  transferEncodingVersion: [400, 'http.transfer-encoding-unsupported'],
  expectation: [417, 'http.expectation-unsupported'],
  overloaded: [503, 'http.overloaded'],
}

/** Additional headers of transport errors, by error code (RFC 9110, section 15.5.16). */
const transportHeaders: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  contentEncoding: { 'accept-encoding': 'identity' },
  // A proxy could find another end of this body than the server, so the connection is closed (RFC 9112, section 6.1).
  transferEncoding: { connection: 'close' },
  transferEncodingVersion: { connection: 'close' },
}

/** Error for a request that Fastify and Node.js would accept, but that this server rejects. */
export class TransportError extends Error {
  override readonly name = 'TransportError'
  readonly code:
    | 'hostAmbiguous'
    | 'notUtf8'
    | 'contentEncoding'
    | 'charset'
    | 'transferEncoding'
    | 'transferEncodingVersion'

  constructor(code: TransportError['code']) {
    super(`Transport fault: ${code}`)
    this.code = code
  }
}

/** @param rejectedStatus HTTP status for a code that is not in `transportErrors` */
export function transportFailure(code: string, translate: Translate, locale: string, rejectedStatus?: number): Failure {
  const unlisted = rejectedStatus === undefined ? 'http.request-malformed' : 'http.request-rejected'
  const [status, reason] = transportErrors[code] ?? [rejectedStatus ?? 400, unlisted]
  const key = `messages.${reason}`
  const message = translate(locale, key, {}, englishText(key))
  const headers = transportHeaders[code] ?? {}
  return { status, code: String(status), kind: 'transport', message, data: { reason }, headers }
}

/** Value of the header `Retry-After` for temporary errors. */
const retryAfterSeconds = 5

function unavailableFailure(translate: Translate, locale: string): Failure {
  const key = 'messages.http.unavailable'
  const message = translate(locale, key, {}, englishText(key))
  const headers = { 'retry-after': String(retryAfterSeconds) }
  return { status: 503, code: '503', kind: 'transport', message, data: { reason: 'http.unavailable' }, headers }
}

/**
 * Returns the failure for any thrown value. Only business errors, invalid input, transport errors and `unavailable`
 * errors (503) keep their details. Any other error becomes "500" without details, because its text may contain SQL,
 * paths or secrets. Never throws.
 */
export function failureOf(error: unknown, translate: Translate, locale: string): Failure {
  try {
    // A failure with the code "200" would look like a success.
    if (isBusinessError(error) && error.code !== successCode) return businessFailure(error, translate, locale)
    if (error instanceof InvalidInput) return inputFailure(error, translate, locale)
    if (error instanceof TransportError) return transportFailure(error.code, translate, locale)
    if (isUnavailable(error)) return unavailableFailure(translate, locale)
    const code = errorCodeOf(error)
    // Only error codes of Fastify are considered, because a handler may throw `ERR_HTTP_REQUEST_TIMEOUT` if another
    // server did not respond.
    if (error instanceof Error && code?.startsWith('FST_')) {
      if (Object.hasOwn(transportErrors, code)) return transportFailure(code, translate, locale)
      const statusCode = 'statusCode' in error ? Number(error.statusCode) : 500
      if (statusCode >= 400 && statusCode < 500) return transportFailure(code, translate, locale, statusCode)
    }
  } catch {
    // Reading a property of the error threw, so the error is reported as unexpected.
  }
  const key = 'messages.http.internal-error'
  return {
    status: 200,
    code: '500',
    kind: 'unexpected',
    message: translate(locale, key, {}, englishText(key)),
    data: null,
  }
}

/**
 * Returns the failure for a business error. `data.retryAfter` (seconds) is also sent as a header, where clients and
 * proxies read it (RFC 9110, section 10.2.3). `data.maxAgeSeconds` of a "401" is also sent as the challenge of RFC 9470,
 * section 3: the caller is known, but must prove the identity again.
 */
function businessFailure(
  { code, message, messageKey, params, reason, data }: BusinessError,
  translate: Translate,
  locale: string,
) {
  const hasData = reason !== undefined || data !== undefined
  const seconds = data?.['retryAfter']
  const maxAge = code === '401' ? data?.['maxAgeSeconds'] : undefined
  return {
    ...(typeof seconds === 'number' && { headers: { 'retry-after': String(seconds) } }),
    ...(typeof maxAge === 'number' && { headers: { 'www-authenticate': staleProofChallenge(maxAge) } }),
    status: 200,
    code,
    kind: 'business',
    message: translate(locale, messageKey, params, message),
    data: hasData ? { ...data, ...(reason === undefined ? {} : { reason }) } : null,
  } as const
}

const staleProofChallenge = (maxAgeSeconds: number) =>
  `Bearer error="insufficient_user_authentication", max_age="${maxAgeSeconds}"`

function inputFailure({ faults }: InvalidInput, translate: Translate, locale: string): Failure {
  const errors = faults.map(({ field, rule, text = rule, params }) => {
    const own = `messages.http.rule.${text}`
    const key = englishText(own) === '' ? 'messages.http.rule.other' : own
    return { field, rule, message: translate(locale, key, params, englishText(key, params)) }
  })
  const key = 'messages.http.invalid-input'
  const params = { faults: errors.map(({ message }) => message).join('; ') }
  const message = translate(locale, key, params, englishText(key, params))
  return { status: 200, code: '400', kind: 'business', message, data: { reason: 'http.invalid-input', errors } }
}
