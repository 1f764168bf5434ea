import { createHash, createHmac } from 'node:crypto'
import { type DeliveryOutcome, omitUndefined } from '@plinth/kernel'
import { isMembers, jsonOf, memberAt } from '@plinth/outgoing-http'
import type { SmsDriver } from '../contract.ts'
import {
  type CodeMeaning,
  type DriverDependencies,
  deferred,
  missingTemplateOutcome,
  needsOf,
  outcomeWithoutErrorCode,
  post,
  refused,
  rejected,
  textAt,
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
  'AuthFailure.SecretIdNotFound': rejected('credentials-refused'),
  'AuthFailure.SignatureFailure': rejected('credentials-refused'),
  'AuthFailure.SignatureExpire': rejected('credentials-refused'),
  'AuthFailure.UnauthorizedOperation': rejected('permission-missing'),
  'FailedOperation.InsufficientBalanceInSmsPackage': rejected('balance-empty'),
  'FailedOperation.PhoneNumberInBlacklist': rejected('recipient-blocked'),
  'FailedOperation.SignatureIncorrectOrUnapproved': rejected('signature-refused'),
  'FailedOperation.TemplateIncorrectOrUnapproved': rejected('template-refused'),
  'FailedOperation.TemplateParamSetNotMatchApprovedTemplate': rejected('params-refused'),
  'FailedOperation.ContainSensitiveWord': rejected('params-refused'),
  'InvalidParameterValue.IncorrectPhoneNumber': rejected('number-refused'),
  'InvalidParameterValue.TemplateParameterFormatError': rejected('params-refused'),
  'InvalidParameterValue.TemplateParameterLengthLimit': rejected('params-refused'),
  'LimitExceeded.DeliveryFrequencyLimit': rejected('too-frequent'),
  'LimitExceeded.PhoneNumberDailyLimit': rejected('too-frequent'),
  'LimitExceeded.PhoneNumberOneHourLimit': rejected('too-frequent'),
  'LimitExceeded.PhoneNumberThirtySecondLimit': rejected('too-frequent'),
  'LimitExceeded.PhoneNumberSameContentDailyLimit': rejected('too-frequent'),
  'UnauthorizedOperation.SmsSdkAppIdVerifyFail': rejected('credentials-refused'),
  'UnauthorizedOperation.RequestIpNotInWhitelist': rejected('permission-missing'),
  RequestLimitExceeded: deferred('driver-busy'),
}

const code = 'tencent'
const neededKeys = [
  'platform.sms.tencent.secret-id',
  'platform.sms.tencent.secret-key',
  'platform.sms.tencent.app-id',
] as const

/** Driver for Tencent Cloud, SMS, operation SendSms of version 2021-01-11. */
export function tencent({ config, http, clock }: DriverDependencies): SmsDriver {
  const keys = () => ({
    id: config.get('platform.sms.tencent.secret-id'),
    key: config.get('platform.sms.tencent.secret-key'),
  })
  const needs = () =>
    needsOf(config, neededKeys, [
      'platform.sms.tencent.sign-name',
      'platform.sms.tencent.region',
      'platform.sms.tencent.endpoint',
    ])
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
      const url = new URL(config.get('platform.sms.tencent.endpoint'))
      const timestamp = Math.floor(clock.now() / 1000)
      const call = { service: 'sms', host: url.host, action: 'SendSms', body, timestamp }
      const headers = {
        'content-type': tencentContentType,
        authorization: tencentAuthorization(call, keys()),
        'x-tc-action': 'SendSms',
        'x-tc-version': '2021-01-11',
        'x-tc-region': config.get('platform.sms.tencent.region'),
        'x-tc-timestamp': String(timestamp),
      }
      return post(http, code, { url, headers, body, signal }, outcomeOf)
    },
  }
}

/** Returns the outcome of a call with one number. The response contains one status, or an error if the call failed. */
function outcomeOf(status: number, body: string): DeliveryOutcome {
  const response = memberAt(jsonOf(body), 'Response')
  const failure = memberAt(response, 'Error')
  const hasFailed = isMembers(failure)
  const answer = hasFailed ? failure : memberAt(response, 'SendStatusSet.0')
  const said = textAt(answer, 'Code')
  if (said === undefined) return outcomeWithoutErrorCode(code, status)
  if (said === 'Ok' && !hasFailed) {
    const messageId = textAt(answer, 'SerialNo')
    return omitUndefined({
      outcome: 'accepted',
      provider: code,
      providerCode: said,
      messageId,
    })
  }
  // An internal error may occur after the message was sent.
  if (said.startsWith('InternalError')) return outcomeWithoutErrorCode(code, 500)
  return refused(code, { status, code: said, message: textAt(answer, 'Message') ?? '' }, meanings[said])
}
