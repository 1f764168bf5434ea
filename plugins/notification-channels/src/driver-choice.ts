import type { Account, Accounts } from '@plinth/iam'
import {
  type ChannelCheck,
  type ChannelReadiness,
  channelChecks,
  type DeliveryOutcome,
  key,
  type NeededConfigKeys,
  type NotificationChannel,
  type Recipient,
} from '@plinth/kernel'
import {
  ProviderChoice,
  type ProviderChoiceOptions,
  type ProviderStrategy,
  providerStrategies,
} from './provider-choice.ts'

export const driverKeys = {
  strategy: key.enum({
    title: { en: 'Driver strategy', 'zh-CN': '驱动选择策略' },
    description: {
      en: 'single: the configured driver of the service. failover: the drivers in their order; if one fails, the next one is used. round-robin: in turn, with failover.',
      'zh-CN':
        'single：使用该设施配置的驱动；failover：按顺序尝试，前一个发生故障时使用下一个；round-robin：轮流使用，故障时切换。',
    },
    values: providerStrategies,
    default: 'single',
    reload: 'live',
  }),
  order: key.stringList({
    title: { en: 'Driver order', 'zh-CN': '驱动顺序' },
    description: {
      en: 'Used with failover and round-robin. Drivers with an incomplete configuration are skipped. If empty, only the driver that is configured for the service is used.',
      'zh-CN': '用于 failover 和 round-robin，配置不完整的驱动会被跳过；留空时只使用该服务配置的驱动。',
    },
    default: [],
    items: { pattern: '^[a-z][a-z0-9-]{0,63}$' },
    rule: {
      en: 'be the code of a driver: at most 64 lower-case letters, digits and "-", starting with a letter',
      'zh-CN': '是驱动代码：以小写字母开头，由小写字母、数字和“-”组成，最多 64 个字符',
    },
    maxItems: 32,
    uniqueItems: true,
    reload: 'live',
  }),
  rest: key.duration({
    title: { en: 'Pause of a failed driver', 'zh-CN': '故障驱动的暂缓时间' },
    description: {
      en: 'During this time, the other drivers are used first. If the driver reports a retry time, that time applies.',
      'zh-CN': '在此期间优先使用其他驱动；驱动告知重试时间时以其为准。',
    },
    default: '1m',
    minimum: '0s',
    maximum: '1d',
    reload: 'live',
  }),
}

/** Returns the names of the keys for the choice of a driver, and of the key `enabled`. */
export const driverKeyNames = (channel: string): readonly string[] =>
  ['enabled', 'strategy', 'drivers-order', 'driver-rest'].map((name) => `${channel}.${name}`)

type Failure = Exclude<DeliveryOutcome, { outcome: 'accepted' }>

interface DriverChoiceOptions extends Pick<ProviderChoiceOptions, 'clock' | 'restMs'> {
  readonly strategy: () => ProviderStrategy
  readonly order: () => readonly string[]
  /** Returns the codes of the drivers that can send. */
  readonly ready: () => readonly string[]
  /** True if the driver failed, and not the recipient or the message. */
  readonly isFaulty: (failure: Failure) => boolean
  /**
   * True if the next driver is tried after a failure that `isFaulty` does not attribute to the driver. Default: false
   * for each failure.
   */
  readonly movesOn?: (failure: Failure) => boolean
}

export class DriverChoice {
  readonly #parts: DriverChoiceOptions
  readonly #choice: ProviderChoice

  constructor(parts: DriverChoiceOptions) {
    this.#parts = parts
    const isFaulty = (failure: DeliveryOutcome) => failure.outcome !== 'accepted' && parts.isFaulty(failure)
    const movesOn = (failure: DeliveryOutcome) =>
      isFaulty(failure) || (failure.outcome !== 'accepted' && parts.movesOn?.(failure) === true)
    this.#choice = new ProviderChoice({ ...parts, isFaulty, movesOn })
  }

  /** True if the channel has an order of drivers. Always false for the strategy `single`, which has no order. */
  get isReady(): boolean {
    return this.#candidates().length > 0
  }

  /**
   * Condition of the channel. The channel rests only while all usable drivers rest. If one driver can send, no key is
   * missing.
   *
   * @param own keys of the channel
   * @param facility condition of the single driver that is configured outside the channel
   */
  condition(own: readonly string[], facility: NeededConfigKeys): ChannelReadiness {
    const rests = this.#candidates().map((driver) => this.#choice.restsFor(driver))
    const keys = [...facility.keys, ...own]
    if (rests.length === 0) return { keys, missingKeys: facility.missingKeys }
    return { keys, missingKeys: [], restsForMs: Math.min(...rests) }
  }

  /**
   * Verifies all drivers that a message may use. Returns the checks that all of them passed.
   *
   * @param verify is called with `undefined` for the configured single driver
   */
  async verify(
    verify: (driver: string | undefined) => ReturnType<NonNullable<NotificationChannel['verify']>>,
  ): Promise<readonly ChannelCheck[]> {
    const drivers = this.#candidates()
    let proved: readonly ChannelCheck[] = channelChecks
    for (const driver of drivers.length === 0 ? [undefined] : drivers) {
      const checked = (await verify(driver)) ?? ['configuration', 'connection']
      proved = proved.filter((check) => checked.includes(check))
    }
    return proved
  }

  /**
   * Sends with one driver or, after failures, with further ones. @param send is called with `undefined` for the
   * configured single driver; must not throw
   */
  run(signal: AbortSignal, send: (driver: string | undefined) => Promise<DeliveryOutcome>): Promise<DeliveryOutcome> {
    const drivers = this.#candidates()
    return drivers.length === 0 ? send(undefined) : this.#choice.run(drivers, this.#parts.strategy(), signal, send)
  }

  #candidates(): readonly string[] {
    const { strategy, order, ready } = this.#parts
    if (strategy() === 'single') return []
    const able = ready()
    return order().filter((code) => able.includes(code))
  }
}

/**
 * Returns those of the users who have an address and whose account is enabled.
 *
 * @param accounts undefined in a product without users
 * @param addressOf returns the address of a user; null if there is none
 */
export async function usersWith(
  accounts: Pick<Accounts, 'findAll'> | undefined,
  userIds: readonly number[],
  addressOf: (account: Account) => string | null,
): Promise<ReadonlySet<number>> {
  const found = (await accounts?.findAll(userIds)) ?? []
  return new Set(found.filter((account) => account.enabled && addressOf(account) !== null).map(({ id }) => id))
}

/**
 * Returns the addresses of recipients: of an enabled account, or of a recipient that is an address itself.
 *
 * @param accounts undefined in a product without users
 * @param ofRecipient returns the address of a recipient that is not a user; undefined if it has none
 * @param ofAccount returns the address of a user; null if there is none
 */
export async function addressesOf(
  accounts: Pick<Accounts, 'findAll'> | undefined,
  recipients: readonly Recipient[],
  ofRecipient: (recipient: Recipient) => string | undefined,
  ofAccount: (account: Account) => string | null,
): Promise<ReadonlyMap<Recipient, string>> {
  const userIds = recipients.flatMap((one) => (one.kind === 'user' ? [one.userId] : []))
  const found = userIds.length === 0 ? [] : ((await accounts?.findAll(userIds)) ?? [])
  const byId = new Map(found.map((account) => [account.id, account.enabled ? ofAccount(account) : null]))
  return new Map(
    recipients.flatMap((one) => {
      const address = one.kind === 'user' ? byId.get(one.userId) : ofRecipient(one)
      return address == null ? [] : [[one, address] as const]
    }),
  )
}
