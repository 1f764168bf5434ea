import { adminForm, adminList } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'
import { dataScopes } from '../declarations.ts'

const scopeTones = { all: 'warn', org: 'info', self: 'quiet' } as const

const revoke = {
  label: text('Revoke', '吊销'),
  params: { id: 'id' },
  confirm: text(
    'Requests with the token {{name}} are rejected immediately. You cannot undo this.',
    '使用令牌 {{name}} 的请求将立即被拒绝，此操作无法撤销。',
  ),
  tone: 'danger',
} as const

const ownApiTokens = adminList('getIamUsersMeApiTokens', (row) => ({
  id: 'iam.own-api-tokens',
  title: text('My API tokens', '我的 API 令牌'),
  lead: text(
    'Credentials for scripts. A token has at most your permissions at the time of each request.',
    '供脚本使用的凭据。令牌的权限不会超过每次请求时您自己的权限。',
  ),
  place: { group: 'account', order: 30 },
  key: 'id',
  live: ['iam_api_token'],
  columns: [
    row.text('name'),
    row.text('firstCharacters', { mono: true }),
    row.reference('permissions', { labels: 'iam.own-permission' }),
    row.status('dataScope', scopeTones, { labels: dataScopes }),
    row.time('expiresAt'),
    row.time('lastUsedAt'),
    row.text('lastUsedNetwork', { hidden: true }),
    row.time('createdAt', { hidden: true }),
  ],
  create: adminForm('postIamUsersMeApiTokens', {
    title: text('New API token', '新建 API 令牌'),
    lead: text(
      'The token is shown once. Without permissions, it can only read your account.',
      '令牌只显示一次。不选权限时，只能读取您的账户信息。',
    ),
    fields: ['name', 'expiresAt', 'dataScope', 'permissions'],
    options: { permissions: { labels: 'iam.own-permission' } },
    once: 'token',
  }),
  actions: [row.action('deleteIamUsersMeApiTokensById', revoke)],
  empty: text('You have no API tokens.', '您还没有 API 令牌。'),
}))

const apiTokens = adminList('getAdminIamApiTokens', (row) => ({
  id: 'iam.api-tokens',
  title: text('API tokens', 'API 令牌'),
  lead: text('Active API tokens of users.', '用户的有效 API 令牌。'),
  place: { group: 'access', order: 30 },
  key: 'id',
  live: ['iam_api_token'],
  columns: [
    row.reference('userId', { labels: 'iam.user', page: 'iam.user' }, { title: text('Owner', '所有者') }),
    row.text('name'),
    row.text('firstCharacters', { mono: true }),
    row.reference('permissions', { labels: 'iam.permission' }),
    row.status('dataScope', scopeTones, { labels: dataScopes }),
    row.time('expiresAt'),
    row.time('lastUsedAt'),
    row.text('lastUsedNetwork', { hidden: true }),
    row.time('createdAt', { hidden: true }),
  ],
  filters: [{ name: 'userId', options: { labels: 'iam.user', title: text('Owner', '所有者') } }],
  actions: [row.action('deleteAdminIamApiTokensById', revoke)],
  empty: text('No active API tokens.', '没有有效的 API 令牌。'),
}))

export const apiTokenPages = [ownApiTokens, apiTokens]
