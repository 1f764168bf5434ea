import { count, currentVersion, id, instant, line, nullable, Type, text, version } from '@plinth/http'
import type { Translator } from '@plinth/i18n'
import type { Static } from 'typebox'
import type { RuleRow } from './entities.ts'
import { maxCodeLength, ruleCodePattern } from './normalize.ts'
import { alertTexts, categoryOf, type RuleTemplate, ruleTemplates } from './rule-templates.ts'

const maxWindowSeconds = 31_536_000
const largestThreshold = 1_000_000
/** Maximum number of recipients of a rule. Its escalation may have the same number in addition. */
const maxRecipients = 200
const maxChannels = 20

/**
 * Schema of a window in seconds. 0 or less means no window (document 2 of the specification, "Normalisation of stored
 * rule settings").
 */
const window = (description: string) =>
  Type.Optional(nullable(Type.Integer({ minimum: -maxWindowSeconds, maximum: maxWindowSeconds }), { description }))
const channels = (description: string) =>
  Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: maxChannels, description }))
const recipients = (description: string) => Type.Optional(Type.Array(id, { maxItems: maxRecipients, description }))

const ruleCode = Type.String({
  maxLength: maxCodeLength,
  pattern: ruleCodePattern,
  description: 'Code of the event, such as `open-platform.balance-low`.',
})

/** Members of a rule in a request, except its code. */
const ruleMembers = {
  enabled: Type.Optional(Type.Boolean()),
  thresholdCount: Type.Optional(
    Type.Integer({
      minimum: -largestThreshold,
      maximum: largestThreshold,
      description:
        'Number of events within the counting window that causes a message. Values below 1 are treated as 1.',
    }),
  ),
  thresholdWindow: window(
    'Counting window in seconds, and maximum window of counts that a caller reports. 0 or less: none.',
  ),
  dedupeWindow: window('Seconds within which only one message per deduplication key is sent. 0 or less: none.'),
  silenceWindow: window('Seconds of silence after a message, per deduplication key. 0 or less: none.'),
  channels: channels('Codes of channels, ignoring case and duplicates. Empty: `database`.'),
  recipientUserIds: recipients('Ids of users who are notified, ignoring duplicates. Empty: nobody.'),
  digest: Type.Optional(
    nullable(line(128), { description: 'Code of the digest that collects the messages. Null or empty: none.' }),
  ),
  escalation: Type.Optional(
    Type.Object({
      enabled: Type.Optional(Type.Boolean()),
      after: window(
        'Seconds after the first message or the last escalation until the next escalation. 0 or less: never.',
      ),
      dedupeWindow: window(
        'Minimum seconds between two escalations per deduplication key. 0 or less: the value of `after`.',
      ),
      channels: channels('Codes of channels that the escalation adds.'),
      recipientUserIds: recipients('Ids of users whom the escalation also notifies.'),
    }),
  ),
}

/** A new rule. */
export const ruleRequest = Type.Object({ code: ruleCode, ...ruleMembers })
/** A change of a rule. Absent fields stay unchanged. */
export const ruleChange = Type.Object({
  code: Type.Optional(ruleCode),
  ...ruleMembers,
  version: Type.Optional(version),
})

const seconds = nullable(Type.Integer({ minimum: 1 }), { description: 'Time in seconds. Null: not configured.' })
const codes = Type.Array(text)

const escalationView = { enabled: Type.Boolean(), after: seconds, dedupeWindow: seconds, channels: codes }

export const ruleView = Type.Object({
  id,
  code: text,
  enabled: Type.Boolean(),
  thresholdCount: Type.Integer({ minimum: 1 }),
  thresholdWindow: seconds,
  dedupeWindow: seconds,
  silenceWindow: seconds,
  channels: codes,
  recipientUserIds: Type.Array(id),
  escalation: Type.Object({ ...escalationView, recipientUserIds: Type.Array(id) }),
  digest: nullable(text),
  version: currentVersion,
  createdAt: instant,
  updatedAt: instant,
  updatedBy: nullable(text),
})
export type RuleView = Static<typeof ruleView>

const inSeconds = (ms: number | null | undefined) => (ms == null ? null : ms / 1000)

export const viewOfRule = (rule: RuleRow): RuleView => ({
  id: rule.id,
  code: rule.code,
  enabled: rule.enabled,
  thresholdCount: rule.thresholdCount,
  thresholdWindow: inSeconds(rule.thresholdWindowMs),
  dedupeWindow: inSeconds(rule.dedupeWindowMs),
  silenceWindow: inSeconds(rule.silenceWindowMs),
  channels: rule.channels,
  recipientUserIds: rule.recipientUserIds,
  escalation: {
    enabled: rule.escalationEnabled,
    after: inSeconds(rule.escalationAfterMs),
    dedupeWindow: inSeconds(rule.escalationDedupeWindowMs),
    channels: rule.escalationChannels,
    recipientUserIds: rule.escalationRecipientUserIds,
  },
  digest: rule.digest ?? null,
  version: rule.version,
  createdAt: rule.createdAt.toISOString(),
  updatedAt: rule.updatedAt.toISOString(),
  updatedBy: rule.updatedBy ?? null,
})

export const templateView = Type.Object({
  code: text,
  category: Type.String({ description: 'Module of the event.' }),
  published: Type.Boolean({ description: 'True if a loaded plugin publishes the event.' }),
  displayName: text,
  subject: Type.String({ description: 'Text of the message, with its variables.' }),
  content: Type.String({ description: 'Text of the message, with its variables.' }),
  thresholdCount: Type.Integer({ minimum: 1 }),
  thresholdWindow: seconds,
  dedupeWindow: seconds,
  silenceWindow: seconds,
  channels: codes,
  escalation: Type.Object(escalationView),
})

export const templateViews = (
  i18n: Pick<Translator, 'translate'> | undefined,
  locale: string,
  published: ReadonlySet<string>,
) =>
  ruleTemplates.map((template) => ({
    ...viewOfTemplate(template, (key) => i18n?.translate(locale, key) ?? template.code),
    published: published.has(template.code),
  }))

function viewOfTemplate(
  { code, channels, escalation, ...thresholds }: RuleTemplate,
  translate: (key: string) => string,
): Omit<Static<typeof templateView>, 'published'> {
  const texts = alertTexts(code)
  return {
    code,
    category: categoryOf(code),
    displayName: translate(texts.name),
    subject: translate(texts.subject),
    content: translate(texts.content),
    ...thresholds,
    channels: [...channels],
    escalation: { ...escalation, channels: [...escalation.channels] },
  }
}

const coverage = { templates: count, covered: count, missing: count }

export const opsSummaryView = Type.Object({
  total: count,
  enabled: count,
  disabled: count,
  escalation: Type.Object({
    enabled: Type.Integer({ minimum: 0, description: 'Number of enabled rules with escalation.' }),
    complete: Type.Integer({
      minimum: 0,
      description: 'Number of these rules that have a channel or a recipient for the escalation.',
    }),
    incomplete: count,
  }),
  recipients: Type.Object({
    configured: count,
    missing: count,
    enabledMissingCodes: Type.Array(text, { description: 'Codes of enabled rules without recipients.' }),
  }),
  coverage: Type.Object(coverage),
  categories: Type.Array(Type.Object({ category: text, ...coverage })),
  codesToConfigure: Type.Array(text, { description: 'Codes of published built-in templates without a rule.' }),
  codesWithoutSource: Type.Array(text, {
    description: 'Codes of built-in templates whose event no loaded plugin publishes.',
  }),
  silencedRuleCodes: Type.Array(text, {
    description: 'Codes of enabled rules with a recipient who has disabled the category or all channels.',
  }),
  escalationIncompleteRuleCodes: Type.Array(text),
})
