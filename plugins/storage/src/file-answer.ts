import type { IncomingMessage } from 'node:http'
import fresh from 'fresh'
import type { FilePart, FileStat } from './contract.ts'

/** How a request for a file is answered. */
interface FileAnswer {
  readonly status: 200 | 206 | 304 | 412 | 416
  readonly headers: Readonly<Record<string, string>>
  /** What of the file is sent; `undefined` where nothing is. */
  readonly part: FilePart | undefined
}

/** What is known of the file that is read, and of nothing that takes its place meanwhile. */
interface AnsweredFile extends FileStat {
  /** See `HeldFile.version`. */
  readonly version: string
  readonly hasParts: boolean
}

/** A file that changed less long ago may have changed twice within the second that `Last-Modified` can tell. */
const settledMs = 60_000

/**
 * Preconditions and parts by RFC 9110, sections 13 and 14. The entity tag is weak, so `If-Match` never holds with it and
 * `If-Range` never either: then the whole file is sent. Of several parts that are asked for none is, but the whole file.
 *
 * @param now wall clock in milliseconds
 */
export function answerFor(
  { method, headers: asked }: Pick<IncomingMessage, 'method' | 'headers'>,
  file: AnsweredFile,
  now: number,
): FileAnswer {
  const { size, modifiedAt, version, hasParts } = file
  const validators = {
    etag: `W/"${size.toString(16)}-${version}"`,
    'last-modified': modifiedAt.toUTCString(),
  }
  const withoutContent = (status: 304 | 412 | 416, headers: Readonly<Record<string, string>> = {}): FileAnswer => ({
    status,
    headers,
    part: undefined,
  })
  if (hasChanged(asked, modifiedAt)) return withoutContent(412)
  if (fresh(asked, validators)) return withoutContent(304, validators)

  const range = hasParts && isRangeWanted(asked, file, now) ? partOf(asked.range, size) : undefined
  if (range === 'none') return withoutContent(416, { 'content-range': `bytes */${size}` })
  const whole = { start: 0, end: size - 1 }
  const part = range ?? whole
  return {
    status: range === undefined ? 200 : 206,
    headers: {
      ...validators,
      'accept-ranges': hasParts ? 'bytes' : 'none',
      'content-length': String(part.end - part.start + 1),
      ...(range === undefined ? {} : { 'content-range': `bytes ${part.start}-${part.end}/${size}` }),
    },
    part: method === 'HEAD' ? undefined : part,
  }
}

type Asked = IncomingMessage['headers']

/** Whether `If-Match` or, without it, `If-Unmodified-Since` does not hold. */
function hasChanged(asked: Asked, modifiedAt: Date): boolean {
  const tags = asked['if-match']
  // Compared strongly: a weak tag is equal to none.
  if (tags !== undefined) return tags.trim() !== '*'
  const since = Date.parse(asked['if-unmodified-since'] ?? '')
  return !Number.isNaN(since) && wholeSeconds(modifiedAt) > since
}

function isRangeWanted(asked: Asked, { modifiedAt }: FileStat, now: number): boolean {
  const condition = asked['if-range']
  if (condition === undefined) return true
  return condition === modifiedAt.toUTCString() && modifiedAt.getTime() + settledMs <= now
}

/** The one part that is asked for; `undefined` for the whole file, also where what is asked makes no sense. */
function partOf(range: string | undefined, size: number): FilePart | 'none' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/i.exec(range?.trim() ?? '') ?? []
  if (first === '' && last === '') return undefined
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size - 1 : Number(last)
  if (first !== '' && last !== '' && Number(last) < start) return undefined
  return start < size ? { start, end: Math.min(end, size - 1) } : 'none'
}

const wholeSeconds = (time: Date) => Math.floor(time.getTime() / 1000) * 1000
