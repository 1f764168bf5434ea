import { useLanguage } from '../../app/app.tsx'
import type { Column } from '../api/page-types.ts'
import type { Row } from '../api/row-values.ts'
import { useSite } from '../shell/site-context.ts'
import classes from './list-totals.module.css'
import { plainText, useFormats } from './shown-value.ts'
import { sumsOf } from './totals.ts'

interface ListTotalsProps {
  readonly columns: readonly Column[]
  readonly rows: readonly Row[]
  /** True if these are all rows. Otherwise the text says how many rows were added up. */
  readonly isWhole: boolean
}

/** Shows the sums of the columns that have a total, below a list. Amounts in different units are never added up. */
export function ListTotals({ columns, rows, isWhole }: ListTotalsProps) {
  const { translate } = useLanguage()
  const formats = useFormats()
  const { units } = useSite()
  const totals = columns
    .filter(({ total }) => total)
    .map((column) => ({ column, sums: sumsOf(column, rows, units) }))
    .filter(({ sums }) => sums.length > 0)
  if (totals.length === 0) return null
  const label = isWhole ? translate('admin.totals.all') : translate('admin.totals.shown', { count: rows.length })
  return (
    <section className={classes.totals} aria-label={label}>
      <span aria-hidden>{label}</span>
      <dl>
        {totals.map(({ column, sums }) => (
          <div key={column.field}>
            <dt>{column.title}</dt>
            {sums.map(({ value, unit, code }) => (
              <dd key={`${unit?.displayName} ${code}`}>
                {column.as === 'amount'
                  ? `${formats.amount(value, unit)}${unit === undefined && code !== '' ? ` ${plainText(code)}` : ''}`
                  : formats.count(Number(value), column.unit)}
              </dd>
            ))}
          </div>
        ))}
      </dl>
    </section>
  )
}
