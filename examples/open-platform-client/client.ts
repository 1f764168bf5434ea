import { createHash, createHmac, randomUUID } from 'node:crypto'
import { type ApiClient, createApiClient } from '@plinth/client'

/** Key and secret of an application, which the back office shows once. Keep the secret on your server. */
export interface Credentials {
  readonly appKey: string
  readonly secret: string
}

/** Encodes a text by RFC 3986: everything except letters, digits and `-._~`. */
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/**
 * Returns the query in the normalized form that is signed: names and values are encoded, and sorted by name, then by
 * value.
 */
function canonicalQuery(search: string): string {
  const parts = [...new URLSearchParams(search)].map(([name, value]) => [encode(name), encode(value)] as const)
  const sorted = parts.sort(([a, x], [b, y]) => order(a, b) || order(x, y))
  return sorted.map(([name, value]) => `${name}=${value}`).join('&')
}

/**
 * Returns the headers of a signed request. Every request needs a new nonce (one-time value). The timestamp is in
 * seconds.
 * @param path path from `/api/` on, without the prefix of a proxy
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
 * Returns a client that signs every request. The type of a response depends on its `code`; "200" is a success.
 * @param baseUrl address of the product, with its context path if it has one
 */
export function createOpenClient(credentials: Credentials, baseUrl: string): ApiClient {
  const client = createApiClient({ baseUrl })
  client.use({
    async onRequest({ request }) {
      const { pathname, search } = new URL(request.url)
      const path = pathname.slice(pathname.search(/\/api\/v\d/))
      const body = await request.clone().text()
      const headers = signedHeaders(credentials, { method: request.method, path, search, body })
      for (const [name, value] of Object.entries(headers)) request.headers.set(name, value)
    },
  })
  return client
}
