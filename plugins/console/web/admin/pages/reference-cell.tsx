import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { useLanguage } from '../../app/app.tsx'
import { useApi } from '../api/context.tsx'
import { readLabelName } from '../api/labels.ts'
import type { Column } from '../api/page-types.ts'
import classes from './cell.module.css'
import { Copied } from './copied.tsx'

/** Maximum number of displayed chips. For further values only their number is shown. */
export const shownChips = 4
/** Shows an object by its name, with a link to its page. */
export function Reference({ id, of }: { readonly id: string; readonly of: Column['of'] }) {
  const api = useApi()
  const { language } = useLanguage()
  const kind = of?.labels ?? ''
  const named = useQuery({
    queryKey: ['labels', kind, id, language],
    queryFn: () => readLabelName(api, kind, id, language),
    enabled: kind !== '',
    staleTime: 5 * 60_000,
    retry: false,
  })
  const name = named.data ?? undefined
  // The id is not shown while its name is being read, because it would flash.
  if (named.isLoading) return <span aria-busy className={classes.none} />
  const shown =
    name === undefined ? (
      <span className={`${classes.none} ${classes.name}`}>{id}</span>
    ) : (
      <span className={classes.name} title={`${name}\n${id}`}>
        {name}
      </span>
    )
  const link =
    of?.page === undefined ? (
      shown
    ) : (
      <Link href={pageOf(of.page, of.opens, id)} className={classes.link}>
        {shown}
      </Link>
    )
  // Users copy the id of an object that has no other name, for example an order number.
  return name === id ? <Copied text={id}>{link}</Copied> : link
}

const pageOf = (page: string, opens: readonly string[] | undefined, id: string) =>
  opens === undefined
    ? `/${page}/${encodeURIComponent(id)}`
    : `/${page}?${new URLSearchParams(opens.map((name) => [name, id]))}`

/** Shows several objects by their names. */
export function References({
  ids,
  of,
  isWide,
}: {
  readonly ids: readonly string[]
  readonly of: Column['of']
  readonly isWide: boolean
}) {
  const { translate } = useLanguage()
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
