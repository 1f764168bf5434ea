import type { AlertState, Escalation, NotificationRule, RuleDecision, RuleEvent, RuleOutcome } from './contract.ts'

/**
 * Decides whether an event is sent, and to whom (document 2, "Rule resolution semantics"; decisions B37 and B38). A
 * pure function.
 *
 * - A disabled rule, or a rule without recipients, sends nothing.
 * - Threshold: nothing below `thresholdCount`. With a `thresholdWindowMs`, nothing for a count over a longer or unknown
 *   window.
 * - Dedupe: nothing within `dedupeWindowMs` after the last message.
 * - Escalation: `afterMs` after the first message or last escalation, its channels and recipients are added, even in
 *   the silence window. It is not repeated within its own dedupe window.
 * - Silence: otherwise nothing within `silenceWindowMs` after the last message.
 */
export function decide(rule: NotificationRule, event: RuleEvent, state: AlertState): RuleDecision {
  const { dedupeKey, occurredAt } = event
  const reject = (outcome: RuleOutcome): RuleDecision => ({
    shouldSend: false,
    outcome,
    dedupeKey,
    channels: [],
    recipientUserIds: [],
  })
  if (!rule.enabled) return reject('disabled')
  if (rule.recipientUserIds.length === 0) return reject('no-recipients')
  const { thresholdWindowMs, thresholdCount } = rule
  if (thresholdWindowMs !== undefined && !(event.windowMs !== undefined && event.windowMs <= thresholdWindowMs)) {
    return reject('window-untrusted')
  }
  if (event.count < thresholdCount) return reject('below-threshold')
  if (isWithin(rule.dedupeWindowMs, occurredAt, state.lastSentAt)) return reject('duplicate')
  if (isEscalationDue(rule.escalation, occurredAt, state)) {
    const channels = union(rule.channels, rule.escalation.channels)
    const recipientUserIds = union(rule.recipientUserIds, rule.escalation.recipientUserIds)
    return { shouldSend: true, outcome: 'escalated', channels, recipientUserIds, dedupeKey }
  }
  if (isWithin(rule.silenceWindowMs, occurredAt, state.lastSentAt)) return reject('silenced')
  const { channels, recipientUserIds } = rule
  return { shouldSend: true, outcome: 'sent', channels, recipientUserIds, dedupeKey }
}

function isEscalationDue(
  { enabled, afterMs, dedupeWindowMs = afterMs }: Escalation,
  occurredAt: number,
  { lastSentAt, unresolvedSince = lastSentAt, lastEscalatedAt }: AlertState,
): boolean {
  if (!enabled || afterMs === undefined || unresolvedSince === undefined) return false
  return occurredAt - unresolvedSince >= afterMs && !isWithin(dedupeWindowMs, occurredAt, lastEscalatedAt)
}

const isWithin = (windowMs: number | undefined, moment: number, earlier: number | undefined) =>
  windowMs !== undefined && earlier !== undefined && moment - earlier < windowMs

const union = <T>(one: readonly T[], other: readonly T[]): readonly T[] => [...new Set([...one, ...other])]

export function stateAfter(decision: RuleDecision, moment: number, state: AlertState): AlertState {
  if (!decision.shouldSend) return state
  if (decision.outcome === 'escalated') return { lastSentAt: moment, lastEscalatedAt: moment, unresolvedSince: moment }
  return { ...state, lastSentAt: moment, unresolvedSince: state.unresolvedSince ?? moment }
}
