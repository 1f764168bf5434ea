import { Button, SegmentedControl } from '@mantine/core'
import { IconDownload, IconUpload } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { type ChangeEvent, type FormEvent, useId, useState } from 'react'
import { useLanguage } from '../../../../app/app.tsx'
import { Notice } from '../../../../app/notice.tsx'
import { useApi } from '../../../api/context.tsx'
import type { Operation } from '../../../api/page-types.ts'
import { useWrite } from '../../../api/use-write.ts'
import { useWhyNot } from '../../../api/why-not.ts'
import { downloadText } from '../../../pages/download.ts'
import dialog from '../../../pages/forms/dialog.module.css'
import { Dialog, DialogButtons } from '../../../pages/forms/dialog.tsx'
import { ReasonField } from '../../../pages/forms/reason-field.tsx'
import { toasts } from '../../../shell/toasts.ts'
import { useCentre } from '../centre-context.ts'
import { type ConfigItem, type GroupTitles, type Outcome, operationIds } from '../config-types.ts'
import { InstancesState } from '../instances-state.tsx'
import { Impact } from './impact.tsx'
import { Failure } from './review-dialog.tsx'
import classes from './transfer.module.css'

/** Downloads the stored values as a file, without secrets. */
export function ExportButton({ operation }: { readonly operation: Operation }) {
  const { translate } = useLanguage()
  const api = useApi()
  const whyNot = useWhyNot()(operation)
  const run = useWrite(
    (signal) => api.call<{ readonly product: string; readonly version: number }>(operation, { signal }),
    {
      onSuccess: (document) =>
        downloadText(
          `${JSON.stringify(document, undefined, 2)}\n`,
          `${document.product.replace(/[^\w.-]+/g, '-')}-config-${document.version}.json`,
          'application/json',
        ),
    },
  )
  return (
    <>
      <Button
        variant="default"
        size="sm"
        leftSection={<IconDownload size={16} aria-hidden />}
        disabled={whyNot !== undefined}
        title={whyNot}
        loading={run.isPending}
        onClick={() => run.mutate()}
      >
        {translate('config.export')}
      </Button>
      {run.error !== null && <span role="alert">{run.error.message || translate('app.failure.unreachable')}</span>}
    </>
  )
}

interface ImportProps {
  readonly items: ReadonlyMap<string, ConfigItem>
  readonly titles: GroupTitles
}

export function ImportButton({ items, titles }: ImportProps) {
  const { translate } = useLanguage()
  const [isOpen, setOpen] = useState(false)
  const whyNot = useWhyNot()(useCentre().operations[operationIds.imported])
  return (
    <>
      <Button
        variant="default"
        size="sm"
        leftSection={<IconUpload size={16} aria-hidden />}
        disabled={whyNot !== undefined}
        title={whyNot}
        onClick={() => setOpen(true)}
      >
        {translate('config.import')}
      </Button>
      {isOpen && <ImportDialog items={items} titles={titles} onClose={() => setOpen(false)} />}
    </>
  )
}

interface ChosenFile {
  readonly name: string
  readonly document: unknown
}

const modes = ['merge', 'replace'] as const

/** Dialog that reads a file, shows the changes that it contains, and then applies them. */
function ImportDialog({ items, titles, onClose }: ImportProps & { onClose(): void }) {
  const { translate } = useLanguage()
  const { operations } = useCentre()
  const api = useApi()
  const client = useQueryClient()
  const inputId = useId()
  const [file, setFile] = useState<ChosenFile>()
  const [isUnreadable, setUnreadable] = useState(false)
  const [mode, setMode] = useState<string>('merge')
  const [reason, setReason] = useState('')
  const operation = operations[operationIds.imported] as Operation
  const send = (signal: AbortSignal, body: object) => api.call<Outcome>(operation, { body, signal })
  const dry = useWrite(send)
  const run = useWrite(send)
  const lookAt = (chosen: ChosenFile, how: string) => dry.mutate({ document: chosen.document, mode: how, dryRun: true })
  const read = async ({ currentTarget: { files } }: ChangeEvent<HTMLInputElement>) => {
    const [given] = files ?? []
    if (given === undefined) return
    try {
      const chosen = { name: given.name, document: importable(JSON.parse(await given.text())) }
      setUnreadable(false)
      setFile(chosen)
      lookAt(chosen, mode)
    } catch {
      setUnreadable(true)
      setFile(undefined)
    }
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const { version } = dry.data ?? {}
    run.mutate(
      {
        document: file?.document,
        mode,
        expectedVersion: version,
        ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
      },
      {
        onSuccess: () => {
          toasts.show(translate('config.imported'))
          void client.invalidateQueries({ queryKey: [operationIds.keys] })
        },
      },
    )
  }
  if (run.data !== undefined) {
    return (
      <Dialog size="xl" title={translate('config.imported')} onClose={onClose}>
        <div className={dialog.form}>
          <Impact outcome={run.data} items={items} titles={titles} isDone />
          <InstancesState version={run.data.version} keys={run.data.effects.map(({ key }) => key)} />
          <DialogButtons onCancel={onClose} />
        </div>
      </Dialog>
    )
  }
  const foreseen = dry.data
  const isNothing = foreseen !== undefined && foreseen.effects.length === 0 && foreseen.errors.length === 0
  return (
    <Dialog size="xl" title={translate('config.import-title')} onClose={onClose}>
      <form onSubmit={submit} className={dialog.form}>
        <p>{translate('config.import-lead')}</p>
        <div className={classes.file}>
          <label htmlFor={inputId}>{translate('config.import-file')}</label>
          <input id={inputId} type="file" accept="application/json,.json" onChange={(event) => void read(event)} />
        </div>
        <SegmentedControl
          aria-label={translate('config.import-mode')}
          data={modes.map((value) => ({ value, label: translate(`config.mode.${value}`) }))}
          value={mode}
          onChange={(next) => {
            setMode(next)
            if (file !== undefined) lookAt(file, next)
          }}
        />
        {isUnreadable && <Notice tone="bad" title={translate('config.unreadable')} />}
        <Failure error={dry.error ?? run.error} />
        {isNothing && <p>{translate('config.import-nothing')}</p>}
        {foreseen !== undefined && <Impact outcome={foreseen} items={items} titles={titles} isDone={false} />}
        <ReasonField label={translate('config.reason')} value={reason} onChange={setReason} />
        <DialogButtons onCancel={onClose}>
          <Button
            type="submit"
            loading={run.isPending || dry.isPending}
            disabled={foreseen === undefined || isNothing || foreseen.errors.length > 0}
          >
            {translate('config.import-now')}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}

/** Returns the part of an exported document that the import operation accepts. */
function importable(document: unknown): unknown {
  const { format, values } = document as { readonly format?: unknown; readonly values?: unknown }
  return { format, values }
}
