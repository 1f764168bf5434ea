import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { Database } from '@plinth/database'
import type { RateLimiter } from '@plinth/rate-limit'
import { NetworkRow } from './entities.ts'

/**
 * Maximum number of consecutive wrong one-time passwords. From known networks, the limit of NIST SP 800-63B (100) applies,
 * so that strangers who know the password do not lock out the owner.
 */
export const maxFailures = { unknownNetworks: 10, knownNetwork: 100 } as const

/** Number of networks that are stored for one user. The least recent ones are removed. */
const maxNetworks = 20

interface NetworkDependencies {
  readonly db: Database
  readonly limiter: Pick<RateLimiter, 'addressKey'>
}

/** Networks from which users have proven a second factor before. */
export class KnownNetworks {
  readonly #parts: NetworkDependencies

  constructor(parts: NetworkDependencies) {
    this.#parts = parts
  }

  async isKnown(userId: number, clientIp: string): Promise<boolean> {
    return (await this.#parts.db.fork().count(NetworkRow, this.#rowOf(userId, clientIp))) > 0
  }

  /** Counts an attempt of a known network before it is checked. Returns false if the network has failed too often. */
  async takeAttempt(userId: number, clientIp: string): Promise<boolean> {
    const { networkHash } = this.#rowOf(userId, clientIp)
    const taken = await this.#parts.db.execute(
      'update authenticator_network set failures = failures + 1 where user_id = ? and network_hash = ? and failures < ?',
      [userId, networkHash, maxFailures.knownNetwork],
    )
    return taken > 0
  }

  /** Stores the success of a second factor from a network. */
  async remember(userId: number, clientIp: string): Promise<void> {
    const { db } = this.#parts
    const row = this.#rowOf(userId, clientIp)
    const now = new Date(db.clock.now())
    const known = await db.execute(
      'update authenticator_network set failures = 0, last_success_at = ? where user_id = ? and network_hash = ?',
      [now, userId, row.networkHash],
    )
    if (known > 0) return
    const em = db.fork()
    em.create(NetworkRow, { ...row, id: db.newId(), failures: 0, lastSuccessAt: now })
    try {
      await em.flush()
    } catch (error) {
      // Another request has stored the network at the same time.
      if (!(error instanceof UniqueConstraintViolationException)) throw error
    }
    await this.#removeOldest(userId)
  }

  async #removeOldest(userId: number): Promise<void> {
    const em = this.#parts.db.fork()
    const old = await em.find(
      NetworkRow,
      { userId },
      { orderBy: { lastSuccessAt: 'desc' }, offset: maxNetworks, limit: 100 },
    )
    if (old.length > 0) await em.nativeDelete(NetworkRow, { id: { $in: old.map(({ id }) => id) } })
  }

  #rowOf(userId: number, clientIp: string) {
    return { userId, networkHash: this.#parts.limiter.addressKey(clientIp) }
  }
}
