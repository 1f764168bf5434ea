import {
  type OutgoingFailure,
  type OutgoingHttpError,
  type OutgoingResponse,
  parseJsonOrUndefined,
  valueAtPath,
} from '@plinth/outgoing-http'
import type { WebhookHint, WebhookResponse, WebhookVerdict } from './contract.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

/** Returns the key of the text for a hint. The user interface translates it. */
export const hintKey = (hint: WebhookHint | 'truncated'): string =>
  hint === 'truncated' ? 'messages.webhook.truncated' : `messages.webhook.hint.${hint}`

/** Maximum wait in milliseconds. A provider that asks for a longer wait is tried again after a day. */
const maxWaitMs = 86_400_000

/** Returns a wait in whole milliseconds, from 0 to one day. */
export const clampWaitMs = (ms: number): number => Math.min(maxWaitMs, Math.max(0, Math.ceil(ms)))

export function responseOf({ status, headers, body }: OutgoingResponse, nowMs: number): WebhookResponse {
  return {
    status,
    headers,
    body,
    json: parseJsonOrUndefined(body),
    retryAfterMs: retryAfterMs(headers['retry-after'], nowMs),
  }
}

/** Reads the header `Retry-After` (RFC 9110, 10.2.3): a date or seconds. Some providers send fractions of seconds. */
function retryAfterMs(written: string | undefined, nowMs: number): number | undefined {
  if (written === undefined) return undefined
  if (/^\d+(?:\.\d+)?$/.test(written.trim())) return clampWaitMs(Number(written) * 1000)
  const at = Date.parse(written)
  return Number.isNaN(at) ? undefined : clampWaitMs(at - nowMs)
}

const blocked: readonly OutgoingFailure[] = ['url-refused', 'port-refused', 'address-refused']
const timeoutFailures: readonly OutgoingFailure[] = ['answer-timeout', 'connect-timeout', 'deadline-exceeded']

/** Returns the hint for a request that got no response. */
export function hintOfFailure({ code }: OutgoingHttpError): WebhookHint {
  if (blocked.includes(code)) return 'endpoint-blocked'
  if (code === 'request-refused') return 'payload-invalid'
  return timeoutFailures.includes(code) ? 'timeout' : 'network'
}

/** True if the request can never be sent in this form. */
export const isRejected = ({ code }: OutgoingHttpError): boolean => [...blocked, 'request-refused'].includes(code)

export interface CodeMeaning {
  /** Outcome for this code. Default: `rejected`. */
  readonly outcome?: 'rejected' | 'deferred' | 'unknown'
  readonly hint?: WebhookHint
  /** Milliseconds until a retry, if the response specifies none. */
  readonly retryAfterMs?: number
}

export interface JudgementRules {
  /** True if the body confirms the delivery. Called only for a response with a success status (2xx). */
  delivered(response: WebhookResponse): boolean
  /**
   * Path of the error code in the response, such as `error.message`, or several paths, of which the first existing one
   * is used.
   */
  readonly code?: string | readonly string[] | ((response: WebhookResponse) => unknown)
  readonly message?: string | readonly string[] | ((response: WebhookResponse) => unknown)
  /** Path of the provider's message id in the response. */
  readonly id?: string
  /** Path of the seconds until a retry in the response. The header `Retry-After` overrides it. */
  readonly retryAfter?: string
  /** Meanings by error code. */
  readonly codes?: Readonly<Record<string, CodeMeaning>>
  /** Meanings by a part of the error message, in upper or lower case. They override `codes`. */
  readonly texts?: Readonly<Record<string, CodeMeaning>>
}

const busy: CodeMeaning = { outcome: 'deferred', hint: 'provider-busy' }

/** Meanings by HTTP status, used if neither error code nor message has a meaning. */
const statuses: Readonly<Record<number, CodeMeaning>> = {
  400: { hint: 'payload-invalid' },
  401: { hint: 'token-invalid' },
  403: { hint: 'token-invalid' },
  404: { hint: 'token-invalid' },
  408: busy,
  410: { hint: 'robot-disabled' },
  413: { hint: 'payload-too-large' },
  422: { hint: 'payload-invalid' },
  425: busy,
  429: { outcome: 'deferred', hint: 'rate-limited' },
  // A gateway does not know whether the service received the message, so the outcome is unknown.
  502: { outcome: 'unknown', hint: 'provider-busy' },
  504: { outcome: 'unknown', hint: 'timeout' },
}

/** True if the member at a path has this value, as a number or as text. */
export const createMemberCheck = (path: string, expected: number) => {
  return ({ json }: Pick<WebhookResponse, 'json'>): boolean => {
    const value = valueAtPath(json, path)
    return value === expected || value === String(expected)
  }
}

type Where = JudgementRules['code']

function textAt(response: WebhookResponse, where: Where): string | undefined {
  const values =
    typeof where === 'function'
      ? [where(response)]
      : [where ?? []].flat().map((path) => valueAtPath(response.json, path))
  const found = values.find((value) => ['string', 'number'].includes(typeof value) && value !== '')
  return found === undefined ? undefined : String(found)
}

/**
 * Returns a `judge` function that suits most providers. With a success status, the message is delivered if `delivered`
 * returns true. Otherwise the error message decides, then the error code, then the status. Without code and message, a
 * success status is `unknown`, because the provider may have accepted the message.
 */
export function createResponseJudge(rules: JudgementRules): (response: WebhookResponse) => WebhookVerdict {
  const { codes = {}, texts = {} } = rules
  return (response) => {
    const { status } = response
    const isSuccess = status >= 200 && status < 300
    if (isSuccess && rules.delivered(response)) {
      return { delivered: true, messageId: rules.id === undefined ? undefined : textAt(response, rules.id) }
    }
    const code = textAt(response, rules.code)
    const message = textAt(response, rules.message)
    const lower = message?.toLowerCase() ?? ''
    const byText = Object.entries(texts).find(([text]) => lower.includes(text.toLowerCase()))?.[1]
    const byCode = code !== undefined && Object.hasOwn(codes, code) ? codes[code] : undefined
    const meaning = byText ?? byCode ?? (isSuccess ? unexplained(code ?? message) : byStatus(status, code ?? message))
    const { outcome = 'rejected', hint, retryAfterMs } = meaning
    const waits = [response.retryAfterMs, secondsAt(response, rules.retryAfter), retryAfterMs]
    const wait = outcome === 'deferred' ? waits.find((ms) => ms !== undefined) : undefined
    return { delivered: false, outcome, code, message, hint, retryAfterMs: wait }
  }
}

function secondsAt({ json }: WebhookResponse, path: string | undefined): number | undefined {
  const seconds = path === undefined ? undefined : valueAtPath(json, path)
  return typeof seconds === 'number' && seconds >= 0 ? seconds * 1000 : undefined
}

/**
 * Returns the meaning of a response without a listed code or message. If it contains one that is not listed, the
 * provider has rejected the message.
 */
const unexplained = (said: string | undefined): CodeMeaning =>
  said === undefined ? { outcome: 'unknown', hint: 'unexpected-response' } : { hint: 'refused' }

const byStatus = (status: number, said: string | undefined): CodeMeaning =>
  statuses[status] ?? (status >= 500 ? busy : { hint: said === undefined ? 'unexpected-response' : 'refused' })
