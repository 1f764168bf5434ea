import { basename } from 'node:path'
import mime from 'mime'

/** Shown by browsers without running anything of it. A picture in SVG is a page. */
const isShown = (type: string) =>
  /^(?:image\/(?!svg)|audio\/|video\/)/.test(type) || type === 'application/pdf' || type === 'text/plain'

/** What a page of the product could load as a script or a style, because it comes from the same address. */
const isLoadable = (type: string) => /javascript|ecmascript|^text\/(?:css|jscript|livescript)/.test(type)

const shared = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'none'"

/**
 * Headers under which a file from anywhere does no harm: the type goes by the extension of the path, what could run is
 * downloaded instead of shown, and what a page could load as a script or style is called plain text.
 *
 * @param name file name for the download; without one, that of the path, and pictures and the like are shown
 */
export function fileHeaders(path: string, name: string | undefined): Readonly<Record<string, string>> {
  const known = mime.getType(path) ?? 'application/octet-stream'
  const isAttachment = name !== undefined || !isShown(known)
  const type = isLoadable(known) ? 'text/plain' : known
  return {
    'content-type': /^text\/|^application\/(?:json|xml)/.test(type) ? `${type}; charset=utf-8` : type,
    'content-disposition': disposition(isAttachment ? 'attachment' : 'inline', name ?? basename(path)),
    'x-content-type-options': 'nosniff',
    // Viewers of PDF in browsers refuse to work in a sandbox.
    'content-security-policy': type === 'application/pdf' ? `${shared}; object-src 'self'` : `${shared}; sandbox`,
    // Pages of another origin may show it: who has the address may have the file.
    'cross-origin-resource-policy': 'cross-origin',
  }
}

/** By RFC 6266: the name in UTF-8, and a plain one for old clients. */
function disposition(kind: 'attachment' | 'inline', name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%/]/g, '_')
  const exact = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${kind}; filename="${plain}"; filename*=UTF-8''${exact}`
}
