import { join } from 'node:path'
import { BenchChildProcess } from '../kernel/child-process.ts'
import { inverse, quantile, ratio, rotated, type Spread, spread } from '../kernel/statistics.ts'
import type { Measured, MeterRequest } from './meter.ts'

/** A program, and one of the calls that it can measure. */
export interface Candidate {
  readonly name: string
  readonly program: 'plinth.ts' | 'peers.mjs'
  readonly call: string
}

export interface Rounds {
  readonly rounds: number
  /** CPU time of one turn in milliseconds. */
  readonly cpuMs: number
  readonly warmUpCpuMs: number
}

/** Measurements of each candidate, in the order of the rounds. */
export type Series = Readonly<Record<string, Measured[]>>

/** Measures the candidates one at a time, each in a separate process, in turns whose order rotates. */
export async function measureInTurns(
  candidates: readonly Candidate[],
  callers: number,
  port: number,
  { rounds, cpuMs, warmUpCpuMs }: Rounds,
  around: (candidate: Candidate, measure: () => Promise<Measured>) => Promise<Measured> = (_, measure) => measure(),
): Promise<Series> {
  const running = new Map<Candidate, BenchChildProcess>()
  const series: Record<string, Measured[]> = {}
  try {
    for (const candidate of candidates) {
      const child = new BenchChildProcess(join(import.meta.dirname, 'callers', candidate.program), [`${port}`])
      running.set(candidate, child)
      await child.next()
      await ask(child, { call: candidate.call, callers, cpuMs: warmUpCpuMs })
      series[candidate.name] = []
    }
    for (let round = 0; round < rounds; round++) {
      for (const [candidate, child] of rotated([...running], round)) {
        const measure = () => ask(child, { call: candidate.call, callers, cpuMs })
        series[candidate.name]?.push(await around(candidate, measure))
      }
    }
  } finally {
    for (const child of running.values()) await child.end()
  }
  return series
}

const ask = (child: BenchChildProcess, question: MeterRequest) => child.ask<Measured>(question)

/**
 * Returns a second copy of the candidate. Both copies do the same work, so the difference between their ratio and 1.00
 * is the noise.
 */
export const repeatCandidate = (candidate: Candidate): Candidate => ({ ...candidate, name: `${candidate.name} again` })

/** Returns one figure of a candidate for all rounds. */
export const figuresOf = (series: Series, name: string, figure: keyof Measured): number[] =>
  (series[name] ?? []).map((measured) => measured[figure])

/** Returns the ratio of a figure of two candidates, turn by turn. */
export const compareToBase = (series: Series, candidate: Candidate, base: Candidate, figure: keyof Measured): Spread =>
  ratio(figuresOf(series, candidate.name, figure), figuresOf(series, base.name, figure))

/**
 * Returns the speed of the candidate relative to the base, by CPU time. 2 means that the candidate needs half the CPU
 * time.
 */
export const comparePerCpu = (series: Series, candidate: Candidate, base: Candidate): Spread =>
  inverse(compareToBase(series, candidate, base, 'cpuMicroseconds'))

/**
 * Returns the median, the range and the fastest twentieth of the turns. The fastest turns are shown because other
 * programs can only slow a turn down.
 */
export function costText(values: readonly number[], digits: number): string {
  const { median, min, max } = spread(values)
  const best = quantile(values, 0.05)
  return `${median.toFixed(digits)} (${min.toFixed(digits)}..${max.toFixed(digits)}), best ${best.toFixed(digits)}`
}
