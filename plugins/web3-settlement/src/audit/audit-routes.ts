import {
  bulkResult,
  filterQuery,
  type HttpRequest,
  id,
  idParams,
  line,
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  newestFirst,
  rangeQuery,
  rateLimited,
  routesWith,
  Type,
  text,
} from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import { auditFieldsOfCaller, type LocalizedText, localize, writeAuditEntry } from '@plinth/kernel'
import { callerLogs, callerLogsSql } from '../caller-orders.ts'
import { readChainNames } from '../chain-names.ts'
import { permissionCodes } from '../declarations.ts'
import * as names from '../display-names.ts'
import { handlingStatuses } from '../entities.ts'
import type { Parts } from '../parts.ts'
import type { AuditLogStore } from './audit-logs.ts'
import {
  auditView,
  compensationView,
  recheckView,
  summaryView,
  viewOfAudit,
  viewOfCompensation,
  viewOfRecheck,
  viewOfSummary,
} from './audit-views.ts'
import { riskLevels, riskReasons, suggestedActions } from './risk.ts'

type AuditRouteDependencies = Pick<Parts, 'kernel' | 'clock' | 'payments' | 'chains' | 'tokens' | 'audit' | 'logs'>

const root = '/api/v1/admin/web3'
const path = `${root}/payment-settlement-audit-logs`

const batchLimit = rateLimited({ maxAttempts: 30, windowSeconds: 60, keyStrategy: 'USER_ROUTE' })
const ids = Type.Array(id, { minItems: 1, maxItems: 100 })
const outTradeNo = line(64, { minLength: 1 })
const recheck = Type.Boolean({ default: false, description: 'True: query the chain first.' })
const flag = Type.Optional(Type.Boolean())
const options = Type.Array(Type.Object({ code: text, displayName: text }))

function optionsOf<Code extends string>(
  codes: readonly Code[],
  displayNames: Readonly<Record<Code, LocalizedText>>,
  locale: string,
) {
  return codes.map((code) => ({ code, displayName: localize(displayNames[code], locale) }))
}

const range = rangeQuery('createdAt', 'id')

const auditFilter = filterQuery(auditView, [
  'outTradeNo',
  'chainName',
  'transactionHash',
  'handlingStatus',
  'handledAt',
])
const candidateFilter = filterQuery(auditView, ['outTradeNo', 'chainName', 'transactionHash'])

const { route } = routesWith<AuditRouteDependencies>()

async function shown(
  request: Pick<HttpRequest, 'principal'>,
  found: Awaited<ReturnType<AuditLogStore['list']>>,
  parts: AuditRouteDependencies,
) {
  const chainNames = await readChainNames(
    request,
    parts,
    found.items.map(({ confirmationSnapshot }) => confirmationSnapshot),
  )
  return mapListRows(found, (log) => viewOfAudit(log, chainNames))
}

export const auditRoutes = [
  route({
    method: 'GET',
    path,
    summary: 'List audit logs, newest first',
    access: { permission: permissionCodes.auditView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...auditFilter.properties,
        ...range.properties,
        outTradeNo: Type.Optional(outTradeNo),
      }),
    },
    response: listPage(auditView),
    reasons: ['web3-settlement.other-orders-out-of-scope', 'web3-settlement.second-person-required'],
    handler(request, parts) {
      const { query } = request
      const { outTradeNo } = query
      const where = outTradeNo === undefined ? {} : { outTradeNo }
      return listResponse(
        query,
        newestFirst,
        async (window) => shown(request, await parts.logs.list(where, callerLogs(request), window), parts),
        range,
        auditFilter,
      )
    },
  }),
  route({
    method: 'GET',
    path: `${path}/summary`,
    summary: 'Summarise the audit logs: counts by result',
    access: { permission: permissionCodes.auditView, scope: 'caller' },
    response: summaryView,
    reasons: [],
    handler: async (request, { logs }) =>
      viewOfSummary(await logs.counts(callerLogsSql(request, 'web3_settlement_audit_log'))),
  }),
  route({
    method: 'GET',
    path: `${path}/compensation-metadata`,
    summary: 'List the values that advice and audit logs can have',
    access: { permission: permissionCodes.auditView, scope: 'none' },
    response: Type.Object({
      suggestedActions: options,
      riskLevels: options,
      riskReasons: options,
      handlingStatuses: options,
    }),
    reasons: [],
    handler: ({ locale }) => ({
      suggestedActions: optionsOf(suggestedActions, names.suggestedActionNames, locale),
      riskLevels: optionsOf(riskLevels, names.riskLevelNames, locale),
      riskReasons: optionsOf(riskReasons, names.riskReasonNames, locale),
      handlingStatuses: optionsOf(handlingStatuses, names.handlingStatusNames, locale),
    }),
  }),
  route({
    method: 'GET',
    path: `${path}/compensation-candidates`,
    summary: 'List open audit logs with a risk, newest first',
    access: { permission: permissionCodes.auditView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...candidateFilter.properties,
        ...range.properties,
        riskLevel: Type.Optional(Type.Enum(['low', 'medium', 'high'])),
        retryable: flag,
        needsManualReview: flag,
        needsFundReview: flag,
      }),
    },
    response: listPage(auditView),
    reasons: ['web3-settlement.other-orders-out-of-scope', 'web3-settlement.second-person-required'],
    handler(request, parts) {
      const { query } = request
      const { riskLevel, retryable, needsManualReview, needsFundReview } = query
      const filter = { riskLevel, retryable, needsManualReview, needsFundReview }
      return listResponse(
        query,
        newestFirst,
        async (window) => shown(request, await parts.logs.candidates(filter, callerLogs(request), window), parts),
        range,
        candidateFilter,
      )
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'Get an audit log',
    access: { permission: permissionCodes.auditView, scope: 'caller' },
    request: { params: idParams },
    response: auditView,
    reasons: [
      'web3-settlement.audit-log-unknown',
      'web3-settlement.other-orders-out-of-scope',
      'web3-settlement.review-log-unknown',
      'web3-settlement.second-person-required',
    ],
    async handler(request, parts) {
      const log = await parts.logs.get(request.params.id, callerLogs(request))
      return viewOfAudit(log, await readChainNames(request, parts, [log.confirmationSnapshot]))
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/recheck`,
    summary: 'Check the order of an audit log on its chain again; changes nothing',
    access: { permission: permissionCodes.auditView, scope: 'caller' },
    request: { params: idParams },
    response: recheckView,
    reasons: ['web3-settlement.audit-log-unknown', 'web3-settlement.order-unknown'],
    async handler(request, parts) {
      const [found] = await parts.logs.recheck([request.params.id], callerLogs(request))
      if (found === undefined) throw new Error('One log has one answer')
      return viewOfRecheck(found, await readChainNames(request, parts, [found.finding.plan]))
    },
  }),
  route({
    method: 'POST',
    path: `${path}/recheck-batch`,
    summary: 'Check the orders of several audit logs on their chains again; changes nothing',
    access: { permission: permissionCodes.auditView, scope: 'caller' },
    annotations: [batchLimit],
    request: { body: Type.Object({ ids }) },
    response: Type.Object({ items: Type.Array(recheckView) }),
    reasons: ['web3-settlement.audit-log-unknown', 'web3-settlement.order-unknown'],
    async handler(request, parts) {
      const found = await parts.logs.recheck(request.body.ids, callerLogs(request))
      const chainNames = await readChainNames(
        request,
        parts,
        found.map(({ finding }) => finding.plan),
      )
      return { items: found.map((one) => viewOfRecheck(one, chainNames)) }
    },
  }),
  route({
    method: 'POST',
    path: `${path}/:id/compensation-plan`,
    summary: 'Suggest how to resolve an audit log; changes nothing',
    access: { permission: permissionCodes.auditView, scope: 'caller' },
    request: { params: idParams, body: Type.Object({ recheck }) },
    response: compensationView,
    reasons: ['web3-settlement.audit-log-unknown', 'web3-settlement.order-unknown'],
    async handler(request, { logs }) {
      const [plan] = await logs.plans([request.params.id], request.body.recheck, callerLogs(request))
      if (plan === undefined) throw new Error('One log has one answer')
      return viewOfCompensation(plan)
    },
  }),
  route({
    method: 'POST',
    path: `${path}/compensation-plan-batch`,
    summary: 'Suggest how to resolve several audit logs; changes nothing',
    access: { permission: permissionCodes.auditView, scope: 'caller' },
    annotations: [batchLimit],
    request: { body: Type.Object({ ids, recheck }) },
    response: Type.Object({ items: Type.Array(compensationView) }),
    reasons: ['web3-settlement.audit-log-unknown', 'web3-settlement.order-unknown'],
    async handler(request, { logs }) {
      const { ids, recheck } = request.body
      return { items: (await logs.plans(ids, recheck, callerLogs(request))).map(viewOfCompensation) }
    },
  }),
  route({
    method: 'PUT',
    path: `${path}/status-batch`,
    summary: 'Close open audit logs',
    description:
      'Records that the logs were handled. It does not confirm that money was returned. Closed logs do not change.',
    access: { permission: permissionCodes.execute, scope: 'caller' },
    annotations: [batchLimit],
    request: { body: Type.Object({ ids, status: Type.Enum(['resolved', 'ignored']) }) },
    response: bulkResult,
    reasons: [],
    async handler(request, { kernel, logs }) {
      const { ids, status } = request.body
      const { username } = requirePrincipal(request)
      const closed = await logs.close(ids, status, username, callerLogs(request))
      const action = 'web3-settlement-audit.status-batch'
      await writeAuditEntry(kernel, {
        ...auditFieldsOfCaller(request),
        action,
        summary: { status, ids, closed: closed.affected },
      })
      return closed
    },
  }),
]
