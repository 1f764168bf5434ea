import { categoryOf, type NotificationCategories, type NotificationPreferences } from '@plinth/inbox'
import type { NotificationChannel } from '@plinth/kernel'
import type { QuietUsers } from '../recipients.ts'

/** `users`: each user gets the message. `fixed`: it goes to the receiver in the configuration. `none`: nobody gets it. */
export const audiences = ['users', 'fixed', 'none'] as const

/** Maximum number of users that are listed by id. */
export const maxListedUsers = 50

interface ChannelAudience {
  readonly channel: string
  readonly enabled: boolean
  readonly audience: (typeof audiences)[number]
  /** Number of users who get the message. */
  readonly reached: number
  readonly withoutAddress: number
  /** The first users without an address. */
  readonly withoutAddressIds: readonly number[]
  /** Number of users who have switched off such messages on the channel. */
  readonly unwanted: number
  /** Number of users in quiet hours now. Unless the message is critical, they get it later. */
  readonly quiet: number
}

interface AudienceDependencies {
  readonly channels: ReadonlyMap<string, NotificationChannel>
  readonly quiet: QuietUsers
  readonly preferences: Pick<NotificationPreferences, 'wanted'> | undefined
  readonly categories: Pick<NotificationCategories, 'of'> | undefined
}

/** Counts who gets a message before it is sent. */
export class Audience {
  readonly #parts: AudienceDependencies

  constructor(parts: AudienceDependencies) {
    this.#parts = parts
  }

  /**
   * @param codes codes of loaded channels
   * @param module attribute of the message that determines its category
   */
  count(codes: readonly string[], userIds: readonly number[], module?: string): Promise<readonly ChannelAudience[]> {
    const category = this.#parts.categories?.of(module).code ?? categoryOf(module)
    return Promise.all(
      codes.flatMap((code) => {
        const channel = this.#parts.channels.get(code)
        return channel === undefined ? [] : [this.#on(code, channel, userIds, category)]
      }),
    )
  }

  async #on(
    code: string,
    channel: NotificationChannel,
    userIds: readonly number[],
    category: string,
  ): Promise<ChannelAudience> {
    const { preferences, quiet } = this.#parts
    const enabled = channel.enabled?.() ?? true
    const nobody = {
      channel: code,
      enabled,
      reached: 0,
      withoutAddress: 0,
      withoutAddressIds: [],
      unwanted: 0,
      quiet: 0,
    }
    if (channel.recipientKinds.length === 0) return { ...nobody, audience: 'fixed' }
    if (!channel.recipientKinds.includes('user')) return { ...nobody, audience: 'none' }
    const reachable = (await channel.reachable?.(userIds)) ?? new Set(userIds)
    const withAddress = userIds.filter((id) => reachable.has(id))
    const missing = userIds.filter((id) => !reachable.has(id))
    const wanted = await preferences?.wanted(withAddress, { channel: code, category })
    const reached = withAddress.filter((id) => wanted?.has(id) ?? true)
    const resting = await quiet.on(
      code,
      reached.map((userId) => ({ kind: 'user', userId })),
    )
    return {
      channel: code,
      enabled,
      audience: 'users',
      reached: reached.length,
      withoutAddress: missing.length,
      withoutAddressIds: missing.slice(0, maxListedUsers),
      unwanted: withAddress.length - reached.length,
      quiet: resting.size,
    }
  }
}
