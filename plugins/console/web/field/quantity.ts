/* How durations and sizes are written in the configuration: the grammar of `@plinth/config-schema`, for the early hint. */

const shortForm = /^(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/
const isoForm = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,3}))?S)?)?$/
const millisecondsPer = [604_800_000, 86_400_000, 3_600_000, 60_000, 1000, 1] as const

/** Milliseconds of `30s`, `1h30m` or `PT5M`; `undefined` for anything else. */
export function millisecondsOf(text: string): number | undefined {
  const short = shortForm.exec(text)
  const parts = short ?? isoForm.exec(text)
  if (parts === null || !/\d/.test(text)) return undefined
  const amounts = parts.slice(1)
  if (short === null) amounts[5] = (amounts[5] ?? '').padEnd(3, '0')
  const total = millisecondsPer.reduce((sum, unit, index) => sum + Number(amounts[index] ?? 0) * unit, 0)
  return Number.isSafeInteger(total) ? total : undefined
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

/** Bytes of `1024`, `64kB` or `10MiB`; `undefined` for anything else. */
export function bytesOf(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d+)([A-Za-z]*)$/.exec(text) ?? []
  const factor = Object.hasOwn(bytesPer, unit) ? bytesPer[unit] : undefined
  if (amount === undefined || factor === undefined) return undefined
  const total = Number(amount) * factor
  return Number.isSafeInteger(total) ? total : undefined
}

/** What a text of a format measures. */
export const amountReaders: Readonly<Record<string, (text: string) => number | undefined>> = {
  duration: millisecondsOf,
  bytes: bytesOf,
}

const wordUnits = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
  ['millisecond', 1],
] as const

/** `5400000` in words: "1 hour, 30 minutes". */
export function durationInWords(milliseconds: number, language: string): string {
  let rest = milliseconds
  const parts: string[] = []
  for (const [unit, length] of wordUnits) {
    const amount = Math.floor(rest / length)
    rest %= length
    if (amount > 0) parts.push(unitText(amount, unit, language))
  }
  if (parts.length === 0) return unitText(0, 'second', language)
  return new Intl.ListFormat(language, { style: 'long', type: 'unit' }).format(parts)
}

const unitText = (amount: number, unit: string, language: string) =>
  new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(amount)

/** `10485760` in words: "10,485,760 bytes". */
export const bytesInWords = (bytes: number, language: string) => unitText(bytes, 'byte', language)
