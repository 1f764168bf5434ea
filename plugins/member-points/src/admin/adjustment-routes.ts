import { count, id, instant, nullable, reason, routesWith, Type, text } from '@plinth/http'
import { assertFresh, requirePrincipal } from '@plinth/iam'
import { idempotent } from '@plinth/idempotency'
import { postingReasons } from '@plinth/money'
import { businessError, createAccessAudit, permissionCodes } from '../declarations.ts'
import type { Parts } from '../parts.ts'
import { maxRewardPoints } from '../rules/rule-types.ts'

const root = '/api/v1/admin/member-points'

const adjustmentBody = Type.Object({
  userId: id,
  points: Type.Integer({
    minimum: -maxRewardPoints,
    maximum: maxRewardPoints,
    description: 'Points to grant if positive, or to deduct if negative. Not 0.',
  }),
  reason: reason('Reason for the adjustment. The member sees it.'),
  idempotencyKey: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      pattern: '^[!-~]+$',
      description: 'Idempotency key of the operator. The same key never adjusts points twice.',
    }),
  ),
})

const adjustmentView = Type.Object({
  userId: id,
  asset: text,
  points: Type.Integer(),
  journalId: id,
  available: count,
  frozen: count,
  replayed: Type.Boolean({ description: 'True if an earlier call with the same key made this adjustment.' }),
})

const previewView = Type.Object({
  userId: id,
  asset: text,
  points: Type.Integer(),
  availableBefore: Type.Integer({ description: 'Points that can be spent now, without expired points.' }),
  availableAfter: Type.Integer(),
  frozen: count,
  settlesDebt: Type.Integer({
    minimum: 0,
    description: 'Points that the member owes because of refunds. A grant pays this debt first.',
  }),
  possible: Type.Boolean({ description: 'False if the balance is too small or adjustments are disabled.' }),
  expiresAt: nullable(instant, {
    description: 'Time at which the granted points expire. Null if they never expire, or if points are deducted.',
  }),
})

const { route } = routesWith<Pick<Parts, 'identity' | 'kernel' | 'adjustments' | 'config'>>()

export const adjustmentRoutes = [
  route({
    method: 'POST',
    path: `${root}/manual-adjustments`,
    summary: 'Grant or deduct points manually',
    access: { permission: permissionCodes.adjust, scope: 'caller' },
    annotations: [idempotent],
    request: { body: adjustmentBody },
    response: adjustmentView,
    reasons: [
      ...postingReasons,
      'iam.proof-required',
      'member-points.account-closed',
      'member-points.amount-invalid',
      'member-points.own-account',
      'member-points.points-lapsed',
      'member-points.rule-disabled',
      'member-points.rule-unknown',
      'member-points.user-unknown',
    ],
    async handler(request, { identity, adjustments, kernel, config }) {
      const principal = requirePrincipal(request)
      const { userId, points } = request.body
      if (Math.abs(points) > config.get('platform.member-points.fresh-proof-above')) await assertFresh(request, '5m')
      if (points === 0)
        throw businessError('amount-invalid', { params: { limit: maxRewardPoints }, data: { field: 'points' } })
      if (!(await identity.isInScope(principal, userId)))
        throw businessError('user-unknown', { data: { userId, field: 'userId' } })
      const record = createAccessAudit(kernel, request, 'points-account.adjust')
      return { userId, points, ...(await adjustments.adjust(request.body, principal.userId, record)) }
    },
  }),
  route({
    method: 'POST',
    path: `${root}/manual-adjustments/preview`,
    summary: 'Preview a manual adjustment; changes nothing',
    access: { permission: permissionCodes.adjust, scope: 'caller' },
    request: { body: Type.Object({ userId: id, points: adjustmentBody.properties.points }) },
    response: previewView,
    reasons: [
      'member-points.amount-invalid',
      'member-points.own-account',
      'member-points.rule-unknown',
      'member-points.user-unknown',
      'money.asset-unknown',
    ],
    async handler(request, { identity, adjustments }) {
      const { userId, points } = request.body
      if (points === 0)
        throw businessError('amount-invalid', { params: { limit: maxRewardPoints }, data: { field: 'points' } })
      const principal = requirePrincipal(request)
      if (!(await identity.isInScope(principal, userId)))
        throw businessError('user-unknown', { data: { userId, field: 'userId' } })
      const { expiresAt, ...preview } = await adjustments.preview({ userId, points }, principal.userId)
      return {
        userId,
        points,
        ...preview,
        expiresAt: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
      }
    },
  }),
]
