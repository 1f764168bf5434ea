import {
  bilingual,
  type ChannelCheck,
  ChannelFault,
  type Clock,
  type ConfigNeeds,
  type DeliveryOutcome,
} from '@plinth/kernel'
import {
  isOutgoingHttpError,
  type OutgoingHttp,
  type OutgoingRequest,
  type OutgoingResponse,
} from '@plinth/outgoing-http'
import type { SmsConfig, SmsKey } from '../config.ts'
import en from '../messages/en.json' with { type: 'json' }
import zhCN from '../messages/zh-CN.json' with { type: 'json' }
import type { SmsHint } from './answers.ts'

export interface DriverParts {
  readonly config: SmsConfig
  readonly http: OutgoingHttp
  readonly clock: Pick<Clock, 'now'>
}

const deadlineMs = 10_000

/** Asks a company to send. Without an answer the outcome is `unknown` when it may have got the message. */
export async function post(
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

/**
 * Asks a company something that has no effect.
 *
 * @param refusalOf what the answer says against the account; `undefined`: nothing
 * @throws ChannelFault
 */
export async function ask(
  http: OutgoingHttp,
  request: Omit<OutgoingRequest, 'method' | 'deadlineMs'>,
  refusalOf: (answer: OutgoingResponse) => SmsHint | undefined,
): Promise<readonly ChannelCheck[]> {
  let hint: SmsHint | undefined
  try {
    hint = refusalOf(await http.request({ ...request, method: 'GET', deadlineMs }))
  } catch (error) {
    if (!isOutgoingHttpError(error)) throw error
    throw new ChannelFault('connection', unreachable, ['configuration'], error.message)
  }
  if (hint === undefined) return ['configuration', 'connection', 'credentials']
  const reason = { en: en.sms.hints[hint], 'zh-CN': zhCN.sms.hints[hint] }
  if (hint === 'driver-busy') throw new ChannelFault('connection', reason, ['configuration'])
  throw new ChannelFault('credentials', reason, ['configuration', 'connection'])
}

const unreachable = bilingual('The SMS company cannot be reached.', '无法连接短信服务商。')

/** What a driver needs: keys without which it sends nothing, and others that it has. */
export function needsOf(config: SmsConfig, needed: readonly SmsKey[], others: readonly string[]): ConfigNeeds {
  return { keys: [...needed, ...others], missingKeys: needed.filter((name) => config.get(name) === '') }
}
