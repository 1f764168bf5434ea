import type { RowOwner } from '@plinth/database'
import { event } from '@plinth/events'
import { type HttpServer, Type } from '@plinth/http'
import { extensionPoint, type LocalizedText, type PersonalTable, service, shape } from '@plinth/kernel'

/**
 * Users whose data an operator may access (decision A5): all users, those of the same organisation, or only the
 * operator.
 */
export type DataScope = 'all' | 'org' | 'self'

/** Code of the built-in role that passes every permission check (K-007). */
export const superAdminRole = 'super-admin'

/** The caller, in the state at the last check of the token. */
export interface Principal {
  readonly userId: number
  readonly username: string
  readonly orgId: number | null
  /** Id of the session; 0 if there is none, for example from `Identity.principalOf`. */
  readonly sessionId: number
  readonly roles: readonly string[]
  readonly isSuperAdmin: boolean
  /** Codes that the roles grant. A super administrator has all permissions, so call `can` to check one. */
  readonly permissions: ReadonlySet<string>
  /** The widest scope of the roles; `self` without a role. */
  readonly dataScope: DataScope
  can(permission: string): boolean
}

/** Origin and reason of a call, for the audit. */
export interface CallOrigin {
  readonly clientIp: string
  readonly traceId: string
  readonly userAgent: string
  /** The reason that the caller stated. */
  readonly reason?: string
}

/** A user who acts, and the origin of the call. */
export interface Operator extends Omit<CallOrigin, 'userAgent'> {
  readonly principal: Principal
}

/** An actor and the origin of the call. `name` is for actors without a user: `cli`, `install`. */
export type Actor = CallOrigin & ({ readonly principal: Principal } | { readonly name: string })

export type { RowOwner }

export interface Session {
  /** Opaque text. The token is returned only once, because only its SHA-256 is stored. */
  readonly accessToken: string
  readonly tokenType: 'Bearer'
  /** ISO 8601. */
  readonly expiresAt: string
}

export interface Identity {
  /**
   * Returns the user of a token. The result is synchronous while the token is cached and its state is fresh.
   * @throws BusinessError "401" with reason `iam.token-invalid` or `iam.token-expired`
   */
  authenticate(token: string): Principal | Promise<Principal>
  /** Returns a user with the current permissions, or `undefined` if the user does not exist or is disabled. */
  principalOf(userId: number): Promise<Principal | undefined>
  /**
   * Returns the sessions that are still valid: they have not ended, expired or become idle, and the user is enabled.
   * The call does not count as use of the sessions. It is for connections that outlive the request that opened them.
   * @param sessionIds any number
   */
  standingSessions(sessionIds: readonly number[]): Promise<ReadonlySet<number>>
  /**
   * Rejects the call if any user is outside the principal's data scope or does not exist.
   * @param field member of the request with the ids, for the error
   * @throws BusinessError "403" with reason `iam.out-of-scope`
   */
  assertInScope(principal: Principal, userIds: readonly number[], field?: string): Promise<void>
  /**
   * Returns whether the user exists within the principal's data scope. Use this for a request about one user. A user
   * out of scope is treated like an unknown user (decision B34).
   */
  isInScope(principal: Principal, userId: number): Promise<boolean>
  /** Returns the users that exist within the principal's data scope. @param userIds any number */
  reachedOf(principal: Principal, userIds: readonly number[]): Promise<ReadonlySet<number>>
  /**
   * Returns the organisation that all these users belong to, or null if one of them does not exist, has no organisation
   * or another one.
   */
  commonOrganisation(userIds: readonly number[]): Promise<number | null>
  /**
   * Rejects an organisation that the principal may not assign. Scope `all` allows any, `org` only the principal's own,
   * `self` none.
   * @param orgId null: no organisation
   * @throws BusinessError "403" with reason `iam.organisation-out-of-scope`
   */
  assertOrgInScope(principal: Principal, orgId: number | null): void
  /**
   * Returns a condition of the entity manager for the rows of users within the principal's data scope. Only scope `all`
   * includes rows without a user and rows whose user was deleted. A handler with a request calls `callerRows`.
   * @param owner how a row refers to its user; must not come from a request
   */
  rowsInScope(principal: Principal, owner: RowOwner): object
  /**
   * Opens a session for a user whose identity another plugin has proven (a wallet, a code), with the same tokens,
   * guards and audit as with a password.
   * @throws BusinessError "403" `iam.user-disabled`, "404" `iam.user-unknown`, or the error of a login guard
   */
  openSession(userId: number, attempt: LoginAttempt): Promise<Session>
  /**
   * Like `openSession`, for a proof that is not checked yet. The guards run before the check. If the proof is rejected,
   * the login audit records this like a wrong password.
   * @param account user of the attempt, or null if it does not refer to an account
   * @param prove checks the proof and returns the user, which it may create. The caller receives its `BusinessError`.
   * With a `RejectedProof` as cause, the audit contains more details.
   * @throws BusinessError like `openSession`, and the errors of `prove`
   */
  openProvenSession(account: number | null, attempt: LoginAttempt, prove: () => Promise<number>): Promise<Session>
}

/**
 * Why a proof was rejected, for the login audit. All callers receive the same error. Used as the cause of a
 * `BusinessError`.
 */
export class RejectedProof extends Error {
  override readonly name = 'RejectedProof'
  /** Stable dotted code. */
  readonly reason: string

  constructor(reason: string) {
    super(reason)
    this.reason = reason
  }
}

/** Checks tokens and returns the authority of their users. */
export const identity = service<Identity>('iam.identity', { from: '@plinth/iam' })

/**
 * A user was deleted, with sessions, roles and external identities. Published in the transaction of the deletion with
 * the key `user:{userId}`, if the product has events.
 */
export const userDeleted = event('iam.user.deleted', Type.Object({ userId: Type.Integer({ minimum: 1 }) }))

/**
 * The stored data of a user was erased: removed or anonymised in all tables that plugins declare. A plugin with data in
 * other places erases it now. Published in the transaction that ends the erasure with the key `user:{userId}`, if the
 * product has events. It may be published again for the same user.
 */
export const userErased = event('iam.user.erased', Type.Object({ userId: Type.Integer({ minimum: 1 }) }))

export interface NewUser {
  readonly username: string
  readonly email?: string | null
  /** E.164, for example `+8613800000000`. */
  readonly mobile?: string | null
  /** Without a password, the user can only sign in with an external identity. */
  readonly password?: string
  readonly enabled?: boolean
  readonly orgId?: number | null
  readonly roleIds?: readonly number[]
}

/** A user as other plugins see it. */
export interface Account {
  readonly id: number
  readonly username: string
  readonly email: string | null
  readonly mobile: string | null
  readonly enabled: boolean
  readonly orgId: number | null
}

export interface ExternalSubject {
  /** For example `evm`. */
  readonly provider: string
  readonly chainType: string
  /** Normalised by the caller, so that equal subjects are equal texts. */
  readonly subject: string
  /**
   * How the owner proved the identity, as a stable code of the provider, for example `ecrecover`. At most 64
   * characters. Absent if the identity was not proven, for example if an administrator binds it.
   */
  readonly proof?: string
}

/** A name or address of an account, and the rule that it breaks. */
export interface AccountProblem {
  readonly field: 'username' | 'email' | 'mobile'
  readonly rule: 'username' | 'username-mixed-script' | 'email' | 'mobile'
}

export interface Accounts {
  hasUsers(): Promise<boolean>
  /** Returns the rules that these texts break. Does not check whether another account uses them. */
  check(user: Partial<Pick<NewUser, AccountProblem['field']>>): readonly AccountProblem[]
  find(userId: number): Promise<Account | undefined>
  findByUsername(username: string): Promise<Account | undefined>
  /** Returns enabled users with the role, ordered by id. */
  findByRole(roleCode: string): Promise<readonly Account[]>
  /**
   * @throws BusinessError "400" for an invalid name, address or password, "409" `iam.username-taken`,
   * `iam.email-taken`, `iam.mobile-taken`
   */
  create(user: NewUser, actor: Actor): Promise<Account>
  /** Creates a user with the role `super-admin`. Throws like `create`. */
  createSuperAdministrator(user: NewUser, actor: Actor): Promise<Account>
  /**
   * Creates the first user, with the role `super-admin`. Does nothing if a user exists. Among concurrent calls on any
   * number of instances, one creates the user.
   */
  createAdministrator(
    user: NewUser & { readonly password: string },
    actor: Actor,
  ): Promise<{ readonly created: boolean; readonly account: Account | undefined }>
  /**
   * Renames a user after calling the rename guards.
   * @throws BusinessError "404" `iam.user-unknown`, "400", "409" `iam.username-taken`, or the error of a guard
   */
  rename(userId: number, username: string, actor: Actor): Promise<Account>
  /** Returns the user of an external identity and its stored proof, or null for an identity without a proof. */
  findByExternal(
    subject: Pick<ExternalSubject, 'provider' | 'subject'>,
  ): Promise<(Account & { readonly externalProof: string | null }) | undefined>
  /**
   * Returns the user of an external identity. The first login creates the user with the suggested name, or with
   * `<fallbackPrefix>_<random>` if that name is taken (decision A4).
   * @param subject its proof is stored with a new identity; the proof of a known identity stays unchanged
   * @returns `proof` as it is stored: null if the identity was bound without a proof or by an earlier release. The
   * caller decides whether its own proof may open the account.
   */
  resolveExternal(
    subject: ExternalSubject,
    suggested: { readonly username: string; readonly fallbackPrefix: string },
    actor: Actor,
  ): Promise<{ readonly created: boolean; readonly account: Account; readonly proof: string | null }>
  /**
   * Replaces the stored proof of an external identity. If another proof was stored, all sessions of the user end,
   * because another person may have opened them with that proof. Does nothing for an unknown identity.
   */
  storeExternalProof(subject: Pick<ExternalSubject, 'provider' | 'subject'>, proof: string): Promise<void>
  /**
   * Confirms that a user owns the e-mail address of the account, proven by a code that was sent there. The address can
   * then be used to sign in, and no other account can use it.
   * @throws BusinessError "404" `iam.user-unknown`, "409" `iam.email-changed` if the account has another address now,
   * `iam.email-taken`
   */
  confirmEmail(userId: number, email: string, actor: Actor): Promise<void>
  /** Binds an external identity to a user. Throws "409" `iam.external-identity-taken` if another user has it. */
  bindExternal(userId: number, subject: ExternalSubject, actor: Actor): Promise<void>
  /** Writes the built-in data of a new database: the permission catalogue. Idempotent. */
  seed(): Promise<void>
}

/** Gives other plugins access to users, for example the installer, other sign-in methods and commands. */
export const accounts = service<Accounts>('iam.accounts', { from: '@plinth/iam' })

/** The rows of a user in one table, with the effect of an erasure on them. */
export interface PersonalRows {
  /** Id of the plugin that declared the table. */
  readonly plugin: string
  readonly table: string
  readonly title: LocalizedText
  /** Columns by which the rows refer to the user. */
  readonly columns: readonly string[]
  readonly erasure: PersonalTable['erasure']
  /** Columns that an erasure overwrites; empty unless the rows are anonymised. */
  readonly overwritten: readonly string[]
  /** Why rows or values are kept; absent if the rows are removed. */
  readonly reason: LocalizedText | undefined
  /** Number of rows that an erasure changes. If the rows are kept, the number of rows that stay. */
  readonly rows: number
}

/** Exports and erases a user in the tables of all plugins; see `personalData` of the kernel. */
export interface PersonalRecords {
  /**
   * Returns the rows that the product stores about a user, and the effect that an erasure would have. Changes nothing.
   * @throws BusinessError "404" `iam.user-unknown`, "403" `iam.beyond-own-authority`
   */
  summary(userId: number, actor: Actor): Promise<readonly PersonalRows[]>
  /** Returns all rows of a user as chunks of JSON text, and records the export in the audit. Throws like `summary`. */
  export(userId: number, actor: Actor): Promise<AsyncIterable<string>>
  /**
   * Disables an account and ends its sessions, then removes or anonymises all rows of the user, and the account last. A
   * second call after a crash continues the erasure. An actor without a user, such as a command, may also pass the id
   * of a user whose account was deleted before.
   * @param options `confirmation` must be the name of the user, unless it is absent
   * @throws BusinessError like `summary`, "400" `iam.erasure-unconfirmed`, "403" `iam.own-erasure`, "409"
   * `iam.last-administrator`; the reason of the aborted signal
   */
  erase(
    userId: number,
    options: { readonly actor: Actor; readonly confirmation?: string | undefined; readonly signal: AbortSignal },
  ): Promise<readonly PersonalRows[]>
}

/** Gives other plugins and commands access to the personal data of users. */
export const personalRecords = service<PersonalRecords>('iam.personal-records', { from: '@plinth/iam' })

/** A broken rule of the password policy: a stable code and its limit. */
export interface PasswordProblem {
  readonly rule: 'too-short' | 'too-long' | 'needs-letter-and-digit' | 'needs-three-kinds' | 'well-known' | 'pattern'
  /** Number of characters; present for the two rules about the length. */
  readonly limit?: number
  /** English text for people. */
  readonly message: string
}

export interface Passwords {
  readonly policy: 'low' | 'medium' | 'high' | 'custom'
  /**
   * Returns the rules of the effective policy that a password breaks; empty if it is allowed.
   * @param isOperator true if the account has permissions; `platform.iam.password.operator-min-length` then applies too
   * @param policy default: the effective policy
   */
  check(
    password: string,
    username?: string,
    isOperator?: boolean,
    policy?: Passwords['policy'],
  ): readonly PasswordProblem[]
  /**
   * Like `check`. `field` is the member of the request that has the password; default: `password`.
   * @throws BusinessError "400" `iam.password-refused` with `data.faults` and `data.field`
   */
  assertAllowed(
    password: string,
    account?: { readonly username?: string; readonly field?: string; readonly isOperator?: boolean },
  ): void
}

/** The effective password policy. */
export const passwords = service<Passwords>('iam.passwords', { from: '@plinth/iam' })

export interface LoginAttempt extends CallOrigin {
  /** Method of the attempt, for example `password`, `password-change`, `email-change` or `wallet`. */
  readonly method: string
  /** Text that the caller typed to identify the account. Never store or log it unmasked. */
  readonly identifier: string
  /**
   * Text that the login audit shows instead of the identifier, at most 64 characters. Must not contain secrets.
   * Default: the first character of the identifier.
   */
  readonly shownIdentifier?: string
  /** Sets a header of the response, also for a rejected attempt. */
  setHeader(name: string, value: string): void
}

/** An attempt and its account. */
export interface GuardedAttempt extends LoginAttempt {
  /** Account that the identifier refers to, by name or e-mail address, or null. Never show it to the caller. */
  readonly userId: number | null
}

/** Called before any credential is checked. */
export interface LoginGuard {
  /** Throws a `BusinessError` to reject the attempt. The login audit then contains the text of the error. */
  beforeAttempt(attempt: GuardedAttempt): void | Promise<void>
  afterAttempt?(attempt: GuardedAttempt, outcome: { readonly success: boolean }): void | Promise<void>
}

/**
 * Guards of logins, for example a rate limit. All of them are called, ordered by name. A plugin that contributes a
 * guard may require `accounts`.
 */
export const loginGuard = extensionPoint<LoginGuard>('iam.login-guard', {
  from: '@plinth/iam',
  live: true,
  names: shape.dotted,
  shape: shape.object<LoginGuard>({ beforeAttempt: shape.function }, { afterAttempt: shape.function }),
})

/** Lets a rename guard look up external identities. */
export interface ExternalIdentityLookup {
  isBound(userId: number, provider: string, subject: string): Promise<boolean>
}

/** Called when a user or an administrator renames a user (decision A3), but not when a user is created. */
export interface RenameGuard {
  /** Throws a `BusinessError` if the user must not have the name. */
  assertUsernameAllowed(userId: number, username: string, identities: ExternalIdentityLookup): void | Promise<void>
}

export const renameGuard = extensionPoint<RenameGuard>('iam.rename-guard', {
  from: '@plinth/iam',
  live: true,
  names: shape.dotted,
  shape: shape.object<RenameGuard>({ assertUsernameAllowed: shape.function }),
})

type HandlerOfGuard = ReturnType<Parameters<HttpServer['guard']>[0]['forRoute']>
/** A request of the HTTP server, as guards see it. */
export type GuardedRequest = Parameters<NonNullable<HandlerOfGuard>>[0]

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller; `undefined` on public routes. */
    principal: Principal | undefined
    /** Monotonic time of the access check of a request that may have a body. */
    admittedAt: number
  }
}
