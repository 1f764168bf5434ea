import { Button, Modal, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useQueries, useQueryClient } from '@tanstack/react-query'
import { type KeyboardEvent, type MouseEvent, useEffect, useId, useRef, useState } from 'react'
import { Link } from 'wouter'
import { useLanguage } from '../../app/app.tsx'
import { useApi } from '../api/context.tsx'
import type { Navigation, OwnPageView, SharedView } from '../api/page-types.ts'
import { pageQuery } from '../api/use-page.ts'
import { ownPages, type PaletteEntry } from '../own/own-pages.tsx'
import { addressOfView, nameOfView, searchName } from '../pages/list-state.ts'
import type { SavedView } from '../shell/kept.ts'
import { useUserPreferences } from '../shell/kept-context.ts'
import classes from './palette.module.css'
import { type PaletteGroup, useRecords } from './use-records.ts'

/** Maximum number of displayed entries per page. */
const maxEntriesPerPage = 8
/** Minimum length of the typed text before entries of pages and rows of lists are searched. */
const minCharacters = 2

interface PaletteProps {
  readonly navigation: Navigation
  readonly isOpen: boolean
  onClose(): void
  onShortcuts(): void
}

/** Command palette. It finds saved views, pages by name, entries of custom pages, and rows of searchable lists. */
export default function Palette({ isOpen, onClose, ...props }: PaletteProps) {
  const { translate } = useLanguage()
  return (
    <Modal.Root
      opened={isOpen}
      onClose={onClose}
      // The shell returns the focus, but not if the user has chosen another page.
      returnFocus={false}
      size={640}
      yOffset="10vh"
      zIndex={400}
      classNames={{ content: classes.dialog }}
    >
      <Modal.Overlay backgroundOpacity={0.35} blur={4} />
      <Modal.Content aria-label={translate('admin.palette.open')}>
        <Search {...props} onClose={onClose} />
      </Modal.Content>
    </Modal.Root>
  )
}

function Search({ navigation, onClose, onShortcuts }: Omit<PaletteProps, 'isOpen'>) {
  const { translate, language } = useLanguage()
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState<string>()
  const list = useRef<HTMLDivElement>(null)
  const scope = useId()
  const text = typed.trim()
  const isLong = text.length >= minCharacters
  const pageEntries = useEntriesOfPages(navigation, isLong ? text : '')
  const records = useRecords(isLong ? text : '')
  const kept = useUserPreferences()
  const views = viewsThatFit(navigation, [...kept.views, ...records.views], text, translate('admin.views.title'))
  const recent = text === '' ? recentPages(navigation, kept.recent, translate('admin.recent')) : []
  const help =
    text !== '' && !isLong
      ? []
      : helpThatFits(text, translate('admin.shortcuts.title'), translate('admin.shortcuts.actions'))
  const groups = [
    ...recent,
    ...views,
    ...pagesThatFit(navigation, text),
    ...help,
    ...pageEntries.groups,
    ...records.groups,
  ]
  const options = groups.flatMap(optionsOf)
  const current = options.find((id) => id === chosen) ?? options[0]
  const idOf = (option: string) => `${scope}-${options.indexOf(option)}`
  useEffect(() => {
    if (current !== undefined) list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [current])
  const onKey = (event: KeyboardEvent) => {
    // Keys that belong to an input method (IME) must not choose an entry.
    if (event.nativeEvent.isComposing || current === undefined) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) setChosen(options.at((options.indexOf(current) + step) % options.length))
    else if (event.key === 'Enter') list.current?.querySelector<HTMLElement>('[aria-selected=true]')?.click()
    else return
    event.preventDefault()
  }
  const isBusy = pageEntries.isBusy || records.isBusy
  const failed = [...pageEntries.failed, ...records.failed]
  const titles = (names: readonly string[]) => new Intl.ListFormat(language).format(names)
  const option = (id: string) => ({
    id: idOf(id),
    role: 'option',
    tabIndex: -1,
    'data-action': true,
    'aria-selected': id === current,
    className: classes.option,
    onClick: onClose,
    onMouseMove: () => setChosen(id),
  })
  const showShortcuts = (event: MouseEvent) => {
    // The list of shortcuts has no address, so the link must not be followed.
    event.preventDefault()
    onClose()
    onShortcuts()
  }
  return (
    <>
      <TextInput
        size="lg"
        variant="unstyled"
        className={classes.input}
        leftSection={<IconSearch size={20} stroke={1.75} aria-hidden />}
        data-autofocus
        role="combobox"
        aria-expanded={options.length > 0}
        aria-controls={`${scope}-list`}
        aria-autocomplete="list"
        aria-activedescendant={current === undefined ? undefined : idOf(current)}
        aria-label={translate('admin.palette.hint')}
        placeholder={translate('admin.palette.hint')}
        autoComplete="off"
        spellCheck={false}
        maxLength={100}
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value)
          setChosen(undefined)
        }}
        onKeyDown={onKey}
      />
      <div
        ref={list}
        id={`${scope}-list`}
        role="listbox"
        aria-label={translate('admin.palette.found')}
        className={classes.list}
      >
        {groups.map((group) => (
          // biome-ignore lint/a11y/useSemanticElements: this groups options of a list box, not fields of a form
          <div key={group.id} role="group" aria-label={group.title}>
            <div className={classes.group} aria-hidden>
              {group.title}
            </div>
            {group.entries.map(({ id, label, description, href }) => (
              <Link key={id} href={href} {...option(id)} {...(id === helpOption && { onClick: showShortcuts })}>
                <span className={classes.label}>
                  <Marked text={label} part={text} />
                </span>
                {description !== '' && (
                  <span className={classes.description}>
                    <Marked text={description} part={text} />
                  </span>
                )}
              </Link>
            ))}
            {group.all !== undefined && (
              <Link href={group.all} {...option(allOf(group))}>
                <span className={classes.all}>{translate('admin.palette.all', { title: group.title })}</span>
              </Link>
            )}
          </div>
        ))}
      </div>
      <div className={classes.foot}>
        <div role="status" className={classes.status}>
          {records.waiting.length > 0
            ? translate('admin.palette.looking', { titles: titles(records.waiting) })
            : !isBusy &&
              translate(options.length === 0 ? 'admin.palette.nothing' : 'admin.palette.count', {
                count: options.length,
              })}
        </div>
        {!isBusy && (failed.length > 0 || records.isLost) && (
          <div role="alert" className={classes.failed}>
            {records.isLost
              ? translate('admin.palette.lost')
              : translate('admin.palette.failed', { titles: titles(failed) })}
            <Button
              size="compact-sm"
              variant="default"
              onClick={() => {
                records.again()
                pageEntries.again()
              }}
            >
              {translate('admin.reload')}
            </Button>
          </div>
        )}
      </div>
    </>
  )
}

/** Id of the option that opens the list of shortcuts. It has no address. */
const helpOption = 'shortcuts'

const helpThatFits = (text: string, label: string, title: string): readonly PaletteGroup[] =>
  fits(text, label) ? [{ id: 'help', title, entries: [{ id: helpOption, label, description: '?', href: '' }] }] : []

const allOf = ({ id }: PaletteGroup) => `all ${id}`

const optionsOf = (group: PaletteGroup) => [
  ...group.entries.map(({ id }) => id),
  ...(group.all === undefined ? [] : [allOf(group)]),
]

const fits = (text: string, ...parts: readonly string[]) =>
  parts.some((part) => part.toLowerCase().includes(text.toLowerCase()))

const pagesThatFit = ({ groups }: Navigation, text: string): readonly PaletteGroup[] =>
  groups.flatMap(({ id, title, pages }) => {
    const entries = pages
      .filter((page) => fits(text, page.title))
      .map((page) => ({ id: `page ${page.id}`, label: page.title, description: '', href: `/${page.id}` }))
    return entries.length === 0 ? [] : [{ id: `pages ${id}`, title, entries }]
  })

/** Returns the pages that the user opened last, if they are still visible. */
function recentPages({ groups }: Navigation, ids: readonly string[], title: string): readonly PaletteGroup[] {
  const titles = new Map(groups.flatMap(({ pages }) => pages.map((page) => [page.id, page.title])))
  const entries = ids.flatMap((id) => {
    const label = titles.get(id)
    return label === undefined ? [] : [{ id: `recent ${id}`, label, description: '', href: `/${id}` }]
  })
  return entries.length === 0 ? [] : [{ id: 'recent', title, entries }]
}

/** Returns the views that match the text and whose pages are visible: those of this user, and the shared ones. */
function viewsThatFit(
  { groups }: Navigation,
  views: readonly (SavedView | SharedView)[],
  text: string,
  title: string,
): readonly PaletteGroup[] {
  const titles = new Map(groups.flatMap(({ pages }) => pages.map((page) => [page.id, page.title])))
  const entries = views.flatMap((view) => {
    const description = titles.get(view.page)
    const label = nameOfView(view)
    if (description === undefined || !fits(text, label)) return []
    return [{ id: `view ${view.page} ${label}`, label, description, href: addressOfView(view) }]
  })
  return entries.length === 0 ? [] : [{ id: 'views', title, entries }]
}

/** Shows a text and highlights the typed part. */
function Marked({ text, part }: { readonly text: string; readonly part: string }) {
  const at = part === '' ? -1 : text.toLowerCase().indexOf(part.toLowerCase())
  if (at < 0) return text
  return (
    <>
      {text.slice(0, at)}
      <mark className={classes.mark}>{text.slice(at, at + part.length)}</mark>
      {text.slice(at + part.length)}
    </>
  )
}

/** Returns the entries of visible pages that match a text. With an empty text, nothing is searched. */
function useEntriesOfPages(navigation: Navigation, text: string) {
  const api = useApi()
  const client = useQueryClient()
  const { language } = useLanguage()
  const isWanted = text !== ''
  const pages = navigation.groups
    .flatMap(({ pages }) => pages)
    .flatMap(({ id, title }) => {
      const palette = ownPages[id]?.palette
      return palette === undefined ? [] : [{ id, title, palette }]
    })
  const found = useQueries({
    queries: pages.map(({ id, palette }) => ({
      queryKey: ['palette', id, language],
      enabled: isWanted,
      staleTime: 60_000,
      retry: false,
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const page = await client.fetchQuery(pageQuery<OwnPageView>(api, id, language))
        return (await palette()).default(api, page, signal)
      },
    })),
  })
  return {
    groups: isWanted ? found.flatMap(({ data = [] }, index) => groupOfPage(pages[index], data, text)) : [],
    failed: isWanted ? found.flatMap(({ isError }, index) => (isError ? (pages[index]?.title ?? []) : [])) : [],
    isBusy: isWanted && found.some(({ isFetching, data }) => isFetching && data === undefined),
    again: () => {
      for (const one of found) if (one.isError) void one.refetch()
    },
  }
}

function groupOfPage(
  page: { readonly id: string; readonly title: string } | undefined,
  found: readonly PaletteEntry[],
  text: string,
): readonly PaletteGroup[] {
  const entries = found.filter(({ label, description }) => fits(text, label, description))
  if (page === undefined || entries.length === 0) return []
  const all = `/${page.id}?${new URLSearchParams({ [searchName]: text })}`
  const rest = entries.length > maxEntriesPerPage ? { all } : {}
  return [{ id: `places ${page.id}`, title: page.title, entries: entries.slice(0, maxEntriesPerPage), ...rest }]
}
