import type { CommandInvocation } from '@plinth/kernel'
import type { MigrationProgress, MigrationResult, MigrationStatus, PendingChangeSet } from '@plinth/migrations'
import type { Database } from './contract.ts'

export const migrateOptions = [
  { flags: '--status', description: 'show what is applied and what is pending; change nothing' },
  { flags: '--dry-run', description: 'print the SQL that would run; change nothing' },
]

/** `plinth migrate`: applies what is pending. */
export async function runMigrate(database: Database, { options, output, signal }: CommandInvocation): Promise<void> {
  if (options['status'] === true) {
    const status = await database.migrationStatus()
    return output.result(status, statusText(status))
  }
  if (options['dryRun'] === true) {
    const pending = await database.migrationPlan()
    return output.result({ dialect: database.dialect, pending }, planText(pending))
  }
  const onProgress = (progress: MigrationProgress) => output.progress(progressText(progress))
  const result = await database.migrate({ signal, onProgress })
  output.result(result, resultText(result))
}

/** One line for people. */
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

function statusText({ applied, pending, changed, dataChanged, unknown, orphaned, lock }: MigrationStatus): string {
  const list = (title: string, entries: readonly { readonly plugin: string; readonly id: string }[]) =>
    entries.length === 0 ? [] : [`${title}:`, ...entries.map(({ plugin, id }) => `  ${plugin}/${id}`)]
  return [
    `${applied.length} applied, ${pending.length} pending.`,
    ...list('Pending', pending),
    ...list('Changed since they were applied (migrate refuses to run)', changed),
    ...list('What they do with data changed since they were applied (it does not run again)', dataChanged),
    ...list('Applied by another version, unknown to this one (go back to that version, or restore a backup)', unknown),
    ...list('Applied, of plugins that are not loaded', orphaned),
    ...(lock === undefined ? [] : [`Process ${lock.pid} on ${lock.host} is migrating.`]),
  ].join('\n')
}

function planText(pending: readonly PendingChangeSet[]): string {
  if (pending.length === 0) return upToDate
  return pending
    .flatMap(({ plugin, id, statements, changesData, breaking }) => [
      `-- ${plugin}/${id}`,
      ...(breaking === undefined ? [] : [`-- breaking: ${breaking}`]),
      ...statements.map((statement) => `${statement};`),
      ...(changesData ? ['-- then it changes rows'] : []),
    ])
    .join('\n')
}
