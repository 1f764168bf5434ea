import { Button } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useLanguage } from '../../../../app/app.tsx'
import { FailureNotice, Notice } from '../../../../app/notice.tsx'
import { CallFailure } from '../../../api/call.ts'
import { useApi } from '../../../api/context.tsx'
import type { Operation } from '../../../api/page-types.ts'
import { useWrite } from '../../../api/use-write.ts'
import dialog from '../../../pages/forms/dialog.module.css'
import { Dialog, DialogButtons } from '../../../pages/forms/dialog.tsx'
import { ReasonField } from '../../../pages/forms/reason-field.tsx'
import { useFormats } from '../../../pages/shown-value.ts'
import { useKeptText } from '../../../shell/drafts.ts'
import { toasts } from '../../../shell/toasts.ts'
import { useCentre } from '../centre-context.ts'
import { type Conflict, conflictsOf, draft, reasonDraft, sentChange, useDraft } from '../config-draft.ts'
import { type ConfigItem, type GroupTitles, type Outcome, operationIds } from '../config-types.ts'
import { InstancesState } from '../instances-state.tsx'
import { SentTo, ValueText } from '../value-text.tsx'
import { Impact } from './impact.tsx'
import classes from './review-dialog.module.css'

/** Shows conflicts with another user: the original, the current and the wanted value. The user decides for each key. */
function Conflicts({ conflicts }: { readonly conflicts: readonly Conflict[] }) {
  const { translate } = useLanguage()
  const formats = useFormats()
  return (
    <Notice tone="warn" title={translate('config.conflict.title', { count: conflicts.length })}>
      <p>{translate('config.conflict.lead')}</p>
      <div className={classes.scroll}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">{translate('config.conflict.key')}</th>
              <th scope="col">{translate('config.conflict.was')}</th>
              <th scope="col">{translate('config.conflict.theirs')}</th>
              <th scope="col">{translate('config.conflict.yours')}</th>
              <th scope="col">
                <span className="visually-hidden">{translate('config.conflict.choice')}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {conflicts.map(({ change, now, destination }) => {
              const { was, action } = change
              const value = action === 'set' ? sentChange(change).value : undefined
              return (
                <tr key={change.key}>
                  <th scope="row" title={change.key}>
                    {now.displayTitle}
                  </th>
                  <td>
                    <ValueText value={was.stored?.value ?? was.value} isSecret={was.sensitive} />
                  </td>
                  <td>
                    <ValueText value={now.stored?.value ?? now.value} isSecret={now.sensitive} />
                    {destination.length > 0 && (
                      <SentTo values={destination.map(({ key, stored, value }) => [key, stored?.value ?? value])} />
                    )}
                    {now.stored !== undefined && (
                      <p className={classes.who}>
                        {translate('config.fact.stored-by', {
                          name: now.stored.updatedBy ?? translate('config.fact.other-operator'),
                          time: formats.time(now.stored.updatedAt),
                        })}
                      </p>
                    )}
                  </td>
                  <td>
                    <ValueText value={value} isSecret={was.sensitive} />
                  </td>
                  <td className={classes.choice}>
                    <Button size="compact-sm" variant="default" onClick={() => draft.drop([change.key])}>
                      {translate('config.conflict.take')}
                    </Button>
                    <Button size="compact-sm" variant="default" onClick={() => draft.rebase([now])}>
                      {translate('config.conflict.keep')}
                    </Button>
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
    </Notice>
  )
}

interface ReviewDialogProps {
  readonly items: ReadonlyMap<string, ConfigItem>
  readonly titles: GroupTitles
  /** True to save the draft when the dialog opens, without the review and the reason. */
  readonly savesNow: boolean
  onClose(): void
}

/** Dialog that shows the effects of the draft, asks for the reason, and shows the outcome. */
export function ReviewDialog({ items, titles, savesNow, onClose }: ReviewDialogProps) {
  const { translate } = useLanguage()
  const { operations } = useCentre()
  const { changes } = useDraft()
  const client = useQueryClient()
  const [reason, setReason] = useKeptText(reasonDraft)
  const conflicts = conflictsOf(changes.values(), items)
  const preview = useSent(operations[operationIds.preview])
  const save = useSent(operations[operationIds.save])
  const refetch = () => client.invalidateQueries({ queryKey: [operationIds.keys] })
  // After a lost response, the changes may already be stored.
  useEffect(() => draft.settle(items), [items])
  const look = preview.mutate
  const isUnsent = useRef(savesNow)
  useEffect(() => {
    if (changes.size > 0 && !isUnsent.current)
      look({ changes: [...changes.values()].map(sentChange) }, { onSuccess: noteProblems })
  }, [changes, look])
  const saved = save.data
  const submit = () => {
    const sent = [...changes.values()].map(sentChange)
    save.mutate(
      { changes: sent, ...(reason.trim() === '' ? {} : { reason: reason.trim() }) },
      {
        onSuccess: ({ requestId }) => {
          draft.clear()
          setReason('')
          toasts.show(translate(requestId === undefined ? 'config.saved' : 'config.requested'))
          void refetch()
        },
        onError: (error) => {
          if (!(error instanceof CallFailure)) throw error
          // Rejected values are shown at their fields. For conflicts, the current stored values are loaded.
          if (error.faults.length > 0) draft.refuse(error.faults as never)
          if (error.kind === 'conflict') void refetch()
        },
      },
    )
  }
  useEffect(() => {
    if (isUnsent.current) submit()
    isUnsent.current = false
  })
  if (saved !== undefined) {
    return (
      <Dialog
        size="xl"
        title={translate(saved.requestId === undefined ? 'config.saved' : 'config.requested')}
        onClose={onClose}
      >
        <div className={dialog.form}>
          <Impact outcome={saved} items={items} titles={titles} isDone />
          {saved.requestId === undefined && (
            <InstancesState version={saved.version} keys={saved.effects.map(({ key }) => key)} />
          )}
          <DialogButtons onCancel={onClose} />
        </div>
      </Dialog>
    )
  }
  const foreseen = preview.data
  const isConflict = save.error instanceof CallFailure && save.error.kind === 'conflict'
  const isRejected = (foreseen?.errors.length ?? 0) > 0
  return (
    <Dialog size="xl" title={translate('config.review')} onClose={onClose}>
      <form
        className={dialog.form}
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        <Failure error={preview.error} />
        {/* For a conflict, `Conflicts` shows the values of both users instead of the error. */}
        {!isConflict && <Failure error={save.error} />}
        {conflicts.length > 0 && <Conflicts conflicts={conflicts} />}
        {changes.size === 0 && <p>{translate('config.nothing-left')}</p>}
        {foreseen !== undefined && changes.size > 0 && conflicts.length === 0 && (
          <Impact outcome={foreseen} items={items} titles={titles} isDone={false} />
        )}
        <ReasonField
          label={translate('config.reason')}
          description={translate('config.reason-hint')}
          value={reason}
          onChange={setReason}
          data-autofocus
        />
        <DialogButtons cancel={translate('config.back')} onCancel={onClose}>
          <Button
            type="submit"
            loading={save.isPending}
            disabled={changes.size === 0 || conflicts.length > 0 || isRejected || preview.isPending}
          >
            {translate('config.save', { count: changes.size })}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}

/** Stores the errors in the draft, so that the fields still show them after the dialog is closed. */
const noteProblems = ({ errors }: Outcome) => draft.refuse(errors)

function useSent(operation: Operation | undefined) {
  const api = useApi()
  return useWrite((signal, body: object) => api.call<Outcome>(operation as Operation, { body, signal }))
}

/** Shows the error message of the server. The end of a session is handled elsewhere, by the shell. */
export function Failure({ error }: { readonly error: Error | null }) {
  if (error === null || (error instanceof CallFailure && error.kind === 'signed-out')) return null
  if (!(error instanceof CallFailure)) throw error
  const { message, traceId, faults } = error
  return (
    <FailureNotice message={message} traceId={traceId}>
      <ul>
        {faults.map((problem) => (
          <li key={problem.field}>{problem.message}</li>
        ))}
      </ul>
    </FailureNotice>
  )
}
