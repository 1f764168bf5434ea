import { extensionPoint, type LocalizedText, type Shape, shape } from '@plinth/kernel'
import { attentionShape, type Tone, tones } from './page-shapes.ts'

/**
 * A number on the overview that shows how often something needs an operator. An operation returns the number. It is
 * shown if it is above zero and the user may call the operation.
 */
export interface AttentionDeclaration {
  /** Unique in the product: plugin id and a word, for example `events.failed`. */
  readonly id: string
  /** Text after the number, for example "Events that were not delivered". */
  readonly title: LocalizedText
  readonly tone: 'bad' | 'warn'
  /** Id of the operation that returns the number. */
  readonly source: string
  readonly query?: Readonly<Record<string, string | number | boolean>>
  /** Member of the payload: a number, or a list to count. Default: the payload is the list. */
  readonly count?: string
  /** Counts only items whose members have these values. */
  readonly where?: Readonly<Record<string, string | number | boolean>>
  /** Counts only items in which this member is not empty. */
  readonly filled?: string
  /** Page on which an operator can fix the problem, with its filters. */
  readonly page?: { readonly id: string; readonly filter?: Readonly<Record<string, string>> }
  /** Where the number is shown: on the overview, or next to the page in the navigation. Default: `overview`. */
  readonly place?: 'overview' | 'navigation'
  /** Tables that the operation reads, if no page declares them. See `PageRefresh`. */
  readonly live?: readonly string[]
}

/** Numbers of things that need attention, each contributed under its id. */
export const attention = extensionPoint<AttentionDeclaration>('console.attention', {
  from: '@plinth/console/admin',
  live: true,
  names: shape.dotted,
  namedBy: 'id',
  shape: attentionShape(),
})

/*
 * Charts of the back office. They show numbers over time: from the rows of an operation, or from counters of the
 * process.
 */

/** Maximum number of lines in a chart. More lines cannot be distinguished. */
export const maxChartLines = 6

/** Forms of a chart. `share` shows the parts of the sum, without the time. */
export const chartForms = ['line', 'bar', 'share'] as const
export type ChartForm = (typeof chartForms)[number]

interface AnyChart {
  /** Unique in the product: plugin id and a word, for example `http.requests`. */
  readonly id: string
  readonly title: LocalizedText
  /** One sentence that explains the chart. */
  readonly lead?: LocalizedText
  /** Unit of the numbers. Default: they are counts. */
  readonly unit?: 'bytes' | 'ms' | 'percent'
  /** Page that shows the chart: a list, or a page of one object without an id. Default: the overview. */
  readonly page?: string
  /** Position of the chart; charts with lower numbers come first. */
  readonly order: number
  /** Default: `line`. */
  readonly as?: ChartForm
  /** Texts for the values of the member or label `by`. */
  readonly labels?: Readonly<Record<string, LocalizedText>>
}

/** Numbers over time from the rows of an operation. Each row has a time. */
export interface OperationChart extends AnyChart {
  readonly kind: 'operation'
  /** Id of an operation that returns a list and has no path parameters. */
  readonly source: string
  readonly query?: Readonly<Record<string, string | number | boolean>>
  /** True if the chart follows the time range that the user chooses. The operation accepts `spanQuery`. */
  readonly range?: boolean
  /** Member with the time, or with a day as `YYYY-MM-DD`. Rows with the same time are added up. */
  readonly at: string
  /** Member of which each value gets its own line. */
  readonly by?: string
  /** Kind of objects whose ids the member `by` contains. Their names are shown. See `labelSources`. */
  readonly names?: string
  /**
   * Member with the asset or currency of amounts in minor units. Amounts in different units get separate lines and are
   * never added up.
   */
  readonly currency?: string
  /**
   * 1 to `maxChartLines` lines. `field` is a member with a number, or with minor units as text if the chart has a
   * `currency`. Default title: the title of this member in the route.
   */
  readonly lines: readonly { readonly field: string; readonly title?: LocalizedText; readonly tone?: Tone }[]
}

/**
 * Changes of counters of this process: the last hour in steps of 30 s, the last day in steps of 5 min. Shown only if
 * metrics are enabled.
 */
export interface MetricChart extends AnyChart {
  readonly kind: 'measured'
  /** Name of a counter. For a histogram, the number of observations is shown. */
  readonly metric: string
  /** Label of which each value gets its own line. At most eight values; later ones are counted as `other`. */
  readonly by?: string
  /** 1 to `maxChartLines` lines. */
  readonly lines: readonly {
    /** Name of the line, unique in the chart. */
    readonly name: string
    readonly title: LocalizedText
    readonly tone?: Tone
    /** Labels that a counter must have, each with one of the listed values. Default: all counters of the metric. */
    readonly where?: Readonly<Record<string, readonly string[]>>
  }[]
}

export type ChartDeclaration = OperationChart | MetricChart

/** Charts of the back office, each contributed under its id. */
export const charts = extensionPoint<ChartDeclaration>('console.chart', {
  from: '@plinth/console/admin',
  live: true,
  names: shape.dotted,
  namedBy: 'id',
  shape: chartShape(),
})

/**
 * A number on the overview or above a page, for example the revenue. Rows of the operation are added up. If the tile
 * follows the time range, it also shows the change since the range before.
 */
export interface TileDeclaration {
  /** Unique in the product: plugin id and a word, for example `iam.new-users`. */
  readonly id: string
  readonly title: LocalizedText
  /** One sentence that explains the number. */
  readonly lead?: LocalizedText
  /** Position of the tile; tiles with lower numbers come first. */
  readonly order: number
  /** Id of an operation without path parameters that returns a list or an object. */
  readonly source: string
  readonly query?: Readonly<Record<string, string | number | boolean>>
  /** True if the tile follows the time range that the user chooses. The operation accepts `spanQuery`. */
  readonly range?: boolean
  /** Member with a number, or with minor units as text if the tile has a `currency`. */
  readonly field: string
  /** Member with the asset or currency of amounts in minor units. Each unit has its own sum. */
  readonly currency?: string
  /** Unit of the number. Default: it is a count. */
  readonly unit?: 'bytes' | 'ms' | 'percent'
  /** Whether a larger number is good or bad. It determines the colour of the change. Default: neither. */
  readonly more?: 'good' | 'bad'
  /** Page that shows the tile: a list, or a page of one object without an id. Default: the overview. */
  readonly page?: string
  /** Page with the details, with its filters. */
  readonly opens?: { readonly id: string; readonly filter?: Readonly<Record<string, string>> }
}

/** Tiles of the back office, each contributed under its id. */
export const tiles = extensionPoint<TileDeclaration>('console.tile', {
  from: '@plinth/console/admin',
  live: true,
  names: shape.dotted,
  namedBy: 'id',
  shape: shape.record<TileDeclaration>(
    { id: shape.text, title: shape.localized, order: { type: 'number' }, source: shape.text, field: shape.text },
    {
      lead: shape.localized,
      query: shape.map(shape.scalar),
      range: shape.flag,
      currency: shape.text,
      unit: shape.among(['bytes', 'ms', 'percent']),
      more: shape.among(['good', 'bad']),
      page: shape.text,
      opens: shape.record<NonNullable<TileDeclaration['opens']>>({ id: shape.text }, { filter: shape.map(shape.text) }),
    },
  ),
})

function chartShape() {
  const { text, localized, among, map } = shape
  const tone = among(tones)
  const lines = (line: Shape): Shape => ({ ...shape.list(line, 1), maxItems: maxChartLines })
  const required = { id: text, title: localized, order: { type: 'number' } } as const
  const optional = {
    lead: localized,
    unit: among(['bytes', 'ms', 'percent']),
    page: text,
    labels: map(localized),
    as: among(chartForms),
  }
  return shape.variants('kind', [
    shape.record<OperationChart>(
      {
        ...required,
        kind: among(['operation']),
        source: text,
        at: text,
        lines: lines(shape.record<OperationChart['lines'][number]>({ field: text }, { title: localized, tone })),
      },
      { ...optional, query: map(shape.scalar), range: shape.flag, by: text, names: text, currency: text },
    ),
    shape.record<MetricChart>(
      {
        ...required,
        kind: among(['measured']),
        metric: text,
        lines: lines(
          shape.record<MetricChart['lines'][number]>(
            { name: text, title: localized },
            { tone, where: map(shape.list(shape.text)) },
          ),
        ),
      },
      { ...optional, by: text },
    ),
  ])
}
