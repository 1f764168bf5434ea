import { createHash, createHmac, randomUUID } from 'node:crypto'

/** Key and secret of an application, as the back office showed them. The secret stays on your server. */
export interface Credentials {
  readonly appKey: string
  readonly secret: string
}

/** Encodes as RFC 3986 says: everything but letters, digits and `-._~`. */
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** The query in the one form that is signed: each name and value encoded, sorted by name, then by value. */
function canonicalQuery(search: string): string {
  const parts = [...new URLSearchParams(search)].map(([name, value]) => [encode(name), encode(value)] as const)
  return parts
    .sort(([a, x], [b, y]) => order(a, b) || order(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

/** The headers of a signed request. Every request needs a nonce of its own; the timestamp is in seconds. */
export function signedHeaders(
  { appKey, secret }: Credentials,
  request: { readonly method: string; readonly url: URL; readonly body?: string },
  nonce: string = randomUUID(),
  timestamp: string = String(Math.floor(Date.now() / 1000)),
): Record<string, string> {
  const { method, url, body = '' } = request
  const bodyHash = createHash('sha256').update(body).digest('hex')
  const canonical = [method, url.pathname, canonicalQuery(url.search), bodyHash, timestamp, nonce].join('\n')
  return {
    'X-Open-App-Key': appKey,
    'X-Open-Timestamp': timestamp,
    'X-Open-Nonce': nonce,
    'X-Open-Signature': createHmac('sha256', secret).update(canonical).digest('hex'),
  }
}

/** Calls the open platform and answers the data of the envelope; every other code than "200" is an error with that code. */
export async function callOpenApi(
  credentials: Credentials,
  method: string,
  url: URL,
  data?: unknown,
): Promise<unknown> {
  const body = data === undefined ? undefined : JSON.stringify(data)
  const response = await fetch(url, {
    method,
    headers: {
      ...signedHeaders(credentials, { method, url, ...(body === undefined ? {} : { body }) }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body }),
  })
  const envelope = (await response.json()) as { code: string; message: string; data: unknown }
  if (envelope.code === '200') return envelope.data
  throw Object.assign(new Error(envelope.message), { code: envelope.code, data: envelope.data })
}
