import type { AlertState, Escalation, NotificationRule, RuleDecision, RuleEvent, RuleOutcome } from './contract.ts'

/**
 * Decides whether an event is sent, and to whom (document 2 of the specification, "Rule resolution semantics"). The
 * function is pure.
 *
 * - A disabled rule, or a rule without recipients, sends nothing.
 * - Threshold: a count below `thresholdCount` sends nothing. If the rule has a `thresholdWindowMs`, a count over a
 * longer or unknown window sends nothing.
 * - Dedupe: within `dedupeWindowMs` after the last message, nothing is sent.
 * - Escalation: `afterMs` after the first message or the last escalation, the message also goes to the channels and
 * recipients of the escalation, even in the silence window. The escalation is not repeated within its own dedupe
 * window.
 * - Silence: without an escalation, nothing is sent within `silenceWindowMs` after the last message.
 */
export function decideAlert(rule: NotificationRule, event: RuleEvent, state: AlertState): RuleDecision {
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

/** Outcomes that the outcome of the last message can change. */
const suppressed: ReadonlySet<RuleOutcome> = new Set(['below-threshold', 'duplicate', 'silenced'])

export const isSuppressed = ({ outcome }: RuleDecision): boolean => suppressed.has(outcome)

/**
 * Returns the state of an alert whose last message reached nobody: its windows are open again (decision G2). If this
 * message was an escalation, the escalation is due again.
 */
export function reopenedState({ lastSentAt, unresolvedSince, lastEscalatedAt }: AlertState, rule: NotificationRule) {
  const wasEscalation = lastEscalatedAt !== undefined && lastEscalatedAt === lastSentAt
  if (!wasEscalation) return { lastSentAt: undefined, unresolvedSince, lastEscalatedAt }
  return { lastSentAt: undefined, unresolvedSince: lastEscalatedAt - (rule.escalation.afterMs ?? 0) }
}

const isWithin = (windowMs: number | undefined, moment: number, earlier: number | undefined) =>
  windowMs !== undefined && earlier !== undefined && moment - earlier < windowMs

const union = <T>(one: readonly T[], other: readonly T[]): readonly T[] => [...new Set([...one, ...other])]

export function alertStateAfter(decision: RuleDecision, moment: number, state: AlertState): AlertState {
  if (!decision.shouldSend) return state
  if (decision.outcome === 'escalated') return { lastSentAt: moment, lastEscalatedAt: moment, unresolvedSince: moment }
  return { ...state, lastSentAt: moment, unresolvedSince: state.unresolvedSince ?? moment }
}
