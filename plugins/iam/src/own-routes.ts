import type { Database } from '@plinth/database'
import type { HttpServer } from '@plinth/http'
import { Type } from 'typebox'
import { requirePrincipal } from './access-guard.ts'
import type { Principal } from './contract.ts'
import { User } from './entities.ts'
import { refusal } from './failures.ts'
import { actorOf, affected, attemptOf, idParams, line, nothing, nullableLine, password, version } from './inputs.ts'
import type { Login } from './login.ts'
import type { PermissionCatalogue } from './permission-catalogue.ts'
import type { Sessions } from './sessions.ts'
import type { Users } from './users.ts'
import { ownView, sessionView, userViews, viewOfSession } from './views.ts'

interface OwnRouteParts {
  readonly http: HttpServer
  readonly db: Database
  readonly login: Login
  readonly users: Users
  readonly sessions: Sessions
  readonly catalogue: PermissionCatalogue
}

/** Login, logout and what users do with their own account. */
export function addOwnRoutes({ http, db, login, users, sessions, catalogue }: OwnRouteParts): void {
  const me = async (principal: Principal) => {
    const em = db.fork()
    const user = await em.findOne(User, principal.userId)
    const [view] = await userViews(em, user === null ? [] : [user])
    if (view === undefined) throw refusal('user-unknown')
    const { isSuperAdmin, permissions, dataScope } = principal
    const codes = isSuperAdmin ? catalogue.declared.map(({ code }) => code) : [...permissions].sort()
    return { ...view, isSuperAdmin, permissions: codes, dataScope }
  }

  http.route('iam', {
    method: 'POST',
    path: '/api/v1/auth/login',
    summary: 'Log in with a password',
    access: 'public',
    request: {
      body: Type.Object({
        username: Type.String({ minLength: 1, maxLength: 254, description: 'User name or e-mail address.' }),
        password,
      }),
    },
    response: Type.Object({
      accessToken: Type.String({ description: 'For the header `Authorization: Bearer`. Shown here only.' }),
      tokenType: Type.Literal('Bearer'),
      expiresAt: Type.String({ description: 'ISO 8601, UTC.' }),
    }),
    handler: (request, reply) => {
      const { username, password } = request.body
      return login.withPassword(password, attemptOf(request, reply, 'password', username))
    },
  })
  http.route('iam', {
    method: 'POST',
    path: '/api/v1/auth/logout',
    summary: 'End this session',
    access: 'user',
    response: nothing,
    handler: async (request) => {
      const { userId, sessionId } = requirePrincipal(request)
      await sessions.revoke(sessionId, actorOf(request), 'session.logout', userId)
      return null
    },
  })
  http.route('iam', {
    method: 'GET',
    path: '/api/v1/iam/users/me',
    summary: 'The own account with roles and permissions',
    access: 'user',
    response: ownView,
    handler: (request) => me(requirePrincipal(request)),
  })
  http.route('iam', {
    method: 'PUT',
    path: '/api/v1/iam/users/me',
    summary: 'Change the own account; what is left out stays',
    access: 'user',
    request: {
      body: Type.Object({
        username: Type.Optional(line(64)),
        email: Type.Optional(nullableLine(254)),
        mobile: Type.Optional(nullableLine(32)),
        version: Type.Optional(version),
      }),
    },
    response: ownView,
    handler: async (request) => {
      const principal = requirePrincipal(request)
      const { version, ...change } = request.body
      await users.update(principal.userId, change, version, actorOf(request))
      return me(principal)
    },
  })
  http.route('iam', {
    method: 'PUT',
    path: '/api/v1/iam/users/me/password',
    summary: 'Change the own password; all other sessions end',
    access: 'user',
    request: { body: Type.Object({ currentPassword: password, newPassword: password }) },
    response: nothing,
    handler: async (request, reply) => {
      const { userId, username, sessionId } = requirePrincipal(request)
      const { currentPassword, newPassword } = request.body
      await login.confirmPassword(userId, currentPassword, attemptOf(request, reply, 'password-change', username))
      await users.setPassword(userId, newPassword, actorOf(request), sessionId)
      return null
    },
  })
  http.route('iam', {
    method: 'GET',
    path: '/api/v1/iam/users/me/sessions',
    summary: 'The own sessions, the newest first',
    access: 'user',
    response: Type.Array(sessionView),
    handler: async (request) => {
      const { userId, sessionId } = requirePrincipal(request)
      return (await sessions.list(userId, actorOf(request))).map((token) => viewOfSession(token, sessionId))
    },
  })
  http.route('iam', {
    method: 'DELETE',
    path: '/api/v1/iam/users/me/sessions/:id',
    summary: 'End one of the own sessions',
    access: 'user',
    request: { params: idParams },
    response: nothing,
    handler: async (request) => {
      await sessions.revoke(request.params.id, actorOf(request), 'session.revoke', requirePrincipal(request).userId)
      return null
    },
  })
  http.route('iam', {
    method: 'DELETE',
    path: '/api/v1/iam/users/me/sessions',
    summary: 'End all own sessions but this one',
    access: 'user',
    response: affected,
    handler: async (request) => {
      const { userId, sessionId } = requirePrincipal(request)
      return { affected: await sessions.revokeAll(userId, actorOf(request), sessionId) }
    },
  })
}
