import { Button } from '@mantine/core'
import { lazy, useCallback, useEffect, useRef, useState } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { Boundary } from '../../../app/boundary.tsx'
import type { Action, Bulk, Column, Form, ListPage } from '../../api/page-types.ts'
import { type Row, valueAt } from '../../api/row-values.ts'
import { useWhyNot } from '../../api/why-not.ts'
import { useSite } from '../../shell/site-context.ts'
import { columnText, plainText, useFormats, useRowName } from '../shown-value.ts'
import type { BulkFailures } from '../work/bulk-failures.tsx'
import classes from './action-dialogs.module.css'
import { WriteDialog } from './write-dialog.tsx'
import { rowOutcomes } from './write-outcome.ts'

const BulkFailureList = lazy(() => import('../work/bulk-failures.tsx'))

interface ActionDialogProps {
  readonly action: Action
  readonly row: Row
  /** Columns of the page. They determine the format of members in the text of the action. */
  readonly columns: readonly Column[]
  /** Name of the action in the message after it. */
  readonly name: string
  onClose(): void
}

/** Returns a function that replaces `{{name}}` by the member of a row, formatted as in these columns. */
export function useActionText(columns: readonly Column[]): (text: string, row: Row) => string {
  const surroundings = { formats: useFormats(), units: useSite().units }
  return (text, row) =>
    text.replace(/\{\{([\w.]+)\}\}/g, (_, name: string) =>
      columnText(
        columns.find(({ field }) => field === name),
        name,
        row,
        surroundings,
      ),
    )
}

/**
 * Returns a function that returns the name of an action with the name of its row, for the message after the action. The
 * name of a row is in the column that links to its page, or in the member that is the name of the page.
 */
export function useActionName(columns: readonly Column[], name?: string): (label: string, row: Row) => string {
  const { translate } = useLanguage()
  const surroundings = { formats: useFormats(), units: useSite().units }
  const column = columns.find(({ link, field }) => (name === undefined ? link === true : field === name))
  const field = name ?? column?.field
  return (label, row) => {
    const shown = field === undefined || column?.as === 'reference' ? '' : columnText(column, field, row, surroundings)
    return shown === '' ? label : translate('admin.named', { title: label, name: shown })
  }
}

/** Dialog for an action on a row, or on the object of a detail page. */
export function ActionDialog({ action, row, columns, name, onClose }: ActionDialogProps) {
  const filled = useActionText(columns)
  return (
    <WriteDialog
      write={action}
      row={row}
      title={action.label}
      name={name}
      submit={action.label}
      fields={action.ask ?? []}
      // A PUT replaces the members, so the user starts with their current values.
      {...(action.method === 'PUT' && { initial: (name) => currentOf(row, name) })}
      wanted={action.type === undefined ? undefined : plainText(valueAt(row, action.type))}
      onClose={onClose}
    >
      {action.confirm !== undefined && <p>{filled(action.confirm, row)}</p>}
    </WriteDialog>
  )
}

interface FormDialogProps {
  readonly form: Form
  /** The object to change; an empty row for a new object. */
  readonly row: Row
  onClose(): void
}

/**
 * Returns the current value of a form member. For example, the current value of `roleIds` is the member `roles` of the
 * user.
 */
export function currentOf(row: Row, name: string): unknown {
  return valueAt(row, name) ?? (name.endsWith('Ids') ? valueAt(row, `${name.slice(0, -3)}s`) : undefined)
}

/** Dialog that creates an object, or changes the object of a page. */
export function FormDialog({ form, row, onClose }: FormDialogProps) {
  const { translate } = useLanguage()
  return (
    <WriteDialog
      write={form}
      row={row}
      title={form.title}
      submit={form.submit ?? translate('admin.save')}
      done={form.submit === undefined ? translate('admin.saved') : translate('admin.done', { title: form.submit })}
      fields={form.fields}
      initial={(name) => currentOf(row, name)}
      onlyChanged={!form.whole && Object.keys(row).length > 0 && form.method !== 'POST'}
      keeps
      onClose={onClose}
    >
      {form.lead !== undefined && <p>{form.lead}</p>}
    </WriteDialog>
  )
}

interface BulkBarProps {
  readonly page: ListPage
  readonly rows: readonly Row[]
  readonly picked: ReadonlySet<string>
  /** Called with the keys of the rows that stay selected. */
  onDone(picked: ReadonlySet<string>): void
}

/** Shows the actions on the selected rows. */
export function BulkBar({ page, rows, picked, onDone }: BulkBarProps) {
  const { translate } = useLanguage()
  const whyNot = useWhyNot()
  const nameOf = useRowName(page)
  const [chosen, setChosen] = useState<Bulk>()
  const [failures, setFailures] = useState<BulkFailures>()
  /** The rows that were selected after the action. The failures are shown until the user changes the selection. */
  const kept = useRef<ReadonlySet<string>>(undefined)
  const keep = useCallback(
    (keys: readonly string[]) => {
      kept.current = new Set(keys)
      onDone(kept.current)
    },
    [onDone],
  )
  const finish = (bulk: Bulk, answer: unknown) => {
    const result = rowOutcomes(bulk, answer)
    const names = new Map(rows.map((row) => [String(valueAt(row, page.key)), nameOf(row)]))
    setFailures(result && result.failed.length > 0 ? { ...result, names } : undefined)
    keep(result?.failed.map(({ id }) => id) ?? [])
  }
  // A failed row that has left the list is no longer selected.
  useEffect(() => {
    const listed = new Set(rows.map((row) => String(valueAt(row, page.key))))
    const isGone = (key: string) => failures?.names.has(key) === true && !listed.has(key)
    if ([...picked].some(isGone)) keep([...picked].filter((key) => !isGone(key)))
  }, [rows, page.key, failures, picked, keep])
  const ids = [...picked].map(idOf)
  const isShown = picked === kept.current || failures?.failed.some(({ id }) => picked.has(id))
  return (
    <>
      {picked.size > 0 && (
        <div className={classes.bar}>
          <span>{translate('admin.picked', { count: picked.size })}</span>
          {page.bulk.map((one) => (
            <Button
              key={one.label}
              size="xs"
              variant="default"
              {...(one.tone === 'danger' ? { color: 'red' } : {})}
              disabled={!one.allowed || picked.size > one.max}
              title={whyNot(one)}
              onClick={() => setChosen(one)}
            >
              {one.label}
            </Button>
          ))}
          {chosen !== undefined && (
            <WriteDialog
              write={{ ...chosen, body: { ...chosen.body, [chosen.ids]: { value: ids } } }}
              row={{}}
              title={`${chosen.label} · ${translate('admin.picked', { count: picked.size })}`}
              name={chosen.label}
              submit={chosen.label}
              fields={chosen.ask ?? []}
              onDone={(answer) => finish(chosen, answer)}
              onClose={() => setChosen(undefined)}
            >
              {chosen.confirm !== undefined && <p>{chosen.confirm}</p>}
            </WriteDialog>
          )}
        </div>
      )}
      {failures !== undefined && isShown && (
        <Boundary>
          <BulkFailureList {...failures} detail={page.detail} areSelected={picked.size > 0} />
        </Boundary>
      )}
    </>
  )
}

const idOf = (text: string) => (/^\d{1,15}$/.test(text) ? Number(text) : text)
