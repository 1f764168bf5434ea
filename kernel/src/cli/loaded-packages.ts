import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const isInstalled = (file: string) => file.includes(`${sep}node_modules${sep}`)

/**
 * Calls the first listener once for each package outside `node_modules` from which this process loads a module, before
 * the module is parsed: also for a module with a syntax error. A package is the nearest directory with a
 * `package.json`. Calls the second listener for each module of a package in `node_modules` that is imported by the name
 * of the package: its other modules are loaded by these.
 */
export function onLoadedPackage(listener: (directory: string) => void, onModule: (url: string) => void): void {
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
  const modules = new Set<string>()
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      const { url } = resolved
      const isPackageName = /^[@a-z]/i.test(specifier) && url.startsWith('file:')
      if (isPackageName && !modules.has(url) && isInstalled(fileURLToPath(url)) && /\.[cm]?[jt]s$/.test(url)) {
        modules.add(url)
        onModule(url)
      }
      return resolved
    },
    load(url, context, next) {
      if (url.startsWith('file:')) {
        const file = fileURLToPath(url)
        const directory = packageOf(dirname(file))
        if (!isInstalled(file) && !reported.has(directory)) {
          reported.add(directory)
          listener(directory)
        }
      }
      return next(url, context)
    },
  })
}
