import { ActionIcon, Menu } from '@mantine/core'
import { IconDots } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { lazy, useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { Boundary } from '../../app/boundary.tsx'
import { CallFailure } from '../api/call.ts'
import { useApi } from '../api/context.tsx'
import { type Account, attention, changeAttention, ownAccount } from '../api/operations.ts'
import type { Attention, AttentionMark } from '../api/page-types.ts'
import { useWrite } from '../api/use-write.ts'
import { snoozeTimes } from './attention-marks.ts'
import { toasts } from './toasts.ts'

/** The picker of users is loaded when it is needed, so it is not part of the first view. */
const Assignment = lazy(() => import('./attention-assignment.tsx'))

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
        <Boundary>
          <Assignment
            {...title}
            assignee={item.mark?.assigneeUserId ?? null}
            onChosen={(assigneeUserId) => change.mutate({ assigneeUserId })}
            onClose={() => setAssigning(false)}
          />
        </Boundary>
      )}
    </>
  )
}
