import { isPlugin } from '../plugin.ts'
import type { Product } from '../product.ts'

/** Values that find mistakes of authors. */
const authoringValues = { 'platform.http.response-check': true } as const

/**
 * Returns the product with values that find mistakes of authors, as far as its plugins declare the keys. Values that the
 * product sets stay. `plinth dev` and `startForTest` use it.
 */
export function withAuthoringValues(product: Product): Product {
  const declared = new Set(product.plugins.filter(isPlugin).flatMap(({ config = {} }) => Object.keys(config)))
  const values = Object.entries(authoringValues).filter(([key]) => declared.has(key))
  return { ...product, config: { ...Object.fromEntries(values), ...product.config } }
}
