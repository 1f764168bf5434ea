import {
  bilingual,
  type ChannelCheck,
  ChannelError,
  type Clock,
  type DeliveryOutcome,
  type NeededConfigKeys,
  omitUndefined,
} from '@plinth/kernel'
import {
  isOutgoingHttpError,
  type OutgoingHttp,
  type OutgoingRequest,
  type OutgoingResponse,
  parseJsonOrUndefined,
  valueAtPath,
} from '@plinth/outgoing-http'
import type { SmsConfig, SmsKey } from '../config.ts'
import en from '../messages/en.json' with { type: 'json' }
import zhCN from '../messages/zh-CN.json' with { type: 'json' }

/** Meaning of an error code. `hint` is the name of a text in `messages.sms.hints`. */
export interface CodeMeaning {
  readonly outcome: 'rejected' | 'deferred'
  readonly hint: SmsHint
}

type SmsHint =
  | 'credentials-refused'
  | 'permission-missing'
  | 'signature-refused'
  | 'template-refused'
  | 'template-unmapped'
  | 'params-refused'
  | 'number-refused'
  | 'recipient-blocked'
  | 'balance-empty'
  | 'too-frequent'
  | 'sender-refused'
  | 'driver-busy'

export const rejectedMeaning = (hint: SmsHint): CodeMeaning => ({ outcome: 'rejected', hint })
export const deferredMeaning = (hint: SmsHint): CodeMeaning => ({ outcome: 'deferred', hint })

/**
 * Returns the outcome for an error code. An unknown code is treated as permanent, because another attempt costs money.
 * With status 5xx, the code is ignored.
 */
export function outcomeOfErrorCode(
  provider: string,
  { status, code, message }: { readonly status: number; readonly code: string; readonly message: string },
  meaning: CodeMeaning | undefined,
): DeliveryOutcome {
  if (meaning === undefined && status >= 500) return outcomeWithoutErrorCode(provider, status)
  return omitUndefined({
    outcome: meaning?.outcome ?? 'rejected',
    errorCode: `sms.${meaning?.hint ?? 'refused'}`,
    errorMessage: 'The SMS driver rejected the message',
    provider,
    providerCode: code,
    // The caller must mask secrets before it shortens the text.
    providerMessage: message,
    hint: meaning === undefined ? undefined : `messages.sms.hints.${meaning.hint}`,
  })
}

/**
 * Returns the outcome for a response without an error code. The status codes 429 and 503 come from a proxy of the
 * provider, which has not accepted the message. After another 5xx status or an unreadable response, the message may
 * have been sent.
 */
export function outcomeWithoutErrorCode(provider: string, status: number): DeliveryOutcome {
  const said = { provider, providerCode: String(status) }
  if (status === 429 || status === 503) {
    const hint = 'messages.sms.hints.driver-busy'
    return { outcome: 'deferred', errorCode: 'sms.driver-busy', errorMessage: 'The SMS driver is busy', hint, ...said }
  }
  if (status >= 400 && status < 500) {
    return { outcome: 'rejected', errorCode: 'sms.refused', errorMessage: 'The SMS driver rejected the call', ...said }
  }
  return {
    outcome: 'unknown',
    errorCode: 'sms.answer-unreadable',
    errorMessage: 'The response of the SMS driver does not state whether it accepted the message',
    ...said,
  }
}

/** Outcome for a message without a template, if the provider only sends registered templates. No request is sent. */
export const missingTemplateOutcome = (provider: string): DeliveryOutcome => ({
  outcome: 'rejected',
  errorCode: 'sms.template-unmapped',
  errorMessage: `The message has no template code of the SMS driver "${provider}", which sends registered templates only`,
  provider,
  hint: 'messages.sms.hints.template-unmapped',
})

/** Returns the text or number at a path; undefined if the value is neither. */
export function textAtPath(response: unknown, path: string): string | undefined {
  const value = valueAtPath(response, path)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

export interface DriverDependencies {
  readonly config: SmsConfig
  readonly http: OutgoingHttp
  readonly clock: Pick<Clock, 'now'>
}

const deadlineMs = 10_000

/** Sends a request. If there is no response, the outcome is `unknown`, unless the request cannot have arrived. */
export async function postToProvider(
  http: OutgoingHttp,
  provider: string,
  request: Omit<OutgoingRequest, 'method' | 'deadlineMs'>,
  outcomeOf: (status: number, body: string) => DeliveryOutcome,
): Promise<DeliveryOutcome> {
  try {
    const { status, body } = await http.request({ ...request, method: 'POST', deadlineMs })
    return outcomeOf(status, body)
  } catch (error) {
    if (!isOutgoingHttpError(error)) throw error
    const outcome = error.mayHaveArrived ? 'unknown' : 'deferred'
    return { outcome, errorCode: `sms.${error.code}`, errorMessage: error.message, provider }
  }
}

/** Sends a request that changes nothing. Returns the JSON of a response with status 200; otherwise undefined. */
export async function readFromProvider(
  http: OutgoingHttp,
  request: Omit<OutgoingRequest, 'method' | 'deadlineMs'>,
): Promise<unknown> {
  try {
    const { status, body } = await http.request({ ...request, method: 'POST', deadlineMs })
    return status === 200 ? parseJsonOrUndefined(body) : undefined
  } catch (error) {
    if (!isOutgoingHttpError(error)) throw error
    return undefined
  }
}

/**
 * Checks the account with a request that changes nothing.
 *
 * @param rejectionOf returns a hint if the provider rejects the account
 * @throws ChannelError
 */
export async function checkAccount(
  http: OutgoingHttp,
  request: Omit<OutgoingRequest, 'method' | 'deadlineMs'>,
  rejectionOf: (response: OutgoingResponse) => SmsHint | undefined,
): Promise<readonly ChannelCheck[]> {
  let hint: SmsHint | undefined
  try {
    hint = rejectionOf(await http.request({ ...request, method: 'GET', deadlineMs }))
  } catch (error) {
    if (!isOutgoingHttpError(error)) throw error
    throw new ChannelError('connection', unreachable, ['configuration'], error.message)
  }
  if (hint === undefined) return ['configuration', 'connection', 'credentials']
  const reason = { en: en.sms.hints[hint], 'zh-CN': zhCN.sms.hints[hint] }
  if (hint === 'driver-busy') throw new ChannelError('connection', reason, ['configuration'])
  throw new ChannelError('credentials', reason, ['configuration', 'connection'])
}

const unreachable = bilingual('The SMS company cannot be reached.', '无法连接短信服务商。')

export function neededKeysOf(
  config: SmsConfig,
  needed: readonly SmsKey[],
  others: readonly string[],
): NeededConfigKeys {
  return { keys: [...needed, ...others], missingKeys: needed.filter((name) => config.get(name) === '') }
}
