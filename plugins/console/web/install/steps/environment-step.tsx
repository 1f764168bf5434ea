import { Button, Loader } from '@mantine/core'
import { IconAlertTriangle, IconArrowRight, IconCircleCheck, IconCircleX, IconRefresh } from '@tabler/icons-react'
import { useCallback } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { Frame } from '../../app/frame.tsx'
import { Notice } from '../../app/notice.tsx'
import { useLoaded } from '../../app/use-loaded.ts'
import { ApiFailureNotice } from '../api-failure-notice.tsx'
import type { InstallApi } from '../install-api.ts'
import { StepNavigation } from '../step-navigation.tsx'
import { type Check, type Outcome, outcomeOf } from '../wire.ts'
import classes from './environment-step.module.css'

const icons = { passed: IconCircleCheck, warning: IconAlertTriangle, failed: IconCircleX } as const

interface EnvironmentStepProps {
  readonly api: InstallApi
  /** True while the code of the next step is loading. */
  readonly isWaiting: boolean
  onNext(): void
  onRejected(): void
}

/** Step 1 of the installer: shows the checks of the host. */
export function EnvironmentStep({ api, isWaiting, onNext, onRejected }: EnvironmentStepProps) {
  const { translate, language } = useLanguage()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the server responds in the language of the page
  const load = useCallback(() => api.preflight(), [api, language])
  const { data, error, isLoading, reload } = useLoaded(load)
  return (
    <Frame
      place="environment"
      title={translate('environment.title')}
      lead={translate('environment.lead')}
      navigation={<StepNavigation current="environment" />}
      actions={
        <>
          <Button
            variant="default"
            leftSection={<IconRefresh size={16} aria-hidden />}
            onClick={reload}
            loading={isLoading}
          >
            {translate('environment.again')}
          </Button>
          <Button
            disabled={data?.passed !== true || isLoading || isWaiting}
            rightSection={<IconArrowRight size={18} aria-hidden />}
            onClick={onNext}
          >
            {translate('environment.next')}
          </Button>
        </>
      }
    >
      {error !== undefined && <ApiFailureNotice error={error} onRetry={reload} onRejected={onRejected} />}
      {data === undefined && isLoading && (
        <p className={classes.loading} role="status">
          <Loader size="sm" /> {translate('environment.loading')}
        </p>
      )}
      {data !== undefined && <Summary checks={data.checks} />}
      {data !== undefined && (
        <details className={classes.all}>
          <summary>{translate('environment.all', { count: data.checks.length })}</summary>
          <Checks checks={data.checks} />
        </details>
      )}
    </Frame>
  )
}

/** Shows the checks with problems, the most severe first, and the number of the other checks. */
function Summary({ checks }: { readonly checks: readonly Check[] }) {
  const { translate } = useLanguage()
  const count = (status: Outcome) => checks.filter((check) => outcomeOf(check.status) === status).length
  const [failed, warnings] = [count('failed'), count('warning')]
  const tone = failed > 0 ? 'bad' : warnings > 0 ? 'warn' : 'good'
  return (
    <Notice tone={tone} title={translate(`environment.summary.${tone}`, { failed, warnings })}>
      {translate('environment.summary.counts', { passed: count('passed'), warnings, failed })}
      {failed + warnings > 0 && (
        <ul>
          {(['failed', 'warning'] as const).flatMap((status) =>
            checks
              .filter((check) => outcomeOf(check.status) === status)
              .map(({ code, message, fix }) => <li key={code}>{fix === '' ? message : `${message} ${fix}`}</li>),
          )}
        </ul>
      )}
    </Notice>
  )
}

/** Shows the checks by group, in the order of the server. */
function Checks({ checks }: { readonly checks: readonly Check[] }) {
  const { translate } = useLanguage()
  const groups = Map.groupBy(checks, ({ group }) => group)
  return [...groups].map(([group, members]) => (
    <section key={group} className={classes.group} aria-labelledby={`group-${group}`}>
      <h2 className={classes.heading} id={`group-${group}`}>
        {isKnownGroup(group) ? translate(`environment.group.${group}`) : group}
      </h2>
      <ul className={classes.list}>
        {members.map((check) => (
          <CheckItem key={check.code} {...check} />
        ))}
      </ul>
    </section>
  ))
}

function CheckItem({ status: reported, message, fix }: Check) {
  const { translate } = useLanguage()
  const status = outcomeOf(reported)
  const Icon = icons[status]
  return (
    <li className={classes.check} data-status={status}>
      <Icon size={20} stroke={1.75} className={classes.icon} aria-hidden />
      <div>
        <p>
          <span className="visually-hidden">{translate(`outcome.${status}`)}: </span>
          {message}
        </p>
        {fix !== '' && <p className={classes.fix}>{fix}</p>}
      </div>
    </li>
  )
}

const knownGroups = ['runtime', 'files', 'database', 'cache', 'storage', 'policy'] as const
const isKnownGroup = (group: string): group is (typeof knownGroups)[number] =>
  (knownGroups as readonly string[]).includes(group)
