import { TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import classes from './search-tools.module.css'

interface SearchToolsProps {
  readonly label: string
  readonly hint: string
  readonly value: string
  onChange(text: string): void
  /** Number of found entries in words. */
  readonly found: string
  /** Further controls. */
  readonly children?: ReactNode
}

/** The search field of a page, and the number of entries that it finds. */
export const SearchTools = ({ label, hint, value, onChange, found, children }: SearchToolsProps) => (
  <div className={classes.tools}>
    <TextInput
      type="search"
      className={classes.search}
      aria-label={label}
      placeholder={hint}
      leftSection={<IconSearch size={18} aria-hidden />}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      autoComplete="off"
      spellCheck={false}
    />
    {children}
    <span className={classes.total} role="status">
      {found}
    </span>
  </div>
)
