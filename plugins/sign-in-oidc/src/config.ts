import { purgeKeys } from '@plinth/coordination'
import { type ConfigView, guardsPermission, key } from '@plinth/kernel'
import { declarePluginKey } from '@plinth/system-config'

/** Settings of one provider. Only `issuer` and `clientId` are required. */
export interface ProviderEntry {
  /** Issuer exactly as the metadata of the provider contains it, including a slash at the end. */
  readonly issuer: string
  readonly clientId: string
  /** Name on the sign-in page. Default: the id of the provider. */
  readonly title?: string
  /** Scopes besides `openid`. Default: `profile` and `email`. */
  readonly scopes?: readonly string[]
  /** Default: true. */
  readonly enabled?: boolean
  /** If true, the first sign-in creates an account without roles. Default: false. */
  readonly createAccounts?: boolean
  /** Only users with a confirmed e-mail address in these domains may sign in with this provider. Default: all users. */
  readonly allowedDomains?: readonly string[]
  /** Linked users with an e-mail address in these domains must sign in with this provider. Default: no domains. */
  readonly exclusiveDomains?: readonly string[]
  /** If true, the sign-in page offers the password only on request. Default: false. */
  readonly passwordHidden?: boolean
  /** Values of the claims `amr` and `acr` that prove a second factor. Default: none. */
  readonly secondFactor?: { readonly amr?: readonly string[]; readonly acr?: readonly string[] }
  /** If a claim of a rule is missing, `keep` (default) keeps the roles, and `reject` rejects the sign-in. */
  readonly missingClaim?: 'keep' | 'reject'
  /** If false, logout tokens without the type `logout+jwt` are accepted. Default: true. */
  readonly requireLogoutType?: boolean
  /** If true, front-channel logout is accepted. Default: false. */
  readonly frontChannelLogout?: boolean
  /** Maximum difference between the clocks in seconds. Default: 30. */
  readonly clockTolerance?: number
  /** False if the provider cannot ask the user to sign in again. Default: true. */
  readonly freshProof?: boolean
}

/** A client secret, and the client and issuer for which it was entered. It is never sent to another issuer. */
export interface ClientSecret {
  readonly issuer: string
  readonly clientId: string
  readonly secret: string
}

export const root = 'platform.sign-in-oidc'
export const tokenKeyName = 'platform.sign-in-oidc.token-key'

const flag = { type: 'boolean' }
const line = (maxLength: number) => ({ type: 'string', minLength: 1, maxLength, pattern: '^[^\\p{Cc}]+$' })
const lines = (maxLength: number) => ({ type: 'array', maxItems: 50, items: line(maxLength) })
const issuer = { type: 'string', minLength: 9, maxLength: 255, pattern: '^https?://[^\\s?#]+$' }
const clientId = line(255)
const domains = {
  type: 'array',
  maxItems: 50,
  items: { type: 'string', maxLength: 253, pattern: '^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$' },
}
/** Entries by the id of the provider, which is part of its redirect URI. */
const byProvider = (properties: Readonly<Record<string, object>>, required: readonly string[]) => ({
  type: 'object',
  maxProperties: 20,
  propertyNames: { pattern: '^[a-z][a-z0-9-]{0,31}$' },
  additionalProperties: { type: 'object', properties, required, additionalProperties: false },
})

const rule = {
  en: 'use ids of at most 32 lower-case letters, digits and "-", starting with a letter, and issuers without "?" and "#"',
  'zh-CN': '使用由小写字母、数字和“-”组成的提供方代码，最多 32 个字符，以字母开头；签发者地址不含“?”和“#”',
}

export const keys = {
  'platform.sign-in-oidc.providers': key.object<Readonly<Record<string, ProviderEntry>>>({
    title: { en: 'OpenID Connect providers', 'zh-CN': 'OpenID Connect 提供方' },
    description: {
      en: 'Providers with which users sign in, each under an id that you choose: {"keycloak": {"issuer": "https://id.example.com", "clientId": "plinth", "title": "Keycloak"}}. The guide "Sign in with a provider" lists all members.',
      'zh-CN':
        '用户登录所用的提供方，以自定义代码列出：{"keycloak": {"issuer": "https://id.example.com", "clientId": "plinth", "title": "Keycloak"}}。全部成员见《使用提供方登录》指南。',
    },
    schema: byProvider(
      {
        issuer,
        clientId,
        title: line(64),
        scopes: lines(128),
        enabled: flag,
        createAccounts: flag,
        allowedDomains: domains,
        exclusiveDomains: domains,
        passwordHidden: flag,
        secondFactor: {
          type: 'object',
          properties: { amr: lines(64), acr: lines(255) },
          additionalProperties: false,
        },
        missingClaim: { type: 'string', enum: ['keep', 'reject'] },
        requireLogoutType: flag,
        frontChannelLogout: flag,
        clockTolerance: { type: 'integer', minimum: 0, maximum: 120 },
        freshProof: flag,
      },
      ['issuer', 'clientId'],
    ),
    rule,
    default: {},
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.sign-in-oidc.client-secrets': key.object<Readonly<Record<string, ClientSecret>>>({
    title: { en: 'Client secrets of the providers', 'zh-CN': '提供方的客户端密钥' },
    description: {
      en: 'By the id of the provider: {"keycloak": {"issuer": "https://id.example.com", "clientId": "plinth", "secret": "..."}}. A secret is only sent to this issuer, so enter it again if you change the issuer or the client.',
      'zh-CN':
        '按提供方代码列出：{"keycloak": {"issuer": "https://id.example.com", "clientId": "plinth", "secret": "..."}}。密钥只会发送给此签发者；更改签发者或客户端后须重新填写。',
    },
    schema: byProvider({ issuer, clientId, secret: line(1024) }, ['issuer', 'clientId', 'secret']),
    rule,
    default: {},
    sensitive: true,
    // Each secret contains its own destination.
    destination: [],
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.sign-in-oidc.page': key.string({
    title: { en: 'Page after the sign-in at a provider', 'zh-CN': '提供方登录后的页面' },
    description: {
      en: 'Path on this site. Providers redirect to <site address><path>/<id of the provider>.',
      'zh-CN': '本站路径。提供方会跳转到 <站点地址><路径>/<提供方代码>。',
    },
    default: '/admin/sign-in/oidc',
    maxLength: 200,
    pattern: '^(/[A-Za-z0-9._~-]+)+$',
    rule: { en: 'be a path such as /admin/sign-in/oidc', 'zh-CN': '是路径，例如 /admin/sign-in/oidc' },
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.sign-in-oidc.logout-page': key.string({
    title: { en: 'Page after the logout at a provider', 'zh-CN': '提供方登出后的页面' },
    default: '/admin',
    maxLength: 200,
    pattern: '^(/[A-Za-z0-9._~-]+)+$',
    rule: { en: 'be a path such as /admin', 'zh-CN': '是路径，例如 /admin' },
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.sign-in-oidc.rate-limit.ip-max-attempts': key.integer({
    title: { en: 'Provider sign-ins per network address', 'zh-CN': '每个 IP 的提供方登录次数' },
    description: {
      en: 'Starts, callbacks and logouts are counted separately. 0: unlimited.',
      'zh-CN': '开始、回调与登出分别计数。0 表示不限。',
    },
    default: 60,
    minimum: 0,
    maximum: 1_000_000,
    reload: 'live',
    permission: guardsPermission,
  }),
  'platform.sign-in-oidc.rate-limit.ip-window': key.duration({
    title: { en: 'Window per network address', 'zh-CN': '每个 IP 的时间窗口' },
    default: '5m',
    minimum: '1s',
    maximum: '30d',
    reload: 'live',
    permission: guardsPermission,
  }),
  ...purgeKeys(root, {
    en: 'Interval for removing sign-ins whose sessions have ended.',
    'zh-CN': '清除会话已结束的登录记录的间隔。',
  }),
  [tokenKeyName]: declarePluginKey({
    title: { en: 'Encryption key of ID tokens', 'zh-CN': '身份令牌的加密密钥' },
    description: {
      en: 'Encrypts the ID tokens that are sent back for the logout. Created automatically with the first one. Do not set it manually.',
      'zh-CN': '用于加密登出时发回的身份令牌。首次使用时自动生成，无需人工设置。',
    },
  }),
}

export type OidcConfig = ConfigView<typeof keys>
