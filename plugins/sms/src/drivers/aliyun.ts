import { createHash, createHmac, randomUUID } from 'node:crypto'
import { type DeliveryOutcome, omitUndefined, type ProviderReport } from '@plinth/kernel'
import { parseJsonOrUndefined, valueAtPath } from '@plinth/outgoing-http'
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

/** Data that an ACS3-HMAC-SHA256 signature contains. */
interface AliyunCall {
  readonly host: string
  readonly action: string
  readonly version: string
  readonly query: Readonly<Record<string, string>>
  /** Time of the request in RFC 3339 form, in UTC without fractions, such as `2025-01-01T00:00:00Z`. */
  readonly date: string
  /** Text that is different for each request. */
  readonly nonce: string
}

const emptyHash = createHash('sha256').digest('hex')

/** Encodes a text as in RFC 3986. `encodeURIComponent` alone leaves five characters unencoded. */
const encoded = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)

/** Returns the query string, sorted by name. The signature requires that exactly this text is sent. */
const aliyunQuery = (query: Readonly<Record<string, string>>): string =>
  Object.entries(query)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .join('&')

/**
 * Returns the headers for a POST request to `/` without a body (Alibaba Cloud, "V3 request syntax and signature
 * method").
 */
export function aliyunHeaders(
  { host, action, version, query, date, nonce }: AliyunCall,
  { id, secret }: { readonly id: string; readonly secret: string },
): Record<string, string> {
  const headers = {
    host,
    'x-acs-action': action,
    'x-acs-content-sha256': emptyHash,
    'x-acs-date': date,
    'x-acs-signature-nonce': nonce,
    'x-acs-version': version,
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`)
  const names = Object.keys(headers).join(';')
  const canonical = ['POST', '/', aliyunQuery(query), lines.join(''), names, emptyHash].join('\n')
  const toSign = `ACS3-HMAC-SHA256\n${createHash('sha256').update(canonical).digest('hex')}`
  const signature = createHmac('sha256', secret).update(toSign).digest('hex')
  const { host: _, ...sent } = headers
  return {
    ...sent,
    authorization: `ACS3-HMAC-SHA256 Credential=${id},SignedHeaders=${names},Signature=${signature}`,
  }
}

/** Meanings of the error codes of SendSms (Alibaba Cloud, Short Message Service, "Error codes"). */
const meanings: Readonly<Record<string, CodeMeaning | undefined>> = {
  'isv.BUSINESS_LIMIT_CONTROL': rejectedMeaning('too-frequent'),
  'isv.DAY_LIMIT_CONTROL': rejectedMeaning('too-frequent'),
  'isv.MONTH_LIMIT_CONTROL': rejectedMeaning('too-frequent'),
  'isv.MOBILE_NUMBER_ILLEGAL': rejectedMeaning('number-refused'),
  'isv.MOBILE_COUNT_OVER_LIMIT': rejectedMeaning('number-refused'),
  'isv.BLACK_KEY_CONTROL_LIMIT': rejectedMeaning('params-refused'),
  'isv.TEMPLATE_MISSING_PARAMETERS': rejectedMeaning('params-refused'),
  'isv.TEMPLATE_PARAMS_ILLEGAL': rejectedMeaning('params-refused'),
  'isv.PARAM_LENGTH_LIMIT': rejectedMeaning('params-refused'),
  'isv.INVALID_PARAMETERS': rejectedMeaning('params-refused'),
  'isv.INVALID_JSON_PARAM': rejectedMeaning('params-refused'),
  'isv.SMS_TEMPLATE_ILLEGAL': rejectedMeaning('template-refused'),
  'isv.SMS_SIGNATURE_ILLEGAL': rejectedMeaning('signature-refused'),
  'isv.SMS_SIGN_ILLEGAL': rejectedMeaning('signature-refused'),
  'isv.AMOUNT_NOT_ENOUGH': rejectedMeaning('balance-empty'),
  'isv.OUT_OF_SERVICE': rejectedMeaning('balance-empty'),
  'isv.PRODUCT_UN_SUBSCRIPT': rejectedMeaning('permission-missing'),
  'isv.PRODUCT_UNSUBSCRIBE': rejectedMeaning('permission-missing'),
  'isv.ACCOUNT_NOT_EXISTS': rejectedMeaning('credentials-refused'),
  'isv.ACCOUNT_ABNORMAL': rejectedMeaning('credentials-refused'),
  'isp.RAM_PERMISSION_DENY': rejectedMeaning('permission-missing'),
  'InvalidAccessKeyId.NotFound': rejectedMeaning('credentials-refused'),
  SignatureDoesNotMatch: rejectedMeaning('credentials-refused'),
  'isp.SYSTEM_ERROR': deferredMeaning('driver-busy'),
  'Throttling.User': deferredMeaning('driver-busy'),
  Throttling: deferredMeaning('driver-busy'),
  ServiceUnavailable: deferredMeaning('driver-busy'),
}

const code = 'aliyun'
const neededKeys = ['platform.sms.aliyun.access-key-id', 'platform.sms.aliyun.access-key-secret'] as const

/** A number in China is sent without its country code, any other number with it, but without the plus sign. */
const numberAt = (to: string) => to.replace(/^\+(?:86)?/, '')

/** States of QuerySendDetails. Other operations use other numbers. */
const sendStates: Readonly<Record<string, ProviderReport['state'] | undefined>> = {
  '1': 'sent',
  '2': 'bounced',
  '3': 'delivered',
}

/** Driver for Alibaba Cloud, Short Message Service, operation SendSms of version 2017-05-25. */
export function createAliyunDriver({ config, http, clock }: DriverDependencies): SmsDriver {
  const keys = () => ({
    id: config.get('platform.sms.aliyun.access-key-id'),
    secret: config.get('platform.sms.aliyun.access-key-secret'),
  })
  const needs = () =>
    neededKeysOf(config, neededKeys, ['platform.sms.aliyun.sign-name', 'platform.sms.aliyun.endpoint'])
  const requestOf = (action: string, query: Readonly<Record<string, string>>) => {
    const url = new URL(config.get('platform.sms.aliyun.endpoint'))
    url.search = aliyunQuery(query)
    const date = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z')
    const call = { host: url.host, action, version: '2017-05-25', query, date, nonce: randomUUID() }
    return { url, headers: aliyunHeaders(call, keys()) }
  }
  return {
    displayName: { en: 'Alibaba Cloud', 'zh-CN': '阿里云' },
    templateCodes: /^SMS_\d+$/,
    isConfigured: () => needs().missingKeys.length === 0,
    needs,
    async send({ to, templateCode, params, signName, reference }, signal): Promise<DeliveryOutcome> {
      if (templateCode === undefined) return missingTemplateOutcome(code)
      const query = {
        PhoneNumbers: numberAt(to),
        SignName: signName ?? config.get('platform.sms.aliyun.sign-name'),
        TemplateCode: templateCode,
        TemplateParam: JSON.stringify(params),
        OutId: reference,
      }
      return postToProvider(http, code, { ...requestOf('SendSms', query), signal }, outcomeOf)
    },
    async find({ to, reference, sentAt }, signal) {
      const query = {
        PhoneNumber: numberAt(to),
        // The day in the time of China.
        SendDate: new Date(sentAt + 8 * 3_600_000).toISOString().slice(0, 10).replaceAll('-', ''),
        PageSize: '50',
        CurrentPage: '1',
      }
      const response = await readFromProvider(http, { ...requestOf('QuerySendDetails', query), signal })
      const details = valueAtPath(response, 'SmsSendDetailDTOs.SmsSendDetailDTO')
      const detail = Array.isArray(details) && details.find((one) => textAtPath(one, 'OutId') === reference)
      const state = sendStates[textAtPath(detail, 'SendStatus') ?? '']
      return state && omitUndefined<ProviderReport>({ provider: code, state, detail: textAtPath(detail, 'ErrCode') })
    },
  }
}

function outcomeOf(status: number, body: string): DeliveryOutcome {
  const response = parseJsonOrUndefined(body)
  const said = textAtPath(response, 'Code')
  if (said === undefined) return outcomeWithoutErrorCode(code, status)
  const message = textAtPath(response, 'Message') ?? ''
  if (said !== 'OK') return outcomeOfErrorCode(code, { status, code: said, message }, meanings[said])
  const messageId = textAtPath(response, 'BizId')
  return omitUndefined({ outcome: 'accepted', provider: code, providerCode: said, messageId })
}
