import {
  affected,
  answerList,
  id,
  idParams,
  line,
  listPage,
  listQuery,
  newestFirst,
  nullable,
  rateLimited,
  routesWith,
  rowsAs,
  Type,
  text,
} from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import { audit, auditCaller, type LocalizedText, localize } from '@plinth/kernel'
import * as names from '../display-names.ts'
import { handlingStatuses } from '../entities.ts'
import { explorersOf } from '../explorers.ts'
import type { Parts } from '../parts.ts'
import { own } from '../permissions.ts'
import type { AuditLogs } from './audit-logs.ts'
import {
  auditView,
  compensationView,
  findingView,
  recheckView,
  summaryView,
  viewOfAudit,
  viewOfCompensation,
  viewOfFinding,
  viewOfRecheck,
  viewOfSummary,
} from './audit-views.ts'
import { riskLevels, riskReasons, suggestedActions } from './risk.ts'

type AuditRouteParts = Pick<Parts, 'kernel' | 'clock' | 'payments' | 'chains' | 'audit' | 'logs'>

const root = '/api/v1/admin/web3'
const path = `${root}/payment-settlement-audit-logs`

const batchLimit = rateLimited({ maxAttempts: 30, windowSeconds: 60, keyStrategy: 'USER_ROUTE' })
const ids = Type.Array(id, { minItems: 1, maxItems: 100 })
const outTradeNo = line(64, { minLength: 1 })
const recheck = Type.Boolean({ default: false, description: 'True: ask the chain first.' })
const flag = Type.Optional(Type.Boolean())
const options = Type.Array(Type.Object({ code: text, displayName: text }))

function optionsOf<Code extends string>(
  codes: readonly Code[],
  displayNames: Readonly<Record<Code, LocalizedText>>,
  locale: string,
) {
  return codes.map((code) => ({ code, displayName: localize(displayNames[code], locale) }))
}

const scope = Type.Object({
  outTradeNos: Type.Optional(
    Type.Array(outTradeNo, {
      minItems: 1,
      maxItems: 100,
      description: 'These orders alone; the rest does not count then.',
    }),
  ),
  provider: Type.String({ ...line(32, { minLength: 1 }), default: 'web3' }),
  chainName: Type.Optional(line(64, { minLength: 1 })),
  olderThanMinutes: Type.Integer({ minimum: 0, maximum: 525_600, default: 0 }),
  requiredConfirmations: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
  onlyRisky: Type.Boolean({ default: false }),
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 50 }),
  afterId: Type.Optional(Type.Integer({ minimum: 0, description: 'What the page before answered as `nextAfterId`.' })),
})

const { route } = routesWith<AuditRouteParts>()

/** With links to where people look at a chain. */
async function shown(found: Awaited<ReturnType<AuditLogs['list']>>, chains: AuditRouteParts['chains']) {
  const explorers = await explorersOf(chains)
  return rowsAs(found, (log) => viewOfAudit(log, explorers))
}

/** Looks at settled payments, and what to do about those that are at risk. */
export const auditRoutes = [
  route({
    method: 'POST',
    path: `${root}/payment-confirmations/settled-audits`,
    summary: 'Compare settled orders with their chain once more; changes nothing',
    access: { permission: own.auditView },
    annotations: [batchLimit],
    request: { body: scope },
    response: Type.Object({
      audited: Type.Integer({ minimum: 0 }),
      risky: Type.Integer({ minimum: 0 }),
      items: Type.Array(findingView),
      nextAfterId: nullable(id),
    }),
    async handler({ body }, { audit, payments, chains, clock }) {
      const { outTradeNos, olderThanMinutes, onlyRisky, requiredConfirmations, ...where } = body
      const paidBefore = new Date(clock.now() - olderThanMinutes * 60_000)
      const named = async () => {
        const orders = await payments.findMany([...new Set(outTradeNos)])
        const paid = [...orders.values()].filter(({ status }) => status === 'success')
        return { findings: await audit.findings(paid, requiredConfirmations), nextAfterId: null }
      }
      const { findings, nextAfterId } =
        outTradeNos === undefined ? await audit.page({ ...where, paidBefore, requiredConfirmations }) : await named()
      const risky = findings.filter((finding) => finding.risky)
      const shown = onlyRisky ? risky : findings
      const explorers = await explorersOf(chains)
      const items = shown.map((finding) => viewOfFinding(finding, explorers))
      return { audited: findings.length, risky: risky.length, items, nextAfterId }
    },
  }),
  route({
    method: 'GET',
    path,
    summary: 'Audit logs, the newest first',
    access: { permission: own.auditView },
    request: {
      query: Type.Object({ ...listQuery.properties, outTradeNo: Type.Optional(outTradeNo) }),
    },
    response: listPage(auditView),
    handler({ query }, { logs, chains }) {
      const { outTradeNo } = query
      return answerList(query, newestFirst, async (window) =>
        shown(await logs.list(outTradeNo === undefined ? {} : { outTradeNo }, window), chains),
      )
    },
  }),
  route({
    method: 'GET',
    path: `${path}/summary`,
    summary: 'How many audit logs there are, and what they say',
    access: { permission: own.auditView },
    response: summaryView,
    handler: async (_, { logs }) => viewOfSummary(await logs.counts()),
  }),
  route({
    method: 'GET',
    path: `${path}/compensation-metadata`,
    summary: 'Values that advice and audit logs can have',
    access: { permission: own.auditView },
    response: Type.Object({
      suggestedActions: options,
      riskLevels: options,
      riskReasons: options,
      handlingStatuses: options,
    }),
    handler: ({ locale }) => ({
      suggestedActions: optionsOf(suggestedActions, names.advice, locale),
      riskLevels: optionsOf(riskLevels, names.riskLevels, locale),
      riskReasons: optionsOf(riskReasons, names.reasons, locale),
      handlingStatuses: optionsOf(handlingStatuses, names.handling, locale),
    }),
  }),
  route({
    method: 'GET',
    path: `${path}/compensation-candidates`,
    summary: 'Open audit logs with a risk, the newest first',
    access: { permission: own.auditView },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        riskLevel: Type.Optional(Type.Enum(['low', 'medium', 'high'])),
        ...{ retryable: flag, needsManualReview: flag, needsFundReview: flag },
      }),
    },
    response: listPage(auditView),
    handler({ query }, { logs, chains }) {
      const { riskLevel, retryable, needsManualReview, needsFundReview } = query
      const filter = { riskLevel, retryable, needsManualReview, needsFundReview }
      return answerList(query, newestFirst, async (window) => shown(await logs.candidates(filter, window), chains))
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'One audit log',
    access: { permission: own.auditView },
    request: { params: idParams },
    response: auditView,
    handler: async ({ params }, { logs, chains }) => viewOfAudit(await logs.get(params.id), await explorersOf(chains)),
  }),
  route({
    method: 'POST',
    path: `${path}/:id/recheck`,
    summary: 'Ask the chain again about the order of an audit log; changes nothing',
    access: { permission: own.auditView },
    request: { params: idParams },
    response: recheckView,
    async handler({ params }, { logs, chains }) {
      const [found] = await logs.recheck([params.id])
      if (found === undefined) throw new Error('One log has one answer')
      return viewOfRecheck(found, await explorersOf(chains))
    },
  }),
  route({
    method: 'POST',
    path: `${path}/recheck-batch`,
    summary: 'Ask the chains again about the orders of several audit logs; changes nothing',
    access: { permission: own.auditView },
    annotations: [batchLimit],
    request: { body: Type.Object({ ids }) },
    response: Type.Object({ items: Type.Array(recheckView) }),
    async handler({ body }, { logs, chains }) {
      const found = await logs.recheck(body.ids)
      const explorers = await explorersOf(chains)
      return { items: found.map((one) => viewOfRecheck(one, explorers)) }
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/compensation-plan`,
    summary: 'What to do about an audit log; changes nothing',
    access: { permission: own.auditView },
    request: { params: idParams, body: Type.Object({ recheck }) },
    response: compensationView,
    async handler({ params, body }, { logs }) {
      const [plan] = await logs.plans([params.id], body.recheck)
      if (plan === undefined) throw new Error('One log has one answer')
      return viewOfCompensation(plan)
    },
  }),
  route({
    method: 'POST',
    path: `${path}/compensation-plan-batch`,
    summary: 'What to do about several audit logs; changes nothing',
    access: { permission: own.auditView },
    annotations: [batchLimit],
    request: { body: Type.Object({ ids, recheck }) },
    response: Type.Object({ items: Type.Array(compensationView) }),
    async handler({ body }, { logs }) {
      return { items: (await logs.plans(body.ids, body.recheck)).map(viewOfCompensation) }
    },
  }),
  route({
    method: 'PUT',
    path: `${path}/status-batch`,
    summary: 'Close open audit logs',
    description:
      'It says that somebody has dealt with them, not that money is back. Logs that are closed already stay so.',
    access: { permission: own.execute },
    annotations: [batchLimit],
    request: { body: Type.Object({ ids, status: Type.Enum(['resolved', 'ignored']) }) },
    response: affected,
    async handler(request, { kernel, logs }) {
      const { ids, status } = request.body
      const closed = await logs.close(ids, status, requirePrincipal(request).username)
      const action = 'web3-settlement-audit.status-batch'
      await audit(kernel, { ...auditCaller(request), action, summary: { status, ids, closed } })
      return { affected: closed }
    },
  }),
]
