import type { Database } from '@plinth/database'
import type { Translator } from '@plinth/i18n'
import {
  asClass,
  asFunction,
  type Clock,
  type ConfigView,
  type Logger,
  type NotificationChannel,
  type NotificationMessage,
  type Resolvers,
  type ServicesOf,
} from '@plinth/kernel'
import { ChannelEntries } from './channels/channel-entries.ts'
import { ChannelOverview } from './channels/channel-overview.ts'
import { ChannelTests } from './channels/channel-tests.ts'
import { ChannelTexts } from './channels/channel-texts.ts'
import { ChannelVerifier } from './channels/channel-verifier.ts'
import type { config } from './config.ts'
import { verdictOn } from './delivery/automatic-retry.ts'
import { retryDue } from './delivery/message-part.ts'
import { MessageQueue } from './delivery/message-queue.ts'
import { QuietUsers } from './delivery/quiet-users.ts'
import { AdministratorsSend } from './facade/administrators-send.ts'
import { ChannelNotification } from './facade/channel-notification.ts'
import { type NotificationSettings, Outgoing, type SendMeter } from './facade/outgoing.ts'
import { localized } from './localized-text.ts'
import { type OwnerOf, ownerFinder } from './recipient-owner.ts'
import { Rendering } from './rendering.ts'
import type { requires } from './requires.ts'
import { SendRecorder } from './send-log/recorder.ts'

/** What the product gives to the plugin. */
interface Given extends ServicesOf<typeof requires> {
  readonly db: Database | undefined
  readonly translator: Translator | undefined
  readonly config: ConfigView<typeof config>
  readonly clock: Clock
  readonly log: Logger
  /** Masks what the configuration knows as secrets. */
  readonly redact: (text: string, more?: Iterable<unknown>) => string
  readonly channels: ReadonlyMap<string, NotificationChannel>
  /** Id of the plugin that brought a channel. */
  readonly contributor: (code: string) => string | undefined
  readonly settings: NotificationSettings
  readonly meter: SendMeter | undefined
  /** Counts sends that are not in the table and never will be. */
  readonly countLost: ((rows: number) => void) | undefined
}

/** Everything that the parts of the plugin may be made of, by name; each names what it needs by `Pick`. */
export interface Parts extends Given {
  readonly sendDeadlineMs: () => number
  /** Keeps a row of the send log to be sent again after a delay, in the transaction around it. */
  readonly retryLater: (logId: number, delayMs: number) => Promise<unknown>
  /** For whom a message is. */
  readonly ownerOf: OwnerOf
  /** Absent where the product has no database. */
  readonly recorder: SendRecorder | undefined
  readonly rendering: Rendering
  /** A hint in the language of the site, whose operators read it. */
  readonly hintText: (hint: string) => string
  /** What operators see of a message, also of one whose channel translates it for each reader. */
  readonly subjectOf: (message: NotificationMessage) => string
  readonly outgoing: Outgoing
  /** Absent where the product has no database. */
  readonly queue: MessageQueue | undefined
  readonly notification: ChannelNotification
  readonly quiet: QuietUsers
  readonly administrators: AdministratorsSend
  readonly entries: ChannelEntries
  readonly texts: ChannelTexts
  readonly verifier: ChannelVerifier
  readonly overview: ChannelOverview
  readonly tests: ChannelTests
}

/** Milliseconds after the deadline of its channel at which a send has come to an end for sure. */
const recordSlackMs = 30_000

/** A resolver for each part that is not given. */
export const resolvers: Resolvers<Parts, Given> = {
  sendDeadlineMs: asFunction(
    ({ settings }) =>
      () =>
        settings.sendDeadlineMs,
  ),
  retryLater: asFunction(
    ({ events }) =>
      async (logId, delayMs) =>
        events?.publish(retryDue, { logId }, { delayMs }),
  ),
  ownerOf: asFunction(({ identity }) => ownerFinder(identity)),
  recorder: asFunction(
    ({ db, clock, log, redact, countLost, channels, config, events, sendDeadlineMs, retryLater, ownerOf }) => {
      const retrySettings = () => ({
        enabled: events !== undefined && config.get('platform.notification.retry.enabled'),
        maxAttempts: config.get('platform.notification.retry.max-attempts'),
        firstDelayMs: config.get('platform.notification.retry.first-delay'),
        factor: config.get('platform.notification.retry.factor'),
        longestDelayMs: config.get('platform.notification.retry.longest-delay'),
      })
      return (
        db &&
        new SendRecorder({
          db,
          clock,
          log,
          redact,
          countLost,
          retryLater,
          ownerOf,
          longestSendMs: () => sendDeadlineMs() + recordSlackMs,
          judge: (code, result, row) => verdictOn(result, row, channels.get(code), retrySettings(), Math.random),
        })
      )
    },
  ),
  rendering: asClass(Rendering),
  hintText: asFunction(
    ({ translator }) =>
      (hint) =>
        translator?.resolve(translator.negotiate(undefined), hint) ?? hint,
  ),
  subjectOf: asFunction(
    ({ translator }) =>
      (message) =>
        (translator === undefined ? message : localized(message, translator)).subject,
  ),
  outgoing: asClass(Outgoing),
  queue: asFunction(
    ({ db, events, outgoing, subjectOf, redact, clock, ownerOf }) =>
      db && new MessageQueue({ db, events, outgoing, subjectOf, redact, clock, ownerOf }),
  ),
  notification: asClass(ChannelNotification),
  quiet: asClass(QuietUsers),
  administrators: asClass(AdministratorsSend),
  entries: asClass(ChannelEntries),
  texts: asClass(ChannelTexts),
  verifier: asClass(ChannelVerifier),
  overview: asClass(ChannelOverview),
  tests: asClass(ChannelTests),
}
