import { Redis } from 'ioredis'
import type { Bar, Section } from '../kernel/report.ts'
import {
  again,
  type Candidate,
  figures,
  measureInTurns,
  quietCost,
  quietRate,
  type Rounds,
  type Series,
} from './candidates.ts'

const incr: Candidate = { name: 'INCR', program: 'peers.mjs', call: 'incr' }
const pipelined: Candidate = { name: 'INCR, auto-pipelined', program: 'peers.mjs', call: 'incr, pipelined' }
const flexible: Candidate = { name: 'rate-limiter-flexible', program: 'peers.mjs', call: 'window' }
const window: Candidate = { name: 'Plinth shared-window', program: 'plinth.ts', call: 'window' }
const bucket: Candidate = { name: 'Plinth shared-bucket', program: 'plinth.ts', call: 'bucket' }
const candidates: readonly Candidate[] = [
  incr,
  again(incr),
  pipelined,
  flexible,
  { name: 'rate-limiter-flexible, auto-pipelined', program: 'peers.mjs', call: 'window, pipelined' },
  window,
  bucket,
  { name: 'Plinth joint limit of two keys', program: 'plinth.ts', call: 'joint' },
]

/** Bars of the ratios of requests/s: candidate, against what, at least. */
const wanted: Readonly<Record<number, readonly (readonly [Candidate, Candidate, number])[]>> = {
  1: [
    [window, incr, 0.7],
    [window, flexible, 1.1],
  ],
  64: [
    [window, pipelined, 0.9],
    [window, flexible, 1.4],
  ],
  512: [
    [window, pipelined, 1.7],
    [window, flexible, 4],
    [bucket, incr, 0.65],
  ],
}

/** Consumes on Redis with 1, 64 and 512 callers, through the whole limiter. */
export async function measureRedis(port: number, rounds: Rounds): Promise<Section> {
  const admin = new Redis({ port })
  const tables: string[][][] = []
  const bars: Bar[] = []
  try {
    for (const callers of [1, 64, 512]) {
      process.stderr.write(`Redis, ${callers} callers\n`)
      const redisCpu: Record<string, number[]> = {}
      const series = await measureInTurns(candidates, callers, port, rounds, async ({ name }, measure) => {
        const before = await cpuOf(admin)
        const measured = await measure()
        redisCpu[name] = [...(redisCpu[name] ?? []), ((await cpuOf(admin)) - before) / measured.calls]
        return measured
      })
      tables.push(tableOf(callers, series, redisCpu))
      bars.push(...barsOf(callers, series, redisCpu))
    }
  } finally {
    admin.disconnect()
  }
  return {
    title: 'Redis: consume',
    tables,
    notes: [
      `each candidate in a process of its own, ${rounds.rounds} rounds of ${rounds.cpuMs} ms of CPU in turns, 10000 keys; figures of the quietest twentieth of all turns`,
      '"INCR again" is the noise',
      'Plinth is `await rateLimiter.consume()`; what is asked in one turn of the event loop travels in one script',
    ],
    bars,
  }
}

/** CPU time of the server so far, microseconds. */
async function cpuOf(redis: Redis): Promise<number> {
  const info = await redis.info('cpu')
  const read = (name: string) => Number(new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1] ?? 0)
  return (read('used_cpu_sys') + read('used_cpu_user')) * 1e6
}

const against = (series: Series, candidate: Candidate, base: Candidate) =>
  quietRate(series, candidate) / quietRate(series, base)

function tableOf(callers: number, series: Series, redisCpu: Readonly<Record<string, number[]>>): string[][] {
  return [
    [`${callers} callers`, 'x INCR', 'x INCR, auto-pipelined', 'k/s', 'p50 ms', 'p99 ms', 'us CPU', 'us CPU of Redis'],
    ...candidates.map((candidate) => {
      const cost = (figure: 'p50' | 'p99' | 'cpuMicroseconds') => quietCost(figures(series, candidate.name, figure))
      return [
        candidate.name,
        against(series, candidate, incr).toFixed(2),
        against(series, candidate, pipelined).toFixed(2),
        (quietRate(series, candidate) / 1000).toFixed(1),
        cost('p50').toFixed(3),
        cost('p99').toFixed(3),
        cost('cpuMicroseconds').toFixed(1),
        quietCost(redisCpu[candidate.name] ?? []).toFixed(1),
      ]
    }),
  ]
}

function barsOf(callers: number, series: Series, redisCpu: Readonly<Record<string, number[]>>): Bar[] {
  const bars: Bar[] = (wanted[callers] ?? []).map(([candidate, base, atLeast]) => ({
    name: `Redis, ${callers} callers: ${candidate.name} / ${base.name}`,
    measured: against(series, candidate, base),
    bar: { atLeast },
    unit: 'ratio',
  }))
  if (callers < 512) return bars
  const cpu = ({ name }: Candidate) => quietCost(redisCpu[name] ?? [])
  const name = `Redis, ${callers} callers: CPU of Redis, ${window.name} / ${flexible.name}`
  return [...bars, { name, measured: cpu(window) / cpu(flexible), bar: { atMost: 0.5 }, unit: 'ratio' }]
}

/** A denied caller who hammers: answered from memory, against a denial of the memory store. */
export async function measureDenied(port: number, rounds: Rounds): Promise<Section> {
  const memory: Candidate = { name: 'memory store', program: 'plinth.ts', call: 'deny' }
  const shared: Candidate = { name: 'shared-window, remembered', program: 'plinth.ts', call: 'window deny' }
  const series = await measureInTurns([memory, shared], 1, port, rounds)
  return {
    title: 'Redis: a denied key',
    tables: [
      [
        ['denial', 'x memory store', 'million/s'],
        ...[memory, shared].map((candidate) => [
          candidate.name,
          against(series, candidate, memory).toFixed(2),
          (quietRate(series, candidate) / 1e6).toFixed(2),
        ]),
      ],
    ],
    notes: ['Redis is asked once in `platform.rate-limit.deny-cache.ttl`, a second'],
    bars: [
      {
        name: 'a remembered denial / one of the memory store',
        measured: against(series, shared, memory),
        bar: { atLeast: 0.8 },
        unit: 'ratio',
      },
    ],
  }
}
