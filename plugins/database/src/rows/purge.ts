import { performance } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Database, exactInteger } from '../contract.ts'
import type { Parameter } from './bound-parameters.ts'

/** Expired rows of a table. */
export interface OldRows {
  /** Table name in snake_case. The primary key must be `id`. */
  readonly table: string
  /**
   * Condition on one column, with `?` for its parameters. An index must support it. No further row may begin to match
   * while the purge runs.
   */
  readonly where: string
  readonly parameters: readonly Parameter[]
  /** Columns in the order of that index, so that no step sorts the remaining rows. */
  readonly orderBy: string
  /** Tables whose rows are removed too, by the column that contains the id. */
  readonly dependents?: readonly { readonly table: string; readonly column: string }[] | undefined
  /** Counters about the rows. Each step reports its removed rows, grouped by these columns, in its transaction. */
  readonly tally?:
    | {
        readonly columns: readonly string[]
        subtract(db: Database, groups: readonly RemovedRows[]): Promise<void>
      }
    | undefined
}

/** The rows that a step removed, with the same values in the tally columns. */
export interface RemovedRows {
  readonly rows: number
  readonly values: Readonly<Record<string, unknown>>
}

export interface PurgeOptions {
  /** Stops the purge after the current step. */
  readonly signal: AbortSignal
  /** Time limit in milliseconds. The next run continues. Default: ten minutes. */
  readonly budgetMs?: number
}

/** Size of steps, in rows. */
interface PurgePace {
  /** Target duration of a step, milliseconds. */
  readonly targetMs: number
  readonly smallestStep: number
  readonly largestStep: number
  /** Maximum growth factor from one step to the next. */
  readonly maxGrowth: number
}

const firstStep = 50
/**
 * SQLite blocks the event loop, so a step delays all requests. On a server a step only locks its rows, and each commit
 * costs as much as a hundred of them. A fast step on a server does not predict the next one, because it may have had a
 * CPU core alone.
 */
const paces = {
  sqlite: { targetMs: 5, smallestStep: 10, largestStep: 500, maxGrowth: 2 },
  server: { targetMs: 15, smallestStep: 100, largestStep: 1_000, maxGrowth: 1.25 },
} as const

/**
 * Returns the number of rows for the step after one of `size` rows. It is the number that would have been removed in
 * `targetMs`, but at most `maxGrowth` times as many.
 *
 * @param tookMs 0 or more
 */
export function nextStep(size: number, tookMs: number, pace: PurgePace): number {
  const { targetMs, smallestStep, largestStep, maxGrowth } = pace
  const inTime = (size * targetMs) / Math.max(tookMs, 0.1)
  return Math.round(Math.min(largestStep, Math.max(smallestStep, Math.min(inTime, size * maxGrowth))))
}
const defaultBudgetMs = 600_000

/**
 * Removes expired rows. All purges use this function. It works in small steps, each in its own transaction, with an
 * event loop tick between them. The duration of a step decides the size of the next one. Rows that remain after the
 * signal or the time limit are removed by the next run.
 *
 * @returns rows removed from `table`
 * @throws the errors of `Database.execute`; earlier steps stay committed
 */
export async function purgeOldRows(db: Database, old: OldRows, options: PurgeOptions): Promise<number> {
  const { table, where, parameters, orderBy, dependents = [], tally } = old
  const pace = db.dialect === 'sqlite' ? paces.sqlite : paces.server
  const end = performance.now() + (options.budgetMs ?? defaultBudgetMs)
  const ids = `(select id from ${table} where ${where} order by ${orderBy} limit ?)`
  // MySQL cannot delete from a table that it selects from. MariaDB scans the whole table for a list of ids, or if it
  // may choose the order of a join.
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

/** Returns the rows of a step grouped by some columns, and locks them until the step ends. */
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
