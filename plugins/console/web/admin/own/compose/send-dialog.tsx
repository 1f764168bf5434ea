import { Button } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { useLanguage } from '../../../app/app.tsx'
import { FailureNotice } from '../../../app/notice.tsx'
import { CallFailure, type PendingKeys } from '../../api/call.ts'
import { useApi } from '../../api/context.tsx'
import type { Form } from '../../api/page-types.ts'
import { useWrite } from '../../api/use-write.ts'
import { ApiResponse } from '../../pages/facts.tsx'
import dialog from '../../pages/forms/dialog.module.css'
import { Dialog, DialogButtons } from '../../pages/forms/dialog.tsx'
import { resultOfWrite } from '../../pages/forms/write-outcome.ts'
import { useFormats } from '../../pages/shown-value.ts'
import { toasts } from '../../shell/toasts.ts'
import { useZone } from '../../shell/zone.ts'
import { AudienceText, People } from './audience-text.tsx'
import classes from './compose.module.css'
import type { Audience, SendResult } from './compose-types.ts'

/** Body of the request that sends a message. */
export type ReadyMessage = Readonly<Record<string, unknown>>

interface SendDialogProps {
  readonly form: Form
  readonly message: ReadyMessage
  readonly keys: PendingKeys
  readonly audience: readonly Audience[]
  /** Returns the name of a channel. */
  nameOf(channel: string): string
  /** Called when the server has accepted the message. */
  onSent(): void
  /** Called when the user has seen the result and starts another message. */
  onDone(): void
  /** Called with an error that belongs to fields of the form. The dialog shows other errors itself. */
  onFailed(error: Error): void
  onClose(): void
}

/** Returns an error that belongs to the whole message: another attempt can succeed without a change of the form. */
const wholeFailure = (error: Error | null) =>
  error instanceof CallFailure && error.faults.length === 0 ? error : undefined

/** Shows who gets a message by which channel and when, sends it, and shows the result. */
export function SendDialog({
  form,
  message,
  keys,
  audience,
  nameOf,
  onSent,
  onDone,
  onFailed,
  onClose,
}: SendDialogProps) {
  const { translate } = useLanguage()
  const formats = useFormats()
  const zone = useZone().name
  const api = useApi()
  const client = useQueryClient()
  const [results, setResults] = useState<readonly SendResult[]>()
  const {
    notBefore,
    recipientUserIds = [],
    allUsers = false,
  } = message as { notBefore?: string; recipientUserIds?: readonly number[]; allUsers?: boolean }
  const time = notBefore === undefined ? undefined : formats.exactTime(notBefore)
  const send = useWrite((signal) => api.call<readonly SendResult[]>(form, { body: message, keys, signal }), {
    onSuccess(sent) {
      onSent()
      setResults(sent)
      const title = translate(time === undefined ? 'compose.send' : 'compose.schedule')
      const { text, isFailure } = resultOfWrite(form, sent, {
        translate,
        title,
        done: translate('admin.done', { title }),
      })
      toasts.show(text, { isFailure })
      void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'page' })
    },
    onError(error) {
      if (wholeFailure(error) === undefined) onFailed(error)
    },
  })
  const failure = wholeFailure(send.error)
  const title = translate(
    results !== undefined
      ? 'compose.result.title'
      : time === undefined
        ? 'compose.confirm.title'
        : 'compose.confirm.title-later',
  )
  const isQueued = results?.every(({ queued }) => queued === true) === true
  return (
    <Dialog onClose={results === undefined ? onClose : onDone} title={title}>
      {results === undefined ? (
        <div className={classes.confirm}>
          <dl>
            <div>
              <dt>{translate('compose.confirm.when')}</dt>
              <dd>{time ?? translate('compose.confirm.now')}</dd>
            </div>
            <div>
              <dt>{translate('compose.confirm.recipients')}</dt>
              <dd>
                {allUsers ? (
                  translate('compose.all-users')
                ) : recipientUserIds.length === 0 ? (
                  translate('compose.confirm.nobody')
                ) : (
                  <People ids={recipientUserIds.map(String)} />
                )}
              </dd>
            </div>
            {audience.map((one) => (
              <div key={one.channel}>
                <dt>{nameOf(one.channel)}</dt>
                <dd>
                  <AudienceText of={one} isForAll={allUsers} />
                </dd>
              </div>
            ))}
          </dl>
          {failure !== undefined && <FailureNotice message={failure.message} traceId={failure.traceId} />}
          <DialogButtons cancel={translate('compose.confirm.back')} onCancel={onClose}>
            <Button data-autofocus loading={send.isPending} onClick={() => send.mutate()}>
              {translate(time === undefined ? 'compose.send' : 'compose.schedule')}
            </Button>
          </DialogButtons>
        </div>
      ) : (
        <div className={classes.confirm} role="status">
          {isQueued ? (
            <p>
              {time === undefined
                ? translate('compose.result.queued')
                : translate('compose.result.scheduled', { time, zone })}
            </p>
          ) : (
            <ApiResponse answer={results} columns={form.answer ?? []} />
          )}
          <div className={dialog.buttons}>
            <Button
              component={Link}
              href={`/notification.${time === undefined ? 'messages' : 'scheduled'}`}
              variant="default"
            >
              {translate(time === undefined ? 'compose.result.to-messages' : 'compose.result.to-scheduled')}
            </Button>
            <Button onClick={onDone}>{translate('compose.result.next')}</Button>
          </div>
        </div>
      )}
    </Dialog>
  )
}
