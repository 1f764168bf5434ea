import { Button } from '@mantine/core'
import {
  IconArrowRight,
  IconBook2,
  IconDeviceDesktop,
  IconDeviceMobile,
  IconLayoutDashboard,
  IconMessages,
  IconShieldLock,
} from '@tabler/icons-react'
import { useCallback, useSyncExternalStore } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { Frame } from '../../app/frame.tsx'
import { Notice } from '../../app/notice.tsx'
import { useLoaded } from '../../app/use-loaded.ts'
import type { InstallApi } from '../install-api.ts'
import type { Installation } from '../installation.ts'
import { StepNavigation } from '../step-navigation.tsx'
import { outcomeOf } from '../wire.ts'
import classes from './done-step.module.css'

/** Pages that a product may have. The addresses are relative to this page, so that they work below any context path. */
const knownEntries = [
  { name: 'admin', href: '../admin/', Icon: IconLayoutDashboard },
  { name: 'security', href: '../admin/authenticators.security', Icon: IconShieldLock },
  { name: 'app', href: '../app/', Icon: IconDeviceMobile },
  { name: 'pc', href: '../pc/', Icon: IconDeviceDesktop },
  { name: 'chat', href: '../chat/', Icon: IconMessages },
  { name: 'docs', href: '../docs/', Icon: IconBook2 },
] as const

/** Id of the page on which users add a passkey or an authenticator app. A product may not have it. */
const securityPage = 'authenticators.security'

/** Steps whose warnings the user has already seen before the installation. */
const seenBefore = new Set(['environment-preflight', 'config-validation'])

/** Time between two calls, and number of calls, while the product restarts. */
const pollMs = 1_000
const maxCalls = 60

/**
 * Repeats a call until the product answers, because all instances restart after an installation.
 *
 * @throws the error of the last call
 */
async function whenServing<T>(call: () => Promise<T>): Promise<T> {
  for (let calls = 1; calls < maxCalls; calls++) {
    try {
      return await call()
    } catch {
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
  }
  return call()
}

interface DoneStepProps {
  readonly api: InstallApi
  readonly installation: Installation
  /** True if this browser is signed in as the administrator. */
  readonly isSignedIn: boolean
}

/** Step 4 of the installer: reports that the product is installed, and links to its pages. */
export function DoneStep({ api, installation, isSignedIn }: DoneStepProps) {
  const { translate } = useLanguage()
  const { records, message } = useSyncExternalStore(installation.subscribe, installation.current)
  const { data: status } = useLoaded(useCallback(() => whenServing(() => api.status()), [api]))
  const load = async () => {
    const names = await whenServing(() => api.entries())
    if (!isSignedIn || !names.includes('admin')) return names
    const pages = await api.pages().catch((): readonly string[] => [])
    return pages.includes(securityPage) ? [...names, 'security'] : names
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: the pages are read once
  const { data: names } = useLoaded(useCallback(load, []))
  // Pages that the installer does not know have no text, so they are omitted.
  const entries = knownEntries.filter(({ name }) => names?.includes(name))
  const warnings = records.filter(
    ({ status, stepCode }) => outcomeOf(status) === 'warning' && !seenBefore.has(stepCode),
  )
  return (
    <Frame
      place="done"
      title={translate('done.title')}
      lead={translate('done.lead')}
      navigation={<StepNavigation current="done" />}
      actions={
        <Button
          component="a"
          href={withinContext(status?.productPath ?? '/')}
          rightSection={<IconArrowRight size={18} aria-hidden />}
        >
          {translate(isSignedIn ? 'done.open-signed-in' : 'done.open')}
        </Button>
      }
    >
      <Notice tone="good" title={translate(message === '' ? 'done.reported' : 'done.closed.title')}>
        {translate('done.closed.text')}
      </Notice>
      {warnings.length > 0 && (
        <Notice
          tone="warn"
          title={translate('done.warnings', { count: warnings.length })}
          items={warnings.map(({ message }) => message)}
        />
      )}
      {entries.length > 0 && <h2 className={classes.heading}>{translate('done.next')}</h2>}
      <ul className={classes.entries}>
        {entries.map(({ name, href, Icon }) => (
          <li key={name}>
            <a className={classes.entry} href={href}>
              <span className={classes.badge}>
                <Icon size={22} stroke={1.75} aria-hidden />
              </span>
              <span>
                <span className={classes.name}>{translate(`done.entry.${name}.name`)}</span>
                <span className={classes.text}>
                  {translate(name === 'admin' && isSignedIn ? 'done.entry.admin.signed-in' : `done.entry.${name}.text`)}
                </span>
              </span>
            </a>
          </li>
        ))}
      </ul>
    </Frame>
  )
}

/** Adds the context path of this page to a path of the product. The server may not know the context path. */
function withinContext(path: string): string {
  const context = new URL('..', document.baseURI).pathname
  const { pathname } = new URL(path, window.location.origin)
  return pathname.startsWith(context) ? pathname : `${context}${pathname.replace(/^\/+/, '')}`
}
