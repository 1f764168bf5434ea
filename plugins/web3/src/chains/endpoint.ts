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
