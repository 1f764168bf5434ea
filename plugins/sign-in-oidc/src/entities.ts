import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column, type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { c, table } from '@plinth/table'

/**
 * An identity of a provider that is linked to a user. `iam_external_identity` decides who signs in. This row has the facts
 * that pages show, and the roles that rules have granted.
 */
export const IdentityRow = defineEntity({
  name: 'OidcIdentity',
  tableName: 'oidc_identity',
  uniques: [{ properties: ['issuerKey', 'subject'] }],
  indexes: [{ properties: ['userId', 'id'] }],
  properties: {
    id: column.primaryKey(),
    userId: column.id(),
    /** Id of the provider at the last sign-in. Another provider may have it now, so it decides nothing. */
    provider: column.text(32),
    issuer: column.text(255),
    /** See `issuerKeyOf`. */
    issuerKey: column.text(32),
    /** Claim `sub`. */
    subject: column.text(255),
    /** Name or address of the user at the provider, for people. */
    label: column.text(128),
    /**
     * Domain of the last e-mail address that the provider has confirmed, in the form of `domainOf`. The user cannot change
     * it in this product, so it decides about `exclusiveDomains` together with the address of the account.
     */
    emailDomain: column.text(255).nullable(),
    /** Roles that rules have granted, so that a later sign-in may remove them. Roles of an administrator are never here. */
    grantedRoleIds: column.json<number[]>(),
    createdAt: column.timestamp(),
    lastSignInAt: column.timestamp().nullable(),
  },
})
export type IdentityRow = InferEntity<typeof IdentityRow>

/** A sign-in with a provider, so that a logout at the provider ends its session. */
export const SignInRow = defineEntity({
  name: 'OidcSignIn',
  tableName: 'oidc_sign_in',
  indexes: [
    { properties: ['issuerKey', 'sid'] },
    { properties: ['issuerKey', 'subject'] },
    { properties: ['sessionId'] },
    { properties: ['userId'] },
    { properties: ['expiresAt'] },
  ],
  properties: {
    id: column.primaryKey(),
    userId: column.id(),
    /** Session of this product. Null if a second factor was required, because the session is then opened elsewhere. */
    sessionId: column.id().nullable(),
    provider: column.text(32),
    issuerKey: column.text(32),
    subject: column.text(255),
    /** Session at the provider (OpenID Connect Front-Channel Logout 1.0, section 3). */
    sid: column.text(255).nullable(),
    /** Encrypted ID token for the logout at the provider. */
    idToken: column.longText().nullable(),
    createdAt: column.timestamp(),
    expiresAt: column.timestamp(),
  },
})
export type SignInRow = InferEntity<typeof SignInRow>

/** A rule that gives the users of a provider a role or an organisation, if a claim has a value. */
export const Rule = table(
  'oidc_rule',
  {
    id: c.id(),
    provider: c.text(32, { min: 1 }).title('Provider', '提供方').describe('Id of the provider.'),
    /** The rule only applies to this issuer and client, so that another issuer cannot use it. */
    issuer: c.text(255).readOnly().title('Issuer', '签发者'),
    clientId: c.text(255).readOnly().title('Client', '客户端'),
    claim: c
      .text(255, { min: 1 })
      .title('Claim', '声明')
      .describe('Name of the claim. A dot leads into an object: `realm_access.roles`.'),
    form: c
      .choice({
        list: ['A list contains the value', '列表包含该值'],
        text: ['The text equals the value', '文本等于该值'],
        names: ['An object has a member of this name', '对象含有此名称的成员'],
      })
      .default('list')
      .title('Comparison', '比较方式'),
    value: c.text(255, { min: 1 }).title('Value', '值').describe('Compared exactly, with upper and lower case.'),
    roleId: c.reference('iam.role').nullable().title('Role', '角色'),
    orgId: c.bigint({ min: 1 }).nullable().title('Organisation', '组织'),
    ...c.edits(),
  },
  {
    title: { one: ['Claim rule', '声明规则'], many: ['Claim rules', '声明规则'] },
    owner: 'none',
    indexes: [['provider', 'id']],
  },
)

export const entities = [IdentityRow, SignInRow, Rule.entity]

export const oidcTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, SignInRow, {
    title: bilingual('Sign-ins with a provider', '通过提供方的登录'),
    owner: 'user_id',
    omit: ['idToken'],
    erasure: 'removed',
  }),
  personalTable(db, IdentityRow, {
    title: bilingual('Linked identities', '关联身份'),
    owner: 'user_id',
    erasure: 'removed',
  }),
  ...Rule.personalTables(db),
]
