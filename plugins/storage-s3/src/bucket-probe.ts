import { randomUUID } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { type Clock, isPlinthError } from '@plinth/kernel'
import { diskUnavailable } from '@plinth/storage'
import { isS3Status, type S3Client, type S3Request, S3ResponseError, sha256 } from './s3-client.ts'
import { hashHeader } from './upload.ts'
import type { XmlNode } from './xml.ts'

/** Time in milliseconds for which a successful test write is valid. */
const provenMs = 60_000
/** S3 servers reject requests whose time differs by more than 15 minutes. */
const maxSkewMs = 5 * 60_000
/** Object keys below this name are not paths of files, because a path segment cannot begin with a dot. */
const probeDirectory = '.plinth-probe'

/**
 * Returns a page of the unfinished multipart uploads.
 *
 * @returns undefined if the server does not support this operation
 */
export async function listUploads(
  client: S3Client,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<XmlNode | undefined> {
  try {
    const { xml } = await client.send({ method: 'GET', query: { uploads: '', ...query }, signal })
    return xml.has('ListMultipartUploadsResult') ? xml.child('ListMultipartUploadsResult') : undefined
  } catch (error) {
    if (isS3Status(error, 404, 405, 501)) return undefined
    throw error
  }
}

/** Properties of the server that decide how well it protects files. Each is true if the server has it. */
interface Abilities {
  readonly writesConditionally: boolean
  readonly readsConditionally: boolean
  readonly verifiesHashes: boolean
  readonly storesHashes: boolean
  readonly listsUploads: boolean
}

const warningTexts: Readonly<Record<keyof Abilities, string>> = {
  writesConditionally:
    'the server ignores If-None-Match, so a file that another program stores at the same time can be overwritten while files are moved',
  readsConditionally: 'the server ignores If-Match, so the product compares the entity tag of each part that it reads',
  verifiesHashes:
    'the server does not verify x-amz-content-sha256, so damage during an upload is found when the file is read',
  storesHashes: 'the server does not store x-amz-meta-sha256, so the product cannot verify the files that it reads',
  listsUploads:
    'the server does not list unfinished uploads; configure a lifecycle rule of the bucket that removes them',
}

/** Checks whether files can be written to a bucket and read from it. */
export class BucketProbe {
  readonly #client: S3Client
  readonly #directory: string
  readonly #clock: Clock
  #proving: Promise<void> | undefined
  /** Monotonic time of the last successful test write. */
  #provedAt = Number.NEGATIVE_INFINITY
  #abilities: Abilities | undefined

  constructor(client: S3Client, prefix: string, clock: Clock) {
    this.#client = client
    this.#directory = `${prefix}${probeDirectory}`
    this.#clock = clock
  }

  /** Warnings after the first successful check. */
  get warnings(): readonly string[] {
    const abilities = Object.entries(this.#abilities ?? {}) as [keyof Abilities, boolean][]
    const { skewMs } = this.#client
    return [
      ...abilities.filter(([, isPresent]) => !isPresent).map(([name]) => warningTexts[name]),
      ...(Math.abs(skewMs) > maxSkewMs
        ? [`the clocks of this host and of the S3 server differ by ${Math.round(Math.abs(skewMs) / 60_000)} minutes`]
        : []),
    ]
  }

  /** Writes, reads and deletes an object, at most once a minute. Checks the abilities of the server once. */
  verify(signal: AbortSignal): Promise<void> {
    if (this.#clock.monotonic() - this.#provedAt < provenMs) return Promise.resolve()
    this.#proving ??= this.#verify(signal).finally(() => {
      this.#proving = undefined
    })
    return this.#proving
  }

  async #verify(signal: AbortSignal): Promise<void> {
    const key = `${this.#directory}/${randomUUID()}`
    const body = Buffer.from(randomUUID())
    await this.#client.send({ method: 'PUT', key, headers: { [hashHeader]: sha256(body) }, body, signal })
    try {
      const { content, headers } = await this.#client.stream({ method: 'GET', key, signal })
      if (!(await buffer(content)).equals(body)) throw diskUnavailable('the S3 server returns what was not written')
      this.#abilities ??= await this.#test(key, headers[hashHeader] === sha256(body), signal)
    } finally {
      await this.#client.send({ method: 'DELETE', key, signal })
    }
    this.#provedAt = this.#clock.monotonic()
  }

  async #test(key: string, storesHashes: boolean, signal: AbortSignal): Promise<Abilities> {
    const body = Buffer.from('other content')
    const put = (headers: Readonly<Record<string, string>>) =>
      this.#isRejected({ method: 'PUT', key, headers, body, signal })
    return {
      storesHashes,
      readsConditionally: await this.#isRejected({ method: 'GET', key, headers: { 'if-match': '"none"' }, signal }),
      listsUploads: (await listUploads(this.#client, { prefix: this.#directory }, signal)) !== undefined,
      verifiesHashes: await put({ 'x-amz-content-sha256': sha256('changed content') }),
      writesConditionally: await put({ 'if-none-match': '*' }),
    }
  }

  async #isRejected(request: S3Request): Promise<boolean> {
    try {
      await this.#client.send({ ...request, attempts: 1 })
      return false
    } catch (error) {
      // Other errors, for example of the connection, say nothing about the ability.
      const response = isPlinthError(error) || error instanceof Error ? (error.cause ?? error) : error
      if (isS3Status(response, 501)) return false
      if (response instanceof S3ResponseError && response.status < 500) return true
      throw error
    }
  }
}
