import type { Database } from '@plinth/database'
import type { ConfigView } from '@plinth/kernel'
import { type Clock, errorReason, fitTextToColumn, type Logger } from '@plinth/kernel'
import { LRUCache } from 'lru-cache'
import type { PermissionEpoch } from '../access/authority.ts'
import type { Grants, RoleGrants } from '../access/role-grants.ts'
import { signInPoliciesOf } from '../access/sign-in-policy.ts'
import type { ApiTokens } from '../api-tokens/api-tokens.ts'
import { ApiTokenRow } from '../api-tokens/entities.ts'
import { isApiToken, isApiTokenShaped } from '../api-tokens/token-format.ts'
import { limitGrants } from '../api-tokens/token-grants.ts'
import type { keys } from '../config.ts'
import type { BearerRequest, FreshProofOptions, Principal } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { Token, User } from '../entities.ts'
import type { FreshProofs } from '../proof/fresh-proofs.ts'
import { endOfSession, idleTimeoutOf, isSessionAlive } from './session-limits.ts'
import { isTokenShaped, tokenHash } from './sessions.ts'

/** Minimum interval in milliseconds between two updates of `last_seen_at` or `last_used_at`. */
const seenInterval = 60_000
const sessionBatch = 500

interface CheckedToken {
  readonly principal: Principal
  /** Epoch of `PermissionEpoch` before the token was read. */
  readonly epoch: number
  /** Id of the session or of the API token. */
  readonly id: number
  /** Returns the time at which the token ends, in milliseconds since the epoch. */
  readonly endsAt: () => number
  /** Returns the idle time in milliseconds after which the token ends. Only sessions end by inactivity. */
  readonly idleTimeout: () => number
  /** Time of the last use as stored in the database, in milliseconds since the epoch. 0: never. */
  lastSeenAt: number
  /** Monotonic time until which the token cannot expire and its use need not be stored. */
  restingUntil: number
}

type StoredToken = Omit<CheckedToken, 'epoch' | 'restingUntil'>

interface TokenCheckDependencies {
  readonly db: Database
  readonly authority: PermissionEpoch
  readonly grants: RoleGrants
  readonly apiTokens: Pick<ApiTokens, 'endOf'>
  readonly clock: Clock
  readonly log: Logger
  readonly config: ConfigView<typeof keys>
  /** Returns the network of an address. */
  readonly networkOf: (address: string) => string
  readonly proofs: FreshProofs
}

/**
 * Finds the user of a token, which is a session or an API token. All credentials of requests are resolved here. A
 * checked token stays cached until the permissions of its user change. The cache contains tokens in plain text: every
 * request has them in memory anyway, and hashing them would reduce the throughput of a simple route by 10 %.
 */
export class TokenCheck {
  readonly #db: Database
  readonly #authority: PermissionEpoch
  readonly #grants: RoleGrants
  readonly #apiTokens: Pick<ApiTokens, 'endOf'>
  readonly #networkOf: (address: string) => string
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
    this.#apiTokens = parts.apiTokens
    this.#networkOf = parts.networkOf
    this.#clock = parts.clock
    this.#log = parts.log
    this.#config = parts.config
    this.#proofs = parts.proofs
    this.#known = new LRUCache({ max: parts.config.get('platform.iam.token.cache-size') })
    // A shorter maximum lifetime applies to the next request.
    parts.config.onChange('platform.iam.api-token.max-lifetime', () => this.#known.clear())
  }

  /**
   * Returns without a promise for a cached token. See `Identity.authenticate`.
   *
   * @throws BusinessError the errors of `Identity.authenticate`, directly or as a rejection
   */
  authenticate(token: string, bearer?: BearerRequest): Principal | Promise<Principal> {
    if (bearer === undefined && isApiToken(token)) throw businessError('api-token-misplaced')
    const known = this.#known.get(token)
    if (known !== undefined) {
      const moment = this.#clock.monotonic()
      if (moment < known.restingUntil && this.#authority.isFreshAt(moment) && this.#stands(known))
        return known.principal
    } else if (isApiToken(token)) {
      if (!isApiTokenShaped(token)) throw businessError('api-token-invalid')
    } else if (!isTokenShaped(token)) {
      throw businessError('token-invalid')
    }
    return this.#check(token, bearer)
  }

  async principalOf(userId: number): Promise<Principal | undefined> {
    const em = this.#db.fork()
    const user = await em.findOne(User, userId)
    return user?.enabled ? this.#principal(user, 'none', await this.#grants.ofUser(em, userId)) : undefined
  }

  async standing(sessionIds: readonly number[]): Promise<ReadonlySet<number>> {
    const now = this.#clock.now()
    const config = this.#config
    const standing = new Set<number>()
    for (let from = 0; from < sessionIds.length; from += sessionBatch) {
      const em = this.#db.fork()
      const ids = sessionIds.slice(from, from + sessionBatch)
      const tokens = await em.find(Token, { id: { $in: ids }, revokedAt: null, expiresAt: { $gt: new Date(now) } })
      const userIds = [...new Set(tokens.map(({ userId }) => userId))]
      const enabled = new Set((await em.find(User, { id: { $in: userIds }, enabled: true })).map(({ id }) => id))
      const policies = await signInPoliciesOf(em, [...enabled])
      for (const token of tokens) {
        const { id, userId } = token
        if (enabled.has(userId) && isSessionAlive(token, policies.get(userId) ?? {}, { now, config })) standing.add(id)
      }
    }
    return standing
  }

  async #check(token: string, bearer: BearerRequest | undefined): Promise<Principal> {
    const epoch = await this.#authority.current()
    let checked = this.#known.get(token)
    // Another instance may have stored a later use of the token. So the database is read before the token counts as
    // idle.
    if (checked === undefined || !this.#stands(checked) || this.#isIdle(checked)) {
      checked = await this.#read(token, epoch)
    }
    const now = this.#clock.now()
    const endsAt = checked.endsAt()
    if (now >= endsAt || this.#isIdle(checked)) {
      this.#known.delete(token)
      throw businessError(checked.principal.credential === 'api-token' ? 'api-token-expired' : 'token-expired')
    }
    if (now - checked.lastSeenAt >= seenInterval) await this.#recordUse(checked, now, bearer)
    const rest = Math.min(endsAt, checked.lastSeenAt + seenInterval) - now
    checked.restingUntil = this.#clock.monotonic() + rest
    return checked.principal
  }

  #stands({ principal, epoch }: CheckedToken): boolean {
    return this.#authority.stands(principal.userId, epoch)
  }

  #isIdle({ lastSeenAt, idleTimeout }: CheckedToken): boolean {
    return this.#clock.now() - lastSeenAt >= idleTimeout()
  }

  /** Concurrent checks of the same token share one query. */
  #read(token: string, epoch: number): Promise<CheckedToken> {
    const id = `${token} ${epoch}`
    const running = this.#checks.get(id)
    if (running !== undefined) return running
    const stored = isApiToken(token) ? this.#readApiToken(token) : this.#readSession(token)
    const reading = stored.then((found) => this.#remember(token, epoch, found)).finally(() => this.#checks.delete(id))
    this.#checks.set(id, reading)
    return reading
  }

  #remember(token: string, epoch: number, found: StoredToken | undefined): CheckedToken {
    if (found === undefined) {
      this.#known.delete(token)
      throw businessError(isApiToken(token) ? 'api-token-invalid' : 'token-invalid')
    }
    const checked = { ...found, epoch, restingUntil: Number.NEGATIVE_INFINITY }
    this.#known.set(token, checked)
    return checked
  }

  async #readSession(token: string): Promise<StoredToken | undefined> {
    const em = this.#db.fork()
    const row = await em.findOne(Token, { tokenHash: tokenHash(token) })
    const user = row === null || row.revokedAt !== null ? null : await em.findOne(User, row.userId)
    if (row === null || user === null || !user.enabled) return undefined
    const { grants, policy } = await this.#grants.withPolicyOf(em, user.id)
    const end = endOfSession(row, policy)
    return {
      principal: this.#principal(user, 'session', grants, { session: row }),
      id: row.id,
      endsAt: () => end,
      idleTimeout: () => idleTimeoutOf(this.#config, policy),
      lastSeenAt: row.lastSeenAt.getTime(),
    }
  }

  /**
   * Reads an API token with the permissions that it and its owner have in common now. A token with a session ends with
   * this session.
   */
  async #readApiToken(token: string): Promise<StoredToken | undefined> {
    const em = this.#db.fork()
    const row = await em.findOne(ApiTokenRow, { tokenHash: tokenHash(token) })
    const owner = row === null || row.revokedAt != null ? null : await em.findOne(User, row.userId)
    if (row === null || owner === null || !owner.enabled) return undefined
    const { grants: ownerGrants, policy } = await this.#grants.withPolicyOf(em, owner.id)
    const session = row.sessionId == null ? undefined : await em.findOne(Token, { id: row.sessionId, revokedAt: null })
    if (
      session === null ||
      (session && !isSessionAlive(session, policy, { now: this.#clock.now(), config: this.#config }))
    )
      return undefined
    const sessionEnd = session === undefined ? Number.POSITIVE_INFINITY : endOfSession(session, policy)
    return {
      principal: this.#principal(owner, 'api-token', limitGrants(ownerGrants, row), { audience: row.audience }),
      id: row.id,
      endsAt: () => Math.min(sessionEnd, this.#apiTokens.endOf(row)),
      idleTimeout: () => Number.POSITIVE_INFINITY,
      // The use of a token of an audience is not stored, because such a token lives for minutes.
      lastSeenAt: row.audience == null ? (row.lastUsedAt?.getTime() ?? 0) : Number.POSITIVE_INFINITY,
    }
  }

  /** Stores the use of a token. Two instances store it at most once each per minute. */
  async #recordUse(checked: CheckedToken, now: number, bearer: BearerRequest | undefined): Promise<void> {
    checked.lastSeenAt = now
    const moment = new Date(now)
    const { id, principal } = checked
    try {
      if (principal.credential === 'session') {
        await this.#db.execute('update iam_token set last_seen_at = ? where id = ? and last_seen_at < ?', [
          moment,
          id,
          moment,
        ])
        return
      }
      const network = fitTextToColumn(this.#networkOf(bearer?.clientIp ?? ''), 64)
      await this.#db.execute(
        'update iam_api_token set last_used_at = ?, last_used_network = ? where id = ? and (last_used_at is null or last_used_at < ?)',
        [moment, network, id, moment],
      )
    } catch (error) {
      // The request continues. After a minute, the next request with the token tries again to store its use.
      this.#log.warn({ reason: errorReason(error) }, 'use of a token could not be recorded')
    }
  }

  /** @param facts `session` is absent for a caller without a session, who never has a fresh proof */
  #principal(
    { id, username, orgId }: User,
    credential: Principal['credential'],
    grants: Grants,
    { session, audience }: { readonly session?: Token; readonly audience?: string | null | undefined } = {},
  ): Principal {
    const sessionId = session?.id ?? 0
    const { provenAt, provenBy } = session ?? {}
    const proof = provenAt == null ? undefined : Object.freeze({ at: provenAt.getTime(), by: provenBy ?? '' })
    return Object.freeze({
      userId: id,
      username,
      orgId: orgId ?? null,
      credential,
      sessionId,
      ...(proof === undefined ? {} : { proof }),
      ...(audience == null ? {} : { audience }),
      assertFresh: (maxAge: string, options?: FreshProofOptions) =>
        this.#proofs.assert({ userId: id, sessionId, proof }, maxAge, options),
      ...grants,
    })
  }
}
