import { type Database, findPage } from '@plinth/database'
import { answerList, type HttpServer, listPage, listQuery, sortQuery } from '@plinth/http'
import { idempotent } from '@plinth/idempotency'
import { Type } from 'typebox'
import { requirePrincipal } from './access-guard.ts'
import { userInScope, usersInScope } from './data-scope.ts'
import { User } from './entities.ts'
import { refusal } from './failures.ts'
import {
  actorOf,
  affected,
  id,
  idParams,
  line,
  nothing,
  nullableLine,
  password,
  roleIds,
  version,
  versionQuery,
} from './inputs.ts'
import { own } from './permissions.ts'
import { holdsRole } from './role-holders.ts'
import type { Sessions } from './sessions.ts'
import { holdsText } from './text-search.ts'
import type { Users } from './users.ts'
import { sessionView, userView, userViews, viewOfSession } from './views.ts'

interface UserRouteParts {
  readonly http: HttpServer
  readonly db: Database
  readonly users: Users
  readonly sessions: Sessions
}

const path = '/api/v1/admin/iam/users'
const sort = sortQuery(
  { id: 'id', username: 'username', email: 'email', createdAt: 'created_at', lastLoginAt: 'last_login_at' },
  'id',
)
/** Names and addresses that differ in case stand together. */
const sortedBy: Readonly<Record<string, string>> = { username: 'usernameKey', email: 'emailFolded' }
const nullableOrg = Type.Union([id, Type.Null()])

/** Administration of users, within the data scope of the caller. */
export function addUserRoutes({ http, db, users, sessions }: UserRouteParts): void {
  const view = async (user: User) => {
    const [one] = await userViews(db.fork(), [user])
    if (one === undefined) throw refusal('user-unknown')
    return one
  }

  http.route('iam', {
    method: 'GET',
    path,
    summary: 'Users',
    access: { permission: own.userView },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...sort.properties,
        keyword: Type.Optional(line(100, 'Part of the user name, e-mail address or mobile number.')),
        enabled: Type.Optional(Type.Boolean()),
        roleId: Type.Optional(id),
      }),
    },
    response: listPage(userView),
    handler: async (request) => {
      const { keyword, enabled, roleId } = request.query
      const em = db.fork()
      const conditions = [
        usersInScope(requirePrincipal(request)),
        ...(keyword ? [holdsText(db, ['username', 'email', 'mobile'], keyword)] : []),
        ...(enabled === undefined ? [] : [{ enabled }]),
        ...(roleId === undefined ? [] : [holdsRole(roleId)]),
      ]
      const orderBy = sort
        .parse(request.query.sort)
        .map(({ property, direction }) => ({ property: sortedBy[property] ?? property, direction }))
      return answerList(request.query, orderBy, async (window) => {
        const found = await findPage(em, User, { $and: conditions }, window)
        return { ...found, items: await userViews(em, found.items) }
      })
    },
  })
  http.route('iam', {
    method: 'GET',
    path: `${path}/:id`,
    summary: 'One user',
    access: { permission: own.userView },
    request: { params: idParams },
    response: userView,
    handler: async (request) => view(await userInScope(db.fork(), request.params.id, actorOf(request))),
  })
  http.route('iam', {
    method: 'POST',
    path,
    summary: 'Create a user',
    access: { permission: own.userCreate },
    annotations: [idempotent],
    request: {
      body: Type.Object({
        username: line(64),
        email: Type.Optional(nullableLine(254)),
        mobile: Type.Optional(nullableLine(32)),
        password,
        enabled: Type.Optional(Type.Boolean()),
        orgId: Type.Optional(nullableOrg),
        roleIds: Type.Optional(roleIds),
      }),
    },
    response: userView,
    handler: async (request) => view(await users.create(request.body, actorOf(request))),
  })
  http.route('iam', {
    method: 'PUT',
    path: `${path}/:id`,
    summary: 'Change a user; what is left out stays',
    access: { permission: own.userUpdate },
    request: {
      params: idParams,
      body: Type.Object({
        username: Type.Optional(line(64)),
        email: Type.Optional(nullableLine(254)),
        mobile: Type.Optional(nullableLine(32)),
        enabled: Type.Optional(Type.Boolean()),
        orgId: Type.Optional(nullableOrg),
        roleIds: Type.Optional(roleIds),
        version: Type.Optional(version),
      }),
    },
    response: userView,
    handler: async (request) => {
      const { version, ...change } = request.body
      return view(await users.update(request.params.id, change, version, actorOf(request)))
    },
  })
  http.route('iam', {
    method: 'PUT',
    path: `${path}/:id/password`,
    summary: 'Set the password of a user; all sessions of the user end',
    access: { permission: own.userUpdate },
    request: { params: idParams, body: Type.Object({ password }) },
    response: nothing,
    handler: async (request) => {
      await users.setPassword(request.params.id, request.body.password, actorOf(request))
      return null
    },
  })
  http.route('iam', {
    method: 'DELETE',
    path: `${path}/:id`,
    summary: 'Delete a user',
    access: { permission: own.userDelete },
    request: { params: idParams, query: versionQuery },
    response: nothing,
    handler: async (request) => {
      await users.delete(request.params.id, request.query.version, actorOf(request))
      return null
    },
  })
  http.route('iam', {
    method: 'GET',
    path: `${path}/:id/sessions`,
    summary: 'Sessions of a user, the newest first',
    access: { permission: own.sessionView },
    request: { params: idParams },
    response: Type.Array(sessionView),
    handler: async (request) => {
      const current = requirePrincipal(request).sessionId
      return (await sessions.list(request.params.id, actorOf(request))).map((token) => viewOfSession(token, current))
    },
  })
  http.route('iam', {
    method: 'DELETE',
    path: `${path}/:id/sessions`,
    summary: 'End all sessions of a user',
    access: { permission: own.sessionRevoke },
    request: { params: idParams },
    response: affected,
    handler: async (request) => ({ affected: await sessions.revokeAll(request.params.id, actorOf(request)) }),
  })
  http.route('iam', {
    method: 'DELETE',
    path: '/api/v1/admin/iam/sessions/:id',
    summary: 'End one session',
    access: { permission: own.sessionRevoke },
    request: { params: idParams },
    response: nothing,
    handler: async (request) => {
      await sessions.revoke(request.params.id, actorOf(request), 'session.revoke')
      return null
    },
  })
}
