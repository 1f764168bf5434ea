import { performance } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Database, exactInteger } from '../contract.ts'
import type { Parameter } from './bound-parameters.ts'

/** Rows of a table that are past their time. */
export interface OldRows {
  /** In snake_case; its primary key is `id`. */
  readonly table: string
  /** Condition on one column, with `?` for its parameters; an index must answer it. Rows only ever leave the old ones, never join. */
  readonly where: string
  readonly parameters: readonly Parameter[]
  /** Columns in the order of that index, so that no step sorts what is left. */
  readonly orderBy: string
  /** Tables whose rows go with them, by the column that holds the id. */
  readonly dependents?: readonly { readonly table: string; readonly column: string }[]
  /** Numbers kept about the rows: a step tells what it removed, by the values of these columns, in its transaction. */
  readonly tally?: {
    readonly columns: readonly string[]
    subtract(db: Database, groups: readonly RemovedRows[]): Promise<void>
  }
}

/** Rows that a step removed with the same values of the columns of its tally. */
export interface RemovedRows {
  readonly rows: number
  readonly values: Readonly<Record<string, unknown>>
}

export interface PurgeOptions {
  /** Ends the purge between two steps. */
  readonly signal: AbortSignal
  /** Milliseconds after which it ends; the next run goes on. Ten minutes when absent. */
  readonly budgetMs?: number
}

/** Rows of the first step. A step takes as many as the last one would have removed in `targetMs`. */
const firstStep = 50
/** SQLite answers without leaving the event loop, so a step holds up every request; on a server it only locks its rows, and each commit costs as much as hundreds of them. */
const pace = {
  sqlite: { targetMs: 5, smallestStep: 10, largestStep: 500 },
  server: { targetMs: 25, smallestStep: 250, largestStep: 2_000 },
} as const
const defaultBudgetMs = 600_000

/**
 * Removes rows that are past their time: the one way to do so. It works in small steps, each a transaction of its own, with
 * a turn of the event loop between; the size of a step follows from how long the last one took. What is left when the
 * signal aborts or the time is over is removed by the next run.
 *
 * @returns rows removed from `table`
 * @throws what `Database.execute` throws; the steps before stay done
 */
export async function purgeOldRows(db: Database, old: OldRows, options: PurgeOptions): Promise<number> {
  const { table, where, parameters, orderBy, dependents = [], tally } = old
  const { targetMs, smallestStep, largestStep } = db.dialect === 'sqlite' ? pace.sqlite : pace.server
  const end = performance.now() + (options.budgetMs ?? defaultBudgetMs)
  const ids = `(select id from ${table} where ${where} order by ${orderBy} limit ?)`
  // MySQL deletes nothing from what it selects from, and MariaDB reads the whole table for a list of ids: there it is a join.
  const deletion = (from: string, key: string) =>
    db.dialect === 'sqlite' || db.dialect === 'postgresql'
      ? `delete from ${from} where ${key} in ${ids}`
      : `delete ${from} from ${from} join ${ids} as old_rows on old_rows.id = ${from}.${key}`
  let size = firstStep
  let removed = 0
  while (!options.signal.aborted && performance.now() < end) {
    const start = performance.now()
    const bound = [...parameters, size]
    const count =
      dependents.length === 0 && tally === undefined
        ? await db.execute(deletion(table, 'id'), bound)
        : await db.transactional(async () => {
            const groups = tally === undefined ? [] : await groupsOf(db, old, tally.columns, bound)
            for (const of of dependents) await db.execute(deletion(of.table, of.column), bound)
            const deleted = await db.execute(deletion(table, 'id'), bound)
            await tally?.subtract(db, groups)
            return deleted
          })
    removed += count
    if (count < size) break
    const took = Math.max(performance.now() - start, 0.1)
    size = Math.round(Math.min(largestStep, size * 2, Math.max(smallestStep, (size * targetMs) / took)))
    await nextTurn()
    await db.checkpointed()
  }
  return removed
}

/** The rows of a step by the values of some columns, which nobody changes before the step ends. */
async function groupsOf(
  db: Database,
  { table, where, orderBy }: OldRows,
  columns: readonly string[],
  bound: readonly Parameter[],
): Promise<readonly RemovedRows[]> {
  const names = columns.join(', ')
  const locked = db.dialect === 'sqlite' ? '' : ' for update'
  const found = await db.query<Record<string, unknown>>(
    `select ${names}, count(*) as row_total from (
       select ${names} from ${table} where ${where} order by ${orderBy} limit ?${locked}
     ) as old_rows group by ${names}`,
    bound,
  )
  return found.map(({ row_total, ...values }) => ({ rows: exactInteger(row_total), values }))
}
