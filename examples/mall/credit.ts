import type { Ledger } from '@plinth/money'
import type { Order } from './entities.ts'
import { refusal } from './failures.ts'

export interface CreditParts {
  readonly ledger: Pick<Ledger, 'hold' | 'capture' | 'release' | 'credit'>
  /** Asset that orders can be paid with; empty: none. Read at use. */
  readonly asset: () => string
}

type Priced = Pick<Order, 'orderNo' | 'userId'>

/**
 * The part of an order that is paid from an account of the ledger, whatever asset that is: held with the order, taken when it is
 * paid, given back when it is cancelled or paid back as a whole. All of it happens in the transaction of the order.
 */
export class Credit {
  readonly #parts: CreditParts

  constructor(parts: CreditParts) {
    this.#parts = parts
  }

  /**
   * @param units 0 for none
   * @param price what is left of the order's price, minor units
   * @throws BusinessError "409" `mall.credit-off`, `mall.credit-exceeds-price`, `money.balance-insufficient`
   */
  async hold(order: Priced, units: number, price: number) {
    if (units === 0) return { creditAmount: 0, creditAsset: null, creditHoldId: null }
    const { ledger, asset } = this.#parts
    const creditAsset = asset()
    if (creditAsset === '') throw refusal('credit-off', { data: { field: 'credit' } })
    if (units > price) throw refusal('credit-exceeds-price', { params: { price }, data: { price, field: 'credit' } })
    const owner = { type: 'user', id: String(order.userId) }
    const { holdId } = await ledger.hold({ owner, asset: creditAsset, amount: units, ...notes(order, 'hold') })
    return { creditAmount: units, creditAsset, creditHoldId: holdId }
  }

  async take(order: Order): Promise<void> {
    const holdId = order.creditHoldId ?? null
    if (holdId !== null) await this.#parts.ledger.capture({ holdId, ...notes(order, 'paid') })
  }

  async release(order: Order): Promise<void> {
    const holdId = order.creditHoldId ?? null
    if (holdId !== null) await this.#parts.ledger.release({ holdId, ...notes(order, 'cancelled') })
  }

  async giveBack(order: Order): Promise<void> {
    const { creditAmount: amount, userId } = order
    const asset = order.creditAsset ?? null
    if (asset === null) return
    const owner = { type: 'user', id: String(userId) }
    await this.#parts.ledger.credit({ owner, asset, amount, ...notes(order, 'refunded') })
  }
}

const notes = ({ orderNo }: Priced, what: string) => ({
  key: `mall:order:${orderNo}:${what}`,
  kind: `mall.order-${what}`,
  reference: { type: 'mall-order', id: orderNo },
})
