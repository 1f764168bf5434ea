import type { DataOf } from '@plinth/client'

/* Responses of the role operations. */

export type RolePage = DataOf<typeof operationIds.roles>
export type Role = RolePage['items'][number]
export type UsersOfRole = DataOf<typeof operationIds.users>
export type Permission = DataOf<typeof operationIds.permissions>[number]

/** Ids of the operations that `src/admin/own-pages.ts` lists. */
export const operationIds = {
  roles: 'getAdminIamRoles',
  permissions: 'getAdminIamPermissions',
  role: 'getAdminIamRolesById',
  save: 'putAdminIamRolesById',
  users: 'getAdminIamUsers',
  plugins: 'getAdminConsolePlugins',
} as const

/** Ids of the pages for users and for one role. The user may not be allowed to see them. */
export const usersPage = 'iam.users'
export const rolePage = 'iam.role'

/** True if the role has the permission. The built-in role has all permissions, whatever its list contains. */
export const holds = ({ builtIn, permissions }: Role, code: string): boolean => builtIn || permissions.includes(code)

/** True if the code, the name or the plugin of the permission contains the query. */
export function fits({ code, name, plugin, pluginTitle }: Permission, query: string): boolean {
  const text = `${code}\n${name}\n${plugin}\n${pluginTitle}`.toLowerCase()
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}
