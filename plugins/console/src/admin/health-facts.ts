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
  waitSeconds: Type.Number({ description: 'Since the oldest statement that is waited for now began; 0 when none is.' }),
  applied: count,
  pending: count,
  migratingHost: nullable(Type.String(), { description: 'Host of the process that migrates the database now.' }),
  changeSets: Type.Array(
    Type.Object({
      plugin: Type.String(),
      changeSet: Type.String(),
      state: Type.Enum(states, {
        description:
          '`changed`: differs from what was applied, and nothing is migrated until that is mended. `data-changed`: what it does to data differs now, so other databases may differ from this one. `pending`: will be applied. `unknown`: applied by another version of its plugin. `orphaned`: of a plugin that is not loaded.',
      }),
      appliedAt: nullable(instant),
      durationMs: nullable(count),
      breaking: nullable(Type.String(), { description: 'Why dropping or retyping something is safe, when it does.' }),
    }),
    { description: 'What needs a look first, then the newest.' },
  ),
})

/** Returns the state of the database and of its change sets. Read-only. */
export async function databaseFacts(db: Pick<Database, 'server' | 'migrationStatus' | 'longestWaitSeconds'>) {
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
