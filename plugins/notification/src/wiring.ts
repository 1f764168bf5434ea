import { type Database, database } from '@plinth/database'
import { events } from '@plinth/events'
import { http, metrics } from '@plinth/http'
import { i18n, type Translator } from '@plinth/i18n'
import { identity } from '@plinth/iam'
import { idempotency } from '@plinth/idempotency'
import { notificationCategories, notificationPreferences } from '@plinth/inbox'
import {
  asClass,
  asFunction,
  type Clock,
  type ConfigView,
  kernel,
  type Logger,
  type NotificationChannel,
  optional,
  type Resolvers,
  type ServicesOf,
  type Tracer,
  tracing,
} from '@plinth/kernel'
import { site } from '@plinth/site'
import { suppressions } from '@plinth/suppression'
import { templates } from '@plinth/template'
import { ChannelDirectory } from './channels/channel-entries.ts'
import { ChannelOverview } from './channels/channel-overview.ts'
import { ChannelTests } from './channels/channel-tests.ts'
import { ChannelTexts, ChannelVerifier } from './channels/channel-verifier.ts'
import type { keys } from './config.ts'
import { MessageQueue } from './delivery/message-queue.ts'
import { AdministratorsSend } from './facade/administrators-send.ts'
import { Audience } from './facade/audience.ts'
import { ChannelNotification } from './facade/channel-notification.ts'
import {
  type NotificationSettings,
  type OutgoingDependencies,
  OutgoingMessages,
  type SendMeter,
} from './facade/outgoing.ts'
import { type OwnerOf, ownerFinder, QuietUsers, Readers } from './recipients.ts'
import { MessageRenderer, translateMessage } from './rendering.ts'
import { type RecorderDependencies, SendRecorder } from './send-log/recorder.ts'
import { SendLogWriter } from './send-log/send-log-writer.ts'

export const requires = {
  kernel,
  http: optional(http),
  metrics: optional(metrics),
  database: optional(database),
  events: optional(events),
  preferences: optional(notificationPreferences),
  categories: optional(notificationCategories),
  suppressions: optional(suppressions),
  identity: optional(identity),
  idempotency: optional(idempotency),
  i18n: optional(i18n),
  site: optional(site),
  templates: optional(templates),
  tracing: optional(tracing),
} as const

/** Objects that the setup of the plugin passes in. */
interface Given
  extends ServicesOf<typeof requires>,
    Pick<OutgoingDependencies, 'redact'>,
    Pick<RecorderDependencies, 'countLost'> {
  readonly db: Database | undefined
  readonly translator: Translator | undefined
  readonly config: ConfigView<typeof keys>
  readonly clock: Clock
  readonly log: Logger
  readonly channels: ReadonlyMap<string, NotificationChannel>
  readonly contributor: (code: string) => string | undefined
  readonly settings: NotificationSettings
  readonly meter: SendMeter | undefined
  readonly tracer?: Tracer | undefined
}

export interface NotificationServices extends Given, Pick<OutgoingDependencies, 'hintText' | 'subjectOf'> {
  readonly ownerOf: OwnerOf
  /** Undefined in a product without a database. */
  readonly writer: SendLogWriter | undefined
  /** Undefined in a product without a database. */
  readonly recorder: SendRecorder | undefined
  readonly rendering: MessageRenderer
  readonly outgoing: OutgoingMessages
  /** Undefined in a product without a database. */
  readonly queue: MessageQueue | undefined
  readonly notification: ChannelNotification
  readonly quiet: QuietUsers
  readonly readers: Readers
  readonly administrators: AdministratorsSend
  readonly audience: Audience
  readonly entries: ChannelDirectory
  readonly texts: ChannelTexts
  readonly verifier: ChannelVerifier
  readonly overview: ChannelOverview
  readonly tests: ChannelTests
}

export const resolvers: Resolvers<NotificationServices, Given> = {
  ownerOf: asFunction(({ identity }) => ownerFinder(identity)),
  writer: asFunction(
    ({ db, events, clock, config, settings, channels, redact, ownerOf }) =>
      db && new SendLogWriter({ db, events, clock, config, settings, channels, redact, ownerOf }),
  ),
  recorder: asFunction(
    ({ db, writer, clock, log, countLost }) => db && writer && new SendRecorder({ db, writer, clock, log, countLost }),
  ),
  rendering: asClass(MessageRenderer),
  hintText: asFunction(
    ({ translator }) =>
      (hint) =>
        translator?.resolve(translator.negotiate(undefined), hint) ?? hint,
  ),
  subjectOf: asFunction(
    ({ translator }) =>
      (message) =>
        (translator === undefined ? message : translateMessage(message, translator)).subject,
  ),
  outgoing: asClass(OutgoingMessages),
  queue: asFunction(
    ({ db, events, outgoing, rendering, readers, subjectOf, redact, clock, ownerOf, log }) =>
      db && new MessageQueue({ db, events, outgoing, rendering, readers, subjectOf, redact, clock, ownerOf, log }),
  ),
  notification: asClass(ChannelNotification),
  quiet: asClass(QuietUsers),
  readers: asClass(Readers),
  administrators: asClass(AdministratorsSend),
  audience: asClass(Audience),
  entries: asClass(ChannelDirectory),
  texts: asClass(ChannelTexts),
  verifier: asClass(ChannelVerifier),
  overview: asClass(ChannelOverview),
  tests: asClass(ChannelTests),
}
