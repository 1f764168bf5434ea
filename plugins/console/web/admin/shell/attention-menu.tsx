import { ActionIcon, Button, Menu } from '@mantine/core'
import { IconDots } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { CallFailure } from '../api/call.ts'
import { useApi } from '../api/context.tsx'
import { type Account, attention, changeAttention, ownAccount } from '../api/operations.ts'
import type { Attention, AttentionMark } from '../api/page-types.ts'
import { useWrite } from '../api/use-write.ts'
import dialog from '../pages/forms/dialog.module.css'
import { Dialog, DialogButtons } from '../pages/forms/dialog.tsx'
import { LabelPicker } from '../pages/forms/label-picker.tsx'
import { snoozeTimes } from './attention-marks.ts'
import { toasts } from './toasts.ts'

interface AttentionMenuProps {
  readonly item: Attention
  readonly count: number
  readonly isAside: boolean
}

/** Menu with which operators work off what needs attention: done, snooze, assign. */
export function AttentionMenu({ item, count, isAside }: AttentionMenuProps) {
  const { translate } = useLanguage()
  const api = useApi()
  const client = useQueryClient()
  const [isAssigning, setAssigning] = useState(false)
  const change = useWrite(
    (signal, body: Partial<AttentionMark>) =>
      api.call<AttentionMark>(changeAttention, { params: { id: item.id }, body, signal }),
    {
      onSuccess: () => void client.invalidateQueries({ queryKey: [attention.path] }),
      onError(error) {
        if (!(error instanceof CallFailure)) throw error
        toasts.show(error.message === '' ? translate('app.failure.unreachable') : error.message, { isFailure: true })
      },
    },
  )
  const assignToMe = async () => {
    const { id } = await api.call<Account>(ownAccount, { signal: new AbortController().signal })
    change.mutate({ assigneeUserId: id })
  }
  const title = { title: item.title }
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" aria-label={translate('admin.attention.menu', title)} loading={change.isPending}>
            <IconDots size={18} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {isAside ? (
            <Menu.Item onClick={() => change.mutate({ doneCount: null, snoozedUntil: null })}>
              {translate('admin.attention.back')}
            </Menu.Item>
          ) : (
            <>
              <Menu.Item disabled={count === 0} onClick={() => change.mutate({ doneCount: count })}>
                {translate('admin.attention.done')}
              </Menu.Item>
              <Menu.Divider />
              {Object.entries(snoozeTimes(new Date())).map(([name, until]) => (
                <Menu.Item key={name} onClick={() => change.mutate({ snoozedUntil: until.toISOString() })}>
                  {translate(`admin.attention.snooze.${name as keyof ReturnType<typeof snoozeTimes>}`)}
                </Menu.Item>
              ))}
            </>
          )}
          <Menu.Divider />
          <Menu.Item onClick={() => void assignToMe()}>{translate('admin.attention.assign-me')}</Menu.Item>
          <Menu.Item onClick={() => setAssigning(true)}>{translate('admin.attention.assign')}</Menu.Item>
          {item.mark?.assigneeUserId != null && (
            <Menu.Item onClick={() => change.mutate({ assigneeUserId: null })}>
              {translate('admin.attention.unassign')}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {isAssigning && (
        <Assignment
          {...title}
          assignee={item.mark?.assigneeUserId ?? null}
          onChosen={(assigneeUserId) => change.mutate({ assigneeUserId })}
          onClose={() => setAssigning(false)}
        />
      )}
    </>
  )
}

interface AssignmentProps {
  readonly title: string
  readonly assignee: number | null
  onChosen(userId: number): void
  onClose(): void
}

function Assignment({ title, assignee, onChosen, onClose }: AssignmentProps) {
  const { translate } = useLanguage()
  const [chosen, setChosen] = useState(assignee === null ? '' : String(assignee))
  return (
    <Dialog title={title} onClose={onClose} size="md" centered>
      <div className={dialog.form}>
        <LabelPicker
          kind={{ labels: 'iam.user' }}
          title={translate('admin.attention.assigned')}
          label={translate('admin.attention.assigned')}
          value={chosen}
          onChange={(id) => setChosen(id ?? '')}
        />
        <DialogButtons onCancel={onClose}>
          <Button
            disabled={chosen === ''}
            onClick={() => {
              onChosen(Number(chosen))
              onClose()
            }}
          >
            {translate('admin.save')}
          </Button>
        </DialogButtons>
      </div>
    </Dialog>
  )
}
