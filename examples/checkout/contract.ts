import { service } from '@plinth/kernel'
import type { Sales } from './sales.ts'

/** Service of the checkout, where buyers pay with a token on a chain. */
export interface Checkout {
  readonly sales: Sales
  /**
   * Adds demo offers. A second call adds nothing.
   * @returns number of added offers
   */
  seedDemo(): Promise<number>
}

export const checkout = service<Checkout>('example.checkout', { from: '@plinth-example/checkout' })
