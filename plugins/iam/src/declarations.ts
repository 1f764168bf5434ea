import {
  type AuditTexts,
  defineBusinessErrors,
  errorTable,
  guardsPermission,
  type PermissionDeclaration,
  bilingual as text,
} from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('iam', en.iam, {
  'token-missing': '401',
  'token-invalid': '401',
  'token-expired': '401',
  'session-ambiguous': '401',
  'session-required': '403',
  'api-token-invalid': '401',
  'api-token-expired': '401',
  'api-token-misplaced': '401',
  'api-token-with-cookie': '401',
  'api-token-end-invalid': '400',
  'api-token-limit': '409',
  'api-token-unknown': '404',
  'token-out-of-audience': '403',
  'proof-required': '401',
  'second-factor-required': '401',
  'second-factor-impossible': '403',
  'second-factor-unavailable': '503',
  'second-factor-set-up': '409',
  'pending-sign-in-invalid': '401',
  'origin-unproven': '403',
  'permission-denied': '403',
  'out-of-scope': '403',
  'organisation-out-of-scope': '403',
  'scope-all-required': '403',
  'creation-out-of-scope': '403',
  'own-password': '403',
  'own-email': '403',
  'own-erasure': '403',
  'erasure-unconfirmed': '400',
  'erasure-unfinished': '503',
  'login-failed': '401',
  'user-disabled': '403',
  busy: '503',
  'reason-invalid': '400',
  'user-unknown': '404',
  'role-unknown': '404',
  'session-unknown': '404',
  'audit-unknown': '404',
  'username-invalid': '400',
  'username-mixed-script': '400',
  'email-invalid': '400',
  'mobile-invalid': '400',
  'username-taken': '409',
  'email-taken': '409',
  'email-changed': '409',
  'mobile-taken': '409',
  'role-code-taken': '409',
  'external-identity-taken': '409',
  'last-sign-in-way': '409',
  'version-conflict': '409',
  'last-administrator': '409',
  'beyond-own-authority': '403',
  'role-built-in': '409',
  'role-in-use': '409',
  'second-factor-missing': '409',
  'permission-unknown': '400',
  'password-wrong': '400',
  'password-required': '400',
  'password-refused': '400',
  'changed-meanwhile': '409',
})

/** Errors at the start and in commands of this plugin. */
export const iamError = errorTable({
  PLINTH_IAM_PERMISSION_UNDECLARED: `Routes require permissions that no loaded plugin declares: {{routes}}.
    List the permission under \`permissions\` of the plugin that declares the route, or correct its code.`,
  PLINTH_IAM_SCOPE_NOT_ASKED: `{{route}} of plugin "{{plugin}}" declares the scope "caller", but its handler succeeded without asking for the data scope of the caller.
    Read and change rows with the condition of \`callerRows\` or \`rowsInScope\`, check users with \`assertInScope\`, or declare another scope.`,
  PLINTH_IAM_PASSWORD_PATTERN: `platform.iam.password.pattern is not a valid regular expression: {{reason}}.
    Correct the pattern, or leave it empty. It uses the RE2 syntax: no back-references, and (?=...) or (?!...) only directly after ^.`,
  PLINTH_IAM_PASSWORD_HASH: `With these settings of the password hash, logins would take too long or fail: {{reason}}.
    Lower platform.iam.password.hash.memory, the number of passes, or the number of concurrent hashes.`,
  PLINTH_IAM_ACCOUNT_LIMIT: `{{key}} would lock out users after one mistake: {{reason}}.
    Choose an allowed value, or leave the default.`,
  PLINTH_IAM_MIGRATION_PENDING: `{{count}} change sets are pending.
    Run \`plinth migrate\` first.`,
  PLINTH_IAM_PASSWORD_INPUT: `{{reason}}.
    Run the command in a terminal, or pass the password with --password-stdin.`,
  PLINTH_IAM_VERIFICATION_SENDER: `platform.iam.auth.login.verification.{{channel}}.sender {{reason}}. Available senders: {{senders}}.
    Set the key to one of these senders. If only one plugin provides a sender, the key can be empty.`,
  PLINTH_IAM_USERS_OPTIONS: `{{reason}}.
    Run: plinth users export <id> --file <file>, plinth users erase <id> --dry-run, or plinth users erase <id> --yes.`,
  PLINTH_IAM_ADMIN_OPTIONS: `The option --username is missing.
    Run: plinth admin create --username <name> [--email <address>] [--password-stdin].`,
  PLINTH_IAM_RECOVER_OPTIONS: `{{reason}}.
    Run: plinth admin recover --username <name> [--password-stdin]. To create another administrator, run plinth admin create.`,
})

export const permissionCodes = {
  userView: 'iam:user:view',
  userCreate: 'iam:user:create',
  userUpdate: 'iam:user:update',
  userDelete: 'iam:user:delete',
  userExport: 'iam:user:export',
  userErase: 'iam:user:erase',
  sessionView: 'iam:session:view',
  sessionRevoke: 'iam:session:revoke',
  apiTokenView: 'iam:api-token:view',
  apiTokenRevoke: 'iam:api-token:revoke',
  roleView: 'iam:role:view',
  roleSave: 'iam:role:save',
  auditView: 'iam:audit:view',
  guardsSave: guardsPermission,
} as const

export const permissions: readonly PermissionDeclaration[] = [
  { code: permissionCodes.userView, displayName: { en: 'View users', 'zh-CN': '查看用户' } },
  { code: permissionCodes.userCreate, displayName: { en: 'Create users', 'zh-CN': '创建用户' } },
  {
    code: permissionCodes.userUpdate,
    displayName: { en: 'Change users', 'zh-CN': '修改用户' },
    description: { en: 'Names, roles, passwords, disabling.', 'zh-CN': '名称、角色、密码、停用。' },
  },
  { code: permissionCodes.userDelete, displayName: { en: 'Delete users', 'zh-CN': '删除用户' } },
  {
    code: permissionCodes.userExport,
    displayName: { en: 'Export the data of users', 'zh-CN': '导出用户数据' },
    description: { en: 'All stored data of a user, of all plugins.', 'zh-CN': '所有插件存储的该用户全部数据。' },
  },
  {
    code: permissionCodes.userErase,
    displayName: { en: 'Erase the data of users', 'zh-CN': '抹除用户数据' },
    description: {
      en: 'Remove or anonymise all stored data of a user, and the account.',
      'zh-CN': '删除或匿名化该用户的全部数据，并删除账户。',
    },
  },
  { code: permissionCodes.sessionView, displayName: { en: 'View sessions of users', 'zh-CN': '查看用户会话' } },
  { code: permissionCodes.sessionRevoke, displayName: { en: 'End sessions of users', 'zh-CN': '结束用户会话' } },
  {
    code: permissionCodes.apiTokenView,
    displayName: { en: 'View API tokens of users', 'zh-CN': '查看用户的 API 令牌' },
  },
  {
    code: permissionCodes.apiTokenRevoke,
    displayName: { en: 'Revoke API tokens of users', 'zh-CN': '吊销用户的 API 令牌' },
  },
  { code: permissionCodes.roleView, displayName: { en: 'View roles and permissions', 'zh-CN': '查看角色和权限' } },
  {
    code: permissionCodes.roleSave,
    displayName: { en: 'Create, change and delete roles', 'zh-CN': '创建、修改和删除角色' },
  },
  {
    code: permissionCodes.auditView,
    displayName: { en: 'View the audit and the login audit', 'zh-CN': '查看审计和登录审计' },
  },
  {
    code: permissionCodes.guardsSave,
    displayName: { en: 'Change security settings', 'zh-CN': '修改安全设置' },
    description: {
      en: 'In addition to "Change the configuration": keys that decide about access, such as limits, login, audit, proxies and the site address.',
      'zh-CN': '在“修改配置”之外，修改决定访问控制的配置项，例如限流、登录、审计、代理和站点地址。',
    },
  },
]

const permissionNames = { labels: 'iam.permission' }
/** Names of the data scopes. */
export const dataScopes = {
  all: text('All data', '全部数据'),
  org: text('Data of the organisation', '本组织数据'),
  self: text('Own data', '本人数据'),
}

/** Titles of the rules of a role for sign-ins and sessions. */
const signInRules = {
  secondFactorFrom: { title: text('Second factor required from', '自此时起须使用第二因素') },
  sessionLifetime: { title: text('Maximum session lifetime in seconds', '会话最长有效期（秒）') },
  sessionIdleTimeout: { title: text('Idle timeout in seconds', '会话闲置超时（秒）') },
}

/** Names of the actions on accounts, roles and sessions. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  user: {
    title: text('User', '用户'),
    page: 'iam.user',
    labels: 'iam.user',
    nameFrom: 'username',
    actions: {
      password: text('Set password', '设置密码'),
      'confirm-email': text('Confirm e-mail address', '验证邮箱'),
      'bind-external': text('Connect external account', '绑定外部账户'),
      'unbind-external': text('Disconnect external account', '解除外部账户'),
      recover: text('Recover the account', '恢复账户'),
      'start-recovery': text('Send a link for a new password', '发送重设密码链接'),
      invite: text('Invite', '邀请'),
      'accept-invitation': text('Accept the invitation', '接受邀请'),
      'request-email': text('Request another e-mail address', '申请更换邮箱'),
      'replace-email': text('Replace the e-mail address', '更换邮箱'),
      'undo-email': text('Undo the change of the e-mail address', '撤销更换邮箱'),
      'add-passkey': text('Add a passkey', '添加通行密钥'),
      'rename-passkey': text('Rename a passkey', '重命名通行密钥'),
      'remove-passkey': text('Remove a passkey', '移除通行密钥'),
      'suspect-passkey': text('Passkey was possibly copied', '通行密钥疑似被复制'),
      'add-totp': text('Set up one-time passwords', '启用动态口令'),
      'remove-totp': text('Remove one-time passwords', '停用动态口令'),
      'block-totp': text('Block one-time passwords after failed attempts', '多次失败后停止接受动态口令'),
      'create-recovery-codes': text('Create recovery codes', '生成恢复码'),
      'use-recovery-code': text('Use a recovery code', '使用恢复码'),
      'reset-second-factors': text('Remove all second factors', '清除全部第二因素'),
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
      secondFactors: { title: text('Removed second factors', '已移除的第二因素') },
      droppedRules: { title: text('Roles that no longer require a second factor', '不再要求第二因素的角色') },
      passkey: { title: text('Passkey', '通行密钥') },
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
    actions: { 'sign-in-policy': text('Change the sign-in rules', '修改登录规则') },
    facts: {
      code: { title: text('Code', '代码') },
      ...signInRules,
      name: { title: text('Name', '名称') },
      dataScope: { title: text('Data scope', '数据范围'), values: dataScopes },
      permissions: { title: text('Permissions', '权限'), ...permissionNames },
      added: { title: text('Added permissions', '新增的权限'), ...permissionNames },
      removed: { title: text('Removed permissions', '移除的权限'), ...permissionNames },
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
  'api-token': {
    title: text('API token', 'API 令牌'),
    nameFrom: 'name',
    actions: { revoke: text('Revoke', '吊销') },
    facts: {
      userId: { title: text('Owner', '所有者'), labels: 'iam.user', page: 'iam.user' },
      name: { title: text('Name', '名称') },
      dataScope: { title: text('Data scope', '数据范围'), values: dataScopes },
      permissions: { title: text('Permissions', '权限'), ...permissionNames },
      expiresAt: { title: text('End', '到期时间') },
    },
  },
}
