import { type Database, findPage } from '@plinth/database'
import {
  affectedCount,
  filterQuery,
  id,
  idParams,
  line,
  listPage,
  listQuery,
  listResponse,
  nothing,
  nullable,
  rangeQuery,
  routesWith,
  sortQuery,
  Type,
  version,
  versionQuery,
} from '@plinth/http'
import { idempotent } from '@plinth/idempotency'
import type { Static } from 'typebox'
import { requirePrincipal } from '../access/access-guard.ts'
import { userInScope, usersInScope } from '../access/data-scope.ts'
import { findRoleHolders } from '../access/roles.ts'
import { sessionOnly } from '../api-tokens/route-access.ts'
import type { Principal } from '../contract.ts'
import { businessError, permissionCodes } from '../declarations.ts'
import { User } from '../entities.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { accountFieldReasons, actorOf, password, roleIds } from './inputs.ts'
import type { Users } from './users.ts'
import { sessionView, userView, userViews, viewOfSession } from './views.ts'

interface UserRouteDependencies {
  readonly db: Database
  readonly users: Users
  readonly sessions: Sessions
}

const path = '/api/v1/admin/iam/users'
const sort = sortQuery(
  { id: 'id', username: 'username', email: 'email', createdAt: 'created_at', lastLoginAt: 'last_login_at' },
  'id',
)
/** Columns for sorting that ignore upper and lower case. */
const sortedBy: Readonly<Record<string, string>> = { username: 'usernameKey', email: 'emailFolded' }
const nullableOrg = nullable(id)
const range = rangeQuery('createdAt', 'id')

const filter = filterQuery(userView, ['enabled', 'username', 'email', 'mobile', 'orgId', 'lastLoginAt'])

const userQuery = Type.Object({
  ...listQuery.properties,
  ...filter.properties,
  ...range.properties,
  ...sort.properties,
  keyword: Type.Optional(
    line(100, {
      description:
        'Part of the user name, e-mail address or mobile number, ignoring case. Each page searches at most 3,000 users, so a page may contain few items although more follow.',
    }),
  ),
  enabled: Type.Optional(Type.Boolean()),
  roleId: Type.Optional(id),
})

const { route } = routesWith<UserRouteDependencies>()

async function viewOf(db: Database, user: User, locale: string) {
  const [one] = await userViews(db.fork(), [user], locale)
  if (one === undefined) throw businessError('user-unknown')
  return one
}

async function listUsers(db: Database, principal: Principal, query: Static<typeof userQuery>, locale: string) {
  const { keyword, enabled, roleId } = query
  const em = db.fork()
  const scope = usersInScope(principal)
  const holders = roleId === undefined ? undefined : await findRoleHolders(db, roleId)
  const conditions = [
    scope,
    ...(enabled === undefined ? [] : [{ enabled }]),
    ...(holders === undefined ? [] : [holders.condition]),
  ]
  // True if the list is filtered only by role. Then checking the users one by one would read many users without the
  // role.
  const isRoleAlone =
    Object.keys(scope).length === 0 &&
    enabled === undefined &&
    !keyword &&
    query.filter === undefined &&
    query.from === undefined &&
    query.to === undefined
  const orderBy = sort
    .parse(query.sort)
    .map(({ property, direction }) => ({ property: sortedBy[property] ?? property, direction }))
  return listResponse(
    query,
    orderBy,
    async (window) => {
      const counted = isRoleAlone && window.count === 'capped' ? holders?.count : undefined
      const requested = counted === undefined ? window : { ...window, count: 'none' as const }
      const found = await findPage(em, User, { $and: conditions }, requested, {
        search: { text: keyword ?? '', properties: ['usernameKey', 'emailFolded', 'mobile'] },
      })
      return { ...found, ...counted, items: await userViews(em, found.items, locale) }
    },
    range,
    filter,
  )
}

export const userRoutes = [
  route({
    method: 'GET',
    path,
    summary: 'List users',
    access: { permission: permissionCodes.userView, scope: 'caller' },
    request: { query: userQuery },
    response: listPage(userView),
    reasons: [],
    handler: (request, { db }) => listUsers(db, requirePrincipal(request), request.query, request.locale),
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'Get a user',
    access: { permission: permissionCodes.userView, scope: 'caller' },
    request: { params: idParams },
    response: userView,
    reasons: ['iam.user-unknown'],
    handler: async (request, { db }) =>
      viewOf(db, await userInScope(db.fork(), request.params.id, actorOf(request)), request.locale),
  }),
  route({
    method: 'POST',
    path,
    summary: 'Create a user',
    access: { permission: permissionCodes.userCreate, scope: 'caller' },
    fresh: '5m',
    annotations: [idempotent],
    request: {
      body: Type.Object({
        username: line(64),
        email: Type.Optional(nullable(line(254))),
        mobile: Type.Optional(nullable(line(32))),
        password,
        enabled: Type.Optional(Type.Boolean({ default: true })),
        orgId: Type.Optional(nullableOrg),
        roleIds: Type.Optional(roleIds),
      }),
    },
    response: userView,
    reasons: [
      ...accountFieldReasons,
      'iam.beyond-own-authority',
      'iam.busy',
      'iam.creation-out-of-scope',
      'iam.organisation-out-of-scope',
      'iam.password-refused',
      'iam.role-unknown',
    ],
    handler: async (request, { db, users }) =>
      viewOf(db, await users.create(request.body, actorOf(request)), request.locale),
  }),
  route({
    method: 'PUT',
    path: `${path}/:id`,
    summary: 'Change a user; omitted fields do not change',
    access: { permission: permissionCodes.userUpdate, scope: 'caller' },
    fresh: '5m',
    request: {
      params: idParams,
      body: Type.Object({
        username: Type.Optional(line(64)),
        email: Type.Optional(nullable(line(254))),
        mobile: Type.Optional(nullable(line(32))),
        enabled: Type.Optional(Type.Boolean()),
        orgId: Type.Optional(nullableOrg),
        roleIds: Type.Optional(roleIds),
        version: Type.Optional(version),
      }),
    },
    response: userView,
    reasons: [
      ...accountFieldReasons,
      'iam.beyond-own-authority',
      'iam.last-administrator',
      'iam.organisation-out-of-scope',
      'iam.own-email',
      'iam.role-unknown',
      'iam.user-unknown',
      'iam.version-conflict',
      '*',
    ],
    handler: async (request, { db, users }) => {
      const { version, ...change } = request.body
      const { id } = request.params
      const isOwn = requirePrincipal(request).userId === id
      if (isOwn && (await users.replacesSignInEmail(id, change)))
        throw businessError('own-email', { data: { field: 'email' } })
      return viewOf(db, await users.update(id, change, version, actorOf(request)), request.locale)
    },
  }),
  route({
    method: 'PUT',
    path: `${path}/:id/password`,
    summary: 'Set the password of a user, and end all sessions and API tokens of the user',
    access: { permission: permissionCodes.userUpdate, scope: 'caller' },
    annotations: [sessionOnly],
    fresh: '5m',
    request: { params: idParams, body: Type.Object({ password }) },
    response: nothing,
    reasons: ['iam.beyond-own-authority', 'iam.busy', 'iam.own-password', 'iam.password-refused', 'iam.user-unknown'],
    handler: async (request, { users }) => {
      await users.setPassword(request.params.id, request.body.password, actorOf(request))
      return null
    },
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    summary: 'Delete a user',
    access: { permission: permissionCodes.userDelete, scope: 'caller' },
    fresh: '5m',
    request: { params: idParams, query: versionQuery },
    response: nothing,
    reasons: ['iam.beyond-own-authority', 'iam.last-administrator', 'iam.user-unknown', 'iam.version-conflict'],
    handler: async (request, { users }) => {
      await users.delete(request.params.id, request.query.version, actorOf(request))
      return null
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id/sessions`,
    summary: 'List sessions of a user, newest first',
    access: { permission: permissionCodes.sessionView, scope: 'caller' },
    request: { params: idParams },
    response: Type.Array(sessionView),
    reasons: ['iam.beyond-own-authority', 'iam.user-unknown'],
    handler: async (request, { sessions }) => {
      const current = requirePrincipal(request).sessionId
      return (await sessions.list(request.params.id, actorOf(request))).map((one) => viewOfSession(one, current))
    },
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id/sessions`,
    summary: 'End all sessions of a user',
    access: { permission: permissionCodes.sessionRevoke, scope: 'caller' },
    annotations: [sessionOnly],
    fresh: '5m',
    request: { params: idParams },
    response: affectedCount,
    reasons: ['iam.beyond-own-authority', 'iam.user-unknown'],
    handler: async (request, { sessions }) => ({
      affected: await sessions.revokeAll(request.params.id, actorOf(request)),
    }),
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/admin/iam/sessions/:id',
    summary: 'End one session',
    access: { permission: permissionCodes.sessionRevoke, scope: 'caller' },
    annotations: [sessionOnly],
    fresh: '5m',
    request: { params: idParams },
    response: nothing,
    reasons: ['iam.beyond-own-authority', 'iam.session-unknown'],
    handler: async (request, { sessions }) => {
      await sessions.revoke(request.params.id, actorOf(request), 'session.revoke')
      return null
    },
  }),
]
