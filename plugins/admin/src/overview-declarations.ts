import { extensionPoint, type LocalizedText, type Shape, shape } from '@plinth/kernel'
import { attentionShape, type Tone, tones } from './page-shapes.ts'

/**
 * A condition that may need an operator. An operation returns how often it occurs. The overview shows counts above zero
 * to users who may call the operation.
 */
export interface AttentionDeclaration {
  /** Unique in the product: the id of the plugin and a word, for example `events.failed`. */
  readonly id: string
  /** Text after the number: "Events that were not delivered". */
  readonly title: LocalizedText
  readonly tone: 'bad' | 'warn'
  /** Id of the operation. */
  readonly source: string
  readonly query?: Readonly<Record<string, string | number | boolean>>
  /** Member of the payload: a number, or a list whose items are counted. Default: the payload is the list. */
  readonly count?: string
  /** Counts only list items whose members have these values. */
  readonly where?: Readonly<Record<string, string | number | boolean>>
  /** Counts only list items whose member with this name is not empty. */
  readonly filled?: string
  /** The page that shows and fixes it, with its filters. */
  readonly page?: { readonly id: string; readonly filter?: Readonly<Record<string, string>> }
  /**
   * Place of the number: on the overview, or next to its page in the navigation, like unread messages. Default:
   * `overview`.
   */
  readonly place?: 'overview' | 'navigation'
  /** Tables that the operation reads, if no page declares them. See `PageLife`. */
  readonly live?: readonly string[]
}

/** Conditions that need attention, each contributed under its id. */
export const attention = extensionPoint<AttentionDeclaration>('console.attention', {
  from: '@plinth/console',
  live: true,
  names: shape.dotted,
  namedBy: 'id',
  shape: attentionShape(),
})

/*
 * Charts of the back office as data. They show numbers over time: rows of an operation with a moment each, or counters
 * of the process.
 */

/** Maximum number of lines of a chart. More cannot be distinguished. */
export const maxChartLines = 6

interface AnyChart {
  /** Unique in the product: the id of the plugin and a word, for example `http.requests`. */
  readonly id: string
  readonly title: LocalizedText
  /** One sentence about its content. */
  readonly lead?: LocalizedText
  /** Unit of the numbers. Default: a count. */
  readonly unit?: 'bytes' | 'ms' | 'percent'
  /** The page that shows it: a list or a singleton page. Default: the overview. */
  readonly page?: string
  /** Lower numbers come first. */
  readonly order: number
  /** Texts for the values of `by`. */
  readonly labels?: Readonly<Record<string, LocalizedText>>
}

/** Numbers over time from the rows of an operation. Each row has a moment. */
export interface OperationChart extends AnyChart {
  readonly kind: 'operation'
  /** Id of an operation without path parameters that returns a list. */
  readonly source: string
  readonly query?: Readonly<Record<string, string | number | boolean>>
  /** Member with a moment, or with a day as `YYYY-MM-DD`. Rows with the same moment are added up. */
  readonly at: string
  /** Member whose values have separate lines. */
  readonly by?: string
  /**
   * For amounts in minor units: the member with the asset or currency. Amounts in different units have separate lines
   * and are never added up.
   */
  readonly currency?: string
  /** 1 to `maxChartLines` lines. `field`: a number. Default title: the title of the member in the route. */
  readonly lines: readonly { readonly field: string; readonly title?: LocalizedText; readonly tone?: Tone }[]
}

/**
 * Steps of counters of the product, as long as this process stores them: an hour in steps of 30 s, a day in steps of 5
 * min. Only shown if metrics are enabled.
 */
export interface MeasuredChart extends AnyChart {
  readonly kind: 'measured'
  /** Name of a counter, or of a histogram whose observations are counted. */
  readonly metric: string
  /** Label whose values have separate lines. At most eight values; later values are counted as `other`. */
  readonly by?: string
  /** 1 to `maxChartLines` lines. */
  readonly lines: readonly {
    /** Unique in the chart. */
    readonly name: string
    readonly title: LocalizedText
    readonly tone?: Tone
    /** Labels that a counter must have, each with one of these values. Default: all counters of the metric. */
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
  const lines = (line: Shape): Shape => ({ ...shape.list(line, 1), maxItems: maxChartLines })
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
