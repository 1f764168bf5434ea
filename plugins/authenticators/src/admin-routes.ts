import { idParams, nothing, routesWith, Type } from '@plinth/http'
import { assertFresh, type Identity, operatorOf, requirePrincipal, sessionOnly } from '@plinth/iam'
import type { AuthenticatorViews } from './authenticator-views.ts'
import type { Authenticators } from './authenticators.ts'
import { businessError, resetPermission } from './declarations.ts'
import { authenticatorView } from './schemas.ts'

interface AdminRouteDependencies {
  readonly identity: Pick<Identity, 'isInScope'>
  readonly authenticators: Pick<Authenticators, 'reset'>
  readonly views: AuthenticatorViews
}

const path = '/api/v1/admin/iam/users/:id/authenticators'

const { route } = routesWith<AdminRouteDependencies>()

export const adminRoutes = [
  route({
    method: 'GET',
    path,
    summary: 'List the passkeys and second factors of a user',
    access: { permission: 'iam:user:view', scope: 'caller' },
    request: { params: idParams },
    response: Type.Object({ ...authenticatorView.properties, userId: idParams.properties.id }),
    reasons: ['authenticators.user-unknown'],
    async handler(request, { identity, views }) {
      const { id } = request.params
      if (!(await identity.isInScope(requirePrincipal(request), id))) throw businessError('user-unknown')
      return { ...(await views.of(id, request.locale)), userId: id }
    },
  }),
  route({
    method: 'POST',
    path: `${path}/reset`,
    compress: false,
    summary: 'Remove all passkeys and second factors of a user, and end the sessions and API tokens of the user',
    description:
      'For a user who has lost all devices. The header `X-Reason` is stored in the audit. The user is notified.',
    access: { permission: resetPermission, scope: 'caller' },
    annotations: [sessionOnly],
    fresh: '5m',
    request: { params: idParams },
    response: nothing,
    reasons: [
      'authenticators.nothing-to-reset',
      'authenticators.own-reset',
      'iam.beyond-own-authority',
      'iam.proof-required',
      'iam.user-unknown',
    ],
    async handler(request, { authenticators }) {
      await assertFresh(request, '5m', { strongest: true })
      const userAgent = request.headers['user-agent'] ?? ''
      await authenticators.reset(request.params.id, { ...operatorOf(request), userAgent })
      return null
    },
  }),
]
