/**
 * Loaded before a test file, and by `NODE_OPTIONS` into the Node.js processes that it starts: libraries of many files come
 * from `library-bundle.mjs`, and where a source file of this repository lies is known without asking the disk. That is
 * half of what a process takes to load a product.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const root = new URL('..', import.meta.url).href
const libraries = new URL('.tap/libraries/', root)
const { packages, bundled } = JSON.parse(readFileSync(new URL('map.json', libraries), 'utf8'))
const isOwn = (url) => url.startsWith(root) && !url.includes('/node_modules/')
/** The package that a file belongs to, within the repository: its imports by name have one meaning. */
const home = /^(?:(?:plugins|examples)\/)?[^/]+/
const known = new Map()

function find(specifier, context, next) {
  const { url, format } = next(specifier, context)
  const library = bundled[url]
  if (library !== undefined) return { url: new URL(library.file, libraries).href, format: 'module', shortCircuit: true }
  // A second copy of a library would share nothing with the bundled one.
  if (packages.some((path) => url.startsWith(path))) {
    throw new Error(`${specifier} is missing in the list of scripts/library-bundle.mjs`)
  }
  return { url, format, shortCircuit: true }
}

registerHooks({
  resolve(specifier, context, next) {
    const { parentURL = '', conditions } = context
    const isImport = conditions.includes('import')
    if (isImport && specifier.startsWith('node:')) return { url: specifier, format: 'builtin', shortCircuit: true }
    if (!isImport || !isOwn(parentURL)) {
      const found = next(specifier, context)
      const library = bundled[found.url]
      // What `require` returns of CommonJS has the functions of its loader; they stay with the installed files.
      if (library === undefined || (library.isCommonJs && !isImport)) return found
      return { url: new URL(library.file, libraries).href, format: 'module', shortCircuit: true }
    }
    if (/^(?:\.|\/|#|file:|data:)/.test(specifier)) {
      const isSource = specifier.startsWith('.') && specifier.endsWith('.ts')
      if (!isSource) return next(specifier, context)
      return { url: new URL(specifier, parentURL).href, format: 'module-typescript', shortCircuit: true }
    }
    const key = `${home.exec(parentURL.slice(root.length))} ${specifier}`
    const found = known.get(key) ?? find(specifier, context, next)
    known.set(key, found)
    return found
  },
})
