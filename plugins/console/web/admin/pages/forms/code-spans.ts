import { createElement, Fragment, type ReactNode } from 'react'

/** A text of the API description: what stands between backticks is code. */
export function codeSpans(text: string): ReactNode {
  const parts = text.split(/`([^`]+)`/)
  return createElement(
    Fragment,
    null,
    ...parts.map((part, at) => (at % 2 === 1 ? createElement('code', null, part) : part)),
  )
}
