import { Button, CloseButton } from '@mantine/core'
import { IconAlertCircle, IconCircleCheck } from '@tabler/icons-react'
import { useEffect, useRef, useSyncExternalStore } from 'react'
import { useLanguage } from '../../app/app.tsx'
import classes from './toast-region.module.css'
import { type Toast, toasts } from './toasts.ts'

const shownMs = 6_000
/** A message with a button is shown longer, because the user must reach the button. */
const shownWithButtonMs = 20_000

/**
 * Shows messages that confirm actions of the user. The region is always part of the page, because screen readers read
 * only messages that are added to an existing region.
 */
export function ToastRegion() {
  const shown = useSyncExternalStore(toasts.subscribe, toasts.current)
  return (
    <div role="status" className={classes.region}>
      {shown.map((toast) => (
        <OneToast key={toast.id} toast={toast} />
      ))}
    </div>
  )
}

/** Shows one message. It disappears after some seconds, unless the pointer is above it or it has the focus. */
function OneToast({ toast }: { readonly toast: Toast }) {
  const { translate } = useLanguage()
  const line = useRef<HTMLDivElement>(null)
  const { button } = toast
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>
    const wait = () => {
      clearTimeout(timer)
      // If the pointer is above the message or the message has the focus, the time starts again.
      timer = setTimeout(
        () => (line.current?.matches(':hover, :focus-within') ? wait() : toasts.remove(toast.id)),
        toast.button === undefined ? shownMs : shownWithButtonMs,
      )
    }
    wait()
    return () => clearTimeout(timer)
  }, [toast])
  return (
    <div ref={line} className={classes.toast}>
      {toast.isFailure ? <IconAlertCircle size={18} aria-hidden /> : <IconCircleCheck size={18} aria-hidden />}
      <span>{toast.text}</span>
      {button !== undefined && (
        <Button
          size="compact-sm"
          variant="subtle"
          onClick={() => {
            toasts.remove(toast.id)
            button.run()
          }}
        >
          {button.label}
        </Button>
      )}
      <CloseButton size="sm" aria-label={translate('admin.close')} onClick={() => toasts.remove(toast.id)} />
    </div>
  )
}
