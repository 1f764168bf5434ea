/**
 * Compares the CPU time of a request with and without traces: a request with a transaction of one statement, and a
 * trivial request. The servers are processes of their own, whose CPU time is measured. Usage: `node
 * bench/tracing/run.ts [--requests 2000] [--rounds 9]`.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'
import { barsText, ratioText, sectionText } from '../kernel/report.ts'
import { median, ratio, rotated } from '../kernel/statistics.ts'

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '2000' }, rounds: { type: 'string', default: '9' } },
})
const requests = Number(values.requests)
const rounds = Number(values.rounds)
const connections = 8

const collector = createServer((request, response) => {
  request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'))
}).listen(0, '127.0.0.1')
await once(collector, 'listening')
const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/v1/traces`

const modes = { without: 'without the plugin', '0.01': '1 % sampled', '1': 'all sampled' } as const
type Mode = keyof typeof modes
const names = Object.keys(modes) as Mode[]
const paths = { statement: '/api/v1/statement', trivial: '/api/v1/trivial' } as const
type Path = keyof typeof paths

interface Server {
  readonly child: ChildProcess
  readonly pool: Pool
}

async function startServer(mode: Mode): Promise<Server> {
  const child = fork(new URL('server.ts', import.meta.url), [mode, endpoint], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  const [{ url }] = await once(child, 'message')
  return { child, pool: new Pool(url, { connections, pipelining: 1 }) }
}

async function cpuMsOf({ child }: Server): Promise<number> {
  child.send('cpu')
  const [{ cpuMs }] = await once(child, 'message')
  return cpuMs
}

/** Returns the CPU milliseconds of the server per request. */
async function measure(server: Server, path: Path): Promise<number> {
  const before = await cpuMsOf(server)
  let left = requests
  const client = async () => {
    while (left-- > 0) {
      const { statusCode, body } = await server.pool.request({ method: 'GET', path: paths[path] })
      await body.dump()
      if (statusCode !== 200) throw new Error(`The response to ${path} is ${statusCode}`)
    }
  }
  await Promise.all(Array.from({ length: connections }, client))
  return ((await cpuMsOf(server)) - before) / requests
}

const servers = new Map<Mode, Server>()
for (const mode of names) servers.set(mode, await startServer(mode))
const times = Object.fromEntries(
  Object.keys(paths).map((path) => [path, Object.fromEntries(names.map((mode) => [mode, [] as number[]]))]),
) as Record<Path, Record<Mode, number[]>>
try {
  // The first round is the warm-up and is not counted.
  for (let round = 0; round <= rounds; round++) {
    for (const mode of rotated(names, round)) {
      for (const path of Object.keys(paths) as Path[]) {
        const cpuMs = await measure(servers.get(mode) as Server, path)
        if (round > 0) times[path][mode].push(cpuMs)
      }
    }
  }
} finally {
  for (const { child, pool } of servers.values()) {
    await pool.destroy()
    child.kill()
  }
  collector.close()
  collector.closeAllConnections()
}

const row = (path: Path, mode: Mode) => {
  const spread = ratio(times[path][mode], times[path].without)
  return [path, modes[mode], `${(1000 * median(times[path][mode])).toFixed(1)} us`, ratioText(spread)]
}
const section = {
  title: 'CPU time of a request with traces',
  tables: [
    [
      ['request', 'traces', 'CPU per request', 'ratio'],
      ...(Object.keys(paths) as Path[]).flatMap((path) => names.map((mode) => row(path, mode))),
    ],
  ],
  notes: [
    `${rounds} rounds of ${requests} requests on ${connections} connections. The CPU time is that of the server process.`,
  ],
  bars: [
    {
      name: 'a request with a statement at 1 %, to one without the plugin',
      measured: ratio(times.statement['0.01'], times.statement.without),
      bar: { atMost: 1.1 },
      unit: 'ratio' as const,
    },
  ],
}
console.log(sectionText(section))
console.log(barsText(section.bars))
