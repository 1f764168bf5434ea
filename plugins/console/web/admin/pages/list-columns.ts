import type { Api } from '../api/call.ts'
import { pageRows } from '../api/operations.ts'
import type { Column, ListPage } from '../api/page-types.ts'
import type { ListChoice } from '../shell/kept.ts'

const presetColumns = ({ columns }: ListPage) => columns.filter(({ hidden }) => !hidden).map(({ field }) => field)

/** Parameters for the position in a list. They do not apply to an exported file. */
const position = new Set(['cursor', 'size', 'count'])

/** Returns the parameters of a list without its position. */
export const withoutPosition = <V>(query: Readonly<Record<string, V>>): Readonly<Record<string, V>> =>
  Object.fromEntries(Object.entries(query).filter(([name]) => !position.has(name)))

/** Returns the address that exports the rows of the list as a file, with the current filters and columns. */
export function exportOf(
  api: Api,
  { id }: ListPage,
  query: Readonly<Record<string, string | number | readonly string[]>>,
  columns: readonly Column[],
  locale: string,
): string {
  const filters = Object.entries(withoutPosition(query)).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, String(one)]),
  )
  return api.addressOf(pageRows, {
    params: { id },
    query: { filters: new URLSearchParams(filters).toString(), columns: columns.map(({ field }) => field), locale },
  })
}

/** Returns the columns to display: the default columns, changed by the choices of the user. */
export const chosenColumns = (page: ListPage, { columns = {} }: ListChoice) =>
  page.columns.filter(({ field, hidden }) => columns[field] ?? !hidden).map(({ field }) => field)

/** Returns the columns whose visibility differs from the default of the page. */
export const differenceOf = ({ columns }: ListPage, shown: ReadonlySet<string>) =>
  Object.fromEntries(
    columns.flatMap(({ field, hidden = false }) =>
      shown.has(field) === hidden ? [[field, shown.has(field)] as const] : [],
    ),
  )

/** Returns the displayed columns; `undefined` for the default of the page. */
export function columnsOf(page: ListPage, shown: ReadonlySet<string>): readonly string[] | undefined {
  const preset = presetColumns(page)
  return preset.length === shown.size && preset.every((field) => shown.has(field)) ? undefined : [...shown]
}
