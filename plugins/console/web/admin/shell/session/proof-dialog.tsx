import { Anchor, Button, Modal, PasswordInput } from '@mantine/core'
import { type FocusEvent, type FormEvent, type KeyboardEvent, useRef, useState, useSyncExternalStore } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import type { Api } from '../../api/call.ts'
import { useApi } from '../../api/context.tsx'
import {
  type Callable,
  type LinkedProviders,
  linkedProviders,
  passkeyProof,
  passkeyProofOptions,
  proveIdentity,
  totpProof,
  walletProof,
  walletProofChallenge,
} from '../../api/operations.ts'
import type { ProofQuestion } from '../../api/proofs.ts'
import { useOperation } from '../../api/use-operation.ts'
import { useWrite } from '../../api/use-write.ts'
import { CodeForm } from '../../factors/code-form.tsx'
import { PasskeyButton } from '../../factors/passkey-button.tsx'
import { canUsePasskeys } from '../../factors/passkeys.ts'
import { CallError } from '../../pages/call-error.tsx'
import dialog from '../../pages/forms/dialog.module.css'
import { openProofWindow } from '../../providers/provider-flow.ts'
import signIn from './sign-in.module.css'
import { WalletButton } from './sign-in.tsx'

/** Name of the proof method of all providers. */
const providerMethod = 'oidc'

/**
 * Keeps the Escape key from the form behind the dialog. Mantine closes every open dialog unless the element with the
 * focus has this attribute.
 */
const keepEscape = ({ target }: FocusEvent<HTMLElement>) => target.setAttribute('data-mantine-stop-propagation', 'true')

/**
 * Asks the user to prove the identity again, above the form whose operation needs it. The form stays as it is, and the
 * operation continues after the proof.
 */
export default function ProofDialog({ onCancel: cancel }: Pick<WaysProps, 'onCancel'>) {
  const { proofs } = useApi()
  const { translate } = useLanguage()
  const question = useSyncExternalStore(proofs.subscribe, proofs.current)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') cancel()
  }
  return (
    // Without the header of a dialog, because the dialog behind it has one.
    <Modal.Root opened={question !== undefined} onClose={cancel} zIndex={900} centered>
      <Modal.Overlay />
      <Modal.Content>
        <Modal.Body className={dialog.form} onFocus={keepEscape} onKeyDown={onKeyDown}>
          <Modal.Title>{translate('admin.proof.title')}</Modal.Title>
          {question !== undefined && <Ways question={question} onCancel={cancel} />}
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  )
}

interface WaysProps {
  readonly question: ProofQuestion
  onCancel(): void
}

/** Shows the methods of the user that this page supports. Without one, the message of the server says what to do. */
function Ways({ question: { methods, message }, onCancel }: WaysProps) {
  const { proofs } = useApi()
  const { translate } = useLanguage()
  const has = (method: string) => methods.includes(method)
  const forms = (['totp', 'password'] as const).filter(has)
  const [form = forms[0], setForm] = useState<'totp' | 'password'>()
  const other = forms.find((one) => one !== form)
  const hasButtons = (has('passkey') && canUsePasskeys) || has('wallet') || has(providerMethod)
  const isKnown = hasButtons || form !== undefined
  return (
    <>
      <p>{isKnown ? translate('admin.proof.lead') : message}</p>
      {has('passkey') && canUsePasskeys && <PasskeyProof />}
      {has(providerMethod) && <ProviderProofs />}
      {has('wallet') && <WalletProof />}
      {hasButtons && form !== undefined && <p className={signIn.or}>{translate('admin.sign-in.or')}</p>}
      {form === 'totp' && <TotpProof />}
      {form === 'password' && <PasswordProof />}
      {other !== undefined && (
        <Anchor component="button" type="button" ta="start" onClick={() => setForm(other)}>
          {translate(other === 'totp' ? 'admin.proof.use-code' : 'admin.proof.use-password')}
        </Anchor>
      )}
      <div className={dialog.buttons}>
        <Button
          variant="default"
          data-autofocus={isKnown ? undefined : true}
          onClick={isKnown ? onCancel : () => proofs.cancel('')}
        >
          {translate(isKnown ? 'admin.cancel' : 'admin.close')}
        </Button>
      </div>
    </>
  )
}

function PasskeyProof() {
  const { translate } = useLanguage()
  const api = useApi()
  return (
    <PasskeyButton
      isMain
      options={passkeyProofOptions}
      labels={{ action: translate('admin.proof.passkey'), failed: translate('admin.proof.failed') }}
      send={(body) => sendProof(api, passkeyProof, body)}
      onDone={() => {}}
    />
  )
}

function TotpProof() {
  const { translate } = useLanguage()
  const api = useApi()
  return (
    <CodeForm
      kind="totp"
      label={translate('admin.proof.code')}
      submit={translate('admin.proof.submit')}
      failed={translate('admin.proof.failed')}
      send={(code) => sendProof(api, totpProof, { code })}
      onDone={() => {}}
    />
  )
}

/** Buttons that prove the identity at a linked provider, each in a window. The dialog closes when the proof arrives. */
function ProviderProofs() {
  const { translate } = useLanguage()
  const [window, setWindow] = useState<'window' | 'blocked'>()
  const { data, error } = useOperation<LinkedProviders>(linkedProviders)
  // A user can have several accounts at one provider.
  const providers = new Map(data?.identities.map(({ provider, title }) => [provider ?? '', title]))
  providers.delete('')
  return (
    <>
      <CallError title={translate('admin.proof.failed')} error={error} />
      {window !== undefined && <p role="status">{translate(`admin.proof.${window}`)}</p>}
      {[...providers].map(([provider, title]) => (
        <Button
          key={provider}
          variant="default"
          fullWidth
          onClick={() => setWindow(openProofWindow(provider) ? 'window' : 'blocked')}
        >
          {translate('admin.proof.provider', { title })}
        </Button>
      ))}
    </>
  )
}

function WalletProof() {
  const { translate } = useLanguage()
  const api = useApi()
  return (
    <WalletButton
      challenge={walletProofChallenge}
      labels={{ action: translate('admin.proof.wallet'), failed: translate('admin.proof.failed') }}
      send={(body) => sendProof(api, walletProof, body)}
      onDone={() => {}}
    />
  )
}

/** The call is never aborted: the server may already have replaced the token, and the response contains the new one. */
const sendProof = (api: Api, operation: Callable, body: object) =>
  api.proofs.prove(() => api.call(operation, { body, isProof: true, signal: new AbortController().signal }))

function PasswordProof() {
  const { translate } = useLanguage()
  const api = useApi()
  const [password, setPassword] = useState('')
  const field = useRef<HTMLInputElement>(null)
  const proof = useWrite(() => sendProof(api, proveIdentity, { method: 'password', password }), {
    onError: () => field.current?.focus(),
    onSettled: () => setPassword(''),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (password !== '') proof.mutate()
  }
  const label = translate('admin.proof.password')
  return (
    <form onSubmit={submit} className={dialog.form}>
      <CallError title={translate('admin.proof.failed')} error={proof.error} />
      <PasswordInput
        ref={field}
        label={label}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        autoComplete="current-password"
        visibilityToggleButtonProps={{ 'aria-label': translate('field.reveal', { label }), tabIndex: 0 }}
        data-autofocus
        required
      />
      <Button type="submit" loading={proof.isPending} fullWidth>
        {translate('admin.proof.submit')}
      </Button>
    </form>
  )
}
