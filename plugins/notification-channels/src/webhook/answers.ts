import { jsonOf, type OutgoingFailure, type OutgoingHttpError, type OutgoingResponse } from '@plinth/outgoing-http'
import type { WebhookHint, WebhookResponse } from './contract.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

/** Key of the text of a hint. The user interface translates it. */
export const hintKey = (hint: WebhookHint | 'truncated'): string =>
  hint === 'truncated' ? 'messages.webhook.truncated' : `messages.webhook.hint.${hint}`

/** One day. A provider that specifies a longer rest is tried again after it. */
const maxWaitMs = 86_400_000

/** Returns whole milliseconds from 0 to a day. */
export const boundedWait = (ms: number): number => Math.min(maxWaitMs, Math.max(0, Math.ceil(ms)))

/** Converts a response for the judgement of providers. */
export function responseOf({ status, headers, body }: OutgoingResponse, nowMs: number): WebhookResponse {
  return { status, headers, body, json: jsonOf(body), retryAfterMs: retryAfterMs(headers['retry-after'], nowMs) }
}

/** `Retry-After` (RFC 9110, 10.2.3): a date, or seconds, which some providers send with a fraction. */
function retryAfterMs(written: string | undefined, nowMs: number): number | undefined {
  if (written === undefined) return undefined
  if (/^\d+(?:\.\d+)?$/.test(written.trim())) return boundedWait(Number(written) * 1000)
  const at = Date.parse(written)
  return Number.isNaN(at) ? undefined : boundedWait(at - nowMs)
}

const blocked: readonly OutgoingFailure[] = ['url-refused', 'port-refused', 'address-refused']
const late: readonly OutgoingFailure[] = ['answer-timeout', 'connect-timeout', 'deadline-exceeded']

/** Returns the hint for a request without a response. */
export function hintOfFailure({ code }: OutgoingHttpError): WebhookHint {
  if (blocked.includes(code)) return 'endpoint-blocked'
  if (code === 'request-refused') return 'payload-invalid'
  return late.includes(code) ? 'timeout' : 'network'
}

/** True if the request can never be sent in this form. */
export const isRejected = ({ code }: OutgoingHttpError): boolean => [...blocked, 'request-refused'].includes(code)
