/** Returns the middle value, or the mean of the two middle values. Throws if the list is empty. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.slice(Math.ceil(sorted.length / 2) - 1, Math.floor(sorted.length / 2) + 1)
  if (middle.length === 0) throw new RangeError('no values')
  return middle.reduce((sum, value) => sum + value, 0) / middle.length
}

/** A figure and the spread of its rounds. */
export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
  /** Quartiles: a quarter of the values is below the first, and a quarter is above the second. */
  readonly quartiles: readonly [number, number]
}

export function spread(values: readonly number[]): Spread {
  const quartiles = [quantile(values, 0.25), quantile(values, 0.75)] as const
  return { median: median(values), min: Math.min(...values), max: Math.max(...values), quartiles }
}

/** Returns the quantile of a list. `part` is from 0 to 1. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN
}

/** Converts a cost to a rate, or a rate to a cost. */
export function inverse({ median, min, max, quartiles: [low, high] }: Spread): Spread {
  return { median: 1 / median, min: 1 / max, max: 1 / min, quartiles: [1 / high, 1 / low] }
}

/**
 * Returns the ratio of two series, round by round. If a whole round is disturbed, both series are affected in the same
 * way.
 */
export function ratio(values: readonly number[], base: readonly number[]): Spread {
  return spread(values.map((value, round) => value / (base[round] ?? Number.NaN)))
}

/** Rotates the list by the number of the round, so that no candidate is always first or last. */
export function rotated<T>(list: readonly T[], round: number): readonly T[] {
  const at = round % list.length
  return [...list.slice(at), ...list.slice(0, at)]
}
