import type { NotificationRule } from './contract.ts'
import { isEscalationIncomplete } from './normalize.ts'
import { categoryOf, ruleTemplates } from './rule-templates.ts'

const isEscalating = ({ enabled, escalation }: NotificationRule) => enabled && escalation.enabled

/**
 * What operations have set up and what is left to do (document 2, `GET /notification-rules/ops-summary`). A built-in template is
 * covered when there is a rule with its code. A template whose event no loaded plugin publishes needs no rule.
 *
 * @param published ids of the events that loaded plugins publish
 * @param silencedRuleCodes see there
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
      /** Enabled, and yet nobody is told. */
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
