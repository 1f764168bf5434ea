import { setImmediate as nextTurn } from 'node:timers/promises'
import type { HttpRequest, HttpServer } from '@plinth/http'
import { type BusinessCode, BusinessError } from '@plinth/kernel'
import { businessError } from '../declarations.ts'
import { CsvCellsError, CsvQuoteError, type CsvRow, csvRows, maxCells } from './csv-rows.ts'
import { type ImportColumn, ImportValues, type ReadCell } from './import-values.ts'
import { callAsCaller } from './inner-call.ts'
import type { AmountUnitOfColumn } from './list-export.ts'
import type { PageRegistry } from './page-registry.ts'

/** Number of rows after which other work gets a turn. On SQLite, the search for a name blocks the process. */
const rowsPerTurn = 10

export type ImportMode = 'check' | 'all' | 'valid'

/** A problem of a file, with the line in which its row begins. */
export interface ImportProblem {
  readonly line: number
  /** Title of the affected column; null if the problem is about the whole row or file. */
  readonly title: string | null
  /** Stable code: a reason, or the rule of the schema. */
  readonly code: string
  readonly message: string
}

export interface ImportReport {
  /** `rejected`: nothing was written. */
  readonly outcome: 'checked' | 'imported' | 'rejected'
  readonly rows: number
  readonly valid: number
  readonly created: number
  /** Header of each column, and the title of the field that receives it; null for ignored columns. */
  readonly columns: readonly { readonly header: string; readonly title: string | null }[]
  readonly problems: readonly ImportProblem[]
}

/** Response of the operation that creates several rows. */
interface CreatedRows {
  readonly outcome: ImportReport['outcome']
  readonly valid: number
  readonly created: number
  readonly problems: readonly {
    readonly row: number
    readonly reason: string | null
    readonly message: string
    readonly errors: readonly { readonly field: string; readonly rule: string; readonly message: string }[]
  }[]
}

interface ListImportDependencies {
  readonly http: Pick<HttpServer, 'inject'>
  readonly book: Pick<PageRegistry, 'page' | 'labels'>
}

interface WantedImport {
  /** Id of the page. */
  readonly page: string
  readonly csv: string
  readonly mode: ImportMode
  /** Decimal places of assets and currencies, by code. */
  readonly units: Readonly<Record<string, AmountUnitOfColumn>>
}

/**
 * Reads a CSV file into the rows of a list. It calls the operation that creates several rows with the credentials of the
 * caller, so its permission, data scope, validation, idempotency key and audit apply.
 */
export class ListImport {
  readonly #parts: ListImportDependencies

  constructor(parts: ListImportDependencies) {
    this.#parts = parts
  }

  /**
   * @throws BusinessError "404" `console.page-unknown`, also for a page without an import; the errors of the operation
   */
  async run(request: HttpRequest, { page: id, csv, mode, units }: WantedImport): Promise<ImportReport> {
    const values = await ImportValues.of(this.#parts.book, request, id, units)
    const { path, max } = values.operation
    const problems: ImportProblem[] = []
    const add = (line: number, title: string | null, error: unknown) => {
      const { message, data } = request.errorOf(error)
      problems.push({ line, title, code: String(data?.['reason']), message })
    }
    const file = this.#read(csv, max, add)
    const [header, ...rows] = file
    const columns = (header?.cells ?? []).map((text) => ({ header: text, column: values.columnOf(text) }))
    const report = {
      rows: rows.length,
      columns: columns.map(({ header, column }) => ({ header, title: column?.title ?? null })),
    }
    const rejected = () => ({ ...report, outcome: 'rejected' as const, valid: 0, created: 0, problems })
    if (header !== undefined) this.#checkHeader(columns, values, rows.length, add)
    if (problems.length > 0) return rejected()
    const ready: { readonly line: number; readonly body: object }[] = []
    for (const [at, { line, cells }] of rows.entries()) {
      if (at % rowsPerTurn === 0) await nextTurn()
      const before = problems.length
      if (cells.length !== columns.length)
        add(line, null, businessError('import-cells', { params: { count: cells.length, expected: columns.length } }))
      const read: ReadCell[] = []
      for (const [index, { column }] of columns.entries()) {
        if (column === undefined || cells.length !== columns.length) continue
        try {
          read.push(...(await values.read(column, cells[index] ?? '', cells, columns)))
        } catch (error) {
          if (!(error instanceof BusinessError)) throw error
          add(line, column.title, error)
        }
      }
      if (problems.length === before) ready.push({ line, body: nested(read) })
    }
    if (ready.length === 0) return rejected()
    const isFaulty = problems.length > 0
    const answer = await this.#call(request, path, {
      rows: ready.map(({ body }) => body),
      mode: isFaulty && mode === 'all' ? 'check' : mode,
    })
    for (const { row, reason, message, errors } of answer.problems) {
      const line = ready[row]?.line ?? 0
      if (errors.length === 0) problems.push({ line, title: null, code: reason ?? '', message })
      for (const { field, rule, message } of errors) {
        const title = values.titleOf(field) ?? null
        // Texts of rules begin with the name of the member, which users do not know.
        const isNamed = title !== null && message.startsWith(field)
        problems.push({ line, title, code: rule, message: isNamed ? title + message.slice(field.length) : message })
      }
    }
    const { valid, created } = answer
    const outcome = isFaulty && mode === 'all' ? 'rejected' : answer.outcome
    return { ...report, outcome, valid, created, problems: problems.sort((a, b) => a.line - b.line) }
  }

  /** Returns the header and the rows of a file, or adds its problem. */
  #read(csv: string, max: number, add: (line: number, title: null, error: unknown) => void): readonly CsvRow[] {
    // The browser could not decode these bytes.
    if (csv.includes('\uFFFD') || csv.includes('\0')) add(1, null, businessError('import-encoding'))
    else {
      try {
        const rows = csvRows(csv, max + 2)
        if (rows.length < 2) add(1, null, businessError('import-empty'))
        if (rows.length <= max + 1) return rows
        add(rows[max + 1]?.line ?? 1, null, businessError('import-too-long', { params: { most: max } }))
      } catch (error) {
        if (error instanceof CsvQuoteError) add(error.line, null, businessError('import-quote'))
        else if (error instanceof CsvCellsError)
          add(error.line, null, businessError('import-columns', { params: { most: maxCells } }))
        else throw error
      }
    }
    return []
  }

  #checkHeader(
    columns: readonly { readonly header: string; readonly column: ImportColumn | undefined }[],
    { required }: ImportValues,
    rows: number,
    add: (line: number, title: string | null, error: unknown) => void,
  ): void {
    if (rows === 0) return
    const found = columns.flatMap(({ column }) => column ?? [])
    for (const column of new Set(found))
      if (found.indexOf(column) !== found.lastIndexOf(column))
        add(1, column.title, businessError('import-twice', { params: { title: column.title } }))
    for (const column of required)
      if (!found.includes(column))
        add(1, column.title, businessError('import-missing', { params: { title: column.title } }))
  }

  async #call(request: HttpRequest, url: string, payload: object): Promise<CreatedRows> {
    const response = await callAsCaller(this.#parts.http, request, { url, payload })
    const { code, message, data } = response.json<{ code: string; message: string; data: CreatedRows }>()
    if (code !== '200') throw new BusinessError(code as BusinessCode, message, { data: Object(data) })
    return data
  }
}

/** Returns an object from dotted names. */
function nested(cells: readonly ReadCell[]): object {
  const body: Record<string, unknown> = {}
  for (const { name, value } of cells) {
    const [group = '', ...rest] = name.split('.')
    body[group] = rest.length === 0 ? value : { ...Object(body[group]), [rest.join('.')]: value }
  }
  return body
}
