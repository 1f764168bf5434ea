/**
 * Measures what a running product costs as its data grows, on SQLite and on PostgreSQL. Each API call is measured on a
 * product with a thousand rows per table and on one with a million. Then the purges run while liveness is probed.
 *
 * Usage: `node bench/growth/run.ts [--rows 1000000] [--database sqlite] [--only purges] [--idle 20]`. `--database` and
 * `--only` may be repeated.
 */
import { loadavg } from 'node:os'
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { TestDialect } from '@plinth/dev/testing/database'
import { type OpenDatabase, onDatabases } from '../databases.ts'
import { sectionText } from '../kernel/report.ts'
import { quantile } from '../kernel/statistics.ts'
import { calls, pathWithQuery } from './calls.ts'
import type { ProductUsage, PurgeBlockingTimes } from './product.ts'
import { type ProductProcess, startProductProcess } from './product-process.ts'
import { type Sizes, sizesForRows, smallSizes } from './sizes.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    database: { type: 'string', multiple: true, default: ['sqlite', 'postgresql'] },
    only: { type: 'string', multiple: true, default: ['idle', 'calls', 'purges'] },
    idle: { type: 'string', default: '20' },
  },
})
const rounds = 3
/**
 * Maximum number of rounds for a call that seems to take longer with more rows. On a busy host, most of these calls
 * only seem slower, because other programs delay them.
 */
const maxRounds = 25
const muchLonger = 2.5
const settleMs = 5_000
const idleMs = Number(values.idle) * 1000
const sizes = { small: smallSizes, big: sizesForRows(Number(values.rows)) }

/** Each list is called without a total count, with a count up to a cap, and with an exact count. */
const countings = ['none', 'capped', 'exact'] as const
const ms = (value: number) => value.toFixed(value < 10 ? 1 : 0)

async function get(product: ProductProcess, path: string): Promise<{ readonly ms: number; readonly text: string }> {
  const start = performance.now()
  const headers = { authorization: `Bearer ${product.token}` }
  const response = await fetch(`${product.url}${path}`, { headers })
  const text = await response.text()
  const took = performance.now() - start
  const isEnvelope = response.headers.get('content-type')?.startsWith('application/json') && path.startsWith('/api/')
  if (!response.ok || (isEnvelope && JSON.parse(text).code !== '200')) {
    throw new Error(`${path} answers ${response.status}: ${text.slice(0, 1_000)}`)
  }
  return { ms: took, text }
}

/**
 * Calls a path alternately on the small and on the large product. Returns the fastest calls in milliseconds, as `small
 * -> big xRatio`.
 */
async function compared(products: Products, path: (product: ProductProcess) => Promise<string>): Promise<string> {
  const paths = { small: await path(products.small), big: await path(products.big) }
  const quickest = { small: Number.POSITIVE_INFINITY, big: Number.POSITIVE_INFINITY }
  const isLonger = () => quickest.big > quickest.small * muchLonger
  for (let round = 0; round < rounds || (round < maxRounds && isLonger()); round++) {
    for (const size of ['small', 'big'] as const) {
      quickest[size] = Math.min(quickest[size], (await get(products[size], paths[size])).ms)
    }
  }
  const { small: few, big: many } = quickest
  return `${ms(few)} -> ${ms(many)} x${(many / few).toFixed(1)}`
}

/** Returns the path of the second page. */
async function nextPage(product: ProductProcess, path: string): Promise<string> {
  const { text } = await get(product, pathWithQuery(path, 'count=none'))
  const { next } = JSON.parse(text).data as { next: string | null }
  return next === null ? pathWithQuery(path, 'count=none') : pathWithQuery(path, `cursor=${next}`)
}

interface Products {
  readonly small: ProductProcess
  readonly big: ProductProcess
}

async function measureCalls(products: Products): Promise<string[][]> {
  const table = [['call, ms', ...countings.map((count) => `count=${count}`), 'next page']]
  for (const { name, path, kind } of calls) {
    if (kind === 'single') {
      table.push([name, await compared(products, async () => path), '', '', ''])
      continue
    }
    const row = [name]
    for (const count of countings) row.push(await compared(products, async () => pathWithQuery(path, `count=${count}`)))
    table.push([...row, await compared(products, (product) => nextPage(product, path))])
  }
  return table
}

const purges = [
  { task: 'iam.purge', tables: ['iam_token', 'iam_api_token', 'iam_login_audit', 'iam_audit'] },
  { task: 'events.purge', tables: ['outbox_event'] },
  { task: 'notification.send-log.purge', tables: ['notification_send_log', 'notification_message'] },
  { task: 'notification.rules.purge', tables: ['notification_rule_state'] },
  { task: 'notification.inbox.purge', tables: ['notification_inbox_item'] },
  { task: 'async-task.purge', tables: ['async_task'] },
  { task: 'open-platform.purge', tables: ['open_call', 'open_call_day'] },
  { task: 'money.purge', tables: ['money_finding', 'money_reconciliation'] },
  { task: 'member-points.purge', tables: ['points_expire_batch'] },
  { task: 'approval.purge', tables: ['approval_instance'] },
  {
    task: 'money.web3.settlement.purge',
    tables: [
      'web3_settlement_review_log',
      'web3_payment_callback_log',
      'web3_settlement_retry',
      'web3_settlement_audit_log',
    ],
  },
] as const

/** Removes the old rows while a client requests `/health/live` every 20 ms without waiting for earlier responses. */
async function measurePurges(product: ProductProcess): Promise<string[][]> {
  const held = ['turn ms', 'turn CPU ms', 'write ms']
  const table = [['purge', 'rows', 'seconds', 'rows/s', 'probes', 'p99 ms', 'longest ms', ...held]]
  for (const { task, tables } of purges) {
    const before = Number(await product.ask({ call: 'rows', tables }))
    const probes: Promise<number>[] = []
    const probing = setInterval(() => probes.push(live(product)), 20)
    const start = performance.now()
    const { turnMs, turnCpuMs, writeMs } = (await product.ask({ call: 'purge', task })) as PurgeBlockingTimes
    const seconds = (performance.now() - start) / 1000
    clearInterval(probing)
    probes.push(live(product))
    const took = await Promise.all(probes)
    const removed = before - Number(await product.ask({ call: 'rows', tables }))
    table.push([
      task,
      String(removed),
      seconds.toFixed(1),
      (removed / seconds).toFixed(0),
      String(took.length),
      ms(quantile(took, 0.99)),
      ms(Math.max(...took)),
      ms(turnMs),
      ms(turnCpuMs),
      ms(writeMs),
    ])
  }
  return table
}

async function live(product: ProductProcess): Promise<number> {
  const start = performance.now()
  const response = await fetch(`${product.url}/health/live`)
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`/health/live answers ${response.status}`)
  return performance.now() - start
}

async function measureIdle(products: Products): Promise<string[][]> {
  const used = async (product: ProductProcess) => (await product.ask({ call: 'used' })) as ProductUsage
  const table = [['product', 'statements/s', '% of a core']]
  const before = { small: await used(products.small), big: await used(products.big) }
  await pause(idleMs)
  for (const size of ['small', 'big'] as const) {
    const after = await used(products[size])
    table.push([
      size,
      (((after.statements - before[size].statements) * 1000) / idleMs).toFixed(2),
      (((after.cpuMs - before[size].cpuMs) * 100) / idleMs).toFixed(2),
    ])
  }
  return table
}

async function measure(dialect: TestDialect, open: OpenDatabase): Promise<void> {
  const ends: (() => Promise<void>)[] = []
  const start = async (size: Sizes) => {
    const db = await open()
    const product = await startProductProcess(db.config)
    ends.push(() => product.end())
    const begun = performance.now()
    await product.ask({ call: 'fill', sizes: size })
    return { product, seconds: (performance.now() - begun) / 1000 }
  }
  try {
    const few = await start(sizes.small)
    const many = await start(sizes.big)
    const products = { small: few.product, big: many.product }
    await pause(settleMs)
    const parts = { idle: measureIdle, calls: measureCalls, purges: ({ big }: Products) => measurePurges(big) }
    const tables: string[][][] = []
    for (const [part, measurePart] of Object.entries(parts)) {
      if (values.only.includes(part)) tables.push(await measurePart(products))
    }
    const notes = [
      `${Object.entries(sizes.big)
        .map(([name, rows]) => `${name} ${rows}`)
        .join(', ')}; small: 1,000 of each`,
      `filled in ${many.seconds.toFixed(0)} s; small -> big, the best of ${rounds} each, of up to ${maxRounds} above x${muchLonger}`,
      `load of the machine ${loadavg()
        .map((load) => load.toFixed(1))
        .join(', ')}`,
    ]
    console.log(
      `${sectionText({ title: `Growth: ${dialect}`, settings: String(await few.product.ask({ call: 'settings' })), tables, notes, bars: [] })}\n`,
    )
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

// MariaDB is not measured, because there are no statements to fill its tables.
await onDatabases(
  values.database.filter((name) => name !== 'mariadb'),
  measure,
)
