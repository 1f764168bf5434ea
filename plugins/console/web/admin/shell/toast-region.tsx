import { Button, CloseButton } from '@mantine/core'
import { IconAlertCircle, IconCircleCheck } from '@tabler/icons-react'
import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { shortcuts } from './shortcuts.ts'
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
        <OneToast key={toast.id} toast={toast} isLatest={toast === shown.at(-1)} />
      ))}
    </div>
  )
}

const [focusKey] = shortcuts.everywhere.message.keys
/** Escape closes the message, but not the dialog behind it. */
const inDialog = { 'data-mantine-stop-propagation': true }

/**
 * Shows one message. It disappears after some seconds. While the pointer is above it, or the focus is in it, it stays;
 * then the time starts again.
 */
function OneToast({ toast, isLatest }: { readonly toast: Toast; readonly isLatest: boolean }) {
  const { translate } = useLanguage()
  const line = useRef<HTMLDivElement>(null)
  const [isPointed, setPointed] = useState(false)
  const [isFocused, setFocused] = useState(false)
  const { id, button } = toast
  const isHeld = isPointed || isFocused
  const ms = button === undefined ? shownMs : shownWithButtonMs
  useEffect(() => {
    toasts.hold(id, isHeld)
    if (isHeld) return
    const timer = setTimeout(() => toasts.remove(id), ms)
    return () => clearTimeout(timer)
  }, [id, isHeld, ms])
  // If another window gets the focus, the element that loses it is still the active one.
  const onFocusChange = () => setFocused(line.current?.contains(document.activeElement) === true)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons in it receive the keys
    <div
      ref={line}
      className={classes.toast}
      data-toast
      data-failure={toast.isFailure || undefined}
      onPointerEnter={() => setPointed(true)}
      onPointerLeave={() => setPointed(false)}
      onFocus={onFocusChange}
      onBlur={onFocusChange}
      onKeyDown={({ key }) => {
        if (key === 'Escape') toasts.remove(id)
      }}
    >
      {toast.isFailure ? <IconAlertCircle size={18} aria-hidden /> : <IconCircleCheck size={18} aria-hidden />}
      <span>{toast.text}</span>
      {button !== undefined && (
        <span className={classes.action}>
          <Button
            {...inDialog}
            size="compact-sm"
            variant="subtle"
            onClick={() => {
              toasts.remove(id)
              button.run()
            }}
          >
            {button.label}
          </Button>
          {isLatest && (
            <>
              <kbd className={classes.key} aria-hidden>
                {focusKey}
              </kbd>
              <span className="visually-hidden">{translate('admin.toast-key', { key: focusKey })}</span>
            </>
          )}
        </span>
      )}
      <CloseButton {...inDialog} size="sm" aria-label={translate('admin.close')} onClick={() => toasts.remove(id)} />
    </div>
  )
}
