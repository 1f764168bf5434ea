import type { Clock } from '@plinth/kernel'
import { CompiledQuery } from 'kysely'
import {
  type ChangelogDb,
  deleteLoggedSteps,
  forgetChangeSet,
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
  /** Records how to take the change set back. Absent except in `plinth dev`. */
  readonly recordWayBack?: ((db: ChangelogDb, changeSet: CompiledChangeSet) => Promise<void>) | undefined
  /** Creates the error for a change set that was edited after it was applied in part. */
  readonly changed: (changeSet: CompiledChangeSet, appliedAt: string) => Promise<Error>
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
  // If another process began the change set, it is not known who was the first to apply it.
  const recordWayBack = logged.length === 0 ? application.recordWayBack : undefined
  if (!hasTransactionalDdl[dialect]) {
    await recordWayBack?.(db, changeSet)
    await runLoggedSteps(application, changeSet, logged)
  }
  await db.transaction().execute(async (trx) => {
    if (hasTransactionalDdl[dialect]) await recordWayBack?.(trx, changeSet)
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
      throw failure(changeSet, `step ${step + 1}`, error, resumptionOf(application))
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
      throw await application.changed(changeSet, 'an earlier start, which did not finish it,')
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
        throw failure(changeSet, `step ${step + 1}`, error, resumptionOf(application))
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
    throw failure(changeSet, 'its data step', error, resumptionOf(application))
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

/** A change set and the statements that undo it. */
export interface ChangeSetWayBack {
  readonly plugin: string
  readonly id: string
  readonly statements: readonly string[]
}

/**
 * Takes one change set back: runs the statements that undo it, and deletes its records. If the process dies meanwhile,
 * the next call runs the statements again. On MySQL and MariaDB it tolerates those that have taken effect.
 *
 * @throws PlinthError `PLINTH_MIGRATION_FAILED`, `PLINTH_MIGRATION_LOCK_LOST`
 */
export async function takeChangeSetBack(
  { db, dialect, lock }: Pick<ChangeSetApplication, 'db' | 'dialect' | 'lock'>,
  { statements, ...changeSet }: ChangeSetWayBack,
): Promise<void> {
  const isTransactional = hasTransactionalDdl[dialect]
  const undo = async (on: ChangelogDb) => {
    for (const statement of statements) {
      await on.executeQuery(CompiledQuery.raw(statement)).catch((error: unknown) => {
        if (!isTransactional && isAppliedAlready(statement, error)) return
        const resumption = isTransactional ? 'nothing of it was taken back' : 'the statements before it took effect'
        throw failure(changeSet, `"${statement}" while it was taken back`, error, resumption)
      })
    }
  }
  if (!isTransactional) await undo(db)
  await db.transaction().execute(async (trx) => {
    if (isTransactional) await undo(trx)
    await forgetChangeSet(trx, changeSet)
    await lock.renew(trx, nameOf(changeSet))
  })
}

/** Errors of MySQL and MariaDB that mean that the statement has already taken effect. */
const appliedAlready: readonly (readonly [RegExp, readonly number[]])[] = [
  [/^create (table|view)\b/i, [1050]],
  [/^create (unique )?index\b/i, [1061]],
  [/^alter table \S+ rename to\b/i, [1050, 1146]],
  [/^alter table\b/i, [1054, 1060, 1061, 1091, 1826]],
  [/^drop (table|view)\b/i, [1051, 4092]],
  [/^drop index\b/i, [1091, 1146]],
]

/** MariaDB reports a duplicate foreign key as error 1005 with this text. */
const duplicateForeignKey = 'errno: 121'

function isAppliedAlready(statement: string, error: unknown): boolean {
  const { errno, message = '' }: { readonly errno?: number; readonly message?: string } = Object(error)
  const codes = appliedAlready.find(([form]) => form.test(statement.trim()))?.[1] ?? []
  return codes.includes(errno ?? 0) || (errno === 1005 && message.includes(duplicateForeignKey))
}

const hasServerAnswered = (error: unknown) => typeof Object(error).sqlState === 'string'

const nameOf = ({ plugin, id }: Pick<CompiledChangeSet, 'plugin' | 'id'>) => `${plugin}/${id}`

/**
 * Returns the detail that PostgreSQL adds to some errors. It may contain values of rows. Only operators see it, never
 * HTTP clients.
 */
const detailOf = (error: unknown) => {
  const detail: unknown = Object(error).detail
  return typeof detail === 'string' && detail !== '' ? `. The database adds: ${detail.replace(/\.+$/, '')}` : ''
}

const resumptionOf = ({ dialect }: ChangeSetApplication) =>
  hasTransactionalDdl[dialect]
    ? 'this change set runs again from its first step, because nothing of it was kept'
    : 'it continues with this step'

function failure(
  changeSet: Pick<CompiledChangeSet, 'plugin' | 'id'>,
  place: string,
  error: unknown,
  resumption: string,
): Error {
  const reason = (error instanceof Error ? error.message : String(error)).replace(/\.+$/, '')
  const details = {
    changeSet: nameOf(changeSet),
    place,
    reason,
    detail: detailOf(error),
    resumption,
  }
  return migrationError('PLINTH_MIGRATION_FAILED', details, error)
}
