import type { Database } from '@plinth/database'
import type { Events } from '@plinth/events'
import type {
  Actor,
  Credentials,
  Identity,
  LockedCredentials,
  LoginAttempt,
  PendingAccount,
  Session,
} from '@plinth/iam'
import { omitUndefined } from '@plinth/kernel'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { attemptMethods } from './attempt-limits.ts'
import { businessError } from './declarations.ts'
import { HandleRow, NetworkRow, PasskeyRow, TotpRow } from './entities.ts'
import type { KnownNetworks } from './known-networks.ts'
import { type FactorChange, factorChanged } from './notices.ts'
import type { NewPasskey, Passkeys } from './passkeys.ts'
import type { RecoveryCodes } from './recovery-codes.ts'
import type { NewTotp, OneTimePasswords } from './totp.ts'

/** Names of the proof methods of this plugin. */
export const methodNames = { passkey: 'passkey', totp: 'totp', recoveryCode: 'recovery-code' } as const

interface AuthenticatorDependencies {
  readonly db: Database
  readonly events: Pick<Events, 'publish'>
  readonly identity: Identity
  readonly credentials: Credentials
  readonly passkeys: Passkeys
  readonly totp: OneTimePasswords
  readonly recoveryCodes: RecoveryCodes
  readonly networks: KnownNetworks
}

/** Origin of an attempt. */
export type AttemptOrigin = Pick<LoginAttempt, 'clientIp' | 'traceId' | 'userAgent' | 'setHeader'>

/** A response of an authenticator, and the id of its challenge. */
export interface PasskeyAnswer<T> {
  readonly challengeId: string
  readonly response: T
}
type Assertion = PasskeyAnswer<AuthenticationResponseJSON>
type Attestation = PasskeyAnswer<RegistrationResponseJSON>

/** The session of a caller. */
export interface CallerSession {
  readonly userId: number
  readonly username: string
  readonly sessionId: number
  /** Access token of the session. */
  readonly token: string
}

/** A new session, and the recovery codes that only this result contains. */
interface SetUpSession {
  readonly session: Session
  readonly recoveryCodes: readonly string[]
}

/** Purposes of challenges and setups. One is never valid for another session, sign-in or operation. */
export const purposes = {
  signIn: 'sign-in',
  secondFactor: ({ id }: PendingAccount) => `second-factor:${id}`,
  setUp: ({ id }: PendingAccount) => `set-up:${id}`,
  add: ({ sessionId }: Pick<CallerSession, 'sessionId'>) => `add:${sessionId}`,
  proof: ({ sessionId }: Pick<CallerSession, 'sessionId'>) => `proof:${sessionId}`,
} as const

/** Signs users in with passkeys and second factors, and changes the factors of users. */
export class Authenticators {
  readonly #parts: AuthenticatorDependencies

  constructor(parts: AuthenticatorDependencies) {
    this.#parts = parts
  }

  /**
   * Opens a session with a passkey, which is the first and the second factor.
   *
   * @throws BusinessError "401" `authenticators.passkey-refused`, and the errors of `Identity.openProvenSession`
   */
  async signIn({ response, challengeId }: Assertion, origin: AttemptOrigin): Promise<Session> {
    const { identity, passkeys, networks } = this.#parts
    const { passkey: secondFactor } = methodNames
    const identifier = response.id
    const attempt = { ...origin, method: attemptMethods.passkeyLogin, identifier, shownIdentifier: '', secondFactor }
    return identity.openProvenSession(await passkeys.ownerOf(response.id), attempt, async () => {
      const { userId } = await passkeys.verify({ response, challengeId, purpose: purposes.signIn })
      await networks.remember(userId, origin.clientIp)
      return userId
    })
  }

  /** Completes a sign-in with a passkey. See `Identity.completeSignIn`. */
  completeByPasskey(pendingToken: string, answer: Assertion, origin: AttemptOrigin): Promise<Session> {
    return this.#complete(pendingToken, 'passkey', origin, async (pending) => {
      await this.#parts.passkeys.verify({ ...answer, purpose: purposes.secondFactor(pending) }, pending.userId)
    })
  }

  /** Completes a sign-in with a one-time password. See `Identity.completeSignIn`. */
  completeByTotp(pendingToken: string, code: string, origin: AttemptOrigin): Promise<Session> {
    return this.#complete(pendingToken, 'totp', origin, ({ userId }) =>
      this.#parts.totp.verify(userId, code, origin.clientIp),
    )
  }

  /** Completes a sign-in with a recovery code, and notifies the user. See `Identity.completeSignIn`. */
  completeByRecoveryCode(pendingToken: string, code: string, origin: AttemptOrigin): Promise<Session> {
    const { recoveryCodes, credentials } = this.#parts
    return this.#complete(pendingToken, 'recoveryCode', origin, async ({ userId }) => {
      const actor = await this.#userActor(userId, origin)
      await credentials.change(userId, actor, async (account) => {
        const left = await recoveryCodes.use(userId, code)
        await account.record('user.use-recovery-code')
        await this.#publish({ kind: 'recovery-code-used', userId, left })
      })
    })
  }

  async #complete(
    pendingToken: string,
    name: keyof typeof methodNames,
    origin: AttemptOrigin,
    prove: (pending: PendingAccount) => Promise<void>,
  ): Promise<Session> {
    const { identity, networks } = this.#parts
    const pending = await identity.findPendingSignIn(pendingToken)
    const attempt = { ...origin, method: attemptMethods[name], identifier: pending.username }
    return identity.completeSignIn(pendingToken, methodNames[name], attempt, async (userId) => {
      await prove(pending)
      await networks.remember(userId, origin.clientIp)
    })
  }

  /** Completes a sign-in with a new passkey. See `Identity.setUpSecondFactor`. */
  setUpPasskey(
    pendingToken: string,
    answer: Attestation & { readonly name?: string | undefined },
    origin: AttemptOrigin,
  ): Promise<SetUpSession> {
    return this.#setUp(pendingToken, 'passkey', origin, async (pending) => {
      const passkey = await this.#parts.passkeys.verifyNew({ ...answer, purpose: purposes.setUp(pending) })
      return (account) => this.#addPasskey(account, passkey, answer.name)
    })
  }

  /** Completes a sign-in with new one-time passwords. See `Identity.setUpSecondFactor`. */
  setUpTotp(
    pendingToken: string,
    { setUpId, code }: { readonly setUpId: string; readonly code: string },
    origin: AttemptOrigin,
  ): Promise<SetUpSession> {
    return this.#setUp(pendingToken, 'totp', origin, async (pending) => {
      const totp = await this.#parts.totp.confirm(setUpId, purposes.setUp(pending), pending.userId, code)
      return (account) => this.#addTotp(account, totp)
    })
  }

  async #setUp(
    pendingToken: string,
    name: 'passkey' | 'totp',
    origin: AttemptOrigin,
    prove: (pending: PendingAccount) => Promise<(account: LockedCredentials) => Promise<unknown>>,
  ): Promise<SetUpSession> {
    const { identity, credentials, recoveryCodes, networks } = this.#parts
    const pending = await identity.findPendingSignIn(pendingToken)
    const { userId, username } = pending
    const method = name === 'passkey' ? attemptMethods.passkeySetUp : attemptMethods.totpSetUp
    let codes: readonly string[] = []
    const attempt = { ...origin, method, identifier: username }
    const session = await identity.setUpSecondFactor(pendingToken, methodNames[name], attempt, async () => {
      const add = await prove(pending)
      const actor = await this.#userActor(userId, origin)
      return () =>
        credentials.change(userId, actor, async (account) => {
          await add(account)
          codes = await recoveryCodes.replace(userId)
          await networks.remember(userId, origin.clientIp)
        })
    })
    return { session, recoveryCodes: codes }
  }

  /** Renews a session after a proof by a passkey. See `Identity.proveAgain`. */
  proveByPasskey(session: CallerSession, answer: Assertion, origin: AttemptOrigin): Promise<Session> {
    return this.#prove(session, 'passkey', origin, async (userId) => {
      await this.#parts.passkeys.verify({ ...answer, purpose: purposes.proof(session) }, userId)
    })
  }

  /** Renews a session after a proof by a one-time password. See `Identity.proveAgain`. */
  proveByTotp(session: CallerSession, code: string, origin: AttemptOrigin): Promise<Session> {
    return this.#prove(session, 'totp', origin, (userId) => this.#parts.totp.verify(userId, code, origin.clientIp))
  }

  #prove(
    { token, username }: CallerSession,
    name: 'passkey' | 'totp',
    origin: AttemptOrigin,
    prove: (userId: number) => Promise<void>,
  ): Promise<Session> {
    const method = name === 'passkey' ? attemptMethods.passkeyProof : attemptMethods.totpProof
    const attempt = { ...origin, method, identifier: username }
    return this.#parts.identity.proveAgain(token, methodNames[name], attempt, async (userId) => {
      await prove(userId)
      await this.#parts.networks.remember(userId, origin.clientIp)
    })
  }

  /**
   * Adds a passkey. Returns recovery codes with the first factor of the user.
   *
   * @throws BusinessError "400" `authenticators.passkey-invalid`, "409" `authenticators.passkey-taken`,
   *   `authenticators.passkey-limit`
   */
  async addPasskey(
    session: Pick<CallerSession, 'userId' | 'sessionId'>,
    { name, ...answer }: Attestation & { readonly name?: string | undefined },
    actor: Actor,
  ): Promise<{ readonly passkey: PasskeyRow; readonly recoveryCodes: readonly string[] | null }> {
    const passkey = await this.#parts.passkeys.verifyNew({ ...answer, purpose: purposes.add(session) })
    return this.#parts.credentials.change(session.userId, actor, async (account) => {
      const isFirst = !(await this.#hasFactor(session.userId))
      const row = await this.#addPasskey(account, passkey, name)
      return { passkey: row, recoveryCodes: isFirst ? await this.#parts.recoveryCodes.replace(session.userId) : null }
    })
  }

  async #addPasskey(account: LockedCredentials, passkey: NewPasskey, name?: string): Promise<PasskeyRow> {
    const { id: userId } = account.holder
    const row = await this.#parts.passkeys.add(userId, passkey, name)
    await account.record('user.add-passkey', { passkey: row.name })
    await this.#publish({ kind: 'passkey-added', userId, name: row.name })
    return row
  }

  /** @throws BusinessError "404" `authenticators.passkey-unknown` */
  renamePasskey(userId: number, id: number, name: string, actor: Actor): Promise<void> {
    return this.#parts.credentials.change(userId, actor, async (account) => {
      const em = this.#parts.db.fork()
      const row = await em.findOne(PasskeyRow, { id, userId })
      if (row === null) throw businessError('passkey-unknown')
      if (row.name === name) return
      row.name = name
      await em.flush()
      await account.record('user.rename-passkey', { passkey: name })
    })
  }

  /**
   * @throws BusinessError "404" `authenticators.passkey-unknown`; "409" `authenticators.factor-required`,
   *   `authenticators.last-sign-in-way`
   */
  removePasskey(userId: number, id: number, actor: Actor): Promise<void> {
    return this.#parts.credentials.change(userId, actor, async (account) => {
      const em = this.#parts.db.fork()
      const row = await em.findOne(PasskeyRow, { id, userId })
      if (row === null) throw businessError('passkey-unknown')
      await em.nativeDelete(PasskeyRow, { id })
      if ((await this.#parts.credentials.signInWaysOf(userId)).length === 0) throw businessError('last-sign-in-way')
      await this.#afterRemoval(userId)
      await account.record('user.remove-passkey', { passkey: row.name })
      await this.#publish({ kind: 'passkey-removed', userId, name: row.name })
    })
  }

  /**
   * Sets up one-time passwords, also instead of an earlier app. Returns recovery codes with the first factor of the user.
   *
   * @throws BusinessError the errors of `OneTimePasswords.confirm`
   */
  async addTotp(
    session: Pick<CallerSession, 'userId' | 'sessionId'>,
    { setUpId, code }: { readonly setUpId: string; readonly code: string },
    actor: Actor,
  ): Promise<readonly string[] | null> {
    const { userId } = session
    const totp = await this.#parts.totp.confirm(setUpId, purposes.add(session), userId, code)
    const codes = await this.#parts.credentials.change(userId, actor, async (account) => {
      const isFirst = !(await this.#hasFactor(userId))
      await this.#addTotp(account, totp)
      return isFirst ? this.#parts.recoveryCodes.replace(userId) : null
    })
    // Otherwise a stranger with the password could block all codes of an owner who has not used one yet.
    await this.#parts.networks.remember(userId, actor.clientIp)
    return codes
  }

  async #addTotp(account: LockedCredentials, totp: NewTotp): Promise<void> {
    const { id: userId } = account.holder
    if (await this.#parts.totp.add(userId, totp)) await this.#noteRemovedTotp(account)
    await account.record('user.add-totp')
    await this.#publish({ kind: 'totp-added', userId })
  }

  /** @throws BusinessError "404" `authenticators.totp-not-set-up`; "409" `authenticators.factor-required` */
  removeTotp(userId: number, actor: Actor): Promise<void> {
    return this.#parts.credentials.change(userId, actor, async (account) => {
      const removed = await this.#parts.db.fork().nativeDelete(TotpRow, { userId })
      if (removed === 0) throw businessError('totp-not-set-up')
      await this.#afterRemoval(userId)
      await this.#noteRemovedTotp(account)
    })
  }

  async #noteRemovedTotp(account: LockedCredentials): Promise<void> {
    await account.record('user.remove-totp')
    await this.#publish({ kind: 'totp-removed', userId: account.holder.id })
  }

  /**
   * Replaces the recovery codes of a user. Only the result contains them.
   *
   * @throws BusinessError "409" `authenticators.factor-missing`
   */
  replaceRecoveryCodes(userId: number, actor: Actor): Promise<readonly string[]> {
    return this.#parts.credentials.change(userId, actor, async (account) => {
      if (!(await this.#hasFactor(userId))) throw businessError('factor-missing')
      const codes = await this.#parts.recoveryCodes.replace(userId)
      await account.record('user.create-recovery-codes')
      await this.#publish({ kind: 'recovery-codes-created', userId })
      return codes
    })
  }

  /**
   * Removes all second factors of another user, and ends the sessions and API tokens of the user.
   *
   * @throws BusinessError "403" `authenticators.own-reset`, `iam.beyond-own-authority`; "404" `iam.user-unknown`; "409"
   *   `authenticators.nothing-to-reset`
   */
  reset(userId: number, actor: Actor): Promise<void> {
    if ('principal' in actor && actor.principal.userId === userId) throw businessError('own-reset')
    return this.#parts.credentials.change(userId, actor, async (account) => {
      const secondFactors = await account.resetSecondFactors()
      if (secondFactors.length === 0) throw businessError('nothing-to-reset')
      const endedSessions = await account.endCredentials()
      await account.record('user.reset-second-factors', { secondFactors, endedSessions })
    })
  }

  /** Records that a passkey may have been copied, and notifies its owner. */
  async suspect({ userId, name }: PasskeyRow): Promise<void> {
    await this.#parts.credentials.change(userId, system, async (account) => {
      await account.record('user.suspect-passkey', { passkey: name })
      await this.#publish({ kind: 'passkey-suspected', userId, name })
    })
  }

  /**
   * Records that one-time passwords are blocked for unknown networks, and notifies the owner.
   *
   * @param mark stores that the owner was notified. Returns false if that was stored before.
   */
  async noticeBlock(userId: number, mark: () => Promise<boolean>): Promise<void> {
    await this.#parts.credentials.change(userId, system, async (account) => {
      if (!(await mark())) return
      await account.record('user.block-totp')
      await this.#publish({ kind: 'totp-blocked', userId })
    })
  }

  /** Removes everything that this plugin stores about a deleted user. */
  async forget(userId: number): Promise<void> {
    const { db, recoveryCodes } = this.#parts
    await db.transactional(async (em) => {
      await em.nativeDelete(PasskeyRow, { userId })
      await em.nativeDelete(TotpRow, { userId })
      await em.nativeDelete(HandleRow, { userId })
      await em.nativeDelete(NetworkRow, { userId })
      await recoveryCodes.removeAll(userId)
    })
  }

  async #hasFactor(userId: number): Promise<boolean> {
    const { passkeys, totp } = this.#parts
    return (await passkeys.count(userId)) > 0 || (await totp.isSetUp(userId))
  }

  /**
   * Rejects the removal of the last factor that works if a role requires one, or if passkeys of another address would
   * remain, with which the user cannot sign in. Recovery codes end with the last factor.
   */
  async #afterRemoval(userId: number): Promise<void> {
    const { db, credentials, passkeys, totp, recoveryCodes } = this.#parts
    if ((await passkeys.countUsable(userId)) > 0 || (await totp.isSetUp(userId))) return
    const { secondFactorFrom = Number.POSITIVE_INFINITY } = await credentials.signInPolicyOf(userId)
    if (secondFactorFrom <= db.clock.now() || (await passkeys.count(userId)) > 0) throw businessError('factor-required')
    await recoveryCodes.removeAll(userId)
  }

  /** Returns the user as the actor of a change during a sign-in. */
  async #userActor(userId: number, { clientIp, traceId, userAgent }: AttemptOrigin): Promise<Actor> {
    const principal = await this.#parts.identity.principalOf(userId)
    const origin = { clientIp, traceId, userAgent }
    return principal === undefined ? { ...origin, name: system.name } : { ...origin, principal }
  }

  async #publish(change: FactorChange): Promise<void> {
    await this.#parts.events.publish(factorChanged, omitUndefined(change), { key: `user:${change.userId}` })
  }
}

/** Actor of changes that this plugin makes without a user. */
const system = { name: 'authenticators', clientIp: '', traceId: '', userAgent: '' } as const
