import { Button, Menu, NativeSelect, TextInput } from '@mantine/core'
import { IconColumns, IconSearch } from '@tabler/icons-react'
import { type ReactNode, useEffect, useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import type { Column } from '../api/page-types.ts'
import type { Rows } from '../api/row-values.ts'
import { type PageSize, pageSizes } from '../shell/kept.ts'
import type { ListState } from './list-state.ts'
import classes from './list-view.module.css'
import { ToolButton } from './tool-button.tsx'

export function toggled(picked: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(picked)
  if (!next.delete(key)) next.add(key)
  return next
}

/** Delay between typing and the search. */
const typingMs = 250

export function SearchField({ title, state }: { readonly title: string; readonly state: ListState }) {
  const [text, setText] = useState(state.search)
  const { search, set } = state
  useEffect(() => setText(search), [search])
  useEffect(() => {
    if (text === search) return
    const timer = setTimeout(() => set({ search: text }), typingMs)
    return () => clearTimeout(timer)
  }, [text, search, set])
  return (
    <TextInput
      size="sm"
      type="search"
      aria-label={title}
      placeholder={title}
      leftSection={<IconSearch size={16} aria-hidden />}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      className={classes.search}
      autoComplete="off"
    />
  )
}

interface ColumnMenuProps {
  readonly columns: readonly Column[]
  readonly shown: ReadonlySet<string>
  onChange(shown: ReadonlySet<string>): void
}

export function ColumnMenu({ columns, shown, onChange }: ColumnMenuProps) {
  const { translate } = useLanguage()
  return (
    <Menu closeOnItemClick={false} position="bottom-end" withinPortal={false}>
      <Menu.Target>
        <ToolButton Icon={IconColumns} label={translate('admin.columns')} />
      </Menu.Target>
      <Menu.Dropdown>
        {columns.map(({ field, title }) => (
          <Menu.CheckboxItem
            key={field}
            checked={shown.has(field)}
            // A list needs at least one column.
            disabled={shown.size === 1 && shown.has(field)}
            onChange={() => onChange(toggled(shown, field))}
          >
            {title}
          </Menu.CheckboxItem>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

interface PagerProps {
  readonly data: Rows
  readonly state: ListState
  readonly children: ReactNode
}

export function Pager({ data, state, children }: PagerProps) {
  const { translate } = useLanguage()
  const { total, counted, next } = data
  const text =
    total === null ? '' : translate(counted === 'capped' ? 'admin.total-at-least' : 'admin.total', { count: total })
  return (
    <div className={classes.pager}>
      <span className={classes.total}>{state.trail.length === 0 ? text : ''}</span>
      {children}
      <Button variant="default" size="xs" disabled={state.trail.length === 0} onClick={state.back}>
        {translate('admin.previous')}
      </Button>
      <Button
        variant="default"
        size="xs"
        disabled={typeof next !== 'string'}
        onClick={() => typeof next === 'string' && state.next(next)}
      >
        {translate('admin.next')}
      </Button>
    </div>
  )
}

export function SizeChoice({ size, onChange }: { readonly size: PageSize; onChange(size: PageSize): void }) {
  const { translate } = useLanguage()
  return (
    <NativeSelect
      size="xs"
      aria-label={translate('admin.page-size')}
      data={pageSizes.map((one) => ({ value: String(one), label: translate('admin.per-page', { count: one }) }))}
      value={String(size)}
      onChange={({ currentTarget }) => {
        const next = pageSizes.find((one) => String(one) === currentTarget.value)
        if (next !== undefined) onChange(next)
      }}
    />
  )
}
