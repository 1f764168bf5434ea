import type { Static } from 'typebox'
import type { NotificationRule } from './contract.ts'
import type { ruleRequest } from './rule-views.ts'

/** Form of the code of a rule: at least two words, `<module>.<fact>`. */
export const ruleCodePattern = '^[a-z0-9]+(?:-[a-z0-9]+)*(?:\\.[a-z0-9]+(?:-[a-z0-9]+)*)+$'
export const maxCodeLength = 128

/** A rule as operators enter it. Windows are in whole seconds. Absent fields get defaults. */
export type RuleInput = Static<typeof ruleRequest>

/** Default channel of rules (document 2 of the specification). Messages without a rule have another default channel. */
export const inboxChannel = 'database'

/**
 * Returns the stored form of a rule (document 2 of the specification, "Normalisation of stored rule settings"):
 * channels in lower case, without duplicates, by default `database`; recipients without duplicates; threshold at least
 * 1; no windows of 0 seconds or less. A second call with the result returns the same rule.
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
    digest: input.digest || undefined,
  }
}

const codesOf = (channels: readonly string[]) => [
  ...new Set(channels.map((code) => code.trim().toLowerCase()).filter((code) => code !== '')),
]

const milliseconds = (seconds: number | null | undefined) =>
  seconds == null || seconds <= 0 ? undefined : seconds * 1000

/** True if the escalation is enabled, but adds neither channels nor recipients. */
export const isEscalationIncomplete = ({ enabled, escalation }: NotificationRule): boolean =>
  enabled && escalation.enabled && escalation.channels.length === 0 && escalation.recipientUserIds.length === 0
