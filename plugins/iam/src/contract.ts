import { event } from '@plinth/events'
import { type HttpServer, Type } from '@plinth/http'
import { extensionPoint, service, shape } from '@plinth/kernel'

/** Which users' data an operator may touch (decision A5): everybody's, those of the same organisation, the own. */
export type DataScope = 'all' | 'org' | 'self'

/** Code of the built-in role that passes every permission test (K-007). */
export const superAdminRole = 'super-admin'

/** Who calls, as of the last check of the token. */
export interface Principal {
  readonly userId: number
  readonly username: string
  readonly orgId: number | null
  /** Id of the session; 0 when there is none, as for `Identity.principalOf`. */
  readonly sessionId: number
  readonly roles: readonly string[]
  readonly isSuperAdmin: boolean
  /** Codes that the roles grant. A super administrator holds more than these: ask `can`. */
  readonly permissions: ReadonlySet<string>
  /** The widest of the roles' scopes; `self` without a role. */
  readonly dataScope: DataScope
  can(permission: string): boolean
}

/** What is known of the caller of a use case; goes into the audit. */
export interface CallOrigin {
  readonly clientIp: string
  readonly traceId: string
  readonly userAgent: string
  /** Why, as the caller said. */
  readonly reason?: string
}

/** A user who does something, and from where. */
export interface Operator extends Omit<CallOrigin, 'userAgent'> {
  readonly principal: Principal
}

/** Who does something, and from where. `name` is for what acts without a user: `cli`, `install`. */
export type Actor = CallOrigin & ({ readonly principal: Principal } | { readonly name: string })

/**
 * How a row leads to the user that it belongs to. All members are names in the database, never values of a request.
 *
 * - text: the column with the id of the user, such as `owner_id`
 * - `type` and `id`: columns with the type of the owner and its id as decimal text. The type `user` names a user.
 * - `user` and `org`: columns with the id of a user or, for rows of several users, of their organisation. Either may be null.
 * - `through`: the table with the row that belongs to the user. Its column `key` equals the `column` of this row.
 */
export type RowOwner =
  | string
  | { readonly type: string; readonly id: string }
  | { readonly user: string; readonly org: string }
  | { readonly column: string; readonly through: string; readonly key: string; readonly owner: RowOwner }

export interface Session {
  /** Opaque and shown once: only its SHA-256 is stored. */
  readonly accessToken: string
  readonly tokenType: 'Bearer'
  /** ISO 8601. */
  readonly expiresAt: string
}

export interface Identity {
  /**
   * Who holds this token. Answers at once while the token is known and its state is fresh.
   *
   * @throws BusinessError "401" with reason `iam.token-invalid` or `iam.token-expired`
   */
  authenticate(token: string): Principal | Promise<Principal>
  /** An enabled user with what the roles grant now; `undefined` for others. */
  principalOf(userId: number): Promise<Principal | undefined>
  /**
   * Those of the sessions that still let their users in: not ended, not expired, not idle, and the user is enabled. It is no
   * use of them. For connections that outlive the request whose token opened them.
   *
   * @param sessionIds any number
   */
  standingSessions(sessionIds: readonly number[]): Promise<ReadonlySet<number>>
  /**
   * Refuses when any of the users is outside the principal's data scope or does not exist.
   *
   * @param field member of the request that names them, for whoever shows the refusal
   * @throws BusinessError "403" with reason `iam.out-of-scope`
   */
  assertInScope(principal: Principal, userIds: readonly number[], field?: string): Promise<void>
  /**
   * Whether the user exists within the principal's data scope. For what names one user: what is out of scope is answered
   * as if it did not exist (decision B34).
   */
  isInScope(principal: Principal, userId: number): Promise<boolean>
  /** Those of the users who exist within the principal's data scope. @param userIds any number */
  reachedOf(principal: Principal, userIds: readonly number[]): Promise<ReadonlySet<number>>
  /** The organisation that all these users belong to; null if one of them does not exist, has none or another one. */
  commonOrganisation(userIds: readonly number[]): Promise<number | null>
  /**
   * Refuses when the principal may not assign this organisation: with scope `all` any, with `org` the own one, with
   * `self` none.
   *
   * @param orgId null: no organisation
   * @throws BusinessError "403" with reason `iam.organisation-out-of-scope`
   */
  assertOrgInScope(principal: Principal, orgId: number | null): void
  /**
   * A condition of the entity manager for the rows that belong to users within the principal's data scope. Only scope `all`
   * includes rows without a user and rows whose user was deleted. A handler with a request calls `callerRows`.
   *
   * @param owner how a row leads to its user; never from a request
   */
  rowsInScope(principal: Principal, owner: RowOwner): object
  /**
   * Opens a session for a user whose identity another plugin has proven (a wallet, a code): the same tokens, guards and
   * audit as with a password.
   *
   * @throws BusinessError "403" `iam.user-disabled`, "404" `iam.user-unknown`, or what a login guard throws
   */
  openSession(userId: number, attempt: LoginAttempt): Promise<Session>
  /**
   * As `openSession`, for a proof that has yet to be checked: the guards are asked before it is, and a refusal is in the login
   * audit like a wrong password.
   *
   * @param account user whom the attempt is made on; null when it names nobody's account
   * @param prove checks the proof and answers whose it is, a user that it may create. Its `BusinessError` is what the caller
   *   learns; with a `RefusedProof` as cause the audit learns more
   * @throws BusinessError as `openSession`, and what `prove` throws
   */
  openProvenSession(account: number | null, attempt: LoginAttempt, prove: () => Promise<number>): Promise<Session>
}

/** Why a proof was refused, for the login audit: the caller gets one answer for all of it. Cause of a `BusinessError`. */
export class RefusedProof extends Error {
  override readonly name = 'RefusedProof'
  /** Stable dotted code. */
  readonly reason: string

  constructor(reason: string) {
    super(reason)
    this.reason = reason
  }
}

/** Checks tokens and knows what their holders may do. */
export const identity = service<Identity>('iam.identity', { from: '@plinth/iam' })

/**
 * A user was deleted, with sessions, roles and external identities. Published in the transaction of the deletion, when
 * the product has events, under the key `user:{userId}`.
 */
export const userDeleted = event('iam.user.deleted', Type.Object({ userId: Type.Integer({ minimum: 1 }) }))

export interface NewUser {
  readonly username: string
  readonly email?: string | null
  /** E.164, for example `+8613800000000`. */
  readonly mobile?: string | null
  /** Without one the user logs in by an external identity alone. */
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
  /** Normalised by the caller: equal subjects are equal texts. */
  readonly subject: string
  /**
   * How the owner proved it, as a stable code of the provider, for example `ecrecover`. At most 64 characters. Absent where
   * nobody proved it, for example when an administrator binds it.
   */
  readonly proof?: string
}

/** A rule for a name or an address of an account that a text breaks. */
export interface AccountFault {
  readonly field: 'username' | 'email' | 'mobile'
  readonly rule: 'username' | 'username-mixed-script' | 'email' | 'mobile'
}

export interface Accounts {
  hasUsers(): Promise<boolean>
  /** What speaks against these texts as such; whether somebody has them already is not looked at. */
  check(user: Partial<Pick<NewUser, AccountFault['field']>>): readonly AccountFault[]
  find(userId: number): Promise<Account | undefined>
  findByUsername(username: string): Promise<Account | undefined>
  /** Enabled users who hold the role, in order of id. */
  findByRole(roleCode: string): Promise<readonly Account[]>
  /**
   * @throws BusinessError "400" for a bad name, address or password, "409" `iam.username-taken`, `iam.email-taken`,
   *   `iam.mobile-taken`
   */
  create(user: NewUser, actor: Actor): Promise<Account>
  /** Creates a user with the role `super-admin`. Throws as `create`. */
  createSuperAdministrator(user: NewUser, actor: Actor): Promise<Account>
  /**
   * Creates the first user, with the role `super-admin`. Where there is a user already, nothing is left to do; of many
   * calls at once, on any number of instances, one creates.
   */
  createAdministrator(
    user: NewUser & { readonly password: string },
    actor: Actor,
  ): Promise<{ readonly created: boolean; readonly account: Account | undefined }>
  /**
   * Gives a user another name, after asking the rename guards.
   *
   * @throws BusinessError "404" `iam.user-unknown`, "400", "409" `iam.username-taken`, or what a guard throws
   */
  rename(userId: number, username: string, actor: Actor): Promise<Account>
  /** The user of an external identity, with the proof that is stored for the identity; null: without one. */
  findByExternal(
    subject: Pick<ExternalSubject, 'provider' | 'subject'>,
  ): Promise<(Account & { readonly externalProof: string | null }) | undefined>
  /**
   * The user of an external identity, created with the first login: named as suggested, or `<fallbackPrefix>_<random>` when
   * that name is taken (decision A4).
   *
   * @param subject its proof is stored with a new identity; that of a known one stays as it is
   * @returns `proof` as it is stored: null where it was bound without one, or by an earlier release. The caller decides
   *   whether its own proof may open the account
   */
  resolveExternal(
    subject: ExternalSubject,
    suggested: { readonly username: string; readonly fallbackPrefix: string },
    actor: Actor,
  ): Promise<{ readonly created: boolean; readonly account: Account; readonly proof: string | null }>
  /**
   * Replaces the stored proof of an external identity. Where another proof was stored, all sessions of the user end: somebody
   * else may have opened them by that proof. Does nothing when nobody has the identity.
   */
  storeExternalProof(subject: Pick<ExternalSubject, 'provider' | 'subject'>, proof: string): Promise<void>
  /**
   * Says that a user has proven to own the e-mail address of the account, by a code that was sent there. From then on it
   * signs in, and nobody else can have it.
   *
   * @throws BusinessError "404" `iam.user-unknown`, "409" `iam.email-changed` when the account has another address now,
   *   `iam.email-taken`
   */
  confirmEmail(userId: number, email: string, actor: Actor): Promise<void>
  /** Ties an external identity to a user. Throws "409" `iam.external-identity-taken` when it is another's. */
  bindExternal(userId: number, subject: ExternalSubject, actor: Actor): Promise<void>
  /** Writes the built-in data that a fresh database lacks: the catalogue of permissions. May run any number of times. */
  seed(): Promise<void>
}

/** Users, for other plugins: the installer, logins of other kinds, commands. */
export const accounts = service<Accounts>('iam.accounts', { from: '@plinth/iam' })

/** A broken rule of the password policy: a stable code with what it asks for. */
export interface PasswordFault {
  readonly rule: 'too-short' | 'too-long' | 'needs-letter-and-digit' | 'needs-three-kinds' | 'well-known' | 'pattern'
  /** Characters, for the two lengths. */
  readonly limit?: number
  /** For people, in English. */
  readonly message: string
}

export interface Passwords {
  readonly policy: 'low' | 'medium' | 'high' | 'custom'
  /**
   * Returns the rules of the effective policy that a password breaks; empty when it is allowed.
   *
   * @param isOperator the account has permissions, so `platform.iam.password.operator-min-length` applies too
   * @param policy the effective one when absent
   */
  check(
    password: string,
    username?: string,
    isOperator?: boolean,
    policy?: Passwords['policy'],
  ): readonly PasswordFault[]
  /**
   * As `check`. `field` is the member of the request that has the password; `password` when absent.
   *
   * @throws BusinessError "400" `iam.password-refused` with `data.faults` and `data.field`
   */
  assertAllowed(
    password: string,
    account?: { readonly username?: string; readonly field?: string; readonly isOperator?: boolean },
  ): void
}

/** The password policy in force. */
export const passwords = service<Passwords>('iam.passwords', { from: '@plinth/iam' })

export interface LoginAttempt extends CallOrigin {
  /** `password`, `password-change`, `email-change`, `wallet`. */
  readonly method: string
  /** As the caller typed it. Never store or log it in clear. */
  readonly identifier: string
  /**
   * Text that the login audit shows instead of the identifier, at most 64 characters, without anything that must stay secret. Absent:
   * its first character.
   */
  readonly shownIdentifier?: string
  /** Sets a header of the answer, also of a refusal. */
  setHeader(name: string, value: string): void
}

/** An attempt with the account that it is made on. */
export interface GuardedAttempt extends LoginAttempt {
  /** Whose account the identifier names, by name or by e-mail address; null for nobody's. Never show it to the caller. */
  readonly userId: number | null
}

/** Asked before any credential is looked at. */
export interface LoginGuard {
  /** Throws a `BusinessError` to refuse the attempt. The refusal goes into the login audit with its text. */
  beforeAttempt(attempt: GuardedAttempt): void | Promise<void>
  afterAttempt?(attempt: GuardedAttempt, outcome: { readonly success: boolean }): void | Promise<void>
}

/** Guards of logins, for example a rate limit; all of them are asked, in order of their names. Whoever contributes one may require accounts. */
export const loginGuard = extensionPoint<LoginGuard>('iam.login-guard', {
  from: '@plinth/iam',
  live: true,
  names: shape.dotted,
  shape: shape.object<LoginGuard>({ beforeAttempt: shape.function }, { afterAttempt: shape.function }),
})

/** What a rename guard may ask. */
export interface ExternalIdentityLookup {
  isBound(userId: number, provider: string, subject: string): Promise<boolean>
}

/** Asked when a user or an administrator renames a user (decision A3); not when one is created. */
export interface RenameGuard {
  /** Throws a `BusinessError` when the user must not have the name. */
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
    /** Who calls; `undefined` on public routes. */
    principal: Principal | undefined
    /** Monotonic time at which the access guard looked at a request that may have a body. */
    admittedAt: number
  }
}
