import {
  type ChannelProvider,
  type ChannelReadiness,
  errorReason,
  type Kernel,
  type Logger,
  type NotificationChannel,
} from '@plinth/kernel'
import { businessError } from '../declarations.ts'

/** A channel or a provider behind it. */
export interface ChannelEntry {
  /** Code such as `mail`, or `webhook.dingtalk` for a provider. */
  readonly code: string
  readonly channelCode: string
  readonly channel: NotificationChannel
  readonly provider: ChannelProvider | undefined
  readonly plugin: string | undefined
}

interface ChannelDirectoryDependencies {
  readonly channels: ReadonlyMap<string, NotificationChannel>
  readonly kernel: Pick<Kernel, 'plugins'>
  readonly log: Logger
  readonly contributor: (code: string) => string | undefined
}

/** Maximum number of channels and providers in the list. More are not listed. */
export const maxEntries = 500

export class ChannelDirectory {
  readonly #parts: ChannelDirectoryDependencies

  constructor(parts: ChannelDirectoryDependencies) {
    this.#parts = parts
  }

  /** Lists channels and providers, sorted by code, so that the providers follow their channel. */
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
   * Returns the condition of a channel. If the channel does not report one, the condition lists the keys of its plugin
   * that an operator can set.
   */
  conditionOf({ code, channel, provider, plugin }: ChannelEntry): ChannelReadiness {
    try {
      if (channel.condition !== undefined) return channel.condition(provider?.code)
    } catch (error) {
      this.#parts.log.error(
        { channel: code, reason: errorReason(error) },
        'the required keys of a notification channel cannot be determined',
      )
    }
    const { config = {} } = this.#parts.kernel.plugins.find(({ id }) => id === plugin) ?? {}
    const set = Object.entries(config).filter(([, key]) => key.state !== true)
    return { keys: set.map(([name]) => name), missingKeys: [] }
  }
}
