import { count, currentVersion, id, instant, nullable, Type, text } from '@plinth/http'
import type { Translator } from '@plinth/i18n'
import type { Static } from 'typebox'
import type { RuleRow } from './entities.ts'
import { maxCodeLength, ruleCodePattern } from './normalize.ts'
import { alertTexts, categoryOf, type RuleTemplate, ruleTemplates } from './rule-templates.ts'

const maxWindowSeconds = 31_536_000
const largestThreshold = 1_000_000
/** Maximum number of recipients of a rule; its escalation has the same maximum. */
const maxRecipients = 200
const maxChannels = 20

/** Whole seconds. 0 or less means not configured (document 2, "Normalisation of stored rule settings"). */
const window = (description: string) =>
  Type.Optional(nullable(Type.Integer({ minimum: -maxWindowSeconds, maximum: maxWindowSeconds }), { description }))
const channels = (description: string) =>
  Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: maxChannels, description }))
const recipients = (description: string) => Type.Optional(Type.Array(id, { maxItems: maxRecipients, description }))

export const ruleCode = Type.String({
  maxLength: maxCodeLength,
  pattern: ruleCodePattern,
  description: 'Code of the event, such as `open-platform.balance-low`.',
})

/** Fields of a request body, without the code. */
export const ruleMembers = {
  enabled: Type.Optional(Type.Boolean()),
  thresholdCount: Type.Optional(
    Type.Integer({
      minimum: -largestThreshold,
      maximum: largestThreshold,
      description: 'Events that are needed within the counting window; below 1 counts as 1.',
    }),
  ),
  thresholdWindow: window('Seconds. Longest counting window that is believed; 0 or less: none.'),
  dedupeWindow: window('Seconds within which one dedupe key is sent once; 0 or less: none.'),
  silenceWindow: window('Seconds within which one dedupe key bothers nobody again; 0 or less: none.'),
  channels: channels('Channel codes in any case; duplicates count once. Empty: `database`.'),
  recipientUserIds: recipients('Users who are told; duplicates count once. Empty: nobody is.'),
  escalation: Type.Optional(
    Type.Object({
      enabled: Type.Optional(Type.Boolean()),
      after: window('Seconds after the first message that nobody escalated; 0 or less: never.'),
      dedupeWindow: window('Seconds within which one dedupe key is escalated once; 0 or less: those of `after`.'),
      channels: channels('Channels that are added.'),
      recipientUserIds: recipients('Users who are told as well.'),
    }),
  ),
}

const seconds = nullable(Type.Integer({ minimum: 1 }), { description: 'Seconds; null: not configured.' })
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
  version: rule.version,
  createdAt: rule.createdAt.toISOString(),
  updatedAt: rule.updatedAt.toISOString(),
  updatedBy: rule.updatedBy ?? null,
})

export const templateView = Type.Object({
  code: text,
  category: Type.String({ description: 'Module of the event.' }),
  published: Type.Boolean({ description: 'A loaded plugin publishes the event. False: no source is loaded.' }),
  displayName: text,
  subject: Type.String({ description: 'Of the message, with its variables.' }),
  content: Type.String({ description: 'Of the message, with its variables.' }),
  thresholdCount: Type.Integer({ minimum: 1 }),
  thresholdWindow: seconds,
  dedupeWindow: seconds,
  silenceWindow: seconds,
  channels: codes,
  escalation: Type.Object(escalationView),
})

/** Returns the built-in templates in the language of the reader. */
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
    enabled: Type.Integer({ minimum: 0, description: 'Enabled rules with escalation.' }),
    complete: Type.Integer({ minimum: 0, description: 'Of them, those with a channel or a recipient to escalate to.' }),
    incomplete: count,
  }),
  recipients: Type.Object({
    configured: count,
    missing: count,
    enabledMissingCodes: Type.Array(text, { description: 'Codes of enabled rules that nobody receives.' }),
  }),
  coverage: Type.Object(coverage),
  categories: Type.Array(Type.Object({ category: text, ...coverage })),
  codesToConfigure: Type.Array(text, { description: 'Published built-in templates without a rule.' }),
  codesWithoutSource: Type.Array(text, { description: 'Built-in templates whose event no loaded plugin publishes.' }),
  silencedRuleCodes: Type.Array(text, {
    description: 'Codes of enabled rules with a recipient whose preferences switch off the category or all channels.',
  }),
  escalationIncompleteRuleCodes: Type.Array(text),
})
