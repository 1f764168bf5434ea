import type { OutgoingRequest } from '@plinth/outgoing-http'
import type { WebhookSample } from './harness.ts'

export const long = '发布 🎉 e\u0301 '.repeat(40_000)
/** Responses that do not come from the service, but from a proxy or a login page. */
export const noise: readonly WebhookSample[] = [
  { body: '<html><body>Sign in</body></html>' },
  { body: '{"code":0,"errco' },
  { body: 'null' },
  { body: '[]' },
  { body: '{}' },
  { body: '"text"' },
  { body: '{"code":null,"errcode":null,"ok":null,"success":null,"error":null,"data":null}' },
]

export const textOf = (requests: readonly OutgoingRequest[]) =>
  requests.map(({ url, headers, body }) => JSON.stringify([String(url), headers, String(body)]))

export function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

export const inspectable = (value: unknown) => JSON.stringify(value)

export function echoed(body: unknown, echo: string): unknown {
  if (typeof body === 'string') return `${body} ${echo}`
  if (Array.isArray(body)) return body.map((item) => echoed(item, echo))
  if (typeof body !== 'object' || body === null) return body
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, echoed(value, echo)]))
}
