/** List sizes. A small number of sizes limits the number of prepared statements. */
const sizes = [1, 10, 100, 1_000] as const
const largest = 1_000

/** Splits values for `column in (...)`. Each part is padded to one of the sizes with its last value. */
export function* inLists(
  values: readonly number[],
): Generator<{ readonly places: string; readonly values: readonly number[] }> {
  for (let from = 0; from < values.length; from += largest) {
    const part = values.slice(from, from + largest)
    const size = sizes.find((one) => one >= part.length) ?? largest
    const last = part.at(-1) ?? 0
    yield {
      places: Array(size).fill('?').join(', '),
      values: [...part, ...Array<number>(size - part.length).fill(last)],
    }
  }
}
