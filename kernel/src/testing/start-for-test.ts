import { pino } from 'pino'
import type { Product } from '../product.ts'
import { type RunningProduct, type StartOptions, startProduct } from '../running-product.ts'
import { systemClock } from '../time/clock.ts'

/** A machine that runs many tests at once is slow, not broken. */
const patience = {
  'platform.kernel.setup-deadline': '5m',
  'platform.kernel.drain-deadline': '1m',
  'platform.kernel.stop-deadline': '1m',
}

/**
 * Starts a product for a test: silent, cut off from the environment and from `.env` unless the options say otherwise. On the
 * clock of the machine, deadlines of start and stop that the product does not set itself are longer than usual.
 *
 * Stop it when the test ends: `t.teardown(() => running.stop('test ended'))`.
 */
export function startForTest(product: Product, options: StartOptions = {}): Promise<RunningProduct> {
  const { clock = systemClock } = options
  const patient = clock === systemClock ? { ...product, config: { ...patience, ...product.config } } : product
  return startProduct(patient, { envFile: false, logger: pino({ level: 'silent' }), ...options })
}
