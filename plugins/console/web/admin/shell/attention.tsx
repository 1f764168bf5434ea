import { Button } from '@mantine/core'
import { IconArrowRight, IconCircleCheck } from '@tabler/icons-react'
import { useQueries, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { useLanguage } from '../../app/app.tsx'
import { useApi } from '../api/context.tsx'
import { usePolling } from '../api/live.tsx'
import { attention } from '../api/operations.ts'
import type { Attention } from '../api/page-types.ts'
import { countOf, type Row, type Rows, rowsOf, valueAt } from '../api/row-values.ts'
import { useOperation } from '../api/use-operation.ts'
import { LoadFailure } from '../pages/load-state.tsx'
import { Reference } from '../pages/reference-cell.tsx'
import { useFormats } from '../pages/shown-value.ts'
import classes from './attention.module.css'
import { sortedByMark } from './attention-marks.ts'
import { AttentionMenu } from './attention-menu.tsx'

/** Poll interval while the page is visible. */
const everyMs = 15_000

/** Returns the attention conditions of a place, with the current responses of their operations. */
export function useAttention(place: NonNullable<Attention['place']>) {
  const api = useApi()
  const polling = usePolling()
  const declared = useOperation<{ items: readonly Attention[] }>(attention)
  const items = (declared.data?.items ?? []).filter((item) => (item.place ?? 'overview') === place)
  const answers = useQueries({
    queries: items.map((item) => ({
      queryKey: [item.operation, {}, item.query, 'attention'],
      queryFn: ({ signal }: { signal: AbortSignal }) => api.call<unknown>(item, { query: item.query, signal }),
      refetchInterval: polling(item.live, everyMs),
    })),
  })
  const counted = items.map((item, index) => {
    const { data, error } = answers[index] ?? {}
    return {
      item,
      count: data === undefined ? 0 : countOf(item, data),
      isUnknown: Boolean(error) && data === undefined,
      error,
    }
  })
  return { declared, items, answers, counted }
}

/**
 * Shows the conditions that need an operator, the most severe first, with links to the pages where they can be fixed.
 */
export function AttentionList() {
  const { translate } = useLanguage()
  const formats = useFormats()
  const { declared, items, answers, counted } = useAttention('overview')
  if (declared.error !== null) return <LoadFailure error={declared.error} onRetry={() => void declared.refetch()} />
  if (declared.data !== undefined && items.length === 0) return null
  const found = counted.filter(({ count, error }) => error || count > 0)
  const { open, aside } = sortedByMark(found)
  const isAsking = declared.data === undefined || answers.some(({ isPending }) => isPending)
  const checkedAt = Math.max(0, ...answers.map(({ dataUpdatedAt }) => dataUpdatedAt))
  return (
    <section className={classes.attention} aria-busy={isAsking} aria-label={translate('admin.attention.title')}>
      <header className={classes.head}>
        <h2>{translate('admin.attention.title')}</h2>
        {checkedAt > 0 && (
          <p className={classes.checked}>
            {translate('admin.attention.checked', { time: formats.clock(new Date(checkedAt)) })}
          </p>
        )}
      </header>
      {open.length === 0 && !isAsking && (
        <p className={classes.fine}>
          <IconCircleCheck size={20} aria-hidden />
          {translate('admin.attention.nothing')}
        </p>
      )}
      <ul className={classes.items}>
        {open.map((one) => (
          <AttentionItem key={one.item.id} {...one} />
        ))}
      </ul>
      {aside.length > 0 && (
        <details className={classes.aside}>
          <summary>{translate('admin.attention.aside', { count: aside.length })}</summary>
          <ul className={classes.items}>
            {aside.map((one) => (
              <AttentionItem key={one.item.id} {...one} isAside />
            ))}
          </ul>
        </details>
      )}
    </section>
  )
}

type CountedAttention = ReturnType<typeof useAttention>['counted'][number]

/** One thing that needs an operator: the number, the facts, and the menu to work it off. */
function AttentionItem({ item, count, isUnknown, isAside = false }: CountedAttention & { readonly isAside?: boolean }) {
  const { translate } = useLanguage()
  const formats = useFormats()
  const since = useOldest(item, count)
  const { mark } = item
  const snoozed = mark?.snoozedUntil
  return (
    <li data-tone={isUnknown || isAside ? 'quiet' : item.tone} className={classes.item}>
      <span className={classes.count}>{isUnknown ? '?' : formats.count(count)}</span>
      <span className={classes.title}>
        {item.title}
        {isUnknown && <span className={classes.note}>{translate('admin.attention.unknown')}</span>}
        <span className={classes.note}>
          {since !== undefined && <span>{translate('admin.attention.since', { time: formats.time(since) })}</span>}
          {item.unattended !== undefined && <span>{item.unattended}</span>}
          {snoozed != null && <span>{translate('admin.attention.until', { time: formats.time(snoozed) })}</span>}
          {mark?.assigneeUserId != null && (
            <span>
              {translate('admin.attention.assigned')}{' '}
              <Reference id={String(mark.assigneeUserId)} of={{ labels: 'iam.user' }} />
            </span>
          )}
        </span>
      </span>
      {item.page !== undefined && (
        <Button
          component={Link}
          href={`/${item.page.id}${searchOf(item.page.filter)}`}
          variant="default"
          size="xs"
          rightSection={<IconArrowRight size={14} aria-hidden />}
          aria-label={translate('admin.attention.open-named', { title: item.title })}
        >
          {translate('admin.attention.open')}
        </Button>
      )}
      {item.mayDecide && <AttentionMenu item={item} count={count} isAside={isAside} />}
    </li>
  )
}

/** Returns the time of the oldest case in ISO 8601, if the declaration says where it is. */
function useOldest({ oldest }: Attention, count: number): string | undefined {
  const api = useApi()
  const { data } = useQuery({
    queryKey: [oldest?.operation, {}, oldest?.query, 'oldest'],
    queryFn: async ({ signal }) =>
      oldest && rowsOf(await api.call<Rows | readonly Row[]>(oldest, { query: oldest.query, signal })).items,
    enabled: oldest !== undefined && count > 0,
    staleTime: everyMs,
  })
  const at = oldest && valueAt(data?.[0], oldest.at)
  return typeof at === 'string' ? at : undefined
}

const searchOf = (filter: Readonly<Record<string, string>> | undefined) =>
  filter === undefined ? '' : `?${new URLSearchParams(filter)}`
