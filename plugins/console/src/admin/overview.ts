import {
  type AttentionDeclaration,
  type ChartDeclaration,
  chartSchema,
  type MetricChart,
  maxChartLines,
  type OperationChart,
  type PageDeclaration,
  type Translated,
  translated,
} from '@plinth/admin'
import type { Schema } from '@plinth/http'
import { type LocalizedText, localize } from '@plinth/kernel'
import { titleOf, withoutUndefined } from './column-and-field-views.ts'
import { itemOf, memberAt, type Operation, withoutNull } from './operations.ts'
import { missingTitleMessage } from './page-faults.ts'
import { figureProblems, linkProblems, placeProblems, sourceProblems } from './tiles.ts'

/** The operation that returns the counts of a measured chart. */
export const metricChartOperation = 'getConsoleChartPoints'

const spanTitles: Readonly<Record<'hour' | 'day', LocalizedText>> = {
  hour: { en: 'Last hour', 'zh-CN': '最近一小时' },
  day: { en: 'Last day', 'zh-CN': '最近一天' },
}

/** Returns the id of the operation of a chart. */
export const chartOperationOf = (chart: ChartDeclaration) =>
  chart.kind === 'measured' ? metricChartOperation : chart.source

/**
 * Returns a chart for the browser: the operation and parameters that return its numbers, and the titles. Both kinds of
 * charts have the same form.
 */
export function chartView(declared: ChartDeclaration, operation: Operation, locale: string) {
  const chart = translated(chartSchema, declared, locale)
  const { id, title, lead, unit, labels = {}, as = 'line' } = chart
  return {
    id,
    title,
    as,
    labels,
    ...withoutUndefined({ lead, unit }),
    method: operation.method,
    ...(chart.kind === 'measured' ? measuredView(chart, operation, locale) : operationView(chart, operation, locale)),
  }
}

const measuredView = ({ id, by, lines }: Translated<MetricChart>, { path }: Operation, locale: string) => ({
  path: path.replace('{id}', id),
  ranges: (['hour', 'day'] as const).map((span) => ({
    id: span,
    title: localize(spanTitles[span], locale),
    query: { span },
  })),
  at: 'at',
  ...(by === undefined ? {} : { by: 'of' }),
  lines: lines.map(({ name, where: _, ...line }) => ({ ...line, field: `counts.${name}` })),
})

const operationView = (
  { query = {}, range, at, by, names, currency, lines }: Translated<OperationChart>,
  operation: Operation,
  locale: string,
) => ({
  path: operation.path,
  ranges: [{ id: 'all', title: '', query }],
  ...(range === true ? { follows: 'range' as const } : {}),
  at,
  ...withoutUndefined({ by, names, currency }),
  lines: lines.map((line) => ({
    ...line,
    title: line.title ?? titleOf(memberAt(itemOf(operation), line.field), line.field, { locale }),
  })),
})

interface ChartSurroundings {
  readonly operations: ReadonlyMap<string, Operation>
  readonly pages: ReadonlyMap<string, PageDeclaration>
  /** Returns whether the product has a metric of this name. */
  readonly hasMetric: (name: string) => boolean
}

/** Returns the problems of the declared charts. Each problem is one sentence. */
export function findChartProblems(
  declared: Iterable<ChartDeclaration>,
  { operations, pages, hasMetric }: ChartSurroundings,
): readonly string[] {
  return [...declared].flatMap((chart) => {
    const count = chart.lines.length
    const own = chart.kind === 'measured' ? measuredProblems(chart, hasMetric) : operationProblems(chart, operations)
    return [
      ...(count === 0 || count > maxChartLines ? [`it has ${count} lines`] : []),
      ...own,
      ...(chart.page === undefined ? [] : placeProblems(chart.page, operations, pages)),
    ].map((problem) => `chart "${chart.id}": ${problem}`)
  })
}

function measuredProblems({ metric, lines }: MetricChart, hasMetric: (name: string) => boolean): readonly string[] {
  const names = new Set(lines.map(({ name }) => name))
  return [
    ...(hasMetric(metric) ? [] : [`no loaded plugin provides the metric "${metric}"`]),
    ...(names.size === lines.length ? [] : ['two lines have the same name']),
  ]
}

function operationProblems(
  { source, query = {}, range = false, at, by, currency, lines }: OperationChart,
  operations: ReadonlyMap<string, Operation>,
): readonly string[] {
  const operation = operations.get(source)
  if (operation === undefined) return [`no loaded plugin provides the operation "${source}"`]
  const item = itemOf(operation)
  if (item === undefined) return [`${source} does not return a list`]
  const member = (name: string): Schema => withoutNull(memberAt(item, name)) ?? {}
  const nameless = lines.filter(({ field, title }) => title === undefined && member(field)['x-title'] === undefined)
  return [
    ...sourceProblems(operation, query, range),
    ...(member(at)['type'] === 'string' ? [] : [`"${at}" is not a date of the result`]),
    ...(by === undefined || memberAt(item, by) !== undefined ? [] : [`"${by}" is not a member of the result`]),
    ...figureProblems(
      operation,
      lines.map(({ field }) => field),
      currency,
    ),
    ...nameless.map(({ field }) => missingTitleMessage(field)),
  ]
}

type Operations = ReadonlyMap<string, Operation>

/** Returns the problems of the declared attention conditions. Each problem is one sentence. */
export function findAttentionProblems(
  declared: Iterable<AttentionDeclaration>,
  operations: Operations,
  pages: ReadonlyMap<string, PageDeclaration>,
): readonly string[] {
  return [...declared].flatMap((one) => {
    const problems: string[] = []
    const source = operations.get(one.source)
    if (source === undefined) problems.push(`no loaded plugin provides the operation "${one.source}"`)
    else {
      if (source.method !== 'GET' || Object.keys(source.params).length > 0)
        problems.push(`${one.source} is not a GET operation without path parameters`)
      for (const name of Object.keys(one.query ?? {}))
        if (!(name in source.query)) problems.push(`"${name}" is not a parameter of ${one.source}`)
      problems.push(...countProblems(one, source), ...oldestProblems(one, operations))
    }
    if (one.place === 'navigation' && one.page === undefined) problems.push('place "navigation" needs a page')
    problems.push(...linkProblems(one.page, operations, pages), ...linkedFilterProblems(one, operations, pages))
    return problems.map((problem) => `attention "${one.id}": ${problem}`)
  })
}

/** Query parameters that do not select the counted rows. */
const windowNames = ['count', 'page', 'size', 'sort']

/** Checks that the link opens the counted rows: the list must be filtered by what the count is filtered by. */
function linkedFilterProblems(
  { query = {}, where = {}, count, page }: AttentionDeclaration,
  operations: Operations,
  pages: ReadonlyMap<string, PageDeclaration>,
): readonly string[] {
  const target = page && pages.get(page.id)
  if (page === undefined || target?.kind !== 'list' || page.filter?.['from'] !== undefined) return []
  const parameters = operations.get(target.source)?.query ?? {}
  const selected = Object.entries(query).filter(([name]) => !windowNames.includes(name) && name in parameters)
  // A condition on the newest row opens the list, whose first row is the counted one.
  const isNewest = count === 'items' && 'size' in query
  const counted = isNewest
    ? []
    : Object.entries(where).map(([name, value]) => [name.split('.').at(-1) ?? '', value] as const)
  return [...selected, ...counted]
    .filter(([name, value]) => page.filter?.[name] !== String(value))
    .map(
      ([name, value]) => `it counts rows with "${name}" ${value}, but its link to "${page.id}" does not filter by it`,
    )
}

/** Checks that the operation of the oldest case returns items with this time. */
function oldestProblems({ oldest }: AttentionDeclaration, operations: Operations): readonly string[] {
  if (oldest === undefined) return []
  const { source, query = {}, at } = oldest
  const operation = operations.get(source)
  if (operation === undefined) return [`no loaded plugin provides the operation "${source}"`]
  return [
    ...sourceProblems(operation, query, false),
    ...(withoutNull(memberAt(itemOf(operation), at))?.['format'] === 'date-time'
      ? []
      : [`"${at}" is not a time of the result`]),
  ]
}

function countProblems({ count, where = {}, filled }: AttentionDeclaration, source: Operation): readonly string[] {
  const counted = count === undefined ? undefined : withoutNull(memberAt(source.data, count))
  if (counted !== undefined && counted['type'] !== 'array')
    return counted['type'] === 'integer' || counted['type'] === 'number'
      ? []
      : [`"${count}" is neither a number nor a list`]
  const item = count === undefined ? itemOf(source) : counted?.['items']
  if (item === undefined)
    return [count === undefined ? `${source.id} does not return a list` : `"${count}" is not a member of the result`]
  return [...Object.keys(where), ...(filled === undefined ? [] : [filled])].flatMap((name) =>
    memberAt(item, name) === undefined ? [`"${name}" is not a member of the counted items`] : [],
  )
}
