import type { Bar, Section } from '../kernel/report.ts'
import { type Candidate, figures, measureInTurns, quietCost, quietRate, type Rounds } from './candidates.ts'

const flexible = 'rate-limiter-flexible'
const limiter = 'Plinth, limiter'
const store = 'Plinth, store alone'

/** At least so many times what rate-limiter-flexible does. */
const wanted = { allow: { [limiter]: 2.5, [store]: 7 }, deny: { [limiter]: 8, [store]: 18 } } as const

/** One hot key in process, allowed and denied, awaited as callers do it. */
export async function measureMemory(port: number, rounds: Rounds): Promise<Section> {
  const tables: string[][][] = []
  const bars: Bar[] = []
  for (const outcome of ['allow', 'deny'] as const) {
    const candidates: Candidate[] = [
      { name: flexible, program: 'peers.mjs', call: outcome },
      { name: limiter, program: 'plinth.ts', call: outcome },
      { name: store, program: 'plinth.ts', call: `sync ${outcome}` },
    ]
    const series = await measureInTurns(candidates, 1, port, rounds)
    const against = (candidate: Candidate) =>
      quietRate(series, candidate) / quietRate(series, candidates[0] as Candidate)
    tables.push([
      [outcome, `x ${flexible}`, 'million/s', 'us CPU'],
      ...candidates.map((candidate) => [
        candidate.name,
        against(candidate).toFixed(2),
        (quietRate(series, candidate) / 1e6).toFixed(2),
        quietCost(figures(series, candidate.name, 'cpuMicroseconds')).toFixed(2),
      ]),
    ])
    for (const candidate of candidates.slice(1)) {
      bars.push({
        name: `memory, ${outcome}: ${candidate.name} / ${flexible}`,
        measured: against(candidate),
        bar: { atLeast: wanted[outcome][candidate.name as typeof limiter] },
        unit: 'ratio',
      })
    }
  }
  return {
    title: 'Memory: one hot key',
    tables,
    notes: [
      '"limiter" is `await rateLimiter.consume()` with checks, prefix, counters and policy; "store alone" is the synchronous store with a key that is complete',
      'rate-limiter-flexible rejects a promise for a denial, the limiter answers',
    ],
    bars,
  }
}
