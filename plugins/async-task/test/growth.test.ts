/** Tests the cost of each statement with a large table, by its query plan on each database. */

import type { Database, Parameter } from '@plinth/database'
import { assertMembers, rejectsWith } from '@plinth/dev/testing'
import { onDatabase, watchStatements } from '@plinth/dev/testing/database'
import { declaredTasks } from '@plinth/kernel/host'
import t from 'tap'
import { advanceUntil, reportTaskType, startTasks } from './fixtures/product.ts'

const many = 10_000
const longAgo = new Date(Date.UTC(2001, 0, 1))

const isMysql = ({ dialect }: Database) => dialect !== 'sqlite' && dialect !== 'postgresql'

/** Returns the plan of a statement if it reads a whole table or a whole index. */
async function wholeRead(db: Database, sql: string, parameters: readonly Parameter[]): Promise<string | undefined> {
  const explain = db.dialect === 'sqlite' ? 'explain query plan' : 'explain'
  const lines = await db.query<Record<string, unknown>>(`${explain} ${sql}`, parameters)
  const isWhole = (line: Record<string, unknown>): boolean => {
    if (isMysql(db)) {
      return /^(?:async_task|a0)$/.test(String(line['table'])) && /^(?:ALL|index)$/.test(String(line['type']))
    }
    return /\bSCAN (?:async_task|a0)\b|Seq Scan on async_task\b/.test(JSON.stringify(line))
  }
  return lines.some(isWhole) ? `${sql}\n${JSON.stringify(lines, undefined, 1)}` : undefined
}

onDatabase(t, 'no statement about tasks reads the whole table, whatever the table contains', async (t, db) => {
  const {
    db: database,
    tasks,
    running,
    clock,
  } = await startTasks(t, db, {
    handle: (tasks) => tasks.handle(reportTaskType, () => {}),
  })
  const columns = `id, type, owner_id, locale, params, status, cancel_requested, progress, attempts, fence, beat, created_at,
    finished_at, artifact_disk`
  // MariaDB limits recursion to 1,000 steps.
  const numbers = `with recursive part(n) as (select 0 union all select n + 1 from part where n < 99),
    numbers(n) as (select one.n * 100 + other.n + 1 from part as one cross join part as other)`
  const fill = (first: number, type: string, status: string, finishedAt: Date | null, disk: string | null = null) => {
    const rows = `select ${first} + n, '${type}', n % 50, 'en', '{}', '${status}', ?, 0, 0, 0, 0, ?, ?, ? from numbers`
    const into = `insert into async_task (${columns})`
    const statement = db.dialect === 'sqlite' ? `${numbers} ${into} ${rows}` : `${into} ${numbers} ${rows}`
    return database.execute(statement, [false, longAgo, finishedAt, disk])
  }
  await fill(0, 'shop.gone', 'queued', null)
  await fill(many, 'shop.done', 'succeeded', longAgo)
  await fill(2 * many, 'shop.done', 'failed', new Date(clock.now()), 'local')
  await database.execute(isMysql(database) ? 'analyze table async_task' : 'analyze async_task')

  const { statements, clear, plansOf } = watchStatements(database, 'async_task')
  await rejectsWith(t, tasks.submit(reportTaskType, { rows: 1 }, { ownerId: 7 }), { message: /Too many tasks/ })
  await advanceUntil(clock, () => [...statements.keys()].some((sql) => sql.includes('turn >= 0')), 'a worker looks')
  const window = { orderBy: [{ property: 'id', direction: 'desc' }], size: 20, count: 'capped' } as const
  const none = { type: 'shop.none' }
  const { items, next } = await tasks.list({ status: 'queued' }, { size: 20, count: 'none' })
  t.equal(items.length, 20)
  await tasks.list({ status: 'queued' }, { ...window, after: next ?? [], count: 'none' })
  await tasks.list(none, window)
  await tasks.list({ type: 'shop.done', status: 'succeeded' }, { ...window, count: 'none' })
  await tasks.list({ ownerId: 7 }, { ...window, count: 'none' })
  await tasks.get(1)
  // The plans are read before the purge, because the purge removes most rows.
  const [all, found] = [new Map(statements), [] as string[]]
  for (const [sql, parameters] of all) found.push((await wholeRead(database, sql, parameters)) ?? '')
  clear()
  const ended = new AbortController()
  const purge = running.service(declaredTasks).scheduledTasks.find(({ name }) => name === 'async-task.purge')
  const purging = purge?.run(ended.signal)
  ended.abort()
  await purging
  for (const [sql, parameters] of [...statements]) found.push((await wholeRead(database, sql, parameters)) ?? '')
  t.same(
    found.filter((whole) => whole !== ''),
    [],
  )
  t.ok(all.size >= 9, `of ${all.size} statements and ${statements.size} of the purge`)

  await purge?.run(new AbortController().signal)
  const left = { type: 'shop.done' }
  t.equal(
    (await tasks.list(left, { count: 'exact' })).total,
    many,
    'what is old and left no file is gone, the young ones stay',
  )

  const both = await plansOf(() => tasks.list({ type: 'shop.done', status: 'queued' }, { ...window, count: 'none' }))
  const expected = { indexes: ['async_task_type_status_id_index'], sorts: false }
  // MariaDB probes each index and finds no matching rows, so its plan is not compared.
  if (db.dialect !== 'mariadb') assertMembers(t, both, [expected], 'both filters at once, which never occur together')
})
