import { TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { type KeyboardEvent, useMemo } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { pressed } from '../../shell/shortcuts.ts'
import type { ConfigItem } from './config-types.ts'
import classes from './search-bar.module.css'

type Matches = (item: ConfigItem) => boolean

const environments: ReadonlySet<string | undefined> = new Set(['environment', 'dotenv'])

/** Filters such as `@modified` and `@secret`. They have the same names as in the search of the server. */
const flags: Readonly<Record<string, Matches>> = {
  modified: ({ isSet }) => isSet,
  stored: ({ stored }) => stored !== undefined,
  secret: ({ sensitive }) => sensitive,
  sensitive: ({ sensitive }) => sensitive,
  restart: ({ reload }) => reload === 'restart',
  live: ({ reload }) => reload === 'live',
  env: ({ source }) => environments.has(source),
  locked: ({ editable, orphaned }) => !editable && !orphaned,
  process: ({ locked }) => locked === 'process',
  orphaned: ({ orphaned }) => orphaned,
  deprecated: ({ deprecated }) => deprecated !== undefined,
  pending: ({ pendingRestart }) => pendingRestart,
  problem: ({ problem, refused }) => problem !== undefined || refused !== undefined,
}

const sourceNames: Readonly<Record<string, string>> = { env: 'environment', cli: 'command-line', db: 'database' }

const valued: Readonly<Record<string, (value: string) => Matches>> = {
  plugin: (value) => (item) => item.plugin === value,
  group: (value) => (item) => item.group === value,
  source: (value) => (item) => item.source === (sourceNames[value] ?? value),
}

/** The filters that are displayed as buttons, in this order. */
const offeredFilters = ['modified', 'secret', 'restart', 'env', 'locked', 'pending', 'problem'] as const

interface KeyQuery {
  matches(item: ConfigItem): boolean
  /** Unknown filters in the query. They are ignored, because the user may still be typing. */
  readonly unknown: readonly string[]
}

/** Search text of each item, computed once. */
const texts = new WeakMap<ConfigItem, string>()

function textOf(item: ConfigItem): string {
  const known = texts.get(item)
  if (known !== undefined) return known
  const { key, env = '', displayTitle, displayDescription = '' } = item
  const text = `${key}\n${env}\n${displayTitle}\n${displayDescription}`.toLowerCase()
  texts.set(item, text)
  return text
}

/** Parses a query of words and filters such as `window @modified @plugin:http`. A key must match all of them. */
export function keyQuery(query: string, isDrafted: (key: string) => boolean): KeyQuery {
  const unknown: string[] = []
  const matchers = query
    .toLowerCase()
    .split(/\s+/)
    .flatMap((part): readonly Matches[] => {
      if (part === '') return []
      if (!part.startsWith('@')) return [(item) => textOf(item).includes(part)]
      if (part === '@draft') return [({ key }) => isDrafted(key)]
      const [name = '', value] = part.slice(1).split(/:(.*)/s)
      const found = value === undefined ? own(flags, name) : own(valued, name)?.(value)
      if (found === undefined) unknown.push(part)
      return found === undefined ? [] : [found]
    })
  return { unknown, matches: (item) => matchers.every((matches) => matches(item)) }
}

const own = <T,>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined

export const hasFilter = (query: string, name: string) => query.split(/\s+/).includes(`@${name}`)

/** Returns the query with the filter added. If the query already contains the filter, it is removed. */
export function toggledFilter(query: string, name: string): string {
  const parts = query.split(/\s+/).filter((part) => part !== '')
  const filter = `@${name}`
  return (parts.includes(filter) ? parts.filter((part) => part !== filter) : [...parts, filter]).join(' ')
}

interface SearchBarProps {
  readonly items: readonly ConfigItem[]
  readonly text: string
  readonly unknown: readonly string[]
  /** Number of found keys. */
  readonly count: number
  onChange(text: string): void
}

/** Shows the search field and the filters. The down arrow moves the focus to the first configuration key. */
export function SearchBar({ items, text, unknown, count, onChange }: SearchBarProps) {
  const { translate } = useLanguage()
  const offers = useMemo(
    () =>
      offeredFilters.map((name) => ({
        name,
        found: items.filter(keyQuery(`@${name}`, () => false).matches).length,
      })),
    [items],
  )
  const onKey = (event: KeyboardEvent) => {
    if (pressed('configuration', event) !== 'first') return
    event.preventDefault()
    document.querySelector<HTMLElement>('li[data-key]')?.focus()
  }
  return (
    <search className={classes.bar}>
      <TextInput
        type="search"
        aria-label={translate('config.search')}
        placeholder={translate('config.search-hint')}
        leftSection={<IconSearch size={18} aria-hidden />}
        rightSection={text === '' ? <kbd className={classes.key}>/</kbd> : undefined}
        value={text}
        onChange={(event) => onChange(event.currentTarget.value)}
        onKeyDown={onKey}
        autoComplete="off"
        spellCheck={false}
      />
      <div className={classes.filters}>
        {offers.map(({ name, found }) => {
          const isOn = hasFilter(text, name)
          return found === 0 && !isOn ? null : (
            <button
              key={name}
              type="button"
              className={classes.filter}
              aria-pressed={isOn}
              title={`@${name}`}
              onClick={() => onChange(toggledFilter(text, name))}
            >
              {translate(`config.filter.${name}`)} <span className={classes.count}>{found}</span>
            </button>
          )
        })}
        <span className={classes.total} role="status">
          {translate('config.found', { count, total: items.length })}
        </span>
      </div>
      {unknown.length > 0 && (
        <p className={classes.unknown}>
          {translate('config.unknown-filter', { filter: unknown.join(' ') })}{' '}
          <code>
            @modified @stored @secret @restart @live @env @locked @pending @problem @insecure @deprecated @orphaned
            @draft
          </code>{' '}
          <code>@plugin:x @group:x @source:env</code>
        </p>
      )}
    </search>
  )
}
