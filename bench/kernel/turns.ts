import { inverse, ratio, rotated, type Spread } from './statistics.ts'

/** A candidate that is measured alternately with other candidates. */
export interface TurnCandidate {
  readonly name: string
  /** Does the work of one turn and returns how many units of work it did. Round 0 is the warm-up. */
  turn(round: number): Promise<number>
}

/** How time is measured: as elapsed time, or as CPU time of this process. */
export type Measure = 'wall' | 'cpu'

interface Turns {
  of(candidate: TurnCandidate, measure: Measure): readonly number[]
  /** Returns the speed of the candidate relative to the base, for each turn. */
  times(candidate: TurnCandidate, base: TurnCandidate, measure: Measure): Spread
}

/**
 * Measures candidates in turns whose order rotates. The first round is the warm-up and is not included.
 * @param between called before each turn; its time is not measured
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
