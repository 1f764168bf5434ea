/**
 * Checks on both servers the SQL statements that plugins executed in tests on other databases. It uses a migrated database of the whole
 * product, and lets the server plan each statement without executing it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, database } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import { createDatabase, everyDialect, type TestDialect } from '@plinth/dev/testing/database'
import { defineProduct } from '@plinth/kernel'
import { fullProduct } from '../test/effects/product.ts'
import { addCounts, type Counts } from './count-tests.ts'

interface RecordedStatement {
  readonly dialect: TestDialect
  readonly sql: string
  readonly parameters: readonly (string | number | null)[]
  /** File and line in a plugin. */
  readonly place?: string
}

/** A server can plan only these. */
const isPlannable = (sql: string) => /^\s*(?:select|insert|update|delete|with)\b/i.test(sql)

/** @param folder folder with the files of `recordStatements` */
export async function checkStatements(folder: string): Promise<Counts> {
  const recorded = readdirSync(folder)
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'))
    .map((line): RecordedStatement => JSON.parse(line))
    .filter(({ sql, place }) => place !== undefined && isPlannable(sql))
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const { dialect, skip } of everyDialect) {
    if (dialect === 'sqlite') continue
    if (skip !== false) counts.skipped += 1
    else await onServer(dialect, async (db) => addCounts(counts, await checkOn(db, dialect, recorded)))
  }
  return counts
}

async function onServer(dialect: TestDialect, work: (db: Database) => Promise<void>): Promise<void> {
  const place = await createDatabase(dialect)
  const product = defineProduct({ ...fullProduct, config: { ...fullProduct.config, ...place.config } })
  const running = await startForTest(product, { set: { 'platform.http.port': '0' } })
  try {
    await work(running.service(database))
  } finally {
    await running.stop('checked')
    await place.drop()
  }
}

/**
 * Lets a server plan all statements that it has not executed itself. A place in the source that executed another text on this server has
 * a branch for each dialect, so a text that is not valid here is no problem.
 */
async function checkOn(db: Database, dialect: TestDialect, recorded: readonly RecordedStatement[]): Promise<Counts> {
  const executed = recorded.filter((one) => one.dialect === dialect)
  const known = new Set(executed.map(({ sql }) => sql))
  const branches = new Set(executed.map(({ place }) => place))
  const others = Map.groupBy(
    recorded.filter(({ sql }) => !known.has(sql)),
    ({ sql }) => sql,
  )
  const counts = { passed: known.size, failed: 0, skipped: 0 }
  const byPlugin = new Map<string, number>()
  for (const [sql, places] of others) {
    const [{ parameters = [], place = '' } = {}] = places
    try {
      await db.query(`explain ${sql}`, parameters)
      counts.passed += 1
    } catch (error) {
      if (places.some((one) => branches.has(one.place))) continue
      counts.failed += 1
      console.log(`FAILED on ${dialect}: ${place}: ${error instanceof Error ? error.message : error}\n  ${sql}`)
    }
    const [, plugin = ''] = place.split('/')
    byPlugin.set(plugin, (byPlugin.get(plugin) ?? 0) + 1)
  }
  console.log(
    `${dialect}: ${known.size} statements executed, ${others.size} others planned (${[...byPlugin].map(([plugin, count]) => `${plugin} ${count}`).join(', ')})`,
  )
  return counts
}
