import { bilingual } from '@plinth/kernel'
import type { Ledger } from '@plinth/money'
import type { Order } from './entities.ts'
import { refusal } from './failures.ts'

interface CreditParts {
  readonly ledger: Pick<Ledger, 'find' | 'hold' | 'capture' | 'release' | 'reverse'>
  /** Asset that orders can be paid with; empty: none. Read at use. */
  readonly asset: () => string
}

/** Names of the journals that the mall writes. */
export const creditKinds = {
  'mall.order-hold': bilingual('Held for an order', '订单冻结'),
  'mall.order-paid': bilingual('Paid an order', '支付订单'),
  'mall.order-cancelled': bilingual('Order cancelled', '订单取消'),
  'mall.order-refunded': bilingual('Order refunded', '订单退款'),
}

type Priced = Pick<Order, 'orderNo' | 'userId'>

/**
 * The part of an order that is paid from an account of the ledger, whatever asset that is: held with the order, taken when it is
 * paid, given back when it is cancelled or paid back as a whole. It comes back as it left: nobody earns it again, and where it
 * expires, the expiry stays. All of it happens in the transaction of the order.
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

  /** @returns the journal that took it; undefined where the order was paid without credit. A second call returns it as well */
  async take(order: Order): Promise<number | undefined> {
    const holdId = order.creditHoldId ?? null
    if (holdId === null) return undefined
    return (await this.#parts.ledger.capture({ holdId, ...notes(order, 'paid') })).journalId
  }

  async release(order: Order): Promise<void> {
    const holdId = order.creditHoldId ?? null
    if (holdId !== null) await this.#parts.ledger.release({ holdId, ...notes(order, 'cancelled') })
  }

  /** A closed account gets nothing back: its owner was deleted. */
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
