import { IconExternalLink } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { Link } from 'wouter'
import { useSpeech } from '../../app/app.tsx'
import { Boundary } from '../../app/boundary.tsx'
import { useApi } from '../api/context.tsx'
import { nameOf } from '../api/labels.ts'
import { type Column, type Row, valueAt } from '../api/page-types.ts'
import { useSite } from '../shell/site-context.ts'
import { unitOfColumn } from './amounts.ts'
import classes from './cell.module.css'
import { Waiting } from './load-state.tsx'
import { addressElsewhere, amountOf, plainText, useFormats } from './shown-value.ts'

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

/** Shows one value in the format of its column. A missing value is shown as a dash. */
export function Cell({ column, row, href, isWide = false }: CellProps) {
  const { translate } = useSpeech()
  const formats = useFormats()
  const value = valueAt(row, column.field)
  // If the new value is missing, this is also a difference, so it must be checked before empty values.
  if (column.as === 'difference')
    return <Difference before={valueAt(row, column.before ?? '')} after={value} isWide={isWide} />
  if (value === null || value === undefined || value === '') return <span className={classes.none}>–</span>
  switch (column.as) {
    case 'time':
      return (
        <time
          dateTime={String(value)}
          title={`${formats.exactTime(String(value))}\n${String(value)}`}
          className={classes.time}
        >
          {formats.time(String(value))}
        </time>
      )
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
      const word = column.labels?.[String(value)] ?? translate(value === true ? 'admin.yes' : 'admin.no')
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
          {column.labels?.[text] ?? text}
        </span>
      )
    }
    case 'chips':
      return <Chips values={Array.isArray(value) ? value : [value]} {...column} isWide={isWide} />
    case 'reference':
      return Array.isArray(value) ? (
        <References ids={value.map(String)} of={column.of} isWide={isWide} />
      ) : (
        <Reference id={String(value)} of={column.of} />
      )
    case 'json':
      return <Structure value={value} isWide={isWide} />
    case 'html':
      if (!isWide) break
      return (
        <Boundary>
          <Suspense fallback={<Waiting lines={1} height={384} />}>
            <HtmlFrame html={String(value)} title={column.title} />
          </Suspense>
        </Boundary>
      )
    case 'described':
      return <Described described={value as DescribedValue} column={column} isWide={isWide} />
    case 'rows':
      return <Rows items={Array.isArray(value) ? value : [value]} columns={column.columns ?? []} isWide={isWide} />
  }
  const text = isWide ? String(value) : plainText(value)
  const elsewhere = addressElsewhere(column, row)
  return <PlainCell text={text} column={column} href={href} elsewhere={elsewhere} isWide={isWide} />
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
  const of = { labels: labels ?? '', ...(page === null ? {} : { page }) }
  return <Cell column={{ ...column, as: 'reference', field: 'value', of }} row={{ value }} isWide={isWide} />
}

function Amount({ column, row }: { readonly column: Column; readonly row: Row }) {
  const { translate } = useSpeech()
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

/** True for ids, which are not formatted like quantities. */
const isId = ({ field }: Column) => /(?:^|\.)id$|Id$/.test(field)

function PlainCell({
  text,
  column,
  href,
  elsewhere,
  isWide,
}: {
  readonly text: string
  readonly column: Column
  readonly href: string | undefined
  /** Address of an external page. */
  readonly elsewhere: string | undefined
  readonly isWide: boolean
}) {
  const { translate } = useSpeech()
  const className = `${column.mono ? classes.mono : ''} ${isWide ? classes.whole : classes.line}`
  if (column.link && href !== undefined) {
    return (
      <Link href={href} className={`${classes.link} ${className}`} title={text}>
        {text}
      </Link>
    )
  }
  if (elsewhere !== undefined) {
    return (
      <a href={elsewhere} target="_blank" rel="noopener noreferrer" className={classes.elsewhere} title={elsewhere}>
        <span className={className}>{text}</span>
        <IconExternalLink size={14} aria-hidden className={classes.out} />
        <span className="visually-hidden">{translate('admin.opens-elsewhere')}</span>
      </a>
    )
  }
  return (
    <span className={className} title={isWide ? undefined : text}>
      {text}
    </span>
  )
}

/** Maximum number of displayed chips. For further values only their number is shown. */
const shownChips = 4
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
  const { translate } = useSpeech()
  const texts = values.map((value) => {
    const text = plainText(member === undefined ? value : valueAt(value, member))
    return labels?.[text] ?? text
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

function Reference({ id, of }: { readonly id: string; readonly of: Column['of'] }) {
  const api = useApi()
  const { language } = useSpeech()
  const kind = of?.labels ?? ''
  const named = useQuery({
    queryKey: ['labels', kind, id, language],
    queryFn: () => nameOf(api, kind, id, language),
    enabled: kind !== '',
    staleTime: 5 * 60_000,
    retry: false,
  })
  const name = named.data ?? undefined
  const shown =
    name === undefined ? (
      <span className={`${classes.none} ${classes.name}`}>{id}</span>
    ) : (
      <span className={classes.name} title={`${name}\n${id}`}>
        {name}
      </span>
    )
  return of?.page === undefined ? (
    shown
  ) : (
    <Link href={pageOf(of.page, of.opens, id)} className={classes.link}>
      {shown}
    </Link>
  )
}

const pageOf = (page: string, opens: readonly string[] | undefined, id: string) =>
  opens === undefined
    ? `/${page}/${encodeURIComponent(id)}`
    : `/${page}?${new URLSearchParams(opens.map((name) => [name, id]))}`

function References({
  ids,
  of,
  isWide,
}: {
  readonly ids: readonly string[]
  readonly of: Column['of']
  readonly isWide: boolean
}) {
  const { translate } = useSpeech()
  const shown = isWide ? ids : ids.slice(0, shownChips)
  if (ids.length === 0) return <span className={classes.none}>–</span>
  return (
    <ul className={classes.chips}>
      {shown.map((id) => (
        <li key={id} className={classes.chip}>
          <Reference id={id} of={of} />
        </li>
      ))}
      {ids.length > shown.length && (
        <li className={classes.more}>{translate('admin.more', { count: ids.length - shown.length })}</li>
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
  const { translate } = useSpeech()
  if (items.length === 0) return <span className={classes.none}>{isWide ? translate('admin.empty.nothing') : '–'}</span>
  if (!isWide) return <span className={classes.count}>{items.length}</span>
  return (
    <div className={classes.rows}>
      <table>
        <thead>
          <tr>
            {columns.map(({ field, title, description }) => (
              <th key={field} title={description} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: items of a response have no key, and their order does not change
            <tr key={at}>
              {columns.map((column) => (
                <td key={column.field}>
                  <Cell column={column} row={item} isWide={column.as === 'text'} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Number of characters of a structure that are shown until the user requests the rest. */
const shownCharacters = 4_096

function Structure({ value, isWide }: { readonly value: unknown; readonly isWide: boolean }) {
  if (!isWide) return <span className={`${classes.mono} ${classes.line}`}>{plainText(value)}</span>
  const text = laidOut(value)
  return (
    <pre className={classes.structure}>
      {text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text}
    </pre>
  )
}

/** Formats a value as JSON over several lines. A text that contains JSON is formatted too. */
function laidOut(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value, undefined, 2)
  try {
    return JSON.stringify(JSON.parse(value), undefined, 2)
  } catch {
    return value
  }
}

const isObject = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the members of the first object that differ from the second object. */
const reduced = (one: unknown, other: unknown): unknown =>
  isObject(one) && isObject(other)
    ? Object.fromEntries(
        Object.entries(one).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(other[name])),
      )
    : one

function Difference({
  before,
  after,
  isWide,
}: {
  readonly before: unknown
  readonly after: unknown
  readonly isWide: boolean
}) {
  const line = isWide ? classes.whole : classes.line
  return (
    <span className={classes.difference}>
      {before !== undefined && before !== null && <del className={line}>{plainText(reduced(before, after))}</del>}
      {after === undefined || after === null ? (
        <span className={classes.none}>–</span>
      ) : (
        <ins className={line}>{plainText(reduced(after, before))}</ins>
      )}
    </span>
  )
}
