import { ActionIcon, Button } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { IconChevronDown, IconChevronRight, IconKeyboard, IconMenu2, IconSearch, IconX } from '@tabler/icons-react'
import { type KeyboardEvent, useId, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useSpeech } from '../../app/app.tsx'
import { Brand, Switches } from '../../app/frame.tsx'
import type { Attention, Navigation as NavigationView } from '../api/page-types.ts'
import { useFormats } from '../pages/shown-value.ts'
import { useAttention } from './attention.tsx'
import { useUnsaved } from './drafts.ts'
import { useKept } from './kept-context.ts'
import classes from './navigation.module.css'
import type { SessionState } from './session/session-state.ts'
import { SignOut } from './session/sign-out.tsx'
import { ZoneChoice } from './zone-choice.tsx'

/** Up to this window width the menu covers the page. The value must be the same as in the style sheets. */
const narrow = '(max-width: 62em)'

interface NavigationProps {
  readonly navigation: NavigationView
  readonly username: string
  readonly session: SessionState
  onSearch(): void
  onShortcuts(): void
}

/**
 * Shows the brand, the search, the pages by group, and the account of the user. On a narrow screen all of these are
 * behind one button.
 */
export function Navigation({ navigation, username, session, onSearch, onShortcuts }: NavigationProps) {
  const { translate } = useSpeech()
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
    document.getElementById('content')?.focus()
  }
  return (
    <aside className={classes.side} aria-label={navigation.siteTitle} onKeyDown={onKey}>
      <a className={classes.skip} href="#content">
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
        <Pages groups={navigation.groups} onChosen={onChosen} />
        <div className={classes.foot}>
          <Switches />
          <ZoneChoice />
          <Account {...{ navigation, username, session, onShortcuts, onChosen }} />
        </div>
      </div>
    </aside>
  )
}

/** Scrolls to the current page, because the list is longer than most windows. */
const showLink = (link: HTMLAnchorElement | null) => {
  link?.scrollIntoView({ block: 'nearest' })
}

/**
 * Shows the pages by group. A group that the user has folded stays folded. On a narrow screen only the group of the
 * current page is open at first.
 */
function Pages({ groups, onChosen }: { readonly groups: NavigationView['groups']; onChosen(): void }) {
  const { translate } = useSpeech()
  const { kept, groups: chosen } = useKept()
  const isNarrow = useMediaQuery(narrow, false, { getInitialValueInEffect: false })
  const [location] = useLocation()
  const unsaved = useUnsaved()
  const scope = useId()
  const current = location.split('/')[1] ?? ''
  const { counted } = useAttention('navigation')
  const waiting = new Map(counted.filter(({ count }) => count > 0).map((one) => [one.item.page?.id, one]))
  return (
    <nav className={classes.pages} aria-label={translate('admin.navigation')}>
      {groups.length > 0 && (
        <Link
          href="/"
          className={`${classes.page} ${classes.home}`}
          aria-current={current === '' ? 'page' : undefined}
          onClick={onChosen}
        >
          {translate('admin.home.title')}
        </Link>
      )}
      {groups.map(({ id, title, pages }) => {
        const isCurrent = pages.some((page) => page.id === current)
        const isOpen = chosen[id] ?? (isCurrent || !isNarrow)
        const Chevron = isOpen ? IconChevronDown : IconChevronRight
        const hidden = isOpen ? 0 : pages.reduce((sum, page) => sum + (unsaved.get(page.id) ?? 0), 0)
        return (
          <div key={id}>
            <h2 className={classes.heading}>
              <button
                type="button"
                className={classes.group}
                aria-expanded={isOpen}
                aria-controls={`${scope}-${id}`}
                data-current={isCurrent || undefined}
                onClick={() => kept.setGroup(id, !isOpen)}
              >
                <span>{title}</span>
                {hidden > 0 && <Unsaved count={hidden} />}
                <Chevron size={16} aria-hidden />
              </button>
            </h2>
            <ul id={`${scope}-${id}`} hidden={!isOpen}>
              {pages.map((page) => (
                <li key={page.id}>
                  <Link
                    ref={page.id === current ? showLink : null}
                    href={`/${page.id}`}
                    className={classes.page}
                    aria-current={page.id === current ? 'page' : undefined}
                    onClick={onChosen}
                  >
                    {page.title}
                    <Waiting of={waiting.get(page.id)} />
                    {unsaved.has(page.id) && <Unsaved count={unsaved.get(page.id) ?? 0} />}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        )
      })}
    </nav>
  )
}

/** Shows the number of waiting items of a page. The title explains the number. */
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
  const { translate } = useSpeech()
  const text = translate('admin.unsaved', { count })
  return (
    <span className={classes.unsaved} title={text}>
      <span className="visually-hidden">{text}</span>
    </span>
  )
}

/** Id of the account page of the signed-in user. A product may not have it. */
const ownAccount = 'iam.own-account'

/** Shows the user name as a link to the account page. */
function Account({
  navigation,
  username,
  session,
  onShortcuts,
  onChosen,
}: Omit<NavigationProps, 'onSearch'> & { onChosen(): void }) {
  const { translate } = useSpeech()
  const page = navigation.groups.flatMap(({ pages }) => pages).find(({ id }) => id === ownAccount)
  return (
    <div className={classes.account}>
      {page === undefined ? (
        <span className={classes.name} title={username}>
          {username}
        </span>
      ) : (
        <Link href={`/${page.id}`} className={classes.name} title={`${page.title}: ${username}`} onClick={onChosen}>
          {username}
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
