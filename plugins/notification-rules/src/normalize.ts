import type { NotificationRule } from './contract.ts'

/** Dotted lower-case words, two at least: `<module>.<fact>`. */
export const ruleCodePattern = '^[a-z0-9]+(?:-[a-z0-9]+)*(?:\\.[a-z0-9]+(?:-[a-z0-9]+)*)+$'
export const longestCode = 128

/** What somebody says about a rule; windows are whole seconds. What is absent has its default. */
export interface RuleInput {
  readonly code: string
  readonly enabled?: boolean | undefined
  readonly thresholdCount?: number | undefined
  readonly thresholdWindow?: number | null | undefined
  readonly dedupeWindow?: number | null | undefined
  readonly silenceWindow?: number | null | undefined
  readonly channels?: readonly string[] | undefined
  readonly recipientUserIds?: readonly number[] | undefined
  readonly escalation?: EscalationInput | undefined
}

interface EscalationInput {
  readonly enabled?: boolean | undefined
  readonly after?: number | null | undefined
  readonly dedupeWindow?: number | null | undefined
  readonly channels?: readonly string[] | undefined
  readonly recipientUserIds?: readonly number[] | undefined
}

/** Where messages go that name no channel (document 2, D.52); the facade has another default. */
export const inboxChannel = 'database'

/**
 * A rule as it is stored (document 2, "Normalisation of stored rule settings"): channels in lower case, without duplicates, and
 * `database` where there are none; recipients without duplicates; a threshold of 1 at least; a window of 0 seconds or less counts
 * as unconfigured. Normalising twice is normalising once.
 */
export function normalizeRule(input: RuleInput): NotificationRule {
  const { code, enabled = true, thresholdCount = 1, channels = [], recipientUserIds = [], escalation = {} } = input
  const own = codesOf(channels)
  return {
    code,
    enabled,
    thresholdCount: Math.max(1, thresholdCount),
    thresholdWindowMs: milliseconds(input.thresholdWindow),
    dedupeWindowMs: milliseconds(input.dedupeWindow),
    silenceWindowMs: milliseconds(input.silenceWindow),
    channels: own.length === 0 ? [inboxChannel] : own,
    recipientUserIds: [...new Set(recipientUserIds)],
    escalation: {
      enabled: escalation.enabled ?? false,
      afterMs: milliseconds(escalation.after),
      dedupeWindowMs: milliseconds(escalation.dedupeWindow),
      channels: codesOf(escalation.channels ?? []),
      recipientUserIds: [...new Set(escalation.recipientUserIds ?? [])],
    },
  }
}

const codesOf = (channels: readonly string[]) => [
  ...new Set(channels.map((code) => code.trim().toLowerCase()).filter((code) => code !== '')),
]

const milliseconds = (seconds: number | null | undefined) =>
  seconds == null || seconds <= 0 ? undefined : seconds * 1000

/** Escalation that is switched on but reaches nobody else (document 2; N-087, N-088). */
export const isEscalationIncomplete = ({ enabled, escalation }: NotificationRule): boolean =>
  enabled && escalation.enabled && escalation.channels.length === 0 && escalation.recipientUserIds.length === 0
