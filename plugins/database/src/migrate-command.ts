import type { CommandInvocation, UpgradeStep } from '@plinth/kernel'
import type {
  AppliedChangeSet,
  MigrationProgress,
  MigrationResult,
  MigrationStatus,
  PendingChangeSet,
  PluginChangeSets,
  WayBackPlan,
} from '@plinth/migrations'
import type { Database } from './contract.ts'

export const migrateOptions = [
  { flags: '--status', description: 'show what is applied and what is pending; change nothing' },
  { flags: '--dry-run', description: 'print the SQL that would run; change nothing' },
]

/**
 * Implements `plinth migrate`.
 *
 * @returns the exit code: 1 if `--status` finds something that keeps this version from running
 */
export async function runMigrateCommand(
  database: Database,
  { options, output, signal }: CommandInvocation,
): Promise<number> {
  if (options['status'] === true) {
    const status = await database.migrationStatus()
    output.result(status, statusText(status))
    const { pending, changed, foreignTables } = status
    return pending.length + changed.length + foreignTables.length === 0 ? 0 : 1
  }
  if (options['dryRun'] === true) {
    const pending = await database.migrationPlan()
    output.result({ dialect: database.dialect, pending }, planText(pending))
    return 0
  }
  const onProgress = (progress: MigrationProgress) => output.progress(progressText(progress))
  const result = await database.migrate({ signal, onProgress })
  output.result(result, resultText(result))
  return 0
}

export const backArguments = [{ name: '<change-set>', description: 'plugin and id, as in `plinth migrate --status`' }]
export const backOptions = [
  {
    flags: '--yes',
    description: 'take the change set back; without this option, the SQL is printed and nothing changes',
  },
]

/** Implements `plinth migrate back`. */
export async function runBackCommand(database: Database, { args, options, output }: CommandInvocation): Promise<void> {
  const isDone = options['yes'] === true
  const [plugin = '', id = ''] = (args[0] ?? '').split('/')
  const plan = isDone ? await database.takeChangeSetBack(plugin, id) : await database.wayBack(plugin, id)
  output.result({ ...plan, isDone }, backText(plan, isDone))
}

function backText({ changeSets, statements, tables }: WayBackPlan, isDone: boolean): string {
  const names = changeSets.map(({ plugin, id }) => `${plugin}/${id}`).join(', ')
  if (isDone) return `Took back ${names}. The next start applies it again.`
  return [
    `-- take back ${names}`,
    ...statements.map((statement) => `${statement};`),
    ...tables.map(({ table, rows }) => `-- rows of ${table}: ${rows}`),
    'Nothing was changed. To take it back, stop the product and add --yes.',
  ].join('\n')
}

/** Returns the change sets that an upgrade would apply, and those that prevent the upgrade or need attention. */
export function changeSetSteps(status: MigrationStatus): readonly UpgradeStep[] {
  const { pending, changed, dataChanged, unknown, foreignTables } = status
  return [
    ...pending.map(({ plugin, id, breaking }) => ({
      change: 'pending',
      plugin,
      entry: breaking === undefined ? id : `${id} is breaking: ${breaking}`,
    })),
    ...changed.map(({ plugin, id }) => ({ change: 'changed', plugin, entry: id, isBlocking: true })),
    ...dataChanged.map(({ plugin, id }) => ({ change: 'data changed', plugin, entry: id })),
    ...unknown.map(({ plugin, id }) => ({ change: 'unknown', plugin, entry: id })),
    ...foreignTables.map((entry) => ({ change: 'foreign table', plugin: '', entry, isBlocking: true })),
  ]
}

/** Returns the steps of an upgrade if there is no database yet. Such an upgrade applies all change sets. */
export const pendingStepsOfNewDatabase = (plugins: readonly PluginChangeSets[]): readonly UpgradeStep[] =>
  plugins.flatMap(({ plugin, changeSets }) => changeSets.map(({ id }) => ({ change: 'pending', plugin, entry: id })))

export function progressText(progress: MigrationProgress): string {
  if (progress.kind === 'waiting') {
    return `waiting for process ${progress.holder.pid} on ${progress.holder.host}, which is migrating`
  }
  const { plugin, id, index, total } = progress
  const place = `[${index}/${total}] ${plugin}/${id}`
  return progress.kind === 'applied'
    ? `${place} applied in ${progress.durationMs} ms`
    : `${place} step ${progress.step} of ${progress.steps}`
}

const upToDate = 'The database is up to date.'

function resultText({ applied, upToDate: nothingPending }: MigrationResult): string {
  if (nothingPending) return upToDate
  if (applied.length === 0) return 'Another process has applied everything.'
  return `Applied ${applied.length} change set${applied.length === 1 ? '' : 's'}.`
}

function statusText({
  applied,
  pending,
  changed,
  dataChanged,
  unknown,
  orphaned,
  foreignTables,
  lock,
}: MigrationStatus): string {
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)]
  const list = (title: string, entries: readonly { readonly plugin: string; readonly id: string }[]) =>
    section(
      title,
      entries.map(({ plugin, id }) => `${plugin}/${id}`),
    )
  const appliedLine = ({ plugin, id, executedAt, durationMs }: AppliedChangeSet) =>
    `${new Date(executedAt).toISOString()}  ${plugin}/${id}  ${durationMs} ms`
  return [
    ...section('Applied', applied.map(appliedLine)),
    ...list('Pending', pending),
    ...list('Changed since they were applied (migrate does not run)', changed),
    ...list('Changes of rows that were changed since they were applied (they do not run again)', dataChanged),
    ...list('Applied by another version, unknown to this one (go back to that version, or restore a backup)', unknown),
    ...list('Applied, of plugins that are not loaded', orphaned),
    ...section('Tables of another product (migrate does not run)', foreignTables),
    ...(lock === undefined ? [] : [`Process ${lock.pid} on ${lock.host} is migrating.`]),
    `${applied.length} applied, ${pending.length} pending.`,
  ].join('\n')
}

function planText(pending: readonly PendingChangeSet[]): string {
  if (pending.length === 0) return upToDate
  return pending
    .flatMap(({ plugin, id, statements, data, breaking }) => [
      `-- ${plugin}/${id}`,
      ...(breaking === undefined ? [] : [`-- breaking: ${breaking}`]),
      ...statements.map((statement) => `${statement};`),
      ...(data === undefined
        ? []
        : ['-- then rows are changed by:', ...data.split('\n').map((line) => `--   ${line}`)]),
    ])
    .join('\n')
}
