import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ErrorLine, toErrorLine } from '../logging/error-line.ts'
import { originOf, type Plugin } from '../plugin.ts'
import { isBusinessError } from './business-error.ts'
import { isFileAccessError, isPlinthError } from './coded-error.ts'

/** Returns the file of each frame of a stack, starting with the innermost frame. */
export function stackFiles(stack: string): string[] {
  return stack.split('\n').flatMap((line) => {
    if (line.includes('node:internal')) return []
    const place = /^\s+at .*?((?:file:\/\/|\/|[A-Za-z]:\\)[^()]*?):\d+(?::\d+)?\)?$/.exec(line)?.[1]
    if (place === undefined) return []
    return [place.startsWith('file:') ? fileURLToPath(place) : place]
  })
}

/**
 * Returns the file that declares a plugin. The first frame of the stored stack is `definePlugin`, the second one is its
 * caller.
 */
export const declaringFileOf = (plugin: Plugin): string | undefined => stackFiles(originOf(plugin))[1]

/** Codes of errors that only say where something failed. Their cause is the original error. */
const wrappers: ReadonlySet<string> = new Set([
  'PLINTH_START_FAILED',
  'PLINTH_PRODUCT_INVALID',
  'PLINTH_PRODUCT_IMPORT',
  'PLINTH_PROCESS_ENDED',
])

/**
 * Returns the stack of an error with its causes, for developers. Returns `undefined` for an error with a fix, because
 * that error is meant for operators. The length is limited. Secrets must already be masked in the error.
 */
export function developerStack(error: unknown): string | undefined {
  if (!(error instanceof Error) || isBusinessError(error) || isFileAccessError(error)) return undefined
  if (!isPlinthError(error)) return stackOf(toErrorLine(error))
  return wrappers.has(error.code) ? developerStack(error.cause) : undefined
}

/** Matches frames inside Node.js, which do not help to find a mistake. */
const nodeFrame = /^\s+at .*node:internal.*\n?/gm

function stackOf({ type, message, stack = `${type}: ${message}`, cause, errors = [] }: ErrorLine): string {
  const parts = [...(cause === undefined ? [] : [cause]), ...errors]
  return [stack.replace(nodeFrame, '').trimEnd(), ...parts.map((part) => `Caused by: ${stackOf(part)}`)].join('\n')
}

/**
 * Returns the plugin whose code threw an error, if the stack shows it. Uses the innermost frame in the file that
 * declares a plugin, or in a directory that belongs to only one plugin.
 */
export function findFailingPlugin(stack: string, plugins: readonly Plugin[]): string | undefined {
  const declared = plugins.flatMap((plugin) => {
    const file = declaringFileOf(plugin)
    return file === undefined ? [] : [{ id: plugin.id, file, directory: join(dirname(file), sep) }]
  })
  for (const file of stackFiles(stack)) {
    const exact = declared.filter((one) => one.file === file)
    const around = declared.filter(({ directory }) => file.startsWith(directory))
    const closest = Math.max(...around.map(({ directory }) => directory.length))
    const found = exact.length > 0 ? exact : around.filter(({ directory }) => directory.length === closest)
    if (found.length === 1) return found[0]?.id
  }
  return undefined
}
