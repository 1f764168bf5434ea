import { fileURLToPath } from 'node:url'
import { isBusinessError } from '../errors/business-error.ts'
import { isPlinthError } from '../errors/coded-error.ts'
import { type ErrorLine, errorLine } from '../logging/error-line.ts'
import { originOf, type Plugin } from '../plugin.ts'

/** Errors that say where something failed; what failed is their cause. */
const wrappers: ReadonlySet<string> = new Set(['PLINTH_START_FAILED', 'PLINTH_PRODUCT_INVALID'])

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

/** Files that the frames of a stack stand in, the innermost first. */
function filesIn(stack: string): string[] {
  return stack.split('\n').flatMap((line) => {
    const place = /^\s+at .*?((?:file:\/\/|\/|[A-Za-z]:\\)[^()]*?):\d+(?::\d+)?\)?$/.exec(line)?.[1]
    if (place === undefined) return []
    return [place.startsWith('file:') ? fileURLToPath(place) : place]
  })
}

/**
 * The plugin whose code threw, as far as the stack says: the innermost frame that stands in the file that declares a
 * plugin, or in a directory that one plugin alone is declared in or above.
 */
export function pluginOf(stack: string, plugins: readonly Plugin[]): string | undefined {
  const declared = plugins.flatMap((plugin) => {
    // The first frame is definePlugin, the second the file that calls it.
    const file = filesIn(originOf(plugin))[1]
    return file === undefined ? [] : [{ id: plugin.id, file, directory: file.slice(0, file.lastIndexOf('/') + 1) }]
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
