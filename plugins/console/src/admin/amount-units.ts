import type { PageColumn, PageDeclaration, PageForm } from '@plinth/admin'
import { consoleError } from '../declarations.ts'

type Write = Pick<PageForm, 'preview' | 'answer' | 'livePreview'>

const columnsOfWrite = ({ preview, answer = [], livePreview }: Write): readonly PageColumn[] => [
  ...answer,
  ...(typeof preview === 'object' ? preview.columns : []),
  ...(livePreview?.columns ?? []),
]

/** Returns all columns of a page: the displayed columns, and the columns of the results of its forms and actions. */
function columnsOf(page: PageDeclaration): readonly PageColumn[] {
  if (page.kind === 'frame') return (page.writes ?? []).flatMap(({ columns = [] }) => columns)
  const shown = page.kind === 'list' ? page.columns : page.sections.flatMap(({ columns }) => columns)
  const forms = page.kind === 'list' ? [page.create, ...(page.forms ?? [])] : [page.form]
  const bulk = page.kind === 'list' ? (page.bulk ?? []) : []
  const writes: readonly (Write | undefined)[] = [...forms, ...(page.actions ?? []), ...bulk]
  return [...shown, ...writes.flatMap((write) => (write === undefined ? [] : columnsOfWrite(write)))]
}

const withInner = (columns: readonly PageColumn[]): readonly PageColumn[] =>
  columns.flatMap((column) => [column, ...withInner(column.columns ?? [])])

/** The ways in which a column can specify the unit of its amount. Each function tests for one way. */
const ways: readonly ((column: PageColumn) => boolean)[] = [
  ({ currency }) => currency !== undefined,
  ({ asset }) => asset !== undefined,
  ({ decimals, symbol }) => decimals !== undefined && symbol !== undefined,
]

/**
 * Checks that every amount column of the pages specifies its unit in exactly one way.
 * @throws PlinthError `PLINTH_CONSOLE_AMOUNT_UNIT` with all columns that do not
 */
export function assertAmountUnits(pages: Iterable<PageDeclaration>): void {
  const wrong = [...pages].flatMap((page) =>
    withInner(columnsOf(page))
      .filter((column) => column.as === 'amount' && ways.filter((way) => way(column)).length !== 1)
      .map(({ field }) => `\n- page "${page.id}", column "${field}"`),
  )
  if (wrong.length > 0) throw consoleError('PLINTH_CONSOLE_AMOUNT_UNIT', { columns: [...new Set(wrong)].join('') })
}
