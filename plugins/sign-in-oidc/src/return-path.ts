/** Placeholder of the site. Only the origin of the result is compared with it. */
const anySite = 'https://site.invalid'
const maxLength = 2_000

/**
 * Returns a path on this site, or null for everything that a browser could take for another address: `//host`, `/\host`,
 * a scheme, control characters, also encoded ones. Called when a path is stored and again when it is used.
 */
export function safeReturnPath(text: unknown): string | null {
  if (typeof text !== 'string' || text.length > maxLength || !/^\/(?![/\\])/.test(text)) return null
  if (/[\\\p{Cc}\s]|%[01][0-9a-f]|%7f|%5c/iu.test(text)) return null
  const url = URL.parse(text, anySite)
  if (url === null || url.origin !== anySite || url.pathname.startsWith('//')) return null
  return url.pathname + url.search + url.hash
}
