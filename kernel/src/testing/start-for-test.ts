import { pino } from 'pino'
import type { Product } from '../product.ts'
import { type RunningProduct, type StartOptions, startProduct } from '../running-product.ts'

/**
 * Starts a product for a test: silent, cut off from the environment and from `.env` unless the options say otherwise.
 * Stop it when the test ends: `t.teardown(() => running.stop('test ended'))`.
 */
export function startForTest(product: Product, options: StartOptions = {}): Promise<RunningProduct> {
  return startProduct(product, { envFile: false, logger: pino({ level: 'silent' }), ...options })
}
