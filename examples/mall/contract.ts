import { service } from '@plinth/kernel'
import type { Catalogue } from './catalogue.ts'
import type { Orders } from './orders.ts'
import type { Refunds } from './refunds.ts'
import type { Reviews } from './reviews.ts'

/** A small mall. */
export interface Mall {
  readonly catalogue: Catalogue
  readonly orders: Orders
  readonly refunds: Refunds
  readonly reviews: Reviews
  /**
   * Adds demo goods and a coupon. A second call adds nothing.
   * @returns number of added goods
   */
  seedDemo(): Promise<number>
}

export const mall = service<Mall>('example.mall', { from: '@plinth-example/mall' })
