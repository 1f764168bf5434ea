import { createHash } from 'node:crypto'
import { type Clock, type Logger, omitUndefined, withinDeadline } from '@plinth/kernel'
import {
  isOutgoingHttpError,
  type OutgoingFailure,
  type OutgoingHttp,
  type OutgoingStream,
} from '@plinth/outgoing-http'
import { diskUnavailable } from '@plinth/storage'
import { AwsV4Signer } from 'aws4fetch'
import { s3Error } from './declarations.ts'
import { parseXml, type XmlNode } from './xml.ts'

export interface S3Settings {
  /** Origin of the server. */
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly pathStyle: boolean
  /** Time until the response begins, in milliseconds. */
  readonly timeoutMs: number
}

export interface S3ClientDependencies {
  readonly http: Pick<OutgoingHttp, 'stream'>
  readonly settings: S3Settings
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn'>
}

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** Object key; absent for requests to the bucket. */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  readonly signal?: AbortSignal | undefined
  /** Maximum number of attempts; default: 4. */
  readonly attempts?: number
}

export interface S3Response {
  readonly headers: Readonly<Record<string, string>>
  readonly xml: XmlNode
}

/** A response of the S3 server that reports an error. */
export class S3ResponseError extends Error {
  readonly status: number
  /** Error code of S3, such as `NoSuchKey`; the status if the response has no body. */
  readonly code: string
  readonly headers: Readonly<Record<string, string>>
  /** Region in the error document, or an empty string. */
  readonly region: string

  constructor({ status, headers }: Pick<OutgoingStream, 'status' | 'headers'>, error: XmlNode) {
    super(error.text('Message').slice(0, 200))
    this.status = status
    this.code = error.text('Code').slice(0, 64) || String(status)
    this.headers = headers
    this.region = headers['x-amz-bucket-region'] ?? error.text('Region').slice(0, 64)
  }
}

export const isS3Status = (error: unknown, ...statuses: readonly number[]): error is S3ResponseError =>
  error instanceof S3ResponseError && statuses.includes(error.status)

/** Maximum number of attempts of a request. All requests of this client may be repeated. */
const maxAttempts = 4
const firstPauseMs = 100
/** Uploads slower than this number of bytes per second end with a timeout. */
const minBytesPerSecond = 256 * 1024
/** Maximum length of an XML document in bytes. A list of 1,000 keys of 1 KiB with all characters escaped fits. */
const maxXmlBytes = 8 * 1024 * 1024
/** Maximum lifetime of a presigned URL in seconds (Signature Version 4). */
const maxExpirySeconds = 604_800
/** A smaller correction of the clock cannot be the reason for a rejected request. */
const minSkewMs = 60_000

/** Statuses and codes after which the same request may succeed. The digest codes report damage on the way. */
const transientStatuses = [408, 429, 500, 502, 503, 504]
const transientCodes = [
  'InternalError',
  'SlowDown',
  'ServiceUnavailable',
  'RequestTimeout',
  'OperationAborted',
  'ConditionalRequestConflict',
  'BadDigest',
  'IncompleteBody',
  'XAmzContentSHA256Mismatch',
]
/** Codes for parts that the server does not recognise. They are not an error of the configuration. */
const partCodes = ['InvalidPart', 'InvalidPartOrder', 'EntityTooSmall']
/** Statuses with a meaning for the callers of this client. */
const meaningfulStatuses = [304, 404, 405, 409, 412, 416, 501]
/** Failures of the outgoing client that a repetition does not change. */
const permanentFailures: readonly OutgoingFailure[] = [
  'url-refused',
  'port-refused',
  'address-refused',
  'request-refused',
  'host-undeclared',
  'tls-failed',
  'aborted',
  'stopped',
]
const addressFailures: readonly OutgoingFailure[] = ['url-refused', 'port-refused', 'address-refused']

const isTransient = (error: unknown) =>
  error instanceof S3ResponseError
    ? transientStatuses.includes(error.status) || transientCodes.includes(error.code)
    : isOutgoingHttpError(error) && !permanentFailures.includes(error.code)

export const sha256 = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex')
const emptyHash = sha256('')

/** Encodes a segment of a path or a query by RFC 3986, as the signature requires. */
const encoded = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

/**
 * Sends requests to a bucket. Signs them with aws4fetch, repeats them after transient errors, and corrects the clock
 * if the server rejects its time.
 */
export class S3Client {
  readonly #parts: S3ClientDependencies
  /** Signing keys by day, which aws4fetch fills. */
  readonly #signingKeys = new Map<string, ArrayBuffer>()
  /** Difference between the clock of the server and of this host in milliseconds, after the server rejected a time. */
  #correctionMs = 0
  /** The same difference, measured at the last response. */
  skewMs = 0

  constructor(parts: S3ClientDependencies) {
    this.#parts = parts
  }

  get bucket(): string {
    return this.#parts.settings.bucket
  }

  /** Time of the server in milliseconds. */
  get serverNow(): number {
    return this.#parts.clock.now() + this.skewMs
  }

  /**
   * Sends a request and reads the whole response.
   *
   * @throws S3ResponseError also for a response with status 200 that contains an error; errors of `stream`
   */
  send(request: S3Request): Promise<S3Response> {
    return this.#repeat(request, async () => {
      const response = await this.#sendOnce(request)
      const xml = await this.#readXml(request, response)
      if (response.status >= 300 || xml.has('Error')) throw new S3ResponseError(response, xml.child('Error'))
      return { headers: response.headers, xml }
    })
  }

  /**
   * Sends a request and returns the unread content of the response.
   *
   * @throws S3ResponseError for an error with a meaning for the caller: 304, 404, 405, 409, 412, 416 and 501
   * @throws PlinthError `PLINTH_STORAGE_S3_REJECTED`, `PLINTH_STORAGE_S3_REGION` or `PLINTH_STORAGE_S3_ADDRESS` if the
   *   configuration is wrong; the error of `diskUnavailable` for other problems
   */
  stream(request: S3Request): Promise<OutgoingStream> {
    return this.#repeat(request, async () => {
      const response = await this.#sendOnce(request)
      if (response.status < 300) return response
      throw new S3ResponseError(response, (await this.#readXml(request, response)).child('Error'))
    })
  }

  /** Returns a URL at which everyone gets the object until it expires. */
  async presign(key: string, query: Readonly<Record<string, string>>, expiresInMs: number): Promise<string> {
    const seconds = Math.min(maxExpirySeconds, Math.max(1, Math.round(expiresInMs / 1000)))
    const { url } = await this.#signer(
      { method: 'GET', key, query: { ...query, 'X-Amz-Expires': String(seconds) } },
      true,
    ).sign()
    // A space in the query is "+" in forms only. In the signature it is "%20".
    return `${url.origin}${url.pathname}${url.search.replaceAll('+', '%20')}`
  }

  async #repeat<T>({ method, signal, attempts = maxAttempts }: S3Request, work: () => Promise<T>): Promise<T> {
    const { clock } = this.#parts
    let mayCorrectClock = true
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted()
      try {
        return await work()
      } catch (error) {
        signal?.throwIfAborted()
        // Once, because the servers behind one address may have different clocks.
        if (mayCorrectClock && this.#correctClock(error)) {
          mayCorrectClock = false
          continue
        }
        if (attempt >= attempts || !isTransient(error)) throw this.#translated(method, error)
        // Half of the pause is random, so that instances do not repeat their requests at the same time.
        await clock.sleep(firstPauseMs * 2 ** attempt * (0.5 + Math.random() / 2), signal)
      }
    }
  }

  async #sendOnce(request: S3Request): Promise<OutgoingStream> {
    const { http, clock } = this.#parts
    const { method, body, signal } = request
    const { url, headers } = await this.#signer(request, false).sign()
    const deadlineMs = this.#deadlineMs(request)
    const sent = { url, method, headers: Object.fromEntries(headers), body, deadlineMs, signal }
    const response = await http.stream(omitUndefined(sent))
    const date = Date.parse(response.headers['date'] ?? '')
    if (!Number.isNaN(date)) this.skewMs = date - clock.now()
    return response
  }

  /** Reads a document within the deadline of its request, and closes the connection if it is incomplete. */
  async #readXml(request: S3Request, response: OutgoingStream): Promise<XmlNode> {
    const ms = this.#deadlineMs(request)
    const late = () => diskUnavailable(`the S3 server did not complete its response within ${ms} ms`)
    try {
      return await withinDeadline(this.#parts.clock, ms, () => readXml(response), late, request.signal)
    } finally {
      response.content.destroy()
    }
  }

  #deadlineMs({ body }: S3Request): number {
    return this.#parts.settings.timeoutMs + Math.ceil((body?.byteLength ?? 0) / minBytesPerSecond) * 1000
  }

  #signer({ method, key, query = {}, headers = {}, body }: S3Request, signQuery: boolean): AwsV4Signer {
    const { accessKeyId, secretAccessKey, region } = this.#parts.settings
    const time = new Date(this.#parts.clock.now() + this.#correctionMs).toISOString()
    return new AwsV4Signer({
      method,
      url: this.#urlOf(key, query),
      headers: signQuery ? {} : { 'x-amz-content-sha256': body === undefined ? emptyHash : sha256(body), ...headers },
      service: 's3',
      datetime: time.replace(/[:-]|\.\d{3}/g, ''),
      cache: this.#signingKeys,
      accessKeyId,
      secretAccessKey,
      region,
      signQuery,
    })
  }

  #urlOf(key: string | undefined, query: Readonly<Record<string, string>>): string {
    const { endpoint, bucket, pathStyle } = this.#parts.settings
    const { protocol, host } = new URL(endpoint)
    const path = key === undefined ? '' : key.split('/').map(encoded).join('/')
    const place = pathStyle ? `${host}/${bucket}${key === undefined ? '' : '/'}` : `${bucket}.${host}/`
    const search = Object.entries(query).map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    return `${protocol}//${place}${path}${search.length === 0 ? '' : `?${search.join('&')}`}`
  }

  /** Returns true if the server rejected the time and the clock was corrected, so that the request can be repeated. */
  #correctClock(error: unknown): boolean {
    if (!(error instanceof S3ResponseError) || error.code !== 'RequestTimeTooSkewed') return false
    if (Math.abs(this.skewMs - this.#correctionMs) < minSkewMs) return false
    this.#correctionMs = this.skewMs
    this.#parts.log.warn(
      { skewSeconds: Math.round(this.skewMs / 1000) },
      'the S3 server rejected the time of this host; requests use the time of the server. Correct the clock',
    )
    return true
  }

  #translated(method: string, error: unknown): unknown {
    const { bucket, region } = this.#parts.settings
    if (error instanceof S3ResponseError) {
      if (meaningfulStatuses.includes(error.status) && error.code !== 'NoSuchBucket') return error
      if (isTransient(error) || partCodes.includes(error.code))
        return diskUnavailable(`the S3 server answered ${error.status} ${error.code}`, error)
      if (error.region !== '' && error.region !== region)
        return s3Error('PLINTH_STORAGE_S3_REGION', { bucket, actual: error.region, region }, error)
      const { status, code, message } = error
      return s3Error('PLINTH_STORAGE_S3_REJECTED', { method, bucket, status, code, message }, error)
    }
    if (!isOutgoingHttpError(error)) return error
    const reason = error.message
    return addressFailures.includes(error.code)
      ? s3Error('PLINTH_STORAGE_S3_ADDRESS', { reason }, error)
      : diskUnavailable(`the S3 server cannot be used. ${reason}`, error)
  }
}

async function readXml({ content }: OutgoingStream): Promise<XmlNode> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of content) {
    size += chunk.length
    if (size > maxXmlBytes) throw diskUnavailable(`the S3 server sent a document of more than ${maxXmlBytes} bytes`)
    chunks.push(chunk)
  }
  return parseXml(Buffer.concat(chunks).toString())
}
