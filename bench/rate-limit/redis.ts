import { Redis } from 'ioredis'
import { type Bar, ratioText, type Section } from '../kernel/report.ts'
import { ratio, type Spread } from '../kernel/statistics.ts'
import {
  type Candidate,
  comparePerCpu,
  compareToBase,
  costText,
  figuresOf,
  measureInTurns,
  type Rounds,
  repeatCandidate,
  type Series,
} from './candidates.ts'

const incr: Candidate = { name: 'INCR', program: 'peers.mjs', call: 'incr' }
const pipelined: Candidate = { name: 'INCR, auto-pipelined', program: 'peers.mjs', call: 'incr, pipelined' }
const flexible: Candidate = { name: 'rate-limiter-flexible', program: 'peers.mjs', call: 'window' }
const window: Candidate = { name: 'Plinth shared-window', program: 'plinth.ts', call: 'declared window' }
const bucket: Candidate = { name: 'Plinth shared-bucket', program: 'plinth.ts', call: 'declared bucket' }
const candidates: readonly Candidate[] = [
  incr,
  repeatCandidate(incr),
  pipelined,
  flexible,
  { name: 'rate-limiter-flexible, auto-pipelined', program: 'peers.mjs', call: 'window, pipelined' },
  window,
  bucket,
  { name: 'Plinth shared-window, rule in each call', program: 'plinth.ts', call: 'window' },
  { name: 'Plinth joint limit of two keys', program: 'plinth.ts', call: 'joint' },
]

/**
 * Targets for calls per CPU second of the caller and Redis together, by the number of callers: candidate, base, minimum
 * ratio.
 */
const ratioTargets: Readonly<Record<number, readonly (readonly [Candidate, Candidate, number])[]>> = {
  1: [
    [window, incr, 0.7],
    [window, flexible, 1.1],
  ],
  64: [
    [window, pipelined, 0.9],
    [window, flexible, 1.4],
    [bucket, pipelined, 0.5],
  ],
  512: [
    [window, pipelined, 0.9],
    [window, flexible, 3],
    [bucket, incr, 1.3],
    [bucket, pipelined, 0.5],
  ],
}

/** Measures calls on Redis with 1, 64 and 512 callers, through the whole limiter. */
export async function measureRedis(port: number, rounds: Rounds): Promise<Section> {
  const admin = new Redis({ port })
  const settings = await redisSettings(admin)
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
    settings,
    tables,
    notes: [
      `each candidate in a process of its own in which all of its stores were used before, ${rounds.rounds} turns of ${rounds.cpuMs} ms of CPU, 10000 keys; ratios turn by turn, median (lowest..highest); "best" is the quietest twentieth of the turns`,
      '"INCR again" is the noise; CPU is that of the caller and of Redis together; k/s is by the wall clock, and says little where other programs run',
      'Plinth is `await limit.consume(key)` of a rule that a plugin has declared; what is asked in one turn of the event loop travels in one script; a joint limit names its rules in each call',
    ],
    bars,
  }
}

/** Checks that Redis writes nothing to disk, whatever candidate is measured. */
async function redisSettings(redis: Redis): Promise<string> {
  const names = ['appendonly', 'save']
  const values = await Promise.all(names.map(async (name) => (await redis.config('GET', name)) as string[]))
  return values.map(([name, value]) => `${name} = ${value === '' ? 'none' : value}`).join(', ')
}

/** Returns the CPU time in microseconds that the Redis server has used so far. */
async function cpuOf(redis: Redis): Promise<number> {
  const info = await redis.info('cpu')
  const read = (name: string) => Number(new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1] ?? 0)
  return (read('used_cpu_sys') + read('used_cpu_user')) * 1e6
}

/** Returns the CPU time per call of the caller and Redis together, turn by turn, in microseconds. */
const bothCpu = (series: Series, redisCpu: Readonly<Record<string, number[]>>, { name }: Candidate): number[] =>
  figuresOf(series, name, 'cpuMicroseconds').map((own, turn) => own + (redisCpu[name]?.[turn] ?? Number.NaN))

function tableOf(callers: number, series: Series, redisCpu: Readonly<Record<string, number[]>>): string[][] {
  const perBoth = (candidate: Candidate, base: Candidate) =>
    ratio(bothCpu(series, redisCpu, base), bothCpu(series, redisCpu, candidate))
  return [
    [
      `${callers} callers: calls per CPU second`,
      'x INCR',
      'x INCR, auto-pipelined',
      'us CPU',
      'us CPU of Redis',
      'k/s',
      'p50 ms',
      'p99 ms',
    ],
    ...candidates.map((candidate) => [
      candidate.name,
      ratioText(perBoth(candidate, incr)),
      ratioText(perBoth(candidate, pipelined)),
      costText(figuresOf(series, candidate.name, 'cpuMicroseconds'), 1),
      costText(redisCpu[candidate.name] ?? [], 1),
      costText(
        figuresOf(series, candidate.name, 'perSecond').map((rate) => rate / 1000),
        0,
      ).replace(/, best.*/, ''),
      costText(figuresOf(series, candidate.name, 'p50'), 3),
      costText(figuresOf(series, candidate.name, 'p99'), 3),
    ]),
  ]
}

function barsOf(callers: number, series: Series, redisCpu: Readonly<Record<string, number[]>>): Bar[] {
  const cpu = (of: Candidate) => bothCpu(series, redisCpu, of)
  const bars: Bar[] = (ratioTargets[callers] ?? []).map(([candidate, base, atLeast]) => ({
    name: `Redis, ${callers} callers, calls per CPU second: ${candidate.name} / ${base.name}`,
    measured: ratio(cpu(base), cpu(candidate)),
    bar: { atLeast },
    unit: 'ratio',
  }))
  if (callers < 512) return bars
  const measured: Spread = ratio(redisCpu[window.name] ?? [], redisCpu[flexible.name] ?? [])
  const name = `Redis, ${callers} callers: CPU of Redis, ${window.name} / ${flexible.name}`
  return [...bars, { name, measured, bar: { atMost: 0.5 }, unit: 'ratio' }]
}

/**
 * Measures a caller that continues to call although it is denied. The process denies these calls from memory. This is
 * compared with a denial of the memory store.
 */
export async function measureDenied(port: number, rounds: Rounds): Promise<Section> {
  const memory: Candidate = { name: 'memory store', program: 'plinth.ts', call: 'declared deny' }
  const call = 'declared window deny'
  const shared: Candidate = { name: 'shared-window, remembered', program: 'plinth.ts', call }
  const series = await measureInTurns([memory, shared], 1, port, rounds)
  return {
    title: 'Redis: a denied key',
    tables: [
      [
        ['denial: calls per CPU second', 'x memory store', 'calls/s, ratio', 'us CPU per call'],
        ...[memory, shared].map((candidate) => [
          candidate.name,
          ratioText(comparePerCpu(series, candidate, memory)),
          ratioText(compareToBase(series, candidate, memory, 'perSecond')),
          costText(figuresOf(series, candidate.name, 'cpuMicroseconds'), 3),
        ]),
      ],
    ],
    notes: ['Redis is asked once in `platform.rate-limit.deny-cache.ttl`, a second'],
    bars: [
      {
        name: 'calls per CPU second: a remembered denial / one of the memory store',
        measured: comparePerCpu(series, shared, memory),
        bar: { atLeast: 0.8 },
        unit: 'ratio',
      },
    ],
  }
}
