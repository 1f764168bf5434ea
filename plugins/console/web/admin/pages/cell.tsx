import { lazy } from 'react'
import { Link } from 'wouter'
import { useLanguage } from '../../app/app.tsx'
import { Boundary } from '../../app/boundary.tsx'
import type { Column } from '../api/page-types.ts'
import { addressElsewhere, isStoredFile, labelOf, type Row, valueAt } from '../api/row-values.ts'
import { useSite } from '../shell/site-context.ts'
import { unitOfColumn } from './amounts.ts'
import classes from './cell.module.css'
import { FileLink } from './file-cell.tsx'
import { ListTotals } from './list-totals.tsx'
import { Waiting } from './load-state.tsx'
import { PlainCell } from './plain-cell.tsx'
import { Reference, References, shownChips } from './reference-cell.tsx'
import { amountOf, plainText, useFormats } from './shown-value.ts'
import { Difference, Structure } from './structured-cell.tsx'

/** The code of the frame is loaded only if a cell shows an HTML document. */
const HtmlFrame = lazy(() => import('./html-frame.tsx'))

interface CellProps {
  readonly column: Column
  readonly row: Row
  /** Address of the detail page, if the column is a link. */
  readonly href?: string | undefined
  /** True if the cell has enough space for long texts. */
  readonly isWide?: boolean
}

/** Returns false if the cell would show nothing. */
export function hasValue({ field, as, before }: Column, row: Row): boolean {
  const isFilled = (name: string) => {
    const value = valueAt(row, name)
    return value !== null && value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0)
  }
  return isFilled(field) || (as === 'difference' && isFilled(before ?? ''))
}

/** Shows one value in the format of its column. A missing value is shown as a dash. */
export function Cell({ column, row, href, isWide = false }: CellProps) {
  const { translate } = useLanguage()
  const formats = useFormats()
  const value = valueAt(row, column.field)
  // If the new value is missing, this is also a difference, so it must be checked before empty values.
  if (column.as === 'difference')
    return (
      <Difference
        before={valueAt(row, column.before ?? '')}
        after={value}
        format={column.format === undefined ? undefined : valueAt(row, column.format)}
        fallback={column.fallback === undefined ? undefined : valueAt(row, column.fallback)}
        titles={column.titles}
        isWide={isWide}
      />
    )
  if (value === null || value === undefined || value === '') return <span className={classes.none}>–</span>
  switch (column.as) {
    case 'time':
      return <Time value={String(value)} href={column.link ? href : undefined} />
    case 'count':
      return (
        <span className={classes.count}>
          {column.unit === 'percent' && (
            <progress className={classes.progress} max={100} value={Number(value)} aria-label={column.title} />
          )}
          {isId(column) ? String(value) : formats.count(Number(value), column.unit)}
        </span>
      )
    case 'amount':
      return <Amount column={column} row={row} />
    case 'flag': {
      const word = labelOf(column, value) ?? translate(value === true ? 'admin.yes' : 'admin.no')
      return (
        <span className={classes.state} data-tone={value === true ? 'good' : 'quiet'}>
          {word}
        </span>
      )
    }
    case 'status': {
      const text = String(value)
      return (
        <span className={classes.state} data-tone={column.tones?.[text] ?? 'quiet'}>
          {labelOf(column, text) ?? text}
        </span>
      )
    }
    case 'chips':
      return <Chips values={Array.isArray(value) ? value : [value]} {...column} isWide={isWide} />
    case 'reference':
      if (labelOf(column, value) !== undefined) break
      return Array.isArray(value) ? (
        <References ids={value.map(String)} of={column.of} isWide={isWide} />
      ) : (
        <Reference id={String(value)} of={column.of} />
      )
    case 'json':
      return <Structure value={value} titles={column.titles} isWide={isWide} />
    case 'html':
      if (!isWide) break
      return (
        <Boundary waiting={<Waiting lines={1} height={384} />}>
          <HtmlFrame html={String(value)} title={column.title} />
        </Boundary>
      )
    case 'file':
      return isStoredFile(value) ? <FileLink file={value} isWide={isWide} /> : <span className={classes.none}>–</span>
    case 'described':
      return <Described described={value as DescribedValue} column={column} isWide={isWide} />
    case 'rows':
      return <Rows items={Array.isArray(value) ? value : [value]} columns={column.columns ?? []} isWide={isWide} />
  }
  const name = labelOf(column, value)
  const text = name ?? (isWide ? String(value) : plainText(value))
  // A name is not a code that users copy.
  const plain = name === undefined ? column : { ...column, mono: false }
  const elsewhere = addressElsewhere(column, row)
  return <PlainCell text={text} column={plain} href={href} elsewhere={elsewhere} isWide={isWide} />
}

function Time({ value, href }: { readonly value: string; readonly href: string | undefined }) {
  const formats = useFormats()
  const shown = (
    <time dateTime={value} title={`${formats.exactTime(value)}\n${value}`} className={classes.time}>
      {formats.time(value)}
    </time>
  )
  return href === undefined ? (
    shown
  ) : (
    <Link href={href} className={classes.link}>
      {shown}
    </Link>
  )
}

interface DescribedValue {
  readonly value: string | readonly string[]
  readonly name: string | null
  readonly labels: string | null
  readonly page: string | null
  readonly unit: string | null
}

/** Shows a value in the way that it describes: as an amount, as names with links, or as text. */
function Described({
  described: { value, name, labels, page, unit },
  column,
  isWide,
}: {
  readonly described: DescribedValue
  readonly column: Column
  readonly isWide: boolean
}) {
  const { groups } = useSite()
  if (unit !== null) return <Amount column={{ ...column, field: 'value', asset: unit }} row={{ value }} />
  if (name !== null) {
    const href = page === null ? undefined : `/${page}/${encodeURIComponent(String(value))}`
    return (
      <PlainCell text={name} column={{ ...column, link: true }} href={href} elsewhere={undefined} isWide={isWide} />
    )
  }
  if (labels === null && page === null)
    return (
      <Cell
        column={{ ...column, as: Array.isArray(value) ? 'chips' : 'text', field: 'value' }}
        row={{ value }}
        isWide={isWide}
      />
    )
  const opens = groups.flatMap(({ pages }) => pages).find(({ id }) => id === page)?.opens
  const of = { labels: labels ?? '', ...(page === null ? {} : { page }), ...(opens === undefined ? {} : { opens }) }
  return <Cell column={{ ...column, as: 'reference', field: 'value', of }} row={{ value }} isWide={isWide} />
}

function Amount({ column, row }: { readonly column: Column; readonly row: Row }) {
  const { translate } = useLanguage()
  const formats = useFormats()
  const { units } = useSite()
  const { unit, code } = unitOfColumn(column, units, row)
  return (
    <span
      className={classes.count}
      title={unit === undefined && code !== '' ? translate('admin.amount.smallest', { code }) : undefined}
    >
      {amountOf(formats, units, column, row)}
    </span>
  )
}

/** True for numbers, which are aligned at their end so that they can be compared. A share has a bar at its start. */
export const isNumeric = ({ as, unit }: Column) => as === 'amount' || (as === 'count' && unit !== 'percent')

/** True for ids, which are not formatted like quantities. */
const isId = ({ field }: Column) => /(?:^|\.)id$|Id$/.test(field)

/** Maximum length of a chip. Longer texts are sentences and are shown on separate lines. */
const maxChipLength = 60

function Chips({
  values,
  member,
  labels,
  isWide,
}: Pick<Column, 'member' | 'labels'> & {
  readonly values: readonly unknown[]
  readonly isWide: boolean
}) {
  const { translate } = useLanguage()
  const texts = values.map((value) => {
    const text = plainText(member === undefined ? value : valueAt(value, member))
    return labelOf({ labels: labels ?? {} }, text) ?? text
  })
  const shown = isWide ? texts : texts.slice(0, shownChips)
  if (texts.length === 0) return <span className={classes.none}>–</span>
  const isProse = isWide && texts.some((text) => text.length > maxChipLength)
  return (
    <ul className={isProse ? classes.prose : classes.chips}>
      {shown.map((text) => (
        <li key={text} className={isProse ? '' : classes.chip}>
          {text}
        </li>
      ))}
      {texts.length > shown.length && (
        <li className={classes.more}>{translate('admin.more', { count: texts.length - shown.length })}</li>
      )}
    </ul>
  )
}

/** Shows a list within a row. A table cell shows only its length. */
function Rows({
  items,
  columns,
  isWide,
}: {
  readonly items: readonly Row[]
  readonly columns: readonly Column[]
  readonly isWide: boolean
}) {
  const { translate } = useLanguage()
  if (items.length === 0) return <span className={classes.none}>{isWide ? translate('admin.empty.nothing') : '–'}</span>
  if (!isWide) return <span className={classes.count}>{items.length}</span>
  return (
    <div className={classes.rows}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.field}
                title={column.description}
                scope="col"
                data-numeric={isNumeric(column) || undefined}
              >
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: items of a response have no key, and their order does not change
            <tr key={at}>
              {columns.map((column) => (
                <td key={column.field} data-numeric={isNumeric(column) || undefined}>
                  <Cell column={column} row={item} isWide={column.as === 'text'} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {/* The response may contain only the first items of a longer list. */}
      <ListTotals columns={columns} rows={items} isWhole={false} />
    </div>
  )
}
