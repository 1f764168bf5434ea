import type { ConfigItem } from './config-types.ts'

type Matches = (item: ConfigItem) => boolean

const environments: ReadonlySet<string | undefined> = new Set(['environment', 'dotenv'])

/** `@modified`, `@secret`, ...: the words of the server's own search. */
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

/** The filters that are offered, in their order. */
export const offeredFilters = ['modified', 'secret', 'restart', 'env', 'locked', 'pending', 'problem'] as const

interface KeyQuery {
  matches(item: ConfigItem): boolean
  /** Filters that there are not; they filter nothing, for they may be half typed. */
  readonly unknown: readonly string[]
}

/** What each item is searched in, made once. */
const texts = new WeakMap<ConfigItem, string>()

function textOf(item: ConfigItem): string {
  const known = texts.get(item)
  if (known !== undefined) return known
  const { key, env = '', displayTitle, displayDescription = '' } = item
  const text = `${key}\n${env}\n${displayTitle}\n${displayDescription}`.toLowerCase()
  texts.set(item, text)
  return text
}

/** Reads words and filters such as `window @modified @plugin:http`; an item has to meet all of them. */
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

const own = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined

export const hasFilter = (query: string, name: string) => query.split(/\s+/).includes(`@${name}`)

/** The query with the filter, or without it when it was there. */
export function toggledFilter(query: string, name: string): string {
  const parts = query.split(/\s+/).filter((part) => part !== '')
  const filter = `@${name}`
  return (parts.includes(filter) ? parts.filter((part) => part !== filter) : [...parts, filter]).join(' ')
}
