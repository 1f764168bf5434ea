import { availableParallelism, cpus, loadavg } from 'node:os'
import type { Spread } from './statistics.ts'

/** Date and host of the measurement. They apply to all tables of a run. */
const circumstances = [
  new Date().toISOString().slice(0, 10),
  `Node.js ${process.versions.node}`,
  `${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores`,
  `load at the start ${loadavg()[0]?.toFixed(1)}`,
].join('; ')

const leftOutMark = 'left out: '

/** Reports a part that cannot be measured on this host. `bench/run.ts` lists these parts at the end. */
export function reportOmission(part: string, reason: string): void {
  console.log(`${leftOutMark}${part}: ${reason}\n`)
}

/** Returns the parts that a program has reported with `reportOmission`, from its output. */
export const findOmissionsIn = (output: string): readonly string[] =>
  output.split('\n').flatMap((line) => (line.startsWith(leftOutMark) ? [line.slice(leftOutMark.length)] : []))

/** Format of a figure for each unit. Microseconds are printed in milliseconds, like all other times. */
const units = {
  ratio: (value: number) => value.toFixed(2),
  ms: (value: number) => `${value.toFixed(value < 100 ? 1 : 0)} ms`,
  us: (value: number) => `${(1000 * value).toFixed(1)} us`,
  bytes: (value: number) => `${value.toFixed(0)} bytes`,
} as const

/** A figure with its target. A missed target never makes the run fail, because times on a shared host prove nothing. */
export interface Bar {
  readonly name: string
  /** Spread of all rounds, or a number if there is only one round. */
  readonly measured: Spread | number
  /** Target of the figure: a minimum or a maximum, in the unit of the figure. */
  readonly bar: { readonly atLeast: number } | { readonly atMost: number }
  readonly unit: keyof typeof units
}

/** One part of the report. */
export interface Section {
  readonly title: string
  /** Database settings that affect the figures, for example `synchronous = 2, ...`. */
  readonly settings?: string
  readonly tables: readonly (readonly (readonly string[])[])[]
  readonly notes: readonly string[]
  readonly bars: readonly Bar[]
}

export const ratioText = ({ median, min, max }: Spread) => `${median.toFixed(2)} (${min.toFixed(2)}..${max.toFixed(2)})`

export function sectionText({ title, settings, tables, notes }: Section): string {
  const where = settings === undefined ? circumstances : `${circumstances}; ${settings}`
  return [`## ${title}`, `${where}.`, ...tables.map(tableText), notes.map((note) => `- ${note}`).join('\n')].join(
    '\n\n',
  )
}

/**
 * Returns a Markdown table. The first row is the heading. The columns are aligned, so that the table is readable in a
 * terminal.
 */
export function tableText(rows: readonly (readonly string[])[]): string {
  const [heading = [], ...body] = rows
  const widths = heading.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, column) => (row[column] ?? '').padEnd(width)).join(' | ')} |`
  return [line(heading), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...body.map(line)].join('\n')
}

/**
 * Returns the table of targets with median and range. If the middle half of the rounds is on both sides of the target,
 * the result is "at the bar": the run is undecided, whatever the median is.
 */
export function barsText(bars: readonly Bar[]): string {
  const rows = bars.map(({ name, measured, bar, unit }) => {
    const [sign, limit] = 'atLeast' in bar ? ['>=', bar.atLeast] : ['<=', bar.atMost]
    const [middle, [low, high]] =
      typeof measured === 'number' ? [measured, [measured, measured]] : [measured.median, measured.quartiles]
    const met = sign === '>=' ? middle >= limit : middle <= limit
    const result = low < limit && limit < high ? 'at the bar' : met ? 'met' : 'missed'
    const text = units[unit]
    const range = typeof measured === 'number' ? '' : ` (${text(measured.min)}..${text(measured.max)})`
    return [name, `${text(middle)}${range}`, `${sign} ${text(limit)}`, result]
  })
  return tableText([['bar', 'measured', 'wanted', 'result'], ...rows])
}
