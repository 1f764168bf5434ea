import { Spotlight, type SpotlightActionData, spotlight } from '@mantine/spotlight'
import '@mantine/spotlight/styles.css'
import { IconSearch } from '@tabler/icons-react'
import { useQueries, useQueryClient } from '@tanstack/react-query'
import { type KeyboardEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { useSpeech } from '../../app/app.tsx'
import { useApi } from '../api/context.tsx'
import type { Navigation } from '../api/page-types.ts'
import { ownPageQuery } from '../own/own-page.tsx'
import { ownPages, type PaletteEntry } from '../own/own-pages.ts'

export const openPalette = () => spotlight.open()

/** So many are shown at once. */
const mostShown = 30
/** Places within pages are looked for once this much is typed. */
const fewestLetters = 2

/** Every page by its name, and what pages by hand have to offer, with Ctrl or Cmd and K. */
export function Palette({ navigation }: { readonly navigation: Navigation }) {
  const { say } = useSpeech()
  const [, go] = useLocation()
  const [query, setQuery] = useState('')
  const places = usePlaces(navigation, query.trim().length >= fewestLetters)
  const actions = [
    ...navigation.groups.map(({ title: group, pages }) => ({
      group,
      actions: pages.map(({ id, title }): SpotlightActionData => ({ id, label: title, onClick: () => go(`/${id}`) })),
    })),
    ...places.map(({ group, entries }) => ({
      group,
      actions: entries.map(
        ({ id, label, description, href }): SpotlightActionData => ({
          id,
          label,
          description,
          onClick: () => go(href),
        }),
      ),
    })),
  ]
  return (
    <Spotlight
      actions={actions}
      nothingFound={say('admin.palette.nothing')}
      highlightQuery
      limit={mostShown}
      scrollable
      query={query}
      onQueryChange={setQuery}
      clearQueryOnClose
      shortcut={['mod + K']}
      searchProps={{
        leftSection: <IconSearch size={20} stroke={1.75} aria-hidden />,
        placeholder: say('admin.palette.hint'),
        'aria-label': say('admin.palette.hint'),
        onKeyDown: enterFirst,
      }}
    />
  )
}

/** The library chooses the first that fits at each letter; what arrives after the last one is not chosen yet. */
function enterFirst({ key, currentTarget }: KeyboardEvent<HTMLElement>): void {
  const dialog = currentTarget.closest('[role=dialog]')
  if (key !== 'Enter' || dialog === null || dialog.querySelector('[data-action][data-selected]') !== null) return
  dialog.querySelector<HTMLElement>('[data-action]')?.click()
}

/** What the pages that this person may see offer, once it is wanted. */
function usePlaces(
  navigation: Navigation,
  isWanted: boolean,
): readonly { readonly group: string; readonly entries: readonly PaletteEntry[] }[] {
  const api = useApi()
  const client = useQueryClient()
  const { language } = useSpeech()
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
        const page = await client.fetchQuery(ownPageQuery(api, id, language))
        return (await palette()).default(api, page, signal)
      },
    })),
  })
  if (!isWanted) return []
  return found.flatMap(({ data }, index) =>
    data === undefined ? [] : [{ group: pages[index]?.title ?? '', entries: data }],
  )
}
