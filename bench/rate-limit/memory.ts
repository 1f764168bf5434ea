import { type Bar, ratioText, type Section } from '../kernel/report.ts'
import {
  type Candidate,
  comparePerCpu,
  costText,
  figuresOf,
  measureInTurns,
  type Rounds,
  repeatCandidate,
} from './candidates.ts'

const flexible = 'rate-limiter-flexible'
const flexibleStore = `${flexible}, its storage`
const declared = 'Plinth, declared limit'
const limiter = 'Plinth, rule in each call'
const store = 'Plinth, store alone'

/** Minimum ratios to rate-limiter-flexible. */
const expected = { allow: { [declared]: 2.5, [store]: 7 }, deny: { [declared]: 8, [store]: 18 } } as const

/**
 * Measures allowed and denied calls with one key in the memory of the process. The calls are awaited, as in a product.
 */
export async function measureMemory(port: number, rounds: Rounds): Promise<Section> {
  const tables: string[][][] = []
  const bars: Bar[] = []
  for (const outcome of ['allow', 'deny'] as const) {
    const peer: Candidate = { name: flexible, program: 'peers.mjs', call: outcome }
    const bare: Candidate = { name: flexibleStore, program: 'peers.mjs', call: `sync ${outcome}` }
    const candidates: Candidate[] = [
      peer,
      repeatCandidate(peer),
      bare,
      { name: declared, program: 'plinth.ts', call: `declared ${outcome}` },
      { name: limiter, program: 'plinth.ts', call: outcome },
      { name: store, program: 'plinth.ts', call: `sync ${outcome}` },
    ]
    const series = await measureInTurns(candidates, 1, port, rounds)
    tables.push([
      [`${outcome}: calls per CPU second`, `x ${flexible}`, `x ${flexibleStore}`, 'us CPU per call'],
      ...candidates.map((candidate) => [
        candidate.name,
        ratioText(comparePerCpu(series, candidate, peer)),
        ratioText(comparePerCpu(series, candidate, bare)),
        costText(figuresOf(series, candidate.name, 'cpuMicroseconds'), 3),
      ]),
    ])
    bars.push({
      name: `memory, ${outcome}, calls per CPU second: ${store} / ${flexibleStore}`,
      measured: comparePerCpu(series, { name: store, program: 'plinth.ts', call: `sync ${outcome}` }, bare),
      bar: { atLeast: 1 },
      unit: 'ratio',
    })
    for (const candidate of candidates.filter(({ name }) => name in expected[outcome])) {
      bars.push({
        name: `memory, ${outcome}, calls per CPU second: ${candidate.name} / ${flexible}`,
        measured: comparePerCpu(series, candidate, peer),
        bar: { atLeast: expected[outcome][candidate.name as typeof declared] },
        unit: 'ratio',
      })
    }
  }
  return {
    title: 'Memory: one hot key',
    tables,
    notes: [
      '"declared limit" is `await limit.consume(key)` of a rule that is declared once, as those of rate-limiter-flexible are, "rule in each call" is `await rateLimiter.consume({ key, ... })`; both with checks, prefix, counters and policy; "store alone" is the synchronous store with a key that is complete',
      'rate-limiter-flexible rejects a promise for a denial, the limiter answers; "its storage" is what it counts in, called as it calls it, without the rule and the promise',
      `each candidate in a process of its own in which all of its stores were used before, ${rounds.rounds} turns of ${rounds.cpuMs} ms of CPU; ratios turn by turn, median (lowest..highest); "best" is the quietest twentieth of the turns; "again" is the noise`,
    ],
    bars,
  }
}
