import { service } from '@plinth/kernel'
import type { SuppressionReason } from './policy.ts'

export type { SuppressionReason } from './policy.ts'

/** Addresses of one send. */
export interface SuppressionQuery {
  /** `mail` or `sms`. Other channels have no entries. */
  readonly channel: string
  readonly addresses: readonly string[]
  /** Category of the message, such as `marketing`. */
  readonly category: string
  /** True for messages that the recipient cannot switch off. Only some reasons stop them. */
  readonly isRequired: boolean
}

export interface CheckedAddress {
  /** Keyed hash of the address: 64 hexadecimal digits. It does not reveal the address. */
  readonly key: string
  /** Why the message must not be sent; undefined if it may be sent. */
  readonly reason: SuppressionReason | undefined
}

/** Report of a provider about a message to one address. */
export interface AddressReport {
  readonly channel: string
  /** `CheckedAddress.key` of the address. */
  readonly key: string
  /** Delivery state of the message. Only `delivered`, `bounced` and `complained` have an effect. */
  readonly state: string
  readonly bounce: 'hard' | 'soft'
  /** Time of the state, milliseconds since the epoch. */
  readonly at: number
  /** Masked recipient, for operators. */
  readonly address: string
  /** The recipient, if it is a user. */
  readonly userId: number | null
  readonly sendLogId: number
}

/** Addresses that get no messages (suppression list). The list stores keyed hashes and masked addresses only. */
export interface Suppressions {
  /**
   * Returns the result for each address. One query for up to 1,000 addresses.
   *
   * @throws Error if the key of the hashes cannot be read; nothing must be sent then
   */
  check(query: SuppressionQuery): Promise<ReadonlyMap<string, CheckedAddress>>
  /** Stores the effect of a delivery state. Joins the current transaction. */
  report(report: AddressReport): Promise<void>
  /** Returns the key of an address. @throws the errors of `check` */
  keyOf(channel: string, address: string): Promise<string>
  /**
   * Suppresses the messages of one category to an address whose owner has asked for it.
   *
   * @param key `CheckedAddress.key` of the address
   */
  unsubscribe(channel: string, key: string, category: string): Promise<void>
}

export const suppressions = service<Suppressions>('suppressions', { from: '@plinth/suppression' })
