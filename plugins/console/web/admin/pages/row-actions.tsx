import { ActionIcon, Menu } from '@mantine/core'
import { IconDots } from '@tabler/icons-react'
import type { MouseEvent } from 'react'
import { useLanguage } from '../../app/app.tsx'
import type { Api } from '../api/call.ts'
import { useApi } from '../api/context.tsx'
import { provenIdentity } from '../api/operations.ts'
import type { Action } from '../api/page-types.ts'
import { type Row, valueAt, valuesFromRow } from '../api/row-values.ts'
import { useWhyNot } from '../api/why-not.ts'
import { toasts } from '../shell/toasts.ts'

/** True if the state of the row allows the action. */
export const isActionAvailable = ({ when = {} }: Action, row: Row): boolean =>
  Object.entries(when).every(([name, values]) => values.includes(valueAt(row, name) as string))

/** True if the action downloads a file. */
const isFile = ({ method }: Action): boolean => method === 'GET'

/**
 * Returns the properties of the link that downloads the file of a row. A link cannot ask for a proof of identity, so a
 * click asks for it first if the operation needs one.
 */
function fileLinkOf(api: Api, action: Action, row: Row) {
  const query = valuesFromRow(action.query, row)
  const href = api.addressOf(action, { params: valuesFromRow(action.params, row), query })
  const link = { component: 'a' as const, href, download: '' }
  const { freshSeconds: maxAgeSeconds } = action
  if (maxAgeSeconds === undefined) return link
  const onClick = (event: MouseEvent) => {
    event.preventDefault()
    const { signal } = new AbortController()
    api.call(provenIdentity, { query: { maxAgeSeconds }, signal }).then(
      () => location.assign(href),
      (error: Error) => toasts.show(error.message, { isFailure: true }),
    )
  }
  return { ...link, onClick }
}

/** Returns the properties of the button or menu entry of an action. */
export const startOf = (api: Api, action: Action, row: Row, onChoose: (action: Action) => void) =>
  isFile(action) && action.allowed
    ? fileLinkOf(api, action, row)
    : {
        ...(action.undo === undefined ? { 'aria-haspopup': 'dialog' as const } : {}),
        onClick: () => onChoose(action),
      }

export interface RowActionsProps {
  readonly actions: readonly Action[]
  readonly row: Row
  /** Name of the row, for screen readers. */
  readonly name: string
  onChoose(action: Action): void
}

/** Menu of the actions on a row. For an action that the user may not call, the menu shows the reason. */
export function RowActions({ actions, row, name, onChoose }: RowActionsProps) {
  const { translate } = useLanguage()
  const whyNot = useWhyNot()
  const api = useApi()
  const possible = actions.filter((action) => isActionAvailable(action, row))
  if (possible.length === 0) return null
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={translate('admin.actions-of', { name })}>
          <IconDots size={18} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {possible.map((action) => (
          <Menu.Item
            key={action.label}
            disabled={!action.allowed}
            title={whyNot(action)}
            {...(action.tone === 'danger' ? { color: 'red' } : {})}
            {...startOf(api, action, row, onChoose)}
          >
            {action.label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
