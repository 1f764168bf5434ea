import type { Column } from '../api/page-types.ts'
import { type Row, valueAt } from '../api/row-values.ts'
import { Cell } from './cell.tsx'
import classes from './facts.module.css'

/** Renderers whose values use the full width of the page. */
const broad = new Set(['rows', 'json', 'difference', 'html'])

interface FactsProps {
  readonly columns: readonly Column[]
  readonly row: Row
  /** True if there is a heading above. A single table then needs no label. */
  readonly isHeaded?: boolean
}

/** Shows the members of one object with their titles. */
export function RowDetails({ columns, row, isHeaded = false }: FactsProps) {
  // A single table or list below a heading needs no label. Without the label it can use the full width.
  const isAlone = isHeaded && columns.length === 1 && columns.every(({ as }) => broad.has(as) || as === 'chips')
  return (
    <dl className={classes.facts}>
      {columns.map((column) => (
        <div key={column.field} className={`${classes.fact} ${isAlone || broad.has(column.as) ? classes.broad : ''}`}>
          <dt title={column.description} className={isAlone ? 'visually-hidden' : undefined}>
            {column.title}
          </dt>
          <dd>
            <Cell column={column} row={row} isWide />
          </dd>
        </div>
      ))}
    </dl>
  )
}

interface AnswerProps {
  readonly answer: unknown
  readonly columns: readonly Column[]
}

/** Shows the response of an operation: a table for a list, or the members of one object. */
export function ApiResponse({ answer, columns }: AnswerProps) {
  const items = Array.isArray(answer) ? answer : (answer as { readonly items?: unknown } | null)?.items
  if (!Array.isArray(items)) {
    const row = (answer ?? {}) as Row
    // A list without items says nothing about the result, for example a list of errors.
    const isEmpty = ({ as, field }: Column) =>
      as === 'rows' && Array.isArray(valueAt(row, field)) && (valueAt(row, field) as unknown[]).length === 0
    return <RowDetails columns={columns.filter((column) => !isEmpty(column))} row={row} />
  }
  return <Cell column={{ field: 'items', as: 'rows', title: '', columns }} row={{ items }} isWide />
}
