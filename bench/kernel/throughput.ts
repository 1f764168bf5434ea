import assert from 'node:assert/strict'
import type { Usage } from './announce.ts'
import { BenchChildProcess } from './child-process.ts'
import { type Exchange, exchanges } from './exchange.ts'
import { javascriptProgram, sourceProgram } from './javascript-copy.ts'
import { type Bar, ratioText, type Section } from './report.ts'
import { median, ratio, rotated } from './statistics.ts'

interface ThroughputOptions {
  readonly rounds: number
  /** Number of samples of each exchange and server per round. */
  readonly samples: number
  readonly sampleSeconds: number
  readonly warmUpSeconds: number
  readonly connections: number
}

const base = 'bare Fastify'
const plinth = 'Plinth'
const nest = 'NestJS on Fastify'
/** Program and arguments of each server. */
const servers: Readonly<Record<string, readonly [string, ...string[]]>> = {
  [base]: ['servers/bare-fastify'],
  'bare Fastify again': ['servers/bare-fastify'],
  'bare Fastify, same headers': ['servers/bare-fastify', 'same-headers'],
  [plinth]: ['servers/plinth'],
  'Plinth with rate-limit loaded': ['servers/plinth', 'rate-limit'],
  [nest]: ['servers/nest-fastify'],
  'NestJS, envelope by hand': ['servers/nest-fastify', 'by-hand'],
  'Express 5': ['servers/express'],
}
const names = Object.keys(servers)

/** Results of one sample, which is one exchange with one server under load. */
interface Sample {
  readonly requestsPerSecond: number
  readonly p99Milliseconds: number
  readonly cpuMicrosecondsPerRequest: number
  /**
   * Fraction of one core that the server used. If it is well below 1, something other than the server was the limit.
   */
  readonly busy: number
}

/**
 * Measurements of one server over all rounds. Values with the same index belong to the same round or sample, in the
 * lists of all servers.
 */
interface Observations {
  readonly coldMilliseconds: number[]
  readonly idleBytes: number[]
  readonly loadedBytes: number[]
  readonly samples: Readonly<Record<Exchange['name'], Sample[]>>
}

interface RunningServer {
  readonly name: string
  readonly child: BenchChildProcess
  readonly url: string
  readonly seen: Observations
}

/**
 * Measures every server under the same load. Each round starts all servers again. Samples are short, and the servers
 * alternate.
 */
export async function measureThroughput(options: ThroughputOptions): Promise<Section> {
  const load = new BenchChildProcess(sourceProgram('load'))
  const observations = Object.fromEntries(
    names.map((name): [string, Observations] => [
      name,
      { coldMilliseconds: [], idleBytes: [], loadedBytes: [], samples: { GET: [], POST: [] } },
    ]),
  )
  try {
    for (let round = 0; round < options.rounds; round++) {
      process.stderr.write(`round ${round + 1} of ${options.rounds}\n`)
      await measureRound(round, load, observations, options)
    }
  } finally {
    await load.end()
  }
  return sectionOf(observations, options)
}

async function measureRound(
  round: number,
  load: BenchChildProcess,
  observations: Readonly<Record<string, Observations>>,
  { samples, sampleSeconds, warmUpSeconds, connections }: ThroughputOptions,
): Promise<void> {
  const running: RunningServer[] = []
  try {
    for (const name of rotated(names, round)) running.push(await startServer(name, observations[name] as Observations))
    for (const exchange of exchanges) {
      for (const server of running) await sample(server, exchange, load, { connections, seconds: warmUpSeconds })
      for (let turn = 0; turn < samples; turn++) {
        for (const server of rotated(running, turn)) {
          const taken = await sample(server, exchange, load, { connections, seconds: sampleSeconds })
          server.seen.samples[exchange.name].push(taken)
        }
      }
    }
    for (const { child, seen } of running) seen.loadedBytes.push((await child.ask<Usage>({})).rssBytes)
  } finally {
    for (const { child } of running) await child.end()
  }
}

async function startServer(name: string, seen: Observations): Promise<RunningServer> {
  const [program = '', ...arguments_] = servers[name] ?? []
  const child = new BenchChildProcess(javascriptProgram(program), arguments_)
  try {
    const { url } = await child.next<{ url: string }>()
    await checkResponse(url, exchanges[0] as Exchange)
    seen.coldMilliseconds.push(performance.now() - child.spawnedAt)
    for (const exchange of exchanges) {
      await checkResponse(url, exchange)
      await checkRejection(url, exchange)
    }
    seen.idleBytes.push((await child.ask<Usage>({})).rssBytes)
    return { name, child, url, seen }
  } catch (error) {
    await child.end()
    throw new Error(`${name}: ${error instanceof Error ? error.message : error}`, { cause: error })
  }
}

interface LoadResult {
  readonly requests: number
  /** Number of failed requests by status or error. */
  readonly failed: Readonly<Record<string, number>>
  readonly seconds: number
  readonly p99Milliseconds: number
}

async function sample(
  { name, child, url }: RunningServer,
  { method, path, body }: Exchange,
  load: BenchChildProcess,
  amount: { readonly connections: number; readonly seconds: number },
): Promise<Sample> {
  const before = await child.ask<Usage>({})
  const done = await load.ask<LoadResult>({ url: url + path, method, body, ...amount })
  const after = await child.ask<Usage>({})
  const failed = Object.entries(done.failed).map(([what, count]) => `${count} x ${what}`)
  if (failed.length > 0) throw new Error(`${name}: requests failed under load: ${failed.join(', ')}`)
  const cpu = after.cpuMicroseconds - before.cpuMicroseconds
  return {
    requestsPerSecond: done.requests / done.seconds,
    p99Milliseconds: done.p99Milliseconds,
    cpuMicrosecondsPerRequest: cpu / done.requests,
    busy: cpu / 1e6 / done.seconds,
  }
}

const request = (url: string, method: string, path: string, body: string | undefined) =>
  fetch(url + path, {
    method,
    ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
  })

/** Checks that the server returns the expected response, because all servers must do the same work. */
async function checkResponse(url: string, { method, path, body, answer }: Exchange): Promise<void> {
  assert.deepEqual(await (await request(url, method, path, body)).json(), answer)
}

/** Checks that the server rejects an invalid request. The form of the rejection does not matter. */
async function checkRejection(url: string, { method, refused }: Exchange): Promise<void> {
  const answer = await request(url, method, refused.path, refused.body)
  const { code } = (await answer.json()) as { code?: string }
  assert.ok(answer.status === 400 || code === '400', `${method} ${refused.path} accepted bad input`)
}

type Figure = (seen: Observations) => readonly number[]
const ofLeg =
  (leg: Exchange['name'], figure: (sample: Sample) => number): Figure =>
  ({ samples }) =>
    samples[leg].map(figure)
const requestsPerSecond = (leg: Exchange['name']) => ofLeg(leg, (sample) => sample.requestsPerSecond)
const cpuPerRequest = (leg: Exchange['name']) => ofLeg(leg, (sample) => sample.cpuMicrosecondsPerRequest)
const perCpuSecond = (leg: Exchange['name']) => ofLeg(leg, (sample) => 1e6 / sample.cpuMicrosecondsPerRequest)
const idle: Figure = ({ idleBytes }) => idleBytes
const loaded: Figure = ({ loadedBytes }) => loadedBytes
const cold: Figure = ({ coldMilliseconds }) => coldMilliseconds

function sectionOf(observations: Readonly<Record<string, Observations>>, options: ThroughputOptions): Section {
  const of = (name: string, figure: Figure) => figure(observations[name] as Observations)
  const against = (other: string, name: string, figure: Figure) => ratio(of(name, figure), of(other, figure))
  const table = (heading: readonly string[], cells: (name: string) => readonly string[]) => [
    heading,
    ...names.map((name) => [name, ...cells(name)]),
  ]
  const legTable = (leg: Exchange['name']) =>
    table([leg, 'requests/s, ratio', 'CPU per request, ratio', 'p99 ms', 'server busy'], (name) => [
      ratioText(against(base, name, requestsPerSecond(leg))),
      ratioText(against(base, name, cpuPerRequest(leg))),
      median(
        of(
          name,
          ofLeg(leg, ({ p99Milliseconds }) => p99Milliseconds),
        ),
      ).toFixed(1),
      `${(
        100 *
          median(
            of(
              name,
              ofLeg(leg, ({ busy }) => busy),
            ),
          )
      ).toFixed(0)} %`,
    ])
  const processTable = table(['process', 'RSS idle, ratio', 'RSS loaded, ratio', 'cold start, ratio'], (name) =>
    [idle, loaded, cold].map((figure) => ratioText(against(base, name, figure))),
  )
  const bar = (subject: string, other: string, figure: Figure, limit: Bar['bar']): Bar => ({
    name: `${subject}: ${plinth} / ${other}`,
    measured: against(other, plinth, figure),
    bar: limit,
    unit: 'ratio',
  })
  return {
    title: 'HTTP: an envelope GET and a validated POST',
    tables: [legTable('GET'), legTable('POST'), processTable],
    notes: notesOf((figure) => median(of(base, figure)), options),
    bars: [
      ...exchanges.flatMap(({ name: leg }) => [
        bar(`${leg} requests per CPU second`, base, perCpuSecond(leg), { atLeast: 0.9 }),
        bar(`${leg} requests per CPU second`, nest, perCpuSecond(leg), { atLeast: 1.4 }),
      ]),
      bar('RSS loaded', base, loaded, { atMost: 1.3 }),
    ],
  }
}

function notesOf(ofBase: (figure: Figure) => number, options: ThroughputOptions): readonly string[] {
  const { rounds, samples, sampleSeconds, warmUpSeconds, connections } = options
  const leg = (name: Exchange['name']) =>
    `${name} ${Math.round(ofBase(requestsPerSecond(name)))} requests/s at ${ofBase(cpuPerRequest(name)).toFixed(1)} us CPU`
  const megabytes = (figure: Figure) => `${Math.round(ofBase(figure) / 1e6)} MB`
  return [
    `${rounds} rounds with fresh processes, each ${samples} samples of ${sampleSeconds} s a server in turns after ` +
      `${warmUpSeconds} s of warm-up, ${connections} connections; ratios to bare Fastify of the same turn: median (lowest..highest)`,
    '"bare Fastify again" is the noise: where it is far from 1.00, so may every ratio of requests/s be; CPU is steadier',
    `bare Fastify itself: ${leg('GET')}; ${leg('POST')}; RSS ${megabytes(idle)} idle, ${megabytes(loaded)} loaded; ` +
      `cold start ${Math.round(ofBase(cold))} ms`,
  ]
}
