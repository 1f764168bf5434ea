import { extensionPoint, type Shape, shape } from '@plinth/kernel'
import {
  among,
  type DataOf,
  flag,
  labels,
  list,
  localized,
  map,
  named,
  names,
  number,
  optional,
  plainValue,
  record,
  scalar,
  shapeOf,
  text,
  tone,
} from './page-vocabulary.ts'

const query = optional(map(scalar))
const link = record({ id: text, filter: optional(map(text)) })

export const attentionSchema = record({
  /** Unique in the product: plugin id and a word, for example `events.failed`. */
  id: text,
  /** Text after the number, for example "Events that were not delivered". */
  title: localized,
  tone: among(['bad', 'warn']),
  /** Id of the operation that returns the number. */
  source: text,
  query,
  /** Member of the payload: a number, or a list to count. Default: the payload is the list. */
  count: optional(named('count')),
  /** Counts only items whose members have these values. */
  where: optional(map(scalar)),
  /** Counts only items in which this member is not empty. */
  filled: optional(text),
  /** One sentence: what happens if nobody acts. */
  unattended: optional(localized),
  /** Time of the oldest case: the member `at` of the first item that this GET operation returns. */
  oldest: optional(record({ source: text, query, at: text })),
  /** Page on which an operator can fix the problem, with its filters. */
  page: optional(link),
  /** Where the number is shown: on the overview, or next to the page in the navigation. Default: `overview`. */
  place: optional(among(['overview', 'navigation'])),
  /** Tables that the operation reads, if no page declares them. See `PageRefresh`. */
  live: optional(names),
})
/**
 * A number on the overview that shows how often something needs an operator. An operation returns the number. It is
 * shown if it is above zero and the user may call the operation.
 */
export type AttentionDeclaration = DataOf<typeof attentionSchema>

/** Numbers of things that need attention, each contributed under its id. */
export const attention = extensionPoint<AttentionDeclaration>('console.attention', {
  from: '@plinth/console/admin',
  live: true,
  names: shape.dotted,
  namedBy: 'id',
  shape: shapeOf(attentionSchema),
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

const chart = {
  /** Unique in the product: plugin id and a word, for example `http.requests`. */
  id: text,
  title: localized,
  /** One sentence that explains the chart. */
  lead: optional(localized),
  /** Unit of the numbers. Default: they are counts. */
  unit: optional(among(['bytes', 'ms', 'percent'])),
  /** Page that shows the chart: a list, or a page of one object without an id. Default: the overview. */
  page: optional(text),
  /** Position of the chart; charts with lower numbers come first. */
  order: number,
  /** Default: `line`. */
  as: optional(among(chartForms)),
  /** Texts for the values of the member or label `by`. */
  labels: optional(labels),
}

export const operationChart = record({
  ...chart,
  kind: among(['operation']),
  /** Id of an operation that returns a list and has no path parameters. */
  source: text,
  query,
  /** True if the chart follows the time range that the user chooses. The operation accepts `spanQuery`. */
  range: optional(flag),
  /** Member with the time, or with a day as `YYYY-MM-DD`. Rows with the same time are added up. */
  at: named('text'),
  /** Member of which each value gets its own line. */
  by: optional(named('plain')),
  /** Kind of objects whose ids the member `by` contains. Their names are shown. See `labelSources`. */
  names: optional(text),
  /**
   * Member with the asset or currency of amounts in minor units. Amounts in different units get separate lines and are
   * never added up.
   */
  currency: optional(named('text')),
  /**
   * 1 to `maxChartLines` lines. `field` is a member with a number, or with minor units as text if the chart has a
   * `currency`. Default title: the title of this member in the route.
   */
  lines: list(record({ field: named('figure'), title: optional(localized), tone: optional(tone) }), 1, maxChartLines),
})
/** Numbers over time from the rows of an operation. Each row has a time. */
export type OperationChart = DataOf<typeof operationChart>

const metricChart = record({
  ...chart,
  kind: among(['measured']),
  /** Name of a counter. For a histogram, the number of observations is shown. */
  metric: text,
  /** Label of which each value gets its own line. At most eight values; later ones are counted as `other`. */
  by: optional(text),
  /**
   * 1 to `maxChartLines` lines. `name` is unique in the chart. `where`: labels that a counter must have, each with one of
   * the listed values. Default: all counters of the metric.
   */
  lines: list(
    record({ name: text, title: localized, tone: optional(tone), where: optional(map(names)) }),
    1,
    maxChartLines,
  ),
})
/**
 * Changes of counters of this process: the last hour in steps of 30 s, the last day in steps of 5 min. Shown only if
 * metrics are enabled.
 */
export type MetricChart = DataOf<typeof metricChart>

export type ChartDeclaration = OperationChart | MetricChart

/** Schema of `ChartDeclaration`. */
export const chartSchema: Shape = shape.variants('kind', [operationChart, metricChart].map(shapeOf))

/** Charts of the back office, each contributed under its id. */
export const charts = extensionPoint<ChartDeclaration>('console.chart', {
  from: '@plinth/console/admin',
  live: true,
  names: shape.dotted,
  namedBy: 'id',
  shape: chartSchema,
})

export const tileSchema = record({
  /** Unique in the product: plugin id and a word, for example `iam.new-users`. */
  id: text,
  title: localized,
  /** One sentence that explains the number. */
  lead: optional(localized),
  /** Position of the tile; tiles with lower numbers come first. */
  order: number,
  /** Id of an operation without path parameters that returns a list or an object. */
  source: text,
  query,
  /** True if the tile follows the time range that the user chooses. The operation accepts `spanQuery`. */
  range: optional(flag),
  /** Member with a number, or with minor units as text if the tile has a `currency`. With `good`: any member. */
  field: named('figure'),
  /** Values of the member that are good. The tile then shows how many rows have one of them, for example "10 of 11". */
  good: optional(list(plainValue, 1)),
  /** With `good`: values that are bad. Rows with other values are not counted. Default: all other values. */
  bad: optional(list(plainValue, 1)),
  /** Member with the asset or currency of amounts in minor units. Each unit has its own sum. */
  currency: optional(named('text')),
  /** Unit of the number. Default: it is a count. */
  unit: optional(among(['bytes', 'ms', 'percent'])),
  /** Whether a larger number is good or bad. It determines the colour of the change. Default: neither. */
  more: optional(among(['good', 'bad'])),
  /** Page that shows the tile: a list, or a page of one object without an id. Default: the overview. */
  page: optional(text),
  /** Page with the details, with its filters. */
  opens: optional(link),
})
/**
 * A number on the overview or above a page, for example the revenue. Rows of the operation are added up. If the tile
 * follows the time range, it also shows the change since the range before.
 */
export type TileDeclaration = DataOf<typeof tileSchema>

/** Tiles of the back office, each contributed under its id. */
export const tiles = extensionPoint<TileDeclaration>('console.tile', {
  from: '@plinth/console/admin',
  live: true,
  names: shape.dotted,
  namedBy: 'id',
  shape: shapeOf(tileSchema),
})
