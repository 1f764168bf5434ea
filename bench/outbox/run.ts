/**
 * Measures the delivery of a backlog of events by one process on each database, and by several processes on PostgreSQL
 * with Redis.
 *
 * Usage: `node bench/outbox/run.ts [--rounds 5] [--events 4000] [--database sqlite] [--only one] [--processes 1]`.
 * `--database`, `--only` (`one`, `several`) and `--processes` may be repeated.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Database, database } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import type { TestDialect } from '@plinth/dev/testing/database'
import { skipWithoutRedisProgram, startRedis } from '@plinth/dev/testing/shared-store'
import { type EventRef, events } from '@plinth/events'
import type { JsonValue } from '@plinth/kernel'
import { type OpenDatabase, onDatabases, settingsOf, settingsText } from '../databases.ts'
import { type Bar, barsText, reportOmission, sectionText } from '../kernel/report.ts'
import { quantile, ratio, type Spread, spread } from '../kernel/statistics.ts'
import { nothing, outboxProduct, row } from './product.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    events: { type: 'string', default: '4000' },
    database: { type: 'string', multiple: true, default: ['sqlite', 'postgresql', 'mariadb'] },
    only: { type: 'string', multiple: true, default: ['one', 'several'] },
    processes: { type: 'string', multiple: true, default: ['1', '2', '4'] },
  },
})
const rounds = Number(values.rounds)
const count = Number(values.events)
const keys = 50

interface Backlog {
  readonly name: string
  readonly ref: EventRef<{ readonly n: number }>
  readonly isKeyed: boolean
}
const backlogs: readonly Backlog[] = [
  { name: 'no key, handler that does nothing', ref: nothing, isKeyed: false },
  { name: `${keys} keys, handler that does nothing`, ref: nothing, isKeyed: true },
  { name: 'no key, handler that writes a row in its transaction', ref: row, isKeyed: false },
  { name: `${keys} keys, handler that writes a row in its transaction`, ref: row, isKeyed: true },
]

type Config = Readonly<Record<string, JsonValue>>

async function startWorker(config: Config): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'worker.ts'), [JSON.stringify(config)], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  const started = await Promise.race([once(child, 'message'), once(child, 'exit').then(() => undefined)])
  if (started === undefined) throw new Error('The worker did not start')
  return child
}

async function ask<T>(worker: ChildProcess, call: string): Promise<T> {
  const answered = once(worker, 'message')
  worker.send(call)
  const [answer] = await answered
  return answer
}

async function endWorkers(workers: readonly ChildProcess[]): Promise<void> {
  for (const worker of workers) {
    const ended = once(worker, 'exit')
    worker.disconnect()
    await ended
  }
}

const startPublisher = (config: Config) => startForTest(outboxProduct(config), { roles: ['web'] })
type Publisher = Awaited<ReturnType<typeof startPublisher>>

interface Delivered {
  /** CPU seconds of all workers together. */
  readonly cpu: number
  readonly seconds: number
}

const pendingCount = async (db: Database) =>
  Number((await db.query<{ n: unknown }>(`select count(*) as n from outbox_event where status = 'pending'`))[0]?.n)

/** Publishes the events in one transaction, and waits until the workers have delivered them. */
async function deliver(
  publisher: Publisher,
  workers: readonly ChildProcess[],
  { ref, isKeyed }: Backlog,
): Promise<Delivered> {
  const db = publisher.service(database)
  const bus = publisher.service(events)
  for (const table of ['outbox_event', 'outbox_stream', 'bench_effect']) await db.execute(`delete from ${table}`)
  await db.transactional(
    async () => {
      for (let n = 0; n < count; n++) await bus.publish(ref, { n }, isKeyed ? { key: `key:${n % keys}` } : {})
      for (const worker of workers) await ask(worker, 'mark')
    },
    { timeoutMs: 600_000 },
  )
  const start = performance.now()
  await Promise.all(workers.map((worker) => ask(worker, 'deliver')))
  while ((await pendingCount(db)) > 0) await pause(20)
  const seconds = (performance.now() - start) / 1_000
  let cpu = 0
  for (const worker of workers) cpu += await ask<number>(worker, 'cpu')
  const [effects] = await db.query<{ n: unknown }>('select count(*) as n from bench_effect')
  const expected = ref === row ? count : 0
  if (Number(effects?.n) !== expected) throw new Error(`${effects?.n} effects instead of ${expected}`)
  return { cpu, seconds }
}

const text = ({ median, min, max }: Spread, digits = 0) =>
  `${median.toFixed(digits)} (${min.toFixed(digits)}..${max.toFixed(digits)})`

async function measureOne(dialect: TestDialect, open: OpenDatabase): Promise<void> {
  const { config } = await open()
  const publisher = await startPublisher(config)
  const worker = await startWorker(config)
  const table = [['backlog', 'deliveries per CPU second', 'deliveries per second']]
  for (const backlog of backlogs) {
    const found: Delivered[] = []
    // The first round is the warm-up and is not counted.
    for (let round = 0; round <= rounds; round++) found.push(await deliver(publisher, [worker], backlog))
    const counted = found.slice(1)
    table.push([
      backlog.name,
      text(spread(counted.map(({ cpu }) => count / cpu))),
      text(spread(counted.map(({ seconds }) => count / seconds))),
    ])
  }
  const waits = (await ask<number[]>(worker, 'waits')).slice(50)
  const settings = settingsText(await settingsOf(publisher.service(database), dialect))
  await endWorkers([worker])
  await publisher.stop('done')
  const notes = [
    `${rounds} rounds of ${count} events`,
    `from the commit of a single event to its handler: p50 ${quantile(waits, 0.5).toFixed(2)} ms, p99 ${quantile(waits, 0.99).toFixed(2)} ms`,
  ]
  console.log(`${sectionText({ title: `Outbox: ${dialect}`, settings, tables: [table], notes, bars: [] })}\n`)
}

async function measureSeveral(_: TestDialect, open: OpenDatabase): Promise<readonly Bar[]> {
  if (skipWithoutRedisProgram !== false) {
    reportOmission('several processes', skipWithoutRedisProgram)
    return []
  }
  const redis = await startRedis()
  try {
    const config = { ...(await open()).config, ...redis.config }
    const publisher = await startPublisher(config)
    const rates = new Map<number, { readonly [name: string]: number[] }>()
    const sizes = values.processes.map(Number)
    for (const size of sizes) {
      const workers = await Promise.all(Array.from({ length: size }, () => startWorker(config)))
      const found: Record<string, number[]> = {}
      for (const backlog of backlogs) {
        for (let round = 0; round <= rounds; round++) {
          const { seconds } = await deliver(publisher, workers, backlog)
          if (round > 0) found[backlog.name] = [...(found[backlog.name] ?? []), count / seconds]
        }
      }
      rates.set(size, found)
      await endWorkers(workers)
    }
    const settings = settingsText(await settingsOf(publisher.service(database), 'postgresql'))
    await publisher.stop('done')
    const of = (size: number, name: string) => rates.get(size)?.[name] ?? []
    const table = [
      ['backlog', ...sizes.map((size) => `${size} processes: deliveries per second`)],
      ...backlogs.map(({ name }) => [name, ...sizes.map((size) => text(spread(of(size, name))))]),
    ]
    const notes = [`${rounds} rounds of ${count} events; the processes, PostgreSQL and Redis share the processors`]
    const title = 'Outbox: several processes on PostgreSQL and Redis'
    console.log(`${sectionText({ title, settings, tables: [table], notes, bars: [] })}\n`)
    if (!sizes.includes(1)) return []
    return sizes.slice(1).flatMap((size) =>
      backlogs.map(({ name }) => ({
        name: `${size} processes, one process: ${name}`,
        measured: ratio(of(size, name), of(1, name)),
        bar: { atLeast: 1.7 },
        unit: 'ratio' as const,
      })),
    )
  } finally {
    await redis.drop()
  }
}

if (values.only.includes('one')) await onDatabases(values.database, measureOne)
if (values.only.includes('several')) {
  console.log(`## Bars: outbox\n\n${barsText((await onDatabases(['postgresql'], measureSeveral)).flat())}`)
}
