/* What the operations of roles answer. */

export interface Role {
  readonly id: number
  readonly code: string
  readonly name: string
  readonly description: string | null
  readonly dataScope: string
  readonly builtIn: boolean
  readonly permissions: readonly string[]
  readonly version: number
}

export interface RolePage {
  readonly items: readonly Role[]
  readonly total: number | null
}

export interface Permission {
  readonly code: string
  readonly plugin: string
  /** What people call the plugin. */
  readonly pluginTitle: string
  readonly name: string
  readonly description: string | null
  /** False for one of a plugin that is no longer loaded. */
  readonly loaded: boolean
}

/** Ids of the operations: see `src/admin/own-pages.ts`. */
export const operationIds = {
  roles: 'getAdminIamRoles',
  permissions: 'getAdminIamPermissions',
  role: 'getAdminIamRolesById',
  save: 'putAdminIamRolesById',
  users: 'getAdminIamUsers',
  plugins: 'getAdminConsolePlugins',
} as const

/** Pages of users and of one role, where the reader sees them. */
export const usersPage = 'iam.users'
export const rolePage = 'iam.role'

/** The one of the installation holds everything, whatever its list says. */
export const holds = ({ builtIn, permissions }: Role, code: string): boolean => builtIn || permissions.includes(code)

/** Part of a code, a name or a plugin. */
export function fits({ code, name, plugin, pluginTitle }: Permission, query: string): boolean {
  const text = `${code}\n${name}\n${plugin}\n${pluginTitle}`.toLowerCase()
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}
