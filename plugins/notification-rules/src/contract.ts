import { service } from '@plinth/kernel'

/** Escalation of an alert to more recipients (document 2, "Notification rule"). */
export interface Escalation {
  readonly enabled: boolean
  /** Milliseconds after the first message or the last escalation. If absent, alerts are not escalated. */
  readonly afterMs?: number | undefined
  /** Minimum milliseconds between two escalations of an alert. Default: `afterMs`. */
  readonly dedupeWindowMs?: number | undefined
  /** Used in addition to the channels of the rule. */
  readonly channels: readonly string[]
  /** Notified in addition to the recipients of the rule. */
  readonly recipientUserIds: readonly number[]
}

/** Who receives an event, and how often. The values are normalised by `normalizeRule`. */
export interface NotificationRule {
  readonly code: string
  readonly enabled: boolean
  /** Number of events in the counting window from which a message is sent; 1 or more. */
  readonly thresholdCount: number
  /** Counting window in milliseconds. A caller that counts itself must not use a longer one. */
  readonly thresholdWindowMs?: number | undefined
  /** Milliseconds. */
  readonly dedupeWindowMs?: number | undefined
  /** Milliseconds. */
  readonly silenceWindowMs?: number | undefined
  /** At least one, in lower case, without duplicates. */
  readonly channels: readonly string[]
  readonly recipientUserIds: readonly number[]
  readonly escalation: Escalation
}

/** An event for a rule (document 2, "Notification rule"). Times are in milliseconds since the epoch. */
export interface RuleEvent {
  readonly code: string
  /** Events with the same key belong to the same alert. */
  readonly dedupeKey: string
  readonly occurredAt: number
  /** Number of events within `windowMs`; 1 or more. */
  readonly count: number
  /** Window of `count` in milliseconds. */
  readonly windowMs?: number | undefined
  readonly attributes?: Readonly<Record<string, unknown>>
}

/** State of an alert before an event. */
export interface AlertState {
  readonly lastSentAt?: number | undefined
  /** Time of the first message or of the last escalation. Default: `lastSentAt`. */
  readonly unresolvedSince?: number | undefined
  readonly lastEscalatedAt?: number | undefined
}

export const ruleOutcomes = [
  'sent',
  'escalated',
  'no-rule',
  'disabled',
  'no-recipients',
  'no-channel',
  'window-untrusted',
  'below-threshold',
  'duplicate',
  'silenced',
] as const
/** Why a message is sent or not. */
export type RuleOutcome = (typeof ruleOutcomes)[number]

export interface RuleDecision {
  readonly shouldSend: boolean
  readonly outcome: RuleOutcome
  /** Empty if nothing is sent. */
  readonly channels: readonly string[]
  /** Empty if nothing is sent. */
  readonly recipientUserIds: readonly number[]
  readonly dedupeKey: string
}

/** An event that a caller reports. */
export interface RaisedEvent {
  /** Rule code: lower-case words joined by dots, at most 128 characters. */
  readonly code: string
  /**
   * 1 to 200 characters. Use few distinct keys, because each has a row until the alert expires. Default: one key for
   * all events of the code.
   */
  readonly dedupeKey?: string
  /** Time for the text of the message. Decisions use the time of the database. */
  readonly occurredAt?: number
  /** Number of events within `windowMs`, if the caller counts. Default: the product counts. */
  readonly count?: number
  /** Milliseconds. Required with `count` if the rule has a counting window. */
  readonly windowMs?: number
  /** Text or key of a translation. Default: the built-in template of the code. */
  readonly subject?: string
  /** Text or key of a translation. Default: the built-in template of the code. */
  readonly content?: string
  /** BCP 47 language tag of the message. */
  readonly locale?: string
  readonly variables?: Readonly<Record<string, string | number | boolean | null>>
  /** Jump target and diagnostics, without secrets. */
  readonly attributes?: Readonly<Record<string, unknown>>
}

/**
 * Alerts by rules. Operators define who receives which event, and how often. If a code has no rule or no recipient,
 * nothing is sent or thrown. It is only logged at level debug, and counted by the metric
 * `platform_notification_rule_events_total{outcome}`.
 */
export interface NotificationRules {
  /**
   * Counts the event, decides and, if a message is due, sends it. Joins the current transaction, so an event handler
   * with `transaction: true` raises an event exactly once. If several instances raise an alert at the same time, one of
   * them sends.
   *
   * @throws BusinessError "400" `notification-rules.event-invalid` for an invalid code, key or count
   */
  raise(event: RaisedEvent): Promise<RuleDecision>
}

export const notificationRules = service<NotificationRules>('notification.rules', {
  from: '@plinth/notification-rules',
})
