import { join } from 'node:path'
import { Child } from '../kernel/child-process.ts'
import type { Section } from '../kernel/report.ts'
import { median } from '../kernel/statistics.ts'
import type { Million } from './million-keys.ts'

const peer = 'rate-limiter-flexible'
const own = 'Plinth, memory store'
const programs = { [peer]: 'million-peer.mjs', [own]: 'million-store.ts' } as const

/** A million live keys: their memory, single calls, and what their end does to everybody else. */
export async function measureMillion(rounds: number): Promise<Section> {
  const seen: Record<string, Million[]> = { [peer]: [], [own]: [] }
  for (let round = 0; round < rounds; round++) {
    for (const [name, program] of Object.entries(programs)) {
      process.stderr.write(`a million keys: ${name}, round ${round + 1} of ${rounds}\n`)
      const child = new Child(join(import.meta.dirname, program))
      try {
        seen[name]?.push(await child.next<Million>())
      } finally {
        await child.end()
      }
    }
  }
  /** Where the machine disturbs, the quietest round says most about the program. */
  const quietest = (name: string, figure: keyof Million) => Math.min(...(seen[name] ?? []).map((one) => one[figure]))
  const middle = (name: string, figure: keyof Million) => median((seen[name] ?? []).map((one) => one[figure]))
  const micro = (ms: number) => `${(1000 * ms).toFixed(1)} us`
  const rows: [string, keyof Million, (value: number) => string][] = [
    ['heap and buffers per key, bytes', 'bytesPerKey', (value) => value.toFixed(0)],
    ['insert, million/s', 'insertsPerSecond', (value) => (value / 1e6).toFixed(2)],
    ['consume at 1k keys, p99.9', 'fewP999', micro],
    ['consume at 1M keys, p50', 'manyP50', micro],
    ['consume at 1M keys, p99.9', 'manyP999', micro],
    ['turn of the event loop while they expire, p99.9', 'turnP999', (value) => `${value.toFixed(2)} ms`],
    ['the longest such turn', 'turnMost', (value) => `${value.toFixed(1)} ms`],
  ]
  const show = (name: string, figure: keyof Million, text: (value: number) => string) =>
    `${text(middle(name, figure))}, at best ${text(quietest(name, figure))}`
  return {
    title: 'Memory: a million live keys',
    tables: [
      [
        ['', own, peer],
        ...rows.map(([title, figure, text]) => [title, show(own, figure, text), show(peer, figure, text)]),
      ],
    ],
    notes: [`${rounds} rounds in fresh processes, keys of 45 characters; median, and the quietest round`],
    bars: [
      {
        name: 'memory, a million keys: bytes per key',
        measured: middle(own, 'bytesPerKey'),
        bar: { atMost: 200 },
        unit: 'bytes',
      },
      {
        name: 'memory, a million keys: p99.9 of a consume, quietest round',
        measured: quietest(own, 'manyP999'),
        bar: { atMost: 0.05 },
        unit: 'us',
      },
      {
        name: `memory, mass expiry: p99.9 turn / ${peer}`,
        measured: quietest(own, 'turnP999') / quietest(peer, 'turnP999'),
        bar: { atMost: 1 },
        unit: 'ratio',
      },
    ],
  }
}
