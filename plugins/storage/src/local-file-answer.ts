import { createReadStream } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { basename, dirname } from 'node:path'
import { Readable } from 'node:stream'
import send from '@fastify/send'
import { openRegular } from './regular-file.ts'

export interface LocalFileAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly content: Readable
}

/** Times that a file may be replaced between the look at it and its opening. */
const attempts = 5

/**
 * How a request for a file of this machine is answered: parts of it, `304`, `412`, `416` and `HEAD` included. `undefined` where
 * there is no file. What is answered is one file from end to end, also when another takes its place meanwhile.
 *
 * @param file absolute path without symbolic links
 */
export async function answerLocalFile(request: IncomingMessage, file: string): Promise<LocalFileAnswer | undefined> {
  for (let left = attempts; left > 0; left--) {
    // As for HEAD: the library says what to answer, and we open the file ourselves.
    const asked = { headers: request.headers, method: 'HEAD' } as IncomingMessage
    const answer = await send(asked, `/${encodeURIComponent(basename(file))}`, {
      root: dirname(file),
      index: false,
      dotfiles: 'allow',
      cacheControl: false,
      contentType: false,
    })
    answer.stream.destroy()
    const { statusCode: status } = answer
    const headers = answer.headers as Record<string, string>
    if (answer.type !== 'file') {
      // What the caller asked of the file does not hold: 412, or 416 with the size that it has.
      if (status !== 412 && status !== 416) return undefined
      const range = headers['Content-Range']
      return { status, headers: range === undefined ? {} : { 'content-range': range }, content: Readable.from([]) }
    }
    const { stat: seen } = answer.metadata
    if (!seen.isFile()) return undefined
    if (status === 304 || request.method === 'HEAD') return { status, headers, content: Readable.from([]) }
    const handle = await openRegular(file)
    if (handle === undefined) return undefined
    const opened = await handle.stat()
    if (opened.ino !== seen.ino || opened.size !== seen.size || opened.mtimeMs !== seen.mtimeMs) {
      await handle.close()
      continue
    }
    const [, start, end] = /^bytes (\d+)-(\d+)\//.exec(headers['Content-Range'] ?? '') ?? []
    const part = start === undefined ? {} : { start: Number(start), end: Number(end) }
    return { status, headers, content: createReadStream('', { fd: handle, ...part }) }
  }
  throw new Error('The file changes faster than it can be opened')
}
