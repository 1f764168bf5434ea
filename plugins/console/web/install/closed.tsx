import { Button } from '@mantine/core'
import { IconExternalLink, IconRefresh } from '@tabler/icons-react'
import { useSpeech } from '../app/app.tsx'
import { Frame } from '../app/frame.tsx'
import { Notice } from '../app/notice.tsx'
import { StepNavigation } from './step-navigation.tsx'

export type ClosedReason = 'installed' | 'not-allowed' | 'unreachable'

const tones = { installed: 'good', 'not-allowed': 'warn', unreachable: 'bad' } as const

interface ClosedProps {
  readonly reason: ClosedReason
  /** What the server says about it; empty for nothing. */
  readonly hint: string
  onRetry(): void
}

/** The wizard cannot begin: why, and what to do about it. */
export function Closed({ reason, hint, onRetry }: ClosedProps) {
  const { say } = useSpeech()
  const advice = reason === 'not-allowed' && hint === '' ? (['production', 'network', 'https', 'off'] as const) : []
  return (
    <Frame
      place={`closed-${reason}`}
      title={say(`closed.${reason}.title`)}
      lead={say(`closed.${reason}.lead`)}
      navigation={<StepNavigation current={undefined} />}
      actions={
        <>
          <Button variant="default" leftSection={<IconRefresh size={16} aria-hidden />} onClick={onRetry}>
            {say('app.failure.retry')}
          </Button>
          {reason === 'installed' && (
            <Button component="a" href="../" rightSection={<IconExternalLink size={16} aria-hidden />}>
              {say('closed.open-product')}
            </Button>
          )}
        </>
      }
    >
      <Notice tone={tones[reason]} title={hint === '' ? say(`closed.${reason}.what`) : hint}>
        {advice.length > 0 && (
          <ul>
            {advice.map((item) => (
              <li key={item}>{say(`closed.advice.${item}`)}</li>
            ))}
          </ul>
        )}
      </Notice>
    </Frame>
  )
}
