import { service } from '@plinth/kernel'
import type { Sales } from './sales.ts'

/** A checkout with payment by a token. */
export interface Checkout {
  readonly sales: Sales
  /** Adds demo offers once. @returns number of added offers */
  seedDemo(): Promise<number>
}

export const checkout = service<Checkout>('example.checkout', { from: '@plinth-example/checkout' })
