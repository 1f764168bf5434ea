import type { Identity } from '@plinth/iam'
import type { NotificationPreferences } from '@plinth/inbox'
import type { Clock, Recipient } from '@plinth/kernel'

/** How a row of the send log or of the list of messages leads to its user, for `callerRows`. */
export const recipientOwner = { user: 'user_id', org: 'org_id' } as const

/** The user, or the organisation of several users, that a message is for. */
interface RecipientOwner {
  readonly userId: number | null
  readonly orgId: number | null
}

/** For whom a message is. */
export type OwnerOf = (recipients: readonly Recipient[]) => Promise<RecipientOwner>

/** Of rows that name no user. */
const nobody: RecipientOwner = { userId: null, orgId: null }

/**
 * Finds for whom messages are: one user, or users of one organisation. A message for users of several organisations, or also for
 * addresses, belongs to nobody: only operators with scope `all` see it.
 *
 * @param identity absent where the product has no users
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

/** Channels that disturb: in quiet hours they wait. */
const disturbing: readonly string[] = ['mail', 'sms', 'social', 'websocket']

interface QuietUsersParts {
  readonly clock: Pick<Clock, 'now'>
  readonly preferences: Pick<NotificationPreferences, 'quietUntil'> | undefined
}

/** Users in quiet hours. */
export class QuietUsers {
  readonly #parts: QuietUsersParts

  constructor(parts: QuietUsersParts) {
    this.#parts = parts
  }

  /** The end of the quiet hours of each user who has them now, in milliseconds since the epoch; of nobody on a channel that does not disturb. */
  async on(channel: string, recipients: readonly Recipient[]): Promise<ReadonlyMap<number, number>> {
    const { preferences, clock } = this.#parts
    if (preferences === undefined || !disturbing.includes(channel)) return new Map()
    const userIds = recipients.flatMap((recipient) => ('userId' in recipient ? [recipient.userId] : []))
    if (userIds.length === 0) return new Map()
    const now = clock.now()
    return new Map([...(await preferences.quietUntil(userIds, now))].filter(([, end]) => end > now))
  }
}
