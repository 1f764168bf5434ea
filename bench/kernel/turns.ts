import { inverse, ratio, rotated, type Spread } from './statistics.ts'

/** Something that is measured in turns with others. */
export interface TurnCandidate {
  readonly name: string
  /** Does the work of one turn; round 0 warms up. Returns how many units it was. */
  turn(round: number): Promise<number>
}

/** Milliseconds of each unit by the clock, or of the CPU of this process, turn by turn. */
export type Measure = 'wall' | 'cpu'

interface Turns {
  of(candidate: TurnCandidate, measure: Measure): readonly number[]
  /** How many times as fast the candidate is as the other, turn by turn. */
  times(candidate: TurnCandidate, base: TurnCandidate, measure: Measure): Spread
}

/**
 * Measures candidates in turns whose order rotates. The first round warms up and does not count.
 *
 * @param between runs before each turn and is not measured
 */
export async function measureTurns(
  candidates: readonly TurnCandidate[],
  rounds: number,
  between: () => Promise<void>,
): Promise<Turns> {
  const taken = new Map(candidates.map(({ name }) => [name, { wall: [] as number[], cpu: [] as number[] }]))
  for (let round = 0; round <= rounds; round++) {
    for (const candidate of rotated(candidates, round)) {
      await between()
      const [began, used] = [performance.now(), process.cpuUsage()]
      const units = await candidate.turn(round)
      const { user, system } = process.cpuUsage(used)
      if (round === 0) continue
      taken.get(candidate.name)?.wall.push((performance.now() - began) / units)
      taken.get(candidate.name)?.cpu.push((user + system) / 1000 / units)
    }
  }
  const of = ({ name }: TurnCandidate, measure: Measure) => taken.get(name)?.[measure] ?? []
  return { of, times: (candidate, base, measure) => inverse(ratio(of(candidate, measure), of(base, measure))) }
}
