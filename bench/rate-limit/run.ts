// Compares the limiter with rate-limiter-flexible, @fastify/rate-limit and plain INCR: node bench/rate-limit/run.ts
// [--only memory|million|redis|denied|http|frozen] [--rounds 9]
import { parseArgs } from 'node:util'
import { startRedis } from '@plinth/dev/testing/shared-store'
import { type Bar, barsText, type Section, sectionText } from '../kernel/report.ts'
import { measureFrozen } from './frozen.ts'
import { measureHttp } from './http.ts'
import { measureMemory } from './memory.ts'
import { measureMillion } from './million.ts'
import { measureDenied, measureRedis } from './redis.ts'

const { values } = parseArgs({
  options: { only: { type: 'string', multiple: true }, rounds: { type: 'string', default: '9' } },
})
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) throw new RangeError('--rounds takes a whole number from 1')

// There are many short turns, so that at least some of them are not disturbed by other programs.
const turns = { rounds: 12 * rounds, cpuMs: 25, warmUpCpuMs: 2000 }
const sections: Readonly<Record<string, (port: number) => Promise<Section>>> = {
  memory: (port) => measureMemory(port, turns),
  million: () => measureMillion(Math.ceil(rounds / 3)),
  redis: (port) => measureRedis(port, turns),
  denied: (port) => measureDenied(port, turns),
  http: (port) => measureHttp(port, { rounds, samples: 4, sampleSeconds: 0.25, warmUpSeconds: 0.7, connections: 64 }),
  frozen: () => measureFrozen(rounds),
}
const chosen = (values.only ?? Object.keys(sections)).map((name) => {
  const measure = sections[name]
  if (measure === undefined) throw new RangeError(`--only takes ${Object.keys(sections).join(', ')}`)
  return [name, measure] as const
})

// The benchmark has its own Redis server, which no other program uses.
const redis = await startRedis()
if (redis === undefined) throw new Error('redis-server cannot be started')
const bars: Bar[] = []
try {
  for (const [name, measure] of chosen) {
    try {
      const section = await measure(redis.port)
      bars.push(...section.bars)
      console.log(`${sectionText(section)}\n`)
    } catch (error) {
      process.exitCode = 1
      console.log(`## ${name}\n\nnot measured: ${error instanceof Error ? error.message : error}\n`)
    }
  }
} finally {
  await redis.drop()
}
console.log(`## Bars\n\n${barsText(bars)}`)
