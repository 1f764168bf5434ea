import { TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { type KeyboardEvent, useEffect, useMemo, useRef } from 'react'
import { useSpeech } from '../../../app/app.tsx'
import { isTyping } from '../../shell/is-typing.tsx'
import { pressed } from '../../shell/shortcuts.ts'
import type { ConfigItem } from './config-types.ts'
import { hasFilter, keyQuery, offeredFilters, toggledFilter } from './key-filter.ts'
import classes from './search-bar.module.css'

interface SearchBarProps {
  readonly items: readonly ConfigItem[]
  readonly text: string
  readonly unknown: readonly string[]
  /** Keys that are found. */
  readonly count: number
  onChange(text: string): void
}

/** Words and filters; `/` leads here from anywhere, an arrow from here to the first key. */
export function SearchBar({ items, text, unknown, count, onChange }: SearchBarProps) {
  const { say } = useSpeech()
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const focus = (event: globalThis.KeyboardEvent) => {
      if (pressed('configuration', event) !== 'search' || isTyping(event.target)) return
      event.preventDefault()
      input.current?.focus()
      input.current?.select()
    }
    addEventListener('keydown', focus)
    return () => removeEventListener('keydown', focus)
  }, [])
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
        ref={input}
        type="search"
        aria-label={say('config.search')}
        placeholder={say('config.search-hint')}
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
              {say(`config.filter.${name}`)} <span className={classes.count}>{found}</span>
            </button>
          )
        })}
        <span className={classes.total} role="status">
          {say('config.found', { count, total: items.length })}
        </span>
      </div>
      {unknown.length > 0 && (
        <p className={classes.unknown}>
          {say('config.unknown-filter', { filter: unknown.join(' ') })}{' '}
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
