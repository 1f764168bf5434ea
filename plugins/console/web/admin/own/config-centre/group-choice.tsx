import { NativeSelect } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { memo, useMemo } from 'react'
import { useSpeech } from '../../../app/app.tsx'
import { type ConfigItem, type GroupTitles, orphanedGroup } from './config-types.ts'
import classes from './group-choice.module.css'

/** As in the style sheet: the list of keys takes the whole width. */
const narrow = '(max-width: 75em)'

interface GroupChoiceProps {
  /** Those that are found, in the order of their groups. */
  readonly items: readonly ConfigItem[]
  readonly titles: GroupTitles
  /** Empty for all. */
  readonly group: string
  onChange(group: string): void
}

/** What people call a group, and its code, where the two differ. */
export function GroupName({ group, title }: { readonly group: string; readonly title: string }) {
  const { say } = useSpeech()
  return (
    <span>
      {group === orphanedGroup ? say('config.orphaned') : title}
      {group !== '' && group !== title && group !== orphanedGroup && <code className={classes.code}>{group}</code>}
    </span>
  )
}

/** The groups with how many keys are found in each: at the side, or one field where it is narrow. */
export const GroupChoice = memo(function GroupChoice({ items, titles, group, onChange }: GroupChoiceProps) {
  const { say } = useSpeech()
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
        aria-label={say('config.groups')}
        data={[
          { value: '', label: `${say('config.all-groups')} (${items.length})` },
          ...groups.map(([name, count, title]) => ({
            value: name,
            label: `${name === orphanedGroup ? say('config.orphaned') : title} (${count})`,
          })),
        ]}
        value={group}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    )
  }
  return (
    <div className={classes.choice}>
      <nav className={classes.wide} aria-label={say('config.groups')}>
        <ul>
          {[['', items.length, say('config.all-groups')] as const, ...groups].map(([name, count, title]) => (
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
