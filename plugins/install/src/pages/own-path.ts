/** Where a browser would be sent to another host, or to nowhere in particular. */
const treacherous = /^\/(?:[\\/]|%2f|%5c)|[\p{Cc}\\]/iu

const anyOrigin = 'http://plinth.invalid'

/**
 * A configured path as a target of a redirect: it leads to this product or, when it would lead anywhere else, to the root
 * path (decision D37).
 */
export function ownPath(path: string): string {
  if (!path.startsWith('/') || treacherous.test(path)) return '/'
  const url = URL.parse(path, anyOrigin)
  // Dots are resolved by every browser: what is left must not begin with two slashes either.
  return url?.origin === anyOrigin && !treacherous.test(url.pathname) ? path : '/'
}

/** The same path as a header field can hold it: what is not ASCII is percent-encoded, what is encoded already stays. */
export function asHeader(path: string): string {
  return path.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent)
}

/** Throws for a path that `ownPath` replaces by the root path. */
export function assertOwnPath(path: string): void {
  if (ownPath(path) !== path)
    throw new Error('it must be a path of this product, such as /admin/; it would lead elsewhere')
}
