import type { Identity } from '@plinth/iam'
import type { NotificationPreferences } from '@plinth/inbox'
import type { Clock, Recipient } from '@plinth/kernel'

/** Columns of the owner in the send log and the list of messages, for `callerRows`. */
export const recipientOwner = { user: 'user_id', org: 'org_id' } as const

/** Owner of a message: its user, or the organisation of its users. */
interface RecipientOwner {
  readonly userId: number | null
  readonly orgId: number | null
}

/** Returns the owner of a message. */
export type OwnerOf = (recipients: readonly Recipient[]) => Promise<RecipientOwner>

/** Owner of messages without users. */
const nobody: RecipientOwner = { userId: null, orgId: null }

/**
 * Finds the owner of messages: one user, or the organisation of several users. Messages for several organisations or
 * for addresses have no owner, so only operators with scope `all` see them.
 *
 * @param identity absent in a product without users
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
const disturbing: readonly string[] = ['mail', 'sms', 'social', 'websocket']

interface QuietUsersParts {
  readonly clock: Pick<Clock, 'now'>
  readonly preferences: Pick<NotificationPreferences, 'quietUntil'> | undefined
}

/** Finds users in quiet hours. */
export class QuietUsers {
  readonly #parts: QuietUsersParts

  constructor(parts: QuietUsersParts) {
    this.#parts = parts
  }

  /**
   * Returns the users in quiet hours with their end, in milliseconds since the epoch. Empty for a channel that also
   * sends in quiet hours.
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
