import { type HealthOutcome, nullable, Type } from '@plinth/http'

/** May be asked whether the product can do its work, and why not. */
export const viewHealth = 'console:health:view'

const ranks = { failed: 0, warning: 1, passed: 2 } as const

/** Response of `GET /api/v1/admin/console/health`. */
export const healthFactsView = Type.Array(
  Type.Object({
    name: Type.String({ description: 'Name of the check that a plugin contributes.' }),
    outcome: Type.Enum(['passed', 'warning', 'failed']),
    reason: nullable(Type.String({ description: 'Why it failed or warns, with secrets masked.' })),
  }),
)

function outcomeOf({ reason, warnings }: HealthOutcome): keyof typeof ranks {
  if (reason !== undefined) return 'failed'
  return warnings.length > 0 ? 'warning' : 'passed'
}

/** Failed checks first, then warnings. */
export const healthFacts = (outcomes: readonly HealthOutcome[], redact: (text: string) => string) =>
  outcomes
    .map((check) => {
      const text = check.reason ?? check.warnings.join(' ')
      return { name: check.name, outcome: outcomeOf(check), reason: text === '' ? null : redact(text) }
    })
    .sort((a, b) => ranks[a.outcome] - ranks[b.outcome] || a.name.localeCompare(b.name))
