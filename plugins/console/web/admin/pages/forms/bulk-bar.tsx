import { Button } from '@mantine/core'
import { useState } from 'react'
import { useSpeech } from '../../../app/app.tsx'
import type { Bulk } from '../../api/page-types.ts'
import classes from './bulk-bar.module.css'
import { WriteDialog } from './write-dialog.tsx'

interface BulkBarProps {
  readonly bulk: readonly Bulk[]
  readonly picked: ReadonlySet<string>
  onDone(): void
}

const nothing = () => undefined

/** What can be done with the rows that are picked. */
export function BulkBar({ bulk, picked, onDone }: BulkBarProps) {
  const { say } = useSpeech()
  const [chosen, setChosen] = useState<Bulk>()
  const ids = [...picked].map(idOf)
  if (picked.size === 0) return null
  return (
    <div className={classes.bar}>
      <span>{say('admin.picked', { count: picked.size })}</span>
      {bulk.map((one) => (
        <Button
          key={one.label}
          size="xs"
          variant="default"
          {...(one.tone === 'danger' ? { color: 'red' } : {})}
          disabled={!one.allowed || picked.size > one.max}
          title={one.allowed ? undefined : say('admin.needs-permission', { permission: one.permission })}
          onClick={() => setChosen(one)}
        >
          {one.label}
        </Button>
      ))}
      {chosen !== undefined && (
        <WriteDialog
          write={{ ...chosen, body: { ...chosen.body, [chosen.ids]: { value: ids } } }}
          row={{}}
          title={`${chosen.label} · ${say('admin.picked', { count: picked.size })}`}
          submit={chosen.label}
          fields={chosen.ask ?? []}
          initial={nothing}
          onlyChanged={false}
          keeps={false}
          onDone={onDone}
          onClose={() => setChosen(undefined)}
        >
          {chosen.confirm !== undefined && <p>{chosen.confirm}</p>}
        </WriteDialog>
      )}
    </div>
  )
}

const idOf = (text: string) => (/^\d{1,15}$/.test(text) ? Number(text) : text)
