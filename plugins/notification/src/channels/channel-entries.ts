import {
  type ChannelCondition,
  type ChannelProvider,
  type Kernel,
  type Logger,
  type NotificationChannel,
  reasonOf,
} from '@plinth/kernel'
import { businessError } from '../failures.ts'

/** A channel, or a provider behind a channel, as operators see it. */
export interface ChannelEntry {
  /** Code of the channel, such as `mail`; for a provider, for example `webhook.dingtalk`. */
  readonly code: string
  /** Code of the channel. */
  readonly channelCode: string
  readonly channel: NotificationChannel
  readonly provider: ChannelProvider | undefined
  /** Id of the plugin that contributed the channel. */
  readonly plugin: string | undefined
}

interface ChannelEntriesParts {
  readonly channels: ReadonlyMap<string, NotificationChannel>
  readonly kernel: Pick<Kernel, 'plugins'>
  readonly log: Logger
  readonly contributor: (code: string) => string | undefined
}

/** Maximum number of entries. Further ones are not listed. */
export const maxEntries = 500

/** Finds the channels and providers of the product by code. */
export class ChannelEntries {
  readonly #parts: ChannelEntriesParts

  constructor(parts: ChannelEntriesParts) {
    this.#parts = parts
  }

  /** Returns the entries sorted by code, so that providers follow their channel. */
  all(): readonly ChannelEntry[] {
    const { channels, contributor } = this.#parts
    const entries = [...channels].flatMap(([channelCode, channel]): ChannelEntry[] => {
      const own = { code: channelCode, channelCode, channel, plugin: contributor(channelCode) }
      const providers = channel.providers?.() ?? []
      return [
        { ...own, provider: undefined },
        ...providers.map((provider) => ({ ...own, code: `${channelCode}.${provider.code}`, provider })),
      ]
    })
    return entries.sort((a, b) => (a.code < b.code ? -1 : 1)).slice(0, maxEntries)
  }

  /** @throws BusinessError "404" `notification.channel-not-found` */
  find(code: string): ChannelEntry {
    const found = this.all().find((entry) => entry.code === code)
    if (found === undefined) throw businessError('channel-not-found', { params: { channel: code } })
    return found
  }

  /**
   * Returns the condition of a channel. If the channel does not report one, the result lists the keys of its plugin
   * that an operator can set.
   */
  conditionOf({ code, channel, provider, plugin }: ChannelEntry): ChannelCondition {
    try {
      if (channel.condition !== undefined) return channel.condition(provider?.code)
    } catch (error) {
      this.#parts.log.error(
        { channel: code, reason: reasonOf(error) },
        'the required keys of a notification channel cannot be determined',
      )
    }
    const { config = {} } = this.#parts.kernel.plugins.find(({ id }) => id === plugin) ?? {}
    const set = Object.entries(config).filter(([, key]) => key.state !== true)
    return { keys: set.map(([name]) => name), missingKeys: [] }
  }
}
