import { type Database, findPage } from '@plinth/database'
import { type Label, type LabelSource, listedLabels, mostLabels } from '@plinth/http'
import { localize } from '@plinth/kernel'
import { requirePrincipal } from './access/access-guard.ts'
import { usersInScope } from './access/data-scope.ts'
import type { PermissionCatalogue } from './access/permission-catalogue.ts'
import { Role, User } from './entities.ts'
import { own } from './permissions.ts'

const window = (property: string) =>
  ({ orderBy: [{ property, direction: 'asc' }], size: mostLabels, offset: 0, count: 'none' }) as const
const numbers = (ids: readonly string[]) => ids.map(Number).filter(Number.isSafeInteger)

const labelOf = ({ id, name }: { readonly id: number; readonly name: string }): Label => ({ id, name })
const userLabel = ({ id, username: name }: { readonly id: number; readonly username: string }): Label => ({ id, name })

/** Names of users within the scope of the caller, of roles and of permissions, by kind. */
export function iamLabels(db: Database, catalogue: PermissionCatalogue): Readonly<Record<string, LabelSource>> {
  return {
    'iam.user': {
      permission: own.userView,
      async byIds(ids, request) {
        const scope = usersInScope(requirePrincipal(request))
        return (await db.fork().find(User, { $and: [{ id: { $in: numbers(ids) } }, scope] })).map(userLabel)
      },
      async search(text, request) {
        const scope = usersInScope(requirePrincipal(request))
        const search = { text, properties: ['usernameKey', 'emailFolded', 'mobile'] }
        return (await findPage(db.fork(), User, scope, window('usernameKey'), { search })).items.map(userLabel)
      },
    },
    'iam.role': {
      permission: own.roleView,
      byIds: async (ids) => (await db.fork().find(Role, { id: { $in: numbers(ids) } })).map(labelOf),
      async search(text) {
        const search = { text, properties: ['code', 'name'] }
        return (await findPage(db.fork(), Role, {}, window('id'), { search })).items.map(labelOf)
      },
    },
    'iam.permission': listedLabels((locale) => permissionLabels(catalogue, locale), own.roleView),
  }
}

const permissionLabels = (catalogue: PermissionCatalogue, locale: string): Label[] =>
  catalogue.declared.map(({ code, displayName }) => ({ id: code, name: `${localize(displayName, locale)} (${code})` }))
