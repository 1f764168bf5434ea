import { service } from '@plinth/kernel'

/** Escalation of an alert: further recipients are notified (document 2 of the specification, "Notification rule"). */
export interface Escalation {
  readonly enabled: boolean
  /**
   * Milliseconds after the first message or the last escalation at which the alert escalates. Default: no escalation.
   */
  readonly afterMs?: number | undefined
  /** Minimum milliseconds between escalations. Default: `afterMs`. */
  readonly dedupeWindowMs?: number | undefined
  /** Channels of the escalation, in addition to the channels of the rule. */
  readonly channels: readonly string[]
  /** Recipients of the escalation, in addition to the recipients of the rule. */
  readonly recipientUserIds: readonly number[]
}

/** Rule that decides who receives an event, and how often. `normalizeRule` creates this form. */
export interface NotificationRule {
  readonly code: string
  readonly enabled: boolean
  /** Number of events in the counting window that trigger a message; 1 or more. */
  readonly thresholdCount: number
  /** Length of the counting window in milliseconds. A caller that counts events itself must not use a longer window. */
  readonly thresholdWindowMs?: number | undefined
  /** Milliseconds. */
  readonly dedupeWindowMs?: number | undefined
  /** Milliseconds. */
  readonly silenceWindowMs?: number | undefined
  /** Codes of channels: at least one, in lower case, without duplicates. */
  readonly channels: readonly string[]
  readonly recipientUserIds: readonly number[]
  readonly escalation: Escalation
  /** Code of the digest that collects the messages. Escalated messages are sent immediately. */
  readonly digest?: string | undefined
}

/**
 * An event for which a rule decides (document 2 of the specification, "Notification rule"). Times are in milliseconds
 * since the epoch.
 */
export interface RuleEvent {
  readonly code: string
  /** Identifies the alert: events with equal keys belong to the same alert. */
  readonly dedupeKey: string
  readonly occurredAt: number
  /** Number of events within `windowMs`; 1 or more. */
  readonly count: number
  /** Milliseconds. */
  readonly windowMs?: number | undefined
  readonly attributes?: Readonly<Record<string, unknown>>
}

/** State of an alert before the event. */
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
export type RuleOutcome = (typeof ruleOutcomes)[number]

export interface RuleDecision {
  readonly shouldSend: boolean
  readonly outcome: RuleOutcome
  readonly channels: readonly string[]
  readonly recipientUserIds: readonly number[]
  readonly dedupeKey: string
}

export interface RaisedEvent {
  /** Lower-case words joined by dots, at most 128 characters. */
  readonly code: string
  /**
   * 1 to 200 characters. Use few distinct keys, because each needs a row until the alert expires. Default: one key per
   * code.
   */
  readonly dedupeKey?: string
  /** Time that the text of the message shows. Decisions use the time of the database. */
  readonly occurredAt?: number
  /** Number of events within `windowMs`, if the caller counts them. Default: the product counts them. */
  readonly count?: number
  /**
   * Length of the caller's counting window in milliseconds. Required with `count` if the rule has a counting window.
   */
  readonly windowMs?: number
  /** Subject of the message: a text, or the key of a translation. Default: the built-in template. */
  readonly subject?: string
  /** Content of the message: a text, or the key of a translation. Default: the built-in template. */
  readonly content?: string
  /** BCP 47 tag. */
  readonly locale?: string
  readonly variables?: Readonly<Record<string, string | number | boolean | null>>
  /** Jump target and diagnostic data of the message, without secrets. */
  readonly attributes?: Readonly<Record<string, unknown>>
}

/**
 * Sends events as the rules of operators define: who receives which event, and how often. If an event has no rule or no
 * recipient, nothing is sent and nothing is thrown; the metric `platform_notification_rule_events_total{outcome}`
 * counts the event.
 */
export interface NotificationRules {
  /**
   * Counts the event and sends a message if one is due. Joins the current transaction, so an event handler with
   * `transaction: true` raises an event exactly once. If several instances raise an alert at the same time, only one of
   * them sends.
   *
   * @throws BusinessError "400" `notification-rules.event-invalid` for an invalid code, key or count
   */
  raise(event: RaisedEvent): Promise<RuleDecision>
}

export const notificationRules = service<NotificationRules>('notification.rules', {
  from: '@plinth/notification-rules',
})
