import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Calls the listener once for each package outside `node_modules` from which this process loads a module, before the
 * module is parsed: also for a module with a syntax error. A package is the nearest directory with a `package.json`.
 */
export function onLoadedPackage(listener: (directory: string) => void): void {
  const packages = new Map<string, string>()
  const packageOf = (directory: string): string => {
    const known = packages.get(directory)
    if (known !== undefined) return known
    const parent = dirname(directory)
    const isPackage = existsSync(join(directory, 'package.json')) || parent === directory
    const found = isPackage ? directory : packageOf(parent)
    packages.set(directory, found)
    return found
  }
  const reported = new Set<string>()
  registerHooks({
    load(url, context, next) {
      if (url.startsWith('file:')) {
        const file = fileURLToPath(url)
        const directory = packageOf(dirname(file))
        if (!file.includes(`${sep}node_modules${sep}`) && !reported.has(directory)) {
          reported.add(directory)
          listener(directory)
        }
      }
      return next(url, context)
    },
  })
}
