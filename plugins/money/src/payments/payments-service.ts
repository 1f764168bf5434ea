import { type Database, findPage, incrementBy, insertMissingRows, type PageWindow, updateRows } from '@plinth/database'
import type { Events } from '@plinth/events'
import type { Clock } from '@plinth/kernel'
import type { Ledger } from '../contract.ts'
import {
  type ClaimQuery,
  type PaidOrdersQuery,
  type PayerProof,
  type PaymentFilter,
  type PaymentOrder,
  type PaymentRefund,
  type PaymentSuccessHandler,
  type Payments,
  type PaymentTerms,
  type PaymentTransaction,
  paymentNamed,
  paymentRefunded,
  paymentSucceeded,
  type RefundEffect,
  type RefundRequest,
  type RefundResult,
  type RefundVerifier,
  type Settlement,
  type SettlementOutcome,
  type SettlementSkip,
  type TransactionFilter,
  type TransactionQuery,
  type UnmatchedPayment,
  type UnmatchedRepayment,
} from './contract.ts'
import { businessError } from './declarations.ts'
import { orders, PaymentOrderRow, PaymentTransactionRow, transactions } from './entities.ts'
import { distinctQueryValues, placeholdersFor, readPaidOrders, readPendingClaims } from './order-walks.ts'
import { Refunds } from './refunds.ts'
import {
  assertPayer,
  assertRefund,
  assertSettlement,
  assertTerms,
  assertTransactionHash,
  fingerprintOfTerms,
  unmatchedTypeOf,
} from './terms.ts'
import { type NewTransaction, TransactionRepository } from './transaction-repository.ts'

interface PaymentDependencies {
  readonly db: Database
  readonly events: Pick<Events, 'publish'>
  readonly clock: Pick<Clock, 'now'>
  readonly ledger: Pick<Ledger, 'credit' | 'assets'>
  readonly handlers: ReadonlyMap<string, PaymentSuccessHandler>
  readonly refundVerifiers: ReadonlyMap<string, RefundVerifier>
}

export class PaymentsService implements Payments {
  readonly #parts: PaymentDependencies
  readonly #transactions: TransactionRepository
  readonly #refunds: Refunds

  constructor(parts: PaymentDependencies) {
    this.#parts = parts
    this.#transactions = new TransactionRepository(parts)
    this.#refunds = new Refunds({ ...parts, transactions: this.#transactions })
  }

  async create(terms: PaymentTerms): Promise<PaymentOrder> {
    assertTerms(terms)
    const { db, clock, handlers } = this.#parts
    const { outTradeNo, scene } = terms
    if (!handlers.has(scene)) throw businessError('scene-unknown', { params: { scene }, data: { scene } })
    const fingerprint = fingerprintOfTerms(terms)
    const fresh = { status: 'pending', refundedAmount: 0, version: 1 } as const
    const order = { ...terms, ...fresh, id: db.newId(), fingerprint, createdAt: clock.now() }
    await insertMissingRows(db, PaymentOrderRow, 'outTradeNo', [order])
    const made = await db.fork().findOneOrFail(PaymentOrderRow, { outTradeNo })
    if (made.fingerprint !== fingerprint)
      throw businessError('terms-differ', { params: { outTradeNo }, data: { outTradeNo } })
    return orders.of(made)
  }

  async find(outTradeNo: string, rows: object = {}): Promise<PaymentOrder | undefined> {
    const row = await this.#parts.db.fork().findOne(PaymentOrderRow, { $and: [{ outTradeNo }, rows] })
    return row === null ? undefined : orders.of(row)
  }

  async findMany(outTradeNos: readonly string[]): Promise<ReadonlyMap<string, PaymentOrder>> {
    const expected = distinctQueryValues(outTradeNos)
    if (expected.length === 0) return new Map()
    const found = await orders.select(this.#parts.db, `where out_trade_no in (${placeholdersFor(expected)})`, expected)
    return new Map(found.map((order) => [order.outTradeNo, order]))
  }

  async paidAfter(provider: string, afterId: number, limit: number): Promise<readonly PaymentOrder[]> {
    const [orders = []] = await this.paidWalks(provider, [{ afterId, limit }])
    return orders
  }

  async paidWalks(provider: string, walks: readonly PaidOrdersQuery[]) {
    return readPaidOrders(this.#parts.db, provider, walks)
  }

  async pendingClaims(requested: ClaimQuery) {
    return readPendingClaims(this.#parts.db, requested)
  }

  async transactionsOf(requested: TransactionQuery): Promise<readonly PaymentTransaction[]> {
    const [column, expected] =
      'outTradeNos' in requested
        ? ['out_trade_no', distinctQueryValues(requested.outTradeNos)]
        : ['transaction_hash', distinctQueryValues(requested.transactionHashes)]
    if (expected.length === 0) return []
    const [condition, bound] = 'chainName' in requested ? ['chain_name = ? and ', [requested.chainName]] : ['', []]
    const where = `where ${condition}${column} in (${placeholdersFor(expected)}) order by id`
    return transactions.select(this.#parts.db, where, [...bound, ...expected])
  }

  async get(outTradeNo: string, rows?: object): Promise<PaymentOrder> {
    const order = await this.find(outTradeNo, rows)
    if (order === undefined) throw businessError('order-unknown')
    return order
  }

  async list(filter: PaymentFilter, window: PageWindow) {
    const found = await findPage(this.#parts.db.fork(), PaymentOrderRow, among(filter), window)
    return { ...found, items: found.items.map((row) => orders.of(row)) }
  }

  async transactions(filter: TransactionFilter, window: PageWindow) {
    const found = await findPage(this.#parts.db.fork(), PaymentTransactionRow, among(filter), window)
    return { ...found, items: found.items.map((row) => transactions.of(row)) }
  }

  async close(outTradeNo: string, expectedVersion?: number): Promise<PaymentOrder> {
    const { db } = this.#parts
    const seen = expectedVersion === undefined ? {} : { version: expectedVersion }
    const changes = { status: 'closed', version: incrementBy(1) } as const
    const closed = await updateRows(db, PaymentOrderRow, { outTradeNo, status: 'pending', ...seen }, changes)
    const order = await this.get(outTradeNo)
    const hasChanged = expectedVersion !== undefined && order.status === 'pending'
    if (closed === 0 && order.status !== 'closed' && !hasChanged) throw notPending(order)
    return order
  }

  async attachTransaction(outTradeNo: string, named: string): Promise<PaymentOrder> {
    assertTransactionHash(named)
    // Stored in lower case, because two orders that specify the same transaction must have equal texts.
    const transactionHash = hashPattern.test(named) ? named.toLowerCase() : named
    return this.#parts.db.transactional(() => this.#attach(outTradeNo, transactionHash))
  }

  async #attach(outTradeNo: string, transactionHash: string): Promise<PaymentOrder> {
    const { db, events } = this.#parts
    const attached = await db.execute(
      `update money_payment_order set transaction_hash = ?, version = version + 1
       where out_trade_no = ? and status = 'pending' and (transaction_hash is null or transaction_hash <> ?)`,
      [transactionHash, outTradeNo, transactionHash],
    )
    const order = await this.get(outTradeNo)
    if (attached === 0 && (order.status !== 'pending' || order.transactionHash !== transactionHash)) {
      throw notPending(order)
    }
    if (attached > 0) {
      const key = `payment-named:${outTradeNo}`
      await events.publish(paymentNamed, { ...aboutOf(order), transactionHash }, { key })
    }
    return order
  }

  async provePayer(outTradeNo: string, payer: string, proof: PayerProof): Promise<PaymentOrder> {
    assertPayer(payer)
    const { db } = this.#parts
    const unproven = { outTradeNo, status: 'pending', payer: null } as const
    const proven = await updateRows(db, PaymentOrderRow, unproven, {
      payer,
      payerProof: proof,
      version: incrementBy(1),
    })
    const order = await this.get(outTradeNo)
    if (proven > 0 || order.payer === payer) return order
    if (order.payer !== null) throw businessError('payer-differs', { data: { outTradeNo } })
    throw notPending(order)
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

    const { expectedVersion: _, ...settled } = settlement
    const transaction: NewTransaction = { ...settled, amount: order.amount }
    const transactionId = await this.#transactions.add(transaction)
    if (transactionId === undefined) return skipped('transaction-already-exists')
    const paidAt = clock.now()
    const { id, version } = order
    const changes = { status: 'success', version: incrementBy(1), paidAt, transactionHash } as const
    const changed = await updateRows(db, PaymentOrderRow, { id, status: 'pending', version }, changes)
    if (changed === 0) {
      await this.#transactions.takeBack(transactionId)
      const { status } = await this.get(outTradeNo)
      return skipped(status === 'pending' ? 'order-update-conflict' : reasonOf({ status }))
    }
    const paid = { ...order, status: 'success' as const, version: order.version + 1, paidAt, transactionHash }
    await handler.paid(paid)
    await events.publish(paymentSucceeded, { ...aboutOf(paid), amount: paid.amount, paidAt }, keyOf(paid))
    return { outcome: 'settled', order: paid, transactionId }
  }

  async checkRefund(request: RefundRequest): Promise<PaymentRefund> {
    return this.#refunds.check(await this.get(request.outTradeNo), request)
  }

  async refund(refund: PaymentRefund): Promise<RefundResult> {
    assertRefund(refund)
    return this.#parts.db.transactional(() => this.#refund(refund))
  }

  async #refund(refund: PaymentRefund): Promise<RefundResult> {
    const { db, events, handlers } = this.#parts
    const { outTradeNo, refundNo, amount } = refund
    const before = await this.get(outTradeNo)
    if (!(await this.#refunds.record(before, refund)))
      return { order: await this.get(outTradeNo), owed: 0, replayed: true }
    const refunded = await db.execute(
      // In MariaDB and MySQL an assignment sees the values of earlier assignments, so `status` is assigned before the
      // column that it reads.
      `update money_payment_order set status = case when refunded_amount + ? = amount then 'refunded' else status end,
         refunded_amount = refunded_amount + ?, version = version + 1
       where id = ? and status = 'success' and refunded_amount + ? <= amount`,
      [amount, amount, before.id, amount],
    )
    const order = await this.get(outTradeNo)
    if (refunded === 0) throw rejectedRefund(order)
    const effect = await handlers.get(order.scene)?.refunded?.(order, refund)
    const { refundedAmount } = order
    await events.publish(paymentRefunded, { ...aboutOf(order), refundNo, amount, refundedAmount }, keyOf(order))
    return { order, owed: (effect as RefundEffect | undefined)?.owed ?? 0, replayed: false }
  }

  async creditUnmatched(payment: UnmatchedPayment, reason: string) {
    const { db, ledger } = this.#parts
    const { outTradeNo, eventKey, amount } = payment
    return db.transactional(async () => {
      const { userId, asset } = await this.get(outTradeNo)
      if (userId === null || !ledger.assets.has(asset))
        throw businessError('unmatched-without-account', { params: { asset }, data: { outTradeNo, asset } })
      await this.#useUnmatched(payment)
      const { available } = await ledger.credit({
        owner: { type: 'user', id: String(userId) },
        asset,
        amount,
        key: `unmatched:${eventKey}`,
        kind: 'payment.unmatched',
        reference: { type: 'payment-order', id: outTradeNo },
        reason,
      })
      return { available }
    })
  }

  async checkUnmatchedRepayment(
    payment: UnmatchedPayment,
    request: { readonly transactionHash: string; readonly receiver?: string | undefined },
  ): Promise<UnmatchedRepayment> {
    return this.#refunds.checkRepayment(await this.get(payment.outTradeNo), payment, request)
  }

  async repayUnmatched(repayment: UnmatchedRepayment): Promise<void> {
    await this.#parts.db.transactional(async () => {
      const order = await this.get(repayment.payment.outTradeNo)
      await this.#useUnmatched(repayment.payment)
      await this.#refunds.recordRepayment(order, repayment)
    })
  }

  /** Waits if a concurrent transaction uses the same transfer. */
  async #useUnmatched(payment: UnmatchedPayment): Promise<void> {
    const { outTradeNo, chainName, transactionHash, eventKey, logOrdinal, amount, facts } = payment
    const type = unmatchedTypeOf(payment)
    const row = { outTradeNo, type, transactionHash, eventKey, chainName, logOrdinal, amount, facts }
    if ((await this.#transactions.add(row)) === undefined)
      throw businessError('unmatched-already-used', { data: { eventKey } })
  }
}

const hashPattern = /^0x[0-9a-fA-F]{64}$/

const among = ({ rows = {}, ...filter }: PaymentFilter | TransactionFilter) => ({
  $and: [Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)), rows],
})

const aboutOf = ({ outTradeNo, provider, scene, userId, asset }: PaymentOrder) => ({
  outTradeNo,
  provider,
  scene,
  asset,
  ...(userId === null ? {} : { userId }),
})

const keyOf = ({ outTradeNo }: PaymentOrder) => ({ key: `payment:${outTradeNo}` })

const reasonOf = ({ status }: Pick<PaymentOrder, 'status'>): SettlementSkip =>
  status === 'success' ? 'local-order-already-paid' : 'order-not-settleable'

const notPending = ({ status }: PaymentOrder) =>
  businessError('order-not-pending', { params: { status }, data: { status } })

function rejectedRefund({ status, amount, refundedAmount }: PaymentOrder) {
  if (status !== 'success') return businessError('order-not-paid', { params: { status }, data: { status } })
  const refundable = amount - refundedAmount
  return businessError('refund-exceeds-paid', { params: { refundable }, data: { refundable } })
}
