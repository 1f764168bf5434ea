import { type Database, findPage, insertMissing, type PageWindow } from '@plinth/database'
import type { Events } from '@plinth/events'
import type { Clock } from '@plinth/kernel'
import {
  type PaymentFilter,
  type PaymentOrder,
  type PaymentRefund,
  type PaymentSuccessHandler,
  type Payments,
  type PaymentTerms,
  type PaymentTransaction,
  paymentRefunded,
  paymentSucceeded,
  type Refunded,
  type Settlement,
  type SettlementOutcome,
  type SettlementSkip,
  type TransactionFilter,
  type TransactionsAsked,
} from './contract.ts'
import { PaymentOrderRow, PaymentTransactionRow } from './entities.ts'
import { refusal } from './failures.ts'
import {
  orderOf,
  orderRead,
  type PlainOrder,
  type PlainTransaction,
  plainOrder,
  plainTransaction,
  transactionOf,
  transactionRead,
} from './payment-rows.ts'
import {
  assertRefund,
  assertSettlement,
  assertTerms,
  assertTransactionHash,
  fingerprintOf,
  refundType,
} from './terms.ts'
import { type NewTransaction, TransactionBook } from './transaction-book.ts'

export interface PaymentParts {
  readonly db: Database
  readonly events: Pick<Events, 'publish'>
  readonly clock: Pick<Clock, 'now'>
  readonly handlers: ReadonlyMap<string, PaymentSuccessHandler>
}

const orderColumns = [
  ...['id', 'out_trade_no', 'fingerprint', 'provider', 'scene', 'user_id', 'asset', 'amount'],
  ...['chain_name', 'chain_id', 'token_contract', 'receiver', 'amount_raw', 'required_confirmations'],
  ...['transaction_hash', 'status', 'refunded_amount', 'version', 'created_at', 'paid_at'],
]

export class PaymentsService implements Payments {
  readonly #parts: PaymentParts
  readonly #transactions: TransactionBook

  constructor(parts: PaymentParts) {
    this.#parts = parts
    this.#transactions = new TransactionBook(parts)
  }

  async create(terms: PaymentTerms): Promise<PaymentOrder> {
    assertTerms(terms)
    const { db, clock, handlers } = this.#parts
    const { outTradeNo, provider, scene, userId, asset, amount } = terms
    if (!handlers.has(scene)) throw refusal('scene-unknown', { params: { scene }, data: { scene } })
    const fingerprint = fingerprintOf(terms)
    const { chainName, chainId, tokenContract, receiver, amountRaw, requiredConfirmations } = terms
    const row = [
      ...[db.newId(), outTradeNo, fingerprint, provider, scene, userId, asset, amount],
      ...[chainName, chainId, tokenContract, receiver, amountRaw, requiredConfirmations],
      ...[null, 'pending', 0, 1, clock.now(), null],
    ]
    const into = { table: 'money_payment_order', columns: orderColumns, unique: 'out_trade_no' }
    await insertMissing(db, into, [row.map((value) => value ?? null)])
    const made = await db.fork().findOneOrFail(PaymentOrderRow, { outTradeNo })
    if (made.fingerprint !== fingerprint)
      throw refusal('terms-differ', { params: { outTradeNo }, data: { outTradeNo } })
    return orderOf(made)
  }

  async find(outTradeNo: string): Promise<PaymentOrder | undefined> {
    const row = await this.#parts.db.fork().findOne(PaymentOrderRow, { outTradeNo })
    return row === null ? undefined : orderOf(row)
  }

  async findMany(outTradeNos: readonly string[]): Promise<ReadonlyMap<string, PaymentOrder>> {
    const wanted = few(outTradeNos)
    if (wanted.length === 0) return new Map()
    const rows = await this.#parts.db.query<PlainOrder>(
      `select ${orderRead} from money_payment_order where out_trade_no in (${places(wanted)})`,
      wanted,
    )
    return new Map(rows.map(plainOrder).map((order) => [order.outTradeNo, order]))
  }

  async paidAfter(provider: string, afterId: number, limit: number): Promise<readonly PaymentOrder[]> {
    if (!Number.isInteger(limit) || limit < 1 || limit > mostAtOnce)
      throw new RangeError(`The limit is ${limit}, not 1 to ${mostAtOnce}`)
    const rows = await this.#parts.db.query<PlainOrder>(
      `select ${orderRead} from money_payment_order
       where provider = ? and status = 'success' and id > ? order by id limit ${limit}`,
      [provider, afterId],
    )
    return rows.map(plainOrder)
  }

  async transactionsOf(asked: TransactionsAsked): Promise<readonly PaymentTransaction[]> {
    const [column, wanted] =
      'outTradeNos' in asked
        ? ['out_trade_no', few(asked.outTradeNos)]
        : ['transaction_hash', few(asked.transactionHashes)]
    if (wanted.length === 0) return []
    const [condition, bound] = 'chainName' in asked ? ['chain_name = ? and ', [asked.chainName]] : ['', []]
    const rows = await this.#parts.db.query<PlainTransaction>(
      `select ${transactionRead} from money_payment_transaction
       where ${condition}${column} in (${places(wanted)}) order by id`,
      [...bound, ...wanted],
    )
    return rows.map(plainTransaction)
  }

  async get(outTradeNo: string): Promise<PaymentOrder> {
    const order = await this.find(outTradeNo)
    if (order === undefined) throw refusal('order-unknown', { data: { outTradeNo } })
    return order
  }

  async list(filter: PaymentFilter, window: PageWindow) {
    const found = await findPage(this.#parts.db.fork(), PaymentOrderRow, given(filter), window)
    return { ...found, items: found.items.map(orderOf) }
  }

  async transactions(filter: TransactionFilter, window: PageWindow) {
    const found = await findPage(this.#parts.db.fork(), PaymentTransactionRow, given(filter), window)
    return { ...found, items: found.items.map(transactionOf) }
  }

  async close(outTradeNo: string): Promise<PaymentOrder> {
    const { db } = this.#parts
    const closed = await db.execute(
      `update money_payment_order set status = 'closed', version = version + 1
       where out_trade_no = ? and status = 'pending'`,
      [outTradeNo],
    )
    const order = await this.get(outTradeNo)
    if (closed === 0 && order.status !== 'closed') throw notPending(order)
    return order
  }

  async attachTransaction(outTradeNo: string, transactionHash: string): Promise<PaymentOrder> {
    assertTransactionHash(transactionHash)
    const { db } = this.#parts
    const attached = await db.execute(
      `update money_payment_order set transaction_hash = ?, version = version + 1
       where out_trade_no = ? and status = 'pending' and (transaction_hash is null or transaction_hash <> ?)`,
      [transactionHash, outTradeNo, transactionHash],
    )
    const order = await this.get(outTradeNo)
    if (attached === 0 && (order.status !== 'pending' || order.transactionHash !== transactionHash)) {
      throw notPending(order)
    }
    return order
  }

  async settle(settlement: Settlement): Promise<SettlementOutcome> {
    assertSettlement(settlement)
    return this.#parts.db.transactional(() => this.#settle(settlement))
  }

  async #settle(settlement: Settlement): Promise<SettlementOutcome> {
    const { db, events, clock, handlers } = this.#parts
    const { outTradeNo, transactionHash, expectedVersion } = settlement
    const order = await this.find(outTradeNo)
    if (order === undefined) return { outcome: 'skipped', reason: 'order-not-found', order: null }
    const skipped = (reason: SettlementSkip): SettlementOutcome => ({ outcome: 'skipped', reason, order })
    if (order.status !== 'pending') return skipped(reasonOf(order))
    if (expectedVersion !== undefined && expectedVersion !== order.version) return skipped('order-update-conflict')
    const handler = handlers.get(order.scene)
    if (handler === undefined) return skipped('handler-missing')

    const { type, eventKey, chainName, logOrdinal, facts } = settlement
    const transaction: NewTransaction = {
      ...{ outTradeNo, type, transactionHash, amount: order.amount },
      ...{ eventKey: eventKey ?? null, chainName: chainName ?? null, logOrdinal: logOrdinal ?? null },
      facts: facts ?? null,
    }
    const transactionId = await this.#transactions.add(transaction)
    if (transactionId === undefined) return skipped('transaction-already-exists')
    const paidAt = clock.now()
    const settled = await db.execute(
      `update money_payment_order set status = 'success', version = version + 1, paid_at = ?, transaction_hash = ?
       where id = ? and status = 'pending' and version = ?`,
      [paidAt, transactionHash, order.id, order.version],
    )
    if (settled === 0) {
      await this.#transactions.takeBack(transactionId)
      const { status } = await this.get(outTradeNo)
      return skipped(status === 'pending' ? 'order-update-conflict' : reasonOf({ status }))
    }
    const paid = { ...order, status: 'success' as const, version: order.version + 1, paidAt, transactionHash }
    await handler.paid(paid)
    await events.publish(paymentSucceeded, { ...aboutOf(paid), amount: paid.amount, paidAt }, keyOf(paid))
    return { outcome: 'settled', order: paid, transactionId }
  }

  async refund(refund: PaymentRefund): Promise<Refunded> {
    assertRefund(refund)
    return this.#parts.db.transactional(() => this.#refund(refund))
  }

  async #refund(refund: PaymentRefund): Promise<Refunded> {
    const { db, events, handlers } = this.#parts
    const { outTradeNo, refundNo, amount, reason } = refund
    const before = await this.get(outTradeNo)
    const transactionId = await this.#transactions.add({
      ...{ outTradeNo, type: refundType, transactionHash: refundNo, amount },
      ...{ eventKey: null, chainName: null, logOrdinal: null },
      facts: reason === undefined ? null : { reason },
    })
    if (transactionId === undefined) {
      const booked = await this.#transactions.find(outTradeNo, refundType, refundNo)
      if (booked?.amount !== amount) throw refusal('refund-differs', { params: { refundNo }, data: { refundNo } })
      return { order: await this.get(outTradeNo), replayed: true }
    }
    const refunded = await db.execute(
      // The status comes first: MariaDB and MySQL see in each assignment what those before it have written.
      `update money_payment_order set status = case when refunded_amount + ? = amount then 'refunded' else status end,
         refunded_amount = refunded_amount + ?, version = version + 1
       where id = ? and status = 'success' and refunded_amount + ? <= amount`,
      [amount, amount, before.id, amount],
    )
    const order = await this.get(outTradeNo)
    if (refunded === 0) throw refusedRefund(order)
    await handlers.get(order.scene)?.refunded?.(order, refund)
    const { refundedAmount } = order
    await events.publish(paymentRefunded, { ...aboutOf(order), refundNo, amount, refundedAmount }, keyOf(order))
    return { order, replayed: false }
  }
}

/** So many that a statement never grows long. */
const mostAtOnce = 200

function few(values: readonly string[]): string[] {
  const distinct = [...new Set(values)]
  if (distinct.length > mostAtOnce) throw new RangeError(`${distinct.length} are more than ${mostAtOnce} at once`)
  return distinct
}

const places = (values: readonly string[]) => values.map(() => '?').join(', ')

const given = (filter: PaymentFilter | TransactionFilter) =>
  Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))

const aboutOf = ({ outTradeNo, provider, scene, userId, asset }: PaymentOrder) => ({
  ...{ outTradeNo, provider, scene, asset },
  ...(userId === null ? {} : { userId }),
})

const keyOf = ({ outTradeNo }: PaymentOrder) => ({ key: `payment:${outTradeNo}` })

const reasonOf = ({ status }: Pick<PaymentOrder, 'status'>): SettlementSkip =>
  status === 'success' ? 'local-order-already-paid' : 'order-not-settleable'

const notPending = ({ status }: PaymentOrder) => refusal('order-not-pending', { params: { status }, data: { status } })

function refusedRefund({ status, amount, refundedAmount }: PaymentOrder) {
  if (status !== 'success') return refusal('order-not-paid', { params: { status }, data: { status } })
  const refundable = amount - refundedAmount
  return refusal('refund-exceeds-paid', { params: { refundable }, data: { refundable } })
}
