import { extensionPoint, type LocalizedText, type Shape, shape } from '@plinth/kernel'
import { type Tone, tones } from './page-words.ts'

/*
 * Charts of the back office as data: numbers over time, from an operation that answers rows with a moment each, or from
 * counters that the process measures anyway.
 */

/** Lines of a chart; more cannot be told apart. */
export const mostChartLines = 6

interface AnyChart {
  /** Unique in the product, as the plugin that owns it and a word: `http.requests`. */
  readonly id: string
  readonly title: LocalizedText
  /** One sentence on what it shows. */
  readonly lead?: LocalizedText
  /** What its numbers are; absent: how many there were. */
  readonly unit?: 'bytes' | 'ms' | 'percent'
  /** The page that shows it: a list, or one that shows what there is one of. Absent: the overview. */
  readonly page?: string
  /** Lower numbers come first. */
  readonly order: number
  /** Names for the values of `by`. */
  readonly labels?: Readonly<Record<string, LocalizedText>>
}

/** Numbers over time that an operation answers: its rows, each with a moment. */
export interface OperationChart extends AnyChart {
  readonly kind: 'operation'
  /** Asked without parameters of the path; answers a list. */
  readonly source: string
  readonly query?: Readonly<Record<string, string | number | boolean>>
  /** Member of a row that is a moment, or a day as `YYYY-MM-DD`. Rows of the same moment are added up. */
  readonly at: string
  /** Member whose values are told apart: each has lines of its own. */
  readonly by?: string
  /**
   * Of amounts in minor units: the member that names their asset or currency. Amounts of different ones are never added up,
   * each has lines of its own.
   */
  readonly currency?: string
  /** At least one, at most `mostChartLines`. `field`: a number; called as the route calls it, unless it has a title. */
  readonly lines: readonly { readonly field: string; readonly title?: LocalizedText; readonly tone?: Tone }[]
}

/**
 * What counters of the product counted, step by step, as far back as this process remembers: an hour in steps of half a
 * minute, a day in steps of five. Shown where metrics are measured.
 */
export interface MeasuredChart extends AnyChart {
  readonly kind: 'measured'
  /** Name of a counter, or of a histogram whose observations are counted. */
  readonly metric: string
  /** Label whose values are told apart: at most eight, what comes later counts as `other`. */
  readonly by?: string
  /** At least one, at most `mostChartLines`. */
  readonly lines: readonly {
    /** Unique in the chart. */
    readonly name: string
    readonly title: LocalizedText
    readonly tone?: Tone
    /** Labels that what counts has, each with one of these values. Absent: all of it counts. */
    readonly where?: Readonly<Record<string, readonly string[]>>
  }[]
}

export type ChartDeclaration = OperationChart | MeasuredChart

/** Charts of the back office, each contributed under its id. */
export const charts = extensionPoint<ChartDeclaration>('console.chart', {
  from: '@plinth/console',
  live: true,
  names: shape.dotted,
  namedBy: 'id',
  shape: chartShape(),
})

function chartShape() {
  const { text, localized, among, map } = shape
  const tone = among(tones)
  const lines = (line: Shape): Shape => ({ ...shape.list(line, 1), maxItems: mostChartLines })
  const required = { id: text, title: localized, order: { type: 'number' } } as const
  const optional = { lead: localized, unit: among(['bytes', 'ms', 'percent']), page: text, labels: map(localized) }
  return shape.variants('kind', [
    shape.record<OperationChart>(
      {
        ...required,
        kind: among(['operation']),
        source: text,
        at: text,
        lines: lines(shape.record<OperationChart['lines'][number]>({ field: text }, { title: localized, tone })),
      },
      { ...optional, query: map(shape.scalar), by: text, currency: text },
    ),
    shape.record<MeasuredChart>(
      {
        ...required,
        kind: among(['measured']),
        metric: text,
        lines: lines(
          shape.record<MeasuredChart['lines'][number]>(
            { name: text, title: localized },
            { tone, where: map(shape.list(shape.text)) },
          ),
        ),
      },
      { ...optional, by: text },
    ),
  ])
}
