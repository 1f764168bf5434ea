import type { NotificationPreferences } from '@plinth/inbox'
import type { Site } from '@plinth/site'

interface ReadersDependencies {
  readonly preferences: Pick<NotificationPreferences, 'quietUntil' | 'readerFormats'> | undefined
  readonly site: Pick<Site, 'timeZone'> | undefined
}

export interface TimeZones {
  of(userId: number): string
}

/** Time zones and quiet hours of users. A product without preferences has those of the site, and no quiet hours. */
export class Readers {
  readonly #parts: ReadersDependencies

  constructor(parts: ReadersDependencies) {
    this.#parts = parts
  }

  /** Returns the time zone of each user. Users without their own have that of the site. */
  async timeZones(userIds: readonly number[]): Promise<TimeZones> {
    const { preferences, site } = this.#parts
    const formats = userIds.length === 0 ? undefined : await preferences?.readerFormats(userIds)
    const common = site?.timeZone ?? 'UTC'
    return { of: (userId) => formats?.get(userId)?.timeZone ?? common }
  }

  /** Returns the ends of current quiet hours. @param now milliseconds since the epoch, like the results */
  async quietUntil(userIds: readonly number[], now: number): Promise<ReadonlyMap<number, number>> {
    if (userIds.length === 0) return new Map()
    return (await this.#parts.preferences?.quietUntil(userIds, now)) ?? new Map()
  }
}
