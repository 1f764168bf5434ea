import type { Translator } from '@plinth/i18n'
import type { VerificationChannel, VerificationCodeSender, VerificationMessage } from '@plinth/iam'
import type { Recipient } from '@plinth/kernel'
import { omitUndefined } from '@plinth/kernel'
import type { Site } from '@plinth/site'
import type { MessageDraft, Notification } from '../contract.ts'
import en from '../messages/en.json' with { type: 'json' }

/** Channel and recipient for each way to send a code (document 1 of the specification, "Verification-code limiter"). */
const targets: Readonly<Record<VerificationChannel, { channel: string; recipient: (to: string) => Recipient }>> = {
  sms: { channel: 'sms', recipient: (number) => ({ kind: 'mobile', number }) },
  email: { channel: 'mail', recipient: (address) => ({ kind: 'email', address }) },
}

/**
 * Sends verification codes through the channels `sms` and `mail`, if they are loaded. The idempotency key is the id of
 * the message and not the trace id, because several calls can have the same trace id.
 */
export function notificationSender(
  notification: Notification,
  translator: Pick<Translator, 'negotiate' | 'translate'> | undefined,
  site: Pick<Site, 'isNamed' | 'name'> | undefined,
): VerificationCodeSender {
  const loaded = new Set(notification.channels().map(({ code }) => code))
  const isLoaded = (channel: VerificationChannel) => loaded.has(targets[channel].channel)
  return {
    channels: (['sms', 'email'] as const).filter(isLoaded),
    isReady: (channel) =>
      notification.channels().find(({ code }) => code === targets[channel].channel)?.enabled === true,
    async send(message, signal) {
      const { channel, recipient } = targets[message.channel]
      const draft = {
        ...draftOf(message, translator, site?.isNamed === true ? site.name : ''),
        recipients: [recipient(message.recipient)],
      }
      await notification.sendTo(channel, draft, { signal })
    },
  }
}

/** Creates the message with a code. Its text is for channels without templates. */
function draftOf(
  { code, ttlMs, locale, traceId, subject, template, templateCode, signName, provider }: VerificationMessage,
  translator: Pick<Translator, 'negotiate' | 'translate'> | undefined,
  siteName: string,
): MessageDraft {
  const language = translator?.negotiate(locale) ?? 'en'
  const variables = { code, validity: durationText(ttlMs, language), ...(siteName === '' ? {} : { site: siteName }) }
  const text = siteName === '' ? 'content' : 'content-of-site'
  const content =
    translator?.translate(language, `messages.verification-codes.${text}`, variables) ??
    en['verification-codes'][text]
      .replace('{{site}}', () => siteName)
      .replace('{{code}}', code)
      .replace('{{validity}}', variables.validity)
  const forProvider = { 'sms.template-code': templateCode, 'sms.sign-name': signName, 'sms.provider': provider }
  return omitUndefined({
    content,
    variables,
    secretVariables: ['code'],
    attributes: omitUndefined<NonNullable<MessageDraft['attributes']>>({ ...forProvider, traceId }),
    locale,
    subject,
    template,
  })
}

/** Formats a duration in the largest unit without a fraction, for example `5 minutes`. */
function durationText(ms: number, language: string): string {
  const units = [
    ['hour', 3_600_000],
    ['minute', 60_000],
  ] as const
  const [unit, size] = units.find(([, size]) => ms % size === 0) ?? ['second', 1000]
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(Math.floor(ms / size))
}
