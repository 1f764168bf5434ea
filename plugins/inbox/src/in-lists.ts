/** Values of one list. Few sizes keep the number of prepared texts small. */
const sizes = [1, 10, 100, 1_000] as const
const largest = 1_000

/** Values in parts for `column in (...)`; each is filled up to one of a few sizes with its last value. */
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
