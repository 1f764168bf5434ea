/**
 * The address of a provider in the one form in which equal addresses are compared. The fragment is omitted, because no request
 * contains it. A text that is not an address is returned as it is.
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
 * Whether the text is an address of the page of a transaction: http or https, with `{hash}` in its path, query or fragment, no
 * user name and no password. People see it and notifications contain it, so it must already be written as `URL` writes it:
 * without quotes, angle brackets, spaces and control characters.
 */
export function isExplorerUrl(text: string): boolean {
  const filled = text.replaceAll(place, sampleHash)
  const url = URL.parse(filled)
  if (filled === text || url === null || url.href !== filled) return false
  const isPlain = /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  return isPlain && !url.host.includes(sampleHash)
}
