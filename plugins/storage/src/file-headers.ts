import { basename } from 'node:path'
import mime from 'mime'

/** Types that browsers display without executing anything. An SVG image can contain scripts. */
const isShown = (type: string) =>
  /^(?:image\/(?!svg)|audio\/|video\/)/.test(type) || type === 'application/pdf' || type === 'text/plain'

/** Types that a page of the product could load as a script or style, because they have the same origin. */
const isLoadable = (type: string) => /javascript|ecmascript|^text\/(?:css|jscript|livescript)/.test(type)

const shared = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'"

/**
 * Returns headers that make a file from any source harmless. The type follows from the extension of the path. Files
 * that a browser could execute are downloads. Files that a page could load as a script or style are sent as plain text.
 *
 * @param name file name of the download. If absent, the file name of the path is used, and the browser displays images,
 * audio, video, PDF and text
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
    'content-security-policy': type === 'application/pdf' ? `${shared}; object-src 'self'` : `${shared}; sandbox`,
    // Pages of other origins may embed it, because access depends only on the URL.
    'cross-origin-resource-policy': 'cross-origin',
  }
}

/** RFC 6266: the name in UTF-8, and an ASCII name for old clients. */
function disposition(kind: 'attachment' | 'inline', name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%/]/g, '_')
  const exact = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${kind}; filename="${plain}"; filename*=UTF-8''${exact}`
}
