import { IconAlertCircle, IconArrowDownRight, IconArrowUpRight, IconCircleCheck } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useContext } from 'react'
import { Link } from 'wouter'
import { useLanguage } from '../../app/app.tsx'
import { useApi } from '../api/context.tsx'
import type { Tile } from '../api/page-types.ts'
import type { Row, Rows } from '../api/row-values.ts'
import { unitOf } from '../pages/amounts.ts'
import { LoadState } from '../pages/load-state.tsx'
import { useFormats } from '../pages/shown-value.ts'
import { useSite } from '../shell/site-context.ts'
import classes from './overview.module.css'
import { queryOf, RangeContext, type Span, spansOf } from './overview-range.ts'
import { changeOf, partOf, sumsOf, type TileSum } from './tile-data.ts'

/** Poll interval while the page is visible. */
const everyMs = 60_000
/** The list of what needs attention has the same interval. */
const stateEveryMs = 15_000

/** Reads the response of a tile for its range, or for the range before. */
function useTile(tile: Tile, which: 'now' | 'before') {
  const api = useApi()
  const { timeZone } = useSite()
  const range = useContext(RangeContext)
  const spanNow = (): Span => spansOf(range, Date.now(), timeZone)[which]
  return useQuery({
    // The limits of a preset move with the time, so the key contains the preset.
    queryKey: [tile.operation, {}, tile.query, ...(tile.range === true ? [range, which] : ['tile'])],
    queryFn: ({ signal }) =>
      api.call<Rows | readonly Row[] | Row>(tile, {
        query: { ...tile.query, ...(tile.range === true ? queryOf(spanNow()) : {}) },
        signal,
      }),
    enabled: which === 'now' || tile.range === true,
    refetchInterval: tile.good === undefined ? everyMs : stateEveryMs,
    placeholderData: (last) => last,
  })
}

/** A number with its title, the change since the range before, and a link to the details. */
function TileCard({ tile, heading: Heading }: { readonly tile: Tile; readonly heading: 'h2' | 'h3' }) {
  const { timeZone } = useSite()
  const range = useContext(RangeContext)
  const now = useTile(tile, 'now')
  const before = useTile(tile, 'before')
  const earlier = before.data === undefined ? undefined : sumsOf(tile, before.data)
  const { opens } = tile
  const search = new URLSearchParams({
    ...opens?.filter,
    ...(opens?.hasRange === true && tile.range === true ? queryOf(spansOf(range, Date.now(), timeZone).now) : {}),
  })
  return (
    <li className={classes.tile} aria-busy={now.isPending}>
      <Heading>
        {opens === undefined ? (
          tile.title
        ) : (
          <Link href={`/${opens.id}${search.size === 0 ? '' : `?${search}`}`}>{tile.title}</Link>
        )}
      </Heading>
      {tile.lead !== undefined && <p className={classes.lead}>{tile.lead}</p>}
      <LoadState of={now} lines={1} height={36} />
      {now.data !== undefined && tile.good !== undefined && <Part {...partOf(tile, now.data as Rows)} />}
      {now.data !== undefined &&
        tile.good === undefined &&
        sumsOf(tile, now.data).map((sum) => (
          <Figure key={sum.code} tile={tile} sum={sum} earlier={earlier?.find(({ code }) => code === sum.code)} />
        ))}
    </li>
  )
}

/** Shows how many of several things are good. */
function Part({ count, total }: { readonly count: number; readonly total: number }) {
  const { translate } = useLanguage()
  const isGood = count === total
  return (
    <p className={classes.value} data-tone={isGood ? 'good' : 'bad'}>
      {isGood ? <IconCircleCheck size={20} aria-hidden /> : <IconAlertCircle size={20} aria-hidden />}
      {translate('admin.overview.part', { count, total })}
    </p>
  )
}

interface FigureProps {
  readonly tile: Tile
  readonly sum: TileSum
  /** Sum of the range before; `undefined` if it has no rows of this unit. */
  readonly earlier: TileSum | undefined
}

function Figure({ tile, sum: { code, value }, earlier }: FigureProps) {
  const { translate } = useLanguage()
  const formats = useFormats()
  const { units } = useSite()
  const textOf = (shown: number | bigint) => {
    if (tile.currency === undefined || code === '') return formats.count(Number(shown), tile.unit)
    const unit = unitOf(units, code)
    return `${formats.amount(String(shown), unit)}${unit === undefined && code !== '' ? ` ${code}` : ''}`
  }
  const old = earlier?.value ?? (typeof value === 'bigint' ? 0n : 0)
  const change = changeOf(value, old)
  const isGood = change === undefined || tile.more === undefined ? undefined : change > 0 === (tile.more === 'good')
  const tone = isGood === undefined || change === 0 ? 'quiet' : isGood ? 'good' : 'bad'
  return (
    <div className={classes.figure}>
      <p className={classes.value}>{textOf(value)}</p>
      {/* Without a currency there is no number to compare with. */}
      {tile.range === true && (tile.currency === undefined || code !== '') && (
        <p className={classes.change}>
          {change !== undefined && change !== 0 && (
            <span data-tone={tone}>
              {change > 0 ? <IconArrowUpRight size={16} aria-hidden /> : <IconArrowDownRight size={16} aria-hidden />}
              {formats.change(change)}
            </span>
          )}
          {translate('admin.overview.before', { value: textOf(old) })}
        </p>
      )}
    </div>
  )
}

interface TilesProps {
  readonly tiles: readonly Tile[]
  /** Element of the titles. Default: `h2`. */
  readonly heading?: 'h2' | 'h3'
}

/** Shows tiles next to each other. */
export const Tiles = ({ tiles, heading = 'h2' }: TilesProps) =>
  tiles.length === 0 ? null : (
    <ul className={classes.tiles}>
      {tiles.map((tile) => (
        <TileCard key={tile.id} tile={tile} heading={heading} />
      ))}
    </ul>
  )
