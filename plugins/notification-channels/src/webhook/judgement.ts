import { memberAt } from '@plinth/outgoing-http'
import type { WebhookAnswer, WebhookHint, WebhookVerdict } from './contract.ts'

/** What a code of a provider means. */
export interface CodeMeaning {
  /** `rejected` when absent. */
  readonly outcome?: 'rejected' | 'deferred' | 'unknown'
  readonly hint?: WebhookHint
  /** Milliseconds to wait where the answer does not say. */
  readonly retryAfterMs?: number
}

export interface JudgementRules {
  /** Asked of an answer with a status of success (2xx). */
  delivered(answer: WebhookAnswer): boolean
  /** Members of the answer, dots lead inwards (`error.message`); several: the first that is there. */
  readonly code?: string | readonly string[] | ((answer: WebhookAnswer) => unknown)
  readonly message?: string | readonly string[] | ((answer: WebhookAnswer) => unknown)
  /** Member with the provider's id of the message. */
  readonly id?: string
  /** Member with the seconds to wait, where there is no `Retry-After`. */
  readonly retryAfter?: string
  /** By code. */
  readonly codes?: Readonly<Record<string, CodeMeaning>>
  /** By what the message contains, in any case; goes before the codes. */
  readonly texts?: Readonly<Record<string, CodeMeaning>>
}

const busy: CodeMeaning = { outcome: 'deferred', hint: 'provider-busy' }

/** What a status means where neither code nor text says more. */
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
  // A gateway that got no answer does not know whether the service behind it took the message.
  502: { outcome: 'unknown', hint: 'provider-busy' },
  504: { outcome: 'unknown', hint: 'timeout' },
}

/** Whether a member is this number, written as a number or as text. */
export const memberIs = (path: string, expected: number) => {
  return ({ json }: Pick<WebhookAnswer, 'json'>): boolean => {
    const value = memberAt(json, path)
    return value === expected || value === String(expected)
  }
}

type Where = JudgementRules['code']

function textAt(answer: WebhookAnswer, where: Where): string | undefined {
  const values =
    typeof where === 'function' ? [where(answer)] : [where ?? []].flat().map((path) => memberAt(answer.json, path))
  const found = values.find((value) => ['string', 'number'].includes(typeof value) && value !== '')
  return found === undefined ? undefined : String(found)
}

/**
 * The usual judgement: success is a status of success that `delivered` confirms. A failure is what the texts, then the codes,
 * then the status say. An answer of success that nobody understands (no code, no message) is `unknown`: the provider may have
 * taken the message.
 */
export function judgement(rules: JudgementRules): (answer: WebhookAnswer) => WebhookVerdict {
  const { codes = {}, texts = {} } = rules
  return (answer) => {
    const { status } = answer
    const isSuccess = status >= 200 && status < 300
    if (isSuccess && rules.delivered(answer)) {
      return { delivered: true, messageId: rules.id === undefined ? undefined : textAt(answer, rules.id) }
    }
    const code = textAt(answer, rules.code)
    const message = textAt(answer, rules.message)
    const lower = message?.toLowerCase() ?? ''
    const byText = Object.entries(texts).find(([text]) => lower.includes(text.toLowerCase()))?.[1]
    const byCode = code !== undefined && Object.hasOwn(codes, code) ? codes[code] : undefined
    const meaning = byText ?? byCode ?? (isSuccess ? unexplained(code ?? message) : byStatus(status, code ?? message))
    const { outcome = 'rejected', hint, retryAfterMs } = meaning
    const waits = [answer.retryAfterMs, secondsAt(answer, rules.retryAfter), retryAfterMs]
    const wait = outcome === 'deferred' ? waits.find((ms) => ms !== undefined) : undefined
    return { delivered: false, outcome, code, message, hint, retryAfterMs: wait }
  }
}

function secondsAt({ json }: WebhookAnswer, path: string | undefined): number | undefined {
  const seconds = path === undefined ? undefined : memberAt(json, path)
  return typeof seconds === 'number' && seconds >= 0 ? seconds * 1000 : undefined
}

/** What a code or a message that is in no table means: the provider rejected the message, and states why itself. */
const unexplained = (said: string | undefined): CodeMeaning =>
  said === undefined ? { outcome: 'unknown', hint: 'unexpected-response' } : { hint: 'refused' }

const byStatus = (status: number, said: string | undefined): CodeMeaning =>
  statuses[status] ?? (status >= 500 ? busy : { hint: said === undefined ? 'unexpected-response' : 'refused' })
