import { LockMode } from '@mikro-orm/core'
import { type Database, insertMissingRows, insertRowsIfAbsent } from '@plinth/database'
import type { PluginEncryptionKey } from '@plinth/system-config'
import { hashAddress, normalizeAddress } from './addresses.ts'
import type { AddressReport, CheckedAddress, SuppressionQuery, SuppressionReason, Suppressions } from './contract.ts'
import { SoftBounces, SuppressedAddress } from './entities.ts'
import { allCategories, replacedBy, softBounces, stoppingReason } from './policy.ts'

/** Maximum number of addresses that one query checks. */
const maxAddresses = 1_000

interface Entry {
  readonly channel: string
  readonly key: string
  readonly category?: string
  readonly reason: SuppressionReason
  readonly endsAt?: Date
  readonly source: 'report' | 'link'
  readonly about?: Pick<AddressReport, 'address' | 'userId' | 'sendLogId'>
}

/** The suppression list. `entries.ts` has the operations of operators. */
export class SuppressionList implements Suppressions {
  readonly #db: Database
  readonly #key: Pick<PluginEncryptionKey, 'get'>

  constructor(db: Database, key: Pick<PluginEncryptionKey, 'get'>) {
    this.#db = db
    this.#key = key
  }

  async check(query: SuppressionQuery): Promise<ReadonlyMap<string, CheckedAddress>> {
    const { channel, addresses, category, isRequired } = query
    const key = await this.#key.get()
    const keys = new Map(addresses.map((address) => [address, keyWith(key, channel, address)]))
    const found = await this.#reasonsOf(channel, [...new Set(keys.values())], category)
    return new Map(
      [...keys].map(([address, key]) => [address, { key, reason: stoppingReason(found.get(key) ?? [], isRequired) }]),
    )
  }

  async keyOf(channel: string, address: string): Promise<string> {
    return keyWith(await this.#key.get(), channel, address)
  }

  /** Returns true if the address has such an entry. Removes it first if it has ended. */
  async isListed(entry: Pick<SuppressedAddress, 'addressKey' | 'channel' | 'category'>): Promise<boolean> {
    const em = this.#db.fork()
    await em.nativeDelete(SuppressedAddress.entity, { ...entry, endsAt: { $lte: new Date(this.#db.clock.now()) } })
    return (await em.count(SuppressedAddress.entity, entry)) > 0
  }

  unsubscribe(channel: string, key: string, category: string): Promise<void> {
    return this.#add({ channel, key, category, reason: 'unsubscribe', source: 'link' })
  }

  async report(report: AddressReport): Promise<void> {
    const { channel, key, state, bounce, at } = report
    const entry = { channel, key, source: 'report', about: report } as const
    if (state === 'delivered') return this.#recordDelivery(key, at)
    if (state === 'complained') return this.#add({ ...entry, reason: 'complaint' })
    if (state !== 'bounced') return
    if (bounce === 'hard') return this.#add({ ...entry, reason: 'hard-bounce' })
    if (!(await this.#recordSoftBounce(key, at))) return
    const endsAt = new Date(this.#db.clock.now() + softBounces.suppressedMs)
    await this.#add({ ...entry, reason: 'soft-bounce', endsAt })
  }

  async #reasonsOf(channel: string, keys: readonly string[], category: string) {
    const now = this.#db.clock.now()
    const byKey = new Map<string, SuppressionReason[]>()
    for (let from = 0; from < keys.length; from += maxAddresses) {
      const addressKey = { $in: keys.slice(from, from + maxAddresses) }
      const where = { addressKey, channel: channel as 'mail', category: { $in: [allCategories, category] } }
      const fields = ['addressKey', 'reason', 'endsAt'] as const
      for (const row of await this.#db.fork().find(SuppressedAddress.entity, where, { fields })) {
        if (row.endsAt != null && row.endsAt.getTime() <= now) continue
        byKey.set(row.addressKey, [...(byKey.get(row.addressKey) ?? []), row.reason])
      }
    }
    return byKey
  }

  /** Adds an entry, or replaces one that has ended or is not stronger. */
  async #add({ channel, key, category = allCategories, reason, endsAt, source, about }: Entry): Promise<void> {
    const db = this.#db
    const since = new Date(db.clock.now())
    const { address = '', userId = null, sendLogId = null } = about ?? {}
    const where = { addressKey: key, channel: channel as 'mail', category }
    const values = { reason, since, endsAt: endsAt ?? null, source, sendLogId }
    await db.transactional(async (em) => {
      const row = { ...where, ...values, id: db.newId(), address, userId, note: null }
      const added = await insertRowsIfAbsent(db, SuppressedAddress.entity, ['addressKey', 'channel', 'category'], [row])
      if (added > 0) return
      const isReplaced = { $or: [{ endsAt: { $lte: since } }, { reason: { $in: [...replacedBy(reason)] } }] }
      await em.nativeUpdate(SuppressedAddress.entity, { ...where, ...isReplaced }, values)
    })
  }

  /** Counts a soft bounce. If the address reaches the limit, returns true and starts again at zero. */
  #recordSoftBounce(addressKey: string, at: number): Promise<boolean> {
    const db = this.#db
    const updatedAt = new Date(db.clock.now())
    return db.transactional(async (em) => {
      const empty = { id: db.newId(), addressKey, times: [], deliveredAt: null, updatedAt }
      await insertMissingRows(db, SoftBounces.entity, 'addressKey', [empty])
      // SQLite needs no lock, because only one transaction can write.
      const lock = db.dialect === 'sqlite' ? {} : { lockMode: LockMode.PESSIMISTIC_WRITE }
      const row = await em.findOneOrFail(SoftBounces.entity, { addressKey }, lock)
      const oldest = Math.max(at - softBounces.withinMs, row.deliveredAt?.getTime() ?? 0)
      const times = [...row.times, at].filter((time) => time > oldest).slice(-softBounces.count)
      const isReached = times.length === softBounces.count
      await em.nativeUpdate(SoftBounces.entity, { id: row.id }, { times: isReached ? [] : times, updatedAt })
      return isReached
    })
  }

  async #recordDelivery(addressKey: string, at: number): Promise<void> {
    const deliveredAt = new Date(at)
    const isNewer = { $or: [{ deliveredAt: null }, { deliveredAt: { $lt: deliveredAt } }] }
    await this.#db.fork().nativeUpdate(SoftBounces.entity, { addressKey, ...isNewer }, { deliveredAt })
  }
}

/** An address that breaks the rules is hashed as it is, so that it has a key too. */
const keyWith = (key: Buffer, channel: string, address: string): string =>
  hashAddress(key, channel, normalizeAddress(channel, address) ?? address)
