import { jsonOf, type OutgoingFailure, type OutgoingHttpError, type OutgoingResponse } from '@plinth/outgoing-http'
import type { WebhookAnswer, WebhookHint } from './contract.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

/** Key of the text of a hint; whoever shows it translates it. */
export const hintKey = (hint: WebhookHint | 'truncated'): string =>
  hint === 'truncated' ? 'messages.webhook.truncated' : `messages.webhook.hint.${hint}`

/** A day: a provider that wants a longer rest is asked again then. */
const longestWaitMs = 86_400_000

/** Whole milliseconds from 0 to a day. */
export const boundedWait = (ms: number): number => Math.min(longestWaitMs, Math.max(0, Math.ceil(ms)))

/** An answer as providers judge it. */
export function answerOf({ status, headers, body }: OutgoingResponse, nowMs: number): WebhookAnswer {
  return { status, headers, body, json: jsonOf(body), retryAfterMs: retryAfterMs(headers['retry-after'], nowMs) }
}

/** `Retry-After` (RFC 9110, 10.2.3): seconds, which some providers write with a fraction, or a date. */
function retryAfterMs(written: string | undefined, nowMs: number): number | undefined {
  if (written === undefined) return undefined
  if (/^\d+(?:\.\d+)?$/.test(written.trim())) return boundedWait(Number(written) * 1000)
  const at = Date.parse(written)
  return Number.isNaN(at) ? undefined : boundedWait(at - nowMs)
}

const blocked: readonly OutgoingFailure[] = ['url-refused', 'port-refused', 'address-refused']
const late: readonly OutgoingFailure[] = ['answer-timeout', 'connect-timeout', 'deadline-exceeded']

/** What no answer means. Nothing was delivered, or nobody knows. */
export function hintOfFailure({ code }: OutgoingHttpError): WebhookHint {
  if (blocked.includes(code)) return 'endpoint-blocked'
  if (code === 'request-refused') return 'payload-invalid'
  return late.includes(code) ? 'timeout' : 'network'
}

/** True for a request that will never be sent as it is. */
export const isRefused = ({ code }: OutgoingHttpError): boolean => [...blocked, 'request-refused'].includes(code)
