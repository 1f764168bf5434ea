import type { Database } from '@plinth/database'
import type { ConfigView } from '@plinth/kernel'
import { type Clock, errorReason, type Logger } from '@plinth/kernel'
import { LRUCache } from 'lru-cache'
import type { PermissionEpoch } from '../access/authority.ts'
import type { RoleGrants } from '../access/role-grants.ts'
import type { keys } from '../config.ts'
import type { Principal } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { Token, User } from '../entities.ts'
import type { FreshProofs } from '../proof/fresh-proofs.ts'
import { isTokenShaped, tokenHash } from './sessions.ts'

/** Minimum interval in milliseconds between two updates of `last_seen_at`. */
const seenInterval = 60_000
const sessionBatch = 500

interface CheckedToken {
  readonly principal: Principal
  /** Epoch of `PermissionEpoch` before the token was read. */
  readonly epoch: number
  readonly expiresAt: number
  /** Time of the last use as stored in the database, in milliseconds since the epoch. */
  lastSeenAt: number
  /** Monotonic time until which the token cannot expire and its use need not be stored. */
  restingUntil: number
}

interface TokenCheckDependencies {
  readonly db: Database
  readonly authority: PermissionEpoch
  readonly grants: RoleGrants
  readonly clock: Clock
  readonly log: Logger
  readonly config: ConfigView<typeof keys>
  readonly proofs: FreshProofs
}

/**
 * Finds the user of a token. A checked token stays cached until the permissions of its user change. The cache contains
 * tokens in plain text: every request has them in memory anyway, and hashing them would reduce the throughput of a
 * simple route by 10 %.
 */
export class TokenCheck {
  readonly #db: Database
  readonly #authority: PermissionEpoch
  readonly #grants: RoleGrants
  readonly #clock: Clock
  readonly #log: Logger
  readonly #config: ConfigView<typeof keys>
  readonly #proofs: FreshProofs
  readonly #known: LRUCache<string, CheckedToken>
  readonly #checks = new Map<string, Promise<CheckedToken>>()

  constructor(parts: TokenCheckDependencies) {
    this.#db = parts.db
    this.#authority = parts.authority
    this.#grants = parts.grants
    this.#clock = parts.clock
    this.#log = parts.log
    this.#config = parts.config
    this.#proofs = parts.proofs
    this.#known = new LRUCache({ max: parts.config.get('platform.iam.token.cache-size') })
  }

  /**
   * Returns without a promise for a cached token.
   *
   * @throws BusinessError "401" `iam.token-invalid` or `iam.token-expired`, directly or as a rejection
   */
  authenticate(token: string): Principal | Promise<Principal> {
    const known = this.#known.get(token)
    if (known !== undefined) {
      const moment = this.#clock.monotonic()
      if (moment < known.restingUntil && this.#authority.isFreshAt(moment) && this.#stands(known))
        return known.principal
    } else if (!isTokenShaped(token)) {
      throw businessError('token-invalid')
    }
    return this.#check(token)
  }

  async principalOf(userId: number): Promise<Principal | undefined> {
    const em = this.#db.fork()
    const user = await em.findOne(User, userId)
    return user?.enabled ? this.#principal(user) : undefined
  }

  async standing(sessionIds: readonly number[]): Promise<ReadonlySet<number>> {
    const now = this.#clock.now()
    const alive = { revokedAt: null, expiresAt: { $gt: new Date(now) } }
    const lastSeenAt = { $gt: new Date(now - this.#config.get('platform.iam.token.idle-timeout')) }
    const standing = new Set<number>()
    for (let from = 0; from < sessionIds.length; from += sessionBatch) {
      const em = this.#db.fork()
      const ids = sessionIds.slice(from, from + sessionBatch)
      const tokens = await em.find(Token, { id: { $in: ids }, lastSeenAt, ...alive })
      const userIds = [...new Set(tokens.map(({ userId }) => userId))]
      const enabled = new Set((await em.find(User, { id: { $in: userIds }, enabled: true })).map(({ id }) => id))
      for (const { id, userId } of tokens) if (enabled.has(userId)) standing.add(id)
    }
    return standing
  }

  async #check(token: string): Promise<Principal> {
    const epoch = await this.#authority.current()
    let checked = this.#known.get(token)
    // Another instance may have stored a later use of the token. So the database is read before the token counts as
    // idle.
    if (checked === undefined || !this.#stands(checked) || this.#isIdle(checked.lastSeenAt)) {
      checked = await this.#read(token, epoch)
    }
    const now = this.#clock.now()
    if (now >= checked.expiresAt || this.#isIdle(checked.lastSeenAt)) {
      this.#known.delete(token)
      throw businessError('token-expired')
    }
    if (now - checked.lastSeenAt >= seenInterval) await this.#recordUse(checked, now)
    const rest = Math.min(checked.expiresAt, checked.lastSeenAt + seenInterval) - now
    checked.restingUntil = this.#clock.monotonic() + rest
    return checked.principal
  }

  #stands({ principal, epoch }: CheckedToken): boolean {
    return this.#authority.stands(principal.userId, epoch)
  }

  #isIdle(lastSeenAt: number): boolean {
    return this.#clock.now() - lastSeenAt >= this.#config.get('platform.iam.token.idle-timeout')
  }

  /** Concurrent checks of the same token share one query. */
  #read(token: string, epoch: number): Promise<CheckedToken> {
    const id = `${token} ${epoch}`
    const running = this.#checks.get(id)
    if (running !== undefined) return running
    const reading = this.#readNow(token, epoch).finally(() => this.#checks.delete(id))
    this.#checks.set(id, reading)
    return reading
  }

  async #readNow(token: string, epoch: number): Promise<CheckedToken> {
    const em = this.#db.fork()
    const row = await em.findOne(Token, { tokenHash: tokenHash(token) })
    const user = row === null || row.revokedAt !== null ? null : await em.findOne(User, row.userId)
    if (row === null || user === null || !user.enabled) {
      this.#known.delete(token)
      throw businessError('token-invalid')
    }
    const checked = {
      principal: await this.#principal(user, row),
      epoch,
      expiresAt: row.expiresAt.getTime(),
      lastSeenAt: row.lastSeenAt.getTime(),
      restingUntil: Number.NEGATIVE_INFINITY,
    }
    this.#known.set(token, checked)
    return checked
  }

  /** @param session absent for a user without a session, who never has a fresh proof */
  async #principal({ id, username, orgId }: User, session?: Token): Promise<Principal> {
    const grants = await this.#grants.ofUser(this.#db.fork(), id)
    const sessionId = session?.id ?? 0
    const { provenAt, provenBy } = session ?? {}
    const proof = provenAt == null ? undefined : Object.freeze({ at: provenAt.getTime(), by: provenBy ?? '' })
    return Object.freeze({
      userId: id,
      username,
      orgId: orgId ?? null,
      sessionId,
      ...(proof === undefined ? {} : { proof }),
      assertFresh: (maxAge: string) => this.#proofs.assert({ userId: id, sessionId, proof }, maxAge),
      ...grants,
    })
  }

  async #recordUse(checked: CheckedToken, now: number): Promise<void> {
    checked.lastSeenAt = now
    const moment = new Date(now)
    const statement = 'update iam_token set last_seen_at = ? where id = ? and last_seen_at < ?'
    try {
      await this.#db.execute(statement, [moment, checked.principal.sessionId, moment])
    } catch (error) {
      // The request continues. After a minute, the next request with the token tries again to store its use.
      this.#log.warn({ reason: errorReason(error) }, 'use of a token could not be recorded')
    }
  }
}
