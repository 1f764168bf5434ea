import { id, line, nullable, rateLimited, routesWith, Type } from '@plinth/http'
import { findingView, viewOfFinding } from '../audit/audit-views.ts'
import { assertOrdersReadable, hasLimitedScope } from '../caller-orders.ts'
import { readChainNames } from '../chain-names.ts'
import { businessError, permissionCodes } from '../declarations.ts'
import type { Parts } from '../parts.ts'
import { planView, viewOfPlan } from './review-views.ts'

type ConfirmationRouteDependencies = Pick<Parts, 'clock' | 'payments' | 'chains' | 'tokens' | 'candidates' | 'audit'>

const path = '/api/v1/admin/web3/payment-confirmations'

const limitOf = (maxAttempts: number) => rateLimited({ maxAttempts, windowSeconds: 60, keyStrategy: 'USER_ROUTE' })

export const outTradeNo = line(64, { minLength: 1 })
const transactionHash = Type.Optional(Type.String({ pattern: '^0x[0-9a-fA-F]{64}$' }))
const logIndex = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: 2 ** 31 - 1,
    description: 'Index of the log entry, if an operator has chosen one of several matching transfers.',
  }),
)
export const payment = { outTradeNo, transactionHash, logIndex }

const scope = Type.Object({
  outTradeNos: Type.Optional(
    Type.Array(outTradeNo, {
      minItems: 1,
      maxItems: 100,
      description: 'Numbers of orders to compare. All other filters are then ignored.',
    }),
  ),
  provider: Type.String({ ...line(32, { minLength: 1 }), default: 'web3' }),
  chainName: Type.Optional(line(64, { minLength: 1 })),
  olderThanMinutes: Type.Integer({ minimum: 0, maximum: 525_600, default: 0 }),
  requiredConfirmations: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
  onlyRisky: Type.Boolean({ default: false }),
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 50 }),
  afterId: Type.Optional(Type.Integer({ minimum: 0, description: 'Value `nextAfterId` of the previous page.' })),
})

const { route } = routesWith<ConfirmationRouteDependencies>()

/** Routes that preview settlements and audits. They change nothing. */
export const confirmationRoutes = [
  route({
    method: 'POST',
    path,
    summary: 'Preview the settlement of an order; changes nothing',
    access: { permission: permissionCodes.reviewView, scope: 'caller' },
    request: { body: Type.Object(payment) },
    response: planView,
    reasons: ['payment.order-unknown'],
    async handler(request, parts) {
      const { body } = request
      await assertOrdersReadable(request, parts.payments, [body.outTradeNo])
      const { plan } = await parts.candidates.of(questionOf(body))
      const names = await readChainNames(request, parts, [plan])
      return viewOfPlan(plan, names)
    },
  }),
  route({
    method: 'POST',
    path: `${path}/batch`,
    summary: 'Preview the settlement of several orders; changes nothing',
    access: { permission: permissionCodes.reviewView, scope: 'caller' },
    annotations: [limitOf(10)],
    request: { body: Type.Object({ items: Type.Array(Type.Object(payment), { minItems: 1, maxItems: 100 }) }) },
    response: Type.Object({ items: Type.Array(planView) }),
    reasons: ['payment.order-unknown'],
    async handler(request, parts) {
      const { body } = request
      await assertOrdersReadable(
        request,
        parts.payments,
        body.items.map(({ outTradeNo }) => outTradeNo),
      )
      const plans = (await parts.candidates.ofMany(body.items.map(questionOf))).map(({ plan }) => plan)
      const names = await readChainNames(request, parts, plans)
      return { items: plans.map((plan) => viewOfPlan(plan, names)) }
    },
  }),
  route({
    method: 'POST',
    path: `${path}/settled-audits`,
    summary: 'Compare settled orders with their chain again; changes nothing',
    access: { permission: permissionCodes.auditView, scope: 'caller' },
    annotations: [limitOf(30)],
    request: { body: scope },
    response: Type.Object({
      audited: Type.Integer({ minimum: 0 }),
      risky: Type.Integer({ minimum: 0 }),
      items: Type.Array(findingView),
      nextAfterId: nullable(id),
    }),
    reasons: ['payment.order-unknown', 'web3-settlement.orders-needed'],
    async handler(request, parts) {
      const { body } = request
      const { audit, payments, clock } = parts
      const { outTradeNos, olderThanMinutes, onlyRisky, requiredConfirmations, ...where } = body
      if (outTradeNos === undefined && hasLimitedScope(request)) {
        throw businessError('orders-needed', { data: { field: 'outTradeNos' } })
      }
      await assertOrdersReadable(request, payments, outTradeNos ?? [])
      const paidBefore = new Date(clock.expiryNow() - olderThanMinutes * 60_000)
      const named = async () => {
        const orders = await payments.findMany([...new Set(outTradeNos)])
        const paid = [...orders.values()].filter(({ status }) => status === 'success')
        return { findings: await audit.findings(paid, requiredConfirmations), nextAfterId: null }
      }
      const { findings, nextAfterId } =
        outTradeNos === undefined ? await audit.page({ ...where, paidBefore, requiredConfirmations }) : await named()
      const risky = findings.filter((finding) => finding.risky)
      const shown = onlyRisky ? risky : findings
      const chainNames = await readChainNames(
        request,
        parts,
        shown.map(({ plan }) => plan),
      )
      const items = shown.map((finding) => viewOfFinding(finding, chainNames))
      return { audited: findings.length, risky: risky.length, items, nextAfterId }
    },
  }),
]

const questionOf = (body: { outTradeNo: string; transactionHash?: string; logIndex?: number }) => ({
  outTradeNo: body.outTradeNo,
  transactionHash: body.transactionHash,
  pick: { logIndex: body.logIndex },
})
