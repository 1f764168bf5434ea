import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useCallback, useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import type { TextKey } from '../../text/texts.ts'
import { CallFailure } from '../api/call.ts'
import { useApi } from '../api/context.tsx'
import type { Action, Column } from '../api/page-types.ts'
import { type Row, valuesFromRow } from '../api/row-values.ts'
import { useWrite } from '../api/use-write.ts'
import { type ToastButton, toasts } from '../shell/toasts.ts'
import { ActionDialog, useActionName, useActionText } from './forms/action-dialogs.tsx'
import { nested } from './forms/form-state.ts'
import { resultOfWrite } from './forms/write-outcome.ts'

/** An action on a row. */
export interface ChosenAction {
  readonly action: Action
  readonly row: Row
}

/**
 * Returns the function that starts an action, and the dialog of the started action. An action with `undo` runs without
 * a dialog, and its message has a button that reverses it.
 *
 * @param actions all actions of the page
 * @param columns columns of the page. They determine the format of members in the text of the dialog
 * @param name member with the name of the object; default: the column that links to its page
 */
export function useActions(
  actions: readonly Action[],
  columns: readonly Column[],
  name?: string,
): { choose(chosen: ChosenAction): void; readonly dialog: ReactNode } {
  const { translate } = useLanguage()
  const api = useApi()
  const client = useQueryClient()
  const textOf = useActionText(columns)
  const nameOf = useActionName(columns, name)
  // The chosen action is stored here, so that the typed input remains if the row disappears from the page.
  const [chosen, setChosen] = useState<ChosenAction>()
  const { mutate } = useWrite<Row | null, ChosenAction>(
    (signal, { action, row }, keys) =>
      api.call(action, {
        params: valuesFromRow(action.params, row),
        query: valuesFromRow(action.query, row),
        ...(action.hasBody ? { body: nested(valuesFromRow(action.body, row)) } : {}),
        keys,
        signal,
      }),
    {
      onSuccess(answer, { action, row }) {
        void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'page' })
        const inverse = actions.find(({ operation }) => operation === action.undo)
        // The response contains the new version of the row.
        const button = inverse?.allowed && start('admin.undo', { action: inverse, row: { ...row, ...answer } })
        const title = nameOf(action.label, row)
        const done = action.confirm === undefined ? translate('admin.done', { title }) : textOf(action.confirm, row)
        const { text, isFailure } = resultOfWrite(action, answer, { translate, title, done })
        toasts.show(text, { isFailure, ...(button && { button }) })
      },
      onError(error, failed) {
        if (!(error instanceof CallFailure)) throw error
        void client.invalidateQueries()
        const text = error.message === '' ? translate('app.failure.unreachable') : error.message
        const button = error.kind === 'away' ? start('app.failure.retry', failed) : undefined
        toasts.show(`${nameOf(failed.action.label, failed.row)}: ${text}`, { isFailure: true, button })
      },
      isParallel: true,
    },
  )
  const start = (label: TextKey, next: ChosenAction): ToastButton => ({
    label: translate(label),
    run: () => mutate(next),
  })
  // The function stays the same, so that rows are not rendered again.
  const choose = useCallback(
    (next: ChosenAction) => (next.action.undo === undefined ? setChosen(next) : mutate(next)),
    [mutate],
  )
  return {
    choose,
    dialog: chosen !== undefined && (
      <ActionDialog
        {...chosen}
        columns={columns}
        name={nameOf(chosen.action.label, chosen.row)}
        onClose={() => setChosen(undefined)}
      />
    ),
  }
}
