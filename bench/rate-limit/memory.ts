import type { Bar, Section } from '../kernel/report.ts'
import { type Candidate, figures, measureInTurns, quietCost, quietRate, type Rounds } from './candidates.ts'

const flexible = 'rate-limiter-flexible'
const declared = 'Plinth, declared limit'
const limiter = 'Plinth, rule in each call'
const store = 'Plinth, store alone'

/** At least so many times what rate-limiter-flexible does. */
const wanted = { allow: { [declared]: 2.5, [store]: 7 }, deny: { [declared]: 8, [store]: 18 } } as const

/** One hot key in process, allowed and denied, awaited as callers do it. */
export async function measureMemory(port: number, rounds: Rounds): Promise<Section> {
  const tables: string[][][] = []
  const bars: Bar[] = []
  for (const outcome of ['allow', 'deny'] as const) {
    const candidates: Candidate[] = [
      { name: flexible, program: 'peers.mjs', call: outcome },
      { name: declared, program: 'plinth.ts', call: `declared ${outcome}` },
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
    for (const candidate of candidates.filter(({ name }) => name in wanted[outcome])) {
      bars.push({
        name: `memory, ${outcome}: ${candidate.name} / ${flexible}`,
        measured: against(candidate),
        bar: { atLeast: wanted[outcome][candidate.name as typeof declared] },
        unit: 'ratio',
      })
    }
  }
  return {
    title: 'Memory: one hot key',
    tables,
    notes: [
      '"declared limit" is `await limit.consume(key)` of a rule that is declared once, as those of rate-limiter-flexible are, "rule in each call" is `await rateLimiter.consume({ key, ... })`; both with checks, prefix, counters and policy; "store alone" is the synchronous store with a key that is complete',
      'rate-limiter-flexible rejects a promise for a denial, the limiter answers',
    ],
    bars,
  }
}
