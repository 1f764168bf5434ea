import { type Clock, errorCodeOf, type Remedy, systemClock } from '@plinth/kernel'
import type { Kysely } from 'kysely'
import {
  applyChangeSet,
  type ChangeSetApplication,
  type ChangeSetWayBack,
  type StepProgress,
  takeChangeSetBack,
} from './apply.ts'
import {
  type AppliedChangeSet,
  type ChangelogDb,
  changelogTable,
  countApplied,
  deleteLoggedSteps,
  dropTables,
  ensureDevelopmentTable,
  ensureTables,
  readChangelog,
  readFailedChangeSets,
  readSteps,
  readTableNames,
  readTableSizes,
  readWaysBack,
  recordFailed,
  recordWayBack,
  type TableSize,
} from './changelog.ts'
import {
  type CompiledChangeSet,
  compileChangeSets,
  compileWayBack,
  findChangedPart,
  type PluginChangeSets,
} from './compile.ts'
import type { Dialect } from './dialect.ts'
import { migrationError } from './errors.ts'
import { type LockHolder, type LockOptions, MigrationLock, readLock } from './lock.ts'
import { droppedTable } from './way-back.ts'

export interface MigratorOptions {
  /** Database connection. No other code may use it. */
  // biome-ignore lint/suspicious/noExplicitAny: the change sets define the schema
  readonly db: Kysely<any>
  readonly dialect: Dialect
  /** Change sets by plugin, in the order in which they are applied. */
  readonly plugins: readonly PluginChangeSets[]
  readonly clock?: Clock
  /** Creates the ids of rows that change sets insert. */
  readonly newId?: () => number
  /** Called once, before the first change set that changes rows. */
  readonly beforeData?: () => Promise<void>
  readonly lock?: LockOptions
  /** Receives warnings that do not stop `migrate`. */
  readonly warn?: (message: string) => void
  /** Absent in production. */
  readonly development?: Development | undefined
}

/** Change sets that `plinth dev` was the first to apply can be taken back in the same project. */
export interface Development {
  /** Directory of the product. */
  readonly project: string
  /** True in `plinth dev`. For each applied change set, `migrate` then records how to take it back. */
  readonly isRecorded: boolean
}

/** Change sets that are taken back together, and the effect. */
export interface WayBackPlan {
  /** In the order in which they are taken back. The requested change set is the last one. */
  readonly changeSets: readonly { readonly plugin: string; readonly id: string }[]
  /** The SQL statements that run. */
  readonly statements: readonly string[]
  /** Tables that are dropped. */
  readonly tables: readonly TableSize[]
}

export interface PendingChangeSet {
  readonly plugin: string
  readonly id: string
  /** The SQL statements that will run. */
  readonly statements: readonly string[]
  readonly changesData: boolean
  /** Source text of the function that changes rows. */
  readonly data?: string
  /** Reason why a change that drops or retypes something is safe. */
  readonly breaking?: string
  /** Number of statements that an interrupted run has completed. */
  readonly stepsDone: number
}

export interface MigrationStatus {
  readonly dialect: Dialect
  readonly table: string
  /** True if the table of applied change sets exists. False before the first migration. */
  readonly tableExists: boolean
  readonly applied: readonly AppliedChangeSet[]
  readonly pending: readonly PendingChangeSet[]
  /** Change sets that were changed after they were applied. If there are any, `migrate` fails. */
  readonly changed: readonly AppliedChangeSet[]
  /**
   * Change sets whose `data` was changed after they were applied. `data` does not run again, so databases may differ.
   */
  readonly dataChanged: readonly AppliedChangeSet[]
  /** Change sets that another version of a loaded plugin has applied. This version does not contain them. */
  readonly unknown: readonly AppliedChangeSet[]
  /** Applied change sets of plugins that are not loaded. */
  readonly orphaned: readonly AppliedChangeSet[]
  /** Existing tables that pending change sets would create. If there are any, `migrate` fails. */
  readonly foreignTables: readonly string[]
  /** The process that is currently migrating. */
  readonly lock?: LockHolder
}

/** Tables and change sets of one plugin in the database. */
export interface PluginTables {
  /** Tables in the order in which they were created. */
  readonly tables: readonly TableSize[]
  readonly changeSets: number
}

export type MigrationProgress =
  | { readonly kind: 'waiting'; readonly holder: LockHolder }
  | ({ readonly kind: 'step'; readonly index: number; readonly total: number } & StepProgress)
  | {
      readonly kind: 'applied'
      readonly plugin: string
      readonly id: string
      /** Position of the change set; the first one is 1. */
      readonly index: number
      readonly total: number
      readonly durationMs: number
    }

export interface MigrateOptions {
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: MigrationProgress) => void
}

export interface MigrationResult {
  /** Number of change sets that were pending when the call started. */
  readonly pendingBefore: number
  /** Change sets that this call applied. Another process may have applied the others. */
  readonly applied: readonly { readonly plugin: string; readonly id: string; readonly durationMs: number }[]
  /** True if no change set was pending. */
  readonly upToDate: boolean
}

/**
 * Applies the pending change sets of all plugins to a database.
 *
 * The Migrator of MikroORM is not used: it has no lock between processes, stores no plugins and checksums, cannot show
 * the SQL in advance, and cannot resume on MySQL and MariaDB, where DDL commits immediately.
 */
export class Migrator {
  readonly #options: MigratorOptions
  readonly #compiled: readonly CompiledChangeSet[]

  /** @throws PlinthError `PLINTH_MIGRATION_INVALID`, `PLINTH_MIGRATION_BREAKING`, `PLINTH_MIGRATION_TABLE_OF_OTHER` */
  constructor(options: MigratorOptions) {
    this.#options = options
    this.#compiled = compileChangeSets(options.plugins, options.dialect)
  }

  /** Changes nothing. */
  async status(): Promise<MigrationStatus> {
    const { dialect } = this.#options
    const db: ChangelogDb = this.#options.db
    let log = await readChangelog(db)
    let foreignTables: readonly string[] = []
    if (this.#missingFrom(log ?? []).length > 0) {
      // Reads the table names before the steps and the changelog. Otherwise a change set that another process applies
      // at the same time could appear as a table without a record.
      const existing = await readTableNames(db, dialect)
      const steps = await readSteps(db)
      log = await readChangelog(db)
      foreignTables = this.#foreignTables(existing, steps, log ?? [])
    }
    const applied = log ?? []
    const own = new Map(this.#compiled.map((changeSet) => [nameOf(changeSet), changeSet]))
    const holder = await readLock(db)
    const loaded = new Set(this.#options.plugins.map(({ plugin }) => plugin))
    const changed = (part: 'statements' | 'data') =>
      applied.filter((entry) => {
        const current = own.get(nameOf(entry))
        return current !== undefined && findChangedPart(entry.checksum, current) === part
      })
    const notOwn = applied.filter((entry) => !own.has(nameOf(entry)))
    return {
      dialect,
      table: changelogTable,
      tableExists: log !== undefined,
      applied,
      pending: await this.#pending(applied),
      changed: changed('statements'),
      dataChanged: changed('data'),
      unknown: notOwn.filter(({ plugin }) => loaded.has(plugin)),
      orphaned: notOwn.filter(({ plugin }) => !loaded.has(plugin)),
      foreignTables,
      ...(holder === undefined
        ? {}
        : {
            lock: {
              host: holder.host,
              pid: holder.pid,
              acquiredAt: holder.acquiredAt,
              expiresAt: holder.expiresAt,
            },
          }),
    }
  }

  /**
   * Returns the change sets that `migrate` would apply. Reads only.
   *
   * @throws PlinthError `PLINTH_MIGRATION_CHECKSUM`, `PLINTH_MIGRATION_FOREIGN_TABLES`
   */
  async plan(): Promise<readonly PendingChangeSet[]> {
    return (await this.#checkedStatus()).pending
  }

  /**
   * Checks whether `migrate` can run. Reads only.
   *
   * @returns warnings, one sentence each
   * @throws PlinthError like `plan`; `PLINTH_MIGRATION_FAILED` if a pending change set failed in the last run and was
   *   not changed since
   */
  async check(): Promise<readonly string[]> {
    const status = await this.#checkedStatus()
    const failed = await readFailedChangeSets(this.#options.db)
    for (const changeSet of this.#missingFrom(status.applied)) {
      const note = failed.find((one) => nameOf(one) === nameOf(changeSet))
      if (note?.checksum !== changeSet.checksum) continue
      const reason = 'its last run failed, and it has not been changed since; the log of that run contains the reason'
      throw migrationError('PLINTH_MIGRATION_FAILED', {
        changeSet: nameOf(changeSet),
        place: 'one of its steps',
        reason,
        ...unknownCause,
      })
    }
    return doubtsOf(status)
  }

  /**
   * Applies pending change sets. Other processes that call it meanwhile wait, and then find nothing pending. If the
   * process is killed, the next call resumes. If nothing is pending, nothing is written.
   *
   * @throws PlinthError with a code of `errors.ts`
   */
  async migrate({
    signal = new AbortController().signal,
    onProgress = () => {},
  }: MigrateOptions = {}): Promise<MigrationResult> {
    const before = await this.#checkedStatus()
    for (const doubt of doubtsOf(before)) this.#options.warn?.(doubt)
    const pendingBefore = before.pending.length
    if (pendingBefore === 0) return { pendingBefore, applied: [], upToDate: true }
    return this.#locked(signal, onProgress, async (lock) => {
      return { pendingBefore, applied: await this.#applyPending(lock, signal, onProgress), upToDate: false }
    })
  }

  /**
   * Returns what `takeBack` would do. Reads only. The change sets of the plugin that were applied later are taken back
   * first, because they may depend on this one.
   *
   * @throws PlinthError `PLINTH_MIGRATION_NO_WAY_BACK`
   */
  async wayBack(plugin: string, id: string): Promise<WayBackPlan> {
    const { db, dialect } = this.#options
    const ways = await this.#waysBack(plugin, id)
    const statements = ways.flatMap((way) => way.statements)
    const dropped = statements.map(droppedTable).filter((table) => table !== undefined)
    return {
      changeSets: ways.map((way) => ({ plugin, id: way.id })),
      statements,
      tables: await readTableSizes(db, dialect, dropped),
    }
  }

  /**
   * Takes a change set back, in development only: drops what it created, and deletes its record, so that `migrate`
   * applies it again. The product must not run meanwhile.
   *
   * @throws PlinthError `PLINTH_MIGRATION_NO_WAY_BACK`, `PLINTH_MIGRATION_LOCKED`, `PLINTH_MIGRATION_FAILED`
   */
  async takeBack(plugin: string, id: string): Promise<WayBackPlan> {
    const { db, dialect } = this.#options
    const plan = await this.wayBack(plugin, id)
    await this.#locked(
      new AbortController().signal,
      () => {},
      async (lock) => {
        for (const way of await this.#waysBack(plugin, id)) await takeChangeSetBack({ db, dialect, lock }, way)
      },
    )
    return plan
  }

  /** Returns the ways back of a change set and of the later ones of its plugin, the last applied first. */
  async #waysBack(plugin: string, id: string): Promise<readonly ChangeSetWayBack[]> {
    const { db, development } = this.#options
    const rejected = (changeSet: string, reason: string) =>
      migrationError('PLINTH_MIGRATION_NO_WAY_BACK', { changeSet: `${plugin}/${changeSet}`, plugin, reason })
    if (development === undefined) throw rejected(id, 'the product runs in production')
    const ids = await this.#appliedIds(plugin)
    if (!ids.includes(id)) throw rejected(id, 'it is not applied')
    const ways = await readWaysBack(db, plugin, development.project)
    const laterFirst = ids.slice(ids.indexOf(id)).toReversed()
    return laterFirst.map((one) => {
      const way = ways.get(one)
      if (way === undefined) throw rejected(one, '`plinth dev` was not the first to apply it in this project')
      if ('obstacle' in way) throw rejected(one, way.obstacle)
      return { plugin, id: one, statements: way.statements }
    })
  }

  /** Returns the ids of the change sets of a plugin that were applied, also in part, in the order of their application. */
  async #appliedIds(plugin: string): Promise<readonly string[]> {
    const db: ChangelogDb = this.#options.db
    const applied = ((await readChangelog(db)) ?? [])
      .filter((entry) => entry.plugin === plugin)
      .toSorted((a, b) => a.executedAt - b.executedAt || (a.id < b.id ? -1 : 1))
    const begun = (await readSteps(db)).filter((step) => step.plugin === plugin)
    return [...new Set([...applied, ...begun].map(({ id }) => id))]
  }

  /** Creates the error for a change set that was edited after it was applied. It contains the way back. */
  async #changed({ plugin, id }: { readonly plugin: string; readonly id: string }, appliedAt: string): Promise<Error> {
    const changeSet = nameOf({ plugin, id })
    const error = (way: string) => migrationError('PLINTH_MIGRATION_CHECKSUM', { changeSet, appliedAt, way })
    const { db, development } = this.#options
    if (development === undefined || !(await readWaysBack(db, plugin, development.project)).has(id)) return error('')
    try {
      const { changeSets, tables } = await this.wayBack(plugin, id)
      const [names, loss] = [changeSets.map(nameOf).join(', '), lossOf(tables)]
      const words = ['migrate', 'back', changeSet, '--yes']
      const way = `. Or take it back, because \`plinth dev\` applied it: \`plinth ${words.join(' ')}\` ${loss}, and the next start applies it again`
      const remedy: Remedy = { question: `Take back ${names} and apply the new version? This ${loss}.`, words }
      return Object.assign(error(way), { remedy })
    } catch (failed) {
      if (errorCodeOf(failed) !== 'PLINTH_MIGRATION_NO_WAY_BACK') throw failed
      return error(
        `. Or run \`plinth plugins remove ${plugin} --yes\`, which deletes all data of the plugin: \`plinth dev\` applied the change set, but it cannot be taken back alone`,
      )
    }
  }

  /**
   * Returns the tables and the number of change sets that `remove` would delete. Reads only.
   *
   * @param more tables that raw SQL created, because they are not found otherwise
   */
  async dataOf(plugin: string, more: readonly string[]): Promise<PluginTables> {
    const { db, dialect } = this.#options
    const created = this.#compiled.filter((changeSet) => changeSet.plugin === plugin).flatMap(({ tables }) => tables)
    return {
      tables: await readTableSizes(db, dialect, [...created, ...more]),
      changeSets: await countApplied(db, plugin),
    }
  }

  /**
   * Drops the tables of `dataOf` and deletes the records of the plugin's change sets. `migrate` would then apply them
   * again. No instance may be running.
   *
   * @throws PlinthError `PLINTH_MIGRATION_LOCKED` if another process is migrating
   */
  async remove(plugin: string, more: readonly string[]): Promise<void> {
    const { db, dialect } = this.#options
    await this.#locked(
      new AbortController().signal,
      () => {},
      async () => {
        const { tables } = await this.dataOf(plugin, more)
        await dropTables(
          db,
          dialect,
          plugin,
          tables.map(({ table }) => table),
        )
      },
    )
  }

  /**
   * Keeps other processes from applying change sets during the work.
   *
   * @throws PlinthError `PLINTH_MIGRATION_LOCKED`, `PLINTH_MIGRATION_ABORTED`
   */
  withLock<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return this.#locked(signal, () => {}, work)
  }

  async #locked<T>(
    signal: AbortSignal,
    onProgress: (progress: MigrationProgress) => void,
    work: (lock: MigrationLock) => Promise<T>,
  ): Promise<T> {
    const { db, dialect, lock: lockOptions = {}, development } = this.#options
    await ensureTables(db, dialect)
    if (development?.isRecorded) await ensureDevelopmentTable(db, dialect)
    const lock = new MigrationLock(db, dialect, lockOptions)
    await lock.acquire(signal, (holder) => onProgress({ kind: 'waiting', holder }))
    try {
      return await work(lock)
    } finally {
      await lock.release()
    }
  }

  async #applyPending(
    lock: MigrationLock,
    signal: AbortSignal,
    onProgress: (progress: MigrationProgress) => void,
  ): Promise<MigrationResult['applied']> {
    const { dialect, clock = systemClock, newId = noIds, beforeData, development } = this.#options
    const recorder: ChangeSetApplication['recordWayBack'] = development?.isRecorded
      ? (on, changeSet) => recordWayBack(on, changeSet, development.project, compileWayBack(changeSet, dialect))
      : undefined
    const db: ChangelogDb = this.#options.db
    const pending = this.#missingFrom((await this.#checkedStatus()).applied)
    const steps = await readSteps(db)
    const failed = new Set((await readFailedChangeSets(db)).map(nameOf))
    const applied: { plugin: string; id: string; durationMs: number }[] = []
    for (const [position, changeSet] of pending.entries()) {
      if (changeSet === pending.find(({ changesData }) => changesData)) await beforeData?.()
      const { plugin, id } = changeSet
      const place = { index: position + 1, total: pending.length }
      const onStep: ChangeSetApplication['onStep'] = (step) => onProgress({ kind: 'step', ...step, ...place })
      const own = steps.filter((step) => nameOf(step) === nameOf(changeSet))
      const changed: ChangeSetApplication['changed'] = (one, appliedAt) => this.#changed(one, appliedAt)
      const application = { db, dialect, clock, lock, signal, newId, onStep, changed, recordWayBack: recorder }
      const durationMs = await applyChangeSet(application, changeSet, own).catch(async (error: unknown) => {
        if (errorCodeOf(error) === 'PLINTH_MIGRATION_FAILED') await recordFailed(db, changeSet).catch(() => undefined)
        throw error
      })
      if (failed.has(nameOf(changeSet))) await deleteLoggedSteps(db, changeSet)
      applied.push({ plugin, id, durationMs })
      onProgress({ kind: 'applied', plugin, id, durationMs, ...place })
    }
    return applied
  }

  async #checkedStatus(): Promise<MigrationStatus> {
    const status = await this.status()
    const [changed] = status.changed
    if (changed !== undefined) {
      throw await this.#changed(changed, new Date(changed.executedAt).toISOString())
    }
    const { foreignTables } = status
    if (foreignTables.length === 0) return status
    throw migrationError('PLINTH_MIGRATION_FOREIGN_TABLES', { tables: firstOf(foreignTables) })
  }

  /**
   * Returns the existing tables that pending change sets would create. A table is not foreign if an applied change set
   * created it, or if its change set was started.
   */
  #foreignTables(
    existing: ReadonlySet<string>,
    steps: readonly { readonly plugin: string; readonly id: string }[],
    applied: readonly AppliedChangeSet[],
  ): readonly string[] {
    const pending = this.#missingFrom(applied)
    const begun = new Set(steps.map(nameOf))
    const isPending = new Set(pending)
    const known = new Set(
      this.#compiled.filter((changeSet) => !isPending.has(changeSet)).flatMap(({ tables }) => tables),
    )
    const created = pending.filter((changeSet) => !begun.has(nameOf(changeSet))).flatMap(({ tables }) => tables)
    return [...new Set(created)].filter((table) => existing.has(table) && !known.has(table))
  }

  #missingFrom(applied: readonly AppliedChangeSet[]): readonly CompiledChangeSet[] {
    const done = new Set(applied.map(nameOf))
    return this.#compiled.filter((changeSet) => !done.has(nameOf(changeSet)))
  }

  async #pending(applied: readonly AppliedChangeSet[]): Promise<PendingChangeSet[]> {
    const pending = this.#missingFrom(applied)
    const steps = pending.length === 0 ? [] : await readSteps(this.#options.db)
    return pending.map((changeSet) => ({
      plugin: changeSet.plugin,
      id: changeSet.id,
      statements: changeSet.statements,
      changesData: changeSet.changesData,
      ...(changeSet.definition.data === undefined ? {} : { data: changeSet.definition.data.toString() }),
      ...(changeSet.breaking === undefined ? {} : { breaking: changeSet.breaking }),
      stepsDone: steps.filter((step) => step.state === 'done' && nameOf(step) === nameOf(changeSet)).length,
    }))
  }
}

/** Describes the rows that are lost with tables. */
const lossOf = (tables: readonly TableSize[]) =>
  tables.length === 0
    ? 'drops no table, only columns and indexes'
    : `drops ${tables.map(({ table, rows }) => `${table} (rows: ${rows})`).join(', ')}`

/** Maximum number of names that an error message lists. */
const maxNamed = 5

const firstOf = (names: readonly string[]) =>
  names.slice(0, maxNamed).join(', ') + (names.length > maxNamed ? ` and ${names.length - maxNamed} more` : '')

/**
 * Returns warnings that an operator can act on. A changed `data` function is not one of them: only the author can change it,
 * and `status` lists it.
 */
function doubtsOf({ unknown }: MigrationStatus): string[] {
  const names = (entries: readonly AppliedChangeSet[]) => firstOf(entries.map(nameOf))
  return [
    ...(unknown.length === 0
      ? []
      : [
          `the database was migrated by another version, which this one does not know: ${names(unknown)}. Go back to that ` +
            'version, or restore a backup from before it; the version right before it may run on while an upgrade is under way',
        ]),
  ]
}

/** Details for the error of an earlier run, whose cause is not known. */
const unknownCause = { detail: '', resumption: 'it runs this change set again' }

const nameOf = ({ plugin, id }: { readonly plugin: string; readonly id: string }) => `${plugin}/${id}`

function noIds(): never {
  throw new Error('This migrator was made without a source of ids.')
}
