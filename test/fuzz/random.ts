/** Reproducible random numbers (mulberry32). The seed of a failed run repeats that run. */
export interface Random {
  /** Returns a number from 0 to below 1. */
  number(): number
  /** Returns an integer from 0 to below `below`. */
  integer(below: number): number
  chance(probability: number): boolean
  pick<T>(choices: readonly T[]): T
}

export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  const number = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const integer = (below: number) => Math.floor(number() * below)
  return {
    number,
    integer,
    chance: (probability) => number() < probability,
    pick: (choices) => choices[integer(choices.length)] as never,
  }
}
