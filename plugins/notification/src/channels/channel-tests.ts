import { type AuditEntry, audit, type Clock, type Kernel } from '@plinth/kernel'
import type { Site } from '@plinth/site'
import type { SendResult } from '../contract.ts'
import type { Sender } from '../delivery/message-queue.ts'
import type { QuietUsers } from '../delivery/quiet-users.ts'
import type { ChannelNotification } from '../facade/channel-notification.ts'
import type { SendEntry } from '../send-log/entries.ts'
import type { SendRecorder } from '../send-log/recorder.ts'
import type { ChannelEntries } from './channel-entries.ts'
import type { ChannelTexts } from './channel-texts.ts'
import { type TestRecipient, testTargetOf } from './test-recipient.ts'

interface ChannelTestParts {
  readonly entries: ChannelEntries
  readonly texts: ChannelTexts
  readonly notification: ChannelNotification
  readonly quiet: QuietUsers
  readonly kernel: Kernel
  readonly clock: Pick<Clock, 'now'>
  readonly site: Site | undefined
  /** Absent where the product has no database. */
  readonly recorder: Pick<SendRecorder, 'written'> | undefined
}

/** Who wants a test message, and in which language it is. */
interface Tester {
  readonly locale: string
  readonly sender: Sender
  readonly caller: Omit<AuditEntry, 'action' | 'subject' | 'summary'> & { readonly traceId: string }
}

interface ChannelTestResult {
  readonly result: SendResult
  /** Why it was not accepted, in the language of who asked where the product knows it; null when it was. */
  readonly reason: string | null
  /** Row of the send log; null when nothing was tried, or where there is no log. */
  readonly logId: number | null
}

/** Why nothing was tried, by the code of the result. */
const reasons = {
  'notification.disabled': 'all-off',
  'notification.channel-disabled': 'channel-off',
  'notification.unwanted': 'unwanted',
} as const
const isKnown = (code: string | null): code is keyof typeof reasons => code !== null && code in reasons

/** Sends a short fixed text through one channel, for somebody who wants to see it arrive. */
export class ChannelTests {
  readonly #parts: ChannelTestParts

  constructor(parts: ChannelTestParts) {
    this.#parts = parts
  }

  /**
   * Sends at once, to be found in the send log and the list of messages like any other. Somebody in quiet hours gets nothing; a
   * failed delivery is a result.
   *
   * @throws BusinessError `404` `notification.channel-not-found`, `400` `notification.test-recipient-missing`
   */
  async send(code: string, asked: TestRecipient, { locale, sender, caller }: Tester): Promise<ChannelTestResult> {
    const { entries, notification, kernel, quiet, recorder, texts } = this.#parts
    const entry = entries.find(code)
    const { recipients, attributes } = testTargetOf(entry, asked)
    // What leaves no trace must not happen.
    await audit(kernel, { ...caller, action: 'notification-channel.test', subject: code })
    const { channelCode } = entry
    const [quietUntil] = (await quiet.on(channelCode, recipients)).values()
    if (quietUntil !== undefined) {
      const reason = texts.say(locale, 'quiet', { until: this.#moment(quietUntil, locale) })
      return { result: keptBack(channelCode, reason), reason, logId: null }
    }
    const draft = { ...this.#text(locale), recipients, locale, attributes: { ...attributes, traceId: caller.traceId } }
    const logged: SendEntry[] = []
    const [result] = await notification.sendAs(draft, { channels: [channelCode] }, sender, (row) => logged.push(row))
    if (result === undefined) throw new Error('One channel gives one result')
    await recorder?.written()
    const row = logged.find(({ isLost }) => !isLost)
    const { errorCode, errorMessage, skipped } = result
    const known = skipped === true && isKnown(errorCode) ? texts.say(locale, reasons[errorCode]) : errorMessage
    return { result, reason: known, logId: row?.id ?? null }
  }

  #text(locale: string): { readonly subject: string; readonly content: string } {
    const { texts, site, kernel, clock } = this.#parts
    const named = { site: site?.title ?? kernel.product.name }
    const content = texts.say(locale, 'test-content', { ...named, time: this.#moment(clock.now(), locale) })
    return { subject: texts.say(locale, 'test-subject', named), content }
  }

  /** In the zone of the site, with its name. */
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
