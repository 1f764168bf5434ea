/**
 * Measures concurrent writes to the quickstart on SQLite: accepted and rejected calls, waiting times of the clients,
 * and the responses of `/health/live` meanwhile. `node bench/overload/run.ts [--callers 2000] [--rounds 5]`.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { ProductUsage } from '../growth/product.ts'
import { startProductProcess } from '../growth/product-process.ts'
import { BenchChildProcess } from '../kernel/child-process.ts'
import { type Bar, barsText, sectionText } from '../kernel/report.ts'
import { quantile, ratio, type Spread, spread } from '../kernel/statistics.ts'
import type { CallersResult, Exchange, Job } from './callers.ts'

const { values } = parseArgs({
  options: { callers: { type: 'string', default: '2000' }, rounds: { type: 'string', default: '5' } },
})
const callers = Number(values.callers)
const rounds = Number(values.rounds)

/** The load that is used in one round. */
interface Kind extends Pick<Job, 'callers' | 'isKept' | 'seconds'> {
  readonly name: string
  /** True if the load runs against Node.js without a framework. */
  readonly isBare?: true
}
const once = { name: `${callers} new connections, a write each`, callers, isKept: false, seconds: 0 }
const onceOpen = { name: `${callers} open connections, a write each`, callers, isKept: true, seconds: 0 }
const again = { name: `${callers} callers for 8 s, again after Retry-After`, callers, isKept: true, seconds: 8 }
/** The load of a busy day, at which almost no call is rejected. */
const calm = { name: '16 callers for 4 s', callers: 16, isKept: true, seconds: 4 }
const bare = { ...once, name: `${callers} new connections, Node.js alone refuses all`, isBare: true } as const
const kinds: readonly Kind[] = [calm, once, onceOpen, again, bare]

/** Results of one round. All times are in milliseconds. */
interface Round {
  readonly accepted: readonly Exchange[]
  readonly refused: readonly Exchange[]
  readonly other: number
  readonly acceptedPerSecond: number
  readonly liveness: readonly number[]
  readonly serverCpuMs: number
  readonly done: CallersResult
}

const product = await startProductProcess({})
const bareServer = new BenchChildProcess(join(import.meta.dirname, 'bare-server.ts'))
const ports = { product: Number(new URL(product.url).port), bare: await bareServer.next<number>() }
const client = new BenchChildProcess(join(import.meta.dirname, 'callers.ts'))
const probers = {
  product: new BenchChildProcess(join(import.meta.dirname, 'prober.ts'), [String(ports.product)]),
  bare: new BenchChildProcess(join(import.meta.dirname, 'prober.ts'), [String(ports.bare)]),
}
let jobs = 0

async function play({ callers, isKept, seconds, isBare }: Kind): Promise<Round> {
  const target = isBare ? 'bare' : 'product'
  await probers[target].ask({})
  const used = async () => ((await product.ask({ call: 'used' })) as ProductUsage).cpuMs
  const before = await used()
  const job: Job = { port: ports[target], token: product.token, name: `job-${++jobs}`, callers, isKept, seconds }
  const done = await client.ask<CallersResult>(job)
  const serverCpuMs = (await used()) - before
  const of = (status: number) => done.exchanges.filter((exchange) => exchange.status === status)
  const [accepted, refused] = [of(200), of(503).filter(({ retryAfter }) => Number(retryAfter) >= 1)]
  return {
    accepted,
    refused,
    other: done.exchanges.length - accepted.length - refused.length,
    acceptedPerSecond:
      (1000 * accepted.length) / Math.max(1000 * seconds, ...accepted.map(({ endedAt }) => endedAt), 1),
    liveness: await probers[target].ask<number[]>({}),
    serverCpuMs,
    done,
  }
}

const times = (exchanges: readonly Exchange[]) => exchanges.map(({ ms }) => ms)
const whole = (value: number) => value.toFixed(0)
const text = ({ median, min, max }: Spread, digits = 0) =>
  `${median.toFixed(digits)} (${min.toFixed(digits)}..${max.toFixed(digits)})`
const three = (list: readonly number[]) =>
  list.length === 0 ? 'none' : [quantile(list, 0.5), quantile(list, 0.99), Math.max(...list)].map(whole).join(' / ')

const played = new Map(kinds.map((kind) => [kind, [] as Round[]]))
try {
  await play(calm)
  for (let round = 0; round < rounds; round++) {
    for (const kind of kinds) played.get(kind)?.push(await play(kind))
  }
} finally {
  await Promise.all([product, bareServer, client, probers.product, probers.bare].map((child) => child.end()))
}

const of = (kind: Kind) => played.get(kind) ?? []
const each = (kind: Kind, figure: (round: Round) => number) => spread(of(kind).map(figure))
const together = (kind: Kind, list: (round: Round) => readonly number[]) => of(kind).flatMap(list)
const slowestLiveness = ({ liveness }: Round) => Math.max(...liveness)
const rate = ({ acceptedPerSecond }: Round) => acceptedPerSecond

const bars: Bar[] = [
  ...[once, onceOpen, again].flatMap((kind): Bar[] => [
    {
      name: `${kind.name}: p99 of what is accepted, at the client`,
      measured: each(kind, ({ accepted }) => quantile(times(accepted), 0.99)),
      bar: { atMost: 2000 },
      unit: 'ms',
    },
    {
      name: `${kind.name}: longest liveness`,
      measured: each(kind, slowestLiveness),
      bar: { atMost: 200 },
      unit: 'ms',
    },
  ]),
  {
    name: `${once.name}: longest liveness / of Node.js alone`,
    measured: ratio(of(once).map(slowestLiveness), of(bare).map(slowestLiveness)),
    bar: { atMost: 2 },
    unit: 'ratio',
  },
  {
    name: `${again.name}: accepted per second / without overload`,
    measured: ratio(of(again).map(rate), of(calm).map(rate)),
    bar: { atLeast: 0.7 },
    unit: 'ratio',
  },
]
const section = {
  title: 'Overload',
  tables: [
    [
      ['writes', 'accepted', 'refused', 'other', 'accepted, ms', 'refused, ms', 'liveness, ms', 'accepted/s'],
      ...kinds.map((kind) => [
        kind.name,
        text(each(kind, ({ accepted }) => accepted.length)),
        text(each(kind, ({ refused }) => refused.length)),
        text(each(kind, ({ other }) => other)),
        three(together(kind, ({ accepted }) => times(accepted))),
        three(together(kind, ({ refused }) => times(refused))),
        three(together(kind, ({ liveness }) => liveness)),
        text(each(kind, ({ acceptedPerSecond }) => acceptedPerSecond)),
      ]),
    ],
    [
      ['writes', 'CPU of the server, ms', 'CPU of the callers, ms', 'longest stall of the callers, ms'],
      ...kinds.map((kind) => [
        kind.name,
        text(each(kind, ({ serverCpuMs }) => serverCpuMs)),
        text(each(kind, ({ done }) => done.cpuMs)),
        text(each(kind, ({ done }) => done.stallMs)),
      ]),
    ],
  ],
  notes: [
    `${rounds} rounds against one product; a write creates a role, with its audit, in one transaction that is synced to disk`,
    'other: neither 200 nor 503 with Retry-After',
    'times are p50 / p99 / longest of all rounds at the client, from its call for a connection (or its request on an open one) to the end of the answer',
    'server, callers and prober are processes of their own; liveness is asked every 20 ms on a new connection',
  ],
  bars,
}
console.log(`${sectionText(section)}\n\n${barsText(bars)}`)
