/**
 * Loaded before a test file, and by `NODE_OPTIONS` into the Node.js processes that it starts: libraries of many files come
 * from `library-bundle.mjs`, the packages of this house from `package-bundle.mjs`, and where a source file lies is known
 * without asking the disk. That is two thirds of what a process takes to load a product.
 *
 * The package whose tests run is loaded from its sources: `?tested=plugins/iam` behind the address of this file names it,
 * `?tested=house` all of them.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const root = new URL('..', import.meta.url).href
const libraries = new URL('.tap/libraries/', root).href
const packages = new URL('.tap/packages/', root).href
const mapOf = (bundle) => JSON.parse(readFileSync(new URL('map.json', bundle), 'utf8'))
const ofLibraries = mapOf(libraries)
const ofPackages = mapOf(packages)
const tested = new URL(import.meta.url).searchParams.get('tested')
/** Tests of the whole house look into packages, the programs that they start do not. */
const isHouseTested = tested === 'house' || (tested === 'test' && /\.test\.ts$/.test(process.argv[1] ?? ''))

const isOwn = (url) => url.startsWith(root) && !url.includes('/node_modules/')
const isOwnSource = (url) => isOwn(url) && url.endsWith('.ts')
/** The package that a file belongs to, within the repository: its imports by name have one meaning. */
const homeOf = (url) =>
  /^(?:(?:plugins|examples)\/)?[^/]+/.exec(url.slice((isBundled(url) ? packages : root).length))[0]
const isBundled = (url) => url.startsWith(packages)
const known = new Map()
/** From what each package was loaded. */
const loadedFrom = new Map()

const source = (url) => ({ url, format: 'module-typescript', shortCircuit: true })
const javaScript = (url) => ({ url, format: 'module', shortCircuit: true })

/** A package of which one module comes from the bundle and another from the sources would share nothing with itself. */
function loadedOnce(result, url) {
  const home = homeOf(url)
  const way = isBundled(result.url) ? 'bundle' : 'sources'
  const before = loadedFrom.get(home) ?? way
  if (before !== way) throw new Error(`${home} is loaded from the ${before}, and ${url} from the ${way}`)
  loadedFrom.set(home, way)
  return result
}

function ownModule(url) {
  const file = isHouseTested || homeOf(url) === tested ? undefined : ofPackages.bundled[url]
  const found = file === undefined ? source(url) : javaScript(packages + file)
  return url.includes('/src/') ? loadedOnce(found, url) : found
}

function locate(key, specifier, context, next) {
  const url = ofPackages.names[key]
  if (url !== undefined) return { url }
  const { parentURL } = context
  // What a bundle imports is found from where its package lies.
  const place = isBundled(parentURL) ? `${root}${homeOf(parentURL)}/package.json` : parentURL
  return next(specifier, { ...context, parentURL: place })
}

function find(key, specifier, context, next) {
  const { url, format } = locate(key, specifier, context, next)
  if (isOwnSource(url)) return ownModule(url)
  const library = ofLibraries.bundled[url]
  if (library !== undefined) return javaScript(libraries + library.file)
  // A second copy of a library would share nothing with the bundled one.
  if (ofLibraries.packages.some((path) => url.startsWith(path))) {
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
      if (isImport && isOwnSource(found.url)) return ownModule(found.url)
      const library = ofLibraries.bundled[found.url]
      // What `require` returns of CommonJS has the functions of its loader; they stay with the installed files.
      if (library === undefined || (library.isCommonJs && !isImport)) return found
      return javaScript(libraries + library.file)
    }
    if (/^(?:\.|\/|#|file:|data:)/.test(specifier)) {
      if (!specifier.startsWith('.')) {
        const found = next(specifier, context)
        return isOwnSource(found.url) ? ownModule(found.url) : found
      }
      const { href } = new URL(specifier, parentURL)
      if (isBundled(href)) return javaScript(href)
      return href.endsWith('.ts') ? ownModule(href) : next(specifier, context)
    }
    const key = `${homeOf(parentURL)} ${specifier}`
    const result = known.get(key) ?? find(key, specifier, context, next)
    known.set(key, result)
    return result
  },
})
