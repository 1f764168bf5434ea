import { ActionIcon, Button, SegmentedControl } from '@mantine/core'
import { IconKeyboard, IconMenu2, IconSearch, IconX } from '@tabler/icons-react'
import { type KeyboardEvent, type MouseEvent, useId, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useLanguage } from '../../app/app.tsx'
import { Brand, Switches } from '../../app/frame.tsx'
import type { Navigation as NavigationView } from '../api/page-types.ts'
import { contentId, focusContent } from './focus.ts'
import { useUserPreferences } from './kept-context.ts'
import classes from './navigation.module.css'
import { iconOf } from './place-icons.ts'
import { Marks, type Place, type PlacePage, placeOf, usePageMarks } from './places.tsx'
import type { SessionState } from './session/session-state.ts'
import { SignOut } from './session/sign-out.tsx'
import { offsetText, useZone } from './zone.ts'

interface NavigationProps {
  readonly navigation: NavigationView
  readonly username: string
  readonly session: SessionState
  onSearch(): void
  onShortcuts(): void
}

/**
 * Navigation with brand, search, places, favourites and the account of the user. On a narrow screen, one button opens
 * it.
 */
export function Navigation({ navigation, username, session, onSearch, onShortcuts }: NavigationProps) {
  const { translate } = useLanguage()
  const [isOpen, setOpen] = useState(false)
  const menuId = useId()
  const button = useRef<HTMLButtonElement>(null)
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !isOpen) return
    setOpen(false)
    button.current?.focus()
  }
  const onChosen = () => {
    if (!isOpen) return
    setOpen(false)
    // The focused element is now hidden, so the focus moves to the content.
    focusContent()
  }
  const onSkip = (event: MouseEvent) => {
    // The address of the link is relative to the base of the document, so it would open the overview.
    event.preventDefault()
    focusContent()
  }
  return (
    <aside className={classes.side} aria-label={navigation.siteTitle} onKeyDown={onKey}>
      <a className={classes.skip} href={`#${contentId}`} onClick={onSkip}>
        {translate('admin.skip')}
      </a>
      <div className={classes.bar}>
        <Link href="/" className={classes.brand} onClick={onChosen}>
          <Brand />
        </Link>
        <Button
          className={classes.search}
          variant="default"
          size="sm"
          justify="space-between"
          leftSection={<IconSearch size={16} aria-hidden />}
          rightSection={<kbd className={classes.key}>Ctrl K</kbd>}
          onClick={onSearch}
        >
          {translate('admin.palette.open')}
        </Button>
        <button
          ref={button}
          type="button"
          className={classes.menuButton}
          aria-expanded={isOpen}
          aria-controls={menuId}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? <IconX size={20} aria-hidden /> : <IconMenu2 size={20} aria-hidden />}
          {translate('admin.menu')}
        </button>
      </div>
      <div id={menuId} className={classes.menu} data-open={isOpen || undefined}>
        <Places places={navigation.groups} onChosen={onChosen} />
        <div className={classes.foot}>
          <Switches />
          <ZoneChoice />
          <Account {...{ navigation, username, session, onShortcuts, onChosen }} />
        </div>
      </div>
    </aside>
  )
}

/**
 * The places of the product, each a group of pages, and the favourite pages of the user. A place links to its first
 * page.
 */
function Places({ places, onChosen }: { readonly places: NavigationView['groups']; onChosen(): void }) {
  const { translate } = useLanguage()
  const { favourites } = useUserPreferences()
  const scope = useId()
  const [location] = useLocation()
  const marks = usePageMarks()
  const pageId = location.split('/')[1] ?? ''
  const current = placeOf(places, pageId)
  const pages = places.flatMap((place) => place.pages.map((page) => ({ place, page })))
  const chosen = favourites.flatMap((id) => pages.find(({ page }) => page.id === id) ?? [])
  const link = (
    label: string,
    place: Pick<Place, 'id' | 'icon'>,
    href: string,
    ariaCurrent: 'page' | boolean,
    marked: readonly PlacePage[],
  ) => {
    const Icon = iconOf(place)
    return (
      <li key={href}>
        <Link href={href} className={classes.page} aria-current={ariaCurrent || undefined} onClick={onChosen}>
          <Icon size={18} aria-hidden />
          <span>
            {label}
            <Marks pages={marked} {...marks} />
          </span>
        </Link>
      </li>
    )
  }
  return (
    <div className={classes.pages}>
      <nav aria-label={translate('admin.navigation')}>
        <ul>
          {places.length > 0 && link(translate('admin.home.title'), { id: '' }, '/', pageId === '' && 'page', [])}
          {places
            .filter(({ id }) => id !== accountPlace)
            .map((place) =>
              link(
                place.pages.length === 1 ? (place.pages[0]?.title ?? '') : place.title,
                place,
                `/${place.pages[0]?.id}`,
                place === current?.place,
                place.pages,
              ),
            )}
        </ul>
      </nav>
      {chosen.length > 0 && (
        <nav aria-labelledby={`${scope}-favourites`}>
          <h2 id={`${scope}-favourites`} className={classes.heading}>
            {translate('admin.favourites.title')}
          </h2>
          <ul>
            {chosen.map(({ place, page }) => link(page.title, place, `/${page.id}`, page.id === pageId && 'page', []))}
          </ul>
        </nav>
      )}
    </div>
  )
}

/** Place of the own pages of the user, which opens from the user name. A product may not have it. */
const accountPlace = 'account'

/** Shows the user name as a link to the own pages of the user, with what is new there. */
function Account({
  navigation,
  username,
  session,
  onShortcuts,
  onChosen,
}: Omit<NavigationProps, 'onSearch'> & { onChosen(): void }) {
  const { translate } = useLanguage()
  const place = navigation.groups.find(({ id }) => id === accountPlace)
  const [page] = place?.pages ?? []
  const marks = usePageMarks()
  return (
    <div className={classes.account}>
      {page === undefined ? (
        <span className={classes.name} title={username}>
          {username}
        </span>
      ) : (
        <Link href={`/${page.id}`} className={classes.name} title={`${page.title}: ${username}`} onClick={onChosen}>
          {username}
          <Marks pages={place?.pages ?? []} {...marks} />
        </Link>
      )}
      <ActionIcon
        variant="subtle"
        color="gray"
        className={classes.leave}
        aria-label={translate('admin.shortcuts.title')}
        title={`${translate('admin.shortcuts.title')} (?)`}
        onClick={onShortcuts}
      >
        <IconKeyboard size={18} aria-hidden />
      </ActionIcon>
      <SignOut session={session} variant="subtle" size="xs" color="gray" className={classes.leave} />
    </div>
  )
}

/** Shows the time zone of all displayed times. If site and browser have different zones, the user can choose one. */
function ZoneChoice() {
  const { translate } = useLanguage()
  const { kept, zone: chosen } = useUserPreferences()
  const { name, site, own } = useZone()
  const shown = `${name} (${offsetText(name, new Date())})`
  return (
    <div className={classes.zone}>
      {site !== own && (
        <SegmentedControl
          size="xs"
          aria-label={translate('admin.zone.title')}
          value={chosen}
          onChange={(value) => kept.setZone(value)}
          data={[
            { value: 'site', label: <span title={site}>{translate('admin.zone.site')}</span> },
            { value: 'own', label: <span title={own}>{translate('admin.zone.own')}</span> },
          ]}
        />
      )}
      <span>{translate('admin.zone.shown', { zone: shown })}</span>
    </div>
  )
}
