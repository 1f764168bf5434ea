import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { reasonOf } from '../errors/coded-error.ts'
import { kernelError } from '../errors/kernel-errors.ts'
import { isProduct, type Product } from '../product.ts'

/** How long a second look at a file that cannot be read may take, in milliseconds. */
const lookMs = 10_000

/**
 * What is wrong, with file and line when it is the syntax. Node.js keeps the line of JavaScript to itself and prints it only
 * where nobody catches the error, so another process is sent to meet the same one.
 */
function withPlace(error: unknown, file: string): string {
  const reason = reasonOf(error)
  if (!(error instanceof SyntaxError)) return reason
  const frame = frameIn(error.stack ?? '') ?? frameIn(printedBy(file))
  if (frame === undefined) return reason
  error.stack = `${frame.text}\n\n${error.name}: ${reason}`
  return `${reason} (${frame.place})`
}

/** The lines before the name of the error: file and line, the code, a mark below it. */
function frameIn(stack: string): { readonly place: string; readonly text: string } | undefined {
  const [, place, text] = /^((?:file:|\/|[A-Za-z]:\\)[^\n]*:\d+)\n([\s\S]*?\^+)/.exec(stack) ?? []
  if (place === undefined) return undefined
  const shown = place.startsWith('file:') ? fileURLToPath(place) : place
  return { place: shown, text: `${shown}\n${text}` }
}

function printedBy(file: string): string {
  const load = `await import(${JSON.stringify(pathToFileURL(file).href)})`
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', load], {
    encoding: 'utf8',
    timeout: lookMs,
  })
  return stderr
}

/** Loads the product that a file exports as default. Throws `PLINTH_PRODUCT_NOT_FOUND` or `PLINTH_PRODUCT_INVALID`. */
export async function loadProduct(path: string): Promise<Product> {
  const file = resolve(path)
  if (!existsSync(file)) throw kernelError('PLINTH_PRODUCT_NOT_FOUND', { path })
  let loaded: { default?: unknown }
  try {
    loaded = await import(pathToFileURL(file).href)
  } catch (error) {
    throw kernelError('PLINTH_PRODUCT_INVALID', { path, reason: withPlace(error, file) }, error)
  }
  const product = loaded.default
  if (!isProduct(product)) {
    throw kernelError('PLINTH_PRODUCT_INVALID', { path, reason: 'its default export is not a product' })
  }
  return Object.freeze({ ...product, root: dirname(file), file })
}
