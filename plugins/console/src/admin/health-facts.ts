import type { Database } from '@plinth/database'
import { count, type HealthOutcome, instant, nullable, Type } from '@plinth/http'

/** Permission to view the state of the database. */
export const viewDatabase = 'console:database:view'

/** States of a change set, in the display order for operators. */
const states = ['changed', 'data-changed', 'pending', 'unknown', 'orphaned', 'applied'] as const

/** Result of `GET /api/v1/admin/console/database`. */
export const databaseFactsView = Type.Object({
  product: Type.String({ description: '`SQLite`, `PostgreSQL`, `MySQL` or `MariaDB`.' }),
  version: Type.String(),
  waitSeconds: Type.Number({
    description: 'Age in seconds of the oldest current wait for a statement or a connection. 0 if nothing waits.',
  }),
  applied: count,
  pending: count,
  migratingHost: nullable(Type.String(), { description: 'Host of the process that is migrating the database.' }),
  changeSets: Type.Array(
    Type.Object({
      plugin: Type.String(),
      changeSet: Type.String(),
      state: Type.Enum(states, {
        description:
          '`changed`: the change set was edited after it was applied, and no migration runs until that is fixed. `data-changed`: its changes to data were edited after it was applied, so other databases may contain different data. `pending`: not applied yet. `unknown`: applied by another version of its plugin. `orphaned`: its plugin is not loaded.',
      }),
      appliedAt: nullable(instant),
      durationMs: nullable(count),
      breaking: nullable(Type.String(), {
        description: 'Reason why a breaking change is safe. Null if the change set is not breaking.',
      }),
    }),
    { description: 'Change sets with problems first, then the newest.' },
  ),
})

/** Returns the state of the database and of its change sets. Read-only. */
export async function readDatabaseState(db: Pick<Database, 'server' | 'migrationStatus' | 'longestWaitSeconds'>) {
  const waitSeconds = db.longestWaitSeconds
  const { product, version } = await db.server()
  const { applied, pending, lock, changed, dataChanged, unknown, orphaned } = await db.migrationStatus()
  const marked = new Map(
    [
      ...orphaned.map((set) => [set, 'orphaned'] as const),
      ...unknown.map((set) => [set, 'unknown'] as const),
      ...dataChanged.map((set) => [set, 'data-changed'] as const),
      ...changed.map((set) => [set, 'changed'] as const),
    ].map(([{ plugin, id }, state]) => [`${plugin}/${id}`, state]),
  )
  const changeSets = [
    ...pending.map(({ plugin, id, breaking = null }) => ({
      plugin,
      changeSet: id,
      state: 'pending' as const,
      breaking,
      executedAt: 0,
      appliedAt: null,
      durationMs: null,
    })),
    ...applied.map(({ plugin, id, executedAt, durationMs }) => ({
      plugin,
      changeSet: id,
      state: marked.get(`${plugin}/${id}`) ?? ('applied' as const),
      breaking: null,
      executedAt,
      appliedAt: new Date(executedAt).toISOString(),
      durationMs,
    })),
  ]
  return {
    product,
    version,
    waitSeconds,
    applied: applied.length,
    pending: pending.length,
    migratingHost: lock?.host ?? null,
    changeSets: changeSets
      .sort((a, b) => states.indexOf(a.state) - states.indexOf(b.state) || b.executedAt - a.executedAt)
      .map(({ executedAt: _, ...set }) => set),
  }
}

/** Permission to view the health checks. */
export const viewHealth = 'console:health:view'

const ranks = { failed: 0, warning: 1, passed: 2 } as const

export const healthOutcome = Type.Enum(['passed', 'warning', 'failed'])

/** Response of `GET /api/v1/admin/console/health`. */
export const healthFactsView = Type.Array(
  Type.Object({
    name: Type.String({ description: 'Name under which a plugin contributes the check.' }),
    outcome: healthOutcome,
    reason: nullable(Type.String({ description: 'Reason for a failure or a warning, with masked secrets.' })),
  }),
)

function outcomeOf({ reason, warnings }: HealthOutcome): keyof typeof ranks {
  if (reason !== undefined) return 'failed'
  return warnings.length > 0 ? 'warning' : 'passed'
}

/** Returns the health checks: failed checks first, then warnings, then passed checks. */
export const viewOfHealth = (outcomes: readonly HealthOutcome[], redact: (text: string) => string) =>
  outcomes
    .map((check) => {
      const text = check.reason ?? check.warnings.join(' ')
      return { name: check.name, outcome: outcomeOf(check), reason: text === '' ? null : redact(text) }
    })
    .sort((a, b) => ranks[a.outcome] - ranks[b.outcome] || a.name.localeCompare(b.name))
