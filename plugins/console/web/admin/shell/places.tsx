import { ActionIcon } from '@mantine/core'
import {
  IconBuildingBank,
  IconClipboardList,
  IconClockPlay,
  IconCoins,
  IconMail,
  IconPlugConnected,
  IconReceipt,
  IconServer,
  IconSettings,
  IconStar,
  IconStarFilled,
  IconTemplate,
  IconUsers,
} from '@tabler/icons-react'
import type { ComponentType } from 'react'
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

/** Icons of the places, by id of the page group. */
export const placeIcons: Readonly<Record<string, ComponentType<{ size: number }>>> = {
  orders: IconReceipt,
  points: IconCoins,
  ledger: IconBuildingBank,
  messages: IconMail,
  rules: IconTemplate,
  access: IconUsers,
  audit: IconClipboardList,
  jobs: IconClockPlay,
  integrations: IconPlugConnected,
  configuration: IconSettings,
  product: IconServer,
}

/** Returns the page at an address and its place. A detail page belongs to the list that opens it. */
export function placeOf(places: readonly Place[], pageId: string) {
  for (const place of places) {
    const page = place.pages.find(({ id, details }) => id === pageId || details.includes(pageId))
    if (page !== undefined) return { place, page }
  }
  return undefined
}

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

const showTab = (link: HTMLAnchorElement | null) => {
  link?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
}

/** The pages of the current place as tabs, and the button that makes the page a favourite. */
export function PlaceTabs({ places, pageId }: { readonly places: readonly Place[]; readonly pageId: string }) {
  const { translate } = useLanguage()
  const { kept, favourites } = useUserPreferences()
  const marks = usePageMarks()
  const current = placeOf(places, pageId)
  if (current === undefined) return null
  const { place, page } = current
  const isFavourite = favourites.includes(page.id)
  const label = translate(isFavourite ? 'admin.favourites.remove' : 'admin.favourites.add', { title: page.title })
  const Star = isFavourite ? IconStarFilled : IconStar
  return (
    <div className={classes.bar}>
      <nav aria-label={place.title} className={classes.tabs}>
        <ul>
          {place.pages.map((tab) => (
            <li key={tab.id}>
              <Link
                ref={tab === page ? showTab : null}
                href={`/${tab.id}`}
                className={classes.tab}
                aria-current={tab.id === pageId ? 'page' : tab === page || undefined}
              >
                {tab.title}
                <Marks pages={[tab]} {...marks} />
              </Link>
            </li>
          ))}
        </ul>
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
