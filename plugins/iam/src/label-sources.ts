import { createStaticLabelSource, filterLabels, type Label, type LabelSource, maxLabels } from '@plinth/admin'
import { type Database, findPage, foldText } from '@plinth/database'
import { localize } from '@plinth/kernel'
import type { FastifyRequest } from 'fastify'
import { requirePrincipal } from './access/access-guard.ts'
import { usersInScope } from './access/data-scope.ts'
import type { PermissionCatalogue } from './access/permission-catalogue.ts'
import { roleName } from './access/roles.ts'
import { permissionCodes } from './declarations.ts'
import { Role, User } from './entities.ts'

const firstRowsBy = (property: string) =>
  ({ orderBy: [{ property, direction: 'asc' }], size: maxLabels, offset: 0, count: 'none' }) as const
const numbers = (ids: readonly string[]) => ids.map(Number).filter(Number.isSafeInteger)

const roleLabel = (role: Role, locale: string): Label => ({ id: role.id, name: roleName(role, locale) })
const userLabel = ({ id, username: name }: { readonly id: number; readonly username: string }): Label => ({ id, name })

/** Matches an actor of the audit that is a user: `user:<id>`. */
const userActor = /^user:(\d{1,15})$/
const actorLabel = ({ id, username }: { readonly id: number; readonly username: string }): Label => ({
  id: `user:${id}`,
  name: username,
})

export function iamLabels(db: Database, catalogue: PermissionCatalogue): Readonly<Record<string, LabelSource>> {
  const users = (ids: readonly string[], request: FastifyRequest) => {
    const scope = usersInScope(requirePrincipal(request))
    return db.fork().find(User, { $and: [{ id: { $in: numbers(ids) } }, scope] })
  }
  const foundUsers = async (text: string, request: FastifyRequest) => {
    const scope = usersInScope(requirePrincipal(request))
    const search = { text, properties: ['usernameKey', 'emailFolded', 'mobile'] }
    // A search examines only the first users, and the user with exactly this name may be another one.
    const named = await db.fork().findOne(User, { $and: [{ usernameKey: foldText(text.trim()) }, scope] })
    const { items } = await findPage(db.fork(), User, scope, firstRowsBy('usernameKey'), { search })
    return named === null ? items : [named, ...items.filter(({ id }) => id !== named.id)].slice(0, maxLabels)
  }
  return {
    'iam.user': {
      permission: permissionCodes.userView,
      scope: 'caller',
      byIds: async (ids, request) => (await users(ids, request)).map(userLabel),
      search: async (text, request) => (await foundUsers(text, request)).map(userLabel),
    },
    'iam.actor': {
      permission: permissionCodes.userView,
      scope: 'caller',
      async byIds(ids, request) {
        const userIds = ids.flatMap((id) => userActor.exec(id)?.[1] ?? [])
        const others = ids.filter((id) => !userActor.test(id)).map((id): Label => ({ id, name: id }))
        return [...(await users(userIds, request)).map(actorLabel), ...others]
      },
      // Actors that are not users are in no table, so the typed text is offered as a name.
      async search(text, request) {
        const typed = text.trim()
        const found = (await foundUsers(text, request)).map(actorLabel)
        return typed === '' ? found : [...found, { id: typed, name: typed }]
      },
    },
    'iam.role': {
      permission: permissionCodes.roleView,
      scope: 'none',
      byIds: async (ids, { locale }) =>
        (await db.fork().find(Role, { id: { $in: numbers(ids) } })).map((role) => roleLabel(role, locale)),
      async search(text, { locale }) {
        const search = { text, properties: ['code', 'name'] }
        return (await findPage(db.fork(), Role, {}, firstRowsBy('id'), { search })).items.map((role) =>
          roleLabel(role, locale),
        )
      },
    },
    'iam.permission': createStaticLabelSource(
      (locale) => permissionLabels(catalogue, locale),
      permissionCodes.roleView,
    ),
    'iam.own-permission': {
      scope: 'none',
      async byIds(ids, request: FastifyRequest) {
        const requested = new Set(ids)
        return ownPermissionLabels(catalogue, request).filter(({ id }) => requested.has(String(id)))
      },
      search: async (text, request: FastifyRequest) => filterLabels(ownPermissionLabels(catalogue, request), text),
    },
  }
}

/** Permissions that the caller has, which the caller can give to an API token. */
function ownPermissionLabels(catalogue: PermissionCatalogue, request: FastifyRequest): readonly Label[] {
  const principal = requirePrincipal(request)
  return permissionLabels(catalogue, request.locale).filter(({ id }) => principal.can(String(id)))
}

const permissionLabels = (catalogue: PermissionCatalogue, locale: string): Label[] =>
  catalogue.declared.map(({ code, displayName }) => ({ id: code, name: `${localize(displayName, locale)} (${code})` }))
