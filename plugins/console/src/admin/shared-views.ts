import { defineEntity, type InferEntity, UniqueConstraintViolationException } from '@mikro-orm/core'
import { column, type Database, personalTable } from '@plinth/database'
import { id, idParams, isNonBlankLine, line, nothing, routesWith, Type } from '@plinth/http'
import { type Identity, type Principal, requirePrincipal } from '@plinth/iam'
import { bilingual, type Clock, type PersonalTable } from '@plinth/kernel'
import { businessError } from '../declarations.ts'
import { type PageRegistry, word } from './page-registry.ts'

/** Filters, order and columns of a list under a name, for all users with a role. */
export const SharedView = defineEntity({
  name: 'ConsoleView',
  tableName: 'console_view',
  uniques: [{ properties: ['page', 'roleId', 'name'] }],
  indexes: [{ properties: ['roleId'] }, { properties: ['changedByUserId'] }],
  properties: {
    id: column.primaryKey(),
    /** Id of the page of the list. */
    page: column.text(64),
    /** A role that was deleted and created again has another id, so it does not get the views of the former role. */
    roleId: column.id(),
    name: column.text(60),
    /** Query of the page address. */
    search: column.longText(),
    /** True if the page opens with the view. A page has at most one such view per role. */
    isDefault: column.boolean(),
    changedByUserId: column.id(),
    changedAt: column.timestamp(),
  },
})
type SharedView = InferEntity<typeof SharedView>

export const viewTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, SharedView, {
    title: bilingual('Shared views', '共享视图'),
    owner: 'changed_by_user_id',
    erasure: 'kept',
    reason: bilingual(
      'The view belongs to the product. The user id no longer identifies a person.',
      '该视图属于产品。用户编号不再指向任何人。',
    ),
  }),
]

export const shareViews = 'console:views:share'
/** Maximum number of views of a page that are shared with one role. */
const maxViews = 20

export interface SharedViewDependencies {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly book: Pick<PageRegistry, 'hasList'>
  readonly identity: Pick<Identity, 'findRoles'>
}

/**
 * Returns the views of a page that are shared with a role of the user, in the order of the ids of the roles and then of
 * the names. The first default view applies. `roles`: the roles with which the user may share views, whose views are
 * included.
 */
export async function sharedViewsOf(
  { db, identity }: Pick<SharedViewDependencies, 'identity'> & { readonly db: Pick<Database, 'fork'> },
  page: string,
  principal: Principal,
  locale: string,
) {
  const mayShare = principal.can(shareViews)
  const roles = await identity.findRoles(locale, mayShare ? undefined : principal.roles)
  const known = new Map(roles.map((role) => [role.id, role]))
  const rows = await db
    .fork()
    .find(SharedView, { page, roleId: { $in: [...known.keys()] } }, { orderBy: { roleId: 'asc', name: 'asc' } })
  return {
    views: rows.flatMap((row) => {
      const role = known.get(row.roleId)
      if (role === undefined) return []
      const isDefault = row.isDefault && principal.roles.includes(role.code)
      return [{ id: row.id, name: row.name, search: row.search, role: role.name, isDefault }]
    }),
    roles: mayShare ? roles.map(({ id, name }) => ({ id, name })) : [],
  }
}

/**
 * Stores a view in place of the one with the same page, role and name. Views of deleted roles are removed.
 *
 * @throws BusinessError "409" `console.views-full`
 */
async function storeView(db: Database, view: Omit<SharedView, 'id'>, roleIds: readonly number[]): Promise<number> {
  const { page, roleId, name, ...changed } = view
  const where = { page, roleId, name }
  return db.transactional(async (em) => {
    await em.nativeDelete(SharedView, { roleId: { $nin: [...roleIds] } })
    if (view.isDefault) await em.nativeUpdate(SharedView, { page, roleId }, { isDefault: false })
    if ((await em.nativeUpdate(SharedView, where, changed)) === 0) {
      if ((await em.count(SharedView, { page, roleId })) >= maxViews)
        throw businessError('views-full', { params: { limit: maxViews }, data: { limit: maxViews } })
      await em.insert(SharedView, { id: db.newId(), ...view } as SharedView)
    }
    return (await em.findOneOrFail(SharedView, where)).id
  })
}

interface NewView {
  readonly page: string
  readonly roleId: number
  readonly name: string
  readonly search: string
  readonly isDefault: boolean
}

/**
 * Shares a view with a role. Returns its id.
 *
 * @throws BusinessError "400" `console.view-name-blank`; "404" `console.view-role-unknown`, `console.page-unknown`, also
 *   for a page that the caller may not open; the errors of `storeView`
 */
async function shareView(
  { db, clock, book, identity }: SharedViewDependencies,
  principal: Principal,
  locale: string,
  view: NewView,
): Promise<number> {
  const name = view.name.trim()
  if (!isNonBlankLine(name)) throw businessError('view-name-blank', { data: { field: 'name' } })
  if (!(await book.hasList(view.page, principal))) throw businessError('page-unknown', { params: { id: view.page } })
  const roles = await identity.findRoles(locale)
  if (!roles.some((role) => role.id === view.roleId))
    throw businessError('view-role-unknown', { data: { field: 'roleId' } })
  const changed = { changedByUserId: principal.userId, changedAt: new Date(clock.now()) }
  const roleIds = roles.map((role) => role.id)
  const store = () => storeView(db, { ...view, name, ...changed }, roleIds)
  // Another operator may have shared a view with this name at the same moment. The last one is stored.
  return store().catch((error: unknown) => {
    if (error instanceof UniqueConstraintViolationException) return store()
    throw error
  })
}

const { route } = routesWith<SharedViewDependencies>()
const path = '/api/v1/admin/console/views'
/** A view is shown to all users of a role, so sharing needs the whole data scope (decision G.24). */
const access = { permission: shareViews, scope: 'all' } as const

export const sharedViewRoutes = [
  route({
    method: 'PUT',
    path,
    summary: 'Share a view of a list with a role, in place of the view with the same name',
    description:
      'A view contains filters, order and columns, and no rows: each user sees the rows in their own data scope. The default view is shown when a user with the role opens the page.',
    access,
    request: {
      body: Type.Object({
        page: word,
        roleId: id,
        name: line(60, { minLength: 1 }),
        search: line(2_000, { description: 'Query of the page address.' }),
        isDefault: Type.Boolean(),
      }),
    },
    response: Type.Object({ id }),
    reasons: ['console.page-unknown', 'console.view-name-blank', 'console.view-role-unknown', 'console.views-full'],
    handler: async (request, parts) => ({
      id: await shareView(parts, requirePrincipal(request), request.locale, request.body),
    }),
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    summary: 'Stop sharing a view',
    access,
    request: { params: idParams },
    response: nothing,
    reasons: ['console.view-unknown'],
    async handler({ params }, { db }) {
      if ((await db.fork().nativeDelete(SharedView, { id: params.id })) === 0) throw businessError('view-unknown')
      return null
    },
  }),
]
