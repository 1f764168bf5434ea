import { dirname, join, sep } from 'node:path'
import { isBusinessError } from '../errors/business-error.ts'
import { isPlinthError } from '../errors/coded-error.ts'
import { fileOf, filesIn } from '../errors/stack-files.ts'
import { type ErrorLine, errorLine } from '../logging/error-line.ts'
import type { Plugin } from '../plugin.ts'

/** Errors that say where something failed; what failed is their cause. */
const wrappers: ReadonlySet<string> = new Set([
  'PLINTH_START_FAILED',
  'PLINTH_PRODUCT_INVALID',
  'PLINTH_PRODUCT_IMPORT',
  'PLINTH_PROCESS_ENDED',
])

/**
 * The stack with its causes that an author needs to find a mistake; none for an error that brings its own advice, because
 * that one is for the operator. Bounded; masked as far as the error is.
 */
export function authorStack(error: unknown): string | undefined {
  if (!(error instanceof Error) || isBusinessError(error)) return undefined
  if (!isPlinthError(error)) return stackOf(errorLine(error))
  return wrappers.has(error.code) ? authorStack(error.cause) : undefined
}

/** Frames inside of Node.js help nobody to find a mistake. */
const nodeFrame = /^\s+at .*node:internal.*\n?/gm

function stackOf({ type, message, stack = `${type}: ${message}`, cause, errors = [] }: ErrorLine): string {
  const parts = [...(cause === undefined ? [] : [cause]), ...errors]
  return [stack.replace(nodeFrame, '').trimEnd(), ...parts.map((part) => `Caused by: ${stackOf(part)}`)].join('\n')
}

/**
 * The plugin whose code threw, as far as the stack says: the innermost frame that stands in the file that declares a
 * plugin, or in a directory that one plugin alone is declared in or above.
 */
export function pluginOf(stack: string, plugins: readonly Plugin[]): string | undefined {
  const declared = plugins.flatMap((plugin) => {
    const file = fileOf(plugin)
    return file === undefined ? [] : [{ id: plugin.id, file, directory: join(dirname(file), sep) }]
  })
  for (const file of filesIn(stack)) {
    const exact = declared.filter((one) => one.file === file)
    const around = declared.filter(({ directory }) => file.startsWith(directory))
    const closest = Math.max(...around.map(({ directory }) => directory.length))
    const found = exact.length > 0 ? exact : around.filter(({ directory }) => directory.length === closest)
    if (found.length === 1) return found[0]?.id
  }
  return undefined
}
