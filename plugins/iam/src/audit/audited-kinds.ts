import { type AuditTexts, bilingual as text } from '@plinth/kernel'

const permissions = { labels: 'iam.permission' }
const scopes = {
  all: text('All data', '全部数据'),
  org: text('Data of the organisation', '本组织数据'),
  self: text('Own data', '本人数据'),
}

/** Names of the actions on accounts, roles and sessions. */
export const auditedIam: Readonly<Record<string, AuditTexts>> = {
  user: {
    title: text('User', '用户'),
    page: 'iam.user',
    labels: 'iam.user',
    nameFrom: 'username',
    actions: {
      password: text('Set password', '设置密码'),
      'confirm-email': text('Confirm e-mail address', '验证邮箱'),
      'bind-external': text('Connect external account', '绑定外部账户'),
      export: text('Export all data', '导出全部数据'),
      erase: text('Erase', '抹除'),
    },
    facts: {
      username: { title: text('User name', '用户名') },
      fields: {
        title: text('Changed fields', '已修改的字段'),
        values: {
          username: text('User name', '用户名'),
          email: text('E-mail address', '邮箱'),
          mobile: text('Mobile number', '手机号'),
          orgId: text('Organisation', '组织'),
          enabled: text('Enabled', '启用'),
          disabled: text('Disabled', '停用'),
          roles: text('Roles', '角色'),
        },
      },
      roleIds: { title: text('Roles', '角色'), labels: 'iam.role', page: 'iam.role' },
      enabled: { title: text('Enabled', '启用') },
      endedSessions: { title: text('Ended sessions', '已结束的会话') },
      provider: { title: text('Provider', '提供方') },
      phase: {
        title: text('Phase', '阶段'),
        values: { begun: text('Started', '已开始'), finished: text('Finished', '已完成') },
      },
      removed: { title: text('Deleted rows', '已删除的行数') },
      anonymised: { title: text('Anonymised rows', '已匿名化的行数') },
      kept: { title: text('Kept rows', '保留的行数') },
    },
  },
  'erased-user': { title: text('Erased user', '已抹除的用户') },
  role: {
    title: text('Role', '角色'),
    page: 'iam.role',
    labels: 'iam.role',
    nameFrom: 'name',
    facts: {
      code: { title: text('Code', '代码') },
      name: { title: text('Name', '名称') },
      dataScope: { title: text('Data scope', '数据范围'), values: scopes },
      permissions: { title: text('Permissions', '权限'), ...permissions },
      added: { title: text('Added permissions', '新增的权限'), ...permissions },
      removed: { title: text('Removed permissions', '移除的权限'), ...permissions },
    },
  },
  session: {
    title: text('Session', '会话'),
    actions: {
      revoke: text('End', '结束'),
      'revoke-all': text('End all', '结束全部'),
    },
    facts: {
      userId: { title: text('User', '用户'), labels: 'iam.user', page: 'iam.user' },
      count: { title: text('Ended sessions', '已结束的会话') },
    },
  },
}
