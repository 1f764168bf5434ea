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

/** How large steps are, in rows. */
interface PurgePace {
  /** Milliseconds that a step is to take. */
  readonly targetMs: number
  readonly smallestStep: number
  readonly largestStep: number
  /** Times as many rows as the last step, at most. */
  readonly mostGrowth: number
}

/** Rows of the first step. */
const firstStep = 50
/**
 * SQLite answers without leaving the event loop, so a step holds up every request; on a server it only locks its rows, and each
 * commit costs as much as a hundred of them. That a step of a server was quick says little of the next one: it may have had a
 * core to itself for that long.
 */
const paces = {
  sqlite: { targetMs: 5, smallestStep: 10, largestStep: 500, mostGrowth: 2 },
  server: { targetMs: 15, smallestStep: 100, largestStep: 1_000, mostGrowth: 1.25 },
} as const

/**
 * Rows of the step that follows one of `size` rows: at once as few as that one would have removed in `targetMs`, but at
 * most `mostGrowth` times as many.
 *
 * @param tookMs 0 or more
 */
export function nextStep(size: number, tookMs: number, pace: PurgePace): number {
  const { targetMs, smallestStep, largestStep, mostGrowth } = pace
  const inTime = (size * targetMs) / Math.max(tookMs, 0.1)
  return Math.round(Math.min(largestStep, Math.max(smallestStep, Math.min(inTime, size * mostGrowth))))
}
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
  const pace = db.dialect === 'sqlite' ? paces.sqlite : paces.server
  const end = performance.now() + (options.budgetMs ?? defaultBudgetMs)
  const ids = `(select id from ${table} where ${where} order by ${orderBy} limit ?)`
  // MySQL deletes nothing from what it selects from, and MariaDB reads the whole table for a list of ids, or where it may choose
  // the order of a join.
  const deletion = (from: string, key: string) =>
    db.dialect === 'sqlite' || db.dialect === 'postgresql'
      ? `delete from ${from} where ${key} in ${ids}`
      : `delete ${from} from ${ids} as old_rows straight_join ${from} on ${from}.${key} = old_rows.id`
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
    size = nextStep(size, performance.now() - start, pace)
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
