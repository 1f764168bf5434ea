import { service } from '@plinth/kernel'
import type { Sales } from './sales.ts'

/** A checkout that is paid by a token. */
export interface Checkout {
  readonly sales: Sales
  /** Offers to look at, once. @returns offers added */
  seedDemo(): Promise<number>
}

export const checkout = service<Checkout>('example.checkout', { from: '@plinth-example/checkout' })
