import type { Identity } from '@plinth/iam'
import type { NotificationPreferences, ReaderFormat } from '@plinth/inbox'
import {
  type Clock,
  type NotificationChannel,
  type NotificationMessage,
  omitUndefined,
  type Recipient,
} from '@plinth/kernel'
import { mayBeKey } from './rendering.ts'

/** Columns of the owner of a row, for `callerRows`. */
export const recipientOwner = { user: 'user_id', org: 'org_id' } as const

/** Owner of a message: the user, or the organisation of several users. */
interface RecipientOwner {
  readonly userId: number | null
  readonly orgId: number | null
}

export type OwnerOf = (recipients: readonly Recipient[]) => Promise<RecipientOwner>

const nobody: RecipientOwner = { userId: null, orgId: null }

/**
 * Returns the function that finds the owner of a message. Messages to addresses or to several organisations have no
 * owner, so only operators with the data scope `all` see them.
 *
 * @param identity undefined in a product without users
 */
export const ownerFinder =
  (identity: Pick<Identity, 'commonOrganisation'> | undefined): OwnerOf =>
  async (recipients) => {
    const users = recipients.filter((recipient) => 'userId' in recipient)
    const userIds = new Set(users.map(({ userId }) => userId))
    const [userId] = userIds
    if (userId === undefined || users.length < recipients.length) return nobody
    if (userIds.size === 1) return { userId, orgId: null }
    return { userId: null, orgId: (await identity?.commonOrganisation([...userIds])) ?? null }
  }

/** Channels that do not send in quiet hours. */
const disturbing: readonly string[] = ['mail', 'sms', 'social', 'websocket', 'web-push', 'fcm']

interface QuietUsersDependencies {
  readonly clock: Pick<Clock, 'now'>
  readonly preferences: Pick<NotificationPreferences, 'quietUntil'> | undefined
}

export class QuietUsers {
  readonly #parts: QuietUsersDependencies

  constructor(parts: QuietUsersDependencies) {
    this.#parts = parts
  }

  /**
   * Returns the end of quiet hours by user, in milliseconds since the epoch. The result is empty for a channel that may
   * always send.
   */
  async on(channel: string, recipients: readonly Recipient[]): Promise<ReadonlyMap<number, number>> {
    const { preferences, clock } = this.#parts
    if (preferences === undefined || !disturbing.includes(channel)) return new Map()
    const userIds = recipients.flatMap((recipient) => ('userId' in recipient ? [recipient.userId] : []))
    if (userIds.length === 0) return new Map()
    const now = clock.now()
    return new Map([...(await preferences.quietUntil(userIds, now))].filter(([, end]) => end > now))
  }
}

/** Recipients with the same language and time zone. */
export interface ReaderGroup {
  readonly format: ReaderFormat
  readonly recipients: readonly Recipient[]
}

/** Returns the fields of a message to recipients with this language and time zone. */
export function readerFields({ locale, timeZone }: ReaderFormat): Partial<NotificationMessage> {
  if (locale === undefined && timeZone === undefined) return {}
  return omitUndefined({ locale, timeZone, readerGroup: `${locale ?? ''},${timeZone ?? ''}` })
}

/** Divides recipients by language and time zone. Each group gets its own text. */
export class Readers {
  readonly #preferences: Pick<NotificationPreferences, 'readerFormats'> | undefined

  constructor({ preferences }: { readonly preferences: Pick<NotificationPreferences, 'readerFormats'> | undefined }) {
    this.#preferences = preferences
  }

  /**
   * Returns the groups of the recipients that the channel reaches. Undefined if all recipients get the same text: the
   * message specifies a language, or has no text that depends on one, or the channel reaches none of its users. The last
   * case includes a channel that needs no recipients, such as a chat room, which gets each message once.
   */
  groupsOf(
    { recipients, locale, template, subject, content }: NotificationMessage,
    { recipientKinds, traits: { texts } }: Pick<NotificationChannel, 'recipientKinds' | 'traits'>,
  ): Promise<readonly ReaderGroup[]> | undefined {
    const preferences = this.#preferences
    const isTranslated = texts !== 'as-written' && (mayBeKey(subject) || mayBeKey(content))
    if (preferences === undefined || locale !== undefined || (template === undefined && !isTranslated)) return undefined
    const reached = recipients.filter(({ kind }) => recipientKinds.includes(kind))
    const userIds = reached.flatMap((recipient) => ('userId' in recipient ? [recipient.userId] : []))
    return userIds.length === 0 ? undefined : this.#divide(reached, preferences.readerFormats(userIds))
  }

  async #divide(
    recipients: readonly Recipient[],
    reading: Promise<ReadonlyMap<number, ReaderFormat>>,
  ): Promise<readonly ReaderGroup[]> {
    const formats = await reading
    const formatOf = (recipient: Recipient): ReaderFormat =>
      ('userId' in recipient ? formats.get(recipient.userId) : undefined) ?? {}
    const groups = Map.groupBy(recipients, (one) => JSON.stringify(formatOf(one)))
    return [...groups].map(([format, members]) => ({ format: JSON.parse(format), recipients: members }))
  }
}
