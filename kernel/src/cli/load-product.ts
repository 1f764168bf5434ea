import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { kernelError, reasonOf } from '../errors.ts'
import { isProduct, type Product } from '../product.ts'

/** Loads the product that a file exports as default. Throws `PLINTH_PRODUCT_NOT_FOUND` or `PLINTH_PRODUCT_INVALID`. */
export async function loadProduct(path: string): Promise<Product> {
  const file = resolve(path)
  if (!existsSync(file)) throw kernelError('PLINTH_PRODUCT_NOT_FOUND', { path })
  let loaded: { default?: unknown }
  try {
    loaded = await import(pathToFileURL(file).href)
  } catch (error) {
    throw kernelError('PLINTH_PRODUCT_INVALID', { path, reason: reasonOf(error) }, error)
  }
  const product = loaded.default
  if (!isProduct(product)) {
    throw kernelError('PLINTH_PRODUCT_INVALID', { path, reason: 'its default export is not a product' })
  }
  return Object.freeze({ ...product, root: dirname(file), file })
}
