import { ActionIcon, Menu } from '@mantine/core'
import { IconChevronDown, IconStar, IconStarFilled } from '@tabler/icons-react'
import { type RefObject, useLayoutEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import { useLanguage } from '../../app/app.tsx'
import type { Attention, Navigation } from '../api/page-types.ts'
import { useFormats } from '../pages/shown-value.ts'
import { useAttention } from './attention.tsx'
import { useUnsaved } from './drafts.ts'
import { useUserPreferences } from './kept-context.ts'
import classes from './places.module.css'

export type Place = Navigation['groups'][number]
export type PlacePage = Place['pages'][number]

/** Returns the page at an address and its place. A detail page belongs to the list that opens it. */
export function placeOf(places: readonly Place[], pageId: string) {
  for (const place of places) {
    const page = place.pages.find(({ id, details }) => id === pageId || details.includes(pageId))
    if (page !== undefined) return { place, page }
  }
  return undefined
}

/** Returns the page that an address of a removed page opens. */
export const successorOf = (places: readonly Place[], pageId: string): string | undefined =>
  places.flatMap(({ pages }) => pages).find(({ formerly = [] }) => formerly.includes(pageId))?.id

/** Returns the conditions that need attention and the numbers of unsaved forms, both by page id. */
export function usePageMarks() {
  const { counted } = useAttention('navigation')
  const waiting = new Map(counted.filter(({ count }) => count > 0).map((one) => [one.item.page?.id ?? '', one]))
  return { waiting, unsaved: useUnsaved() }
}

interface MarksProps extends ReturnType<typeof usePageMarks> {
  readonly pages: readonly PlacePage[]
}

/** Shows for these pages the number of cases that need attention, and the number of unsaved forms. */
export const Marks = ({ pages, waiting, unsaved }: MarksProps) => {
  const changes = pages.reduce((sum, { id }) => sum + (unsaved.get(id) ?? 0), 0)
  return (
    <>
      {pages.map(({ id }) => (
        <Waiting key={id} of={waiting.get(id)} />
      ))}
      {changes > 0 && <Unsaved count={changes} />}
    </>
  )
}

/** Shows how many cases of one page need attention. The tooltip is the title of the condition. */
function Waiting({ of }: { readonly of: { readonly item: Attention; readonly count: number } | undefined }) {
  const formats = useFormats()
  if (of === undefined) return null
  return (
    <span className={classes.waiting} title={of.item.title}>
      <span className="visually-hidden">{of.item.title}</span> {formats.count(of.count)}
    </span>
  )
}

function Unsaved({ count }: { readonly count: number }) {
  const { translate } = useLanguage()
  const text = translate('admin.unsaved', { count })
  return (
    <span className={classes.unsaved} title={text}>
      <span className="visually-hidden">{text}</span>
    </span>
  )
}

/** Maximum number of tabs. A longer row of tabs cannot be read at a glance. */
const maxTabs = 6

/** Returns how many items of a list fit on its first line. The list wraps and hides its other lines. */
function useFitting(list: RefObject<HTMLElement | null>, content: string): number {
  const [fitting, setFitting] = useState(maxTabs)
  // biome-ignore lint/correctness/useExhaustiveDependencies: other items are measured again
  useLayoutEffect(() => {
    const items = [...(list.current?.children ?? [])].filter((item) => item instanceof HTMLElement)
    // The first item is too wide for the list if it does not fit.
    const isTooWide = () => (items[0]?.offsetWidth ?? 0) > (list.current?.clientWidth ?? 0) + 1
    const isOnFirstLine = ({ offsetTop }: HTMLElement) => offsetTop === items[0]?.offsetTop
    const measure = () => setFitting(isTooWide() ? 0 : items.filter(isOnFirstLine).length)
    measure()
    const watch = new ResizeObserver(measure)
    for (const element of [list.current, ...items]) if (element !== null) watch.observe(element)
    return () => watch.disconnect()
  }, [list, content])
  return fitting
}

/**
 * The pages of the current place as tabs, and the button that makes the page a favourite. A menu contains the pages
 * that do not fit.
 */
export function PlaceTabs({ places, pageId }: { readonly places: readonly Place[]; readonly pageId: string }) {
  const { translate } = useLanguage()
  const { kept, favourites } = useUserPreferences()
  const marks = usePageMarks()
  const list = useRef<HTMLUListElement>(null)
  const current = placeOf(places, pageId)
  const fitting = useFitting(list, `${pageId} ${current?.place.pages.map(({ title }) => title).join()}`)
  if (current === undefined) return null
  const { place, page } = current
  const others = place.pages.slice(fitting)
  const isFavourite = favourites.includes(page.id)
  const label = translate(isFavourite ? 'admin.favourites.remove' : 'admin.favourites.add', { title: page.title })
  const Star = isFavourite ? IconStarFilled : IconStar
  const currentOf = (tab: PlacePage) => (tab.id === pageId ? 'page' : tab === page || undefined)
  return (
    <div className={classes.bar}>
      <nav aria-label={place.title} className={classes.tabs}>
        <ul ref={list}>
          {place.pages.slice(0, maxTabs).map((tab, index) => (
            <li key={tab.id} className={index < fitting ? undefined : classes.outside}>
              <Link href={`/${tab.id}`} className={classes.tab} aria-current={currentOf(tab)}>
                {tab.title}
                <Marks pages={[tab]} {...marks} />
              </Link>
            </li>
          ))}
        </ul>
        {others.length > 0 && (
          <Menu position="bottom-end">
            <Menu.Target>
              <button type="button" className={classes.more} data-current={others.includes(page) || undefined}>
                <span>{others.includes(page) ? page.title : translate('admin.more', { count: others.length })}</span>
                <Marks pages={others} {...marks} />
                <IconChevronDown size={16} aria-hidden />
              </button>
            </Menu.Target>
            <Menu.Dropdown>
              {others.map((tab) => (
                <Menu.Item key={tab.id} component={Link} href={`/${tab.id}`} aria-current={currentOf(tab)}>
                  {tab.title}
                  <Marks pages={[tab]} {...marks} />
                </Menu.Item>
              ))}
            </Menu.Dropdown>
          </Menu>
        )}
      </nav>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={label}
        title={label}
        onClick={() => kept.setFavourite(page.id, !isFavourite)}
      >
        <Star size={18} aria-hidden />
      </ActionIcon>
    </div>
  )
}
