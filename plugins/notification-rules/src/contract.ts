import { service } from '@plinth/kernel'

/** Notifies more recipients (document 2, "Notification rule"). */
export interface Escalation {
  readonly enabled: boolean
  /** Milliseconds after the first message or last escalation. Default: no escalation. */
  readonly afterMs?: number | undefined
  /** Minimum milliseconds between escalations. Default: `afterMs`. */
  readonly dedupeWindowMs?: number | undefined
  /** In addition to the channels of the rule. */
  readonly channels: readonly string[]
  /** In addition to the recipients of the rule. */
  readonly recipientUserIds: readonly number[]
}

/** Who receives an event, and how often; normalised by `normalizeRule`. */
export interface NotificationRule {
  readonly code: string
  readonly enabled: boolean
  /** Events in the counting window that trigger a message; 1 or more. */
  readonly thresholdCount: number
  /** Milliseconds. A caller that counts must not use a longer window. */
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

/** Document 2, "Notification rule". Times are in milliseconds since the epoch. */
export interface RuleEvent {
  readonly code: string
  /** Equal keys belong to the same alert. */
  readonly dedupeKey: string
  readonly occurredAt: number
  /** Events within `windowMs`; 1 or more. */
  readonly count: number
  /** Milliseconds. */
  readonly windowMs?: number | undefined
  readonly attributes?: Readonly<Record<string, unknown>>
}

/** Before an event. */
export interface AlertState {
  readonly lastSentAt?: number | undefined
  /** First message or last escalation. Default: `lastSentAt`. */
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
  /** Only for the text. Decisions use the time of the database. */
  readonly occurredAt?: number
  /** Events within `windowMs`, if the caller counts. Default: the product counts. */
  readonly count?: number
  /** Milliseconds. Required with `count` if the rule has a counting window. */
  readonly windowMs?: number
  /** Text, or key of a translation. Default: the built-in template. */
  readonly subject?: string
  /** Text, or key of a translation. Default: the built-in template. */
  readonly content?: string
  /** BCP 47 tag. */
  readonly locale?: string
  readonly variables?: Readonly<Record<string, string | number | boolean | null>>
  /** Jump target and diagnostics, without secrets. */
  readonly attributes?: Readonly<Record<string, unknown>>
}

/**
 * Operators define who receives which event, and how often. Without a rule or recipient, nothing is sent or thrown; the
 * metric `platform_notification_rule_events_total{outcome}` counts the event.
 */
export interface NotificationRules {
  /**
   * Counts the event and sends a message if one is due. Joins the current transaction, so an event handler with
   * `transaction: true` raises an event exactly once. Of several instances that raise an alert together, one sends.
   *
   * @throws BusinessError "400" `notification-rules.event-invalid` for an invalid code, key or count
   */
  raise(event: RaisedEvent): Promise<RuleDecision>
}

export const notificationRules = service<NotificationRules>('notification.rules', {
  from: '@plinth/notification-rules',
})
