import { type AuditEntry, type Clock, type Kernel, type Recipient, writeAuditEntry } from '@plinth/kernel'
import type { Site } from '@plinth/site'
import type { SendResult } from '../contract.ts'
import { businessError } from '../declarations.ts'
import type { Sender } from '../delivery/message-queue.ts'
import type { ChannelNotification } from '../facade/channel-notification.ts'
import type { QuietUsers } from '../recipients.ts'
import type { SendRecorder } from '../send-log/recorder.ts'
import type { SendEntry } from '../send-log/row.ts'
import type { ChannelDirectory, ChannelEntry } from './channel-entries.ts'
import type { ChannelTexts } from './channel-verifier.ts'

/** Request fields. A channel or provider needs one of them for a test message, or `nothing`. */
export const testFields = ['nothing', 'email', 'mobile', 'userId', 'openId', 'receiver'] as const
type TestField = (typeof testFields)[number]

interface TestRecipient {
  readonly email?: string | undefined
  readonly mobile?: string | undefined
  readonly userId?: number | undefined
  /** OpenID of a follower of the account `accountCode`. */
  readonly openId?: string | undefined
  readonly accountCode?: string | undefined
  /** Value of the attribute that the provider requires. */
  readonly receiver?: string | undefined
}

/**
 * Channel that takes the recipient from an attribute (document 2 of the specification, "Attributes of the `social`
 * channel").
 */
const social = 'social'

export function testFieldOf({ channelCode, channel, provider }: ChannelEntry): TestField {
  if (channelCode === social) return 'openId'
  if (provider?.receiver !== undefined) return 'receiver'
  const { recipientKinds: kinds } = channel
  if (kinds.includes('email')) return 'email'
  if (kinds.includes('mobile')) return 'mobile'
  return kinds.includes('user') || kinds.includes('websocket-user') ? 'userId' : 'nothing'
}

/** @throws BusinessError "400" `notification.test-recipient-missing` */
function testTargetOf(entry: ChannelEntry, requested: TestRecipient) {
  const { channelCode, channel, provider } = entry
  const needed = <T>(field: keyof TestRecipient, value: T | undefined): T => {
    if (value !== undefined && value !== '') return value
    throw businessError('test-recipient-missing', { data: { field } })
  }
  const attributes: Record<string, string> =
    provider === undefined ? {} : { [`${channelCode}.provider`]: provider.code }
  const to = (recipient?: Recipient) => ({ recipients: recipient === undefined ? [] : [recipient], attributes })
  switch (testFieldOf(entry)) {
    case 'email':
      return to({ kind: 'email', address: needed('email', requested.email) })
    case 'mobile':
      return to({ kind: 'mobile', number: needed('mobile', requested.mobile) })
    case 'userId': {
      const userId = needed('userId', requested.userId)
      return to({ kind: channel.recipientKinds.includes('user') ? 'user' : 'websocket-user', userId })
    }
    case 'openId':
      attributes['social.account-code'] = needed('accountCode', requested.accountCode)
      attributes['social.message-type'] = 'official-kefu-text'
      return to({ kind: 'social-openid', openId: needed('openId', requested.openId) })
    case 'receiver':
      attributes[provider?.receiver ?? ''] = needed('receiver', requested.receiver)
      return to()
    case 'nothing':
      return to()
  }
}

interface ChannelTestDependencies {
  readonly entries: ChannelDirectory
  readonly texts: ChannelTexts
  readonly notification: ChannelNotification
  readonly quiet: QuietUsers
  readonly kernel: Kernel
  readonly clock: Pick<Clock, 'now'>
  readonly site: Site | undefined
  /** Undefined in a product without a database. */
  readonly recorder: Pick<SendRecorder, 'written'> | undefined
}

interface Tester {
  readonly locale: string
  readonly sender: Sender
  readonly caller: Omit<AuditEntry, 'action' | 'subject' | 'summary'> & { readonly traceId: string }
}

interface ChannelTestResult {
  readonly result: SendResult
  /** Why the message was not accepted, in the caller's language if possible. Null on success. */
  readonly reason: string | null
  /** Id in the send log. Null if nothing was sent, or in a product without a send log. */
  readonly logId: number | null
}

/** Texts for the reasons, by error code. */
const reasons = {
  'notification.disabled': 'all-off',
  'notification.channel-disabled': 'channel-off',
  'notification.unwanted': 'unwanted',
} as const
const isKnown = (code: string | null): code is keyof typeof reasons => code !== null && code in reasons

/** Sends a short fixed text, to show that messages arrive. */
export class ChannelTests {
  readonly #parts: ChannelTestDependencies

  constructor(parts: ChannelTestDependencies) {
    this.#parts = parts
  }

  /**
   * Sends a test message immediately, but not to a user in quiet hours. The send log and the list of messages contain
   * the message. A failed delivery is returned, not thrown.
   *
   * @throws BusinessError "404" `notification.channel-not-found`, "400" `notification.test-recipient-missing`
   */
  async send(code: string, requested: TestRecipient, { locale, sender, caller }: Tester): Promise<ChannelTestResult> {
    const { entries, notification, kernel, quiet, recorder, texts } = this.#parts
    const entry = entries.find(code)
    const { recipients, attributes } = testTargetOf(entry, requested)
    // The audit is written first: if this fails, nothing is sent.
    await writeAuditEntry(kernel, { ...caller, action: 'notification-channel.test', subject: code })
    const { channelCode } = entry
    const [quietUntil] = (await quiet.on(channelCode, recipients)).values()
    if (quietUntil !== undefined) {
      const reason = texts.translate(locale, 'quiet', { until: this.#moment(quietUntil, locale) })
      return { result: keptBack(channelCode, reason), reason, logId: null }
    }
    const draft = { ...this.#text(locale), recipients, locale, attributes: { ...attributes, traceId: caller.traceId } }
    const logged: SendEntry[] = []
    const [result] = await notification.sendAs(draft, { channels: [channelCode] }, sender, (row) => logged.push(row))
    if (result === undefined) throw new Error('One channel gives one result')
    await recorder?.written()
    const row = logged.find(({ isLost }) => !isLost)
    const { errorCode, errorMessage, skipped } = result
    const known = skipped === true && isKnown(errorCode) ? texts.translate(locale, reasons[errorCode]) : errorMessage
    return { result, reason: known, logId: row?.id ?? null }
  }

  #text(locale: string): { readonly subject: string; readonly content: string } {
    const { texts, site, kernel, clock } = this.#parts
    const named = { site: site?.title ?? kernel.product.name }
    const content = texts.translate(locale, 'test-content', { ...named, time: this.#moment(clock.now(), locale) })
    return { subject: texts.translate(locale, 'test-subject', named), content }
  }

  /** Formats a time in the time zone of the site, with the name of the time zone. */
  #moment(ms: number, locale: string): string {
    const timeZone = this.#parts.site?.timeZone ?? 'UTC'
    const format = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'long', timeZone })
    return format.format(ms)
  }
}

const keptBack = (channel: string, errorMessage: string): SendResult => ({
  channel,
  success: false,
  outcome: 'deferred',
  messageId: '',
  skipped: true,
  errorCode: 'notification.quiet-hours',
  errorMessage,
})
