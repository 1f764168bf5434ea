import { adminDetail, adminForm, adminList, adminTile, adminTimeline } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'
import { apiTokenPages } from './api-tokens/api-token-pages.ts'
import { dataScopes } from './declarations.ts'
import { signInMethods } from './sessions/sign-in-methods.ts'

const role = { labels: 'iam.role', title: text('Role', '角色') }
const roleChoice = { labels: 'iam.role', title: text('Roles', '角色') }

const scopeTones = { all: 'warn', org: 'info', self: 'quiet' } as const

const disable = text('Disable', '停用')
const enable = text('Enable', '启用')
const endSessions = {
  label: text('End all sessions', '结束全部会话'),
  confirm: text('{{username}} will be signed out on all devices.', '{{username}} 将在所有设备上退出登录。'),
}
const remove = {
  label: text('Delete', '删除'),
  confirm: text(
    'This deletes the account {{username}} with its sessions and roles. You cannot undo this. To remove the other data of the user too, use Erase.',
    '账户 {{username}} 及其会话和角色将被删除，无法恢复。如需同时清除该用户的其他数据，请使用“抹除”。',
  ),
  type: 'username',
  tone: 'danger',
} as const

const users = adminList('getAdminIamUsers', (row) => ({
  id: 'iam.users',
  title: text('Users', '用户'),
  empty: text('No users yet.', '尚无用户。'),
  lead: text('Users who can sign in, and the permissions of their roles.', '可以登录的用户，以及其角色的权限。'),
  place: { group: 'access', order: 10 },
  key: 'id',
  detail: 'iam.user',
  live: ['iam_user', 'iam_user_role'],
  columns: [
    row.text('username', { link: true }),
    row.text('email'),
    row.chips('roles', 'name'),
    row.flag('enabled'),
    row.time('lastLoginAt'),
    row.text('mobile', { hidden: true }),
    row.time('createdAt', { hidden: true }),
  ],
  search: 'keyword',
  filters: ['enabled', { name: 'roleId', options: role }],
  sort: 'username',
  create: adminForm('postAdminIamUsers', {
    title: text('New user', '新建用户'),
    fields: ['username', 'email', 'mobile', 'password', 'enabled', 'orgId', 'roleIds'],
    options: { roleIds: roleChoice },
    secret: ['password'],
  }),
  forms: [
    adminForm('postAdminIamInvitations', {
      title: text('Invite a user', '邀请用户'),
      lead: text(
        'The user gets an e-mail with a link and chooses the password. The link is valid for a limited time.',
        '用户会收到带链接的邮件并自行设置密码。链接在有限时间内有效。',
      ),
      submit: text('Invite', '邀请'),
      fields: ['username', 'email', 'mobile', 'orgId', 'roleIds'],
      options: { roleIds: roleChoice },
      optional: true,
    }),
  ],
  actions: [
    row.action('putAdminIamUsersById', {
      label: disable,
      params: { id: 'id' },
      body: { enabled: { value: false }, version: 'version' },
      when: { enabled: true },
    }),
    row.action('putAdminIamUsersById', {
      label: enable,
      params: { id: 'id' },
      body: { enabled: { value: true }, version: 'version' },
      when: { enabled: false },
    }),
    row.action('deleteAdminIamUsersByIdSessions', { ...endSessions, params: { id: 'id' } }),
    row.action('deleteAdminIamUsersById', { ...remove, params: { id: 'id' }, query: { version: 'version' } }),
  ],
}))

const user = adminDetail('getAdminIamUsersById', (it) => ({
  id: 'iam.user',
  title: text('User', '用户'),
  name: 'username',
  param: 'id',
  live: ['iam_user', 'iam_user_role'],
  sections: [
    {
      columns: [
        it.text('username'),
        it.text('email'),
        it.flag('emailVerified'),
        it.text('mobile'),
        it.flag('enabled'),
        it.chips('roles', 'name'),
        it.count('orgId'),
      ],
    },
  ],
  moments: [{ at: 'createdAt', title: text('Account created', '创建账户') }],
  form: it.form('putAdminIamUsersById', {
    title: text('Change', '修改'),
    params: { id: 'id' },
    fields: ['username', 'email', 'mobile', 'enabled', 'orgId', 'roleIds'],
    options: { roleIds: roleChoice },
    version: 'version',
  }),
  actions: [
    it.action('postAdminIamUsersByIdRecovery', {
      label: text('Send a link for a new password', '发送重设密码链接'),
      params: { id: 'id' },
      confirm: text(
        '{{username}} gets an e-mail with a link. The present password stays valid until the link is used.',
        '{{username}} 会收到带链接的邮件。使用链接之前，现有密码仍然有效。',
      ),
      optional: true,
    }),
    it.action('postAdminIamUsersByIdInvitation', {
      label: text('Invite again', '重新邀请'),
      params: { id: 'id' },
      confirm: text(
        '{{username}} gets an e-mail with a new link to choose a password. The previous link becomes invalid.',
        '{{username}} 会收到设置密码的新链接，之前的链接将失效。',
      ),
      optional: true,
    }),
    it.action('putAdminIamUsersByIdPassword', {
      label: text('Set a password', '设置密码'),
      params: { id: 'id' },
      ask: ['password'],
    }),
    it.action('deleteAdminIamUsersByIdSessions', { ...endSessions, params: { id: 'id' } }),
    it.action('getAdminIamUsersByIdPersonalDataFile', {
      label: text('Export all data', '导出全部数据'),
      params: { id: 'id' },
    }),
    it.action('deleteAdminIamUsersById', { ...remove, params: { id: 'id' }, query: { version: 'version' } }),
    it.action('postAdminIamUsersByIdErasure', {
      label: text('Erase', '抹除'),
      params: { id: 'id' },
      body: { username: 'username' },
      confirm: text(
        'This removes or anonymises all data of {{username}} and deletes the account. You cannot undo this. Export the data first if you need it.',
        '{{username}} 的全部数据将被删除或匿名化，账户也将被删除，无法恢复。如有需要，请先导出。',
      ),
      type: 'username',
      reason: 'required',
      tone: 'danger',
    }),
  ],
  related: [
    { page: 'iam.user-sessions', title: text('Sessions', '会话'), filter: { id: 'id' } },
    {
      page: 'authenticators.user',
      title: text('Passkeys and second factors', '通行密钥与第二因素'),
      filter: { id: 'id' },
      optional: true,
    },
    { page: 'iam.api-tokens', title: text('API tokens', 'API 令牌'), filter: { userId: 'id' } },
    {
      page: 'sign-in-oidc.identities',
      title: text('Linked identities', '关联身份'),
      filter: { userId: 'id' },
      optional: true,
    },
    { page: 'iam.login-audit', title: text('Logins', '登录记录'), filter: { userId: 'id' } },
    {
      page: 'iam.audit',
      title: text('Changes to this account', '账户操作记录'),
      filter: { targetType: { value: 'user' }, targetId: 'id' },
    },
  ],
}))

const roles = adminList('getAdminIamRoles', (row) => ({
  id: 'iam.roles',
  title: text('Roles', '角色'),
  empty: text('No roles yet.', '尚无角色。'),
  lead: text('Sets of permissions for users.', '授予用户的权限集合。'),
  place: { group: 'access', order: 20 },
  key: 'id',
  detail: 'iam.role',
  live: ['iam_role', 'iam_role_permission'],
  columns: [
    row.text('name', { link: true }),
    row.text('code', { mono: true }),
    row.status('dataScope', scopeTones, { labels: dataScopes }),
    row.flag('builtIn'),
    row.text('description'),
    row.time('updatedAt', { hidden: true }),
  ],
  search: 'keyword',
  create: adminForm('postAdminIamRoles', {
    title: text('New role', '新建角色'),
    fields: ['code', 'name', 'description', 'dataScope', 'permissions'],
    options: { permissions: { labels: 'iam.permission' } },
  }),
}))

const roleDetail = adminDetail('getAdminIamRolesById', (it) => ({
  id: 'iam.role',
  title: text('Role', '角色'),
  name: 'name',
  param: 'id',
  live: ['iam_role', 'iam_role_permission'],
  sections: [
    {
      columns: [
        it.text('name'),
        it.text('code', { mono: true }),
        it.text('description'),
        it.status('dataScope', scopeTones, { labels: dataScopes }),
        it.flag('builtIn'),
        it.reference('permissions', { labels: 'iam.permission' }),
        it.time('updatedAt'),
      ],
    },
    {
      title: text('Sign-in', '登录'),
      columns: [it.time('secondFactorFrom'), it.count('sessionLifetime'), it.count('sessionIdleTimeout')],
    },
  ],
  form: it.form('putAdminIamRolesById', {
    title: text('Change', '修改'),
    params: { id: 'id' },
    fields: ['name', 'description', 'dataScope', 'permissions'],
    whole: true,
    options: { permissions: { labels: 'iam.permission' } },
    version: 'version',
  }),
  actions: [
    it.action('putAdminIamRolesByIdSignInPolicy', {
      label: text('Change the sign-in rules', '修改登录规则'),
      params: { id: 'id' },
      body: { version: 'version' },
      ask: ['secondFactorFrom', 'sessionLifetime', 'sessionIdleTimeout'],
      confirm: text(
        'The rules also apply to running sessions of all users with the role {{name}}. Your own session may end.',
        '规则也适用于拥有角色 {{name}} 的所有用户当前的会话，你自己的会话也可能结束。',
      ),
    }),
    it.action('deleteAdminIamRolesById', {
      label: text('Delete', '删除'),
      params: { id: 'id' },
      query: { version: 'version' },
      when: { builtIn: false },
      confirm: text('This deletes the role {{name}}.', '角色 {{name}} 将被删除。'),
      tone: 'danger',
    }),
  ],
  related: [{ page: 'iam.users', title: text('Users with this role', '拥有此角色的用户'), filter: { roleId: 'id' } }],
}))

const audit = adminList('getAdminIamAudits', (row) => ({
  id: 'iam.audit',
  title: text('Audit', '审计'),
  empty: text('No audited actions yet.', '尚无审计记录。'),
  lead: text('Record of changes, with the user and the reason.', '更改记录，含操作者和原因。'),
  place: { group: 'audit', order: 10 },
  key: 'id',
  detail: 'iam.audit-entry',
  columns: [
    row.time('occurredAt'),
    row.reference('actor', { labels: 'iam.actor' }),
    row.text('actionName', { link: true }),
    row.described('target'),
    row.text('reason'),
    row.text('targetKind', { hidden: true }),
    row.text('clientIp', { hidden: true }),
    row.text('traceId', { hidden: true, mono: true, trace: true }),
  ],
  find: ['traceId'],
  filters: [
    { name: 'actor', options: { labels: 'iam.actor' } },
    'action',
    'targetType',
    'targetId',
    'targetName',
    'traceId',
  ],
  live: ['iam_audit'],
}))

const auditEntry = adminDetail('getAdminIamAuditsById', (it) => ({
  id: 'iam.audit-entry',
  title: text('Audit', '审计'),
  name: 'actionName',
  param: 'id',
  sections: [
    {
      columns: [
        it.time('occurredAt'),
        it.reference('actor', { labels: 'iam.actor' }),
        it.described('target'),
        it.text('targetKind'),
        it.text('reason'),
        it.text('clientIp'),
        it.text('traceId', { mono: true, trace: true }),
      ],
    },
    {
      title: text('Details', '详情'),
      columns: [
        it.rows('changes', (change) => [
          change.described('subject', { title: text('Field', '字段') }),
          change.described('before', { title: text('Before', '更改前') }),
          change.described('after', { title: text('After', '更改后') }),
        ]),
      ],
    },
  ],
}))

const loginAudit = adminList('getAdminIamLoginAudits', (row) => ({
  id: 'iam.login-audit',
  title: text('Login audit', '登录审计'),
  empty: text('No sign-ins yet.', '尚无登录记录。'),
  lead: text('All sign-in attempts, including failed ones.', '所有登录尝试，包括失败的。'),
  place: { group: 'audit', order: 20 },
  key: 'id',
  columns: [
    row.time('occurredAt'),
    row.reference('userId', { labels: 'iam.user', page: 'iam.user' }, { title: text('User', '用户') }),
    row.text('identifier', { title: text('Entered name', '输入的登录名') }),
    row.flag('success', {
      title: text('Result', '结果'),
      labels: { true: text('Success', '成功'), false: text('Rejected', '被拒绝') },
    }),
    row.text('method', { labels: signInMethods }),
    row.text('message'),
    row.count('attempts'),
    row.text('clientIp'),
    row.text('userAgent', { hidden: true }),
    row.text('traceId', { hidden: true, mono: true, trace: true }),
  ],
  filters: ['success', 'clientIp', { name: 'userId', options: { labels: 'iam.user', title: text('User', '用户') } }],
  live: ['iam_login_audit'],
}))

const userSessions = adminList('getAdminIamUsersByIdSessions', (row) => ({
  id: 'iam.user-sessions',
  title: text('Sessions', '会话'),
  key: 'id',
  columns: [
    row.text('deviceName'),
    row.time('createdAt'),
    row.time('lastSeenAt'),
    row.time('expiresAt'),
    row.text('method', { labels: signInMethods }),
    row.text('secondFactor', { labels: signInMethods }),
    row.text('clientIp'),
    row.text('userAgent', { hidden: true }),
  ],
  actions: [
    row.action('deleteAdminIamSessionsById', {
      label: text('End', '结束'),
      params: { id: 'id' },
      confirm: text('The user of this session will be signed out.', '使用此会话的用户将退出登录。'),
    }),
  ],
  empty: text('This account has no active sessions.', '此账户当前没有有效会话。'),
}))

const ownAccount = adminDetail('getIamUsersMe', (it) => ({
  id: 'iam.own-account',
  title: text('My account', '我的账户'),
  place: { group: 'account', order: 10 },
  live: ['iam_user', 'iam_user_role'],
  sections: [
    {
      columns: [
        it.text('username'),
        it.text('email'),
        it.flag('emailVerified'),
        it.text('mobile'),
        it.chips('roles', 'name'),
        it.status('dataScope', scopeTones, { labels: dataScopes }),
        it.time('lastLoginAt'),
        it.time('createdAt'),
      ],
    },
  ],
  form: it.form('putIamUsersMe', {
    title: text('Change', '修改'),
    fields: ['username', 'email', 'mobile', 'currentPassword'],
    version: 'version',
  }),
  actions: [
    it.action('postIamUsersMeEmailChange', {
      label: text('Change the e-mail address', '更换邮箱'),
      params: {},
      ask: ['email', 'currentPassword'],
      confirm: text(
        'The new address is used after you open the link in the e-mail that it receives.',
        '打开新邮箱收到的链接后，新地址才会生效。',
      ),
      optional: true,
    }),
    it.action('putIamUsersMePassword', {
      label: text('Change the password', '修改密码'),
      params: {},
      ask: ['currentPassword', 'newPassword'],
      confirm: text('You will be signed out of all your other sessions.', '你的其他会话将全部结束。'),
    }),
    it.action('deleteIamUsersMeSessions', {
      label: text('End all other sessions', '结束其他会话'),
      params: {},
      confirm: text('You will be signed out on all other devices.', '除当前设备外，你将在所有设备上退出登录。'),
    }),
  ],
  related: [{ page: 'iam.own-sessions', title: text('Your active sessions', '有效会话'), filter: {} }],
}))

const ownSessions = adminList('getIamUsersMeSessions', (row) => ({
  id: 'iam.own-sessions',
  title: text('My sessions', '我的会话'),
  empty: text('No sessions.', '没有会话。'),
  lead: text('The browsers and programs in which you are signed in.', '您已登录的浏览器和程序。'),
  key: 'id',
  columns: [
    row.text('deviceName'),
    row.flag('current', { title: text('This one', '当前会话') }),
    row.time('lastSeenAt'),
    row.time('createdAt'),
    row.time('expiresAt'),
    row.text('method', { labels: signInMethods }),
    row.text('secondFactor', { labels: signInMethods }),
    row.text('clientIp'),
    row.text('userAgent', { hidden: true }),
  ],
  actions: [
    row.action('putIamUsersMeSessionsById', {
      label: text('Rename', '重命名'),
      params: { id: 'id' },
      ask: ['name'],
    }),
    row.action('deleteIamUsersMeSessionsById', {
      label: text('End', '结束'),
      params: { id: 'id' },
      when: { current: false },
      confirm: text('The user of this session will be signed out.', '使用此会话的用户将退出登录。'),
    }),
  ],
}))

export const pages = [
  ownAccount,
  ownSessions,
  users,
  user,
  userSessions,
  roles,
  roleDetail,
  audit,
  auditEntry,
  loginAudit,
  ...apiTokenPages,
]

/** Changes of each audited object, and the sign-ins of a user. */
export const timelines = [
  adminTimeline('getAdminIamAudits', (row) => ({
    id: 'iam.changes',
    ofAudited: { kind: 'targetType' },
    objectId: 'target',
    at: 'occurredAt',
    columns: [row.text('actionName'), row.reference('actor', { labels: 'iam.actor' }), row.text('reason')],
    opens: { page: 'iam.audit-entry', field: 'id' },
  })),
  adminTimeline('getAdminIamLoginAudits', (row) => ({
    id: 'iam.sign-ins',
    page: 'iam.user',
    objectId: 'userId',
    at: 'occurredAt',
    title: text('Sign-in', '登录'),
    columns: [
      row.flag('success', { labels: { true: text('Success', '成功'), false: text('Rejected', '被拒绝') } }),
      row.text('method', { labels: signInMethods }),
      row.text('message'),
      row.text('clientIp'),
    ],
  })),
]

export const userTiles = [
  adminTile('getAdminIamUserFigures', {
    id: 'iam.new-users',
    title: text('New members', '新会员'),
    order: 30,
    range: true,
    field: 'created',
    more: 'good',
    opens: { id: 'iam.users' },
  }),
]
