import type { ChartDeclaration, MeasuredChart, OperationChart } from '@plinth/admin'
import { type LocalizedText, localize } from '@plinth/kernel'
import { itemOf, memberAt, type Operation } from './operations.ts'
import { titleOf } from './page-views.ts'

/** The operation that answers what a measured chart counted. */
export const chartPoints = 'getConsoleChartPoints'

const spanTitles: Readonly<Record<'hour' | 'day', LocalizedText>> = {
  hour: { en: 'Last hour', 'zh-CN': '最近一小时' },
  day: { en: 'Last day', 'zh-CN': '最近一天' },
}

/** Id of the operation that a chart asks. */
export const sourceOf = (chart: ChartDeclaration) => (chart.kind === 'measured' ? chartPoints : chart.source)

/** How a browser gets the numbers of a chart and what it calls them. Both kinds look the same to it. */
export function chartView(chart: ChartDeclaration, operation: Operation, locale: string) {
  const { id, title, lead, unit, labels = {} } = chart
  const say = (text: LocalizedText) => localize(text, locale)
  return {
    id,
    title: say(title),
    method: operation.method,
    ...(lead === undefined ? {} : { lead: say(lead) }),
    ...(unit === undefined ? {} : { unit }),
    labels: Object.fromEntries(Object.entries(labels).map(([value, text]) => [value, say(text)])),
    ...(chart.kind === 'measured' ? measuredView(chart, operation, say) : operationView(chart, operation, locale)),
  }
}

const measuredView = ({ id, by, lines }: MeasuredChart, { path }: Operation, say: (text: LocalizedText) => string) => ({
  path: path.replace('{id}', id),
  ranges: (['hour', 'day'] as const).map((span) => ({ id: span, title: say(spanTitles[span]), query: { span } })),
  at: 'at',
  ...(by === undefined ? {} : { by: 'of' }),
  lines: lines.map(({ name, title, tone }) => ({
    field: `counts.${name}`,
    title: say(title),
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
