import type { Identity } from '@plinth/iam'
import type { NotificationPreferences } from '@plinth/inbox'
import type { Clock, Recipient } from '@plinth/kernel'

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
const disturbing: readonly string[] = ['mail', 'sms', 'social', 'websocket']

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
