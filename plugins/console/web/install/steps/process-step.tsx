import { Button, Loader } from '@mantine/core'
import {
  IconAlertTriangle,
  IconArrowLeft,
  IconCircle,
  IconCircleCheck,
  IconCircleX,
  IconRefresh,
} from '@tabler/icons-react'
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { Frame } from '../../app/frame.tsx'
import { Notice } from '../../app/notice.tsx'
import { useLoaded } from '../../app/use-loaded.ts'
import type { InstallApi } from '../install-api.ts'
import type { Installation, InstallationState } from '../installation.ts'
import { StepNavigation } from '../step-navigation.tsx'
import classes from './process-step.module.css'
import { progressOf, type StepProgress } from './step-progress.ts'

/** Shows the elapsed minutes and seconds since a time of the page's clock. It stops when the installation stops. */
function ElapsedTime({ since, isRunning }: { readonly since: number; readonly isRunning: boolean }) {
  const [now, setNow] = useState(() => performance.now())
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => setNow(performance.now()), 1000)
    return () => clearInterval(timer)
  }, [isRunning])
  const seconds = Math.max(0, Math.round((now - since) / 1000))
  return (
    <span>
      {Math.floor(seconds / 60)}:{String(seconds % 60).padStart(2, '0')}
    </span>
  )
}

interface ProcessStepProps {
  readonly api: InstallApi
  readonly installation: Installation
  onBack(): void
  onRetry(): void
  onWait(): void
  onRejected(): void
  onFinished(): void
}

/** Step 3 of the installer: shows the progress of the installation, also across a restart of the product. */
export function ProcessStep({ api, installation, ...on }: ProcessStepProps) {
  const { translate, language } = useLanguage()
  const state = useSyncExternalStore(installation.subscribe, installation.current)
  const { phase, records } = state
  // biome-ignore lint/correctness/useExhaustiveDependencies: the server responds in the language of the page
  const load = useCallback(() => api.steps(), [api, language])
  const { data: plan = [] } = useLoaded(load)
  const steps = progressOf(plan, records, phase)
  const isBusy = phase === 'running' || phase === 'restarting'
  useLeaveWarning(isBusy)
  const { onFinished, onRejected } = on
  const isReported = useRef(false)
  useEffect(() => {
    if (phase === 'finished' && !isReported.current) {
      isReported.current = true
      onFinished()
    }
    if (phase === 'refused') onRejected()
  }, [phase, onFinished, onRejected])
  return (
    <Frame
      place={`process-${phase}`}
      title={translate(`process.${titleOf(phase)}.title`)}
      lead={translate(`process.${titleOf(phase)}.lead`)}
      navigation={<StepNavigation current="process" />}
      actions={<Actions phase={phase} {...on} />}
    >
      <p className="visually-hidden" role="status" aria-live="polite">
        {announcement(state, steps, translate)}
      </p>
      <Explanation state={state} steps={steps} />
      <section className={classes.card} aria-label={translate('process.steps')} aria-busy={isBusy}>
        <header className={classes.header}>
          <span>{translate('process.position', { done: steps.filter(isDone).length, total: steps.length })}</span>
          <ElapsedTime since={state.startedAt} isRunning={isBusy} />
        </header>
        <progress
          className={classes.bar}
          aria-label={translate('process.steps')}
          value={steps.filter(isDone).length}
          max={Math.max(1, steps.length)}
        />
        <ol className={classes.steps}>
          {steps.map((step) => (
            <StepRow key={step.code} {...step} />
          ))}
        </ol>
      </section>
      {state.sessionId !== '' && (
        <p className={classes.session}>
          {translate('process.session')} <code>{state.sessionId}</code>
        </p>
      )}
    </Frame>
  )
}

const isDone = ({ state }: StepProgress) => state === 'passed' || state === 'warning'

type Shown = 'running' | 'restarting' | 'overdue' | 'failed'
const titleOf = (phase: InstallationState['phase']): Shown =>
  phase === 'restarting' || phase === 'overdue' || phase === 'failed' ? phase : 'running'

type Translate = ReturnType<typeof useLanguage>['translate']

/** Returns the text that screen readers announce after each change. */
function announcement({ phase }: InstallationState, steps: readonly StepProgress[], translate: Translate): string {
  const running = steps.findIndex(({ state }) => state === 'running')
  const step = steps[running]
  if (phase === 'running' && step !== undefined) {
    return translate('process.announce', { position: running + 1, total: steps.length, name: step.name })
  }
  return translate(`process.${titleOf(phase)}.title`)
}

function Explanation({ state, steps }: { readonly state: InstallationState; readonly steps: readonly StepProgress[] }) {
  const { translate } = useLanguage()
  if (state.phase === 'restarting') {
    return (
      <Notice tone="info" title={translate('process.restarting.notice')}>
        {translate('process.restarting.help')}
      </Notice>
    )
  }
  if (state.phase === 'overdue') {
    return (
      <Notice
        tone="warn"
        title={translate('process.overdue.notice')}
        items={(['log', 'start', 'file'] as const).map((name) => translate(`process.overdue.${name}`))}
      />
    )
  }
  if (state.phase !== 'failed') return null
  const failed = steps.find((step) => step.state === 'failed')
  const message = failed?.messages.at(-1) ?? state.message
  return (
    <Notice
      tone="bad"
      title={
        failed === undefined
          ? translate('process.failed.notice')
          : translate('process.failed.at', { name: failed.name })
      }
    >
      <p>{message === '' ? translate('process.failed.lost') : message}</p>
      <p>{translate('process.failed.meaning')}</p>
    </Notice>
  )
}

const icons = { passed: IconCircleCheck, warning: IconAlertTriangle, failed: IconCircleX, waiting: IconCircle } as const

function StepRow({ name, description, state, messages, durationMs }: StepProgress) {
  const { translate } = useLanguage()
  const Icon = state === 'running' ? undefined : icons[state]
  return (
    <li className={classes.step} data-state={state}>
      <span className={classes.icon}>
        {Icon === undefined ? <Loader size={20} aria-hidden /> : <Icon size={22} stroke={1.75} aria-hidden />}
      </span>
      <div className={classes.text}>
        <p className={classes.name}>
          {name}
          <span className="visually-hidden"> ({translate(`process.state.${state}`)})</span>
        </p>
        {state === 'running' && <p className={classes.message}>{description}</p>}
        {messages.map((message) => (
          <p key={message} className={classes.message}>
            {message}
          </p>
        ))}
      </div>
      {durationMs !== undefined && (
        <span className={classes.duration}>
          {translate('process.seconds', { seconds: (durationMs / 1000).toFixed(1) })}
        </span>
      )}
    </li>
  )
}

type ActionsProps = Pick<ProcessStepProps, 'onBack' | 'onRetry' | 'onWait'> & {
  readonly phase: InstallationState['phase']
}

function Actions({ phase, onBack, onRetry, onWait }: ActionsProps) {
  const { translate } = useLanguage()
  const isStuck = phase === 'failed' || phase === 'overdue'
  if (!isStuck) {
    return (
      <Button disabled leftSection={<Loader size={16} color="currentColor" aria-hidden />}>
        {translate(phase === 'restarting' ? 'process.waiting' : 'process.busy')}
      </Button>
    )
  }
  return (
    <>
      <Button variant="default" leftSection={<IconArrowLeft size={16} aria-hidden />} onClick={onBack}>
        {translate('process.back')}
      </Button>
      <Button leftSection={<IconRefresh size={18} aria-hidden />} onClick={phase === 'failed' ? onRetry : onWait}>
        {translate(phase === 'failed' ? 'process.retry' : 'process.look')}
      </Button>
    </>
  )
}

/** While an installation is running, the browser asks for confirmation before the page is closed. */
function useLeaveWarning(isBusy: boolean): void {
  useEffect(() => {
    if (!isBusy) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    window.addEventListener('beforeunload', warn)
    return () => window.removeEventListener('beforeunload', warn)
  }, [isBusy])
}
