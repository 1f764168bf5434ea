import { type Database, findPage, type PageWindow } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import type { PaymentOrder, Payments } from '@plinth/money/payments'
import { type Chains, web3Addresses } from '@plinth/web3'
import { Offer, Sale } from './entities.ts'
import { refusal } from './failures.ts'

export interface SaleParts {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly payments: Pick<Payments, 'create' | 'get' | 'findMany' | 'attachTransaction'>
  readonly chains: Pick<Chains, 'get' | 'facts'>
  /** Where and in what is paid. Read at use. */
  readonly till: () => Till
}

/** As it is configured. */
export interface Till {
  readonly chain: string
  readonly token: string
  readonly decimals: number
  readonly receiver: string
}

export interface SaleWithPayment {
  readonly sale: Sale
  readonly offer: Offer
  readonly payment: PaymentOrder
}

/** How far a payment is, as a node of the chain says now. */
export interface Progress {
  readonly state: 'waiting' | 'unreachable' | 'confirming' | 'confirmed' | 'failed'
  /** A mined transaction has 1; null without a block. */
  readonly confirmations: number | null
  readonly requiredConfirmations: number
}

/** Scene of the checkout's payment orders. */
export const paymentScene = 'checkout.sale'
/** Who settles them: `@plinth/web3-settlement`. */
const provider = 'web3'
/** Decimals of a price. */
const ofPrices = 2

/**
 * Sales from the order to what the buyer gets. The checkout says what to pay and how far a payment is; that it was made is
 * decided by whoever settles payment orders, from the chain and not from what a buyer or a browser says.
 */
export class Sales {
  readonly #parts: SaleParts

  constructor(parts: SaleParts) {
    this.#parts = parts
  }

  offers(window: PageWindow) {
    return findPage(this.#parts.db.fork(), Offer, {}, window)
  }

  /**
   * Orders an offer at its price of now. The terms of the payment stay as they are, whatever becomes of offer and settings.
   *
   * @throws BusinessError "404" `checkout.offer-unknown`, "409" `checkout.closed` where the settings name no chain that
   *   is enabled and has a number of confirmations, no token or no receiver
   */
  async create(userId: number, offerId: number): Promise<string> {
    const { db, clock, payments } = this.#parts
    const terms = await this.#terms()
    return db.transactional(async (em) => {
      const offer = await em.findOne(Offer, { id: offerId })
      if (offer === null) throw refusal('offer-unknown')
      const id = db.newId()
      const orderNo = `C${id.toString(36).toUpperCase()}`
      await em.insert(Sale, { id, orderNo, userId, offerId, createdAt: new Date(clock.now()), deliveredAt: null })
      const { units, ...where } = terms
      await payments.create({
        ...{ outTradeNo: orderNo, provider, scene: paymentScene, userId, asset: 'usd', amount: offer.price },
        ...{ ...where, amountRaw: String(BigInt(offer.price) * units) },
      })
      return orderNo
    })
  }

  /** @throws BusinessError "404" `checkout.order-unknown`, also for a sale of somebody else */
  async get(userId: number, orderNo: string): Promise<SaleWithPayment> {
    const em = this.#parts.db.fork()
    const sale = await em.findOne(Sale, { orderNo, userId })
    if (sale === null) throw refusal('order-unknown')
    const offer = await em.findOneOrFail(Offer, { id: sale.offerId })
    return { sale, offer, payment: await this.#parts.payments.get(orderNo) }
  }

  async list(userId: number, window: PageWindow) {
    const em = this.#parts.db.fork()
    const found = await findPage(em, Sale, { userId }, window)
    const offers = await em.find(Offer, { id: { $in: found.items.map(({ offerId }) => offerId) } })
    const offerOf = new Map(offers.map((offer) => [offer.id, offer]))
    const paymentOf = await this.#parts.payments.findMany(found.items.map(({ orderNo }) => orderNo))
    const items = found.items.flatMap((sale): SaleWithPayment[] => {
      const [offer, payment] = [offerOf.get(sale.offerId), paymentOf.get(sale.orderNo)]
      return offer === undefined || payment === undefined ? [] : [{ sale, offer, payment }]
    })
    return { ...found, items }
  }

  /**
   * Notes the transaction that a buyer says to have paid by. It proves nothing and settles nothing.
   *
   * @param transactionHash in lower case
   * @throws BusinessError "404" `checkout.order-unknown`, "409" `payment.order-not-pending`
   */
  async announce(userId: number, orderNo: string, transactionHash: string): Promise<SaleWithPayment> {
    const found = await this.get(userId, orderNo)
    return { ...found, payment: await this.#parts.payments.attachTransaction(orderNo, transactionHash) }
  }

  /** Asks a node; writes nothing. @throws BusinessError "404" `checkout.order-unknown` */
  async progress(userId: number, orderNo: string): Promise<Progress> {
    const { chainName, transactionHash, requiredConfirmations: required } = (await this.get(userId, orderNo)).payment
    const requiredConfirmations = required ?? 1
    const waiting: Progress = { state: 'waiting', confirmations: null, requiredConfirmations }
    if (chainName === null || transactionHash === null) return waiting
    const facts = await this.#parts.chains.facts(chainName, { transactionHash: transactionHash as `0x${string}` })
    if ('error' in facts) return { ...waiting, state: 'unreachable' }
    const { receipt, head, canonicalBlockHash } = facts
    if (receipt === null || receipt.blockHash !== canonicalBlockHash) return waiting
    const confirmations = head - receipt.blockNumber + 1
    if (receipt.status !== 'success') return { state: 'failed', confirmations, requiredConfirmations }
    const state = confirmations < requiredConfirmations ? 'confirming' : 'confirmed'
    return { state, confirmations, requiredConfirmations }
  }

  /** Gives the buyer what was paid for, in the transaction that settles the payment order. */
  async paid({ outTradeNo }: Pick<PaymentOrder, 'outTradeNo'>): Promise<void> {
    const { db, clock } = this.#parts
    const delivered = await db.execute(
      'update checkout_sale set delivered_at = ? where order_no = ? and delivered_at is null',
      [new Date(clock.now()), outTradeNo],
    )
    if (delivered === 0) throw refusal('order-not-open')
  }

  /** Where and in what a new order is paid, and the units of the token that are a hundredth. */
  async #terms() {
    const { chain: name, token, decimals, receiver } = this.#parts.till()
    const chain = name === '' ? undefined : await this.#parts.chains.get(name)
    const [tokenContract, to] = [web3Addresses.normalize(token), web3Addresses.normalize(receiver)]
    // Without a number of confirmations nothing would ever be settled.
    const requiredConfirmations = chain?.enabled === true ? chain.requiredConfirmations : null
    if (chain === undefined || requiredConfirmations === null || tokenContract === null || to === null) {
      throw refusal('closed')
    }
    const { name: chainName, chainId } = chain
    const units = 10n ** BigInt(decimals - ofPrices)
    return { chainName, chainId, tokenContract, receiver: to, requiredConfirmations, units }
  }
}
