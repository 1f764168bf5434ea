import { fileURLToPath } from 'node:url'
import { originOf, type Plugin } from '../plugin.ts'

/** Files of the frames of a stack, the innermost first. */
export function filesIn(stack: string): string[] {
  return stack.split('\n').flatMap((line) => {
    if (line.includes('node:internal')) return []
    const place = /^\s+at .*?((?:file:\/\/|\/|[A-Za-z]:\\)[^()]*?):\d+(?::\d+)?\)?$/.exec(line)?.[1]
    if (place === undefined) return []
    return [place.startsWith('file:') ? fileURLToPath(place) : place]
  })
}

/** File that declares a plugin. The first frame of its origin is `definePlugin`, the second the file that calls it. */
export const fileOf = (plugin: Plugin): string | undefined => filesIn(originOf(plugin))[1]
