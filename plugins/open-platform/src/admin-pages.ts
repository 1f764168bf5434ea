import { adminDetail, adminForm, adminList } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

const tones = { active: 'good', disabled: 'quiet' } as const
const labels = { active: text('Active', '启用'), disabled: text('Disabled', '停用') }
const ownerTitle = text('Owner', '负责人')
const owner = { labels: 'iam.user', page: 'iam.user' }
const fields = ['name', 'description', 'scopes', 'rateLimitPerMinute', 'ownerUserId'] as const
const options = {
  scopes: { labels: 'open-platform.scope' },
  ownerUserId: { labels: 'iam.user', title: ownerTitle },
}
const app = { params: { id: 'id' }, body: { version: 'version' } } as const
const enable = { ...app, label: text('Enable', '启用'), when: { status: 'disabled' }, leadsTo: 'active' } as const
const disable = {
  ...app,
  label: text('Disable', '停用'),
  confirm: text('All calls of {{name}} are rejected immediately.', '{{name}} 的所有调用将立即被拒绝。'),
  when: { status: 'active' },
  leadsTo: 'disabled',
} as const
const rotate = {
  ...app,
  label: text('New secret', '轮换密钥'),
  confirm: text(
    'The secret of {{name}} is replaced. The old secret stays valid during the grace period.',
    '{{name}} 的密钥将被替换，旧密钥在宽限期内仍有效。',
  ),
  ask: ['graceSeconds', 'force'],
  once: 'secret',
} as const
const remove = {
  label: text('Delete', '删除'),
  params: { id: 'id' },
  query: { version: 'version' },
  confirm: text(
    '{{name}} can no longer call the API. The records of its calls remain. You cannot undo this.',
    '{{name}} 将无法再调用，历史用量保留。此操作无法撤销。',
  ),
  type: 'name',
  tone: 'danger',
} as const

const apps = adminList('getAdminOpenPlatformApps', (row) => ({
  id: 'open-platform.apps',
  title: text('Applications', '开放平台应用'),
  lead: text('Third-party programs that call the API with signed requests.', '以签名请求调用接口的第三方程序。'),
  place: { group: 'integrations', order: 10 },
  key: 'id',
  detail: 'open-platform.app',
  live: ['open_app'],
  columns: [
    row.text('name', { link: true }),
    row.text('appKey', { mono: true }),
    row.status('status', tones, { labels }),
    row.reference('scopes', { labels: 'open-platform.scope' }),
    row.count('rateLimitPerMinute'),
    row.reference('ownerUserId', owner, { title: ownerTitle }),
    row.time('createdAt', { hidden: true }),
    row.text('description', { hidden: true }),
    row.time('updatedAt', { hidden: true }),
  ],
  search: 'keyword',
  filters: [{ name: 'status', labels }],
  sort: 'name',
  links: [
    { page: 'open-platform.usage', label: text('Usage', '用量') },
    { page: 'open-platform.scopes', label: text('Scopes', '权限范围') },
  ],
  create: adminForm('postAdminOpenPlatformApps', {
    title: text('New application', '新建应用'),
    fields: [...fields],
    options,
    once: 'secret',
  }),
  edit: row.form('putAdminOpenPlatformAppsById', {
    title: text('Change', '修改'),
    params: { id: 'id' },
    fields: [...fields],
    options,
    version: 'version',
  }),
  board: { column: 'status', cards: ['appKey', 'ownerUserId'] },
  actions: [
    row.action('postAdminOpenPlatformAppsByIdEnable', enable),
    row.action('postAdminOpenPlatformAppsByIdDisable', disable),
    row.action('postAdminOpenPlatformAppsByIdRotateSecret', rotate),
    row.action('deleteAdminOpenPlatformAppsById', remove),
  ],
  empty: text('No applications yet.', '尚无应用。'),
}))

const one = adminDetail('getAdminOpenPlatformAppsById', (it) => ({
  id: 'open-platform.app',
  title: text('Application', '应用'),
  name: 'name',
  param: 'id',
  live: ['open_app'],
  sections: [
    {
      columns: [
        it.text('appKey', { mono: true }),
        it.status('status', tones, { labels }),
        it.text('description'),
        it.reference('scopes', { labels: 'open-platform.scope' }),
        it.count('rateLimitPerMinute'),
        it.reference('ownerUserId', owner, { title: ownerTitle }),
        it.time('previousSecretValidUntil'),
        it.time('createdAt'),
        it.time('updatedAt'),
      ],
    },
  ],
  form: it.form('putAdminOpenPlatformAppsById', {
    title: text('Change', '修改'),
    params: { id: 'id' },
    fields: [...fields],
    options,
    version: 'version',
  }),
  actions: [
    it.action('postAdminOpenPlatformAppsByIdEnable', enable),
    it.action('postAdminOpenPlatformAppsByIdDisable', disable),
    it.action('postAdminOpenPlatformAppsByIdRotateSecret', rotate),
    it.action('deleteAdminOpenPlatformAppsById', remove),
  ],
  related: [
    {
      page: 'open-platform.usage',
      title: text('Calls of the last 30 days', '最近 30 天的调用'),
      filter: { appId: 'id' },
    },
  ],
}))

const usage = adminList('getAdminOpenPlatformUsage', (row) => ({
  id: 'open-platform.usage',
  title: text('Application usage', '开放平台用量'),
  lead: text(
    'Accepted calls by day, application and route. Default: the last 30 days.',
    '按日、应用和路由统计的已受理调用，默认最近 30 天。',
  ),
  key: 'id',
  columns: [
    row.text('day'),
    row.reference(
      'appId',
      { labels: 'open-platform.app', page: 'open-platform.app' },
      { title: text('Application', '应用') },
    ),
    row.text('method', { mono: true }),
    row.text('route', { mono: true }),
    row.count('calls'),
    row.count('failed'),
    row.count('cost'),
    row.text('appKey', { hidden: true, mono: true }),
  ],
  filters: [
    { name: 'appId', options: { labels: 'open-platform.app', title: text('Application', '应用') } },
    'from',
    'to',
  ],
  empty: text('No calls were accepted in this period.', '这段时间内没有已受理的调用。'),
}))

const scopes = adminList('getAdminOpenPlatformScopes', (row) => ({
  id: 'open-platform.scopes',
  title: text('Scopes of applications', '开放平台授权范围'),
  empty: text('No plugin provides scopes.', '没有插件提供授权范围。'),
  lead: text('Scopes that plugins declare and that applications can be granted.', '各插件声明的、可授予应用的范围。'),
  key: 'code',
  columns: [
    row.text('displayName'),
    row.text('code', { mono: true }),
    row.text('displayDescription'),
    row.text('plugin', { mono: true }),
  ],
}))

export const pages = [apps, one, usage, scopes]
