import { Button, PasswordInput } from '@mantine/core'
import { IconArrowRight } from '@tabler/icons-react'
import { type FormEvent, useEffect, useState } from 'react'
import { useLanguage } from '../app/app.tsx'
import { Frame } from '../app/frame.tsx'
import classes from './gate.module.css'
import { StepNavigation } from './step-navigation.tsx'

/** The reason why the last token was rejected. */
export type GateRejection = { readonly kind: 'wrong' } | { readonly kind: 'limited'; readonly seconds: number }

interface GateProps {
  readonly refusal: GateRejection | undefined
  onEnter(token: string): Promise<void>
}

/** Asks for the install token. The token is kept only in the memory of the page. */
export function Gate({ refusal, onEnter }: GateProps) {
  const { translate } = useLanguage()
  const [token, setToken] = useState('')
  const [isBusy, setBusy] = useState(false)
  const seconds = useCountdown(refusal)
  const enter = async (event: FormEvent) => {
    event.preventDefault()
    if (isBusy || token === '') return
    setBusy(true)
    await onEnter(token)
    setBusy(false)
  }
  const error =
    refusal === undefined
      ? undefined
      : refusal.kind === 'wrong'
        ? translate('gate.wrong')
        : seconds > 0
          ? translate('gate.limited', { seconds })
          : undefined
  return (
    <Frame
      place="gate"
      title={translate('gate.title')}
      lead={translate('gate.lead')}
      navigation={<StepNavigation current={undefined} />}
    >
      <form className={classes.form} onSubmit={enter}>
        <PasswordInput
          label={translate('gate.token')}
          description={translate('gate.memory')}
          error={error}
          aria-invalid={error !== undefined}
          value={token}
          onChange={(event) => setToken(event.currentTarget.value)}
          // The field takes the focus, because it is the only control of this page.
          autoFocus
          autoComplete="off"
          data-1p-ignore
          size="md"
          visibilityToggleButtonProps={{
            'aria-label': translate('field.reveal', { label: translate('gate.token') }),
            tabIndex: 0,
          }}
        />
        <Button
          type="submit"
          size="md"
          disabled={token === '' || seconds > 0}
          loading={isBusy}
          rightSection={<IconArrowRight size={18} aria-hidden />}
        >
          {translate('gate.enter')}
        </Button>
      </form>
      <p className={classes.help}>
        {translate('gate.where')} <code>PLATFORM_INSTALL_TOKEN</code>
      </p>
    </Frame>
  )
}

/** Returns the number of seconds until the next attempt is allowed. */
function useCountdown(refusal: GateRejection | undefined): number {
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    if (refusal?.kind !== 'limited') return
    setSeconds(refusal.seconds)
    const timer = setInterval(() => setSeconds((left) => Math.max(0, left - 1)), 1000)
    return () => clearInterval(timer)
  }, [refusal])
  return refusal?.kind === 'limited' ? seconds : 0
}
