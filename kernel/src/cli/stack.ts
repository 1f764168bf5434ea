import { fileURLToPath } from 'node:url'
import { originOf, type Plugin } from '../plugin.ts'

/** Causes of causes that are shown. */
const deepest = 8

/** The stack of an error and of everything that caused it, as text for the author; secrets are not masked yet. */
export function stackOf(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) return String(error)
  const own = error.stack?.includes(error.message)
    ? error.stack
    : `${error.name}: ${error.message}\n${error.stack ?? ''}`
  const parts = [error.cause, ...((error as Partial<AggregateError>).errors ?? [])].filter((part) => part !== undefined)
  if (depth === deepest) return own
  return [own, ...parts.map((part) => `Caused by: ${stackOf(part, depth + 1)}`)].join('\n')
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
