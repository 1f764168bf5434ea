import {
  type AttentionDeclaration,
  type ChartDeclaration,
  type MeasuredChart,
  maxChartLines,
  type OperationChart,
  type PageDeclaration,
} from '@plinth/admin'
import type { Schema } from '@plinth/http'
import { type LocalizedText, localize } from '@plinth/kernel'
import { itemOf, memberAt, type Operation, withoutNull } from './operations.ts'
import { ownPages } from './own-pages.ts'
import { missingTitleMessage } from './page-faults.ts'
import { titleOf } from './page-views.ts'

/** The operation that returns the counts of a measured chart. */
export const metricChartOperation = 'getConsoleChartPoints'

const spanTitles: Readonly<Record<'hour' | 'day', LocalizedText>> = {
  hour: { en: 'Last hour', 'zh-CN': '最近一小时' },
  day: { en: 'Last day', 'zh-CN': '最近一天' },
}

/** Returns the id of the operation of a chart. */
export const sourceOf = (chart: ChartDeclaration) => (chart.kind === 'measured' ? metricChartOperation : chart.source)

/**
 * Returns a chart for the browser: the operation and parameters that return its numbers, and the titles. Both kinds of
 * charts have the same form.
 */
export function chartView(chart: ChartDeclaration, operation: Operation, locale: string) {
  const { id, title, lead, unit, labels = {} } = chart
  const translate = (text: LocalizedText) => localize(text, locale)
  return {
    id,
    title: translate(title),
    method: operation.method,
    ...(lead === undefined ? {} : { lead: translate(lead) }),
    ...(unit === undefined ? {} : { unit }),
    labels: Object.fromEntries(Object.entries(labels).map(([value, text]) => [value, translate(text)])),
    ...(chart.kind === 'measured'
      ? measuredView(chart, operation, translate)
      : operationView(chart, operation, locale)),
  }
}

const measuredView = (
  { id, by, lines }: MeasuredChart,
  { path }: Operation,
  translate: (text: LocalizedText) => string,
) => ({
  path: path.replace('{id}', id),
  ranges: (['hour', 'day'] as const).map((span) => ({ id: span, title: translate(spanTitles[span]), query: { span } })),
  at: 'at',
  ...(by === undefined ? {} : { by: 'of' }),
  lines: lines.map(({ name, title, tone }) => ({
    field: `counts.${name}`,
    title: translate(title),
    ...(tone === undefined ? {} : { tone }),
  })),
})

const operationView = (
  { query = {}, at, by, currency, lines }: OperationChart,
  { path, ...operation }: Operation,
  locale: string,
) => ({
  path,
  at,
  ranges: [{ id: 'all', title: '', query }],
  ...(by === undefined ? {} : { by }),
  ...(currency === undefined ? {} : { currency }),
  lines: lines.map(({ field, title, tone }) => ({
    field,
    title:
      title === undefined ? titleOf(memberAt(itemOf(operation), field), field, { locale }) : localize(title, locale),
    ...(tone === undefined ? {} : { tone }),
  })),
})

interface ChartSurroundings {
  readonly operations: ReadonlyMap<string, Operation>
  readonly pages: ReadonlyMap<string, PageDeclaration>
  /** Returns whether the product has a metric of this name. */
  readonly hasMetric: (name: string) => boolean
}

/** Returns the problems of the declared charts. Each problem is one sentence. */
export function chartProblems(
  declared: Iterable<ChartDeclaration>,
  { operations, pages, hasMetric }: ChartSurroundings,
): readonly string[] {
  return [...declared].flatMap((chart) => {
    const count = chart.lines.length
    const own = chart.kind === 'measured' ? measuredProblems(chart, hasMetric) : operationProblems(chart, operations)
    return [
      ...(count === 0 || count > maxChartLines ? [`it has ${count} lines`] : []),
      ...own,
      ...(chart.page === undefined ? [] : pageOf(chart.page, operations, pages)),
    ].map((problem) => `chart "${chart.id}": ${problem}`)
  })
}

function measuredProblems({ metric, lines }: MeasuredChart, hasMetric: (name: string) => boolean): readonly string[] {
  const names = new Set(lines.map(({ name }) => name))
  return [
    ...(hasMetric(metric) ? [] : [`no loaded plugin provides the metric "${metric}"`]),
    ...(names.size === lines.length ? [] : ['two lines have the same name']),
  ]
}

function operationProblems(
  { source, query = {}, at, by, currency, lines }: OperationChart,
  operations: ReadonlyMap<string, Operation>,
): readonly string[] {
  const operation = operations.get(source)
  if (operation === undefined) return [`no loaded plugin provides the operation "${source}"`]
  const item = itemOf(operation)
  if (item === undefined) return [`${source} does not return a list`]
  const member = (name: string): Schema => withoutNull(memberAt(item, name)) ?? {}
  const numbers = lines.filter(({ field }) => !['integer', 'number'].includes(String(member(field)['type'])))
  const nameless = lines.filter(({ field, title }) => title === undefined && member(field)['x-title'] === undefined)
  return [
    ...(operation.method !== 'GET' || Object.keys(operation.params).length > 0
      ? [`${source} is not a GET operation without path parameters`]
      : []),
    ...Object.keys(query).flatMap((name) =>
      name in operation.query ? [] : [`"${name}" is not a parameter of ${source}`],
    ),
    ...(member(at)['type'] === 'string' ? [] : [`"${at}" is not a date of the result`]),
    ...[by, currency].flatMap((name) =>
      name === undefined || memberAt(item, name) !== undefined ? [] : [`"${name}" is not a member of the result`],
    ),
    ...numbers.map(({ field }) => `"${field}" is not a number of the result`),
    ...nameless.map(({ field }) => missingTitleMessage(field)),
  ]
}

/**
 * Finds the page of a chart. A detail page with a path parameter is a problem, because a chart has no value for the
 * parameter.
 */
function pageOf(
  id: string,
  operations: ReadonlyMap<string, Operation>,
  pages: ReadonlyMap<string, PageDeclaration>,
): readonly string[] {
  const page = pages.get(id)
  if (page === undefined) return [`there is no page "${id}"`]
  const isOfMany = Object.keys(operations.get(page.source)?.params ?? {}).length > 0
  return isOfMany ? [`the page "${id}" needs a path parameter`] : []
}

type Operations = ReadonlyMap<string, Operation>

/** Returns the problems of the declared attention conditions. Each problem is one sentence. */
export function attentionProblems(
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
      problems.push(...countProblems(one, source))
    }
    problems.push(...targetProblems(one, operations, pages))
    return problems.map((problem) => `attention "${one.id}": ${problem}`)
  })
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

function targetProblems(
  { page, place }: AttentionDeclaration,
  operations: Operations,
  pages: ReadonlyMap<string, PageDeclaration>,
): readonly string[] {
  if (page === undefined) return place === 'navigation' ? ['place "navigation" needs a page'] : []
  if (page.filter === undefined && ownPages.some(({ id }) => id === page.id)) return []
  const target = pages.get(page.id)
  if (target === undefined) return [`there is no page "${page.id}"`]
  const filters = target.kind === 'list' ? (target.filters ?? []).map(({ name }) => name) : []
  return Object.keys(page.filter ?? {}).flatMap((name) =>
    filters.includes(name) && name in (operations.get(target.source)?.query ?? {})
      ? []
      : [`"${name}" is not a filter of "${page.id}"`],
  )
}
