import type { HttpRequest, Schema } from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import { ownProperty } from '@plinth/kernel'
import { businessError } from '../declarations.ts'
import { type AmountUnitOfColumn, scaleOfUnit } from './list-export.ts'
import type { PageRegistry } from './page-registry.ts'

/** A field of the form that creates a row, in the form that the browser receives. */
interface FieldView {
  readonly name: string
  readonly title: string
  readonly required: boolean
  readonly schema: Schema
  readonly labels?: Readonly<Record<string, string>>
  readonly options?: { readonly labels: string; readonly more?: Readonly<Record<string, string>> }
}

interface ImportableList {
  readonly kind: string
  readonly import?: { readonly path: string; readonly max: number }
  readonly create?: {
    readonly fields: readonly FieldView[]
    readonly amounts?: Readonly<Record<string, { readonly unit: string } | { readonly field: string }>>
  }
  readonly columns: readonly { readonly field: string; readonly title: string; readonly labels?: FieldView['labels'] }[]
}

/** A column of a file that a field receives. */
export interface ImportColumn extends FieldView {
  /** Values by the names that people read, in all languages. */
  readonly values: ReadonlyMap<string, string>
}

/** Value of a member of a row. */
export interface ReadCell {
  readonly name: string
  readonly value: unknown
}

/** Languages of the titles and texts. */
const languages = ['en', 'zh-CN']

/** Maximum number of characters of a cell that a message repeats. */
const maxShown = 60
const short = (text: string) => (text.length > maxShown ? `${text.slice(0, maxShown)}…` : text)

const yes = ['true', 'yes', '1', '是']
const no = ['false', 'no', '0', '否']

/** Converts the cells of a file to the values of the fields of a list. It accepts what the export writes. */
export class ImportValues {
  readonly operation: NonNullable<ImportableList['import']>
  readonly required: readonly ImportColumn[]
  readonly #columns: readonly ImportColumn[]
  /** Columns by their title or name, in lower case. */
  readonly #titles: ReadonlyMap<string, ImportColumn>
  readonly #amounts: NonNullable<NonNullable<ImportableList['create']>['amounts']>
  readonly #units: Readonly<Record<string, AmountUnitOfColumn>>
  readonly #idOf: (kind: string, name: string) => Promise<string | undefined>

  /** @throws BusinessError "404" `console.page-unknown`, also for a page without an import; the errors of `book.page` */
  static async of(
    book: Pick<PageRegistry, 'page' | 'labels'>,
    request: HttpRequest,
    id: string,
    units: Readonly<Record<string, AmountUnitOfColumn>>,
  ): Promise<ImportValues> {
    const view = async (locale: string) =>
      (await book.page(id, requirePrincipal(request), locale)) as unknown as ImportableList
    const [own, ...others] = await Promise.all([...new Set([request.locale, ...languages])].map(view))
    if (own === undefined || own.kind !== 'list' || own.import === undefined)
      throw businessError('page-unknown', { params: { id } })
    const known = new Map<string, Promise<string | undefined>>()
    const idOf = (kind: string, name: string) => {
      const key = `${kind} ${name}`
      const found = known.get(key) ?? findId(book, request, kind, name)
      known.set(key, found)
      return found
    }
    return new ImportValues(own, [own, ...others], units, idOf)
  }

  private constructor(
    own: ImportableList,
    views: readonly ImportableList[],
    units: Readonly<Record<string, AmountUnitOfColumn>>,
    idOf: (kind: string, name: string) => Promise<string | undefined>,
  ) {
    this.operation = own.import as NonNullable<ImportableList['import']>
    this.#amounts = own.create?.amounts ?? {}
    this.#units = units
    this.#idOf = idOf
    const partsOf = (name: string) =>
      views.flatMap(({ create, columns }) => [
        ...(create?.fields ?? []).filter((field) => field.name === name),
        ...columns.filter(({ field }) => field === name),
      ])
    const fields = own.create?.fields ?? []
    this.#columns = fields.map((field) => {
      const parts = partsOf(field.name)
      const named = [...parts.map(({ labels = {} }) => labels), field.options?.more ?? {}]
      const values = named.flatMap((labels) => Object.entries(labels).map(([value, name]) => [name, value] as const))
      return { ...field, values: new Map(values) }
    })
    const titles = this.#columns.flatMap((column) =>
      [column.name, column.title, ...partsOf(column.name).map(({ title }) => title)].map(
        (title) => [wordOf(title), column] as const,
      ),
    )
    this.#titles = new Map(titles.reverse())
    this.required = this.#columns.filter(({ required }) => required)
  }

  /** Returns the column with this title or name, in any language. The export adds the time zone to times. */
  columnOf(header: string): ImportColumn | undefined {
    return this.#titles.get(wordOf(header)) ?? this.#titles.get(wordOf(header.replace(/ \(UTC\)$/, '')))
  }

  /** Returns the title of the field to which an error refers, such as `name`, `body.name` or `tags[0]`. */
  titleOf(field: string): string | undefined {
    const path = field.replace(/^body\./, '').replaceAll(/[[/]/g, '.')
    return this.#columns.find(({ name }) => path === name || path.startsWith(`${name}.`))?.title
  }

  /**
   * Returns the value of a cell; nothing for an empty cell, so that the default applies. Text that is no such value is returned
   * unchanged, so that the operation reports the rule.
   *
   * @throws BusinessError "400" `console.import-name`, `console.import-amount`
   */
  async read(
    column: ImportColumn,
    cell: string,
    cells: readonly string[],
    columns: readonly { readonly column: ImportColumn | undefined }[],
  ): Promise<readonly ReadCell[]> {
    const { name, schema } = column
    if (cell === '') return []
    const unit = this.#amounts[name]
    if (unit !== undefined) {
      const code = 'unit' in unit ? unit.unit : this.#unitIn(unit.field, cells, columns)
      return [{ name, value: amountOf(cell, code, this.#units) }]
    }
    const isList = schema['type'] === 'array'
    const items = isList && !cell.startsWith('[') ? cell.split('; ') : [cell]
    if (isList && cell.startsWith('[')) return [{ name, value: jsonOf(cell) }]
    const itemSchema = isList ? (schema.items ?? {}) : schema
    const values: unknown[] = []
    for (const item of items) values.push(valueIn(await this.#named(column, item), itemSchema))
    return [{ name, value: isList ? values : values[0] }]
  }

  /** Returns the code of a unit that another field contains, or the default of this field. */
  #unitIn(
    field: string,
    cells: readonly string[],
    columns: readonly { readonly column: ImportColumn | undefined }[],
  ): string {
    const cell = cells[columns.findIndex(({ column }) => column?.name === field)] ?? ''
    const unit = this.#columns.find(({ name }) => name === field)
    return cell === '' ? String(unit?.schema['default'] ?? '') : (unit?.values.get(cell) ?? cell)
  }

  /** Returns the value or the id for a name. */
  async #named({ values, options, title }: ImportColumn, text: string): Promise<string> {
    const value = values.get(text)
    if (value !== undefined) return value
    if (options === undefined) return text
    const id = await this.#idOf(options.labels, text)
    if (id === undefined) throw businessError('import-name', { params: { name: short(text), title } })
    return id
  }
}

const wordOf = (title: string) => title.trim().toLowerCase()

/** Returns the id of the only object of a kind with this name, or with this id. */
async function findId(book: Pick<PageRegistry, 'labels'>, request: HttpRequest, kind: string, name: string) {
  // A name may begin with that of its owner. Only the name itself is searched.
  const search = name.slice(name.lastIndexOf(' · ') + 1).replace(/^· /, '')
  const found = await book.labels(kind, { search: search.slice(0, 100) }, request)
  const same = found.filter((label) => label.name === name)
  if (same.length > 0) return same.length === 1 ? String(same[0]?.id) : undefined
  const known = await book.labels(kind, { ids: [name.slice(0, 200)] }, request)
  return known.length === 1 ? String(known[0]?.id) : undefined
}

/**
 * Returns the minor units of an amount such as `297.00 CNY`. Without a known unit, the cell contains minor units.
 *
 * @throws BusinessError "400" `console.import-amount`, also if the cell names another known unit
 */
function amountOf(cell: string, code: string, units: Readonly<Record<string, AmountUnitOfColumn>>): number {
  const scale = scaleOfUnit(code, units)
  const [, digits = '', fraction = '', named = ''] =
    /^\s*(-?\d{1,15})(?:\.(\d+))?(?:\s+(\D.*?))?\s*$/su.exec(cell) ?? []
  const minor = Number(`${digits}${fraction.padEnd(scale ?? 0, '0')}`)
  const isOther = named !== '' && !namesOf(code, units).has(named) && isUnit(named, units)
  if (digits === '' || fraction.length > (scale ?? 0) || !Number.isSafeInteger(minor) || isOther)
    throw businessError('import-amount', { params: { amount: short(cell), count: scale ?? 0 } })
  return minor
}

/** Returns the code of a unit, and the names with which the export writes it. */
function namesOf(code: string, units: Readonly<Record<string, AmountUnitOfColumn>>): ReadonlySet<string | undefined> {
  const { displayName, symbol } = ownProperty(units, code) ?? {}
  return new Set([code, displayName, symbol])
}

const isUnit = (name: string, units: Readonly<Record<string, AmountUnitOfColumn>>): boolean =>
  scaleOfUnit(name.toUpperCase(), units) !== undefined ||
  Object.keys(units).some((code) => namesOf(code, units).has(name))

/** Returns the value of a text in a schema, or the text if it is no such value. */
function valueIn(text: string, { type, format }: Schema): unknown {
  const lower = text.toLowerCase()
  if (type === 'boolean') return yes.includes(lower) ? true : no.includes(lower) ? false : text
  if (type === 'integer' || type === 'number') return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text
  if (type === 'object') return jsonOf(text)
  // Times without a zone are in UTC, as in the export.
  const isLocal = format === 'date-time' && /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?$/.test(text)
  return isLocal ? `${text.replace(' ', 'T')}${text.length === 16 ? ':00' : ''}Z` : text
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
