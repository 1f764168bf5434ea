import {
  type ChartDeclaration,
  type MeasuredChart,
  mostChartLines,
  type OperationChart,
  type PageDeclaration,
} from '@plinth/admin'
import type { Schema } from '@plinth/http'
import { itemOf, memberAt, type Operation, withoutNull } from './operations.ts'
import { withoutTitle } from './page-faults.ts'

interface ChartSurroundings {
  readonly operations: ReadonlyMap<string, Operation>
  readonly pages: ReadonlyMap<string, PageDeclaration>
  /** Whether the product has a metric of this name. */
  readonly hasMetric: (name: string) => boolean
}

/** What is wrong with the charts that are declared, a sentence each. */
export function chartFaults(
  declared: Iterable<ChartDeclaration>,
  { operations, pages, hasMetric }: ChartSurroundings,
): readonly string[] {
  return [...declared].flatMap((chart) => {
    const count = chart.lines.length
    const own = chart.kind === 'measured' ? measuredFaults(chart, hasMetric) : operationFaults(chart, operations)
    return [
      ...(count === 0 || count > mostChartLines ? [`it has ${count} lines`] : []),
      ...own,
      ...(chart.page === undefined ? [] : pageOf(chart.page, operations, pages)),
    ].map((fault) => `chart "${chart.id}": ${fault}`)
  })
}

function measuredFaults({ metric, lines }: MeasuredChart, hasMetric: (name: string) => boolean): readonly string[] {
  const names = new Set(lines.map(({ name }) => name))
  return [
    ...(hasMetric(metric) ? [] : [`nobody measures "${metric}"`]),
    ...(names.size === lines.length ? [] : ['two lines have the same name']),
  ]
}

function operationFaults(
  { source, query = {}, at, by, currency, lines }: OperationChart,
  operations: ReadonlyMap<string, Operation>,
): readonly string[] {
  const operation = operations.get(source)
  if (operation === undefined) return [`it asks the operation "${source}", which no plugin brings`]
  const item = itemOf(operation)
  if (item === undefined) return [`${source} answers no list`]
  const member = (name: string): Schema => withoutNull(memberAt(item, name)) ?? {}
  const numbers = lines.filter(({ field }) => !['integer', 'number'].includes(String(member(field)['type'])))
  const nameless = lines.filter(({ field, title }) => title === undefined && member(field)['x-title'] === undefined)
  return [
    ...(operation.method !== 'GET' || Object.keys(operation.params).length > 0
      ? [`${source} cannot be asked without more`]
      : []),
    ...Object.keys(query).flatMap((name) =>
      name in operation.query ? [] : [`"${name}" is no parameter of ${source}`],
    ),
    ...(member(at)['type'] === 'string' ? [] : [`"${at}" is no moment of what is answered`]),
    ...[by, currency].flatMap((name) =>
      name === undefined || memberAt(item, name) !== undefined ? [] : [`"${name}" is no member of what is answered`],
    ),
    ...numbers.map(({ field }) => `"${field}" is no number of what is answered`),
    ...nameless.map(({ field }) => withoutTitle(field)),
  ]
}

/** A page of one thing among many says nothing of which one a chart would be asked for. */
function pageOf(
  id: string,
  operations: ReadonlyMap<string, Operation>,
  pages: ReadonlyMap<string, PageDeclaration>,
): readonly string[] {
  const page = pages.get(id)
  if (page === undefined) return [`there is no page "${id}"`]
  const isOfMany = Object.keys(operations.get(page.source)?.params ?? {}).length > 0
  return isOfMany ? [`"${id}" shows one thing of many`] : []
}
