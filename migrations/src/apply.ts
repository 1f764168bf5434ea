import type { Clock } from '@plinth/kernel'
import { CompiledQuery } from 'kysely'
import {
  type ChangelogDb,
  deleteLoggedSteps,
  type LoggedStep,
  logStepDone,
  logStepRunning,
  recordApplied,
  stepChecksum,
} from './changelog.ts'
import type { CompiledChangeSet } from './compile.ts'
import { type Dialect, hasTransactionalDdl } from './dialect.ts'
import { migrationError } from './errors.ts'
import type { MigrationLock } from './lock.ts'

export interface StepProgress {
  readonly plugin: string
  readonly id: string
  /** Number of the step; the first step is 1. */
  readonly step: number
  readonly steps: number
  /** SQL of the statement, or `data` for the step that changes rows. */
  readonly sql: string
}

export interface ChangeSetApplication {
  readonly db: ChangelogDb
  readonly dialect: Dialect
  readonly clock: Clock
  readonly lock: MigrationLock
  readonly signal: AbortSignal
  readonly newId: () => number
  readonly onStep: (progress: StepProgress) => void
}

/**
 * Applies one change set and records it. If the process dies meanwhile, the next call repeats the change set, or on
 * MySQL and MariaDB continues after the last finished step.
 *
 * @param logged steps of this change set that an interrupted process has recorded
 * @returns duration in milliseconds
 * @throws PlinthError `PLINTH_MIGRATION_FAILED`, `PLINTH_MIGRATION_ABORTED`, `PLINTH_MIGRATION_LOCK_LOST`,
 *   `PLINTH_MIGRATION_CHECKSUM`
 */
export async function applyChangeSet(
  application: ChangeSetApplication,
  changeSet: CompiledChangeSet,
  logged: readonly LoggedStep[],
): Promise<number> {
  const { db, dialect, clock, lock } = application
  const startedAt = clock.monotonic()
  const elapsed = () => Math.max(0, Math.round(clock.monotonic() - startedAt))
  if (!hasTransactionalDdl[dialect]) await runLoggedSteps(application, changeSet, logged)
  await db.transaction().execute(async (trx) => {
    if (hasTransactionalDdl[dialect]) await runSteps({ ...application, db: trx }, changeSet)
    await changeData({ ...application, db: trx }, changeSet)
    await recordApplied(trx, changeSet, clock.now(), elapsed())
    if (!hasTransactionalDdl[dialect]) await deleteLoggedSteps(trx, changeSet)
    await lock.renew(trx, nameOf(changeSet))
  })
  return elapsed()
}

async function runSteps(application: ChangeSetApplication, changeSet: CompiledChangeSet): Promise<void> {
  for (const [step, statement] of changeSet.statements.entries()) {
    announce(application, changeSet, step, statement)
    await application.db.executeQuery(CompiledQuery.raw(statement)).catch((error: unknown) => {
      throw failure(application, changeSet, `step ${step + 1}`, error)
    })
  }
}

async function runLoggedSteps(
  application: ChangeSetApplication,
  changeSet: CompiledChangeSet,
  logged: readonly LoggedStep[],
): Promise<void> {
  const { db, lock } = application
  let finished: number | undefined
  for (const [step, statement] of changeSet.statements.entries()) {
    const earlier = logged.find((entry) => entry.step === step)
    if (earlier !== undefined && earlier.checksum !== stepChecksum(statement)) {
      const appliedAt = 'an earlier start, which did not finish it,'
      throw migrationError('PLINTH_MIGRATION_CHECKSUM', { changeSet: nameOf(changeSet), appliedAt })
    }
    if (earlier?.state === 'done') continue
    announce(application, changeSet, step, statement)
    await lock.keep(db, nameOf(changeSet))
    await logStepRunning(db, changeSet, step, finished)
    try {
      await db.executeQuery(CompiledQuery.raw(statement))
    } catch (error) {
      if (earlier === undefined || !isAppliedAlready(statement, error)) {
        // If the server did not respond, the statement may or may not have run. Then the record of the step is kept for
        // the next start.
        if (hasServerAnswered(error)) await deleteLoggedSteps(db, changeSet, step)
        throw failure(application, changeSet, `step ${step + 1}`, error)
      }
    }
    finished = step
  }
  if (finished !== undefined && changeSet.changesData) await logStepDone(db, changeSet, finished)
}

async function changeData(application: ChangeSetApplication, changeSet: CompiledChangeSet): Promise<void> {
  if (changeSet.definition.data === undefined) return
  const { db, dialect, clock, newId, signal } = application
  announce(application, changeSet, changeSet.statements.length, 'data')
  try {
    await changeSet.definition.data({ db, dialect, newId, now: () => clock.now(), signal })
  } catch (error) {
    throw failure(application, changeSet, 'its data step', error)
  }
}

function announce(
  application: ChangeSetApplication,
  changeSet: CompiledChangeSet,
  step: number,
  statement: string,
): void {
  const { plugin, id, statements, changesData } = changeSet
  const place = `step ${step + 1} of change set ${nameOf(changeSet)}`
  const { signal, onStep } = application
  if (signal.aborted) throw migrationError('PLINTH_MIGRATION_ABORTED', { place }, signal.reason)
  onStep({ plugin, id, step: step + 1, steps: statements.length + Number(changesData), sql: statement })
}

/** Errors of MySQL and MariaDB that mean that the statement has already taken effect. */
const appliedAlready: readonly (readonly [RegExp, readonly number[]])[] = [
  [/^create (table|view)\b/i, [1050]],
  [/^create (unique )?index\b/i, [1061]],
  [/^alter table \S+ rename to\b/i, [1050, 1146]],
  [/^alter table\b/i, [1054, 1060, 1061, 1091, 1826]],
  [/^drop (table|view)\b/i, [1051, 4092]],
  [/^drop index\b/i, [1091]],
]

/** MariaDB reports a duplicate foreign key as error 1005 with this text. */
const duplicateForeignKey = 'errno: 121'

function isAppliedAlready(statement: string, error: unknown): boolean {
  const { errno, message = '' }: { readonly errno?: number; readonly message?: string } = Object(error)
  const codes = appliedAlready.find(([form]) => form.test(statement.trim()))?.[1] ?? []
  return codes.includes(errno ?? 0) || (errno === 1005 && message.includes(duplicateForeignKey))
}

const hasServerAnswered = (error: unknown) => typeof Object(error).sqlState === 'string'

const nameOf = ({ plugin, id }: CompiledChangeSet) => `${plugin}/${id}`

/**
 * Returns the detail that PostgreSQL adds to some errors. It may contain values of rows. Only operators see it, never
 * HTTP clients.
 */
const detailOf = (error: unknown) => {
  const detail: unknown = Object(error).detail
  return typeof detail === 'string' && detail !== '' ? `. The database adds: ${detail.replace(/\.+$/, '')}` : ''
}

function failure({ dialect }: ChangeSetApplication, changeSet: CompiledChangeSet, place: string, error: unknown) {
  const reason = (error instanceof Error ? error.message : String(error)).replace(/\.+$/, '')
  const details = {
    changeSet: nameOf(changeSet),
    place,
    reason,
    detail: detailOf(error),
    resumption: hasTransactionalDdl[dialect]
      ? 'this change set runs again from its first step, because nothing of it was kept'
      : 'it continues with this step',
  }
  return migrationError('PLINTH_MIGRATION_FAILED', details, error)
}
