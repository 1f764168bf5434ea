import { adminList } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

const statusTones = { ready: 'good', disabled: 'quiet', 'secret-missing': 'warn', unavailable: 'bad' } as const
const statusLabels = {
  ready: text('Ready', '可用'),
  disabled: text('Disabled', '已停用'),
  'secret-missing': text('Without a client secret', '缺少客户端密钥'),
  unavailable: text('Not available', '不可用'),
}
const outcomeTones = {
  'known-account': 'good',
  'new-account': 'info',
  'account-missing': 'bad',
  'domain-not-allowed': 'bad',
  'claim-missing': 'bad',
} as const
const outcomeLabels = {
  'known-account': text('Signs in to an existing account', '登录已有账户'),
  'new-account': text('Would create an account', '将创建账户'),
  'account-missing': text('Rejected: no account', '拒绝：没有账户'),
  'domain-not-allowed': text('Rejected: domain not allowed', '拒绝：域名不允许'),
  'claim-missing': text('Rejected: a claim is missing', '拒绝：缺少声明'),
}
const role = { labels: 'iam.role', page: 'iam.role' }
const user = { labels: 'iam.user', page: 'iam.user' }

const providers = adminList('getAdminOidcProviders', (row) => ({
  id: 'sign-in-oidc.providers',
  title: text('Sign-in providers', '登录提供方'),
  lead: text(
    'Providers with which users sign in. Change them in the config centre, in the group "Sign-in with providers".',
    '用户登录所用的提供方，在配置中心的“第三方登录”中修改。',
  ),
  place: { group: 'access', order: 40 },
  key: 'id',
  columns: [
    row.text('title'),
    row.status('status', statusTones, { labels: statusLabels }),
    row.text('problem'),
    row.text('redirectUri', { mono: true }),
    row.text('issuer', { mono: true }),
    row.text('clientId', { mono: true, hidden: true }),
    row.text('backchannelLogoutUri', { mono: true, hidden: true }),
    row.flag('createAccounts'),
    row.flag('freshProof', { hidden: true }),
  ],
  actions: [
    row.action('postAdminOidcProvidersByIdTest', {
      label: text('Test', '测试'),
      params: { id: 'id' },
      answer: (it) => [it.status('status', statusTones, { labels: statusLabels }), it.text('problem')],
      outcome: { field: 'status', good: ['ready'] },
    }),
    row.action('postAdminOidcPreview', {
      label: text('Preview claims', '预览声明'),
      confirm: text(
        'Shows what a user with these claims would get. Nothing changes.',
        '显示持有这些声明的用户会得到什么，不做任何更改。',
      ),
      params: {},
      body: { provider: 'id' },
      ask: ['claims'],
      answer: (it) => [
        it.status('outcome', outcomeTones, { labels: outcomeLabels }),
        it.reference('roleIds', role),
        it.reference('keptRoleIds', role),
        it.text('orgId'),
        it.chips('silentClaims'),
        it.flag('hasSecondFactor'),
      ],
      outcome: { field: 'outcome', good: ['known-account', 'new-account'] },
    }),
  ],
  empty: text(
    'No providers. Add one in the config centre: "OpenID Connect providers".',
    '尚无提供方。请在配置中心的“OpenID Connect 提供方”中添加。',
  ),
}))

const identities = adminList('getAdminOidcIdentities', (row) => ({
  id: 'sign-in-oidc.identities',
  title: text('Linked identities', '关联身份'),
  lead: text('Identities of providers with which users sign in.', '用户登录所用的提供方身份。'),
  place: { group: 'access', order: 41 },
  key: 'id',
  live: ['oidc_identity'],
  columns: [
    row.reference('userId', user),
    row.text('title', { title: text('Provider', '提供方') }),
    row.text('subjectShown'),
    row.text('issuer', { mono: true, hidden: true }),
    row.reference('roleIds', role, { title: text('Roles by claims', '由声明授予的角色') }),
    row.time('lastSignInAt'),
    row.time('createdAt', { hidden: true }),
  ],
  filters: [{ name: 'userId', options: { labels: 'iam.user', title: text('User', '用户') } }],
  actions: [
    row.action('deleteAdminOidcIdentitiesById', {
      label: text('Remove', '移除'),
      params: { id: 'id' },
      confirm: text(
        '{{subjectShown}} can no longer sign in with this provider. The sessions that began with it end.',
        '{{subjectShown}} 将无法再通过此提供方登录，由其开始的会话会结束。',
      ),
      tone: 'danger',
    }),
  ],
  empty: text('No linked identities.', '尚无关联身份。'),
}))

export const pages = [providers, identities]
