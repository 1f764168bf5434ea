import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Content whose length and hash are known before it is sent. */
export interface SpooledContent {
  /** Size in bytes. */
  readonly size: number
  readonly sha256: string
  read(start: number, length: number): Promise<Uint8Array>
}

/**
 * Reads content to its end, and passes it to `use`. Content of more than `memoryBytes` is written to a temporary file of
 * this host, because the hash of an object is sent before its content. No other process can open the file: it is
 * deleted before it is written.
 *
 * @throws the error of the content
 */
export async function withSpooled<T>(
  content: AsyncIterable<Uint8Array>,
  memoryBytes: number,
  use: (spooled: SpooledContent) => Promise<T>,
): Promise<T> {
  const hash = createHash('sha256')
  const chunks: Uint8Array[] = []
  let size = 0
  let file: FileHandle | undefined
  try {
    for await (const chunk of content) {
      hash.update(chunk)
      size += chunk.byteLength
      chunks.push(chunk)
      if (file === undefined && size <= memoryBytes) continue
      file ??= await openTemporary()
      await writeAll(file, chunks.splice(0))
    }
    const sha256 = hash.digest('hex')
    const whole = file === undefined ? Buffer.concat(chunks) : undefined
    const read = async (start: number, length: number) =>
      whole?.subarray(start, start + length) ?? readAt(file, start, length)
    return await use({ size, sha256, read })
  } finally {
    await file?.close()
  }
}

async function openTemporary(): Promise<FileHandle> {
  const path = join(tmpdir(), `plinth-s3-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}

async function writeAll(file: FileHandle, chunks: readonly Uint8Array[]): Promise<void> {
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.byteLength; ) at += (await file.write(chunk, at)).bytesWritten
  }
}

async function readAt(file: FileHandle | undefined, start: number, length: number): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafe(length)
  for (let at = 0; at < length; ) {
    const { bytesRead = 0 } = (await file?.read(bytes, at, length - at, start + at)) ?? {}
    if (bytesRead === 0) throw new Error('The temporary file of an upload is shorter than what was written')
    at += bytesRead
  }
  return bytes
}
