import { Button } from '@mantine/core'
import { IconDeviceMobile } from '@tabler/icons-react'
import { useLanguage } from '../../app/app.tsx'
import { useApi } from '../api/context.tsx'
import type { Callable } from '../api/operations.ts'
import { useWrite } from '../api/use-write.ts'
import { CallError } from '../pages/call-error.tsx'
import { Copied } from '../pages/copied.tsx'
import { CodeForm } from './code-form.tsx'
import classes from './factors.module.css'

interface TotpOptions {
  readonly setUpId: string
  /** The secret as base32. */
  readonly secret: string
  /** The QR code as SVG. */
  readonly qr: string
}

interface TotpSetUpProps<Result> {
  /** Operation that creates the secret. */
  readonly options: Callable
  /** Members that both requests contain. */
  readonly input?: object
  /** Label of the button. */
  readonly label?: string
  /** Sends the first code to the server. */
  send(body: object, signal: AbortSignal): Promise<Result>
  onDone(result: Result): void
}

const noInput = {}

/** Button that shows the secret for an authenticator app, and then the field for its first code. */
export function TotpSetUp<Result>({ options, input = noInput, label, send, onDone }: TotpSetUpProps<Result>) {
  const { translate } = useLanguage()
  const api = useApi()
  const begin = useWrite((signal) => api.call<TotpOptions>(options, { body: input, signal }))
  const { data, error } = begin
  if (data === undefined)
    return (
      <>
        <CallError title={translate('factors.failed')} error={error} />
        <Button
          variant="default"
          fullWidth
          leftSection={<IconDeviceMobile size={18} aria-hidden />}
          loading={begin.isPending}
          onClick={() => begin.mutate()}
        >
          {label ?? translate('factors.totp.begin')}
        </Button>
      </>
    )
  const { setUpId, secret, qr } = data
  return (
    <div className={classes.step}>
      <p>{translate('factors.totp.scan')}</p>
      <img
        className={classes.qr}
        src={`data:image/svg+xml,${encodeURIComponent(qr)}`}
        alt={translate('factors.totp.qr')}
      />
      <p>{translate('factors.totp.type')}</p>
      <p className={classes.secret}>
        <Copied text={secret} title={translate('factors.totp.secret')}>
          {secret.replace(/(.{4})(?=.)/g, '$1 ')}
        </Copied>
      </p>
      <CodeForm
        kind="totp"
        label={translate('factors.totp.first-code')}
        submit={translate('factors.totp.finish')}
        failed={translate('factors.failed')}
        send={(code, signal) => send({ ...input, setUpId, code }, signal)}
        onDone={onDone}
      />
    </div>
  )
}
