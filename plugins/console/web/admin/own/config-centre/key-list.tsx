import { Button, NativeSelect } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { type KeyboardEvent, memo, startTransition, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { pressed } from '../../shell/shortcuts.ts'
import { type ConfigItem, type GroupTitles, orphanedGroup } from './config-types.ts'
import classes from './key-list.module.css'
import { KeyRow } from './key-row.tsx'

/**
 * Up to this window width, the list of keys uses the full width. The value must be the same as in
 * `config-centre.module.css`.
 */
const narrow = '(max-width: 75em)'

interface GroupChoiceProps {
  /** The keys that match the search, in the order of their groups. */
  readonly items: readonly ConfigItem[]
  readonly titles: GroupTitles
  /** The selected group; empty for all groups. */
  readonly group: string
  onChange(group: string): void
}

/** Shows the title of a group, and the code if it differs from the title. */
function GroupName({ group, title }: { readonly group: string; readonly title: string }) {
  const { translate } = useLanguage()
  return (
    <span>
      {group === orphanedGroup ? translate('config.orphaned') : title}
      {group !== '' && group !== title && group !== orphanedGroup && <code className={classes.code}>{group}</code>}
    </span>
  )
}

/**
 * Lets the user choose a group, and shows the number of keys of each group. On a narrow screen the groups are in one
 * select field.
 */
export const GroupChoice = memo(function GroupChoice({ items, titles, group, onChange }: GroupChoiceProps) {
  const { translate } = useLanguage()
  const isNarrow = useMediaQuery(narrow, false, { getInitialValueInEffect: false })
  const groups = useMemo(() => {
    const counts = new Map<string, number>()
    for (const item of items) counts.set(item.group, (counts.get(item.group) ?? 0) + 1)
    if (group !== '' && !counts.has(group)) counts.set(group, 0)
    return [...counts].map(([name, count]) => [name, count, titles.get(name) ?? name] as const)
  }, [items, titles, group])
  if (isNarrow) {
    return (
      <NativeSelect
        aria-label={translate('config.groups')}
        data={[
          { value: '', label: `${translate('config.all-groups')} (${items.length})` },
          ...groups.map(([name, count, title]) => ({
            value: name,
            label: `${name === orphanedGroup ? translate('config.orphaned') : title} (${count})`,
          })),
        ]}
        value={group}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    )
  }
  return (
    <div className={classes.choice}>
      <nav className={classes.wide} aria-label={translate('config.groups')}>
        <ul>
          {[['', items.length, translate('config.all-groups')] as const, ...groups].map(([name, count, title]) => (
            <li key={name}>
              <button
                type="button"
                aria-current={name === group ? 'true' : undefined}
                onClick={() => onChange(name === group ? '' : name)}
              >
                <GroupName group={name} title={title} />
                <span className={classes.count}>{count}</span>
              </button>
            </li>
          ))}
        </ul>
      </nav>
    </div>
  )
})

/**
 * Number of rows in the first rendering, which fill one screen. More rows would be slow, because a field takes longer
 * to render than a line of text.
 */
const firstRows = 8
/** Number of rows added per step when the user scrolls down and the browser is idle. */
const moreRows = 16
/** Milliseconds after the last typed letter during which only the first screen is rendered. */
const restMs = 250

interface KeyListProps {
  /** The keys in the order of their groups. */
  readonly items: readonly ConfigItem[]
  readonly titles: GroupTitles
  readonly openKey: string
  onToggle(key: string): void
}

/** Shows the keys below the headings of their groups. Later rows are rendered when the user scrolls near them. */
export const KeyList = memo(function KeyList({ items, titles, openKey, onToggle }: KeyListProps) {
  const { translate } = useLanguage()
  const list = useRef<HTMLDivElement>(null)
  const openAt = items.findIndex(({ key }) => key === openKey)
  const from = useFirstRow(items, openAt)
  const [more, setMore] = useState({ of: items, rows: firstRows })
  const rows = more.of === items ? more.rows : firstRows
  const end = useRef<HTMLDivElement>(null)
  const isWhole = from.first + rows >= items.length
  useEffect(() => {
    const watched = end.current
    if (watched === null || isWhole) return
    const observer = new IntersectionObserver(
      ([entry]) => entry?.isIntersecting && startTransition(() => setMore({ of: items, rows: rows + moreRows })),
      { rootMargin: '200px' },
    )
    observer.observe(watched)
    return () => observer.disconnect()
  }, [items, rows, isWhole])
  useEffect(() => {
    if (isWhole || rows > firstRows) return
    const timer = setTimeout(() => startTransition(() => setMore({ of: items, rows: rows + moreRows })), restMs)
    return () => clearTimeout(timer)
  }, [items, rows, isWhole])
  useLayoutEffect(() => {
    if (openAt < 0) return
    const row = list.current?.querySelector(`[data-key="${CSS.escape(openKey)}"]`)
    const { top = 0, bottom = 0 } = row?.getBoundingClientRect() ?? {}
    if (bottom < 0 || top > innerHeight - 80) row?.scrollIntoView({ block: 'center' })
  }, [openKey, openAt])
  const shown = items.slice(from.first, from.first + rows)
  const sections = [...Map.groupBy(shown, ({ group }) => group)]
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the handler only moves the focus between the rows
    <div ref={list} className={classes.list} onKeyDown={walk}>
      {from.first > 0 && (
        <Button variant="default" size="xs" onClick={from.reset}>
          {translate('config.earlier', { count: from.first })}
        </Button>
      )}
      {sections.map(([group, members]) => (
        <section key={group} className={classes.group} aria-labelledby={`group-${group}`}>
          <h2 id={`group-${group}`} className={classes.heading}>
            <GroupName group={group} title={titles.get(group) ?? group} />
          </h2>
          {group === orphanedGroup && <p className={classes.lead}>{translate('config.orphaned-lead')}</p>}
          <ul className={classes.rows}>
            {members.map((item) => (
              <KeyRow key={item.key} item={item} isOpen={item.key === openKey} onToggle={onToggle} />
            ))}
          </ul>
        </section>
      ))}
      {!isWhole && <div ref={end} className={classes.end} aria-hidden />}
    </div>
  )
})

/**
 * Returns the index of the first rendered row. If the open key is far down in the list, the rows before it are rendered
 * only when the user requests them.
 */
function useFirstRow(items: readonly ConfigItem[], openAt: number) {
  const [known, setKnown] = useState({ of: items, first: openAt >= firstRows ? openAt - 3 : 0 })
  const isElsewhere = openAt >= 0 && (openAt < known.first || openAt >= known.first + moreRows * 12)
  const first = known.of !== items || isElsewhere ? (openAt >= firstRows ? openAt - 3 : 0) : known.first
  useEffect(() => {
    setKnown((last) => (last.of === items && last.first === first ? last : { of: items, first }))
  }, [items, first])
  return { first, reset: () => setKnown({ of: items, first: 0 }) }
}

/** Moves the focus between rows with the keys `j` and `k`. */
function walk(event: KeyboardEvent<HTMLElement>): void {
  if (!(event.target instanceof HTMLElement) || event.target.dataset['key'] === undefined) return
  const shortcut = pressed('configuration', event)
  if (shortcut !== 'next' && shortcut !== 'previous') return
  const step = shortcut === 'next' ? 1 : -1
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>('li[data-key]')]
  rows[rows.indexOf(event.target) + step]?.focus()
}
