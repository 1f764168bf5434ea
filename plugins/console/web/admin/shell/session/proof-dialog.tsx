import { Button, Modal, PasswordInput } from '@mantine/core'
import { type FormEvent, type KeyboardEvent, useRef, useState, useSyncExternalStore } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { Notice } from '../../../app/notice.tsx'
import { type Api, CallFailure } from '../../api/call.ts'
import { useApi } from '../../api/context.tsx'
import { type Callable, proveIdentity, walletProof, walletProofChallenge } from '../../api/operations.ts'
import type { ProofQuestion } from '../../api/proofs.ts'
import { useWrite } from '../../api/use-write.ts'
import dialog from '../../pages/forms/dialog.module.css'
import { WalletButton } from './sign-in.tsx'

/**
 * Keeps the Escape key from the form behind the dialog. Mantine closes every open dialog unless the element with the
 * focus has this attribute.
 */
const ownEscape = { 'data-mantine-stop-propagation': 'true' }

/**
 * Asks the user to prove the identity again, above the form whose operation needs it. The form stays as it is, and the
 * operation continues after the proof.
 */
export function ProofDialog() {
  const { proofs } = useApi()
  const { translate } = useLanguage()
  const question = useSyncExternalStore(proofs.subscribe, proofs.current)
  const cancel = () => proofs.cancel(translate('admin.proof.cancelled'))
  return (
    // Without the header of a dialog, because the dialog behind it has one.
    <Modal.Root opened={question !== undefined} onClose={cancel} zIndex={900} centered>
      <Modal.Overlay />
      <Modal.Content>
        <Modal.Body className={dialog.form}>
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
  const [hasPassword, hasWallet] = [methods.includes('password'), methods.includes('wallet')]
  if (!hasPassword && !hasWallet) return <NoProof message={message} onClose={() => proofs.cancel('')} />
  return (
    <>
      <p>{translate('admin.proof.lead')}</p>
      {hasWallet && <WalletProof />}
      {hasPassword && <PasswordProof onCancel={onCancel} />}
      {!hasPassword && (
        <div className={dialog.buttons}>
          <Button variant="default" onClick={onCancel}>
            {translate('admin.cancel')}
          </Button>
        </div>
      )}
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

function PasswordProof({ onCancel }: { onCancel(): void }) {
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
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') onCancel()
  }
  const { error } = proof
  const label = translate('admin.proof.password')
  return (
    <form onSubmit={submit} onKeyDown={onKeyDown} className={dialog.form}>
      {error !== null && (
        <Notice tone="bad" title={translate('admin.proof.failed')}>
          {error instanceof CallFailure && error.kind !== 'away' ? error.message : translate('app.failure.unreachable')}
        </Notice>
      )}
      <PasswordInput
        {...ownEscape}
        ref={field}
        label={label}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        autoComplete="current-password"
        visibilityToggleButtonProps={{ 'aria-label': translate('field.reveal', { label }), tabIndex: 0, ...ownEscape }}
        data-autofocus
        required
      />
      <div className={dialog.buttons}>
        <Button {...ownEscape} variant="default" onClick={onCancel}>
          {translate('admin.cancel')}
        </Button>
        <Button {...ownEscape} type="submit" loading={proof.isPending}>
          {translate('admin.proof.submit')}
        </Button>
      </div>
    </form>
  )
}

function NoProof({ message, onClose }: { readonly message: string; onClose(): void }) {
  const { translate } = useLanguage()
  return (
    <>
      <p>{message}</p>
      <div className={dialog.buttons}>
        <Button {...ownEscape} data-autofocus onClick={onClose}>
          {translate('admin.close')}
        </Button>
      </div>
    </>
  )
}
