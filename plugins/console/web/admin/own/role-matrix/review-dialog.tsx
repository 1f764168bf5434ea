import { Button } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useEffect, useState } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { FailureNotice, Notice } from '../../../app/notice.tsx'
import { CallFailure } from '../../api/call.ts'
import { useApi } from '../../api/context.tsx'
import type { Operation, OwnPageView } from '../../api/page-types.ts'
import { useWrite } from '../../api/use-write.ts'
import dialog from '../../pages/forms/dialog.module.css'
import { Dialog, DialogButtons } from '../../pages/forms/dialog.tsx'
import { ReasonField } from '../../pages/forms/reason-field.tsx'
import { useKeptText } from '../../shell/drafts.ts'
import { toasts } from '../../shell/toasts.ts'
import classes from './review-dialog.module.css'
import { countOf, draft, type RoleChange, reasonDraft, replacementOf, useDraft } from './role-draft.ts'
import { operationIds, type Permission, type Role } from './roles.ts'

interface ReviewDialogProps {
  readonly page: OwnPageView
  /** Roles as the page has last read them. */
  readonly roles: readonly Role[]
  readonly permissions: readonly Permission[]
  onClose(): void
}

/** Dialog that shows the changes of each role and saves them role by role. Rejected changes stay in the draft. */
export function ReviewDialog({ page: { operations }, roles, permissions, onClose }: ReviewDialogProps) {
  const { translate } = useLanguage()
  const api = useApi()
  const client = useQueryClient()
  const changes = useDraft()
  const [reason, setReason] = useKeptText(reasonDraft)
  const [failures, setFailures] = useState<ReadonlyMap<number, CallFailure>>(new Map())
  /** Current state of the roles that another user has changed, by id. */
  const [read, setRead] = useState<ReadonlyMap<number, Role>>(new Map())
  const save = operations[operationIds.save] as Operation
  const nowOf = ({ was }: RoleChange) => read.get(was.id) ?? roles.find(({ id }) => id === was.id)
  const conflictOf = (change: RoleChange) => {
    const now = nowOf(change)
    return now === undefined || now.version <= change.was.version ? undefined : now
  }
  // After a lost response, the changes may already be stored.
  useEffect(() => draft.settle([...roles, ...read.values()]), [roles, read])
  const isConflict = [...changes.values()].some((change) => conflictOf(change) !== undefined)
  const saveAll = async (signal: AbortSignal) => {
    const rejected = new Map<number, CallFailure>()
    for (const change of changes.values()) {
      const { id } = change.was
      try {
        await api.call(save, { params: { id }, body: replacementOf(change), reason: reason.trim(), signal })
        draft.drop(id)
      } catch (error) {
        if (!(error instanceof CallFailure)) throw error
        if (error.kind === 'conflict') {
          const now = await api
            .call<Role>(operations[operationIds.role] as Operation, { params: { id }, signal })
            .catch(() => {})
          if (now !== undefined) setRead((last) => new Map(last).set(id, now))
          if (now === undefined || now.version === change.was.version) rejected.set(id, error)
        } else rejected.set(id, error)
      }
    }
    return rejected
  }
  const run = useWrite(saveAll, {
    onSuccess(failed) {
      setFailures(failed)
      if (draft.current().size > 0) return
      setReason('')
      toasts.show(translate('roles.saved'))
    },
    onSettled: () => void client.invalidateQueries({ queryKey: [operationIds.roles] }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    run.mutate()
  }
  const nameOf = (code: string) => permissions.find((one) => one.code === code)?.name ?? code
  return (
    <Dialog onClose={onClose} title={translate('roles.review-title')}>
      {changes.size === 0 ? (
        <div className={dialog.form}>
          <Notice tone="good" title={translate('roles.saved')} />
          <DialogButtons onCancel={onClose} />
        </div>
      ) : (
        <form onSubmit={submit} className={dialog.form}>
          {[...changes.values()].map((change) => (
            <Difference
              key={change.was.id}
              change={change}
              now={conflictOf(change)}
              failure={failures.get(change.was.id)}
              nameOf={nameOf}
            />
          ))}
          {save.takesReason && <ReasonField value={reason} onChange={setReason} data-autofocus />}
          <DialogButtons cancel={translate('roles.back')} onCancel={onClose}>
            <Button type="submit" loading={run.isPending} disabled={isConflict}>
              {translate('roles.save', { count: countOf(changes) })}
            </Button>
          </DialogButtons>
        </form>
      )}
    </Dialog>
  )
}

interface DifferenceProps {
  readonly change: RoleChange
  /** Current state of the role, if another user has changed it. */
  readonly now: Role | undefined
  readonly failure: CallFailure | undefined
  nameOf(code: string): string
}

function Difference({ change: { was, wanted }, now, failure, nameOf }: DifferenceProps) {
  const { translate } = useLanguage()
  const given = [...wanted].flatMap(([code, isWanted]) => (isWanted ? [code] : []))
  const taken = [...wanted].flatMap(([code, isWanted]) => (isWanted ? [] : [code]))
  return (
    <section className={classes.role} data-role={was.id}>
      <h2>{was.name}</h2>
      <Codes tone="given" codes={given} nameOf={nameOf} />
      <Codes tone="taken" codes={taken} nameOf={nameOf} />
      {failure !== undefined && (
        <FailureNotice title={translate('roles.refused')} message={failure.message} traceId={failure.traceId} />
      )}
      {now !== undefined && (
        <Notice tone="warn" title={translate('roles.conflict')}>
          <p>{translate('roles.conflict-lead')}</p>
          <Codes
            tone="given"
            codes={now.permissions.filter((code) => !was.permissions.includes(code))}
            nameOf={nameOf}
          />
          <Codes
            tone="taken"
            codes={was.permissions.filter((code) => !now.permissions.includes(code))}
            nameOf={nameOf}
          />
          <div className={classes.choice}>
            <Button size="compact-sm" variant="default" onClick={() => draft.drop(was.id)}>
              {translate('roles.conflict-drop')}
            </Button>
            <Button size="compact-sm" variant="default" onClick={() => draft.rebase(now)}>
              {translate('roles.conflict-keep')}
            </Button>
          </div>
        </Notice>
      )}
    </section>
  )
}

interface CodesProps {
  readonly tone: 'given' | 'taken'
  readonly codes: readonly string[]
  nameOf(code: string): string
}

function Codes({ tone, codes, nameOf }: CodesProps) {
  const { translate } = useLanguage()
  if (codes.length === 0) return null
  return (
    <ul className={classes.codes} data-tone={tone}>
      {codes.map((code) => (
        <li key={code}>
          <span aria-hidden>{tone === 'given' ? '+' : '−'}</span>
          <span className="visually-hidden">{translate(`roles.${tone}`)}</span> {nameOf(code)} <code>{code}</code>
        </li>
      ))}
    </ul>
  )
}
