import { createHash } from 'node:crypto'
import { type DeliveryOutcome, omitUndefined } from '@plinth/kernel'
import { parseJsonOrUndefined, valueAtPath } from '@plinth/outgoing-http'
import type { SocialMessage, SocialMessageType } from '../contract.ts'

/** Path and body of one kind of request to WeChat. */
interface Capability {
  readonly path: string
  readonly needsTemplate: boolean
  body(message: SocialMessage, values: Readonly<Record<string, { readonly value: string }>>): object
}

const present = omitUndefined<Readonly<Record<string, unknown>>>

/** WeChat accepts at most 32 characters. */
const clientId = (id: string) => (id.length <= 32 ? id : createHash('sha256').update(id).digest('hex').slice(0, 32))

/**
 * Returns a language that WeChat supports for subscribe messages; undefined for other languages. WeChat then uses its
 * default.
 */
function languageOf(tag: string | undefined): string | undefined {
  if (tag === undefined) return undefined
  const { language, region, script } = new Intl.Locale(tag).maximize()
  if (language === 'en') return 'en_US'
  if (language !== 'zh') return undefined
  return region === 'HK' ? 'zh_HK' : script === 'Hant' ? 'zh_TW' : 'zh_CN'
}

/** Defined by the documentation of WeChat: template messages, customer-service messages, subscribe messages. */
export const messageTypeCapabilities: Readonly<Record<SocialMessageType, Capability>> = {
  'official-template': {
    path: '/cgi-bin/message/template/send',
    needsTemplate: true,
    body: ({ toUser, templateId, url, clientMessageId }, data) =>
      present({ touser: toUser, template_id: templateId, url, client_msg_id: clientId(clientMessageId), data }),
  },
  'official-kefu-text': {
    path: '/cgi-bin/message/custom/send',
    needsTemplate: false,
    body: ({ toUser, content, kfAccount }) =>
      present({
        touser: toUser,
        msgtype: 'text',
        text: { content },
        customservice: kfAccount === undefined ? undefined : { kf_account: kfAccount },
      }),
  },
  'miniapp-subscribe': {
    path: '/cgi-bin/message/subscribe/send',
    needsTemplate: true,
    body: ({ toUser, templateId, page, miniprogramState, lang }, data) =>
      present({
        touser: toUser,
        template_id: templateId,
        page,
        miniprogram_state: miniprogramState,
        data,
        lang: languageOf(lang),
      }),
  },
}

const characters = (text: string) => [...text].length
const longest = (limit: number) => (text: string) => characters(text) <= limit

/** Rules by kind of template field. The kind is the name of the field without trailing digits. */
const rules: Readonly<Record<string, ((text: string) => boolean) | undefined>> = {
  number: (text) => /^[-+]?[\d.,]{1,32}$/.test(text),
  letter: (text) => /^[A-Za-z]{1,32}$/.test(text),
  symbol: longest(5),
  character_string: (text) => characters(text) <= 32 && !/\p{Script=Han}/u.test(text),
  amount: (text) => /^[^\d\s]?[\d.,]{1,13}元?$/.test(text),
  phone_number: (text) => /^[\d+()\s-]{1,17}$/.test(text),
  car_number: longest(8),
  name: (text) => characters(text) <= (/^[\p{Script=Latin}\s.'-]*$/u.test(text) ? 20 : 10),
  phrase: (text) => /^\p{Script=Han}{1,5}$/u.test(text),
}
const maxThingLength = 20

/**
 * Returns the values of a template in the format of WeChat. A `thing` that is too long is cut and gets an ellipsis.
 * Other invalid values are rejected, because cutting would change an amount or a number.
 */
export function templateValues(
  data: Readonly<Record<string, string>>,
): { readonly values: Record<string, { readonly value: string }> } | { readonly refused: string } {
  const values: Record<string, { readonly value: string }> = {}
  for (const [name, text] of Object.entries(data)) {
    const kind = name.replace(/\d+$/, '')
    const value =
      kind === 'thing' && characters(text) > maxThingLength
        ? `${[...text].slice(0, maxThingLength - 1).join('')}…`
        : text
    if (value.trim() === '' || /[\r\n]/.test(value) || rules[kind]?.(value) === false) return { refused: name }
    values[name] = { value }
  }
  return { values }
}

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

/** Codes of WeChat ("Global return codes"): outcome, hint for the operator, and milliseconds until the next attempt. */
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

/** Returns the hint if WeChat returns a code instead of a token. An unknown code counts as a problem of the account. */
export const hintOfErrcode = (errcode: number): SocialHint => meanings[errcode]?.[1] ?? 'account-refused'

/** Codes that mean that the access token is no longer valid. */
export const tokenCodes: ReadonlySet<number> = new Set([40001, 40014, 42001])

export interface WechatResponse {
  readonly errcode: number
  readonly errmsg: string
  readonly messageId: string | undefined
}

/**
 * Returns undefined if the body is not a response of WeChat. The message id is read as text, because it may exceed
 * 2^53.
 */
export function readResponse(body: string): WechatResponse | undefined {
  const response = parseJsonOrUndefined(body)
  const [errcode, errmsg] = [valueAtPath(response, 'errcode'), valueAtPath(response, 'errmsg')]
  if (typeof errcode !== 'number') return undefined
  const messageId = /"msgid"\s*:\s*"?(\d{1,32})/.exec(body)?.[1]
  return { errcode, errmsg: typeof errmsg === 'string' ? errmsg : '', messageId }
}

export const provider = 'wechat'

export function outcomeOf(status: number, body: string): DeliveryOutcome {
  const response = readResponse(body)
  return response === undefined ? unreadable(status) : outcomeOfResponse(response)
}

export function outcomeOfResponse({ errcode, errmsg, messageId }: WechatResponse): DeliveryOutcome {
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

/** WeChat always responds with status 200 and a code. Another response comes from a proxy. */
function unreadable(status: number): DeliveryOutcome {
  const said = { provider, providerCode: String(status) }
  if (status === 429 || status === 503)
    return { outcome: 'deferred', errorCode: 'social.busy', errorMessage: 'WeChat is busy', ...said }
  const errorMessage = 'WeChat answered nothing that says whether it took the message'
  return { outcome: 'unknown', errorCode: 'social.answer-unreadable', errorMessage, ...said }
}
