import { join } from 'node:path'
import { BenchChildProcess } from '../kernel/child-process.ts'
import type { Section } from '../kernel/report.ts'
import { ratio, rotated, spread } from '../kernel/statistics.ts'
import type { MillionKeysTimes } from './million-keys.ts'

const peer = 'rate-limiter-flexible'
const peerStore = `${peer}, its storage`
const own = 'Plinth, declared limit'
const ownStore = 'Plinth, memory store'
/** Programs that measure whole limiters, and programs that measure their stores alone. */
const programs = {
  [own]: ['million-store.ts', 'limiter'],
  [peer]: ['million-peer.mjs', 'limiter'],
  [ownStore]: ['million-store.ts', 'store'],
  [peerStore]: ['million-peer.mjs', 'store'],
} as const
type Name = keyof typeof programs
const names = Object.keys(programs) as Name[]

/** Measures limiters with a million keys: memory, single calls, and how the expiry of keys affects other calls. */
export async function measureMillion(rounds: number): Promise<Section> {
  const seen = Object.fromEntries(names.map((name) => [name, [] as MillionKeysTimes[]])) as Record<
    Name,
    MillionKeysTimes[]
  >
  for (let round = 0; round < rounds; round++) {
    for (const name of rotated(names, round)) {
      const [program, part] = programs[name]
      process.stderr.write(`a million keys: ${name}, round ${round + 1} of ${rounds}\n`)
      const child = new BenchChildProcess(join(import.meta.dirname, program), [part])
      try {
        seen[name].push(await child.next<MillionKeysTimes>())
      } finally {
        await child.end()
      }
    }
  }
  const of = (name: Name, figure: keyof MillionKeysTimes) => seen[name].map((one) => one[figure])
  const micro = (ms: number) => `${(1000 * ms).toFixed(1)} us`
  const rows: [string, keyof MillionKeysTimes, (value: number) => string][] = [
    ['heap and buffers per key, bytes', 'bytesPerKey', (value) => value.toFixed(0)],
    ['insert, us CPU', 'insertCpuMicroseconds', (value) => value.toFixed(2)],
    ['consume at 1k keys, p99.9', 'fewP999', micro],
    ['consume at 1M keys, p50', 'manyP50', micro],
    ['consume at 1M keys, p99.9', 'manyP999', micro],
    ['turn of the event loop while they expire, p99.9', 'turnP999', (value) => `${value.toFixed(2)} ms`],
    ['the longest such turn', 'turnMost', (value) => `${value.toFixed(1)} ms`],
  ]
  const show = (name: Name, figure: keyof MillionKeysTimes, text: (value: number) => string) => {
    const { median, min, max } = spread(of(name, figure))
    return `${text(median)} (${text(min)}..${text(max)})`
  }
  const rate = ratio(of(own, 'insertCpuMicroseconds'), of(peer, 'insertCpuMicroseconds'))
  return {
    title: 'Memory: a million live keys',
    tables: [
      [
        ['', ...names],
        ...rows.map(([title, figure, text]) => [title, ...names.map((name) => show(name, figure, text))]),
      ],
    ],
    notes: [
      `${rounds} rounds in fresh processes, keys of 45 characters; median (lowest..highest) of the rounds, by the wall clock but for CPU`,
      'whole limiters beside each other and bare stores beside each other; the whole one of Plinth has four stores, all of them used before',
    ],
    bars: [
      {
        name: `memory, a million keys: bytes per key, ${ownStore}`,
        measured: spread(of(ownStore, 'bytesPerKey')),
        bar: { atMost: 200 },
        unit: 'bytes',
      },
      {
        name: `memory, a million keys: p99.9 of a consume, ${own}`,
        measured: spread(of(own, 'manyP999')),
        bar: { atMost: 0.05 },
        unit: 'us',
      },
      {
        name: `memory, a million keys: CPU of an insert, ${own} / ${peer}`,
        measured: rate,
        bar: { atMost: 1 },
        unit: 'ratio',
      },
      ...(
        [
          [own, peer],
          [ownStore, peerStore],
        ] as const
      ).map(([one, other]) => ({
        name: `memory, mass expiry: p99.9 turn, ${one} / ${other}`,
        measured: ratio(of(one, 'turnP999'), of(other, 'turnP999')),
        bar: { atMost: 1 },
        unit: 'ratio' as const,
      })),
    ],
  }
}
