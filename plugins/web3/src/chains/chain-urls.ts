/**
 * Returns the URL of a provider in a form that allows comparison. The fragment is omitted, because it is not sent. An
 * invalid URL is returned unchanged.
 */
export function endpointOf(address: string): string {
  const url = URL.parse(address)
  if (url === null) return address
  url.hash = ''
  return url.href
}

const place = '{hash}'
const sampleHash = `0x${'ab'.repeat(32)}`

/**
 * True for a valid URL of a transaction page: http or https, with `{hash}` in path, query or fragment, without user
 * name and password. Users see it and notifications contain it. Therefore the text must be in the normal form of `URL`,
 * without quotes, angle brackets, spaces and control characters.
 */
export function isExplorerUrl(text: string): boolean {
  const filled = text.replaceAll(place, sampleHash)
  const url = URL.parse(filled)
  if (filled === text || url === null || url.href !== filled) return false
  const isPlain = /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  return isPlain && !url.host.includes(sampleHash)
}
