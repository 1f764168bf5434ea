/** Middle value; the mean of the two middle ones when there is no single middle. Throws on an empty list. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.slice(Math.ceil(sorted.length / 2) - 1, Math.floor(sorted.length / 2) + 1)
  if (middle.length === 0) throw new RangeError('no values')
  return middle.reduce((sum, value) => sum + value, 0) / middle.length
}

/** A figure together with how far single rounds were from it. */
export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
  /** A quarter of the values is below the first, a quarter above the second. */
  readonly quartiles: readonly [number, number]
}

export function spread(values: readonly number[]): Spread {
  const quartiles = [quantile(values, 0.25), quantile(values, 0.75)] as const
  return { median: median(values), min: Math.min(...values), max: Math.max(...values), quartiles }
}

/** The value below which so much of the list lies. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN
}

/** What is a cost as a rate, and the other way round. */
export function inverse({ median, min, max, quartiles: [low, high] }: Spread): Spread {
  return { median: 1 / median, min: 1 / max, max: 1 / min, quartiles: [1 / high, 1 / low] }
}

/** Ratio of two series round by round: what disturbed the machine for a whole round disturbs both alike. */
export function ratio(values: readonly number[], base: readonly number[]): Spread {
  return spread(values.map((value, round) => value / (base[round] ?? Number.NaN)))
}

/** The list begun at another place, so that no candidate is always measured first or last. */
export function rotated<T>(list: readonly T[], round: number): readonly T[] {
  const at = round % list.length
  return [...list.slice(at), ...list.slice(0, at)]
}
