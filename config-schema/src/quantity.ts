const shortForm = /^(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/
const isoForm = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,3}))?S)?)?$/
const millisecondsPer = [604_800_000, 86_400_000, 3_600_000, 60_000, 1000, 1]

/**
 * Returns the milliseconds of a duration: `500ms`, `30s`, `1h30m` (units w, d, h, m, s, ms, largest first, each at most
 * once) or ISO 8601 `PT5M`, `P1DT2H` (weeks to seconds; a month or year has no fixed length and is rejected). Returns
 * `undefined` for other texts and above 2^53 - 1 milliseconds.
 */
export function parseDuration(text: string): number | undefined {
  const short = shortForm.exec(text)
  const parts = short ?? isoForm.exec(text)
  if (!parts || !/\d/.test(text)) return undefined
  const amounts: (string | undefined)[] = parts.slice(1)
  // The last part of the ISO form is a fraction of a second, not a number of milliseconds.
  if (!short) amounts[5] = (amounts[5] ?? '').padEnd(3, '0')
  const total = millisecondsPer.reduce((sum, unit, index) => sum + Number(amounts[index] ?? 0) * unit, 0)
  return Number.isSafeInteger(total) ? total : undefined
}

/**
 * Returns the shortest exact text that `parseDuration` reads back: `5400000` -> `1h30m`, `0` -> `0s`.
 *
 * @throws RangeError unless `ms` is an integer from 0 to 2^53 - 1
 */
export function formatDuration(ms: number): string {
  if (!Number.isSafeInteger(ms) || ms < 0) throw new RangeError(`Not a whole number of milliseconds: ${ms}`)
  if (ms === 0) return '0s'
  let rest = ms
  let text = ''
  for (const [name, unit] of [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1000],
    ['ms', 1],
  ] as const) {
    if (rest >= unit) text += `${Math.floor(rest / unit)}${name}`
    rest %= unit
  }
  return text
}

const bytesPer: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
}

/**
 * Returns the bytes of a size: `1024`, `64kB` (powers of 1000: kB, MB, GB, TB), `10MiB` (powers of 1024: KiB, MiB, GiB,
 * TiB). Returns `undefined` for other texts and above 2^53 - 1.
 */
export function parseBytes(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d+)([A-Za-z]*)$/.exec(text) ?? []
  const factor = Object.hasOwn(bytesPer, unit) ? bytesPer[unit] : undefined
  if (amount === undefined || factor === undefined) return undefined
  const total = Number(amount) * factor
  return Number.isSafeInteger(total) ? total : undefined
}
