import { Skeleton, useComputedColorScheme } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { Notice, RetryButton } from '../../../app/notice.tsx'
import { CallFailure } from '../../api/call.ts'
import { useApi } from '../../api/context.tsx'
import type { FrameOperation, FramePage } from '../../api/page-types.ts'
import { useSite } from '../../shell/site-context.ts'
import { toasts } from '../../shell/toasts.ts'
import { useZone } from '../../shell/zone.ts'
import { PageHead } from '../page-head.tsx'
import { useFormats } from '../shown-value.ts'
import { Cancelled, FrameBridge, type FrameShell, type StopReason } from './frame-bridge.ts'
import { FrameFailure, type FrameRequest } from './frame-request.ts'
import { type FrameWords, titleOfWrite, writeWithUndo } from './frame-undo.ts'
import classes from './frame-view.module.css'
import { FrameWriteDialog } from './frame-write-dialog.tsx'

/** Variables of this page that contain the colours for frames. */
const colourVariables = {
  page: '--page',
  surface: '--surface',
  text: '--mantine-color-text',
  dimmed: '--mantine-color-dimmed',
  border: '--edge',
  primary: '--accent',
  good: '--good',
  warn: '--warn',
  bad: '--bad',
} as const

/** Returns the current colours of the back office by name. */
function frameColours(): Readonly<Record<keyof typeof colourVariables, string>> {
  const styles = getComputedStyle(document.documentElement)
  const colours = Object.entries(colourVariables).map(([name, variable]) => [
    name,
    styles.getPropertyValue(variable).trim(),
  ])
  return Object.fromEntries(colours) as Record<keyof typeof colourVariables, string>
}

/** Longest time in milliseconds for which a browser counts a press as activation, with a reserve. */
const activationMs = 6_000

const presses = ['pointerdown', 'pointerup', 'click', 'keydown'] as const

/**
 * Returns a function that returns whether the operator has just pressed a button or key in the frame. Such a press
 * activates this document too, but sends it no event. The focus proves nothing, because a script can take it.
 */
function useIsFrameInUse(): () => boolean {
  const pressedOutside = useRef(navigator.userActivation?.isActive ? performance.now() : -Infinity)
  useEffect(() => {
    const note = () => {
      pressedOutside.current = performance.now()
    }
    for (const press of presses) addEventListener(press, note, true)
    return () => {
      for (const press of presses) removeEventListener(press, note, true)
    }
  }, [])
  return () => navigator.userActivation?.isActive === true && performance.now() - pressedOutside.current > activationMs
}

/** Time in milliseconds in which the script of a frame must respond. */
const patienceMs = 30_000

/** A write that a frame has requested, until the operator decides. */
interface Asked {
  readonly operation: FrameOperation
  readonly request: FrameRequest
  readonly name: string
  resolve(result: unknown): void
  reject(error: Error): void
}

/** Shows a page with code of a plugin in a sandboxed frame. */
export default function FrameView({ page }: { readonly page: FramePage }) {
  const { translate } = useLanguage()
  const [attempt, setAttempt] = useState(0)
  const [stopped, setStopped] = useState<StopReason>()
  const restart = () => {
    setStopped(undefined)
    setAttempt(attempt + 1)
  }
  return (
    <>
      <PageHead title={page.title} lead={page.lead} />
      {stopped === undefined ? (
        <Frame key={attempt} page={page} onStop={setStopped} />
      ) : (
        <Notice tone="bad" title={translate('admin.frame.stopped')}>
          <p>{translate(`admin.frame.${stopped}`)}</p>
          <RetryButton label={translate('admin.reload')} onClick={restart} />
        </Notice>
      )}
    </>
  )
}

interface FrameProps {
  readonly page: FramePage
  onStop(reason: StopReason): void
}

function Frame({ page, onStop }: FrameProps) {
  const { translate, language } = useLanguage()
  const api = useApi()
  const scheme = useComputedColorScheme()
  const { name: timeZone } = useZone()
  const frame = useRef<HTMLIFrameElement>(null)
  const bridge = useRef<FrameBridge>(undefined)
  const [isReady, setReady] = useState(false)
  const [height, setHeight] = useState(0)
  const [asked, setAsked] = useState<Asked>()
  const context = useRef({})
  context.current = { language, timeZone, scheme, texts: page.texts }
  // The bridge outlives a change of the language.
  const words = useRef<FrameWords>(undefined as never)
  words.current = { translate, language, formats: useFormats(), units: useSite().units }
  const sendContext = () =>
    bridge.current?.send({ type: 'context', context: { ...context.current, colours: frameColours() } })

  // biome-ignore lint/correctness/useExhaustiveDependencies: these values are the content of the context
  useEffect(sendContext, [language, timeZone, scheme, page.texts])
  useEffect(() => () => bridge.current?.close(), [])
  useEffect(() => {
    if (isReady) return
    const timer = setTimeout(() => onStop('silent'), patienceMs)
    return () => clearTimeout(timer)
  }, [isReady, onStop])

  const shell: FrameShell = {
    read: (operation, { params, query }, signal) => api.call(operation, { params, query, signal }),
    async write(operation, request) {
      const name = await titleOfWrite(api, operation, request, words.current)
      return new Promise((resolve, reject) => {
        setAsked({ operation, request, name, resolve, reject })
      })
    },
    isInUse: useIsFrameInUse(),
    writeWithUndo: (operation, request) => writeWithUndo(api, operation, request, words.current, sendContext),
    errorOf(error) {
      if (error instanceof FrameFailure) {
        const { code, subject } = error
        const message = words.current.translate(`admin.frame.error.${code}`, { subject })
        return { code: `frame.${code}`, message, field: code === 'parameter' ? subject : null }
      }
      if (!(error instanceof CallFailure)) throw error
      const { reason, kind, message, faults } = error
      return {
        code: reason === '' ? kind : reason,
        message: message === '' ? words.current.translate('app.failure.unreachable') : message,
        field: faults[0]?.field ?? null,
      }
    },
    ready: () => setReady(true),
    toast: (text) => toasts.show(`${page.title}: ${text}`),
    resize: setHeight,
    stop: onStop,
  }

  /** The first document receives the only port. A second document means that the frame has left its page. */
  const connect = () => {
    const target = frame.current?.contentWindow
    if (bridge.current !== undefined) {
      bridge.current.close()
      return onStop('left')
    }
    const { port1, port2 } = new MessageChannel()
    bridge.current = new FrameBridge(port1, page.operations, shell)
    // The document has an opaque origin, which cannot be named here.
    target?.postMessage('plinth', '*', [port2])
    sendContext()
  }

  return (
    <>
      {!isReady && <Skeleton height={160} aria-busy />}
      <iframe
        ref={frame}
        className={isReady ? classes.frame : classes.loading}
        style={{ height }}
        title={page.title}
        sandbox="allow-scripts"
        referrerPolicy="no-referrer"
        src={page.document}
        onLoad={connect}
      />
      {asked !== undefined && (
        <FrameWriteDialog
          {...asked}
          onClose={(failure) => {
            setAsked(undefined)
            asked.reject(failure ?? new Cancelled())
          }}
        />
      )}
    </>
  )
}
