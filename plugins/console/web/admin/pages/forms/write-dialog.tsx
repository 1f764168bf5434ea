import { Button, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, lazy, type ReactNode, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useLanguage } from '../../../app/app.tsx'
import { Boundary } from '../../../app/boundary.tsx'
import { Notice } from '../../../app/notice.tsx'
import { CallFailure, type PendingKeys } from '../../api/call.ts'
import { useApi } from '../../api/context.tsx'
import type { Field, Form, Write } from '../../api/page-types.ts'
import { type Row, valueAt, valuesFromRow } from '../../api/row-values.ts'
import { useWrite } from '../../api/use-write.ts'
import { keepDraft, takeDraft } from '../../shell/drafts.ts'
import { useSite } from '../../shell/site-context.ts'
import { type ToastButton, toasts } from '../../shell/toasts.ts'
import { unitTyped } from '../amounts.ts'
import { ApiResponse } from '../facts.tsx'
import { Waiting } from '../load-state.tsx'
import classes from './dialog.module.css'
import { Dialog, DialogButtons, type DialogProps } from './dialog.tsx'
import { useDiscardQuestion } from './discard-question.tsx'
import { type Typed, withoutSecrets } from './field-values.ts'
import { Conflict } from './form-conflict.tsx'
import { FormFields, isSecretField } from './form-fields.tsx'
import { nested, type UnitOf, useFormState } from './form-state.ts'
import { OnceShown } from './once-shown.tsx'
import { ReasonField } from './reason-field.tsx'
import { addressOfCreated, resultOfWrite } from './write-outcome.ts'

/** The preview code is loaded with the first form that has a preview. */
const LivePreview = lazy(() => import('./live-preview.tsx'))

const nothing = () => undefined

interface WriteDialogProps {
  readonly write: Write &
    Pick<Form, 'params' | 'secret' | 'long' | 'sections' | 'livePreview' | 'version' | 'once'> & {
      readonly query?: Form['params']
    }
  /** The row that the write changes; an empty row for a new object. */
  readonly row: Row
  readonly title: string
  /** Name of the write in the message after it. Default: the title. */
  readonly name?: string
  /** Text of the message after a write without an outcome. Default: it contains the name. */
  readonly done?: string
  /** Label of the submit button. */
  readonly submit: string
  readonly fields?: readonly Field[]
  /** Returns the first value of a field. Default: undefined. */
  initial?(name: string): unknown
  /** True if members that the user did not change are omitted. */
  readonly onlyChanged?: boolean
  /** True if the user must confirm before closing the dialog after typing. */
  readonly keeps?: boolean
  /** Text that the user must type to confirm the write. */
  readonly wanted?: string | undefined
  readonly children?: ReactNode
  /** Component around the form. Default: a dialog. */
  readonly Frame?: (props: DialogProps) => ReactNode
  /** Returns the button that reverses the write. With it, unchanged input is not sent. */
  undoOf?(answer: unknown): ToastButton | undefined
  /** Called with the response of a successful write. The dialog may still show it. */
  onDone?(answer: unknown): void
  /** Called after each failed attempt. The dialog stays open and shows the error. */
  onFailed?(error: Error): void
  onClose(): void
}

/** The part of a form that is stored while its page is left or reloads. */
interface Draft {
  readonly values: Readonly<Record<string, Typed>>
  /** The values before the user changed them; undefined for those of the current row. */
  readonly first: Readonly<Record<string, Typed>> | undefined
  readonly reason: string
  /** Version of the row when the form was opened. If the row has changed since then, the write is a conflict. */
  readonly version: unknown
  readonly keys: PendingKeys
}

const kept = (values: Draft['values'], fields: readonly Field[], secret: readonly string[] = []) =>
  Object.fromEntries(
    fields
      .filter(({ name }) => !isSecretField(name, secret))
      .map(({ name, schema }) => [name, withoutSecrets(values[name], schema)]),
  )

/** Dialog for a write. It reads the input, shows the preview, executes the write, and shows the result. */
export function WriteDialog(props: WriteDialogProps) {
  const [{ attempt, input }, setStart] = useState<{ readonly attempt: number; readonly input?: Draft }>({ attempt: 0 })
  return (
    <WriteForm
      key={attempt}
      {...props}
      input={input}
      onRestart={(input) => setStart({ attempt: attempt + 1, ...(input && { input }) })}
    />
  )
}

/** Marks the element that the dialog focuses when it opens: the first field, or otherwise the first button. */
const focusFirst = (form: HTMLFormElement | null) => {
  const first = form?.querySelector('input:enabled:not([type=hidden]), select:enabled, textarea:enabled')
  const target = first ?? form?.querySelector('button[type=button]')
  target?.setAttribute('data-autofocus', '')
}

interface WriteFormProps extends WriteDialogProps {
  /** Input of this dialog before it was applied to the current version of the row. */
  readonly input: Draft | undefined
  /** Shows the form again for the current row, with the given input or without any. */
  onRestart(input?: Draft): void
}

function WriteForm(props: WriteFormProps) {
  const {
    write,
    title,
    name = title,
    done: doneText,
    submit,
    fields = [],
    initial = nothing,
    onlyChanged = false,
    keeps = false,
    wanted,
    children,
    Frame = Dialog,
    undoOf,
  } = props
  const { input, onDone, onFailed, onClose, onRestart } = props
  // The row as it was when the dialog was opened. The user has not seen later versions.
  const [row] = useState(props.row)
  const { translate } = useLanguage()
  const api = useApi()
  const client = useQueryClient()
  const [location, go] = useLocation()
  const { units } = useSite()
  const unitOf: UnitOf = (name, values) => unitTyped(write.amounts?.[name], units, values, row)
  const draftName = `${write.operation} ${JSON.stringify(valuesFromRow(write.params, row))}`
  const [restored] = useState(() => input ?? takeDraft<Draft>(draftName))
  const [keys] = useState<PendingKeys>(restored?.keys ?? {})
  const known = (name: string) => valueAt(row, name)
  const state = useFormState({ fields, initial, known, unitOf, first: restored?.first, restored: restored?.values })
  const live = write.livePreview?.allowed ? write.livePreview : undefined
  const [notes, setNotes] = useState<Readonly<Record<string, string>>>({})
  const [reason, setReason] = useState(restored?.reason ?? '')
  const draft = useRef<Draft>(undefined)
  // True after the input was sent or discarded by the user. Then no draft of it is kept.
  const isDropped = useRef(false)
  const [typed, setTyped] = useState('')
  const [seen, setSeen] = useState<{ readonly answer: unknown; readonly values: unknown }>()
  const [done, setDone] = useState<{ readonly answer: unknown }>()
  const once = done !== undefined && write.once !== undefined ? valueAt(done.answer, write.once) : undefined
  /** Opens the object that the write created, unless its page is open. */
  const linkTo = (answer: unknown) => {
    const address = addressOfCreated(write, answer)
    if (address === undefined || address === location) return undefined
    return { address, label: translate('admin.open-created', { title: write.created?.title ?? '' }) }
  }
  const link = done && linkTo(done.answer)
  // A preview is required again after the input changes.
  const isDry = write.preview !== undefined && seen?.values !== state.values
  const run = useWrite(
    (signal, requested: Record<string, unknown>, keys) => {
      const version = write.version === undefined ? {} : { [write.version]: versionRead }
      const own = nested({ ...valuesFromRow(write.body, row), ...requested, ...version })
      const { preview } = write
      if (isDry && typeof preview === 'object') {
        const taken = Object.fromEntries(
          (preview.takes ?? []).flatMap((name) => (name in own ? [[name, own[name]]] : [])),
        )
        // Members that the row does not have are omitted.
        const known = Object.entries(valuesFromRow(preview.body, row)).filter(([, value]) => value != null)
        const body = nested({ ...Object.fromEntries(known), ...taken })
        return api.call<unknown>(preview, { params: valuesFromRow(preview.params, row), body, signal })
      }
      const body = isDry && typeof preview === 'string' ? { ...own, [preview]: true } : own
      return api.call<unknown>(write, {
        params: valuesFromRow(write.params, row),
        query: valuesFromRow(write.query, row),
        ...(Object.keys(body).length > 0 || write.hasBody ? { body } : {}),
        reason: typeof own['reason'] === 'string' ? own['reason'] : reason,
        keys,
        signal,
      })
    },
    {
      onSuccess: (answer) => {
        if (isDry) return setSeen({ answer, values: state.values })
        const created = linkTo(answer)
        const { text, isFailure } = resultOfWrite(write, answer, {
          translate,
          title: name,
          done: doneText ?? translate('admin.done', { title: name }),
        })
        toasts.show(text, {
          isFailure,
          button:
            undoOf?.(answer) ??
            (created === undefined ? undefined : { label: created.label, run: () => go(created.address) }),
        })
        void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'page' })
        isDropped.current = true
        const shown = write.once === undefined ? undefined : valueAt(answer, write.once)
        if (typeof shown === 'string' || write.answer !== undefined) return setDone({ answer })
        onDone?.(answer)
        onClose()
      },
      onError: (error) => {
        state.fail(error)
        onFailed?.(error)
        // The conflict is shown when the current version has been read.
        if (error instanceof CallFailure && error.kind === 'conflict') void client.invalidateQueries()
      },
      keys,
    },
  )
  const versionRead = write.version === undefined ? undefined : (restored?.version ?? valueAt(row, write.version))
  const isConflict =
    write.version !== undefined &&
    'currentVersion' in (state.failure?.data ?? {}) &&
    valueAt(props.row, write.version) !== versionRead
  const values = kept(state.values, fields, write.secret)
  // The keys contain the input, so they are not stored if a secret was removed from it.
  const hasSecret = fields.some(({ name }) => JSON.stringify(values[name]) !== JSON.stringify(state.values[name]))
  draft.current =
    state.isChanged || reason !== ''
      ? {
          values,
          first: kept(state.first, fields, write.secret),
          reason,
          version: versionRead,
          keys: hasSecret ? {} : keys,
        }
      : undefined
  const readDraft = () => (isDropped.current ? undefined : draft.current)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the title of an open dialog does not change
  useEffect(() => {
    const close = keepDraft(draftName, readDraft)
    return () => {
      close()
      // The user has left the page, for example with Back.
      if (readDraft() !== undefined) toasts.show(translate('admin.draft-kept', { title }))
    }
  }, [draftName])
  // A form with its own reason also sends it as the reason for the audit.
  const ownReason = fields.some(({ name }) => name === 'reason')
  const asksReason = write.takesReason && !ownReason
  const hasReason = !asksReason || write.reason !== 'required' || reason.trim() !== ''
  const possible = typeof write.preview === 'object' ? write.preview.possible : undefined
  const isRejected = !isDry && possible !== undefined && valueAt(seen?.answer, possible) === false
  const isReady = (wanted === undefined || typed === wanted) && hasReason && !isRejected
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    const requested = state.body(onlyChanged)
    if (requested === undefined) return
    if (undoOf !== undefined && !state.isChanged) return drop()
    if (isReady || isDry) run.mutate(requested)
  }
  const drop = () => {
    isDropped.current = true
    onClose()
  }
  const question = useDiscardQuestion(translate('admin.discard'), drop)
  const leave = () => {
    if (done !== undefined) onDone?.(done.answer)
    if (keeps && state.isChanged && done === undefined) question.ask()
    else drop()
  }
  const restart = (input?: Draft) => {
    isDropped.current = true
    onRestart(input)
  }
  const conflict = isConflict && (
    <Conflict
      fields={fields.filter(({ name }) => !isSecretField(name, write.secret))}
      first={state.first}
      values={state.values}
      initial={initial}
      unitOf={unitOf}
      onKeep={(values) => restart({ values, first: undefined, reason, version: undefined, keys: {} })}
      onDiscard={() => restart()}
    />
  )
  const columns = typeof write.preview === 'object' ? write.preview.columns : write.answer
  return (
    <Frame
      onClose={leave}
      closeOnEscape={!question.isAsked}
      title={title}
      size={live !== undefined ? '84rem' : fields.length > 0 || columns === undefined ? 'lg' : 'xl'}
    >
      {question.dialog}
      {typeof once === 'string' ? (
        <OnceShown value={once} onClose={leave} />
      ) : done !== undefined ? (
        <div className={classes.form}>
          <ApiResponse answer={done.answer} columns={write.answer ?? []} />
          <div className={classes.buttons}>
            {link !== undefined && (
              <Button variant="default" component={Link} href={link.address}>
                {link.label}
              </Button>
            )}
            <Button onClick={leave}>{translate('admin.close')}</Button>
          </div>
        </div>
      ) : (
        <form ref={focusFirst} onSubmit={onSubmit} noValidate className={classes.form}>
          {children}
          {restored !== undefined && input === undefined && (
            <Notice tone="info" title={translate('admin.restored')}>
              {fields.some(({ name }) => isSecretField(name, write.secret)) && (
                <p>{translate('admin.secrets-again')}</p>
              )}
              <Button variant="default" size="xs" onClick={() => restart()}>
                {translate('admin.form.restart')}
              </Button>
            </Notice>
          )}
          {live === undefined ? (
            <FormFields fields={fields} state={state} unitOf={unitOf} conflict={conflict} {...write} />
          ) : (
            <div className={classes.beside}>
              <FormFields fields={fields} state={state} unitOf={unitOf} conflict={conflict} notes={notes} {...write} />
              <Boundary waiting={<Waiting lines={1} height={320} />}>
                <LivePreview preview={live} fields={fields} row={row} values={state.values} onProblems={setNotes} />
              </Boundary>
            </div>
          )}
          {asksReason && <ReasonField value={reason} withAsterisk={write.reason === 'required'} onChange={setReason} />}
          {wanted !== undefined && (
            <TextInput
              label={translate('admin.type', { text: wanted })}
              value={typed}
              onChange={(event) => setTyped(event.currentTarget.value)}
              autoComplete="off"
            />
          )}
          {seen !== undefined && !isDry && (
            <section className={classes.preview} aria-label={translate('admin.previewed')}>
              <h2>{translate('admin.previewed')}</h2>
              {columns === undefined ? (
                <pre>{JSON.stringify(seen.answer, undefined, 2)}</pre>
              ) : (
                <ApiResponse answer={seen.answer} columns={columns} />
              )}
            </section>
          )}
          {isRejected && <p role="alert">{translate('admin.impossible')}</p>}
          <DialogButtons onCancel={leave}>
            <Button
              type="submit"
              {...(write.tone === 'danger' ? { color: 'red' } : {})}
              loading={run.isPending}
              disabled={!isReady && !isDry}
            >
              {isDry ? translate('admin.preview') : submit}
            </Button>
          </DialogButtons>
        </form>
      )}
    </Frame>
  )
}
