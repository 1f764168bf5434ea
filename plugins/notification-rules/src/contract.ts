import { service } from '@plinth/kernel'

/** When an alert is passed on to others as well (document 2, "Notification rule"). */
export interface Escalation {
  readonly enabled: boolean
  /** Milliseconds since the first message that nobody escalated; without it nothing is escalated. */
  readonly afterMs?: number | undefined
  /** Milliseconds within which the same alert is escalated once; without it `afterMs` counts. */
  readonly dedupeWindowMs?: number | undefined
  /** Added to those of the rule. */
  readonly channels: readonly string[]
  /** Added to those of the rule. */
  readonly recipientUserIds: readonly number[]
}

/** Who is told of an event, and how often. Normalised: what `normalizeRule` made of it. */
export interface NotificationRule {
  readonly code: string
  readonly enabled: boolean
  /** Events within the counting window that are needed; 1 or more. */
  readonly thresholdCount: number
  /** Milliseconds; longest counting window that is believed. */
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

/** An event as the rule of its code judges it (document 2, "Notification rule"). Moments are milliseconds since the epoch. */
export interface RuleEvent {
  readonly code: string
  /** Events with the same key are the same alert. */
  readonly dedupeKey: string
  readonly occurredAt: number
  /** How often it happened within `windowMs`; 1 or more. */
  readonly count: number
  /** Milliseconds in which `count` was counted. */
  readonly windowMs?: number | undefined
  readonly attributes?: Readonly<Record<string, unknown>>
}

/** What is known of an alert from earlier events. */
export interface AlertState {
  readonly lastSentAt?: number | undefined
  /** First message since the last escalation; absent: `lastSentAt`. */
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
/** Why it is sent or not. */
export type RuleOutcome = (typeof ruleOutcomes)[number]

export interface RuleDecision {
  readonly shouldSend: boolean
  readonly outcome: RuleOutcome
  /** Empty unless it is sent. */
  readonly channels: readonly string[]
  /** Empty unless it is sent. */
  readonly recipientUserIds: readonly number[]
  readonly dedupeKey: string
}

/** An event that somebody raises. What it does not say the rule's own state says. */
export interface RaisedEvent {
  /** Rule code: dotted lower-case words, at most 128 characters. */
  readonly code: string
  /** 1 to 200 characters. Choose few: each is a row until it is quiet. Default: one for all events of the code. */
  readonly dedupeKey?: string
  /** For the text. What is decided is decided by the time of the database. */
  readonly occurredAt?: number
  /** How often it happened within `windowMs`, where the caller counts; otherwise it is counted here. */
  readonly count?: number
  /** Milliseconds; with `count`. */
  readonly windowMs?: number
  /** Text or message key; default that of the built-in template of the code. */
  readonly subject?: string
  /** Text or message key; default that of the built-in template of the code. */
  readonly content?: string
  /** BCP 47 language tag of the message. */
  readonly locale?: string
  readonly variables?: Readonly<Record<string, string | number | boolean | null>>
  /** Jump target and diagnostics; no secrets. */
  readonly attributes?: Readonly<Record<string, unknown>>
}

/**
 * Rule-based alerts: operations say at the rule endpoints who is told of which event, and how often. Where there is no rule for
 * a code, or nobody to tell, nothing happens: no error, but a line for those who debug and the metric
 * `platform_notification_rule_events_total{outcome}`.
 */
export interface NotificationRules {
  /**
   * Counts the event, decides and, when it is due, hands the message to the facade. All of it in the caller's transaction when
   * there is one: a handler of events with `transaction: true` raises exactly once. Of several instances at once one sends.
   *
   * @throws BusinessError "400" `notification-rules.event-invalid` for a code, key or count out of range
   */
  raise(event: RaisedEvent): Promise<RuleDecision>
}

export const notificationRules = service<NotificationRules>('notification.rules', {
  from: '@plinth/notification-rules',
})
