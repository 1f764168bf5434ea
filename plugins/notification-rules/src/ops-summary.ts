import { categoryOf as categoryOfModule, type NotificationPreferences } from '@plinth/inbox'
import type { NotificationRule } from './contract.ts'
import { isEscalationIncomplete } from './normalize.ts'
import { categoryOf, ruleTemplates } from './rule-templates.ts'

interface Audience {
  readonly channels: readonly string[]
  readonly userIds: readonly number[]
}

/**
 * Returns the codes of enabled rules that have a recipient who has switched off the category of the rule or all its
 * channels. Operators must see this, because users may do it at any time (document 2 of the specification,
 * "Preferences").
 */
export async function silencedRuleCodes(
  rules: readonly NotificationRule[],
  preferences: Pick<NotificationPreferences, 'wanted'>,
): Promise<readonly string[]> {
  const questions = new Map<
    string,
    { readonly channel: string; readonly module: string; readonly users: Set<number> }
  >()
  const enabled = rules
    .filter((rule) => rule.enabled)
    .map((rule) => ({ code: rule.code, module: categoryOf(rule.code), audiences: audiencesOf(rule) }))
  for (const { module, audiences } of enabled) {
    for (const { channels, userIds } of audiences) {
      for (const channel of channels) {
        const question = questions.get(`${channel} ${module}`) ?? { channel, module, users: new Set<number>() }
        for (const userId of userIds) question.users.add(userId)
        questions.set(`${channel} ${module}`, question)
      }
    }
  }
  const wanted = new Map<string, ReadonlySet<number>>()
  for (const [name, { channel, module, users }] of questions) {
    wanted.set(name, await preferences.wanted([...users], { channel, category: categoryOfModule(module) }))
  }
  const isSilenced = (module: string, { channels, userIds }: Audience) =>
    userIds.some((userId) => !channels.some((channel) => wanted.get(`${channel} ${module}`)?.has(userId)))
  return enabled
    .filter(({ module, audiences }) => audiences.some((audience) => isSilenced(module, audience)))
    .map(({ code }) => code)
}

/**
 * Returns the groups of users to whom a rule sends, with their channels. An escalation also uses the channels of the
 * rule.
 */
function audiencesOf({ channels, recipientUserIds, escalation }: NotificationRule): readonly Audience[] {
  const escalated = { channels: [...channels, ...escalation.channels], userIds: escalation.recipientUserIds }
  return [{ channels, userIds: recipientUserIds }, ...(escalation.enabled ? [escalated] : [])]
}

const isEscalating = ({ enabled, escalation }: NotificationRule) => enabled && escalation.enabled

/**
 * Returns the summary of rules for operators (document 2 of the specification, `GET /notification-rules/ops-summary`).
 * A built-in template is covered if a rule has its code. A template needs no rule if no loaded plugin publishes its
 * event.
 *
 * @param published ids of the events that loaded plugins publish
 * @param silencedRuleCodes result of the function `silencedRuleCodes`
 */
export function opsSummary(
  rules: readonly NotificationRule[],
  published: ReadonlySet<string>,
  silencedRuleCodes: readonly string[],
) {
  const codes = new Set(rules.map(({ code }) => code))
  const enabled = rules.filter((rule) => rule.enabled)
  const withRecipients = rules.filter(({ recipientUserIds }) => recipientUserIds.length > 0)
  const incomplete = rules.filter(isEscalationIncomplete)
  const escalating = rules.filter(isEscalating).length
  const all = ruleTemplates.map(codeOf)
  const templates = all.filter((code) => published.has(code))
  const categories = [...new Set(templates.map(categoryOf))].sort()
  return {
    total: rules.length,
    enabled: enabled.length,
    disabled: rules.length - enabled.length,
    escalation: { enabled: escalating, complete: escalating - incomplete.length, incomplete: incomplete.length },
    recipients: {
      configured: withRecipients.length,
      missing: rules.length - withRecipients.length,
      enabledMissingCodes: enabled.filter(({ recipientUserIds }) => recipientUserIds.length === 0).map(codeOf),
    },
    coverage: coverageOf(templates, codes),
    categories: categories.map((category) => ({
      category,
      ...coverageOf(
        templates.filter((code) => categoryOf(code) === category),
        codes,
      ),
    })),
    codesToConfigure: templates.filter((code) => !codes.has(code)),
    codesWithoutSource: all.filter((code) => !published.has(code)),
    silencedRuleCodes: [...silencedRuleCodes],
    escalationIncompleteRuleCodes: incomplete.map(codeOf),
  }
}

const codeOf = ({ code }: { readonly code: string }) => code

function coverageOf(templates: readonly string[], codes: ReadonlySet<string>) {
  const covered = templates.filter((code) => codes.has(code)).length
  return { templates: templates.length, covered, missing: templates.length - covered }
}
