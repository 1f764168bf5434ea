/**
 * Measures one to four instances of the product on each database: outbox deliveries, notification sends, ledger postings
 * and HTTP requests. Fits a model to the figures. `node bench/scale/run.ts [--database postgresql] [--runs 3] [--seconds 4]
 * [--instances 4] [--small] [--in-memory] [--write-docs]`.
 *
 * Everything runs on this machine: instances, database, Redis and callers share its cores. `--small` is the size of the
 * tests. `--in-memory` allows a temporary directory in memory, where commits are too fast. `--write-docs` writes
 * `bench/scale/figures.json` and the pages that contain the figures.
 */
import { writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import databasePlugin, { database } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import type { TestDialect } from '@plinth/dev/testing/database'
import { startRedis } from '@plinth/dev/testing/shared-store'
import { defineProduct } from '@plinth/kernel'
import { writeFiguresPages } from '../../scripts/figures-page.ts'
import { type OpenDatabase, onDatabases, settingsOf, settingsText } from '../databases.ts'
import { tableText } from '../kernel/report.ts'
import { median, quantile } from '../kernel/statistics.ts'
import {
  type DatabaseFigures,
  type Figures,
  isDisturbed,
  type Measurement,
  type QueueFigure,
  validOf,
  type Work,
  works,
} from './figures.ts'
import { type Callers, cpuOfServers, type Instance, killAll, startCallers, startInstance } from './instances.ts'
import { addSamples, type Sample } from './meter.ts'
import { littleError, type Prediction, predict, type Rates, responseQuantilesMs } from './model.ts'

const { values } = parseArgs({
  options: {
    database: { type: 'string', multiple: true, default: ['sqlite', 'postgresql', 'mariadb'] },
    runs: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
    instances: { type: 'string', default: '4' },
    small: { type: 'boolean', default: false },
    'in-memory': { type: 'boolean', default: false },
    'write-docs': { type: 'boolean', default: false },
    /** File for the result; default: none, or `bench/scale/figures.json` with `--write-docs`. */
    output: { type: 'string' },
  },
})
const runs = values.small ? 1 : Number(values.runs)
const seconds = values.small ? 1 : Number(values.seconds)
const maxInstances = Math.min(4, Number(values.instances))
const warmSeconds = values.small ? 0.3 : 1
/** Callers in each instance. On PostgreSQL and MariaDB, an instance has 10 database connections. */
const callersPerInstance: Readonly<Record<Exclude<Work, 'outbox'>, number>> = {
  send: 32,
  posting: 32,
  hot: 32,
  http: 16,
}
/** Measured shares of the capacity. Times at the first one count as times without waiting. */
const unloaded = 0.05
const loads = [0.3, 0.6, 0.8]
/** A measurement that violates a rule is repeated this many times. */
const maxRepetitions = 2
const maxLittleError = 0.05
/** Sends whose call ended before their row was written, at the end of a measurement, are allowed. */
const minRecordedShare = 0.9
/** Clock ticks of the kernel and of the timers are not exact, so slightly more than all cores may seem to be used. */
const maxUsedShare = 1.05
const cores = availableParallelism()

const percent = (share: number) => `${(share * 100).toFixed(0)} %`

interface Bench {
  readonly instances: Instance[]
  readonly callers: Callers
  readonly target: { readonly token: string; readonly path: string }
}

/** CPU milliseconds of the parts of the benchmark, and of all programs of the machine. */
interface Used {
  /** Monotonic time in milliseconds. */
  readonly at: number
  readonly machine: number
  readonly product: number
  readonly database: number
  readonly redis: number
}

async function usedBy({ instances }: Bench): Promise<Used> {
  const each = await Promise.all(instances.map((instance) => instance.ask<number>({ call: 'cpu' })))
  const machine = cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0)
  return { at: performance.now(), product: each.reduce((sum, ms) => sum + ms, 0), machine, ...cpuOfServers() }
}

/** Runs a kind of work on all instances at the same time. Returns its figures, and the CPU time of the callers. */
async function sampleOf(bench: Bench, work: Work, forSeconds: number): Promise<{ sample: Sample; callersMs: number }> {
  const { instances, callers, target } = bench
  if (work === 'http') {
    const ports = instances.map(({ port }) => port)
    const job = { ...target, ports, seconds: forSeconds, callers: callersPerInstance.http }
    const { sample, cpuMs } = await callers.run(job)
    return { sample, callersMs: cpuMs }
  }
  const samples = await Promise.all(
    instances.map((instance) =>
      work === 'outbox'
        ? instance.ask<Sample>({ call: 'deliver', seconds: forSeconds })
        : instance.ask<Sample>({ call: 'work', work, callers: callersPerInstance[work], seconds: forSeconds }),
    ),
  )
  return { sample: addSamples(samples), callersMs: 0 }
}

/**
 * Expected deliveries per second of an instance. If no event is left at the end of a measurement, more are published and the
 * measurement is repeated.
 */
const firstExpectation = 200
let expectedDeliveries = firstExpectation
const minBacklog = 200
/** The expectation grows by this factor, at most this number of times. */
const growth = 4
const maxGrowths = 5

/** Publishes so many events that deliveries never run out during a measurement, and waits for the first deliveries. */
async function fillOutbox(bench: Bench): Promise<void> {
  const { instances } = bench
  const count = Math.ceil(expectedDeliveries * instances.length * (seconds + warmSeconds) * 1.5) + minBacklog
  await instances[0]?.ask({ call: 'publish', count })
  await sampleOf(bench, 'outbox', warmSeconds)
}

/** Waits until no event is left, so that deliveries do not affect the next measurement. */
async function emptyOutbox({ instances: [first] }: Bench): Promise<void> {
  const end = performance.now() + 120_000
  while (((await first?.ask<number>({ call: 'open' })) ?? 0) > 0) {
    if (performance.now() > end) throw new Error('The outbox is not empty after two minutes.')
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

async function measureOnce(bench: Bench, work: Work, run: number): Promise<Measurement> {
  if (work === 'outbox') await fillOutbox(bench)
  else await sampleOf(bench, work, warmSeconds)
  const recordedOf = () => (work === 'send' ? bench.instances[0]?.ask<number>({ call: 'recorded' }) : undefined)
  const recordedBefore = (await recordedOf()) ?? 0
  const before = await usedBy(bench)
  const { sample, callersMs } = await sampleOf(bench, work, seconds)
  const after = await usedBy(bench)
  const recorded = ((await recordedOf()) ?? Number.POSITIVE_INFINITY) - recordedBefore
  const isEmpty = work === 'outbox' && (await bench.instances[0]?.ask<number>({ call: 'open' })) === 0
  const perSecond = (sample.calls * 1_000) / sample.ms
  if (work === 'outbox') {
    expectedDeliveries = isEmpty ? expectedDeliveries * growth : perSecond / bench.instances.length
    await emptyOutbox(bench)
  }
  const used = after.product + after.database + after.redis - before.product - before.database - before.redis
  // A little longer than the measurement, because the instances are asked before and after it.
  const available = (after.at - before.at) * cores
  const usedShare = (used + callersMs) / available
  const error = littleError(sample.inFlight, perSecond, sample.meanMs)
  const rejected = rejectionOf({
    isEmpty,
    usedShare,
    error,
    failures: sample.failures,
    recordedShare: recorded / sample.calls,
  })
  return {
    run,
    instances: bench.instances.length,
    work,
    perSecond,
    meanMs: sample.meanMs,
    productMs: (after.product - before.product) / sample.calls,
    databaseMs: (after.database - before.database) / sample.calls,
    usedShare,
    machineShare: Math.max(usedShare, (after.machine - before.machine) / available),
    littleError: error,
    rejected,
  }
}

/** Returns the rule that a measurement violates. */
function rejectionOf(facts: {
  readonly isEmpty: boolean
  readonly usedShare: number
  readonly error: number
  readonly failures: number
  /** Rows of the send log that were added, for each send. */
  readonly recordedShare: number
}): Measurement['rejected'] {
  if (facts.failures > 0) return 'failed'
  if (facts.recordedShare < minRecordedShare) return 'unrecorded'
  if (facts.isEmpty) return 'empty'
  if (!(facts.error <= maxLittleError)) return 'little'
  return facts.usedShare > maxUsedShare ? 'utilisation' : null
}

/** Measures a kind of work, and repeats a measurement that violates a rule. */
async function measure(bench: Bench, work: Work, run: number): Promise<Measurement> {
  for (let repetition = 0; ; repetition++) {
    const measurement = await measureOnce(bench, work, run)
    const limit = measurement.rejected === 'empty' ? maxGrowths : maxRepetitions
    if (measurement.rejected === null || repetition >= limit) return measurement
    console.error(`repeated: ${work} with ${bench.instances.length} instances, ${measurement.rejected}`)
  }
}

/** Measures response times of one instance at shares of its capacity, and compares them with the model. */
async function measureQueue({ instances, callers, target }: Bench, capacity: number): Promise<readonly QueueFigure[]> {
  const ports = instances.map(({ port }) => port)
  const at = async (load: number) => {
    const perSecond = capacity * load
    const { timesMs, sample } = await callers.run({ ...target, ports, seconds, perSecond })
    return { perSecond, timesMs, hasFailed: sample.failures > 0 || timesMs.length === 0 }
  }
  await at(unloaded)
  const { timesMs: unloadedMs } = await at(unloaded)
  const mean = unloadedMs.reduce((sum, ms) => sum + ms, 0) / unloadedMs.length
  const variance = unloadedMs.reduce((sum, ms) => sum + (ms - mean) ** 2, 0) / unloadedMs.length
  const figures: QueueFigure[] = []
  for (const load of loads) {
    const { perSecond, timesMs, hasFailed } = await at(load)
    if (hasFailed || unloadedMs.length === 0) continue
    // An instance runs JavaScript on one core, so it is one server.
    const queue = { servers: 1, serviceMs: 1_000 / capacity, variation: Math.sqrt(variance) / mean, load }
    const [p50 = Number.NaN, p95 = Number.NaN] = responseQuantilesMs(queue, unloadedMs, [0.5, 0.95])
    const measured = { p50: quantile(timesMs, 0.5), p95: quantile(timesMs, 0.95) }
    figures.push({ load, perSecond, measured, predicted: { p50, p95 } })
  }
  return figures
}

async function measureDatabase(dialect: TestDialect, open: OpenDatabase): Promise<DatabaseFigures> {
  const isEmbedded = dialect === 'sqlite'
  const most = isEmbedded ? 1 : maxInstances
  const measurements: Measurement[] = []
  const queues: { capacity: number; figures: readonly QueueFigure[] }[] = []
  let settings = ''
  expectedDeliveries = firstExpectation
  for (let run = 1; run <= runs; run++) {
    const at = await open()
    const redis = isEmbedded ? undefined : await startRedis()
    const callers = startCallers()
    const instances: Instance[] = []
    try {
      const config = {
        ...at.config,
        ...redis?.config,
        'platform.system-config.master-key-file': join(at.directory, 'master.key'),
      }
      instances.push(await startInstance(config))
      const target = await (instances[0] as Instance).ask<Bench['target']>({ call: 'prepare' })
      settings ||= await readSettings(dialect, at.config)
      const bench: Bench = { instances, callers, target }
      // The number of instances goes up and down in turn, so that growing tables do not always affect the same number.
      const counts = Array.from({ length: most }, (_, index) => (run % 2 === 1 ? index + 1 : most - index))
      for (const count of counts) {
        while (instances.length < count) instances.push(await startInstance(config))
        while (instances.length > count) await instances.pop()?.end()
        for (const work of works) {
          const measurement = await measure(bench, work, run)
          measurements.push(measurement)
          const { perSecond, usedShare, machineShare, rejected } = measurement
          const about = `${dialect}, run ${run}, ${count} instances, ${work}`
          console.error(
            `${about}: ${perSecond.toFixed(0)}/s, cores: ${percent(usedShare)}, all programs: ${percent(machineShare)} ${rejected ?? ''}`,
          )
          if (work !== 'http' || count > 1) continue
          queues.push({ capacity: perSecond, figures: await measureQueue(bench, perSecond) })
        }
      }
    } finally {
      await Promise.all([...instances.map((instance) => instance.end()), callers.end()])
      await redis?.drop()
    }
  }
  const [queue] = queues.toSorted((a, b) => a.capacity - b.capacity).slice(Math.floor((queues.length - 1) / 2))
  const figures = {
    dialect,
    hasRedis: !isEmbedded,
    settings,
    measurements,
    queue: queue?.figures ?? [],
    predictions: {},
  }
  return { ...figures, predictions: most < 4 ? {} : predictionsOf(figures) }
}

async function readSettings(dialect: TestDialect, config: DatabaseConfig): Promise<string> {
  const product = defineProduct({
    name: 'settings',
    plugins: [databasePlugin],
    config: { ...config, 'platform.database.migrate-at-start': false },
  })
  const running = await startForTest(product, { roles: ['cli'] })
  try {
    return settingsText(await settingsOf(running.service(database), dialect))
  } finally {
    await running.stop('read')
  }
}

type DatabaseConfig = Awaited<ReturnType<OpenDatabase>>['config']

/** Fits the model to the medians of the valid measurements. A kind of work without a valid one has no prediction. */
function predictionsOf(figures: DatabaseFigures): Partial<Record<Work, Prediction>> {
  const found: Partial<Record<Work, Prediction>> = {}
  for (const work of works) {
    const rates = [1, 2, 3, 4].map((n) => validOf(figures, work, n).map(({ perSecond }) => perSecond))
    if (rates.some(({ length }) => length === 0)) continue
    const [one = 0, two = 0, three = 0, four = 0] = rates.map(median)
    found[work] = predict({ 1: one, 2: two, 3: three, 4: four } satisfies Rates)
  }
  return found
}

function report({ databases }: Figures): string {
  const heading = [
    'database',
    'work',
    'instances',
    'per second (lowest..highest)',
    'product CPU ms',
    'database CPU ms',
    'cores used',
  ]
  const rows = databases.flatMap((figures) =>
    works.flatMap((work) =>
      [1, 2, 3, 4].flatMap((n) => {
        const valid = validOf(figures, work, n)
        if (valid.length === 0) return []
        const of = (value: (one: Measurement) => number) => median(valid.map(value))
        const rates = valid.map(({ perSecond }) => perSecond)
        const rate = `${median(rates).toFixed(0)} (${Math.min(...rates).toFixed(0)}..${Math.max(...rates).toFixed(0)})`
        const [product, server] = [of(({ productMs }) => productMs), of(({ databaseMs }) => databaseMs)]
        const used = `${(of(({ usedShare }) => usedShare) * 100).toFixed(0)} %`
        return [[figures.dialect, work, String(n), rate, product.toFixed(2), server.toFixed(2), used]]
      }),
    ),
  )
  const predictions = databases.flatMap(({ dialect, predictions }) =>
    Object.entries(predictions).map(([work, prediction]) => `${dialect}, ${work}: ${JSON.stringify(prediction)}`),
  )
  const queues = databases.flatMap(({ dialect, queue }) =>
    queue.map((figure) => `${dialect}, one instance, HTTP: ${JSON.stringify(figure)}`),
  )
  return [tableText([heading, ...rows]), ...predictions, ...queues].join('\n')
}

process.once('exit', killAll)
const started = { date: new Date().toISOString().slice(0, 10), loadAtStart: loadavg()[0] ?? 0 }
const figures: Figures = {
  ...started,
  node: process.versions.node,
  processor: cpus()[0]?.model ?? 'unknown',
  cores,
  runs,
  seconds,
  databases: await onDatabases(values.database, measureDatabase, values['in-memory']),
}
console.log(report(figures))
const output = values.output ?? (values['write-docs'] ? join(import.meta.dirname, 'figures.json') : undefined)
if (output !== undefined) writeFileSync(output, `${JSON.stringify(figures, undefined, 2)}\n`)
if (values['write-docs']) writeFiguresPages(figures)
const rejected = figures.databases.flatMap(({ measurements }) => measurements.filter((one) => one.rejected !== null))
const disturbed = figures.databases.flatMap(({ measurements }) => measurements.filter(isDisturbed))
if (disturbed.length > 0) console.error(`${disturbed.length} measurements were disturbed by other programs.`)
if (rejected.length > 0) console.error(`${rejected.length} measurements violate a rule and are excluded.`)
