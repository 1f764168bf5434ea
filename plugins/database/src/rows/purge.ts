import { performance } from 'node:perf_hooks'
import { setImmediate as nextTick } from 'node:timers/promises'
import { type Database, exactInteger } from '../contract.ts'
import type { Parameter } from './bound-parameters.ts'

export interface ExpiredRows {
  /** Table name in snake_case. Its primary key must be `id`. */
  readonly table: string
  /** Condition on one column. An index must support it. While the purge runs, no further row may start to match. */
  readonly where: string
  readonly parameters: readonly Parameter[]
  /** Columns of the index that supports `where`, in the order of the index, so that no step sorts rows. */
  readonly orderBy: string
  /** Tables with rows that are removed together with a row of `table`. Their `column` contains the id of that row. */
  readonly dependents?: readonly { readonly table: string; readonly column: string }[] | undefined
  /**
   * Keeps counters of rows correct: `subtract` receives the removed rows of each step, grouped by `columns`, in the
   * same transaction.
   */
  readonly tally?:
    | {
        readonly columns: readonly string[]
        subtract(db: Database, groups: readonly RemovedRows[]): Promise<void>
      }
    | undefined
}

export interface RemovedRows {
  readonly rows: number
  readonly values: Readonly<Record<string, unknown>>
}

export interface PurgeOptions {
  /** Stops the purge after the current step. */
  readonly signal: AbortSignal
  /** Milliseconds; default: ten minutes. The next run continues. */
  readonly budgetMs?: number
}

interface PurgePace {
  readonly targetMs: number
  readonly smallestStep: number
  readonly largestStep: number
  /** Maximum factor between the sizes of two consecutive steps. */
  readonly maxGrowth: number
}

const firstStep = 50
/**
 * SQLite blocks the event loop, so its steps are short. On a server, a commit costs as much as deleting a hundred rows.
 * There the steps grow slowly, because one fast step proves little.
 */
const paces = {
  sqlite: { targetMs: 5, smallestStep: 10, largestStep: 500, maxGrowth: 2 },
  server: { targetMs: 15, smallestStep: 100, largestStep: 1_000, maxGrowth: 1.25 },
} as const

/**
 * Returns the number of rows that would take `targetMs`, but at most `maxGrowth` times `size`.
 *
 * @param tookMs duration of the last step
 */
export function nextPurgeSize(size: number, tookMs: number, pace: PurgePace): number {
  const { targetMs, smallestStep, largestStep, maxGrowth } = pace
  const inTime = (size * targetMs) / Math.max(tookMs, 0.1)
  return Math.round(Math.min(largestStep, Math.max(smallestStep, Math.min(inTime, size * maxGrowth))))
}
const defaultBudgetMs = 600_000

/**
 * Removes expired rows in small transactions, with an event loop tick in between. The duration of a step determines the
 * size of the next one. After the signal or the time limit, the next run continues.
 *
 * @returns rows removed from `table`
 * @throws the errors of `Database.execute`; earlier steps stay committed
 */
export async function purgeOldRows(db: Database, old: ExpiredRows, options: PurgeOptions): Promise<number> {
  const { table, where, parameters, orderBy, dependents = [], tally } = old
  const pace = db.dialect === 'sqlite' ? paces.sqlite : paces.server
  const end = performance.now() + (options.budgetMs ?? defaultBudgetMs)
  const ids = `(select id from ${table} where ${where} order by ${orderBy} limit ?)`
  // MySQL cannot delete from a table that the statement selects from. With a list of ids or a normal join, MariaDB
  // would scan the whole table.
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
    size = nextPurgeSize(size, performance.now() - start, pace)
    await nextTick()
    await db.checkpointed()
  }
  return removed
}

/** Counts the rows of a step by group, and locks them until the step ends. */
async function groupsOf(
  db: Database,
  { table, where, orderBy }: ExpiredRows,
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
