import { createHash, createHmac } from 'node:crypto'
import { type DeliveryOutcome, omitUndefined, type ProviderReport } from '@plinth/kernel'
import { isJsonObject, parseJsonOrUndefined, valueAtPath } from '@plinth/outgoing-http'
import type { SmsDriver } from '../contract.ts'
import {
  type CodeMeaning,
  type DriverDependencies,
  deferredMeaning,
  missingTemplateOutcome,
  neededKeysOf,
  outcomeOfErrorCode,
  outcomeWithoutErrorCode,
  postToProvider,
  readFromProvider,
  rejectedMeaning,
  textAtPath,
} from './call.ts'

/** Data that a TC3-HMAC-SHA256 signature contains. */
interface TencentCall {
  readonly service: string
  readonly host: string
  /** Name of the operation. If absent, it is not signed. */
  readonly action?: string
  readonly body: string
  /** Time of the request in seconds since the epoch. */
  readonly timestamp: number
}

/** Content type of requests. It is part of the signature, so it must be sent exactly in this form. */
const tencentContentType = 'application/json; charset=utf-8'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()

/** Returns the header `authorization` for a POST request to `/` (Tencent Cloud API 3.0, "Signature v3"). */
export function tencentAuthorization(
  { service, host, action, body, timestamp }: TencentCall,
  { id, key }: { readonly id: string; readonly key: string },
): string {
  const headers: Readonly<Record<string, string>> = omitUndefined({
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

/** Meanings of the error codes of SendSms (Tencent Cloud, SMS, "Error codes"). */
const meanings: Readonly<Record<string, CodeMeaning | undefined>> = {
  'AuthFailure.SecretIdNotFound': rejectedMeaning('credentials-refused'),
  'AuthFailure.SignatureFailure': rejectedMeaning('credentials-refused'),
  'AuthFailure.SignatureExpire': rejectedMeaning('credentials-refused'),
  'AuthFailure.UnauthorizedOperation': rejectedMeaning('permission-missing'),
  'FailedOperation.InsufficientBalanceInSmsPackage': rejectedMeaning('balance-empty'),
  'FailedOperation.PhoneNumberInBlacklist': rejectedMeaning('recipient-blocked'),
  'FailedOperation.SignatureIncorrectOrUnapproved': rejectedMeaning('signature-refused'),
  'FailedOperation.TemplateIncorrectOrUnapproved': rejectedMeaning('template-refused'),
  'FailedOperation.TemplateParamSetNotMatchApprovedTemplate': rejectedMeaning('params-refused'),
  'FailedOperation.ContainSensitiveWord': rejectedMeaning('params-refused'),
  'InvalidParameterValue.IncorrectPhoneNumber': rejectedMeaning('number-refused'),
  'InvalidParameterValue.TemplateParameterFormatError': rejectedMeaning('params-refused'),
  'InvalidParameterValue.TemplateParameterLengthLimit': rejectedMeaning('params-refused'),
  'LimitExceeded.DeliveryFrequencyLimit': rejectedMeaning('too-frequent'),
  'LimitExceeded.PhoneNumberDailyLimit': rejectedMeaning('too-frequent'),
  'LimitExceeded.PhoneNumberOneHourLimit': rejectedMeaning('too-frequent'),
  'LimitExceeded.PhoneNumberThirtySecondLimit': rejectedMeaning('too-frequent'),
  'LimitExceeded.PhoneNumberSameContentDailyLimit': rejectedMeaning('too-frequent'),
  'UnauthorizedOperation.SmsSdkAppIdVerifyFail': rejectedMeaning('credentials-refused'),
  'UnauthorizedOperation.RequestIpNotInWhitelist': rejectedMeaning('permission-missing'),
  RequestLimitExceeded: deferredMeaning('driver-busy'),
}

const code = 'tencent'
const neededKeys = [
  'platform.sms.tencent.secret-id',
  'platform.sms.tencent.secret-key',
  'platform.sms.tencent.app-id',
] as const

/** Seconds by which the clock of the provider may be behind. */
const clockSlackSeconds = 60

/** Driver for Tencent Cloud, SMS, operation SendSms of version 2021-01-11. */
export function createTencentDriver({ config, http, clock }: DriverDependencies): SmsDriver {
  const keys = () => ({
    id: config.get('platform.sms.tencent.secret-id'),
    key: config.get('platform.sms.tencent.secret-key'),
  })
  const needs = () =>
    neededKeysOf(config, neededKeys, [
      'platform.sms.tencent.sign-name',
      'platform.sms.tencent.region',
      'platform.sms.tencent.endpoint',
    ])
  const requestOf = (action: string, body: string) => {
    const url = new URL(config.get('platform.sms.tencent.endpoint'))
    const timestamp = Math.floor(clock.now() / 1000)
    const headers = {
      'content-type': tencentContentType,
      authorization: tencentAuthorization({ service: 'sms', host: url.host, action, body, timestamp }, keys()),
      'x-tc-action': action,
      'x-tc-version': '2021-01-11',
      'x-tc-region': config.get('platform.sms.tencent.region'),
      'x-tc-timestamp': String(timestamp),
    }
    return { url, headers, body }
  }
  return {
    displayName: { en: 'Tencent Cloud', 'zh-CN': '腾讯云' },
    templateCodes: /^\d+$/,
    isConfigured: () => needs().missingKeys.length === 0,
    needs,
    async send({ to, templateCode, params, signName, reference }, signal): Promise<DeliveryOutcome> {
      if (templateCode === undefined) return missingTemplateOutcome(code)
      const body = JSON.stringify({
        PhoneNumberSet: [to],
        SmsSdkAppId: config.get('platform.sms.tencent.app-id'),
        SignName: signName ?? config.get('platform.sms.tencent.sign-name'),
        TemplateId: templateCode,
        TemplateParamSet: Object.values(params),
        SessionContext: reference,
      })
      return postToProvider(http, code, { ...requestOf('SendSms', body), signal }, outcomeOf)
    },
    async find({ to, reference, sentAt }, signal) {
      // Unlike PullSmsSendStatus, this operation leaves the results in the queue of the provider.
      const action = 'PullSmsSendStatusByPhoneNumber'
      const body = JSON.stringify({
        BeginTime: Math.floor(sentAt / 1000) - clockSlackSeconds,
        Offset: 0,
        Limit: 100,
        PhoneNumber: to,
        SmsSdkAppId: config.get('platform.sms.tencent.app-id'),
      })
      const response = await readFromProvider(http, { ...requestOf(action, body), signal })
      const entries = valueAtPath(response, 'Response.PullSmsSendStatusSet')
      const entry = Array.isArray(entries) && entries.find((one) => textAtPath(one, 'SessionContext') === reference)
      const status = textAtPath(entry, 'ReportStatus')
      if (status === undefined) return undefined
      return omitUndefined<ProviderReport>({
        provider: code,
        messageId: textAtPath(entry, 'SerialNo'),
        state: status === 'SUCCESS' ? 'delivered' : 'bounced',
        detail: textAtPath(entry, 'Description'),
      })
    },
  }
}

/** Returns the outcome of a call with one number. The response contains one status, or an error if the call failed. */
function outcomeOf(status: number, body: string): DeliveryOutcome {
  const response = valueAtPath(parseJsonOrUndefined(body), 'Response')
  const failure = valueAtPath(response, 'Error')
  const hasFailed = isJsonObject(failure)
  const answer = hasFailed ? failure : valueAtPath(response, 'SendStatusSet.0')
  const said = textAtPath(answer, 'Code')
  if (said === undefined) return outcomeWithoutErrorCode(code, status)
  if (said === 'Ok' && !hasFailed) {
    const messageId = textAtPath(answer, 'SerialNo')
    return omitUndefined({
      outcome: 'accepted',
      provider: code,
      providerCode: said,
      messageId,
    })
  }
  // An internal error may occur after the message was sent.
  if (said.startsWith('InternalError')) return outcomeWithoutErrorCode(code, 500)
  return outcomeOfErrorCode(code, { status, code: said, message: textAtPath(answer, 'Message') ?? '' }, meanings[said])
}
