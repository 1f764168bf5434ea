import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { type Clock, errorReason } from '@plinth/kernel'
import { isOutgoingHttpError, type OutgoingStream } from '@plinth/outgoing-http'
import {
  type ByteRange,
  type Disk,
  diskUnavailable,
  type FileStat,
  fileHeaders,
  fileReplaced,
  type OpenFile,
  pathProblem,
  type StoredFile,
} from '@plinth/storage'
import { BucketProbe, listUploads } from './bucket-probe.ts'
import { s3Error } from './declarations.ts'
import { isS3Status, type S3Client, sha256 } from './s3-client.ts'
import { withSpooled } from './spool.ts'
import { type Checksum, hashHeader, singleRequestBytes, uploadObject } from './upload.ts'
import type { XmlNode } from './xml.ts'

export interface S3DiskSettings {
  readonly visibility: Disk['visibility']
  /** Prefix of all object keys of the disk; empty or ends with `/`. */
  readonly prefix: string
  readonly checksum: Checksum
  /** Age in milliseconds after which the sweep removes an unfinished upload. */
  readonly unfinishedMs: number
  /** True if clients download private files from the server directly. */
  readonly presignsUrls: boolean
}

/** Maximum number of times that a read continues after its connection was lost. */
const maxContinuations = 8
/** Minimum time in milliseconds between two sweeps, because each lists all unfinished uploads. */
const sweepIntervalMs = 60 * 60_000

interface ObjectFacts extends FileStat {
  readonly key: string
  readonly etag: string | undefined
  /** SHA-256 hash of the content; undefined if another program stored the object. */
  readonly hash: string | undefined
}

/** Stores files as objects of a bucket. An object appears or is replaced when its upload is complete. */
export class S3Disk implements Disk {
  readonly visibility: Disk['visibility']
  readonly probe: BucketProbe
  readonly url?: NonNullable<Disk['url']>
  readonly #client: S3Client
  readonly #settings: S3DiskSettings
  readonly #clock: Clock
  #sweptAt = Number.NEGATIVE_INFINITY

  constructor(client: S3Client, settings: S3DiskSettings, clock: Clock) {
    this.visibility = settings.visibility
    this.#client = client
    this.#settings = settings
    this.#clock = clock
    if (settings.presignsUrls) this.url = (path, options) => this.#presign(path, options)
    this.probe = new BucketProbe(client, settings.prefix, clock)
  }

  async write(path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    await this.#upload(path, content, false)
  }

  async create(path: string, content: AsyncIterable<Uint8Array>): Promise<boolean> {
    // The server may ignore the condition of the upload.
    return (await this.stat(path)) === undefined && (await this.#upload(path, content, true))
  }

  async open(path: string): Promise<OpenFile | undefined> {
    const key = this.#keyOf(path)
    const response = await orMissing(this.#client.stream({ method: 'GET', key }))
    if (response === undefined) return undefined
    const facts = factsOf(path, key, response)
    const content = this.#contentOf(facts, { start: 0, end: facts.size - 1 }, response)
    content.once('close', () => response.content.destroy())
    return { path, size: facts.size, modifiedAt: facts.modifiedAt, content }
  }

  async hold(path: string): Promise<StoredFile | undefined> {
    const facts = await this.#factsOf(path)
    if (facts === undefined) return undefined
    const { size, modifiedAt, etag } = facts
    return {
      path,
      size,
      modifiedAt,
      version: versionOf(etag ?? `${size}-${modifiedAt.getTime()}`),
      read: (part) => (size === 0 ? Readable.from([]) : this.#contentOf(facts, part, undefined)),
      close: async () => {},
    }
  }

  async stat(path: string): Promise<FileStat | undefined> {
    const facts = await this.#factsOf(path)
    return facts && { path, size: facts.size, modifiedAt: facts.modifiedAt }
  }

  async delete(path: string): Promise<boolean> {
    // The server reports success for a missing object too.
    if ((await this.stat(path)) === undefined) return false
    await orMissing(this.#client.send({ method: 'DELETE', key: this.#keyOf(path) }))
    return true
  }

  async *list(directory: string): AsyncIterable<FileStat> {
    const { prefix } = this.#settings
    const below = directory === '' ? prefix : `${prefix}${directory}/`
    let token = ''
    do {
      const query = {
        'list-type': '2',
        'encoding-type': 'url',
        prefix: below,
        ...(token === '' ? {} : { 'continuation-token': token }),
      }
      const { xml } = await this.#client.send({ method: 'GET', query })
      const page = xml.child('ListBucketResult')
      if (!xml.has('ListBucketResult')) throw diskUnavailable('the S3 server did not send a list of objects')
      for (const object of page.all('Contents')) {
        const path = keyIn(page, object).slice(prefix.length)
        // Other programs may store objects whose keys are not paths of files.
        if (pathProblem(path) !== undefined) continue
        yield { path, size: Number(object.text('Size')), modifiedAt: new Date(object.text('LastModified')) }
      }
      const next = page.text('IsTruncated') === 'true' ? page.text('NextContinuationToken') : ''
      if (page.text('IsTruncated') === 'true' && (next === '' || next === token))
        throw diskUnavailable('the S3 server sent a list without its continuation')
      token = next
    } while (token !== '')
  }

  verify(signal: AbortSignal): Promise<void> {
    return this.probe.verify(signal)
  }

  async sweep(signal: AbortSignal): Promise<void> {
    if (this.#clock.monotonic() - this.#sweptAt < sweepIntervalMs) return
    const before = () => this.#client.serverNow - this.#settings.unfinishedMs
    for (const { key, uploadId, initiatedAt } of await unfinishedUploads(this.#client, this.#settings.prefix, signal)) {
      if (signal.aborted) return
      if (initiatedAt.getTime() >= before()) continue
      await orMissing(this.#client.send({ method: 'DELETE', key, query: { uploadId }, signal }))
    }
    this.#sweptAt = this.#clock.monotonic()
  }

  #upload(path: string, content: AsyncIterable<Uint8Array>, onlyNew: boolean): Promise<boolean> {
    const { checksum } = this.#settings
    const shown = fileHeaders(path, undefined)
    const headers = {
      'content-type': shown['content-type'] ?? '',
      'content-disposition': shown['content-disposition'] ?? '',
    }
    const key = this.#keyOf(path)
    return withSpooled(content, singleRequestBytes, (spooled) =>
      uploadObject(this.#client, { key, content: spooled, headers, checksum, onlyNew }),
    )
  }

  #presign(path: string, { expiresInMs, name }: { readonly expiresInMs: number; readonly name?: string }) {
    const headers = fileHeaders(path, name)
    const query = {
      'response-content-type': headers['content-type'] ?? '',
      'response-content-disposition': headers['content-disposition'] ?? '',
      'response-cache-control': 'private, no-store',
    }
    return this.#client.presign(this.#keyOf(path), query, expiresInMs)
  }

  async #factsOf(path: string): Promise<ObjectFacts | undefined> {
    const key = this.#keyOf(path)
    const response = await orMissing(this.#client.send({ method: 'HEAD', key }))
    return response && factsOf(path, key, response)
  }

  /**
   * Returns a part of an object. Continues after a lost connection. Checks the hash of a whole object before its last
   * bytes.
   *
   * @param response response whose content begins with the part; if absent, a request is sent
   */
  #contentOf(facts: ObjectFacts, part: ByteRange, response: OutgoingStream | undefined): Readable {
    return Readable.from(this.#bytesOf(facts, part, response), { objectMode: false })
  }

  async *#bytesOf(facts: ObjectFacts, { start, end }: ByteRange, first: OutgoingStream | undefined) {
    const { key, size, hash } = facts
    const whole = hash !== undefined && start === 0 && end === size - 1 ? createHash('sha256') : undefined
    const verify = () => {
      if (whole === undefined || whole.digest('hex') === hash) return
      throw s3Error('PLINTH_STORAGE_S3_DAMAGED', { bucket: this.#client.bucket, key })
    }
    let at = start
    let response = first
    for (let continuations = 0; ; continuations++) {
      response ??= await this.#rangeOf(facts, at, end)
      try {
        for await (const chunk of response.content as AsyncIterable<Buffer>) {
          const bytes = chunk.subarray(0, end + 1 - at)
          whole?.update(bytes)
          at += bytes.length
          if (at > end) verify()
          if (bytes.length > 0) yield bytes
          if (at > end) break
        }
        if (size === 0) verify()
        if (at > end) return
        if (continuations === maxContinuations) throw diskUnavailable('the S3 server sends incomplete objects')
      } catch (error) {
        if (!isOutgoingHttpError(error)) throw error
        if (continuations === maxContinuations || error.code === 'stopped')
          throw diskUnavailable(`the S3 server cannot be used. ${errorReason(error)}`, error)
      } finally {
        response.content.destroy()
      }
      response = undefined
    }
  }

  /** @throws the error of `fileReplaced` if the object has another content now */
  async #rangeOf({ key, etag }: ObjectFacts, start: number, end: number): Promise<OutgoingStream> {
    const condition = etag === undefined ? {} : { 'if-match': etag }
    const headers = { range: `bytes=${start}-${end}`, ...condition }
    const response = await this.#client.stream({ method: 'GET', key, headers }).catch((error: unknown) => {
      throw isS3Status(error, 404, 412, 416) ? fileReplaced() : error
    })
    const isExpected =
      response.status === 206 ? response.headers['content-range']?.startsWith(`bytes ${start}-`) === true : start === 0
    // A server may ignore the condition.
    const isSame = etag === undefined || response.headers['etag'] === etag
    if (isExpected && isSame) return response
    response.content.destroy()
    throw isSame ? diskUnavailable('the S3 server does not send parts of objects') : fileReplaced()
  }

  #keyOf(path: string): string {
    return this.#settings.prefix + path
  }
}

function factsOf(
  path: string,
  key: string,
  { headers, content }: Pick<OutgoingStream, 'headers'> & Partial<Pick<OutgoingStream, 'content'>>,
): ObjectFacts {
  const size = Number(headers['content-length'] ?? Number.NaN)
  const modifiedAt = new Date(headers['last-modified'] ?? '')
  if (!Number.isSafeInteger(size) || Number.isNaN(modifiedAt.getTime())) {
    content?.destroy()
    throw diskUnavailable('the S3 server sent an object without its size or time')
  }
  return { path, key, size, modifiedAt, etag: headers['etag'], hash: headers[hashHeader] }
}

/** Returns a version for `StoredFile`. The entity tag changes with the content, but is not always a hash. */
function versionOf(etag: string): string {
  const plain = etag.replace(/^"(.*)"$/, '$1')
  return /^[A-Za-z0-9._-]{1,128}$/.test(plain) ? plain : sha256(etag)
}

/** Returns undefined if the object or the upload does not exist. */
async function orMissing<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result
  } catch (error) {
    if (isS3Status(error, 404)) return undefined
    throw error
  }
}

/** Returns the key of a listed object. The server encodes keys, because XML cannot contain all characters. */
function keyIn(page: XmlNode, object: XmlNode): string {
  const key = object.text('Key')
  return page.text('EncodingType') === 'url' ? decodeURIComponent(key.replaceAll('+', ' ')) : key
}

interface UnfinishedUpload {
  readonly key: string
  readonly uploadId: string
  readonly initiatedAt: Date
}

/** Returns the unfinished multipart uploads below a prefix; an empty list if the server cannot list them. */
async function unfinishedUploads(client: S3Client, prefix: string, signal: AbortSignal): Promise<UnfinishedUpload[]> {
  const found: UnfinishedUpload[] = []
  let [key, uploadId] = ['', '']
  for (;;) {
    const marker = key === '' ? {} : { 'key-marker': key, 'upload-id-marker': uploadId }
    const page = await listUploads(client, { prefix, ...marker }, signal)
    if (page === undefined) return found
    for (const upload of page.all('Upload')) {
      // Some servers ignore the prefix.
      if (!upload.text('Key').startsWith(prefix)) continue
      const initiatedAt = new Date(upload.text('Initiated'))
      found.push({ key: upload.text('Key'), uploadId: upload.text('UploadId'), initiatedAt })
    }
    const next = [page.text('NextKeyMarker'), page.text('NextUploadIdMarker')] as const
    if (page.text('IsTruncated') !== 'true' || (next[0] === key && next[1] === uploadId)) return found
    ;[key, uploadId] = next
  }
}
