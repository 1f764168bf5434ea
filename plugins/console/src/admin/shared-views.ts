import { defineEntity, type InferEntity, UniqueConstraintViolationException } from '@mikro-orm/core'
import { column, type Database, personalTable } from '@plinth/database'
import { id, idParams, isNonBlankLine, line, nothing, routesWith, Type } from '@plinth/http'
import { type Identity, type Principal, requirePrincipal } from '@plinth/iam'
import {
  type AuditedRequest,
  type AuditTexts,
  auditFieldsOfCaller,
  bilingual,
  type Clock,
  type Kernel,
  type PersonalTable,
  writeAuditEntry,
} from '@plinth/kernel'
import { businessError } from '../declarations.ts'
import { type PageRegistry, word } from './page-registry.ts'

/** Filters, order and columns of a list under a name, for all users with a role. */
export const SharedView = defineEntity({
  name: 'ConsoleView',
  tableName: 'console_view',
  uniques: [{ properties: ['page', 'roleId', 'name'] }, { properties: ['page', 'roleId', 'isDefault'] }],
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
    /** True if the page opens with the view, otherwise null. So a page has at most one such view per role. */
    isDefault: column.boolean().nullable(),
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
/** Maximum number of attempts to store a view while other operators store views of the same page and role. */
const maxAttempts = 10
/** Maximum number of views of a page that are shared with one role. */
const maxViews = 20

export interface SharedViewDependencies {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly kernel: Pick<Kernel, 'contributions'>
  readonly book: Pick<PageRegistry, 'hasList'>
  readonly identity: Pick<Identity, 'findRoles'>
}

type ReadDependencies = Pick<SharedViewDependencies, 'identity'> & { readonly db: Pick<Database, 'fork'> }

/**
 * Returns the views that are shared with a role of the user, in the order of the ids of the roles and then of the names.
 * The first default view applies. `roles`: the roles with which the user may share views, whose views are included.
 *
 * @param page id of a page; default: all pages, also those that the user may not open
 */
export async function sharedViewsOf(
  { db, identity }: ReadDependencies,
  page: string | undefined,
  principal: Principal,
  locale: string,
) {
  const mayShare = principal.can(shareViews)
  const roles = await identity.findRoles(locale, mayShare ? undefined : principal.roles)
  const known = new Map(roles.map((role) => [role.id, role]))
  const rows = await db
    .fork()
    .find(
      SharedView,
      { ...(page === undefined ? {} : { page }), roleId: { $in: [...known.keys()] } },
      { orderBy: { roleId: 'asc', name: 'asc' } },
    )
  return {
    views: rows.flatMap((row) => {
      const role = known.get(row.roleId)
      if (role === undefined) return []
      const isDefault = row.isDefault === true && principal.roles.includes(role.code)
      return [{ id: row.id, name: row.name, page: row.page, search: row.search, role: role.name, isDefault }]
    }),
    roles: mayShare ? roles.map(({ id, name }) => ({ id, name })) : [],
  }
}

/** Returns the views that the user can open, for the command palette. */
export async function openableViews(
  { book, ...parts }: ReadDependencies & Pick<SharedViewDependencies, 'book'>,
  principal: Principal,
  locale: string,
) {
  const { views } = await sharedViewsOf(parts, undefined, principal, locale)
  const pages = new Set(views.map(({ page }) => page))
  const opened = await Promise.all(
    [...pages].map(async (page) => ((await book.hasList(page, principal)) ? [page] : [])),
  )
  return views.filter(({ page }) => opened.flat().includes(page))
}

/** Names of the audited actions, for people. */
export const auditedViews: Readonly<Record<string, AuditTexts>> = {
  'shared-view': {
    title: bilingual('Shared view', '共享视图'),
    nameFrom: 'name',
    actions: {
      share: bilingual('Share', '共享'),
      change: bilingual('Change', '修改'),
      remove: bilingual('Stop sharing', '停止共享'),
    },
    facts: {
      name: { title: bilingual('Name', '名称') },
      page: { title: bilingual('Page', '页面') },
      roleId: { title: bilingual('Role', '角色'), labels: 'iam.role', page: 'iam.role' },
      search: { title: bilingual('Filters, order and columns', '筛选、排序和列') },
      isDefault: { title: bilingual('The page opens with it', '打开页面时使用') },
    },
  },
}

/** Writes the audit entry of a view, in the transaction of its change. */
type AuditView = (verb: 'share' | 'change' | 'remove', view: SharedView) => Promise<void>

const auditOf =
  (kernel: SharedViewDependencies['kernel'], request: AuditedRequest): AuditView =>
  (verb, { id, page, roleId, name, search, isDefault }) =>
    writeAuditEntry(kernel, {
      ...auditFieldsOfCaller(request),
      action: `shared-view.${verb}`,
      subject: id,
      summary: { name, page, roleId, search, isDefault: isDefault === true },
    })

/**
 * Stores a view in place of the one with the same page, role and name. Views of deleted roles are removed.
 *
 * @throws BusinessError "409" `console.views-full`
 */
async function storeView(
  db: Database,
  view: Omit<SharedView, 'id'>,
  roleIds: readonly number[],
  audit: AuditView,
): Promise<number> {
  const { page, roleId, name } = view
  return db.transactional(async (em) => {
    await em.nativeDelete(SharedView, { roleId: { $nin: [...roleIds] } })
    if (view.isDefault) await em.nativeUpdate(SharedView, { page, roleId, isDefault: true }, { isDefault: null })
    const before = await em.findOne(SharedView, { page, roleId, name })
    if (before === null && (await em.count(SharedView, { page, roleId })) >= maxViews)
      throw businessError('views-full', { params: { limit: maxViews }, data: { limit: maxViews } })
    const stored = { ...view, id: before?.id ?? db.newId() } as SharedView
    if (before === null) await em.insert(SharedView, stored)
    else await em.nativeUpdate(SharedView, { id: stored.id }, view)
    await audit(before === null ? 'share' : 'change', stored)
    return stored.id
  })
}

/** @throws BusinessError "404" `console.view-unknown` */
const removeView = (db: Database, id: number, audit: AuditView): Promise<void> =>
  db.transactional(async (em) => {
    const view = await em.findOne(SharedView, { id })
    if (view === null || (await em.nativeDelete(SharedView, { id })) === 0) throw businessError('view-unknown')
    await audit('remove', view)
  })

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
  audit: AuditView,
): Promise<number> {
  const name = view.name.trim()
  if (!isNonBlankLine(name)) throw businessError('view-name-blank', { data: { field: 'name' } })
  if (!(await book.hasList(view.page, principal))) throw businessError('page-unknown', { params: { id: view.page } })
  const roles = await identity.findRoles(locale)
  if (!roles.some((role) => role.id === view.roleId))
    throw businessError('view-role-unknown', { data: { field: 'roleId' } })
  const changed = {
    isDefault: view.isDefault || null,
    changedByUserId: principal.userId,
    changedAt: new Date(clock.now()),
  }
  const roleIds = roles.map((role) => role.id)
  for (let attempt = 1; ; attempt++) {
    try {
      return await storeView(db, { ...view, name, ...changed }, roleIds, audit)
    } catch (error) {
      // Another operator shared a view with this name, or another default, at the same moment. The last one is stored.
      if (!(error instanceof UniqueConstraintViolationException) || attempt === maxAttempts) throw error
    }
  }
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
    async handler(request, parts) {
      const audit = auditOf(parts.kernel, request)
      return { id: await shareView(parts, requirePrincipal(request), request.locale, request.body, audit) }
    },
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    summary: 'Stop sharing a view',
    access,
    request: { params: idParams },
    response: nothing,
    reasons: ['console.view-unknown'],
    async handler(request, { db, kernel }) {
      await removeView(db, request.params.id, auditOf(kernel, request))
      return null
    },
  }),
]
