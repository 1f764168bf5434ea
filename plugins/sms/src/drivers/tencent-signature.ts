import { createHash, createHmac } from 'node:crypto'
import { defined } from '@plinth/kernel'

/** What a TC3-HMAC-SHA256 signature covers. */
interface TencentCall {
  readonly service: string
  readonly host: string
  /** Absent: the header is not signed. */
  readonly action?: string
  readonly body: string
  /** Seconds since the epoch; the day in the signature is that of UTC. */
  readonly timestamp: number
}

/** Signed and sent byte for byte. */
export const tencentContentType = 'application/json; charset=utf-8'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()

/** The header `authorization` of a POST to `/` (Tencent Cloud API 3.0, "Signature v3"). */
export function tencentAuthorization(
  { service, host, action, body, timestamp }: TencentCall,
  { id, key }: { readonly id: string; readonly key: string },
): string {
  const headers: Readonly<Record<string, string>> = defined({
    'content-type': tencentContentType,
    host,
    'x-tc-action': action?.toLowerCase(),
  })
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`)
  const names = Object.keys(headers).join(';')
  const canonical = ['POST', '/', '', lines.join(''), names, sha256(body)].join('\n')
  const day = new Date(timestamp * 1000).toISOString().slice(0, 10)
  const scope = `${day}/${service}/tc3_request`
  const toSign = ['TC3-HMAC-SHA256', timestamp, scope, sha256(canonical)].join('\n')
  const dayKey = hmac(`TC3${key}`, day)
  const signature = hmac(hmac(hmac(dayKey, service), 'tc3_request'), toSign).toString('hex')
  return `TC3-HMAC-SHA256 Credential=${id}/${scope}, SignedHeaders=${names}, Signature=${signature}`
}
