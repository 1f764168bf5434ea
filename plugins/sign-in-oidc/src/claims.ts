import { domainToASCII } from 'node:url'

/** Claims of a validated ID token, or of the user info of the same user. */
export type Claims = Readonly<Record<string, unknown>>

type RuleForm = 'list' | 'text' | 'names'

/** The part of a claim rule that decides. */
export interface ClaimRule {
  readonly claim: string
  readonly form: RuleForm
  readonly value: string
  readonly roleId: number | null
  readonly orgId: number | null
}

/** Result of the rules of a provider for one user. */
export interface RuleResult {
  readonly roleIds: ReadonlySet<number>
  /** Absent if no rule or several rules with different organisations apply. */
  readonly orgId: number | undefined
  /** Claims that say nothing, because they are missing or have another form. */
  readonly silentClaims: readonly string[]
  /** Roles of the rules of these claims. The user keeps those that a rule has granted before. */
  readonly keptRoleIds: ReadonlySet<number>
}

const isObject = (value: unknown): value is Claims =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Returns a claim by its name, or by the names of nested objects with dots between them. A name with dots has priority,
 * because some providers use addresses as names.
 */
export function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  return name
    .split('.')
    .reduce<unknown>((value, part) => (isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined), claims)
}

/** Returns the values that a claim states in this form, or `undefined` if it says nothing. */
const statementOf: Readonly<Record<RuleForm, (value: unknown) => readonly string[] | undefined>> = {
  list: (value) =>
    Array.isArray(value) && value.every((item) => typeof item === 'string') ? (value as string[]) : undefined,
  text: (value) => (typeof value === 'string' ? [value] : undefined),
  names: (value) => (isObject(value) ? Object.keys(value) : undefined),
}

/**
 * Evaluates the rules of a provider. A claim that is missing, or that is too large for the token, is not an empty list: it
 * says nothing, and the roles that depend on it stay.
 */
export function evaluateRules(rules: readonly ClaimRule[], claims: Claims): RuleResult {
  const stated = rules.map((rule) => ({ rule, values: statementOf[rule.form](claimAt(claims, rule.claim)) }))
  const silent = stated.filter(({ values }) => values === undefined).map(({ rule }) => rule)
  const applying = stated.filter(({ rule, values }) => values?.includes(rule.value)).map(({ rule }) => rule)
  const orgIds = new Set(applying.flatMap(({ orgId }) => orgId ?? []))
  return {
    roleIds: rolesOf(applying),
    orgId: orgIds.size === 1 ? [...orgIds][0] : undefined,
    silentClaims: [...new Set(silent.map(({ claim }) => claim))],
    keptRoleIds: rolesOf(silent),
  }
}

const rolesOf = (rules: readonly ClaimRule[]) => new Set(rules.flatMap(({ roleId }) => roleId ?? []))

/** How the roles of a user change, and which roles count as granted by rules afterwards. */
export interface RoleChange {
  readonly add: readonly number[]
  readonly remove: readonly number[]
  readonly granted: readonly number[]
}

/**
 * @param held roles that the user has
 * @param granted roles of `held` that the rules of this identity have granted before
 * @param grantedElsewhere roles that the rules of other identities of the user have granted
 */
export function roleChangeOf(
  { roleIds, keptRoleIds }: Pick<RuleResult, 'roleIds' | 'keptRoleIds'>,
  held: readonly number[],
  granted: readonly number[],
  grantedElsewhere: ReadonlySet<number>,
): RoleChange {
  const add = [...roleIds].filter((id) => !held.includes(id))
  const stays = (id: number) => roleIds.has(id) || keptRoleIds.has(id)
  const kept = granted.filter((id) => held.includes(id) && stays(id))
  const remove = granted.filter((id) => held.includes(id) && !stays(id) && !grantedElsewhere.has(id))
  return { add, remove, granted: [...kept, ...add] }
}

export interface EmailClaim {
  readonly address: string
  readonly isVerified: boolean
}

/** Returns the e-mail address and its confirmation from the same source. */
export const emailOf = (claims: Claims): EmailClaim | undefined =>
  typeof claims['email'] === 'string'
    ? { address: claims['email'], isVerified: claims['email_verified'] === true }
    : undefined

/**
 * Returns the domain of an e-mail address in lower case, in the ASCII form of international names. Returns `undefined`
 * unless the address has exactly one `@`, because `evil@attacker.example@company.example` must not count as
 * `company.example`.
 */
export function domainOf(address: string): string | undefined {
  const [local, domain, more] = address.split('@')
  if (!local || !domain || more !== undefined || /[\s\p{Cc}]/u.test(address)) return undefined
  return domainToASCII(domain.toLowerCase()) || undefined
}

/** Returns the domain of an address that the provider has confirmed. */
export const confirmedDomainOf = (email: EmailClaim | undefined): string | undefined =>
  email?.isVerified === true ? domainOf(email.address) : undefined

const isIn = (domains: readonly string[], domain: string | undefined) =>
  domain !== undefined && domains.includes(domain)

/** Google confirms only its own mailboxes and, with the claim `hd`, those of an organisation. */
const googleIssuer = 'https://accounts.google.com'

/** Facts of a login for the rule about domains. */
export interface DomainFacts {
  readonly issuer: string
  readonly email: EmailClaim | undefined
  /** Claim `hd` of the ID token. */
  readonly hostedDomain: unknown
}

/** Returns whether the user has a confirmed address in one of these domains. Without domains, all users are allowed. */
export function isDomainAllowed(domains: readonly string[], { issuer, email, hostedDomain }: DomainFacts): boolean {
  if (domains.length === 0) return true
  const isHosted = typeof hostedDomain === 'string' && isIn(domains, hostedDomain.toLowerCase())
  if (issuer === googleIssuer && !isHosted) return false
  return isIn(domains, confirmedDomainOf(email))
}

/** Issuers that ignore the request to ask the user for a new login (`max_age`, `prompt=login`). */
export const issuersWithoutFreshLogin: ReadonlySet<string> = new Set([googleIssuer])

/** A name of an account: letters, digits, `_`, `.` and `-`, but nothing that looks like the address of a wallet. */
const walletAddress = /^0x[0-9a-f]{40}$/i

/** Returns a user name from the claims, without the domain of an address. It may be taken or invalid. */
export function suggestedUsername(claims: Claims): string | undefined {
  for (const name of ['preferred_username', 'nickname', 'email']) {
    const value = claims[name]
    const local = typeof value === 'string' ? value.split('@', 1)[0] : undefined
    if (local && !walletAddress.test(local)) return local.slice(0, 64)
  }
  return undefined
}

/** Returns a text by which people recognise the identity at the provider, at most 128 characters. */
export function labelOf(claims: Claims, subject: string): string {
  const named = ['preferred_username', 'email', 'name'].map((name) => claims[name])
  const label = named.find((value): value is string => typeof value === 'string' && value.trim() !== '') ?? subject
  return label.replace(/[\p{Cc}\p{Cs}]/gu, '').slice(0, 128)
}
