import type { PermissionDeclaration } from '@plinth/kernel'

export const permissionCodes = {
  userView: 'iam:user:view',
  userCreate: 'iam:user:create',
  userUpdate: 'iam:user:update',
  userDelete: 'iam:user:delete',
  userExport: 'iam:user:export',
  userErase: 'iam:user:erase',
  sessionView: 'iam:session:view',
  sessionRevoke: 'iam:session:revoke',
  roleView: 'iam:role:view',
  roleSave: 'iam:role:save',
  auditView: 'iam:audit:view',
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
  { code: permissionCodes.roleView, displayName: { en: 'View roles and permissions', 'zh-CN': '查看角色和权限' } },
  {
    code: permissionCodes.roleSave,
    displayName: { en: 'Create, change and delete roles', 'zh-CN': '创建、修改和删除角色' },
  },
  {
    code: permissionCodes.auditView,
    displayName: { en: 'View the audit and the login audit', 'zh-CN': '查看审计和登录审计' },
  },
]
