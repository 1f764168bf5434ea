import type { DeliveryOutcome } from '@plinth/kernel'
import { jsonOf, memberAt } from '@plinth/outgoing-http'

type SocialHint =
  | 'account-refused'
  | 'permission-missing'
  | 'recipient-refused'
  | 'recipient-unsubscribed'
  | 'template-refused'
  | 'data-refused'
  | 'page-refused'
  | 'quota-used-up'
  | 'too-frequent'
  | 'window-closed'
  | 'busy'

type Outcome = 'rejected' | 'deferred'

/** Codes of WeChat ("Global return codes"): what to do, and what to say to the operator. */
const meanings: Readonly<Record<number, readonly [Outcome, SocialHint, number?] | undefined>> = {
  [-1]: ['deferred', 'busy', 1_000],
  40001: ['rejected', 'account-refused'],
  40003: ['rejected', 'recipient-refused'],
  40013: ['rejected', 'account-refused'],
  40014: ['rejected', 'account-refused'],
  40037: ['rejected', 'template-refused'],
  40125: ['rejected', 'account-refused'],
  40164: ['rejected', 'permission-missing'],
  41030: ['rejected', 'page-refused'],
  42001: ['rejected', 'account-refused'],
  43004: ['rejected', 'recipient-refused'],
  43101: ['rejected', 'recipient-unsubscribed'],
  43107: ['rejected', 'permission-missing'],
  43108: ['deferred', 'too-frequent', 2_000],
  43116: ['rejected', 'template-refused'],
  45002: ['rejected', 'data-refused'],
  45009: ['rejected', 'quota-used-up'],
  45011: ['deferred', 'too-frequent', 5_000],
  45015: ['rejected', 'window-closed'],
  45047: ['rejected', 'window-closed'],
  47001: ['rejected', 'data-refused'],
  47003: ['rejected', 'data-refused'],
  48001: ['rejected', 'permission-missing'],
  48004: ['rejected', 'permission-missing'],
  50002: ['rejected', 'permission-missing'],
}

/** What a code that comes in place of a token says; the account is to blame where nobody knows the code. */
export const hintOf = (errcode: number): SocialHint => meanings[errcode]?.[1] ?? 'account-refused'

/** Codes that say that the access token does not hold any more. */
export const tokenCodes: ReadonlySet<number> = new Set([40001, 40014, 42001])

export interface WechatAnswer {
  readonly errcode: number
  readonly errmsg: string
  readonly messageId: string | undefined
}

/** `undefined` for what is no answer of WeChat. The id of a message is read as text: it exceeds 2^53 at times. */
export function readAnswer(body: string): WechatAnswer | undefined {
  const answer = jsonOf(body)
  const [errcode, errmsg] = [memberAt(answer, 'errcode'), memberAt(answer, 'errmsg')]
  if (typeof errcode !== 'number') return undefined
  const messageId = /"msgid"\s*:\s*"?(\d{1,32})/.exec(body)?.[1]
  return { errcode, errmsg: typeof errmsg === 'string' ? errmsg : '', messageId }
}

export const provider = 'wechat'

export function outcomeOf(status: number, body: string): DeliveryOutcome {
  const answer = readAnswer(body)
  return answer === undefined ? unreadable(status) : outcomeOfAnswer(answer)
}

/** What WeChat's own code means. */
export function outcomeOfAnswer({ errcode, errmsg, messageId }: WechatAnswer): DeliveryOutcome {
  const said = { provider, providerCode: String(errcode), providerMessage: errmsg }
  if (errcode === 0) return { outcome: 'accepted', ...said, ...(messageId === undefined ? {} : { messageId }) }
  const [outcome, hint, retryAfterMs] = meanings[errcode] ?? (['rejected', undefined] as const)
  const failure = {
    errorCode: `social.${hint ?? 'refused'}`,
    errorMessage: 'WeChat refused the message',
    ...said,
    ...(hint === undefined ? {} : { hint: `messages.social.hints.${hint}` }),
  }
  if (outcome === 'rejected') return { outcome, ...failure }
  return { outcome, ...failure, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}

/** WeChat answers 200 with a code; anything else comes from what stands before it. */
function unreadable(status: number): DeliveryOutcome {
  const said = { provider, providerCode: String(status) }
  if (status === 429 || status === 503)
    return { outcome: 'deferred', errorCode: 'social.busy', errorMessage: 'WeChat is busy', ...said }
  const errorMessage = 'WeChat answered nothing that says whether it took the message'
  return { outcome: 'unknown', errorCode: 'social.answer-unreadable', errorMessage, ...said }
}
