import type { Database } from '@plinth/database'
import { affectedCount, idParams, line, nothing, nullable, routesWith, Type, version } from '@plinth/http'
import { requirePrincipal } from '../access/access-guard.ts'
import type { PermissionCatalogue } from '../access/permission-catalogue.ts'
import { acceptsApiTokens } from '../api-tokens/route-access.ts'
import type { Principal } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { User } from '../entities.ts'
import { maxDeviceNameLength } from '../sessions/device-name.ts'
import type { Login } from '../sessions/login.ts'
import {
  assertMaySetCookie,
  clearCookie,
  cookieToken,
  openedSessionSchema,
  respondWithSession,
  sessionTransportField,
} from '../sessions/session-cookie.ts'
import type { Sessions } from '../sessions/sessions.ts'
import {
  accountFieldReasons,
  actorOf,
  loginAttemptOf,
  password,
  passwordAttemptReasons,
  secondFactorReasons,
} from './inputs.ts'
import type { Users } from './users.ts'
import { callerAccountView, sessionView, userViews, viewOfSession } from './views.ts'

interface OwnRouteDependencies {
  readonly db: Database
  readonly login: Login
  readonly users: Users
  readonly sessions: Sessions
  readonly catalogue: PermissionCatalogue
}

const { route } = routesWith<OwnRouteDependencies>()

async function viewOf(
  principal: Principal,
  { db, catalogue }: Pick<OwnRouteDependencies, 'db' | 'catalogue'>,
  locale: string,
) {
  const em = db.fork()
  const user = await em.findOne(User, principal.userId)
  const [view] = await userViews(em, user === null ? [] : [user], locale)
  if (view === undefined) throw businessError('user-unknown')
  const { isSuperAdmin, permissions, dataScope } = principal
  const codes = isSuperAdmin ? catalogue.declared.map(({ code }) => code) : [...permissions].sort()
  return { ...view, isSuperAdmin, permissions: codes, dataScope }
}

export const callerAccountRoutes = [
  route({
    method: 'POST',
    path: '/api/v1/auth/login',
    compress: false,
    summary: 'Log in with a password',
    access: 'public',
    request: {
      body: Type.Object({
        username: Type.String({ minLength: 1, maxLength: 254, description: 'User name or e-mail address.' }),
        password,
        session: sessionTransportField,
      }),
    },
    response: openedSessionSchema,
    reasons: [
      ...passwordAttemptReasons,
      'iam.changed-meanwhile',
      'iam.login-failed',
      'iam.origin-unproven',
      ...secondFactorReasons,
      'iam.user-disabled',
    ],
    handler: async (request, { login }, reply) => {
      const { username, password, session } = request.body
      assertMaySetCookie(session, request)
      const opened = await login.withPassword(password, loginAttemptOf(request, reply, 'password', username))
      return respondWithSession(opened, session, request, reply)
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/logout',
    compress: false,
    summary: 'Log out and end this session',
    access: 'user',
    response: nothing,
    reasons: ['iam.session-unknown'],
    handler: async (request, { sessions }, reply) => {
      const { userId, sessionId } = requirePrincipal(request)
      await sessions.revoke(sessionId, actorOf(request), 'session.logout', userId)
      if (cookieToken(request) !== undefined) clearCookie(request, reply)
      return null
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/iam/users/me',
    summary: 'Get your account with its roles and permissions',
    description: 'With an API token, the permissions and the data scope are those of the token.',
    access: 'user',
    annotations: [acceptsApiTokens],
    response: callerAccountView,
    reasons: ['iam.user-unknown'],
    handler: (request, parts) => viewOf(requirePrincipal(request), parts, request.locale),
  }),
  route({
    method: 'PUT',
    path: '/api/v1/iam/users/me',
    summary: 'Change your account; omitted fields do not change',
    description:
      'If fresh proofs are enabled, a change of the e-mail address needs a proof of identity of the last 5 minutes.',
    access: 'user',
    request: {
      body: Type.Object({
        username: Type.Optional(line(64)),
        email: Type.Optional(nullable(line(254))),
        mobile: Type.Optional(nullable(line(32))),
        currentPassword: Type.Optional(
          Type.String({ ...password, description: 'Required to replace a verified e-mail address.' }),
        ),
        version: Type.Optional(version),
      }),
    },
    response: callerAccountView,
    reasons: [
      ...passwordAttemptReasons,
      ...accountFieldReasons,
      'iam.password-required',
      'iam.password-wrong',
      'iam.proof-required',
      'iam.user-unknown',
      'iam.version-conflict',
    ],
    handler: async (request, parts, reply) => {
      const principal = requirePrincipal(request)
      const { version, currentPassword, ...change } = request.body
      if (await parts.users.replacesSignInEmail(principal.userId, change)) {
        if (currentPassword === undefined)
          throw businessError('password-required', { data: { field: 'currentPassword' } })
        const attempt = loginAttemptOf(request, reply, 'email-change', principal.username)
        await parts.login.confirmPassword(principal.userId, currentPassword, attempt)
      } else if (change.email !== undefined) {
        // The reader of the mail can confirm the address, and then recover the account.
        await principal.assertFresh('5m')
      }
      await parts.users.update(principal.userId, change, version, actorOf(request))
      return viewOf(principal, parts, request.locale)
    },
  }),
  route({
    method: 'PUT',
    path: '/api/v1/iam/users/me/password',
    summary: 'Change your password and end all other sessions',
    access: 'user',
    request: { body: Type.Object({ currentPassword: password, newPassword: password }) },
    response: nothing,
    reasons: [
      ...passwordAttemptReasons,
      'iam.changed-meanwhile',
      'iam.password-refused',
      'iam.password-wrong',
      'iam.user-unknown',
    ],
    handler: async (request, { login, users }, reply) => {
      const { userId, username, sessionId } = requirePrincipal(request)
      const { currentPassword, newPassword } = request.body
      const attempt = loginAttemptOf(request, reply, 'password-change', username)
      const provenHash = await login.confirmPassword(userId, currentPassword, attempt)
      await users.setPassword(userId, newPassword, actorOf(request), { provenHash, sessionId })
      return null
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/iam/users/me/sessions',
    summary: 'List your sessions, newest first',
    access: 'user',
    response: Type.Array(sessionView),
    reasons: ['iam.beyond-own-authority', 'iam.user-unknown'],
    handler: async (request, { sessions }) => {
      const { userId, sessionId } = requirePrincipal(request)
      return (await sessions.list(userId, actorOf(request))).map((one) => viewOfSession(one, sessionId))
    },
  }),
  route({
    method: 'PUT',
    path: '/api/v1/iam/users/me/sessions/:id',
    summary: 'Rename one of your sessions',
    access: 'user',
    request: {
      params: idParams,
      body: Type.Object({ name: line(maxDeviceNameLength, { minLength: 1, description: 'Name of the device.' }) }),
    },
    response: nothing,
    reasons: ['iam.session-unknown'],
    handler: async (request, { sessions }) => {
      await sessions.rename(request.params.id, requirePrincipal(request).userId, request.body.name)
      return null
    },
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/iam/users/me/sessions/:id',
    summary: 'End one of your sessions',
    access: 'user',
    fresh: '5m',
    request: { params: idParams },
    response: nothing,
    reasons: ['iam.session-unknown'],
    handler: async (request, { sessions }) => {
      await sessions.revoke(request.params.id, actorOf(request), 'session.revoke', requirePrincipal(request).userId)
      return null
    },
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/iam/users/me/sessions',
    summary: 'End all your sessions except this one',
    access: 'user',
    fresh: '5m',
    response: affectedCount,
    reasons: ['iam.user-unknown'],
    handler: async (request, { sessions }) => {
      const { userId, sessionId } = requirePrincipal(request)
      return { affected: await sessions.revokeAll(userId, actorOf(request), sessionId) }
    },
  }),
]
