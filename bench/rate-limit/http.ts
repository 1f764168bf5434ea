import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Usage } from '../kernel/announce.ts'
import { Child } from '../kernel/child-process.ts'
import type { Bar, Section } from '../kernel/report.ts'
import { rotated } from '../kernel/statistics.ts'
import { quietCost } from './candidates.ts'

export interface HttpOptions {
  readonly rounds: number
  readonly sampleSeconds: number
  readonly connections: number
}

/** Program and argument of every server, and what it is compared with: the same server without a limit. */
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
  readonly failed: number
  readonly seconds: number
  readonly p99Milliseconds: number
}

/** A route with a declared limit against the same route without one. */
export async function measureHttp(port: number, { rounds, sampleSeconds, connections }: HttpOptions): Promise<Section> {
  const load = new Child(join(import.meta.dirname, '../kernel/load.mjs'))
  const running = new Map<Name, { readonly child: Child; readonly url: string }>()
  const samples = Object.fromEntries(names.map((name) => [name, [] as Sample[]])) as Record<Name, Sample[]>
  const sample = async (name: Name): Promise<Sample> => {
    const { child, url } = running.get(name) as { child: Child; url: string }
    const cpu = async () => (await child.ask<Usage>({})).cpuMicroseconds
    const before = await cpu()
    const job = { url: `${url}/api/v1/bench/articles/7`, method: 'GET', connections, seconds: sampleSeconds }
    const { requests, failed, seconds, p99Milliseconds } = await load.ask<LoadResult>(job)
    assert.equal(failed, 0, `${name}: requests failed`)
    return { perSecond: requests / seconds, cpuMicroseconds: ((await cpu()) - before) / requests, p99: p99Milliseconds }
  }
  try {
    for (const name of names) {
      const [program, limit] = servers[name]
      const child = new Child(join(import.meta.dirname, program), [limit, `${port}`])
      running.set(name, { child, url: (await child.next<{ url: string }>()).url })
      await checkAnswer(name, running.get(name)?.url ?? '', limit !== 'none')
    }
    for (const name of names) await sample(name)
    for (let round = 0; round < rounds; round++) {
      process.stderr.write(`HTTP, round ${round + 1} of ${rounds}\n`)
      for (const name of rotated(names, round)) samples[name].push(await sample(name))
    }
  } finally {
    for (const { child } of running.values()) await child.end()
    await load.end()
  }
  return sectionOf(samples, { rounds, sampleSeconds, connections })
}

async function checkAnswer(name: Name, url: string, isLimited: boolean): Promise<void> {
  const response = await fetch(`${url}/api/v1/bench/articles/7`)
  assert.deepEqual(await response.json(), { code: '200', message: 'success', data: { id: 7, title: 'A title' } }, name)
  assert.equal(response.headers.has('x-ratelimit-limit'), isLimited, `${name}: header of the limit`)
}

function sectionOf(samples: Readonly<Record<Name, Sample[]>>, options: HttpOptions): Section {
  const of = (name: Name, figure: keyof Sample) => samples[name].map((one) => one[figure])
  const rate = (name: Name) => Math.max(...of(name, 'perSecond'))
  const cpu = (name: Name) => quietCost(of(name, 'cpuMicroseconds'))
  const base = (name: Name) => servers[name][2]
  const bars: Bar[] = (
    [
      ['Plinth, memory', 0.95],
      ['Plinth, shared-window on Redis', 0.85],
    ] as const
  ).flatMap(([name, atLeast]) => [
    {
      name: `HTTP requests/s: ${name} / without limit`,
      measured: rate(name) / rate(base(name)),
      bar: { atLeast },
      unit: 'ratio' as const,
    },
    {
      name: `HTTP requests per CPU second: ${name} / without limit`,
      measured: cpu(base(name)) / cpu(name),
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
          (rate(name) / rate(base(name))).toFixed(2),
          (cpu(name) / cpu(base(name))).toFixed(2),
          rate(name).toFixed(0),
          cpu(name).toFixed(1),
          quietCost(of(name, 'p99')).toFixed(1),
        ]),
      ],
    ],
    notes: [
      `${options.rounds} rounds of ${options.sampleSeconds} s in turns, figures of the quietest one; ${options.connections} connections from one address; ratios to the same server without the limit`,
      'behind the limit of one address all connections meet at one key; a batch answers many of them at once',
    ],
    bars,
  }
}
