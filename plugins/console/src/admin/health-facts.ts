import { type HealthOutcome, nullable, Type } from '@plinth/http'

/** May be asked whether the product can do its work, and why not. */
export const viewHealth = 'console:health:view'

/** What `GET /api/v1/admin/console/health` answers. */
export const healthFactsView = Type.Array(
  Type.Object({
    name: Type.String({ description: 'What is checked: the name of a check that a plugin brings.' }),
    outcome: Type.Enum(['passed', 'failed']),
    reason: nullable(Type.String({ description: 'Why it failed, with secrets masked.' })),
  }),
)

/** What fails first. */
export const healthFacts = (outcomes: readonly HealthOutcome[], redact: (text: string) => string) =>
  outcomes
    .map(({ name, reason }) => ({
      name,
      outcome: reason === undefined ? ('passed' as const) : ('failed' as const),
      reason: reason === undefined ? null : redact(reason),
    }))
    .sort((a, b) => a.outcome.localeCompare(b.outcome) || a.name.localeCompare(b.name))
