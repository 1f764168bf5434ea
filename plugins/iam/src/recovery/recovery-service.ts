import { hash } from 'node:crypto'
import type { Database } from '@plinth/database'
import type { Events } from '@plinth/events'
import { isBusinessError } from '@plinth/kernel'
import { normalizeOptionalEmail } from '../accounts/account-names.ts'
import type {
  Account,
  Accounts,
  Actor,
  CallOrigin,
  CredentialHolder,
  Credentials,
  Identity,
  LockedCredentials,
  LoginAttempt,
  NewUser,
  Principal,
} from '../contract.ts'
import { businessError as iamBusinessError, permissionCodes } from '../declarations.ts'
import { businessError } from './declarations.ts'
import type { RecoveryTokenRow } from './entities.ts'
import { requestMail } from './recovery-mails.ts'
import type { RecoveryTokens } from './recovery-tokens.ts'
import type { RecoveryLimits, RecoverySettings } from './settings.ts'

interface RecoveryDependencies {
  readonly db: Database
  readonly events: Pick<Events, 'publish'>
  readonly accounts: Pick<Accounts, 'create'>
  readonly credentials: Credentials
  readonly identity: Pick<Identity, 'principalOf'>
  readonly tokens: RecoveryTokens
  readonly settings: RecoverySettings
  readonly limits: RecoveryLimits
}

/** Origin of a call, and the language of the mails that it causes. */
export type RecoveryOrigin = CallOrigin & { readonly locale: string }

/** The audit names the link as actor, because it proves only who reads the mails of an address. */
const linkActor = ({ clientIp, traceId, userAgent }: CallOrigin): Actor => ({
  name: 'recovery-link',
  clientIp,
  traceId,
  userAgent,
})

/** Recovers accounts by links in mails: new passwords, invitations, and changes of the e-mail address. */
export class RecoveryService {
  readonly #parts: RecoveryDependencies

  constructor(parts: RecoveryDependencies) {
    this.#parts = parts
  }

  /**
   * Requests a link for a new password. Executes the same statements for known and unknown accounts, and returns before
   * the mail is sent.
   *
   * @param identifier user name or e-mail address
   * @throws BusinessError "503" `recovery.unavailable`, "429" `rate-limit.exceeded`
   */
  async request(identifier: string, { clientIp, locale }: RecoveryOrigin): Promise<void> {
    const { settings, limits, credentials, events } = this.#parts
    settings.assertAvailable()
    await limits.takeRequest(identifier, clientIp)
    const holder = await credentials.findByIdentifier(identifier)
    await requestMail(events, { kind: 'reset', userId: holder?.id ?? 0, locale, isPublic: true })
  }

  /**
   * Sets the password of a reset or of an invitation, and ends all sessions. Opens no session, and removes no second
   * factor.
   *
   * @throws BusinessError "400" `recovery.token-invalid`, `iam.password-refused`; "403"
   *   `recovery.invitation-withdrawn`; "429" `rate-limit.exceeded`; "503" `recovery.unavailable`, `iam.busy`
   */
  async complete(token: string, password: string, origin: RecoveryOrigin): Promise<void> {
    const { credentials, events } = this.#parts
    const row = await this.#open(token, ['reset', 'invitation'], origin)
    // The password is hashed before the transaction, and only for a token that is valid.
    assertCurrent(row, await credentials.find(row.userId))
    const passwordHash = await credentials.hashPassword(row.userId, password)
    await this.#change(row, origin, async (account) => {
      assertCurrent(row, account.holder)
      if (row.purpose === 'invitation') await this.#assertInviterMayInvite(row, account)
      account.setPassword(passwordHash)
      const endedSessions = await account.endCredentials()
      await account.record(row.purpose === 'reset' ? 'user.recover' : 'user.accept-invitation', { endedSessions })
      const notice = { kind: 'password-changed', userId: row.userId, locale: origin.locale } as const
      if (row.purpose === 'reset') await requestMail(events, notice)
    })
  }

  /**
   * Sends a link for a new password to a user, as an operator.
   *
   * @throws BusinessError "404" `iam.user-unknown`; "403" `iam.beyond-own-authority`; "409" `recovery.email-missing`,
   *   `recovery.password-missing`, `recovery.user-disabled`; "503" `recovery.unavailable`
   */
  startReset(userId: number, actor: Actor, locale: string): Promise<void> {
    return this.#byOperator(userId, actor, async (account) => {
      if (!account.holder.hasPassword) throw businessError('password-missing')
      await account.record('user.start-recovery')
      await requestMail(this.#parts.events, { kind: 'reset', userId, locale })
    })
  }

  /**
   * Invites a user who has no password yet. A new invitation replaces the previous one.
   *
   * @throws BusinessError the errors of `startReset`, "409" `recovery.already-accepted` instead of
   *   `recovery.password-missing`
   */
  invite(userId: number, actor: Actor, locale: string): Promise<void> {
    return this.#byOperator(userId, actor, async (account) => {
      if (account.holder.hasPassword) throw businessError('already-accepted')
      const inviter = 'principal' in actor ? { inviterId: actor.principal.userId } : {}
      await account.record('user.invite')
      await requestMail(this.#parts.events, { kind: 'invitation', userId, locale, ...inviter })
    })
  }

  /**
   * Creates a user without a password and invites the user, in one transaction.
   *
   * @throws BusinessError the errors of `Accounts.create` and of `invite`
   */
  createInvited(user: NewUser & { readonly email: string }, actor: Actor, locale: string): Promise<Account> {
    return this.#parts.db.transactional(async () => {
      const account = await this.#parts.accounts.create(user, actor)
      await this.invite(account.id, actor, locale)
      return account
    })
  }

  /**
   * Requests another e-mail address for the caller. The address changes when the link at the new address is used, so a
   * typing error has no effect. Does not reveal whether another account uses the address.
   *
   * @param attempt checks the current password; users without a password need a fresh proof instead
   * @throws BusinessError "400" `iam.email-invalid`, `iam.password-required`, `iam.password-wrong`,
   *   `recovery.email-unchanged`; "401" `iam.proof-required`; "429" `rate-limit.exceeded`; "503" `recovery.unavailable`
   */
  async requestEmail(
    principal: Principal,
    { email, currentPassword }: { readonly email: string; readonly currentPassword?: string | undefined },
    actor: Actor,
    { attempt, locale }: { readonly attempt: LoginAttempt; readonly locale: string },
  ): Promise<void> {
    const { settings, limits, credentials, events } = this.#parts
    const { userId } = principal
    settings.assertAvailable()
    const { email: address, emailKey } = normalizeOptionalEmail(email)
    if (address === null) throw iamBusinessError('email-invalid', { data: { field: 'email' } })
    const holder = await credentials.find(userId)
    if (holder?.hasPassword) {
      if (currentPassword === undefined)
        throw iamBusinessError('password-required', { data: { field: 'currentPassword' } })
      await credentials.confirmPassword(userId, currentPassword, attempt)
    } else await principal.assertFresh('5m')
    await limits.takeOwnMail(userId)
    await credentials.change(userId, actor, async (account) => {
      const { confirmedEmail, state } = account.holder
      // The password was checked for the state before. Another state means a change at the same time.
      if (state !== holder?.state) throw iamBusinessError('changed-meanwhile')
      if (confirmedEmail !== null && normalizeOptionalEmail(confirmedEmail).emailKey === emailKey)
        throw businessError('email-unchanged', { data: { field: 'email' } })
      await account.record('user.request-email')
      await requestMail(events, { kind: 'email-change', userId, locale, address, state })
    })
  }

  /**
   * Uses the link of a change of the e-mail address, or the link that undoes it. An undo also ends all sessions, because
   * another person may have made the change.
   *
   * @throws BusinessError "400" `recovery.token-invalid`; "409" `iam.email-taken`; "429" `rate-limit.exceeded`; "503"
   *   `recovery.unavailable`
   */
  async completeEmail(token: string, origin: RecoveryOrigin): Promise<'email-change' | 'email-undo'> {
    const row = await this.#open(token, ['email-change', 'email-undo'], origin)
    if (row.purpose === 'email-undo') {
      await this.#change(row, origin, async (account) => {
        const { enabled, confirmedEmail } = account.holder
        if (!enabled || row.state !== addressState(confirmedEmail)) throw businessError('token-invalid')
        await account.setConfirmedEmail(row.address)
        await account.record('user.undo-email', { endedSessions: await account.endCredentials() })
      })
      return 'email-undo'
    }
    await this.#change(row, origin, async (account) => {
      assertCurrent(row, account.holder)
      await account.setConfirmedEmail(row.address)
      await account.record('user.replace-email')
      await this.#offerUndo(account.holder, row.address, origin)
    })
    return 'email-change'
  }

  /**
   * Notifies the previous address. The row of its token is created now, so that no later change can take its place. The
   * link is valid while the account has the address that replaced it, so it cannot undo the repair of an administrator.
   */
  async #offerUndo(
    { id: userId, confirmedEmail }: CredentialHolder,
    replacement: string,
    { locale }: RecoveryOrigin,
  ): Promise<void> {
    const { tokens, settings, events } = this.#parts
    const purpose = 'email-undo'
    if (confirmedEmail === null) return
    const state = addressState(replacement)
    const open = await tokens.findOpen(userId, purpose)
    if (open?.state === addressState(confirmedEmail)) await tokens.rebind(open, state)
    else
      await tokens.issue({ purpose, userId, address: confirmedEmail, state, lifetimeMs: settings.lifetimeOf(purpose) })
    await requestMail(events, { kind: purpose, userId, locale, address: confirmedEmail })
  }

  /** Returns the row of a token, if the function is turned on and the network has attempts left. */
  async #open(token: string, purposes: Parameters<RecoveryTokens['find']>[1], { clientIp }: CallOrigin) {
    const { settings, limits, tokens } = this.#parts
    settings.assertEnabled()
    await limits.takeUse(clientIp)
    const row = await tokens.find(token, purposes)
    if (row === undefined) throw businessError('token-invalid')
    return row
  }

  /** Uses a token up and changes its account in one transaction. */
  async #change(
    row: RecoveryTokenRow,
    origin: RecoveryOrigin,
    work: (account: LockedCredentials) => Promise<void>,
  ): Promise<void> {
    const { credentials, tokens } = this.#parts
    await credentials.change(row.userId, linkActor(origin), async (account) => {
      if (!(await tokens.claim(row))) throw businessError('token-invalid')
      await tokens.withdraw(row.userId)
      await work(account)
    })
  }

  #byOperator(userId: number, actor: Actor, work: (account: LockedCredentials) => Promise<void>): Promise<void> {
    return this.#parts.credentials.change(userId, actor, async (account) => {
      this.#parts.settings.assertAvailable()
      if (!account.holder.enabled) throw businessError('user-disabled')
      if (account.holder.confirmedEmail === null) throw businessError('email-missing')
      await work(account)
    })
  }

  /**
   * Checks that the inviter may still invite the user: with the present permissions, data scope and roles of both.
   *
   * @throws BusinessError "403" `recovery.invitation-withdrawn`
   */
  async #assertInviterMayInvite({ inviterId }: RecoveryTokenRow, account: LockedCredentials): Promise<void> {
    if (inviterId == null) return
    const principal = await this.#parts.identity.principalOf(inviterId)
    const mayInvite = principal?.can(permissionCodes.userCreate) || principal?.can(permissionCodes.userUpdate)
    if (principal === undefined || !mayInvite) throw businessError('invitation-withdrawn')
    try {
      await account.assertMayBeChangedBy({ principal, clientIp: '', traceId: '', userAgent: '' })
    } catch (cause) {
      // Another error, for example a conflict of transactions, must stay as it is.
      throw isBusinessError(cause) ? businessError('invitation-withdrawn', { cause }) : cause
    }
  }
}

/** Returns the state to which a link of the purpose `email-undo` is bound: a digest of the confirmed address. */
const addressState = (address: string | null): string => hash('sha256', normalizeOptionalEmail(address).emailKey ?? '')

/** @throws BusinessError "400" `recovery.token-invalid` if password, address or status changed since the link was sent */
function assertCurrent(row: RecoveryTokenRow, holder: CredentialHolder | undefined): void {
  if (holder === undefined || !holder.enabled || holder.state !== row.state) throw businessError('token-invalid')
}
