import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Secrets } from '@plinth/config-schema/reading'
import { barsText, ratioText, sectionText } from '../kernel/report.ts'
import { median, ratio, rotated } from '../kernel/statistics.ts'
import { regularExpression } from './regular-expression.ts'
import { apiKeys, logText } from './texts.ts'

const rounds = 15
const turnMs = 20
const [kibi, mebi] = [2 ** 10, 2 ** 20]

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Returns the bytes that objects and typed arrays of this process use. */
function heldBytes(): number {
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const cpuMicroseconds = () => process.cpuUsage().user + process.cpuUsage().system

interface Known {
  readonly secrets: Secrets
  readonly bytes: number
  readonly addMicroseconds: number
}

/** Adds secrets one by one, as a product does, and measures the cost. */
function known(texts: readonly string[]): Known {
  const before = heldBytes()
  const startedAt = cpuMicroseconds()
  const secrets = new Secrets()
  for (const text of texts) {
    secrets.add(text)
    // A log line is redacted after each secret, so that the cost of updating the search is measured too.
    secrets.redact('ready')
  }
  const addMicroseconds = cpuMicroseconds() - startedAt
  return { secrets, bytes: heldBytes() - before, addMicroseconds }
}

/** CPU time in microseconds per KiB of text, by candidate and turn. */
type Times = Readonly<Record<string, number[]>>

function measure(text: string, candidates: Readonly<Record<string, (text: string) => unknown>>): Times {
  const names = Object.keys(candidates)
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]]))
  // The first round is the warm-up and is not counted.
  for (let round = 0; round <= rounds; round++) {
    for (const name of rotated(names, round)) {
      const call = candidates[name] as (text: string) => unknown
      const startedAt = cpuMicroseconds()
      let calls = 0
      let used = 0
      for (; used < 1000 * turnMs; used = cpuMicroseconds() - startedAt) {
        for (let more = Math.ceil((64 * kibi) / text.length); more > 0; more--, calls++) call(text)
      }
      if (round > 0) times[name]?.push((used / calls / text.length) * kibi)
    }
  }
  return times
}

/** Reads every character once. No search in JavaScript can be faster than this. */
function lookAtEach(text: string): number {
  let sum = 0
  for (let at = 0; at < text.length; at++) sum ^= text.charCodeAt(at)
  return sum
}

// Allocates the memory that all searches share before the measurement, so that it is not measured.
known([logText(mebi)])
const kept = Object.fromEntries([0, 10, 1000, 10_000].map((count) => [count, known(apiKeys(count))]))
const huge = known([logText(mebi).replaceAll('request', 'secrets')])
const few = apiKeys(10)
const many = apiKeys(1000)
const [oldFew, oldMany] = [regularExpression(few), regularExpression(many)]
const redactor =
  ({ secrets }: Known) =>
  (text: string) =>
    secrets.redact(text)
const of = (count: number) => redactor(kept[count] as Known)

const line = logText(64 * kibi)
const byCount = measure(line, {
  'one indexOf over the text': (text) => text.indexOf('\u0001'),
  'a look at every character': lookAtEach,
  'no secret': of(0),
  '10 secrets': of(10),
  '1,000 secrets': of(1000),
  '10,000 secrets': of(10_000),
  'one secret of 1 MiB': redactor(huge),
  'regular expression, 10 secrets': oldFew,
  'regular expression, 1,000 secrets': oldMany,
})
const lengths = { '300 B': 300, '64 KiB': 64 * kibi, '1 MiB': mebi }
const byLength = Object.entries(lengths).map(([name, length]) => {
  const { times = [] } = measure(logText(length), { times: of(10_000) })
  return [name, median(times)] as const
})

/** Texts that are slow to search: every position begins like many secrets, or contains one. */
const repeated = (length: number) => Buffer.alloc(length, 'a').toString('latin1')
const crowd = Array.from({ length: 12 }, (_, power) =>
  Array.from({ length: 16 }, (_, more) => `${repeated(2 ** (power + 3) + more)}b`),
).flat()
const adversaries: Readonly<Record<string, readonly string[]>> = {
  'a secret of 1 MiB, one character more than the text': [repeated(mebi + 1)],
  'a secret of 16 KiB at every place': [repeated(16 * kibi)],
  'a secret of 4 B at every place': ['aaaa'],
  '192 secrets that begin like every place': crowd,
}
const hostile = Object.entries(adversaries).map(([name, texts]) => {
  const { secrets } = known(texts)
  const row = (length: number) => {
    const text = repeated(length)
    const startedAt = cpuMicroseconds()
    secrets.redact(text)
    return ((cpuMicroseconds() - startedAt) / length) * kibi
  }
  row(64 * kibi)
  return [name, row(128 * kibi), row(mebi)] as const
})

const base = byCount['a look at every character'] ?? []
const us = (value: number) => value.toFixed(value < 1 ? 3 : 1)
const middle = (name: string) => median(byCount[name] ?? [])
const took = (name: string, { bytes, addMicroseconds }: Known, count: number) => [
  name,
  (addMicroseconds / 1000).toFixed(1),
  us(addMicroseconds / Math.max(count, 1)),
  (bytes / mebi).toFixed(2),
  Math.round(bytes / Math.max(count, 1)).toString(),
]
const tables = [
  [
    ['searched for in 64 KiB of log', 'us CPU per KiB', 'x a look at every character'],
    ...Object.entries(byCount).map(([name, times]) => [name, us(median(times)), ratioText(ratio(times, base))]),
  ],
  [['length of the text, 10,000 secrets', 'us CPU per KiB'], ...byLength.map(([name, time]) => [name, us(time)])],
  [
    ['text of the same character throughout', 'us CPU per KiB at 128 KiB', 'at 1 MiB'],
    ...hostile.map(([name, short, long]) => [name, us(short), us(long)]),
  ],
  [
    ['taken in one by one', 'ms CPU', 'us CPU each', 'MiB held', 'bytes each'],
    ...[10, 1000, 10_000].map((count) => took(`${count} secrets of 24 B`, kept[count] as Known, count)),
    took('one secret of 1 MiB', huge, 1),
  ],
]
const notes = [
  `medians of ${rounds} turns of ${turnMs} ms of CPU, the candidates in turns in one process; ratios turn by turn`,
  'each secret is searched for in eight or nine written forms; a regular expression of the secret of 1 MiB cannot be made',
]
console.log(sectionText({ title: 'Redaction', tables, notes, bars: [] }))
const [, shortLine = Number.NaN] = byLength[1] ?? []
const [, longLine = Number.NaN] = byLength[2] ?? []
const worst = Math.max(...hostile.map(([, short, long]) => long / short))
const times = (name: string, measured: number, atMost: number) =>
  ({ name, measured, bar: { atMost }, unit: 'ratio' }) as const
console.log(
  `\n${barsText([
    times('10,000 secrets / 10 secrets', middle('10,000 secrets') / middle('10 secrets'), 2),
    times('one secret of 1 MiB / 10 secrets', middle('one secret of 1 MiB') / middle('10 secrets'), 2),
    times('CPU per KiB, a line of 1 MiB / one of 64 KiB', longLine / shortLine, 1.5),
    times('CPU per KiB, hostile text of 1 MiB / of 128 KiB', worst, 2),
    times(
      '1,000 secrets / regular expression',
      middle('1,000 secrets') / middle('regular expression, 1,000 secrets'),
      1,
    ),
    {
      name: 'memory of a secret among 10,000',
      measured: (kept[10_000]?.bytes ?? 0) / 10_000,
      bar: { atMost: 2048 },
      unit: 'bytes',
    },
  ])}`,
)
