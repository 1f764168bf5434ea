import { service } from '@plinth/kernel'

/** Escalation of an alert to more recipients (document 2, "Notification rule"). */
export interface Escalation {
  readonly enabled: boolean
  /** Milliseconds since the first message or the last escalation. Without it, nothing is escalated. */
  readonly afterMs?: number | undefined
  /** Minimum milliseconds between two escalations of an alert. Default: `afterMs`. */
  readonly dedupeWindowMs?: number | undefined
  /** Added to the channels of the rule. */
  readonly channels: readonly string[]
  /** Added to the recipients of the rule. */
  readonly recipientUserIds: readonly number[]
}

/** The recipients of an event and the limits of its messages, normalised by `normalizeRule`. */
export interface NotificationRule {
  readonly code: string
  readonly enabled: boolean
  /** Number of events in the counting window that triggers a message; 1 or more. */
  readonly thresholdCount: number
  /** Milliseconds. Window in which the product counts, and maximum window of a count from a caller. */
  readonly thresholdWindowMs?: number | undefined
  /** Milliseconds. */
  readonly dedupeWindowMs?: number | undefined
  /** Milliseconds. */
  readonly silenceWindowMs?: number | undefined
  /** Lower case, without duplicates, at least one. */
  readonly channels: readonly string[]
  readonly recipientUserIds: readonly number[]
  readonly escalation: Escalation
}

/** An event as input of its rule (document 2, "Notification rule"). Times are milliseconds since the epoch. */
export interface RuleEvent {
  readonly code: string
  /** Events with the same key belong to the same alert. */
  readonly dedupeKey: string
  readonly occurredAt: number
  /** Number of occurrences within `windowMs`; 1 or more. */
  readonly count: number
  /** Milliseconds of the window in which `count` was counted. */
  readonly windowMs?: number | undefined
  readonly attributes?: Readonly<Record<string, unknown>>
}

/** State of an alert after its earlier events. */
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
/** Reason why a message is sent or not. */
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

/** An event from a caller. Defaults come from the state of the rule. */
export interface RaisedEvent {
  /** Rule code: dotted lower-case words, at most 128 characters. */
  readonly code: string
  /**
   * 1 to 200 characters. Use few distinct keys, because each has a row until it expires. Default: one key for all
   * events of the code.
   */
  readonly dedupeKey?: string
  /** Only for the text. Decisions use the time of the database. */
  readonly occurredAt?: number
  /** Number of occurrences within `windowMs`, if the caller counts. Otherwise the product counts. */
  readonly count?: number
  /** Milliseconds. Required with `count` if the rule has a counting window. */
  readonly windowMs?: number
  /** Text or message key. Default: the built-in template of the code. */
  readonly subject?: string
  /** Text or message key. Default: the built-in template of the code. */
  readonly content?: string
  /** BCP 47 language tag of the message. */
  readonly locale?: string
  readonly variables?: Readonly<Record<string, string | number | boolean | null>>
  /** Jump target and diagnostics, without secrets. */
  readonly attributes?: Readonly<Record<string, unknown>>
}

/**
 * Rule-based alerts. Operators define by the rule endpoints who receives which event, and how often. If a code has no
 * rule or no recipient, nothing is sent and no error is thrown. A debug line is logged, and the metric
 * `platform_notification_rule_events_total{outcome}` counts it.
 */
export interface NotificationRules {
  /**
   * Counts the event, decides, and passes a due message to the facade. Joins the caller's transaction, so an event
   * handler with `transaction: true` raises exactly once. If several instances raise an alert at the same time, one of
   * them sends.
   *
   * @throws BusinessError "400" `notification-rules.event-invalid` for a code, key or count out of range
   */
  raise(event: RaisedEvent): Promise<RuleDecision>
}

export const notificationRules = service<NotificationRules>('notification.rules', {
  from: '@plinth/notification-rules',
})
