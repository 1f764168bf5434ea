import { bilingual } from '@plinth/kernel'
import { type Ledger, postingReasons } from '@plinth/money'
import type { Order } from './entities.ts'
import { businessError } from './failures.ts'

interface CreditParts {
  readonly ledger: Pick<Ledger, 'find' | 'hold' | 'capture' | 'release' | 'reverse'>
  /** Asset accepted as payment; empty for none. Read on each use. */
  readonly asset: () => string
}

/** Reasons that reject a movement of credit. `*` stands for those of the lot book of the asset. */
export const creditReasons = ['*', ...postingReasons, 'money.hold-closed', 'money.hold-unknown']

/** Journal kinds of the mall. */
export const creditKinds = {
  'mall.order-hold': bilingual('Held for an order', '订单冻结'),
  'mall.order-paid': bilingual('Paid an order', '支付订单'),
  'mall.order-cancelled': bilingual('Order cancelled', '订单取消'),
  'mall.order-refunded': bilingual('Order refunded', '订单退款'),
}

type Priced = Pick<Order, 'orderNo' | 'userId'>

/**
 * The part of an order that is paid from a ledger account, in any asset. It is put on hold with the order, captured
 * with the payment, and returned when the order is cancelled or fully refunded. It returns to its sources: it does not
 * count as earned again, and an expiry stays. All changes are in the transaction of the order.
 */
export class Credit {
  readonly #parts: CreditParts

  constructor(parts: CreditParts) {
    this.#parts = parts
  }

  /**
   * @param units 0 for no credit
   * @param price remaining price of the order in minor units
   * @throws BusinessError "409" `mall.credit-off`, `mall.credit-exceeds-price`, `money.balance-insufficient`
   */
  async hold(order: Priced, units: number, price: number) {
    if (units === 0) return { creditAmount: 0, creditAsset: null, creditHoldId: null }
    const { ledger, asset } = this.#parts
    const creditAsset = asset()
    if (creditAsset === '') throw businessError('credit-off', { data: { field: 'credit' } })
    if (units > price)
      throw businessError('credit-exceeds-price', { params: { price }, data: { price, field: 'credit' } })
    const owner = { type: 'user', id: String(order.userId) }
    const { holdId } = await ledger.hold({ owner, asset: creditAsset, amount: units, ...notes(order, 'hold') })
    return { creditAmount: units, creditAsset, creditHoldId: holdId }
  }

  /**
   * @returns the journal of the capture; undefined if the order was paid without credit. A second call returns the same
   * journal
   */
  async take(order: Order): Promise<number | undefined> {
    const holdId = order.creditHoldId ?? null
    if (holdId === null) return undefined
    return (await this.#parts.ledger.capture({ holdId, ...notes(order, 'paid') })).journalId
  }

  async release(order: Order): Promise<void> {
    const holdId = order.creditHoldId ?? null
    if (holdId !== null) await this.#parts.ledger.release({ holdId, ...notes(order, 'cancelled') })
  }

  /** A closed account receives nothing, because its owner was deleted. */
  async giveBack(order: Order): Promise<void> {
    const { ledger } = this.#parts
    const asset = order.creditAsset ?? null
    if (asset === null) return
    const account = await ledger.find({ owner: { type: 'user', id: String(order.userId) }, asset })
    const journalId = await this.take(order)
    if (journalId === undefined || account?.status !== 'open') return
    const { key, reference } = notes(order, 'refunded')
    await ledger.reverse({ journalId, key, reference })
  }
}

const notes = ({ orderNo }: Priced, what: string) => ({
  key: `mall:order:${orderNo}:${what}`,
  kind: `mall.order-${what}`,
  reference: { type: 'mall-order', id: orderNo },
})
