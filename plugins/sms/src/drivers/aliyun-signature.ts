import { createHash, createHmac } from 'node:crypto'

/** What an ACS3-HMAC-SHA256 signature covers. */
interface AliyunCall {
  readonly host: string
  readonly action: string
  readonly version: string
  readonly query: Readonly<Record<string, string>>
  /** RFC 3339 in UTC without fractions, such as `2025-01-01T00:00:00Z`. */
  readonly date: string
  /** Never used before. */
  readonly nonce: string
}

const emptyHash = createHash('sha256').digest('hex')

/** RFC 3986, which `encodeURIComponent` is short of by five characters. */
const encoded = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)

/** The query as it is signed and as it must be sent: sorted by name. */
export const aliyunQuery = (query: Readonly<Record<string, string>>): string =>
  Object.entries(query)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .join('&')

/** Headers of a POST to `/` without a body, signed (Alibaba Cloud, "V3 request syntax and signature method"). */
export function aliyunHeaders(
  { host, action, version, query, date, nonce }: AliyunCall,
  { id, secret }: { readonly id: string; readonly secret: string },
): Record<string, string> {
  const headers = {
    host,
    'x-acs-action': action,
    'x-acs-content-sha256': emptyHash,
    'x-acs-date': date,
    'x-acs-signature-nonce': nonce,
    'x-acs-version': version,
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`)
  const names = Object.keys(headers).join(';')
  const canonical = ['POST', '/', aliyunQuery(query), lines.join(''), names, emptyHash].join('\n')
  const toSign = `ACS3-HMAC-SHA256\n${createHash('sha256').update(canonical).digest('hex')}`
  const signature = createHmac('sha256', secret).update(toSign).digest('hex')
  const { host: _, ...sent } = headers
  return {
    ...sent,
    authorization: `ACS3-HMAC-SHA256 Credential=${id},SignedHeaders=${names},Signature=${signature}`,
  }
}
