import type { FoundPage, PageWindow, RowOwner } from '@plinth/database'
import { event } from '@plinth/events'
import { type HttpServer, Type } from '@plinth/http'
import {
  type AuditSummary,
  extensionPoint,
  type LocalizedText,
  type PersonalTable,
  service,
  shape,
} from '@plinth/kernel'
import type { SignInPolicy } from './access/sign-in-policy.ts'
import type { SessionProof } from './proof/contract.ts'

/**
 * Whose data an operator may access (decision A5): all users, the users of the same organisation, or only the operator.
 */
export type DataScope = 'all' | 'org' | 'self'

/** Code of the built-in role that has every permission (requirement K-007). */
export const superAdminRole = 'super-admin'

/** The signed-in caller, as of the last check of the token. */
export interface Principal {
  readonly userId: number
  readonly username: string
  readonly orgId: number | null
  /**
   * Credential of the request. `api-token`: a personal API token, which has at most the permissions of its owner. `none`: no
   * request, for example `Identity.principalOf`.
   */
  readonly credential: 'session' | 'api-token' | 'none'
  /** Set if the credential is the token of an audience. Such a caller has no permissions and the data scope `self`. */
  readonly audience?: string
  /** Id of the session, or 0 if `credential` is not `session`. */
  readonly sessionId: number
  /** Codes of the roles. Empty for an API token, whose permissions are its own. */
  readonly roles: readonly string[]
  /** Always false for an API token. */
  readonly isSuperAdmin: boolean
  /**
   * Permission codes of the roles, or of the API token as far as its owner has them. Use `can` to check a permission,
   * because a super administrator has all permissions.
   */
  readonly permissions: ReadonlySet<string>
  /** The widest data scope of the roles; `self` without a role. For an API token, at most its own data scope. */
  readonly dataScope: DataScope
  can(permission: string): boolean
  /** The last proof of identity in this session; absent without a session, and for sessions of earlier releases. */
  readonly proof?: SessionProof
  /**
   * Checks that the user has proven the identity in this session within the given time. Does nothing while
   * `platform.iam.fresh-proof.enabled` is false. A caller without a session never has a fresh proof.
   *
   * @param maxAge duration, for example `5m`
   * @param options `strongest`: the proof must be at least as strong as the strongest method that the user can use, for
   *   operations that change how the user signs in; `always`: while fresh proofs are disabled, such an operation needs a
   *   proof by any method, unless the user has no method
   * @throws BusinessError "401" `iam.proof-required`, directly or as a rejection
   */
  assertFresh(maxAge: string, options?: FreshProofOptions): void | Promise<void>
}

export interface FreshProofOptions {
  readonly strongest?: boolean
  readonly always?: boolean
}

/** Origin of a call and its stated reason, for the audit. */
export interface CallOrigin {
  readonly clientIp: string
  readonly traceId: string
  readonly userAgent: string
  readonly reason?: string
}

/** A signed-in user and the origin of the call. */
export interface Operator extends Omit<CallOrigin, 'userAgent'> {
  readonly principal: Principal
}

/** Who makes a change, and the origin of the call. `name` is set for actors that are not users: `cli`, `install`. */
export type Actor = CallOrigin & ({ readonly principal: Principal } | { readonly name: string })

export type { RowOwner }

export interface Session {
  /** Random text. It is returned only once, because only its SHA-256 is stored. */
  readonly accessToken: string
  readonly tokenType: 'Bearer'
  /** Expiry time in ISO 8601. */
  readonly expiresAt: string
  /** Expiry time without the rules of the roles, which can change. In ISO 8601. Responses do not contain it. */
  readonly maxExpiresAt: string
}

/** A token of an audience. It is returned only once, because only its SHA-256 is stored. */
export interface AudienceToken {
  readonly token: string
  /** ISO 8601. */
  readonly expiresAt: string
}

/** A request with a token in the header `Authorization: Bearer`. */
export interface BearerRequest {
  readonly clientIp: string
}

export interface Identity {
  /**
   * Returns the user of a token. Returns without a promise while the cached token is known to be valid.
   *
   * @param bearer request whose header `Authorization: Bearer` contains the token. Without it, only sessions are
   *   accepted, because an API token must not be in a query, a cookie or a WebSocket handshake.
   * @throws BusinessError "401" with reason `iam.token-invalid`, `iam.token-expired`, `iam.api-token-invalid`,
   *   `iam.api-token-expired` or `iam.api-token-misplaced`
   */
  authenticate(token: string, bearer?: BearerRequest): Principal | Promise<Principal>
  /**
   * Like `authenticate`, but also accepts tokens of the audience. For credentials outside of a request, such as those of
   * a WebSocket handshake. Never pass a token from a URL.
   *
   * @throws BusinessError the errors of `authenticate`; "403" `iam.token-out-of-audience`
   */
  authenticateFor(audience: string, token: string): Promise<Principal>
  /**
   * Creates a token of a user that only the routes of an audience accept, see `acceptsAudience`. It ends with its
   * lifetime, with the session, after a change of the password, and while the user is disabled. A user has at most 50
   * tokens of an audience: a new token replaces the oldest one.
   *
   * @param audience 1 to 32 characters
   * @param options `lifetimeMs`: milliseconds, at most one day; `sessionId`: `Principal.sessionId` of the caller
   * @throws BusinessError "404" `iam.user-unknown`, also for a disabled user
   */
  issueAudienceToken(
    userId: number,
    audience: string,
    options: { readonly lifetimeMs: number; readonly sessionId?: number },
  ): Promise<AudienceToken>
  /** Returns a user with the current permissions. Returns `undefined` if the user does not exist or is disabled. */
  principalOf(userId: number): Promise<Principal | undefined>
  /**
   * Returns the ids of the sessions that are still valid: not ended, expired or idle, and of an enabled user.
   * Connections that stay open after the request that opened them use this method. The call does not count as use of a
   * session.
   *
   * @param sessionIds any number
   */
  standingSessions(sessionIds: readonly number[]): Promise<ReadonlySet<number>>
  /**
   * Checks that all users exist and are in the data scope of the principal.
   *
   * @param field request field with the ids, for the error
   * @throws BusinessError "403" with reason `iam.out-of-scope`
   */
  assertInScope(principal: Principal, userIds: readonly number[], field?: string): Promise<void>
  /**
   * Returns whether the user exists and is in the data scope of the principal. Requests about one user call this
   * method, because they treat a user out of scope like an unknown user (decision B34).
   */
  isInScope(principal: Principal, userId: number): Promise<boolean>
  /**
   * Returns the ids of the users that exist and are in the data scope of the principal.
   *
   * @param userIds any number
   */
  reachedOf(principal: Principal, userIds: readonly number[]): Promise<ReadonlySet<number>>
  /**
   * Returns the organisation of these users if it is the same for all. Returns null if it differs, or if a user does
   * not exist or has no organisation.
   */
  commonOrganisation(userIds: readonly number[]): Promise<number | null>
  /**
   * Returns roles with their names in a language, in the order of their ids.
   *
   * @param codes codes of the roles; default: all roles
   */
  findRoles(
    locale: string,
    codes?: readonly string[],
  ): Promise<readonly { readonly id: number; readonly code: string; readonly name: string }[]>
  /**
   * Checks that the principal may assign the organisation. Scope `all` allows any organisation, `org` only the
   * principal's own, `self` none.
   *
   * @param orgId null: no organisation
   * @throws BusinessError "403" with reason `iam.organisation-out-of-scope`
   */
  assertOrgInScope(principal: Principal, orgId: number | null): void
  /**
   * Returns a condition of the entity manager for rows that belong to users in the data scope of the principal. Rows
   * without a user, and rows of deleted users, are only included for scope `all`. If a request is available, use
   * `callerRows` instead.
   *
   * @param owner how a row refers to its user; must not come from a request, because it becomes part of the SQL
   */
  rowsInScope(principal: Principal, owner: RowOwner): object
  /**
   * Returns a page of the ids of users that are in the data scope of the principal and meet a condition of the entity
   * manager. The rows have the property `id`.
   *
   * @param where must not come from a request, because it may contain SQL
   * @throws the errors of `findPage`
   */
  findUserIds(principal: Principal, where: object, window: PageWindow): Promise<FoundPage<{ readonly id: number }>>
  /**
   * Returns an id that separates the users who exist now from later ones: the ids of existing users are not larger, and
   * the ids of all later users are. Must be called in a transaction, before other statements. Until the transaction
   * ends, no user can be created or changed.
   */
  limitUserIds(): Promise<number>
  /**
   * Opens a session for a user whose identity another plugin has proven, for example by a wallet or a code. Tokens,
   * guards and audit are the same as with a password.
   *
   * @throws BusinessError "403" `iam.user-disabled`, "404" `iam.user-unknown`, or the error of a login guard; "401"
   *   `iam.second-factor-required` with `SecondFactorRequired` as data, if the user needs a second factor and `attempt`
   *   does not prove it; "403" `iam.second-factor-impossible`; "503" `iam.second-factor-unavailable`
   */
  openSession(userId: number, attempt: LoginAttempt): Promise<Session>
  /**
   * Opens a session with a proof that is not checked yet. The login guards run before `prove`. A rejected proof is
   * recorded in the login audit like a wrong password.
   *
   * @param account user that the attempt refers to, or null
   * @param prove checks the proof and returns the user, which it may create. Its `BusinessError` is passed to the
   *   caller. If the cause of the error is a `RejectedProofError`, the audit also contains the reason.
   * @throws BusinessError the errors of `openSession` and of `prove`
   */
  openProvenSession(account: number | null, attempt: LoginAttempt, prove: () => Promise<number>): Promise<Session>
  /**
   * Proves the user of a session again, for methods that `proofMethod` lists. Guards and audit are those of a login. The
   * session then has a new token with the same expiry time, and the old token is no longer valid.
   *
   * @param token access token of the request, see `tokenOf`
   * @param method name of the method, at most 32 characters
   * @param prove checks the proof of this user. If it throws a `BusinessError`, the attempt has failed. See
   *   `openProvenSession`.
   * @throws BusinessError "401" `iam.token-invalid`, also if another request has just renewed the session; "401"
   *   `iam.proof-required` for a token without a session; the errors of login guards and of `prove`
   */
  proveAgain(
    token: string,
    method: string,
    attempt: LoginAttempt,
    prove: (userId: number) => Promise<void>,
  ): Promise<Session>
  /**
   * Ends sessions of a user because of an event outside of this product, for example a logout at an identity provider.
   * Also ends the sign-ins of the user that wait for a second factor. Records ended sessions in the audit.
   *
   * @param sessionIds ids of sessions of this user; others are ignored
   * @returns the number of sessions that ended
   */
  endSessions(userId: number, sessionIds: readonly number[], actor: Actor): Promise<number>
  /** Returns the ids of the sessions of a user that have not ended and were opened with this method of a `LoginAttempt`. */
  sessionsOpenedBy(userId: number, method: string): Promise<readonly number[]>
  /**
   * Returns the sign-in that waits for a second factor. Changes nothing.
   *
   * @throws BusinessError "401" `iam.pending-sign-in-invalid` for a token that is unknown, used or expired, after five
   *   attempts, and after each change of the account
   */
  findPendingSignIn(pendingToken: string): Promise<PendingAccount>
  /**
   * Completes a sign-in with a second factor that the user has set up. Guards and audit are those of a login. Each call
   * uses up one of five attempts of the pending token, and only one call can succeed.
   *
   * @param method name of the `ProofMethod`
   * @param prove checks the second factor of this user. If it throws a `BusinessError`, the attempt has failed. See
   *   `openProvenSession`.
   * @throws BusinessError the errors of `findPendingSignIn`, of login guards and of `prove`; "403" `iam.user-disabled`
   */
  completeSignIn(
    pendingToken: string,
    method: string,
    attempt: LoginAttempt,
    prove: (userId: number) => Promise<void>,
  ): Promise<Session>
  /**
   * Completes a sign-in of a user who must have a second factor and has none, with a factor that is set up now.
   *
   * @param prove checks that the new factor works, and returns a function that stores it. The function runs in the
   *   transaction that opens the session. It is not called if the user has set up a factor meanwhile.
   * @throws BusinessError the errors of `completeSignIn`; "409" `iam.second-factor-set-up`
   */
  setUpSecondFactor(
    pendingToken: string,
    method: string,
    attempt: LoginAttempt,
    prove: (account: PendingAccount) => Promise<() => Promise<void>>,
  ): Promise<Session>
}

/** `data` of `iam.second-factor-required`. */
export interface SecondFactorRequired {
  /** Text with the prefix `plinthpending_`. It completes this sign-in, and nothing else accepts it. */
  readonly pendingToken: string
  /** Expiry time in ISO 8601. */
  readonly expiresAt: string
  /** Names of the methods that the user can use, or with `setUp` can set up, the strongest first. */
  readonly methods: readonly string[]
  /** True if the user must have a second factor and has none. */
  readonly setUp: boolean
}

/** A sign-in whose first factor is proven. */
export interface PendingAccount {
  readonly id: number
  readonly userId: number
  readonly username: string
}

/**
 * Contains the reason of a rejected proof for the login audit. Used as the cause of a `BusinessError`, so that callers
 * receive the same error for all reasons.
 */
export class RejectedProofError extends Error {
  override readonly name = 'RejectedProofError'
  readonly reason: string

  constructor(reason: string) {
    super(reason)
    this.reason = reason
  }
}

/** Checks tokens and returns users with their permissions. */
export const identity = service<Identity>('iam.identity', { from: '@plinth/iam' })

/**
 * A user was deleted with sessions, roles and external identities. Published in the transaction of the deletion with
 * the key `user:{userId}`, if the product has events.
 */
export const userDeleted = event('iam.user.deleted', Type.Object({ userId: Type.Integer({ minimum: 1 }) }))

/**
 * The data of a user was erased in all tables that plugins declare. A plugin that stores data elsewhere must now erase
 * it. Published in the last transaction of the erasure with the key `user:{userId}`, if the product has events. May be
 * published again for the same user.
 */
export const userErased = event('iam.user.erased', Type.Object({ userId: Type.Integer({ minimum: 1 }) }))

/**
 * All second factors of a user were removed by an administrator or by `plinth admin recover`. Published in the
 * transaction of the change with the key `user:{userId}`, if the product has events.
 */
export const secondFactorsReset = event(
  'iam.user.second-factors-reset',
  Type.Object({ userId: Type.Integer({ minimum: 1 }), methods: Type.Array(Type.String()) }),
)

export interface NewUser {
  readonly username: string
  readonly email?: string | null
  /** Number in E.164 format, for example `+8613800000000`. */
  readonly mobile?: string | null
  /** If absent, the user can only sign in with an external identity. */
  readonly password?: string
  readonly enabled?: boolean
  readonly orgId?: number | null
  readonly roleIds?: readonly number[]
}

/** A user, with the fields that other plugins may read. */
export interface Account {
  readonly id: number
  readonly username: string
  readonly email: string | null
  readonly mobile: string | null
  readonly enabled: boolean
  readonly orgId: number | null
}

export interface ExternalIdentity {
  /** Name of the identity provider, for example `evm`. */
  readonly provider: string
  readonly chainType: string
  /** Identity at the provider, normalised by the caller, so that the same identity always has the same text. */
  readonly subject: string
  /**
   * How the owner proved the identity: a stable code of the provider, for example `ecrecover`, at most 64 characters.
   * Absent without a proof, for example if an administrator bound the identity.
   */
  readonly proof?: string
}

/** Change of the roles and the organisation of a user. See `Accounts.adjustGrants`. */
export interface GrantAdjustment {
  readonly add: readonly number[]
  readonly remove: readonly number[]
  /** Absent: the organisation stays. */
  readonly orgId?: number | undefined
}

/** An invalid name or address of an account, and the violated rule. */
export interface AccountProblem {
  readonly field: 'username' | 'email' | 'mobile'
  readonly rule: 'username' | 'username-mixed-script' | 'email' | 'mobile'
}

export interface Accounts {
  hasUsers(): Promise<boolean>
  /** Returns the rules that these texts violate. Does not check whether another account uses them. */
  check(user: Partial<Pick<NewUser, AccountProblem['field']>>): readonly AccountProblem[]
  find(userId: number): Promise<Account | undefined>
  /**
   * Returns those of the users that exist, in any order.
   *
   * @param userIds any number
   */
  findAll(userIds: readonly number[]): Promise<readonly Account[]>
  findByUsername(username: string): Promise<Account | undefined>
  /** Returns the enabled users with the role, ordered by id. */
  findByRole(roleCode: string): Promise<readonly Account[]>
  /**
   * @throws BusinessError "400" for an invalid name, address or password, "409" `iam.username-taken`,
   *   `iam.email-taken`, `iam.mobile-taken`
   */
  create(user: NewUser, actor: Actor): Promise<Account>
  /**
   * Creates a user with the role `super-admin`.
   *
   * @throws BusinessError the errors of `create`
   */
  createSuperAdministrator(user: NewUser, actor: Actor): Promise<Account>
  /**
   * Creates the first user, with the role `super-admin`. Does nothing if a user exists. If several callers call it at
   * the same time, also on several instances, only one user is created.
   */
  createAdministrator(
    user: NewUser & { readonly password: string },
    actor: Actor,
  ): Promise<{ readonly created: boolean; readonly account: Account | undefined }>
  /**
   * Calls the rename guards, then renames the user.
   *
   * @throws BusinessError "404" `iam.user-unknown`, "400", "409" `iam.username-taken`, or the error of a guard
   */
  rename(userId: number, username: string, actor: Actor): Promise<Account>
  /**
   * Returns the user of an external identity and the stored proof of the identity, which is null if it was bound
   * without one.
   */
  findByExternal(
    subject: Pick<ExternalIdentity, 'provider' | 'subject'>,
  ): Promise<(Account & { readonly externalProof: string | null }) | undefined>
  /**
   * Returns the user of an external identity. The first login creates the user with the suggested name, or with
   * `<fallbackPrefix>_<random>` if the name is taken (decision A4).
   *
   * @param subject its proof is only stored with a new identity
   * @returns `proof` as stored: null if the identity was bound without a proof or by an earlier release. The caller
   *   decides whether its own proof is enough to open the account.
   */
  resolveExternal(
    subject: ExternalIdentity,
    suggested: { readonly username: string; readonly fallbackPrefix: string },
    actor: Actor,
  ): Promise<{ readonly created: boolean; readonly account: Account; readonly proof: string | null }>
  /**
   * Replaces the stored proof of an external identity. If a different proof was stored, all sessions and API tokens of
   * the user end, because another person may have opened them. Does nothing for an unknown identity.
   */
  storeExternalProof(subject: Pick<ExternalIdentity, 'provider' | 'subject'>, proof: string): Promise<void>
  /**
   * Confirms that the user owns the e-mail address of the account, which a code has proven. Then the user can sign in
   * with the address, and no other account can use it.
   *
   * @throws BusinessError "404" `iam.user-unknown`, "409" `iam.email-changed` if the account now has another address,
   *   `iam.email-taken`
   */
  confirmEmail(userId: number, email: string, actor: Actor): Promise<void>
  /**
   * Binds an external identity to a user.
   *
   * @throws BusinessError "409" `iam.external-identity-taken` if another user has it
   */
  bindExternal(userId: number, subject: ExternalIdentity, actor: Actor): Promise<void>
  /** Returns whether the user has an external identity of this provider. */
  hasExternal(userId: number, provider: string): Promise<boolean>
  /**
   * Removes an external identity of a user, and ends the sign-ins of the user that wait for a second factor. Does nothing
   * if the user does not have the identity.
   *
   * @throws BusinessError "404" `iam.user-unknown`, "403" `iam.beyond-own-authority`, "409" `iam.last-sign-in-way` if the
   *   user could not sign in any more: without a password, another external identity and a `ProofMethod` with `signsIn`
   */
  unbindExternal(userId: number, subject: Pick<ExternalIdentity, 'provider' | 'subject'>, actor: Actor): Promise<void>
  /**
   * Adds and removes roles of a user as an identity provider states, and sets the organisation. Never adds or removes the
   * role `super-admin`. Ignores unknown roles. Changes of the same user run one after another.
   *
   * @param change computes the change from the ids of the roles that the user has. It must only use the database.
   * @throws BusinessError "404" `iam.user-unknown`
   */
  adjustGrants(
    userId: number,
    change: (heldRoleIds: readonly number[]) => Promise<GrantAdjustment>,
    actor: Actor,
  ): Promise<void>
  /**
   * Checks that an actor may decide that users get these roles and this organisation.
   *
   * @throws BusinessError "404" `iam.role-unknown`, also for the role `super-admin`, "403" `iam.beyond-own-authority`,
   *   `iam.organisation-out-of-scope`
   */
  assertMayGrant(
    grant: { readonly roleIds: readonly number[]; readonly orgId: number | null },
    actor: Actor,
  ): Promise<void>
  /** Writes the permission catalogue to a new database. Can be called again. */
  seed(): Promise<void>
}

/** Gives other plugins access to users, for example the installer, sign-in methods and commands. */
export const accounts = service<Accounts>('iam.accounts', { from: '@plinth/iam' })

/** An account with the facts that decide how its owner can recover it. */
export interface CredentialHolder extends Account {
  /** E-mail address with which the user can sign in, because it is confirmed. Null without such an address. */
  readonly confirmedEmail: string | null
  /** False for a user who only signs in with an external identity, or who has not accepted an invitation yet. */
  readonly hasPassword: boolean
  /**
   * Digest of password, e-mail address and status, 64 hexadecimal digits. It changes with each of them. A link that was
   * sent for another state is no longer valid.
   */
  readonly state: string
}

/** An account whose credentials no other code can change at the same time. See `Credentials.change`. */
export interface LockedCredentials {
  readonly holder: CredentialHolder
  /** Stores a password that `Credentials.hashPassword` has returned. */
  setPassword(passwordHash: string): void
  /**
   * Replaces the e-mail address by a confirmed one.
   *
   * @throws BusinessError "400" `iam.email-invalid`, "409" `iam.email-taken`
   */
  setConfirmedEmail(email: string): Promise<void>
  /** Ends everything by which the user is signed in: sessions and API tokens. Returns the number of ended sessions. */
  endCredentials(): Promise<number>
  /**
   * Removes all second factors of the user (`ProofMethod.reset`), and notifies the user. Returns the names of the methods
   * that were set up.
   */
  resetSecondFactors(): Promise<readonly string[]>
  /**
   * Returns the codes of the roles by which the user must have a second factor although no loaded plugin offers one, so that
   * the user cannot sign in.
   *
   * @param drop true: removes this rule from the roles, for all their users
   */
  unmetFactorRules(drop: boolean): Promise<readonly string[]>
  /**
   * Checks that an actor may change the account.
   *
   * @throws BusinessError "404" `iam.user-unknown` out of the data scope, "403" `iam.beyond-own-authority`
   */
  assertMayBeChangedBy(actor: Actor): Promise<void>
  /** Records the change in the audit, for example as `user.recover`. */
  record(action: `user.${string}`, summary?: AuditSummary): Promise<void>
}

export interface Credentials {
  /** Returns the user with this user name or confirmed e-mail address. */
  findByIdentifier(identifier: string): Promise<CredentialHolder | undefined>
  find(userId: number): Promise<CredentialHolder | undefined>
  /**
   * Checks a new password against the policy and hashes it. Call it outside of a transaction, because it is slow.
   *
   * @throws BusinessError "404" `iam.user-unknown`, "400" `iam.password-refused`, "503" `iam.busy`
   */
  hashPassword(userId: number, password: string): Promise<string>
  /**
   * Checks the current password of a user, with the guards, limits and audit of a login.
   *
   * @throws BusinessError "400" `iam.password-wrong`, "429" `rate-limit.exceeded`, or the error of a login guard
   */
  confirmPassword(userId: number, password: string, attempt: LoginAttempt): Promise<void>
  /** Returns the rules of the roles of the user for sign-ins and sessions. */
  signInPolicyOf(userId: number): Promise<SignInPolicy>
  /**
   * Returns the ways in which the user can sign in: `password`, `external:<provider>` for each external identity
   * that `ProofMethod.acceptsExternal` does not exclude, and the names of proof methods with `signsIn`. Before a plugin removes one, it checks that another one remains. Codes by mail
   * or text message are not included.
   */
  signInWaysOf(userId: number): Promise<readonly string[]>
  /**
   * Runs the work in a transaction in which no other code changes the account, on all instances. The work must only use
   * the database, and may be called again after a conflict.
   *
   * @param actor an actor that is not a user may change every account
   * @throws BusinessError "404" `iam.user-unknown`, "403" `iam.beyond-own-authority`, or the error of the work
   */
  change<T>(userId: number, actor: Actor, work: (account: LockedCredentials) => Promise<T>): Promise<T>
}

/** Changes passwords and e-mail addresses for plugins that recover or prove accounts. */
export const credentials = service<Credentials>('iam.credentials', { from: '@plinth/iam' })

/** Number of rows of a user in one table, and how an erasure changes them. */
export interface PersonalRowCount {
  /** Id of the plugin that declares the table. */
  readonly plugin: string
  readonly table: string
  readonly title: LocalizedText
  /** Columns that contain the id of the user. */
  readonly columns: readonly string[]
  readonly erasure: PersonalTable['erasure']
  /** Columns that an erasure overwrites. Empty unless the rows are anonymised. */
  readonly overwritten: readonly string[]
  /** Why the rows or some values are kept. Absent if the rows are removed. */
  readonly reason: LocalizedText | undefined
  /** Number of rows that an erasure changes, or number of rows that are kept. */
  readonly rows: number
}

/** Exports and erases the data of a user in the tables of all plugins. See `personalData` of the kernel. */
export interface PersonalRecords {
  /**
   * Returns which rows the product stores about a user, and how an erasure would change them. Changes nothing.
   *
   * @throws BusinessError "404" `iam.user-unknown`, "403" `iam.beyond-own-authority`
   */
  summary(userId: number, actor: Actor): Promise<readonly PersonalRowCount[]>
  /**
   * Returns all rows of a user as chunks of JSON text, and records the export in the audit.
   *
   * @throws BusinessError the errors of `summary`
   */
  export(userId: number, actor: Actor): Promise<AsyncIterable<string>>
  /**
   * Disables the account and ends its sessions, then removes or anonymises all rows of the user, and the account last.
   * After a crash, a second call continues. An actor that is not a user, such as a command, may also pass the id of a
   * deleted user.
   *
   * @param options `confirmation`, if present, must equal the user name
   * @throws BusinessError the errors of `summary`, "400" `iam.erasure-unconfirmed`, "403" `iam.own-erasure`, "409"
   *   `iam.last-administrator`; the reason of the aborted signal
   */
  erase(
    userId: number,
    options: { readonly actor: Actor; readonly confirmation?: string | undefined; readonly signal: AbortSignal },
  ): Promise<readonly PersonalRowCount[]>
}

/** Gives other plugins and commands access to the personal data of users. */
export const personalRecords = service<PersonalRecords>('iam.personal-records', { from: '@plinth/iam' })

/** A violated rule of the password policy: a stable code and its limit. */
export interface PasswordProblem {
  readonly rule: 'too-short' | 'too-long' | 'needs-letter-and-digit' | 'needs-three-kinds' | 'well-known' | 'pattern'
  /** Number of characters. Only present for `too-short` and `too-long`. */
  readonly limit?: number
  /** English text for users. */
  readonly message: string
}

export interface Passwords {
  readonly policy: 'low' | 'medium' | 'high' | 'custom'
  /**
   * Returns the rules that a password violates; empty if the password is allowed.
   *
   * @param isOperator true if the account has permissions, so that `platform.iam.password.operator-min-length` applies
   *   too
   * @param policy default: the configured policy
   */
  check(
    password: string,
    username?: string,
    isOperator?: boolean,
    policy?: Passwords['policy'],
  ): readonly PasswordProblem[]
  /**
   * Checks a password with the rules of `check`.
   *
   * @param account `field` is the request field of the password, default `password`
   * @throws BusinessError "400" `iam.password-refused` with `data.faults` and `data.field`
   */
  assertAllowed(
    password: string,
    account?: { readonly username?: string; readonly field?: string; readonly isOperator?: boolean },
  ): void
}

/** The configured password policy. */
export const passwords = service<Passwords>('iam.passwords', { from: '@plinth/iam' })

export interface LoginAttempt extends CallOrigin {
  /**
   * Method of the attempt, for example `password`, `password-change`, `email-change`, `password-proof` or `wallet`.
   */
  readonly method: string
  /** Text by which the caller identified the account. Must not be stored or logged unmasked. */
  readonly identifier: string
  /**
   * Text that the login audit shows instead of `identifier`, at most 64 characters, without secrets. Default: the first
   * character of `identifier`.
   */
  readonly shownIdentifier?: string
  /**
   * False if the user did not take part, for example in a single sign-on with an earlier login of the provider. The
   * session then begins without a proof of identity, see `Principal.proof`. Default: true.
   */
  readonly isProof?: boolean
  /**
   * Name of the second factor that this attempt proves together with the first one, for example `passkey` for a passkey
   * with user verification. Default: the attempt proves only a first factor.
   */
  readonly secondFactor?: string
  /** Sets a response header, even if the attempt is rejected. */
  setHeader(name: string, value: string): void
}

/** A login attempt and the account that it refers to. */
export interface GuardedAttempt extends LoginAttempt {
  /**
   * Account with this user name or e-mail address, or null. Must not be shown to the caller, because it reveals which
   * accounts exist.
   */
  readonly userId: number | null
}

/** Called for each login before any password or proof is checked. */
export interface LoginGuard {
  /** Throws a `BusinessError` to reject the attempt. The login audit then contains the text of this error. */
  beforeAttempt(attempt: GuardedAttempt): void | Promise<void>
  /**
   * Called after a correct first factor, before a session or a sign-in that waits for a second factor begins. Throws a
   * `BusinessError` to reject the attempt. It may reveal facts about the account, because the caller has proven it.
   */
  beforeSession?(attempt: GuardedAttempt & { readonly userId: number }): void | Promise<void>
  /** @param outcome `success`: the proof was correct, even if the second factor that is still needed cannot be used */
  afterAttempt?(attempt: GuardedAttempt, outcome: { readonly success: boolean }): void | Promise<void>
}

/**
 * Guards for logins, for example a rate limit. All guards are called, in the order of their names. A plugin that
 * contributes a guard may require `accounts`.
 */
export const loginGuard = extensionPoint<LoginGuard>('iam.login-guard', {
  from: '@plinth/iam',
  live: true,
  names: shape.dotted,
  shape: shape.object<LoginGuard>(
    { beforeAttempt: shape.function },
    { beforeSession: shape.function, afterAttempt: shape.function },
  ),
})

/** Allows a rename guard to look up external identities. */
export interface ExternalIdentityLookup {
  isBound(userId: number, provider: string, subject: string): Promise<boolean>
}

/** Called when a user is renamed (decision A3), but not when a user is created. */
export interface RenameGuard {
  /** Throws a `BusinessError` if the user must not have this name. */
  assertUsernameAllowed(userId: number, username: string, identities: ExternalIdentityLookup): void | Promise<void>
}

export const renameGuard = extensionPoint<RenameGuard>('iam.rename-guard', {
  from: '@plinth/iam',
  live: true,
  names: shape.dotted,
  shape: shape.object<RenameGuard>({ assertUsernameAllowed: shape.function }),
})

type HandlerOfGuard = ReturnType<Parameters<HttpServer['guard']>[0]['forRoute']>
/** A request, as the guards of the HTTP server receive it. */
export type GuardedRequest = Parameters<NonNullable<HandlerOfGuard>>[0]

declare module 'fastify' {
  interface FastifyRequest {
    /** The signed-in caller; `undefined` on public routes. */
    principal: Principal | undefined
    /** Monotonic time of the access check, for requests that may have a body. */
    admittedAt: number
  }
}
