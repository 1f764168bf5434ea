import { type Events, event } from '@plinth/events'
import { Type } from '@plinth/http'
import type { Logger } from '@plinth/kernel'
import type { FastifyPluginAsync } from 'fastify'
import type { SmsConfig } from './config.ts'
import { callbackUrl, isTwilioSignature, receiptPath, twilioSignature } from './drivers/twilio.ts'

/** Event: what happened to a message after the provider accepted it. */
export const smsReceipt = event(
  'sms.receipt',
  Type.Object({
    driver: Type.String(),
    /** Id of the message: `messageId` of the accepted outcome. */
    messageId: Type.String(),
    status: Type.Union([Type.Literal('delivered'), Type.Literal('failed')]),
    /** Error code of the provider; null if the message was delivered. */
    code: Type.Union([Type.String(), Type.Null()]),
    /** State that the provider named, such as `undelivered`. Absent in events of earlier releases. */
    state: Type.Optional(Type.String()),
    /** `reference` of the message, if the receipt contains it. */
    reference: Type.Optional(Type.String()),
  }),
)

const ends: Readonly<Record<string, 'delivered' | 'failed' | undefined>> = {
  delivered: 'delivered',
  read: 'delivered',
  undelivered: 'failed',
  failed: 'failed',
}

const largestBody = 16_384

/**
 * Receives receipts of Twilio. Their signature contains the public URL and the form (Twilio, "Validating requests").
 */
export function twilioReceipts(config: SmsConfig, events: Events | undefined, log: Logger): FastifyPluginAsync {
  return async (app) => {
    app.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: largestBody },
      (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
    )
    app.post<{ Body: Record<string, string>; Querystring: { ref?: unknown } }>(receiptPath, async (request, reply) => {
      const [token, address] = [
        config.get('platform.sms.twilio.auth-token'),
        config.get('platform.sms.twilio.status-callback'),
      ]
      const given = request.headers['x-twilio-signature']
      const params = request.body ?? {}
      const { ref } = request.query
      const reference = typeof ref === 'string' && /^[\w.-]{1,64}$/.test(ref) ? ref : undefined
      const isProven =
        token !== '' &&
        address !== '' &&
        typeof given === 'string' &&
        isTwilioSignature(given, twilioSignature(token, callbackUrl(address, reference), params))
      if (!isProven) return reply.code(403).send()
      const { MessageSid: messageId = '', MessageStatus = '', ErrorCode: code = null } = params
      const status = ends[MessageStatus]
      if (messageId !== '' && status !== undefined) {
        log.debug({ messageId, status, code }, 'receipt of a text message')
        const about = { driver: 'twilio', messageId, status, code, state: MessageStatus }
        await events?.publish(smsReceipt, reference === undefined ? about : { ...about, reference })
      }
      return reply.code(204).send()
    })
  }
}
