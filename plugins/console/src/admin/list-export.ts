import { type CsvColumn, csvText } from '@plinth/async-task'
import type { HttpRequest, HttpServer } from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import { localize, ownProperty } from '@plinth/kernel'
import { businessError } from '../declarations.ts'
import { callAsCaller } from './inner-call.ts'
import type { PageRegistry } from './page-registry.ts'

/** Number of rows per call. This is the maximum page size of lists. */
const rowsAtOnce = 200
/** Maximum number of rows in a file, so that each export ends. */
const maxRows = 100_000
const cutText = {
  en: 'This file ends here. More rows match. Choose narrower filters.',
  'zh-CN': '文件到此为止，还有更多符合条件的记录，请缩小筛选范围。',
}

type Row = Readonly<Record<string, unknown>>

/** Column of a page, in the form that the browser receives. */
interface Column {
  readonly field: string
  readonly as: string
  readonly title: string
  readonly member?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly of?: { readonly labels: string }
  readonly currency?: string
  readonly asset?: string
  readonly decimals?: string
  readonly symbol?: string
}

interface ListView {
  readonly kind: string
  readonly path: string
  readonly isPaged: boolean
  readonly columns: readonly Column[]
}

interface Rows {
  readonly items: readonly Row[]
  readonly page?: number
  readonly total?: number | null
  readonly next?: string | null
}

/** A unit with its name in one language. */
export interface AmountUnitOfColumn {
  readonly displayName: string
  readonly scale: number
  readonly symbol?: string | undefined
}

interface ExportRequest {
  /** Id of the page. */
  readonly page: string
  /** Query string of the list: its filters, search, time range and order, and the parameters of its path. */
  readonly filters: string
  /** Members to export. If empty, all columns of the page are exported. */
  readonly columns: readonly string[]
  readonly locale: string
  readonly units: Readonly<Record<string, AmountUnitOfColumn>>
}

/** A list of which the first rows have been read. */
interface StartedList {
  readonly path: string
  readonly filters: URLSearchParams
  readonly first: Rows
  readonly columns: readonly Column[]
  readonly cells: readonly CsvColumn<Row>[]
  /** Display names of objects, by kind and id. */
  readonly names: Map<string, string>
  readonly cutText: string
}

interface ListExportDependencies {
  readonly http: Pick<HttpServer, 'inject'>
  readonly book: Pick<PageRegistry, 'page' | 'labels'>
}

/** Response with which the operation of the list has rejected the call. */
interface RejectedListResponse {
  readonly status: number
  readonly body: string
}

/**
 * Exports the rows of a list as a CSV file. The class calls the operation of the list page by page, with the
 * credentials of the caller. Therefore the permission, data scope, validation and masking of the operation apply.
 */
export class ListExport {
  readonly #parts: ListExportDependencies

  constructor(parts: ListExportDependencies) {
    this.#parts = parts
  }

  /**
   * Returns the text of the file, whose rows are read while it is consumed, or the response that rejects the list.
   *
   * @throws BusinessError "404" `console.page-unknown`, also for a page that is not a list; "403" `console.permission-missing` or `iam.scope-all-required`
   */
  async start(request: HttpRequest, wanted: ExportRequest): Promise<AsyncIterable<string> | RejectedListResponse> {
    const { page: id, locale, units } = wanted
    const page = (await this.#parts.book.page(id, requirePrincipal(request), locale)) as unknown as ListView
    if (page.kind !== 'list') throw businessError('page-unknown', { params: { id } })
    const filters = new URLSearchParams(wanted.filters)
    const path = page.path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = filters.get(name) ?? ''
      filters.delete(name)
      return encodeURIComponent(value)
    })
    if (page.isPaged) filters.set('size', String(rowsAtOnce))
    const first = await this.#read(request, path, filters)
    if ('status' in first) return first
    const columns = page.columns.filter(({ field }) => wanted.columns.length === 0 || wanted.columns.includes(field))
    const names = new Map<string, string>()
    const cells = columns.map((column): CsvColumn<Row> => {
      // All times in a file are in UTC.
      const title = column.as === 'time' ? `${column.title} (UTC)` : column.title
      return { title, value: (row) => cellOf(column, row, units, names) }
    })
    return this.#text(request, { path, filters, first, columns, cells, names, cutText: localize(cutText, locale) })
  }

  /** Returns the text of the file. If the file has fewer rows than the list, its last line says so. */
  async *#text(request: HttpRequest, list: StartedList): AsyncGenerator<string> {
    const state = { isCut: false }
    yield* csvText(list.cells, this.#rows(request, list, state))
    if (state.isCut) yield `"${list.cutText}"\r\n`
  }

  async *#rows(
    request: HttpRequest,
    { path, filters, first, columns, names }: StartedList,
    state: { isCut: boolean },
  ): AsyncGenerator<Row> {
    let rows = first
    let count = 0
    for (;;) {
      await this.#name(request, columns, rows.items, names)
      yield* rows.items
      count += rows.items.length
      if (!hasNext(rows, count)) return
      if (count >= maxRows) {
        state.isCut = true
        return
      }
      if (typeof rows.next === 'string') {
        filters.set('cursor', rows.next)
        filters.set('count', 'none')
      } else filters.set('page', String((rows.page ?? 1) + 1))
      const answer = await this.#read(request, path, filters)
      // The error makes the download fail, so that nobody mistakes an incomplete file for a complete one.
      if ('status' in answer) throw new Error(`the list responded with status ${answer.status} after ${count} rows`)
      rows = answer
    }
  }

  async #read(request: HttpRequest, path: string, filters: URLSearchParams): Promise<Rows | RejectedListResponse> {
    const response = await callAsCaller(this.#parts.http, request, { url: `${path}?${filters}` })
    const { code, data } = response.json<{ code: string; data: Rows | readonly Row[] }>()
    if (code !== '200') return { status: response.statusCode, body: response.body }
    return 'items' in data ? data : { items: data }
  }

  /** Replaces ids in the rows by names. If the caller may not read the names, the ids are exported. */
  async #name(
    request: HttpRequest,
    columns: readonly Column[],
    rows: readonly Row[],
    names: Map<string, string>,
  ): Promise<void> {
    for (const column of columns) {
      const kind = column.of?.labels
      if (kind === undefined) continue
      const ids = new Set(rows.flatMap((row) => idsOf(row, column)).filter((id) => !names.has(`${kind} ${id}`)))
      for (const part of inParts([...ids], rowsAtOnce)) {
        const found = await this.#parts.book.labels(kind, { ids: part }, request).catch(() => [])
        for (const { id, name } of found) names.set(`${kind} ${id}`, name)
      }
    }
  }
}

const hasNext = ({ items, next, total }: Rows, count: number) =>
  next === undefined ? items.length > 0 && typeof total === 'number' && count < total : next !== null

function* inParts<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size)
}

function valueAt(row: unknown, name: string): unknown {
  return name.split('.').reduce((value: unknown, part) => (value as Row | null | undefined)?.[part], row)
}

const idsOf = (row: Row, { field }: Column): readonly string[] =>
  [valueAt(row, field)].flat().flatMap((id) => (id === null || id === undefined ? [] : [String(id)]))

/** Returns a value as people read it: names instead of ids, status labels instead of codes, amounts with their unit. */
function cellOf(
  column: Column,
  row: Row,
  units: ExportRequest['units'],
  names: ReadonlyMap<string, string>,
): string | number | boolean {
  const { as, field, labels = {}, member, of } = column
  const value = valueAt(row, field)
  if (value === null || value === undefined) return ''
  if (of !== undefined)
    return idsOf(row, column)
      .map((id) => names.get(`${of.labels} ${id}`) ?? id)
      .join('; ')
  if (as === 'described') return [valueAt(value, 'name') ?? valueAt(value, 'value')].flat().map(textOf).join('; ')
  if (as === 'file') return String(valueAt(value, 'name') ?? '')
  if (as === 'amount') return amountText(column, row, String(value), units)
  const shown = (one: unknown) => ownProperty(labels, String(one)) ?? textOf(one)
  if (Array.isArray(value) && as === 'chips')
    return value.map((one) => shown(member === undefined ? one : valueAt(one, member))).join('; ')
  if (typeof value === 'number' && as === 'count') return value
  return typeof value === 'boolean' ? value : shown(value)
}

const textOf = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : String(value))

/** Returns an amount such as `297.00 CNY`. If the unit is unknown, returns minor units with the code. */
function amountText(
  { currency, asset, decimals, symbol }: Column,
  row: Row,
  minor: string,
  units: ExportRequest['units'],
): string {
  const code = textOf((symbol === undefined ? (asset ?? valueAt(row, currency ?? '')) : valueAt(row, symbol)) ?? '')
  const unit =
    decimals === undefined ? unitOf(code, units) : { displayName: code, scale: Number(valueAt(row, decimals)) }
  if (unit === undefined || !/^-?\d+$/.test(minor)) return `${minor} ${code}`.trim()
  const { scale } = unit
  const digits = minor.replace('-', '').padStart(scale + 1, '0')
  const whole = `${minor.startsWith('-') ? '-' : ''}${digits.slice(0, digits.length - scale)}`
  return `${whole}${scale === 0 ? '' : `.${digits.slice(-scale)}`} ${unit.symbol ?? unit.displayName}`.trim()
}

/** Returns the number of decimal places of an asset or currency; `undefined` for an unknown one. */
export const scaleOfUnit = (code: string, units: Readonly<Record<string, AmountUnitOfColumn>>): number | undefined =>
  unitOf(code, units)?.scale

/** All ISO 4217 currency codes. */
const currencies: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'))
/**
 * Units of currencies by code. They are cached, because each amount cell needs a unit, and creating a `NumberFormat` is
 * slow.
 */
const currencyUnits = new Map<string, AmountUnitOfColumn>()

function unitOf(code: string, units: ExportRequest['units']): AmountUnitOfColumn | undefined {
  const own = ownProperty(units, code)
  if (own !== undefined) return own
  const currency = code.toUpperCase()
  if (!currencies.has(currency)) return undefined
  const known = currencyUnits.get(currency)
  if (known !== undefined) return known
  const format = new Intl.NumberFormat('en', { style: 'currency', currency })
  const unit = { displayName: currency, scale: format.resolvedOptions().maximumFractionDigits ?? 2 }
  currencyUnits.set(currency, unit)
  return unit
}
