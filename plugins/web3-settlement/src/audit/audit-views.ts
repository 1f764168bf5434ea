import { count, id, instant, nullable, Type, text } from '@plinth/http'
import type { Static } from 'typebox'
import type { ChainNames } from '../chain-names.ts'
import { type AuditRow, handlingStatuses } from '../entities.ts'
import { planView, viewOfPlan } from '../reviews/review-views.ts'
import type { AuditKindCount, CompensationPlan } from './audit-logs.ts'
import { assessRisk, type RiskAssessment, riskLevels, riskReasons, suggestedActions } from './risk.ts'
import type { AuditFinding } from './settled-audit.ts'

const risks = Type.Array(Type.Enum(riskReasons), { description: 'Reasons, in a fixed order.' })

const assessment = {
  riskReasons: risks,
  riskLevel: Type.Enum(riskLevels),
  risky: Type.Boolean(),
  suggestedAction: Type.Enum(suggestedActions),
  retryable: Type.Boolean({ description: 'True if the risk may disappear without action.' }),
  needsManualReview: Type.Boolean(),
  needsFundReview: Type.Boolean({ description: 'True if money may have to be returned or collected.' }),
  chainReorgSuspected: Type.Boolean(),
}

const viewOfAssessment = (risk: RiskAssessment) => ({
  riskReasons: [...risk.riskReasons],
  riskLevel: risk.riskLevel,
  risky: risk.risky,
  suggestedAction: risk.suggestedAction,
  retryable: risk.retryable,
  needsManualReview: risk.needsManualReview,
  needsFundReview: risk.needsFundReview,
  chainReorgSuspected: risk.chainReorgSuspected,
})

export const findingView = Type.Object({ outTradeNo: text, ...assessment, confirmation: planView })

export const viewOfFinding = (finding: AuditFinding, names: ChainNames): Static<typeof findingView> => ({
  outTradeNo: finding.outTradeNo,
  ...viewOfAssessment(finding),
  confirmation: viewOfPlan(finding.plan, names),
})

export const auditView = Type.Object({
  id,
  outTradeNo: text,
  chainName: nullable(text),
  transactionHash: nullable(text),
  ...assessment,
  confirmation: planView,
  handlingStatus: Type.Enum(handlingStatuses),
  handledBy: nullable(text),
  handledAt: nullable(instant),
  createdAt: instant,
})

export const viewOfAudit = (log: AuditRow, names: ChainNames): Static<typeof auditView> => ({
  id: log.id,
  outTradeNo: log.outTradeNo,
  chainName: log.chainName ?? null,
  transactionHash: log.transactionHash ?? null,
  ...viewOfAssessment(assessRisk({ reasons: log.riskReasons })),
  confirmation: viewOfPlan(log.confirmationSnapshot, names),
  handlingStatus: log.handlingStatus,
  handledBy: log.handledBy ?? null,
  handledAt: log.handledAt?.toISOString() ?? null,
  createdAt: log.createdAt.toISOString(),
})

export const recheckView = Type.Object({ id, entry: findingView, stillRisky: Type.Boolean() })

export const viewOfRecheck = (
  { log, finding }: { readonly log: AuditRow; readonly finding: AuditFinding },
  names: ChainNames,
) => ({
  id: log.id,
  entry: viewOfFinding(finding, names),
  stillRisky: finding.risky,
})

export const compensationView = Type.Object({
  id,
  outTradeNo: text,
  action: Type.Enum(suggestedActions),
  riskLevel: Type.Enum(riskLevels),
  riskReasons: risks,
  chainReorgSuspected: Type.Boolean(),
  retryable: Type.Boolean(),
  needsManualReview: Type.Boolean(),
  needsFundReview: Type.Boolean(),
  handlingStatus: Type.Enum(handlingStatuses),
  rechecked: Type.Boolean({
    description: 'True if the chain was queried. False if the suggestion is based on the log alone.',
  }),
})

export function viewOfCompensation({ log, finding }: CompensationPlan): Static<typeof compensationView> {
  const risk = viewOfAssessment(finding ?? assessRisk({ reasons: log.riskReasons }))
  const { suggestedAction, risky: _, ...rest } = risk
  const { id, outTradeNo, handlingStatus } = log
  return { id, outTradeNo, handlingStatus, action: suggestedAction, ...rest, rechecked: finding !== null }
}

const byLevel = Type.Object({ none: count, low: count, medium: count, high: count })

export const summaryView = Type.Object({
  total: count,
  open: count,
  resolved: count,
  ignored: count,
  risky: Type.Integer({ minimum: 0, description: 'Number of open logs with a risk.' }),
  openByRiskLevel: byLevel,
  byRiskLevel: byLevel,
  openReorgSuspected: Type.Integer({
    minimum: 0,
    description: 'Number of open logs whose transaction is no longer on the chain.',
  }),
})

export function viewOfSummary(counts: readonly AuditKindCount[]): Static<typeof summaryView> {
  const sum = (is: (kind: AuditKindCount) => boolean) => counts.filter(is).reduce((sum, { total }) => sum + total, 0)
  const levels = (is: (kind: AuditKindCount) => boolean) => ({
    none: sum((kind) => is(kind) && kind.riskLevel === 'none'),
    low: sum((kind) => is(kind) && kind.riskLevel === 'low'),
    medium: sum((kind) => is(kind) && kind.riskLevel === 'medium'),
    high: sum((kind) => is(kind) && kind.riskLevel === 'high'),
  })
  const isOpen = ({ handlingStatus }: AuditKindCount) => handlingStatus === 'open'
  return {
    total: sum(() => true),
    open: sum(isOpen),
    resolved: sum(({ handlingStatus }) => handlingStatus === 'resolved'),
    ignored: sum(({ handlingStatus }) => handlingStatus === 'ignored'),
    risky: sum((kind) => isOpen(kind) && kind.riskLevel !== 'none'),
    openByRiskLevel: levels(isOpen),
    byRiskLevel: levels(() => true),
    openReorgSuspected: sum((kind) => isOpen(kind) && kind.chainReorgSuspected),
  }
}
