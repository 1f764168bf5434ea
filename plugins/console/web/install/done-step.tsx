import { Button } from '@mantine/core'
import {
  IconArrowRight,
  IconDeviceDesktop,
  IconDeviceMobile,
  IconLayoutDashboard,
  IconMessages,
} from '@tabler/icons-react'
import { useCallback, useSyncExternalStore } from 'react'
import { useSpeech } from '../app/app.tsx'
import { Frame } from '../app/frame.tsx'
import { Notice } from '../app/notice.tsx'
import { useLoaded } from '../app/use-loaded.ts'
import classes from './done-step.module.css'
import type { InstallApi } from './install-api.ts'
import type { Installation } from './installation.ts'
import { StepNavigation } from './step-navigation.tsx'

/** Front ends of a product, relative to this page, so that they work below any context path. */
const entries = [
  { name: 'admin', path: '../admin/', Icon: IconLayoutDashboard },
  { name: 'mobile', path: '../app/', Icon: IconDeviceMobile },
  { name: 'pc', path: '../pc/', Icon: IconDeviceDesktop },
  { name: 'chat', path: '../chat/', Icon: IconMessages },
] as const

/** Steps whose warnings were shown before the installation began. */
const seenBefore = new Set(['environment-preflight', 'config-validation'])

/** Step 4: installed; where to go from here. */
export function DoneStep({ api, installation }: { readonly api: InstallApi; readonly installation: Installation }) {
  const { say } = useSpeech()
  const { records, message } = useSyncExternalStore(installation.subscribe, installation.snapshot)
  const { data: status } = useLoaded(useCallback(() => api.status(), [api]))
  const warnings = records.filter(({ status, stepCode }) => status === 'warning' && !seenBefore.has(stepCode))
  return (
    <Frame
      place="done"
      title={say('done.title')}
      lead={say('done.lead')}
      navigation={<StepNavigation current="done" />}
      actions={
        <Button
          component="a"
          href={withinContext(status?.productPath ?? '/')}
          rightSection={<IconArrowRight size={18} aria-hidden />}
        >
          {say('done.open')}
        </Button>
      }
    >
      <Notice tone="good" title={say(message === '' ? 'done.reported' : 'done.closed.title')}>
        {say('done.closed.text')}
      </Notice>
      {warnings.length > 0 && (
        <Notice tone="warn" title={say('done.warnings', { count: warnings.length })}>
          <ul>
            {warnings.map(({ id, message }) => (
              <li key={id}>{message}</li>
            ))}
          </ul>
        </Notice>
      )}
      <h2 className={classes.heading}>{say('done.next')}</h2>
      <ul className={classes.entries}>
        {entries.map(({ name, path, Icon }) => (
          <li key={name}>
            <a className={classes.entry} href={path}>
              <span className={classes.badge}>
                <Icon size={22} stroke={1.75} aria-hidden />
              </span>
              <span>
                <span className={classes.name}>{say(`done.entry.${name}.name`)}</span>
                <span className={classes.text}>{say(`done.entry.${name}.text`)}</span>
              </span>
            </a>
          </li>
        ))}
      </ul>
      <p className={classes.hint}>{say('done.hint')}</p>
    </Frame>
  )
}

/** A path of the product under the context path that this page was loaded from, which the server may not know. */
function withinContext(path: string): string {
  const context = new URL('..', document.baseURI).pathname
  const { pathname } = new URL(path, window.location.origin)
  return pathname.startsWith(context) ? pathname : `${context}${pathname.replace(/^\/+/, '')}`
}
