import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Usage } from '../kernel/announce.ts'
import { BenchChildProcess } from '../kernel/child-process.ts'
import { type Bar, ratioText, type Section } from '../kernel/report.ts'
import { inverse, median, ratio, rotated } from '../kernel/statistics.ts'

interface HttpOptions {
  readonly rounds: number
  /** Number of samples of each server per round. */
  readonly samples: number
  readonly sampleSeconds: number
  readonly warmUpSeconds: number
  readonly connections: number
}

/** Program and argument of each server, and the server with which it is compared: the same server without a limit. */
const servers = {
  'Plinth without limit': ['servers/plinth.ts', 'none', 'Plinth without limit'],
  'Plinth without limit, again': ['servers/plinth.ts', 'none', 'Plinth without limit'],
  'Plinth, memory': ['servers/plinth.ts', 'memory', 'Plinth without limit'],
  'Plinth, shared-window on Redis': ['servers/plinth.ts', 'shared-window', 'Plinth without limit'],
  'Fastify without limit': ['servers/fastify.mjs', 'none', 'Fastify without limit'],
  '@fastify/rate-limit, memory': ['servers/fastify.mjs', 'memory', 'Fastify without limit'],
  '@fastify/rate-limit on Redis': ['servers/fastify.mjs', 'redis', 'Fastify without limit'],
} as const
type Name = keyof typeof servers
const names = Object.keys(servers) as Name[]

interface Sample {
  readonly perSecond: number
  readonly cpuMicroseconds: number
  readonly p99: number
}
interface LoadResult {
  readonly requests: number
  readonly failed: Readonly<Record<string, number>>
  readonly seconds: number
  readonly p99Milliseconds: number
}

/**
 * Compares a route with a declared limit with the same route without a limit. Every round starts the servers again,
 * because the speed of compiled code differs by up to a quarter between starts of the same program.
 */
export async function measureHttp(port: number, options: HttpOptions): Promise<Section> {
  const load = new BenchChildProcess(join(import.meta.dirname, '../kernel/load.mjs'))
  const samples = Object.fromEntries(names.map((name) => [name, [] as Sample[]])) as Record<Name, Sample[]>
  try {
    for (let round = 0; round < options.rounds; round++) {
      process.stderr.write(`HTTP, round ${round + 1} of ${options.rounds}\n`)
      const taken = await measureRound(rotated(names, round), port, load, options)
      for (const name of names) samples[name].push(medianOf(taken[name]))
    }
  } finally {
    await load.end()
  }
  return sectionOf(samples, options)
}

async function measureRound(
  order: readonly Name[],
  port: number,
  load: BenchChildProcess,
  { samples, sampleSeconds, warmUpSeconds, connections }: HttpOptions,
): Promise<Record<Name, Sample[]>> {
  const running = new Map<Name, { readonly child: BenchChildProcess; readonly url: string }>()
  const taken = Object.fromEntries(names.map((name) => [name, [] as Sample[]])) as Record<Name, Sample[]>
  const sample = async (name: Name, seconds: number): Promise<Sample> => {
    const { child, url } = running.get(name) as { child: BenchChildProcess; url: string }
    const cpu = async () => (await child.ask<Usage>({})).cpuMicroseconds
    const before = await cpu()
    const job = { url: `${url}/api/v1/bench/articles/7`, method: 'GET', connections, seconds }
    const result = await load.ask<LoadResult>(job)
    assert.deepEqual(result.failed, {}, `${name}: requests failed`)
    return {
      perSecond: result.requests / result.seconds,
      cpuMicroseconds: ((await cpu()) - before) / result.requests,
      p99: result.p99Milliseconds,
    }
  }
  try {
    for (const name of order) {
      const [program, limit] = servers[name]
      const child = new BenchChildProcess(join(import.meta.dirname, program), [limit, `${port}`])
      const { url } = await child.next<{ url: string }>()
      running.set(name, { child, url })
      await checkResponse(name, url, limit !== 'none')
      await sample(name, warmUpSeconds)
    }
    for (let turn = 0; turn < samples; turn++) {
      for (const name of rotated(order, turn)) taken[name].push(await sample(name, sampleSeconds))
    }
    return taken
  } finally {
    for (const { child } of running.values()) await child.end()
  }
}

function medianOf(samples: readonly Sample[]): Sample {
  const of = (figure: keyof Sample) => median(samples.map((one) => one[figure]))
  return { perSecond: of('perSecond'), cpuMicroseconds: of('cpuMicroseconds'), p99: of('p99') }
}

async function checkResponse(name: Name, url: string, isLimited: boolean): Promise<void> {
  const response = await fetch(`${url}/api/v1/bench/articles/7`)
  assert.deepEqual(await response.json(), { code: '200', message: 'success', data: { id: 7, title: 'A title' } }, name)
  assert.equal(response.headers.has('x-ratelimit-limit'), isLimited, `${name}: header of the limit`)
}

function sectionOf(samples: Readonly<Record<Name, Sample[]>>, options: HttpOptions): Section {
  const of = (name: Name, figure: keyof Sample) => samples[name].map((one) => one[figure])
  const against = (name: Name, figure: keyof Sample) => ratio(of(name, figure), of(servers[name][2], figure))
  const bars: Bar[] = (
    [
      ['Plinth, memory', 0.95],
      ['Plinth, shared-window on Redis', 0.85],
    ] as const
  ).flatMap(([name, atLeast]) => [
    {
      name: `HTTP requests per CPU second: ${name} / without limit`,
      measured: inverse(against(name, 'cpuMicroseconds')),
      bar: { atLeast },
      unit: 'ratio' as const,
    },
  ])
  return {
    title: 'HTTP: a declared limit',
    tables: [
      [
        ['GET', 'requests/s, ratio', 'CPU per request, ratio', 'requests/s', 'us CPU', 'p99 ms'],
        ...names.map((name) => [
          name,
          ratioText(against(name, 'perSecond')),
          ratioText(against(name, 'cpuMicroseconds')),
          median(of(name, 'perSecond')).toFixed(0),
          median(of(name, 'cpuMicroseconds')).toFixed(1),
          median(of(name, 'p99')).toFixed(1),
        ]),
      ],
    ],
    notes: [
      `${options.rounds} rounds with fresh processes, each ${options.samples} samples of ${options.sampleSeconds} s a server in turns, ${options.connections} connections from one address; ratios to the same server without the limit in the same round, median (lowest..highest)`,
      '"again" is the noise; behind the limit of one address all connections meet at one key, and a batch answers many of them at once',
    ],
    bars,
  }
}
