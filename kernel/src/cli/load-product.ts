import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { dirname, join, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { errorCodeOf, errorReason, type PlinthError } from '../errors/coded-error.ts'
import { kernelError } from '../errors/kernel-errors.ts'
import { stackFiles } from '../errors/stack.ts'
import { isProduct, noVersion, type Product } from '../product.ts'

/**
 * Time limit in milliseconds for the second process that imports a file. On a busy machine the import may take seconds.
 */
const importLimitMs = 60_000

/** Directory of the kernel. Stack frames in it never show the file that caused the error. */
const ownFolder = fileURLToPath(new URL('..', import.meta.url))

const missingModule: ReadonlySet<unknown> = new Set(['ERR_MODULE_NOT_FOUND', 'ERR_PACKAGE_PATH_NOT_EXPORTED'])

/**
 * Returns the error for a product file that cannot be imported. It contains the file with the mistake, which may be a
 * file that the product file imports. For a syntax error in JavaScript, Node.js prints the line only if nothing catches
 * the error. Therefore a second process imports the file, and its output is read.
 */
function importFailure(error: unknown, path: string, file: string): PlinthError {
  const reason = errorReason(error)
  const named = (one: string) =>
    one === file ? `The product file ${path}` : `The file ${one}, which the product file ${path} imports,`
  if (missingModule.has(errorCodeOf(error))) {
    const importer = /imported from (.+)$/m.exec(reason)?.[1] ?? file
    return kernelError('PLINTH_PRODUCT_IMPORT', { file: named(importer), reason, wrong: importer }, error)
  }
  // Removes the stack frames of the code that called `loadProduct`, because that code did not cause the error.
  const stack = error instanceof Error ? (error.stack ?? '').replace(/\n\s+at (?:async )?loadProduct [\s\S]*/, '') : ''
  const frame = error instanceof SyntaxError ? (frameIn(stack) ?? frameIn(printedBy(file))) : undefined
  if (frame !== undefined && error instanceof Error) error.stack = `${frame.text}\n\n${error.name}: ${reason}`
  const files = frame === undefined ? stackFiles(stack).filter((one) => !one.startsWith(ownFolder)) : [frame.file]
  const wrong = files.find((one) => !one.includes(`${sep}node_modules${sep}`)) ?? files[0] ?? file
  const isCircular = error instanceof ReferenceError && reason.endsWith('before initialization')
  const hint = isCircular ? '; two files import each other, so move what both need into a third file' : ''
  const place = frame?.place ?? (isCircular ? placeIn(stack) : undefined)
  const placed = place === undefined ? reason : `${reason} (${place})${hint}`
  if (wrong === file) return kernelError('PLINTH_PRODUCT_INVALID', { path, reason: placed }, error)
  return kernelError('PLINTH_PRODUCT_IMPORT', { file: named(wrong), reason: placed, wrong }, error)
}

function placeIn(stack: string): string | undefined {
  const place = /((?:file:\/\/|\/|[A-Za-z]:\\)[^()\n]*:\d+):\d+/.exec(stack)?.[1]
  return place?.startsWith('file:') ? fileURLToPath(place) : place
}

/**
 * Returns the text that Node.js prints before the name of a syntax error: file and line, the source line, and a line
 * with the `^` marker. The marker is missing if the error is at the end of the file.
 */
function frameIn(stack: string): { readonly file: string; readonly place: string; readonly text: string } | undefined {
  const [, place, text] = /^((?:file:|\/|[A-Za-z]:\\)[^\n]*:\d+)\n([\s\S]*?(?:\^+|(?=\n\n)))/.exec(stack) ?? []
  if (place === undefined) return undefined
  const shown = place.startsWith('file:') ? fileURLToPath(place) : place
  return { file: shown.replace(/:\d+$/, ''), place: shown, text: `${shown}\n${text}` }
}

function printedBy(file: string): string {
  const load = `await import(${JSON.stringify(pathToFileURL(file).href)})`
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', load], {
    encoding: 'utf8',
    timeout: importLimitMs,
  })
  return stderr
}

/**
 * Imports a product file and returns its default export.
 *
 * @throws PlinthError `PLINTH_PRODUCT_NOT_FOUND`, `PLINTH_PRODUCT_INVALID`, `PLINTH_PRODUCT_IMPORT`
 */
export async function loadProduct(path: string): Promise<Product> {
  const file = resolve(path)
  if (!existsSync(file)) throw kernelError('PLINTH_PRODUCT_NOT_FOUND', { path })
  if (statSync(file).isDirectory()) throw kernelError('PLINTH_PRODUCT_INVALID', { path, reason: 'it is a directory' })
  let loaded: { default?: unknown }
  try {
    loaded = await import(pathToFileURL(file).href)
  } catch (error) {
    throw importFailure(error, path, file)
  }
  const product = loaded.default
  if (!isProduct(product)) {
    throw kernelError('PLINTH_PRODUCT_INVALID', { path, reason: 'its default export is not a product' })
  }
  const root = dirname(file)
  const version = product.version === noVersion ? packageVersion(root) : product.version
  return Object.freeze({ ...product, version, root, file })
}

function packageVersion(directory: string): string {
  const file = join(directory, 'package.json')
  return (existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).version) || noVersion
}

const isInstalled = (file: string) => file.includes(`${sep}node_modules${sep}`)

/**
 * Reports which packages this process loads. A package is the nearest directory with a `package.json`.
 *
 * @param listener called once for each package outside `node_modules`, before its first module is parsed, so that a
 * package with a syntax error is reported too
 * @param onModule called with each module in `node_modules` that is imported by the name of its package
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
