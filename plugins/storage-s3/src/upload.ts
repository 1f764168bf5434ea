import { createHash, randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { diskUnavailable } from '@plinth/storage'
import { isS3Status, type S3Client, S3ResponseError } from './s3-client.ts'
import type { SpooledContent } from './spool.ts'
import { escapeXml } from './xml.ts'

export type Checksum = 'none' | 'crc32' | 'sha256'

/** Header of an object with the SHA-256 hash of its content, in hexadecimal form. */
export const hashHeader = 'x-amz-meta-sha256'
/** Header of an object with a random id of its upload. It shows whether an upload without a response succeeded. */
const uploadHeader = 'x-amz-meta-upload'

const mebibyte = 1024 * 1024
/** Content up to this size is sent in one request, and is in memory meanwhile. */
export const singleRequestBytes = 8 * mebibyte
const maxParts = 10_000
/** Maximum number of parts of one file that are sent at the same time. Each part is in memory. */
const maxConcurrentParts = 3

/** Returns the size of a part, in whole MiB, so that at most 10,000 parts are needed. All parts but the last are equal. */
export function partBytesOf(size: number): number {
  return Math.max(singleRequestBytes, Math.ceil(size / maxParts / mebibyte) * mebibyte)
}

const checksums = {
  none: () => undefined,
  crc32: (body: Uint8Array) => {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(crc32(body))
    return bytes.toString('base64')
  },
  sha256: (body: Uint8Array) => createHash('sha256').update(body).digest('base64'),
} satisfies Record<Checksum, (body: Uint8Array) => string | undefined>

export interface ObjectToUpload {
  readonly key: string
  readonly content: SpooledContent
  /** Headers that the server stores with the object. */
  readonly headers: Readonly<Record<string, string>>
  readonly checksum: Checksum
  /** True if an existing object must not be replaced. */
  readonly onlyNew: boolean
}

/**
 * Uploads an object completely or not at all.
 *
 * @returns false if `onlyNew` is set and the object exists
 */
export async function uploadObject(client: S3Client, object: ObjectToUpload): Promise<boolean> {
  const { key, content, onlyNew } = object
  const upload = randomUUID()
  const headers = { ...object.headers, [hashHeader]: content.sha256, [uploadHeader]: upload }
  const send = content.size <= singleRequestBytes ? putObject : uploadParts
  try {
    await send(client, { ...object, headers })
    return true
  } catch (error) {
    // The response to an earlier attempt may have been lost. Then the object is the one of this call.
    const mayBeStored = (onlyNew && isS3Status(error, 412)) || isUploadGone(error)
    if (mayBeStored && (await uploadOf(client, key)) === upload) return true
    if (onlyNew && isS3Status(error, 412)) return false
    // The server does not implement the condition.
    if (onlyNew && isS3Status(error, 501)) return uploadObject(client, { ...object, onlyNew: false })
    throw error instanceof S3ResponseError
      ? diskUnavailable(`the S3 server answered ${error.status} ${error.code}`, error)
      : error
  }
}

const isUploadGone = (error: unknown) => error instanceof S3ResponseError && error.code === 'NoSuchUpload'

const conditionOf = (onlyNew: boolean): Readonly<Record<string, string>> => (onlyNew ? { 'if-none-match': '*' } : {})

/** Returns the header with the checksum of a body, if one is configured. */
function checksumHeader(checksum: Checksum, body: Uint8Array): Readonly<Record<string, string>> {
  const value = checksums[checksum](body)
  return value === undefined ? {} : { [`x-amz-checksum-${checksum}`]: value }
}

async function putObject(
  client: S3Client,
  { key, content, headers, checksum, onlyNew }: ObjectToUpload,
): Promise<void> {
  const body = await content.read(0, content.size)
  const own = { ...checksumHeader(checksum, body), ...conditionOf(onlyNew) }
  await client.send({ method: 'PUT', key, headers: { ...headers, ...own }, body })
}

async function uploadParts(
  client: S3Client,
  { key, content, headers, checksum, onlyNew }: ObjectToUpload,
): Promise<void> {
  const declared = checksum === 'none' ? {} : { 'x-amz-checksum-algorithm': checksum.toUpperCase() }
  const begun = await client.send({
    method: 'POST',
    key,
    query: { uploads: '' },
    headers: { ...headers, ...declared },
  })
  const uploadId = begun.xml.child('InitiateMultipartUploadResult').text('UploadId')
  if (uploadId === '') throw diskUnavailable('the S3 server did not begin a multipart upload')
  const partBytes = partBytesOf(content.size)
  const parts: string[] = new Array(Math.ceil(content.size / partBytes))
  let next = 0
  let isCancelled = false
  const sendParts = async () => {
    while (next < parts.length && !isCancelled) {
      const index = next++
      const start = index * partBytes
      const body = await content.read(start, Math.min(partBytes, content.size - start))
      const query = { partNumber: String(index + 1), uploadId }
      const sent = await client.send({ method: 'PUT', key, query, headers: checksumHeader(checksum, body), body })
      parts[index] = partXml(index + 1, sent.headers['etag'], checksum, body)
    }
  }
  const senders = Array.from({ length: maxConcurrentParts }, sendParts)
  try {
    await Promise.all(senders)
    const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`)
    const types = { 'content-type': 'application/xml', ...conditionOf(onlyNew) }
    const ended = await client.send({ method: 'POST', key, query: { uploadId }, headers: types, body })
    if (!ended.xml.has('CompleteMultipartUploadResult'))
      throw diskUnavailable('the S3 server did not confirm the end of a multipart upload')
  } catch (error) {
    isCancelled = true
    // A server may store a part that arrives after the upload was aborted, and no list contains it then.
    await Promise.allSettled(senders)
    // If this fails too, the sweep removes the upload.
    await client.send({ method: 'DELETE', key, query: { uploadId } }).catch(() => undefined)
    throw error
  }
}

/** @throws the error of `diskUnavailable` if the server returned no entity tag */
function partXml(number: number, etag: string | undefined, checksum: Checksum, body: Uint8Array): string {
  if (etag === undefined) throw diskUnavailable('the S3 server returned no ETag for a part')
  const value = checksums[checksum](body)
  const name = `Checksum${checksum.toUpperCase()}`
  const stored = value === undefined ? '' : `<${name}>${value}</${name}>`
  return `<Part><PartNumber>${number}</PartNumber><ETag>${escapeXml(etag)}</ETag>${stored}</Part>`
}

/** Returns the id of the upload that stored an object, or undefined. */
async function uploadOf(client: S3Client, key: string): Promise<string | undefined> {
  const { headers } = await client.send({ method: 'HEAD', key }).catch((error: unknown) => {
    if (isS3Status(error, 404)) return { headers: {} as Readonly<Record<string, string>> }
    throw error
  })
  return headers[uploadHeader]
}
