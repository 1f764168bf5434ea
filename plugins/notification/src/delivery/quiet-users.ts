import type { NotificationPreferences } from '@plinth/inbox'
import type { Clock, Recipient } from '@plinth/kernel'

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
