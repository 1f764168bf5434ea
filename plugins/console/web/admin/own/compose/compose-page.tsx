import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useDeferredValue, useEffect, useRef, useState } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { Notice } from '../../../app/notice.tsx'
import { addTexts } from '../../../text/texts.ts'
import type { PendingKeys } from '../../api/call.ts'
import { useApi } from '../../api/context.tsx'
import { type Account, ownAccount } from '../../api/operations.ts'
import type { Form, OwnPageView } from '../../api/page-types.ts'
import { useOperation } from '../../api/use-operation.ts'
import { useWrite } from '../../api/use-write.ts'
import { ApiResponse } from '../../pages/facts.tsx'
import { Dialog } from '../../pages/forms/dialog.tsx'
import { useDiscardQuestion } from '../../pages/forms/discard-question.tsx'
import type { Typed } from '../../pages/forms/field-values.ts'
import { FormFields, isSecretField } from '../../pages/forms/form-fields.tsx'
import { useFormState } from '../../pages/forms/form-state.ts'
import { LoadState } from '../../pages/load-state.tsx'
import { PageHead } from '../../pages/page-head.tsx'
import { keepDraft, takeDraft } from '../../shell/drafts.ts'
import { ChannelList } from './channel-list.tsx'
import classes from './compose.module.css'
import { useAudience, usePreviews } from './compose-queries.ts'
import { type Channel, channelCodes, operationOf, type SendResult, type Variables } from './compose-types.ts'
import { bodyOf, fieldsOf, textsOf, variableField } from './message-form.ts'
import { type ReadyMessage, SendDialog } from './send-dialog.tsx'
import en from './text/en.json' with { type: 'json' }
import zhCN from './text/zh-CN.json' with { type: 'json' }

addTexts({ en, 'zh-CN': zhCN })

/** Lets the user write a message, see it on each channel, and send it now or later. */
export default function ComposePage({ page }: { readonly page: OwnPageView }) {
  const { translate } = useLanguage()
  const [attempt, setAttempt] = useState(0)
  const metadata = useOperation<{ channels: readonly Channel[] }>(operationOf(page, 'metadata'))
  // The form is deferred, so that the browser can handle input while its fields render.
  const data = useDeferredValue(metadata.data)
  return (
    <>
      <PageHead title={page.title} lead={translate('compose.lead')} />
      <LoadState of={{ ...metadata, data }} lines={5} height={40} />
      {data !== undefined && page.form !== undefined && (
        <MessageForm
          key={attempt}
          page={page}
          form={page.form}
          channels={data.channels}
          onRestart={() => setAttempt(attempt + 1)}
        />
      )}
    </>
  )
}

interface MessageFormProps {
  readonly page: OwnPageView
  readonly form: Form
  readonly channels: readonly Channel[]
  /** Shows an empty form. */
  onRestart(): void
}

const draftName = 'notification.compose'
const nothing = () => undefined

/** The part of the form that is stored while its page is left or reloads. */
interface Draft {
  readonly values: Readonly<Record<string, Typed>>
  readonly keys: PendingKeys
}

function MessageForm({ page, form, channels, onRestart }: MessageFormProps) {
  const { translate } = useLanguage()
  const [restored] = useState(() => takeDraft<Draft>(draftName))
  const [typed, setTyped] = useState<Draft['values']>(restored?.values ?? {})
  const [variables, setVariables] = useState<Variables>([])
  const codes = channelCodes(typed['channels'], channels)
  const audience = useAudience(page, codes, typed['recipientUserIds'], typed['attributes'])
  const fields = fieldsOf(form, typed, variables, audience.data ?? [])
  const state = useFormState({ fields, initial: nothing, known: nothing, unitOf: nothing, restored: restored?.values })
  const { values } = state
  useEffect(() => setTyped(values), [values])
  const { previews, isEmpty, isKnown, variables: latest } = usePreviews(page, codes, textsOf(values))
  // The fields depend on the variables, and the previews, which contain the variables, depend on the fields.
  const found = JSON.stringify(latest)
  useEffect(() => setVariables(JSON.parse(found)), [found])

  const [keys] = useState<PendingKeys>(restored?.keys ?? {})
  const draft = useRef<Draft>(undefined)
  // True after the message was sent or discarded. Then no draft of it is kept.
  const isDropped = useRef(false)
  const shown = Object.entries(values).filter(([name]) => !isSecretField(name, []))
  // The keys contain the message, so they are not stored if a secret was removed from it.
  const hasSecret = shown.length < Object.keys(values).length
  draft.current = state.isChanged ? { values: Object.fromEntries(shown), keys: hasSecret ? {} : keys } : undefined
  useEffect(() => keepDraft(draftName, () => (isDropped.current ? undefined : draft.current)), [])
  const restart = () => {
    isDropped.current = true
    onRestart()
  }
  const question = useDiscardQuestion(translate('compose.discard-sure'), restart)

  const [ready, setReady] = useState<ReadyMessage>()
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    const members = isKnown ? state.body(false) : undefined
    if (members === undefined) return
    setReady(bodyOf(members))
  }
  const fail = (error: Error) => {
    setReady(undefined)
    state.fail(error)
  }
  const nameOf = (code: string) => channels.find((channel) => channel.code === code)?.displayName ?? code
  const isLater = String(values['notBefore'] ?? '') !== ''
  const names = variables.map(({ name }) => variableField(name))
  return (
    <form onSubmit={onSubmit} noValidate className={classes.beside}>
      <div className={classes.form}>
        {restored !== undefined && (
          <Notice tone="info" title={translate('admin.restored')}>
            <Button variant="default" size="xs" onClick={restart}>
              {translate('admin.form.restart')}
            </Button>
          </Notice>
        )}
        <FormFields
          fields={fields}
          state={state}
          long={form.long ?? []}
          sections={[
            { title: translate('compose.content'), fields: ['template', 'subject', 'content', ...names] },
            { title: translate('compose.delivery'), fields: ['notBefore', 'priority', 'locale', 'attributes'] },
          ]}
        />
        <div className={classes.buttons}>
          {state.isChanged && (
            <Button variant="default" onClick={question.ask}>
              {translate('compose.discard')}
            </Button>
          )}
          <SendToMe form={form} audience={audience.data ?? []} isKnown={isKnown} state={state} keys={keys} />
          <Button type="submit" disabled={!isKnown || !form.allowed}>
            {translate(isLater ? 'compose.schedule' : 'compose.send')}
          </Button>
        </div>
      </div>
      {question.dialog}
      <ChannelList {...{ previews, audience, isEmpty, nameOf }} isForAll={typed['allUsers'] === true} />
      {ready !== undefined && (
        <SendDialog
          form={form}
          message={ready}
          keys={keys}
          audience={audience.data ?? []}
          nameOf={nameOf}
          onSent={() => {
            isDropped.current = true
          }}
          onDone={restart}
          onFailed={fail}
          onClose={() => setReady(undefined)}
        />
      )}
    </form>
  )
}

interface SendToMeProps extends Pick<MessageFormProps, 'form'> {
  readonly audience: NonNullable<ReturnType<typeof useAudience>['data']>
  readonly isKnown: boolean
  readonly state: ReturnType<typeof useFormState>
  readonly keys: PendingKeys
}

/** Sends the message to the user who writes it, on the channels that reach users. */
function SendToMe({ form, audience, isKnown, state, keys }: SendToMeProps) {
  const { translate } = useLanguage()
  const api = useApi()
  const account = useQuery({
    queryKey: ['account'],
    queryFn: ({ signal }) => api.call<Account>(ownAccount, { signal }),
  })
  const [results, setResults] = useState<readonly SendResult[]>()
  const send = useWrite((signal, body: ReadyMessage) => api.call<readonly SendResult[]>(form, { body, keys, signal }), {
    onSuccess: setResults,
    onError: state.fail,
  })
  const channels = audience.filter((one) => one.audience === 'users').map(({ channel }) => channel)
  const own = account.data?.id
  const onClick = () => {
    const members = state.body(false, ['recipientUserIds', 'allUsers', 'notBefore'])
    if (members === undefined || own === undefined) return
    // A critical message is sent now, even in quiet hours.
    send.mutate(bodyOf({ ...members, channels, recipientUserIds: [own], priority: 'critical' }))
  }
  return (
    <>
      <Button
        variant="default"
        loading={send.isPending}
        disabled={!isKnown || !form.allowed || own === undefined || channels.length === 0}
        title={translate(channels.length === 0 ? 'compose.no-channel-to-me' : 'compose.send-to-me-why')}
        onClick={onClick}
      >
        {translate('compose.send-to-me')}
      </Button>
      {results !== undefined && (
        <Dialog onClose={() => setResults(undefined)} title={translate('compose.sent-to-me')}>
          <div role="status">
            <ApiResponse answer={results} columns={form.answer ?? []} />
          </div>
        </Dialog>
      )}
    </>
  )
}
