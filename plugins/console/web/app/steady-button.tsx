import { type ComponentProps, useState } from 'react'

/**
 * The element of every button. If a button is disabled while it has the focus, for example while its call is running,
 * it keeps the focus until the user leaves it. A disabled element would lose the focus, and keyboard users would have
 * to start again at the top of the page.
 */
export function SteadyButton({ disabled, type, onClick, onFocus, onBlur, ...props }: ComponentProps<'button'>) {
  const [hasFocus, setFocus] = useState(false)
  const isKept = disabled === true && hasFocus
  return (
    <button
      {...props}
      type={type ?? 'button'}
      disabled={disabled === true && !isKept}
      aria-disabled={isKept || undefined}
      onFocus={(event) => {
        setFocus(true)
        onFocus?.(event)
      }}
      onBlur={(event) => {
        setFocus(false)
        onBlur?.(event)
      }}
      // A rejected click of a submit button must not submit the form either.
      onClick={isKept ? (event) => event.preventDefault() : onClick}
    />
  )
}
