import type { Plugin } from '../plugin.ts'
import type { PlinthError } from './coded-error.ts'
import { kernelError } from './kernel-errors.ts'
import { declaringFileOf } from './stack.ts'

/** Returns the error to report if a plugin threw a value that is not an error. */
export function notAnError(thrown: unknown, plugin: Plugin): PlinthError {
  const text = typeof thrown === 'string' ? `the text ${JSON.stringify(thrown)}` : String(thrown)
  return kernelError('PLINTH_NOT_AN_ERROR', { found: text, file: declaringFileOf(plugin) ?? 'an unknown file' })
}

/**
 * Returns a hint if a plugin read a property of undefined. The usual reason is a service that is missing in `requires`.
 */
export function hintAt(error: Error, { requires = {} }: Plugin): string {
  if (!(error instanceof TypeError) || !/\bof undefined\b/.test(error.message)) return ''
  const names = Object.keys(requires).join(', ') || 'no services'
  return ` If it is a service: \`requires\` has ${names}.`
}
