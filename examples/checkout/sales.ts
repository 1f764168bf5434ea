import { randomInt } from 'node:crypto'
import { type Database, findPage, insertMissingRows, type PageWindow } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import type { PaymentOrder, Payments } from '@plinth/money/payments'
import { type Chains, web3Addresses } from '@plinth/web3'
import type { OrderSettlements, PayerClaim, SettlementView } from '@plinth/web3-settlement'
import { businessError } from './declarations.ts'
import { Offer, Sale } from './entities.ts'

interface SaleDependencies {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly payments: Pick<Payments, 'create' | 'get' | 'findMany' | 'attachTransaction' | 'close'>
  readonly chains: Pick<Chains, 'get' | 'facts'>
  /** `undefined` if the product has no settlement plugin. Buyers then cannot prove their payer address. */
  readonly settlements: OrderSettlements | undefined
  /** Returns chain, token and receiver of payments. Called for each order, because the settings may change. */
  readonly till: () => Till
  /** Returns the time limit of a payment. Called for each use, because the setting may change. */
  readonly paymentTimeoutMs: () => number
}

/** Configured values. */
interface Till {
  readonly chain: string
  readonly token: string
  readonly decimals: number
  readonly receiver: string
}

export interface SaleWithPayment {
  readonly sale: Sale
  readonly offer: Offer
  readonly payment: PaymentOrder
  /**
   * Time at which the order expires, in milliseconds since the epoch. Null if the order has ended or has a transaction.
   */
  readonly expiresAt: number | null
}

/** Progress of a payment, as reported by a node of the chain. */
interface Progress {
  /** `closed` means that the order has expired or an operator has closed it. A payment can no longer settle it. */
  readonly state: 'waiting' | 'unreachable' | 'confirming' | 'confirmed' | 'failed' | 'closed'
  /** Number of confirmations; 1 for a transaction in the newest block. Null if no block contains the transaction. */
  readonly confirmations: number | null
  readonly requiredConfirmations: number
  /** Codes of `@plinth/web3-settlement` that explain why the order is not settled; may be empty. */
  readonly reasons: SettlementView['reasons']
}

/** Value of `scene` in the payment orders of the checkout. It selects the handler that delivers a paid purchase. */
export const paymentScene = 'checkout.sale'
/** Value of `provider` in the payment orders. `@plinth/web3-settlement` settles orders with this provider. */
const provider = 'web3'
/** Decimal places of a price. */
const priceDecimals = 2
/** Maximum number of token units that are added to the price, if the token has enough decimals. */
const maxExtra = 1_000_000n
/** Maximum number of amounts that are tried before an order is rejected. */
const maxTries = 20
/** Number of sales that one query reads when expired sales are closed. */
const closedTogether = 100

/**
 * Sales from the order to the delivery. This class returns the amount to pay and the progress of the payment. The
 * settlement plugin reads from the chain whether a sale was paid, so neither the buyer nor the browser is trusted.
 */
export class Sales {
  readonly #parts: SaleDependencies

  constructor(parts: SaleDependencies) {
    this.#parts = parts
  }

  offers(window: PageWindow) {
    return findPage(this.#parts.db.fork(), Offer, {}, window)
  }

  /**
   * Orders an offer at its current price. Later changes of the offer or of the settings do not affect the order.
   * @throws BusinessError "404" `checkout.offer-unknown`; "409" `checkout.closed` if no enabled chain with a number of
   *   confirmations, no token or no receiver is configured; "409" `checkout.amounts-used-up`
   */
  async create(userId: number, offerId: number): Promise<string> {
    const { db, payments } = this.#parts
    const terms = await this.#terms()
    return db.transactional(async (em) => {
      const offer = await em.findOne(Offer, { id: offerId })
      if (offer === null) throw businessError('offer-unknown')
      const { units, ...where } = terms
      for (let attempt = 0; attempt < maxTries; attempt++) {
        // The added amount is less than a hundredth of the currency. Open orders have different amounts, so the amount
        // identifies the order.
        const extra = attempt === 0 ? 0n : BigInt(randomInt(Number(units > maxExtra ? maxExtra : units)))
        const amountRaw = String(BigInt(offer.price) * units + extra)
        const openTerms = [where.chainName, where.tokenContract, where.receiver, amountRaw].join(':')
        const orderNo = await this.#reserve(userId, offerId, openTerms)
        if (orderNo === undefined) continue
        await payments.create({
          outTradeNo: orderNo,
          provider,
          scene: paymentScene,
          userId,
          asset: 'usd',
          amount: offer.price,
          ...where,
          amountRaw,
        })
        return orderNo
      }
      throw businessError('amounts-used-up')
    })
  }

  /** Adds a sale with these payment terms. Returns undefined if another open sale has the same terms. */
  async #reserve(userId: number, offerId: number, openTerms: string): Promise<string | undefined> {
    const { db, clock } = this.#parts
    const id = db.newId()
    const orderNo = `C${id.toString(36).toUpperCase()}`
    const sale = { id, orderNo, userId, offerId, openTerms, createdAt: new Date(clock.now()) }
    await insertMissingRows(db, Sale, 'openTerms', [sale])
    const [added] = await db.query('select id from checkout_sale where id = ?', [id])
    return added === undefined ? undefined : orderNo
  }

  /**
   * Returns the text that a buyer signs to prove that the payer address belongs to them.
   * @throws BusinessError "404" `checkout.order-unknown`, "409" `checkout.payer-unsupported`
   */
  async payerMessage(userId: number, orderNo: string): Promise<string> {
    const { settlements } = this.#parts
    await this.get(userId, orderNo)
    if (settlements === undefined) throw businessError('payer-unsupported')
    return settlements.payerMessage(orderNo)
  }

  /**
   * Stores the payer address of a buyer. Transfers from this address are then credited only to this buyer.
   * @throws BusinessError "404" `checkout.order-unknown`, "409" `checkout.payer-unsupported`, and the errors of
   *   `OrderSettlements.provePayer`
   */
  async provePayer(userId: number, orderNo: string, claim: PayerClaim): Promise<SaleWithPayment> {
    const { settlements } = this.#parts
    await this.get(userId, orderNo)
    if (settlements === undefined) throw businessError('payer-unsupported')
    await settlements.provePayer(orderNo, claim)
    return this.get(userId, orderNo)
  }

  /** @throws BusinessError "404" `checkout.order-unknown`, also for a sale of another user */
  async get(userId: number, orderNo: string): Promise<SaleWithPayment> {
    const em = this.#parts.db.fork()
    const sale = await em.findOne(Sale, { orderNo, userId })
    if (sale === null) throw businessError('order-unknown')
    const offer = await em.findOneOrFail(Offer, { id: sale.offerId })
    return this.#withExpiry({ sale, offer, payment: await this.#parts.payments.get(orderNo) })
  }

  async list(userId: number, window: PageWindow) {
    const em = this.#parts.db.fork()
    const found = await findPage(em, Sale, { userId }, window)
    const offers = await em.find(Offer, { id: { $in: found.items.map(({ offerId }) => offerId) } })
    const offerOf = new Map(offers.map((offer) => [offer.id, offer]))
    const paymentOf = await this.#parts.payments.findMany(found.items.map(({ orderNo }) => orderNo))
    const items = found.items.flatMap((sale): SaleWithPayment[] => {
      const [offer, payment] = [offerOf.get(sale.offerId), paymentOf.get(sale.orderNo)]
      return offer === undefined || payment === undefined ? [] : [this.#withExpiry({ sale, offer, payment })]
    })
    return { ...found, items }
  }

  /**
   * Stores the transaction that the buyer reports. The report is no proof and does not settle the order.
   * @param transactionHash in lower case
   * @throws BusinessError "404" `checkout.order-unknown`, "409" `payment.order-not-pending`
   */
  async announce(userId: number, orderNo: string, transactionHash: string): Promise<SaleWithPayment> {
    const found = await this.get(userId, orderNo)
    const payment = await this.#parts.payments.attachTransaction(orderNo, transactionHash)
    return this.#withExpiry({ ...found, payment })
  }

  #withExpiry({ sale, offer, payment }: Omit<SaleWithPayment, 'expiresAt'>): SaleWithPayment {
    const expiresAt = sale.createdAt.getTime() + this.#parts.paymentTimeoutMs()
    return { sale, offer, payment, expiresAt: isUnpaid(payment) ? expiresAt : null }
  }

  /**
   * Returns the progress of the payment. This method queries a node and writes nothing.
   * @throws BusinessError "404" `checkout.order-unknown`
   */
  async progress(userId: number, orderNo: string): Promise<Progress> {
    const { payment } = await this.get(userId, orderNo)
    const { chainName, transactionHash, requiredConfirmations: required } = payment
    const requiredConfirmations = required ?? 1
    const waiting: Progress = { state: 'waiting', confirmations: null, requiredConfirmations, reasons: [] }
    if (payment.status === 'closed') return { ...waiting, state: 'closed' }
    if (chainName === null || transactionHash === null) return waiting
    const facts = await this.#parts.chains.facts(chainName, { transactionHash: transactionHash as `0x${string}` })
    if ('error' in facts) return { ...waiting, state: 'unreachable' }
    const { receipt, head, canonicalBlockHash } = facts
    if (receipt === null || receipt.blockHash !== canonicalBlockHash) return waiting
    const confirmations = head - receipt.blockNumber + 1
    const mined = { confirmations, requiredConfirmations, reasons: await this.#obstacles(orderNo) }
    if (receipt.status !== 'success') return { state: 'failed', ...mined }
    return { state: confirmations < requiredConfirmations ? 'confirming' : 'confirmed', ...mined }
  }

  /** Returns the reasons why the transaction cannot settle the order, or why it needs a review. */
  async #obstacles(orderNo: string): Promise<SettlementView['reasons']> {
    const view = await this.#parts.settlements?.view(orderNo)
    return view?.state === 'blocked' || view?.state === 'review_required' ? view.reasons : []
  }

  /** Delivers the purchase, in the transaction that settles the payment order. */
  async paid({ outTradeNo }: Pick<PaymentOrder, 'outTradeNo'>): Promise<void> {
    const { db, clock } = this.#parts
    const delivered = await db.execute(
      'update checkout_sale set delivered_at = ?, open_terms = ? where order_no = ? and delivered_at is null',
      [new Date(clock.now()), null, outTradeNo],
    )
    if (delivered === 0) throw businessError('order-not-open')
  }

  /**
   * Closes sales that were not paid in time. A sale with a transaction or an open review stays open. A sale whose
   * payment order was closed by an operator is also marked as closed. The amounts stay reserved until `releaseAmounts`
   * releases them.
   * @param before only sales that were created before this time
   * @returns number of closed sales
   */
  async closeUnpaid(before: Date, now: Date, signal: AbortSignal): Promise<number> {
    const { db, payments, settlements } = this.#parts
    let closed = 0
    let afterId = 0
    while (!signal.aborted) {
      const where = { id: { $gt: afterId }, openTerms: { $ne: null }, closedAt: null, createdAt: { $lte: before } }
      const sales = await db.fork().find(Sale, where, { orderBy: { id: 'asc' }, limit: closedTogether })
      if (sales.length === 0) break
      afterId = sales.at(-1)?.id ?? afterId
      const numbers = sales.map(({ orderNo }) => orderNo)
      const orders = await payments.findMany(numbers)
      const reviewed = (await settlements?.underReview(numbers)) ?? new Set()
      for (const order of orders.values()) {
        const isExpired = isUnpaid(order) && !reviewed.has(order.outTradeNo)
        if (signal.aborted || !(isExpired || order.status === 'closed')) continue
        closed += await this.#close(order, now)
      }
    }
    return closed
  }

  /**
   * Closes the payment order and its sale, unless the payment order has changed meanwhile.
   * @returns 1 if the sale was open
   */
  #close({ outTradeNo, version }: PaymentOrder, now: Date): Promise<number> {
    const { db, payments } = this.#parts
    return db.transactional(async () => {
      if ((await payments.close(outTradeNo, version)).status !== 'closed') return 0
      const statement = 'update checkout_sale set closed_at = ? where order_no = ? and closed_at is null'
      return db.execute(statement, [now, outTradeNo])
    })
  }

  /**
   * Releases the amounts of sales that were closed before a time, so that other orders can use them. Until then, a late
   * payment cannot match another order.
   * @returns number of released amounts
   */
  releaseAmounts(closedBefore: Date): Promise<number> {
    return this.#parts.db.execute(
      'update checkout_sale set open_terms = ? where closed_at <= ? and open_terms is not null',
      [null, closedBefore],
    )
  }

  /**
   * Returns chain, token and receiver for a new order, and the number of token units in a hundredth of the currency.
   */
  async #terms() {
    const { chain: name, token, decimals, receiver } = this.#parts.till()
    const chain = name === '' ? undefined : await this.#parts.chains.get(name)
    const [tokenContract, to] = [web3Addresses.normalize(token), web3Addresses.normalize(receiver)]
    // If the chain has no required number of confirmations, no order would ever be settled.
    const requiredConfirmations = chain?.enabled === true ? chain.requiredConfirmations : null
    if (chain === undefined || requiredConfirmations === null || tokenContract === null || to === null) {
      throw businessError('closed')
    }
    const { name: chainName, chainId } = chain
    const units = 10n ** BigInt(decimals - priceDecimals)
    return { chainName, chainId, tokenContract, receiver: to, requiredConfirmations, units }
  }
}

/** True if no payment of this order is known. */
const isUnpaid = ({ status, transactionHash }: PaymentOrder) => status === 'pending' && transactionHash === null
