import type { IncomingMessage } from 'node:http'
import { basename } from 'node:path'
import fresh from 'fresh'
import mime from 'mime'
import type { ByteRange, FileStat } from './contract.ts'

/** Types that browsers display without executing anything. SVG is excluded, because it can contain scripts. */
const isShown = (type: string) =>
  /^(?:image\/(?!svg)|audio\/|video\/)/.test(type) || type === 'application/pdf' || type === 'text/plain'

/** Types that a page of the product could load as a script or a style sheet, because the file has the same origin. */
const isLoadable = (type: string) => /javascript|ecmascript|^text\/(?:css|jscript|livescript)/.test(type)

const commonPolicy =
  "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'"

/**
 * Returns headers that make a file from any source harmless. The type depends on the extension. Browsers must save
 * files that they could execute. Files that a page could load as a script or style sheet are sent as plain text.
 *
 * @param name file name for the download. If absent, the name in the path is used, and browsers display images, audio,
 *   video, PDF and plain text
 */
export function fileHeaders(path: string, name: string | undefined): Readonly<Record<string, string>> {
  const known = mime.getType(path) ?? 'application/octet-stream'
  const isAttachment = name !== undefined || !isShown(known)
  const type = isLoadable(known) ? 'text/plain' : known
  return {
    'content-type': /^text\/|^application\/(?:json|xml)/.test(type) ? `${type}; charset=utf-8` : type,
    'content-disposition': disposition(isAttachment ? 'attachment' : 'inline', name ?? basename(path)),
    'x-content-type-options': 'nosniff',
    // PDF viewers of browsers do not work in a sandbox.
    'content-security-policy':
      type === 'application/pdf' ? `${commonPolicy}; object-src 'self'` : `${commonPolicy}; sandbox`,
    // Pages of other origins may embed the file, because only the URL decides about access.
    'cross-origin-resource-policy': 'cross-origin',
  }
}

/** Returns the header of RFC 6266 with the name in UTF-8, and an ASCII name for old clients. */
function disposition(kind: 'attachment' | 'inline', name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%/]/g, '_')
  const exact = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${kind}; filename="${plain}"; filename*=UTF-8''${exact}`
}

interface FileResponse {
  readonly status: 200 | 206 | 304 | 412 | 416
  readonly headers: Readonly<Record<string, string>>
  /** Part to send; undefined if the response has no content. */
  readonly part: ByteRange | undefined
}

/** The open file. Its facts stay the same if another process replaces the file. */
interface RequestedFile extends FileStat {
  /** Identifies the content; see `StoredFile.version`. */
  readonly version: string
  readonly hasParts: boolean
}

/**
 * Minimum age in milliseconds of a file for range requests that refer to its date. `Last-Modified` has a resolution of
 * one second, so a newer file may have changed twice with the same date.
 */
const settledMs = 60_000

/**
 * Evaluates preconditions and ranges (RFC 9110, sections 13 and 14). The entity tag is weak, so it never fulfils
 * `If-Match` or `If-Range`. The whole file is sent if `If-Range` is not fulfilled or if several ranges are requested.
 *
 * @param now wall clock in milliseconds
 */
export function responseFor(
  { method, headers: requested }: Pick<IncomingMessage, 'method' | 'headers'>,
  file: RequestedFile,
  now: number,
): FileResponse {
  const { size, modifiedAt, version, hasParts } = file
  const validators = {
    etag: `W/"${size.toString(16)}-${version}"`,
    'last-modified': modifiedAt.toUTCString(),
  }
  const withoutContent = (status: 304 | 412 | 416, headers: Readonly<Record<string, string>> = {}): FileResponse => ({
    status,
    headers,
    part: undefined,
  })
  if (hasChanged(requested, modifiedAt)) return withoutContent(412)
  if (fresh(requested, validators)) return withoutContent(304, validators)

  const range = hasParts && isRangeWanted(requested, file, now) ? partOf(requested.range, size) : undefined
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

/** Returns true if `If-Match` is not fulfilled or, without it, `If-Unmodified-Since`. */
function hasChanged(requested: Asked, modifiedAt: Date): boolean {
  const tags = requested['if-match']
  // This comparison is strong, so a weak tag never matches.
  if (tags !== undefined) return tags.trim() !== '*'
  const since = Date.parse(requested['if-unmodified-since'] ?? '')
  return !Number.isNaN(since) && wholeSeconds(modifiedAt) > since
}

function isRangeWanted(requested: Asked, { modifiedAt }: FileStat, now: number): boolean {
  const condition = requested['if-range']
  if (condition === undefined) return true
  return condition === modifiedAt.toUTCString() && modifiedAt.getTime() + settledMs <= now
}

/** Returns the requested part, or undefined for the whole file, also if the range is invalid or lists several parts. */
function partOf(range: string | undefined, size: number): ByteRange | 'none' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/i.exec(range?.trim() ?? '') ?? []
  if (first === '' && last === '') return undefined
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size - 1 : Number(last)
  if (first !== '' && last !== '' && Number(last) < start) return undefined
  return start < size ? { start, end: Math.min(end, size - 1) } : 'none'
}

const wholeSeconds = (time: Date) => Math.floor(time.getTime() / 1000) * 1000
