import { Button, Input } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type ChangeEvent, useId, useRef, useState } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { FailureNotice, Notice } from '../../../app/notice.tsx'
import { CallFailure } from '../../api/call.ts'
import { useApi } from '../../api/context.tsx'
import { importedRows } from '../../api/operations.ts'
import type { Column, ImportReport, ListPage } from '../../api/page-types.ts'
import { useWrite } from '../../api/use-write.ts'
import { downloadText } from '../download.ts'
import { ApiResponse } from '../facts.tsx'
import dialog from '../forms/dialog.module.css'
import { Dialog, DialogButtons } from '../forms/dialog.tsx'
import fileField from '../forms/file-field.module.css'
import classes from './work.module.css'
import './texts.ts'

/** Maximum number of problems in the dialog. The file contains all. */
const maxShown = 100
/** Maximum number of characters that the server accepts. */
const maxLength = 1_000_000

interface ImportDialogProps {
  readonly page: ListPage
  onClose(): void
}

/**
 * Checks a CSV file, shows its problems, and imports its rows after the user has seen them. It is the default export,
 * because `lazy` loads it.
 */
export default function ImportDialog({ page, onClose }: ImportDialogProps) {
  const { translate } = useLanguage()
  const api = useApi()
  const client = useQueryClient()
  const id = useId()
  const latest = useRef<File>(undefined)
  const [csv, setCsv] = useState<string>()
  const [error, setError] = useState<string>()
  // The report stays while an import runs, and after one without a response, so that it can be repeated.
  const [report, setReport] = useState<ImportReport>()
  const run = useWrite(
    (signal, body: { readonly csv: string; readonly mode: 'check' | 'all' | 'valid' }, keys) =>
      api.call<ImportReport>(importedRows, {
        params: { id: page.id },
        body,
        ...(body.mode !== 'check' && { keys }),
        signal,
      }),
    { onSuccess: setReport, onSettled: () => void client.invalidateQueries({ queryKey: [page.operation] }) },
  )
  const choose = async ({ currentTarget: { files } }: ChangeEvent<HTMLInputElement>) => {
    const [file] = files ?? []
    latest.current = file
    run.reset()
    setReport(undefined)
    setCsv(undefined)
    setError(undefined)
    if (file === undefined) return
    if (file.size > maxLength * 4) return setError(translate('work.import.too-large'))
    try {
      const content = await file.arrayBuffer()
      // Another file may have been chosen while this one was read.
      if (latest.current !== file) return
      const text = new TextDecoder('utf-8', { fatal: true }).decode(content)
      if (text.length > maxLength) return setError(translate('work.import.too-large'))
      setCsv(text)
      run.mutate({ csv: text, mode: 'check' })
    } catch {
      setError(translate('work.import.encoding'))
    }
  }
  const mode = report?.problems.length === 0 ? 'all' : 'valid'
  const canImport = csv !== undefined && report?.outcome === 'checked' && report.valid > 0
  return (
    <Dialog onClose={onClose} size="xl" title={translate('work.import.heading', { title: page.title })}>
      <div className={dialog.form}>
        {report?.outcome !== 'imported' && (
          <Input.Wrapper
            id={id}
            label={translate('work.import.file')}
            description={translate('work.import.help', { count: page.import?.max })}
            descriptionProps={{ id: `${id}-help` }}
            error={error}
            errorProps={{ id: `${id}-error` }}
          >
            <input
              id={id}
              type="file"
              data-autofocus
              className={fileField.input}
              accept=".csv,text/csv"
              aria-invalid={error !== undefined}
              aria-describedby={error === undefined ? `${id}-help` : `${id}-help ${id}-error`}
              onChange={(event) => void choose(event)}
            />
          </Input.Wrapper>
        )}
        <span role="status">{run.isPending ? translate('work.import.checking') : ''}</span>
        {run.error instanceof CallFailure && (
          <FailureNotice
            message={run.error.message}
            traceId={run.error.traceId}
            {...(report === undefined && csv !== undefined && { onRetry: () => run.mutate({ csv, mode: 'check' }) })}
          />
        )}
        {report !== undefined && <Report report={report} name={page.id} />}
        <DialogButtons cancel={translate(canImport ? 'admin.cancel' : 'admin.close')} onCancel={onClose}>
          {canImport && (
            <Button loading={run.isPending} onClick={() => run.mutate({ csv, mode })}>
              {translate(`work.import.${mode}`, { count: report.valid })}
            </Button>
          )}
        </DialogButtons>
      </div>
    </Dialog>
  )
}

/** Shows the report of the server, and offers it as a file. */
function Report({ report, name }: { readonly report: ImportReport; readonly name: string }) {
  const { translate } = useLanguage()
  const { outcome, problems, columns } = report
  const count = problems.length
  const shown = (['line', 'title', 'message'] as const).map(
    (field): Column => ({ field, as: 'text', title: translate(`work.import.${field}`) }),
  )
  const download = () => {
    const titles = shown.map(({ title }) => title)
    const lines = [titles, ...problems.map(({ line, title, message }) => [String(line), title ?? '', message])]
    downloadText(`\uFEFF${lines.map((cells) => cells.map(csvCell).join(',')).join('\r\n')}`, `${name}.csv`, 'text/csv')
  }
  return (
    <>
      <Notice
        tone={count === 0 ? 'good' : outcome === 'rejected' ? 'bad' : 'warn'}
        title={translate(`work.import.${outcome}`, { ...report, columns: undefined, problems: undefined, count })}
      />
      {columns.length > 0 && outcome === 'checked' && (
        <details>
          <summary>{translate('work.import.columns')}</summary>
          <ul className={classes.mapping}>
            {columns.map(({ header, title }, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a header may occur twice, and the order does not change
              <li key={at}>
                {header} → {title ?? translate('work.import.ignored')}
              </li>
            ))}
          </ul>
        </details>
      )}
      {count > 0 && (
        <>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard */}
          <section className={classes.problems} tabIndex={0} aria-label={translate('work.import.message')}>
            <ApiResponse answer={problems.slice(0, maxShown)} columns={shown} />
          </section>
          {count > maxShown && <p>{translate('work.import.first', { count: maxShown })}</p>}
          <Button variant="default" size="xs" className={classes.start} onClick={download}>
            {translate('work.import.download')}
          </Button>
        </>
      )}
    </>
  )
}

/** Returns a cell of a file that no spreadsheet runs as a formula. A message may repeat text of the imported file. */
const csvCell = (text: string) => `"${text.replace(/^[\s"']*[=+\-@＝＋－＠]/u, "'$&").replaceAll('"', '""')}"`
