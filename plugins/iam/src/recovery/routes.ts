import { id, idParams, line, nothing, nullable, routesWith, Type } from '@plinth/http'
import { idempotent } from '@plinth/idempotency'
import { omitUndefined } from '@plinth/kernel'
import { requirePrincipal } from '../access/access-guard.ts'
import {
  accountFieldReasons,
  actorOf,
  loginAttemptOf,
  password,
  passwordAttemptReasons,
  roleIds,
} from '../accounts/inputs.ts'
import type { GuardedRequest } from '../contract.ts'
import { permissionCodes } from '../declarations.ts'
import type { RecoveryOrigin, RecoveryService } from './recovery-service.ts'
import type { RecoverySettings } from './settings.ts'

interface RecoveryRouteDependencies {
  readonly recovery: RecoveryService
  readonly settings: RecoverySettings
}

const { route } = routesWith<RecoveryRouteDependencies>()

const path = '/api/v1/auth/recovery'
const usersPath = '/api/v1/admin/iam/users'
const token = Type.String({ minLength: 1, maxLength: 200, description: 'Part of the link after `token=`.' })
const accepted = Type.Object({ accepted: Type.Literal(true) })
const limitReasons = ['rate-limit.exceeded', 'rate-limit.store-unavailable', 'recovery.unavailable']
const useReasons = [...limitReasons, 'recovery.token-invalid']
const operatorReasons = [
  'iam.beyond-own-authority',
  'iam.user-unknown',
  'recovery.email-missing',
  'recovery.unavailable',
  'recovery.user-disabled',
]

type Request = Pick<GuardedRequest, 'clientIp' | 'traceId' | 'headers' | 'locale'>

const originOf = ({ clientIp, traceId, headers, locale }: Request): RecoveryOrigin => ({
  clientIp,
  traceId,
  userAgent: headers['user-agent'] ?? '',
  locale,
})

/** Operations for users who cannot sign in. The token of a link is their proof. */
const publicRoutes = [
  route({
    method: 'GET',
    path,
    compress: false,
    summary: 'Get whether an account can be recovered by e-mail',
    access: 'public',
    response: Type.Object({ available: Type.Boolean() }),
    reasons: [],
    handler: (_request, { settings }) => ({ available: settings.isAvailable }),
  }),
  route({
    method: 'POST',
    path,
    compress: false,
    summary: 'Request a link for a new password by e-mail; the response is the same for unknown accounts',
    access: 'public',
    request: {
      body: Type.Object({
        identifier: Type.String({ minLength: 1, maxLength: 254, description: 'User name or e-mail address.' }),
      }),
    },
    response: accepted,
    reasons: limitReasons,
    handler: async (request, { recovery }) => {
      await recovery.request(request.body.identifier, originOf(request))
      return { accepted: true as const }
    },
  }),
  route({
    method: 'POST',
    path: `${path}/complete`,
    compress: false,
    summary: 'Choose a password with the token of a link, and end all sessions and API tokens of the account',
    access: 'public',
    request: { body: Type.Object({ token, password }) },
    response: nothing,
    reasons: [...useReasons, 'iam.busy', 'iam.password-refused', 'iam.user-unknown', 'recovery.invitation-withdrawn'],
    handler: async (request, { recovery }) => {
      await recovery.complete(request.body.token, request.body.password, originOf(request))
      return null
    },
  }),
  route({
    method: 'POST',
    path: `${path}/email`,
    compress: false,
    summary: 'Confirm or undo a change of the e-mail address with the token of a link',
    access: 'public',
    request: { body: Type.Object({ token }) },
    response: Type.Object({
      purpose: Type.Enum(['email-change', 'email-undo'], {
        description: '`email-undo`: the previous address is restored, and all sessions are ended.',
      }),
    }),
    reasons: [...useReasons, 'iam.email-taken', 'iam.user-unknown'],
    handler: async (request, { recovery }) => ({
      purpose: await recovery.completeEmail(request.body.token, originOf(request)),
    }),
  }),
]

const signedInRoutes = [
  route({
    method: 'POST',
    path: '/api/v1/iam/users/me/email-change',
    summary: 'Request another e-mail address; it is used after its link is opened',
    access: 'user',
    request: {
      body: Type.Object({
        email: line(254),
        currentPassword: Type.Optional(
          Type.String({ ...password, description: 'Required if the account has a password.' }),
        ),
      }),
    },
    response: accepted,
    reasons: [
      ...passwordAttemptReasons,
      'iam.changed-meanwhile',
      'iam.email-invalid',
      'iam.password-required',
      'iam.password-wrong',
      'iam.proof-required',
      'iam.user-unknown',
      'recovery.email-unchanged',
      'recovery.unavailable',
    ],
    handler: async (request, { recovery }, reply) => {
      const principal = requirePrincipal(request)
      const attempt = loginAttemptOf(request, reply, 'email-change', principal.username)
      await recovery.requestEmail(principal, request.body, actorOf(request), { attempt, locale: request.locale })
      return { accepted: true as const }
    },
  }),
  route({
    method: 'POST',
    path: `${usersPath}/:id/recovery`,
    summary: 'Send a link for a new password to a user',
    access: { permission: permissionCodes.userUpdate, scope: 'caller' },
    fresh: '5m',
    request: { params: idParams },
    response: nothing,
    reasons: [...operatorReasons, 'recovery.password-missing'],
    handler: async (request, { recovery }) => {
      await recovery.startReset(request.params.id, actorOf(request), request.locale)
      return null
    },
  }),
  route({
    method: 'POST',
    path: `${usersPath}/:id/invitation`,
    summary: 'Invite a user who has no password yet',
    access: { permission: permissionCodes.userUpdate, scope: 'caller' },
    fresh: '5m',
    request: { params: idParams },
    response: nothing,
    reasons: [...operatorReasons, 'recovery.already-accepted'],
    handler: async (request, { recovery }) => {
      await recovery.invite(request.params.id, actorOf(request), request.locale)
      return null
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/admin/iam/invitations',
    summary: 'Create a user without a password and send an invitation',
    access: { permission: permissionCodes.userCreate, scope: 'caller' },
    fresh: '5m',
    annotations: [idempotent],
    request: {
      body: Type.Object({
        username: line(64),
        email: line(254),
        mobile: Type.Optional(nullable(line(32))),
        orgId: Type.Optional(nullable(id)),
        roleIds: Type.Optional(roleIds),
      }),
    },
    response: Type.Object({ id, username: Type.String() }),
    reasons: [
      ...accountFieldReasons,
      ...operatorReasons,
      'iam.creation-out-of-scope',
      'iam.organisation-out-of-scope',
      'iam.role-unknown',
      'recovery.already-accepted',
    ],
    handler: async (request, { recovery }) => {
      const account = await recovery.createInvited(omitUndefined(request.body), actorOf(request), request.locale)
      return { id: account.id, username: account.username }
    },
  }),
]

export const recoveryRoutes = [...publicRoutes, ...signedInRoutes]
