import { bilingual } from '@plinth/kernel'
import { type Ledger, postingReasons } from '@plinth/money'
import { businessError } from './declarations.ts'
import type { Order } from './entities.ts'

interface CreditDependencies {
  readonly ledger: Pick<Ledger, 'find' | 'hold' | 'capture' | 'release' | 'reverse'>
  /** Returns the asset that is accepted as credit; empty if there is none. It is read on each use. */
  readonly asset: () => string
}

/** Reasons for which a movement of credit can be rejected. `*` means the reasons of the lot repository of the asset. */
export const creditReasons = ['*', ...postingReasons, 'money.hold-closed', 'money.hold-unknown']

/** Kinds of ledger journals that the mall writes. */
export const creditKinds = {
  'mall.order-hold': bilingual('Held for an order', '订单冻结'),
  'mall.order-paid': bilingual('Paid an order', '支付订单'),
  'mall.order-cancelled': bilingual('Order cancelled', '订单取消'),
  'mall.order-refunded': bilingual('Order refunded', '订单退款'),
}

type Priced = Pick<Order, 'orderNo' | 'userId'>

/**
 * The part of an order that is paid from a ledger account, in any asset. This part is put on hold with the order and
 * captured with the payment. It is returned when the order is cancelled or fully refunded. Returned units go back to
 * their sources: they do not count as earned again, and their expiry does not change. All changes are in the
 * transaction of the order.
 */
export class Credit {
  readonly #parts: CreditDependencies

  constructor(parts: CreditDependencies) {
    this.#parts = parts
  }

  /**
   * Puts the credit for an order on hold.
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
   * Captures the credit of a paid order. A second call returns the same journal.
   * @returns the journal of the capture; `undefined` if the order was paid without credit
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

  /** Returns the credit of an order. If the account is closed because its owner was deleted, nothing is returned. */
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
