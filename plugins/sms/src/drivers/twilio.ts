import { createHmac, timingSafeEqual } from 'node:crypto'
import type { DeliveryOutcome } from '@plinth/kernel'
import { parseJsonOrUndefined } from '@plinth/outgoing-http'
import type { SmsDriver } from '../contract.ts'
import {
  type CodeMeaning,
  checkAccount,
  type DriverDependencies,
  deferredMeaning,
  neededKeysOf,
  outcomeOfErrorCode,
  outcomeWithoutErrorCode,
  postToProvider,
  rejectedMeaning,
  textAtPath,
} from './call.ts'

/** Returns the signature of the URL followed by the parameters, sorted by name (Twilio, "Validating requests"). */
export function twilioSignature(token: string, url: string, params: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(params)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => name + value)
  return createHmac('sha1', token)
    .update(url + pairs.join(''))
    .digest('base64')
}

/** Compares signatures in constant time, so that the duration reveals nothing about the expected one. */
export function isTwilioSignature(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Meanings of error codes (Twilio, "Error and warning dictionary"). */
const meanings: Readonly<Record<string, CodeMeaning | undefined>> = {
  20003: rejectedMeaning('credentials-refused'),
  20404: rejectedMeaning('credentials-refused'),
  20429: deferredMeaning('driver-busy'),
  21211: rejectedMeaning('number-refused'),
  21212: rejectedMeaning('sender-refused'),
  21408: rejectedMeaning('permission-missing'),
  21603: rejectedMeaning('sender-refused'),
  21606: rejectedMeaning('sender-refused'),
  21610: rejectedMeaning('recipient-blocked'),
  21612: rejectedMeaning('number-refused'),
  21614: rejectedMeaning('number-refused'),
  21617: rejectedMeaning('params-refused'),
  21705: rejectedMeaning('sender-refused'),
  30001: deferredMeaning('driver-busy'),
  63038: rejectedMeaning('too-frequent'),
}

const code = 'twilio'
const neededKeys = [
  'platform.sms.twilio.account-sid',
  'platform.sms.twilio.auth-token',
  'platform.sms.twilio.from',
] as const
const maxBodyLength = 1_600
/** Form of a content SID (Twilio, error 21655). */
const contentSid = /^HX[0-9a-fA-F]{32}$/

/**
 * Driver for Twilio, resource Messages of version 2010-04-01. If the template code is a content SID (HX...), it is sent
 * with the parameters as its variables. Otherwise the text is sent.
 */
export function createTwilioDriver({ config, http }: DriverDependencies): SmsDriver {
  const account = () => config.get('platform.sms.twilio.account-sid')
  const token = () => config.get('platform.sms.twilio.auth-token')
  const from = () => config.get('platform.sms.twilio.from')
  const endpoint = () => config.get('platform.sms.twilio.endpoint')
  const authorization = () => `Basic ${Buffer.from(`${account()}:${token()}`).toString('base64')}`
  const needs = () =>
    neededKeysOf(config, neededKeys, ['platform.sms.twilio.endpoint', 'platform.sms.twilio.status-callback'])
  return {
    displayName: { en: 'Twilio', 'zh-CN': 'Twilio' },
    templateCodes: contentSid,
    isConfigured: () => needs().missingKeys.length === 0,
    needs,
    hasReceipts: () => config.get('platform.sms.twilio.status-callback') !== '',
    async verify(signal) {
      const url = new URL(`/2010-04-01/Accounts/${encodeURIComponent(account())}.json`, endpoint())
      return checkAccount(http, { url, headers: { authorization: authorization() }, signal }, ({ status, body }) => {
        if (status === 200 && textAtPath(parseJsonOrUndefined(body), 'sid') === account()) return undefined
        return status === 401 || status === 404 ? 'credentials-refused' : 'driver-busy'
      })
    },
    async send({ to, content, templateCode, params, reference }, signal): Promise<DeliveryOutcome> {
      const isTemplate = templateCode !== undefined && contentSid.test(templateCode)
      if (!isTemplate && content.length > maxBodyLength) {
        const errorMessage = `A text has at most ${maxBodyLength} characters`
        return { outcome: 'rejected', errorCode: 'sms.content-too-long', errorMessage, provider: code }
      }
      const callback = config.get('platform.sms.twilio.status-callback')
      // A sender of another channel, such as `whatsapp:`, needs a recipient of the same channel.
      const [channel = ''] = /^[a-z]+:/.exec(from()) ?? []
      const body = new URLSearchParams({
        To: `${channel}${to}`,
        ...(from().startsWith('MG') ? { MessagingServiceSid: from() } : { From: from() }),
        ...(isTemplate ? { ContentSid: templateCode, ContentVariables: JSON.stringify(params) } : { Body: content }),
        ...(callback === '' ? {} : { StatusCallback: callbackUrl(callback, reference) }),
      })
      const path = `/2010-04-01/Accounts/${encodeURIComponent(account())}/Messages.json`
      const headers = {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: authorization(),
      }
      const url = new URL(path, endpoint())
      return postToProvider(http, code, { url, headers, body: body.toString(), signal }, outcomeOf)
    },
  }
}

/**
 * Returns the address for the receipts of a message. Twilio signs it, and has no other member for an own reference.
 *
 * @param reference undefined for a message of an earlier release
 */
export const callbackUrl = (site: string, reference: string | undefined): string =>
  `${site}${receiptPath}${reference === undefined ? '' : `?ref=${encodeURIComponent(reference)}`}`

export const receiptPath = '/api/v1/sms/receipts/twilio'

function outcomeOf(status: number, body: string): DeliveryOutcome {
  const response = parseJsonOrUndefined(body)
  const messageId = textAtPath(response, 'sid')
  if (status >= 200 && status < 300 && messageId !== undefined)
    return { outcome: 'accepted', provider: code, messageId }
  const said = textAtPath(response, 'code')
  if (said === undefined || status < 400) return outcomeWithoutErrorCode(code, status)
  return outcomeOfErrorCode(
    code,
    { status, code: said, message: textAtPath(response, 'message') ?? '' },
    meanings[said],
  )
}
