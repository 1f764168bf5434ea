import { NativeSelect } from '@mantine/core'
import { useMemo } from 'react'
import { useSpeech } from '../../../app/app.tsx'
import { type ConfigItem, orphanedGroup } from './config-types.ts'
import classes from './group-choice.module.css'

interface GroupChoiceProps {
  /** Those that are found, in all groups. */
  readonly items: readonly ConfigItem[]
  /** Empty for all. */
  readonly group: string
  onChange(group: string): void
}

/** The groups with how many keys are found in each: at the side, or one field where it is narrow. */
export function GroupChoice({ items, group, onChange }: GroupChoiceProps) {
  const { say } = useSpeech()
  const groups = useMemo(() => {
    const counts = new Map<string, number>()
    for (const item of items) counts.set(item.group, (counts.get(item.group) ?? 0) + 1)
    if (group !== '' && !counts.has(group)) counts.set(group, 0)
    return [...counts].sort(([a], [b]) => Number(a === orphanedGroup) - Number(b === orphanedGroup) || (a < b ? -1 : 1))
  }, [items, group])
  const nameOf = (name: string) => (name === orphanedGroup ? say('config.orphaned') : name)
  return (
    <div className={classes.choice}>
      <NativeSelect
        className={classes.narrow}
        aria-label={say('config.groups')}
        data={[
          { value: '', label: `${say('config.all-groups')} (${items.length})` },
          ...groups.map(([name, count]) => ({ value: name, label: `${nameOf(name)} (${count})` })),
        ]}
        value={group}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <nav className={classes.wide} aria-label={say('config.groups')}>
        <ul>
          {[['', items.length] as const, ...groups].map(([name, count]) => (
            <li key={name}>
              <button
                type="button"
                aria-current={name === group ? 'true' : undefined}
                onClick={() => onChange(name === group ? '' : name)}
              >
                <span>{name === '' ? say('config.all-groups') : nameOf(name)}</span>
                <span className={classes.count}>{count}</span>
              </button>
            </li>
          ))}
        </ul>
      </nav>
    </div>
  )
}
