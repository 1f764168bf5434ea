import { createHash, createHmac, randomUUID } from 'node:crypto'

/** Key and secret of an application, as shown by the back office. Keep the secret on your server. */
export interface Credentials {
  readonly appKey: string
  readonly secret: string
}

/** Encodes a text by RFC 3986: everything except letters, digits and `-._~`. */
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** Returns the canonical query for the signature: each name and value encoded, sorted by name, then by value. */
function canonicalQuery(search: string): string {
  const parts = [...new URLSearchParams(search)].map(([name, value]) => [encode(name), encode(value)] as const)
  const sorted = parts.sort(([a, x], [b, y]) => order(a, b) || order(x, y))
  return sorted.map(([name, value]) => `${name}=${value}`).join('&')
}

/**
 * Returns the headers of a signed request. Every request needs a new nonce. The timestamp is in seconds.
 *
 * @param path from `/api/` on, without the prefix of a proxy
 */
export function signedHeaders(
  { appKey, secret }: Credentials,
  { method, path, search, body = '' }: { method: string; path: string; search: string; body?: string },
  nonce: string = randomUUID(),
  timestamp: string = String(Math.floor(Date.now() / 1000)),
): Record<string, string> {
  const bodyHash = createHash('sha256').update(body).digest('hex')
  const canonical = [method, path, canonicalQuery(search), bodyHash, timestamp, nonce].join('\n')
  return {
    'X-Open-App-Key': appKey,
    'X-Open-Timestamp': timestamp,
    'X-Open-Nonce': nonce,
    'X-Open-Signature': createHmac('sha256', secret).update(canonical).digest('hex'),
  }
}

/**
 * Calls the open platform and returns the data of the envelope. Any code other than "200" is thrown as an error with
 * that code.
 */
export async function callOpenApi(
  credentials: Credentials,
  method: string,
  url: URL,
  data?: unknown,
): Promise<unknown> {
  const body = data === undefined ? undefined : JSON.stringify(data)
  const path = url.pathname.slice(url.pathname.search(/\/api\/v\d/))
  const headers = signedHeaders(credentials, { method, path, search: url.search, ...(body && { body }) })
  if (body) headers['Content-Type'] = 'application/json'
  const response = await fetch(url, { method, headers, ...(body && { body }) })
  const envelope = (await response.json()) as { code: string; message: string; data: unknown }
  if (envelope.code === '200') return envelope.data
  throw Object.assign(new Error(envelope.message), { code: envelope.code, data: envelope.data })
}
