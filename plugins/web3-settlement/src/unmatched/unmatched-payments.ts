import { createHash } from 'node:crypto'
import { type FoundPage, findPage, insertMissingRows, type NewRow, type PageWindow, rehearse } from '@plinth/database'
import type { PaymentOrder, UnmatchedPayment } from '@plinth/money/payments'
import { findBoundUser } from '../bound-wallets.ts'
import { type Candidate, consumedBy } from '../candidates.ts'
import { businessError } from '../declarations.ts'
import { UnmatchedRow, type UnmatchedSource } from '../entities.ts'
import type { Parts } from '../parts.ts'
import { chainFactChecks } from '../planning/checked-facts.ts'
import { canonicalJson } from '../planning/fingerprint.ts'
import { matterOf } from '../planning/plan-input.ts'
import { isFinal, minorUnitsOf, unmatchedTransfers } from './unmatched-transfers.ts'

export interface UnmatchedFilter {
  readonly outTradeNo?: string
  readonly state?: UnmatchedRow['state']
  readonly kind?: UnmatchedRow['kind']
}

/** Facts about an unmatched payment, which an operator sees before a decision. */
export interface UnmatchedFacts {
  readonly row: UnmatchedRow
  readonly order: PaymentOrder
  /** True if the sender is the proven payer of the order, or if its key is bound to the account of the buyer. */
  readonly isSentByBuyer: boolean
  /** Numbers of other orders that name the same transfer. */
  readonly otherOrders: readonly string[]
  /** Changes with every fact that an operator sees. */
  readonly fingerprint: string
}

export interface Handling {
  readonly userId: number
  /** Fingerprint that the operator saw. Default for a rehearsal: the current one. */
  readonly fingerprint?: string | undefined
  readonly reason: string
  /** True if everything is rolled back, so that only the result is shown. */
  readonly isRehearsal?: boolean | undefined
  /** Returns those of the given orders that the operator may read; undefined if the operator may read all orders. */
  readonly reached: (outTradeNos: readonly string[]) => Promise<ReadonlySet<string> | undefined>
}

export interface Credited {
  readonly row: UnmatchedRow
  /** Minor units that the buyer can spend after the credit. */
  readonly available: number
}

export interface RepaymentRequest {
  readonly transactionHash: string
  readonly receiver?: string | undefined
}

type UnmatchedDependencies = Pick<
  Parts,
  'db' | 'clock' | 'payments' | 'accounts' | 'candidates' | 'claims' | 'needsSecondPerson'
>

/** Transfers that settle no order: finds them, credits them to the buyer, or records their repayment. */
export class UnmatchedPayments {
  readonly #parts: UnmatchedDependencies

  constructor(parts: UnmatchedDependencies) {
    this.#parts = parts
  }

  /**
   * Records the transfers of a transaction that settle no order. Records nothing before the transaction is confirmed.
   *
   * @param source an order names its transaction without permissions, so only transfers of its token are recorded
   * @returns all rows of this order and transaction
   */
  async record(
    { plan, order, input }: Candidate,
    source: UnmatchedSource,
    actorUserId: number | null = null,
  ): Promise<readonly UnmatchedRow[]> {
    const { db, clock, payments } = this.#parts
    const { outTradeNo, chainName, transactionHash } = plan
    if (order === undefined || chainName === null || transactionHash === null || !isFinal(plan.reasons)) return []
    const used = await payments.transactionsOf({ chainName, transactionHashes: [transactionHash] })
    const { expected } = matterOf(input, chainFactChecks)
    const found = unmatchedTransfers(input, used.map(consumedBy))
    const rows = found
      .filter(({ transfer }) => source !== 'order' || transfer.token === expected.token)
      .map(
        ({ kind, transfer, blockNumber }): NewRow<typeof UnmatchedRow> => ({
          id: db.newId(),
          outTradeNo,
          kind,
          state: 'open',
          source,
          chainName,
          transactionHash,
          eventKey: `${chainName}:${transactionHash}:${transfer.logIndex}`,
          logIndex: transfer.logIndex,
          logOrdinal: transfer.ordinal,
          blockNumber,
          token: transfer.token,
          receiver: transfer.to,
          payer: transfer.from,
          amountRaw: String(transfer.value),
          amount: minorUnitsOf(transfer, expected, order),
          actorUserId,
          handledBy: null,
          handledAt: null,
          reason: null,
          repaymentHash: null,
          version: 1,
          createdAt: new Date(clock.now()),
        }),
      )
    if (rows.length > 0) {
      const unique = ['outTradeNo', 'chainName', 'transactionHash', 'logOrdinal'] as const
      await insertMissingRows(db, UnmatchedRow, unique, rows)
    }
    return db.fork().find(UnmatchedRow, { outTradeNo, chainName, transactionHash }, { orderBy: { id: 'asc' } })
  }

  /** @throws BusinessError "404" `web3-settlement.unmatched-payment-unknown` */
  async get(id: number, rows: object = {}): Promise<UnmatchedRow> {
    const row = await this.#parts.db.fork().findOne(UnmatchedRow, { $and: [{ id }, rows] })
    if (row === null) throw businessError('unmatched-payment-unknown')
    return row
  }

  /** Lists rows. @param rows condition `callerLogs(request)` */
  list(where: UnmatchedFilter, rows: object, window: PageWindow): Promise<FoundPage<UnmatchedRow>> {
    return findPage(this.#parts.db.fork(), UnmatchedRow, { $and: [where, rows] }, window)
  }

  /** Returns the facts about an unmatched payment. Queries no chain. */
  async factsOf(row: UnmatchedRow): Promise<UnmatchedFacts> {
    const { db, payments, accounts } = this.#parts
    const order = await payments.get(row.outTradeNo)
    const same = await db.query<{ out_trade_no: string }>(
      `select out_trade_no from web3_unmatched_payment
       where chain_name = ? and transaction_hash = ? and log_ordinal = ? and id <> ? order by id`,
      [row.chainName, row.transactionHash, row.logOrdinal, row.id],
    )
    const otherOrders = same.map(({ out_trade_no }) => out_trade_no)
    const isBound = order.userId !== null && (await findBoundUser(accounts, row.payer)) === order.userId
    const isSentByBuyer = isBound || order.payer === row.payer
    const covered = canonicalJson({
      id: row.id,
      version: row.version,
      state: row.state,
      amount: row.amount ?? null,
      amountRaw: row.amountRaw,
      asset: order.asset,
      userId: order.userId,
      status: order.status,
      isSentByBuyer,
      otherOrders,
    })
    const fingerprint = createHash('sha256').update(covered).digest('hex')
    return { row, order, isSentByBuyer, otherOrders, fingerprint }
  }

  /**
   * Credits an unmatched payment to the account of the buyer. The order does not change.
   *
   * @param rows condition `callerLogs(request)`
   * @param record writes the audit entry in the transaction of the credit
   */
  async credit(
    id: number,
    rows: object,
    handling: Handling,
    record: (row: UnmatchedRow) => Promise<void>,
  ): Promise<Credited> {
    const { payments } = this.#parts
    const { row, order } = await this.#checked(id, rows, handling)
    const { amount } = row
    if (order.userId === handling.userId) throw businessError('own-account')
    if (amount == null || amount === 0) throw businessError('unmatched-payment-not-creditable')
    await this.#assertOnChain(row)
    return this.#run(handling, async () => {
      await this.#claim(row, 'credited', handling)
      const { available } = await payments.creditUnmatched({ ...paymentOf(row), amount }, handling.reason)
      const credited = await this.get(id)
      await record(credited)
      return { row: credited, available }
    })
  }

  /**
   * Records that the shop has returned an unmatched payment. Moves no money.
   *
   * @param rows condition `callerLogs(request)`
   * @param record writes the audit entry in the transaction of the record
   */
  async repay(
    id: number,
    rows: object,
    request: RepaymentRequest,
    handling: Handling,
    record: (row: UnmatchedRow) => Promise<void>,
  ): Promise<UnmatchedRow> {
    const { payments } = this.#parts
    const { row } = await this.#checked(id, rows, handling)
    await this.#assertOnChain(row)
    const repayment = await payments.checkUnmatchedRepayment(paymentOf(row), request)
    return this.#run(handling, async () => {
      await this.#claim(row, 'repaid', handling, repayment.repaymentHash)
      await payments.repayUnmatched(repayment)
      const repaid = await this.get(id)
      await record(repaid)
      return repaid
    })
  }

  /** Reads the row as the operator saw it. */
  async #checked(id: number, rows: object, { userId, fingerprint, reached }: Handling): Promise<UnmatchedFacts> {
    const facts = await this.factsOf(await this.get(id, rows))
    const { row, otherOrders } = facts
    if (row.state !== 'open') throw businessError('unmatched-payment-closed', { data: { state: row.state } })
    if (fingerprint !== undefined && fingerprint !== facts.fingerprint) throw changed(facts.fingerprint)
    if (this.#parts.needsSecondPerson() && row.actorUserId === userId) throw businessError('second-person-required')
    const inScope = otherOrders.length === 0 ? undefined : await reached(otherOrders)
    if (inScope !== undefined && otherOrders.some((one) => !inScope.has(one)))
      throw businessError('other-orders-out-of-scope')
    return facts
  }

  /** Rejects a transfer that is no longer on the chain, or that can settle its order or a pending order that names it. */
  async #assertOnChain(row: UnmatchedRow): Promise<void> {
    const { candidates, claims } = this.#parts
    const { outTradeNo, chainName, transactionHash, logOrdinal } = row
    const pick = { ordinal: logOrdinal }
    const { plan, order } = await candidates.of({ outTradeNo, transactionHash, pick, wasMined: true })
    const { transfer, reasons } = plan
    if (reasons.includes('rpc-query-failed')) throw businessError('chain-not-available')
    const isSame = transfer?.from === row.payer && transfer.to === row.receiver && transfer.value === row.amountRaw
    if (!isFinal(reasons) || !isSame || transfer.token !== row.token) throw changed()
    if (order === undefined) return
    const asked = { hash: transactionHash, order, plan }
    const named = (await claims.read(chainName, [asked]))(asked).claims.some(
      ({ namesTransaction, acceptsTransfer, logIndex }) =>
        namesTransaction && acceptsTransfer && (logIndex === null || logIndex === transfer.logIndex),
    )
    if (named || plan.state === 'ready' || plan.state === 'review_required')
      throw businessError('unmatched-payment-settles-order')
  }

  /** Ends all rows about this transfer in one statement, so that of concurrent decisions one continues. */
  async #claim(
    row: UnmatchedRow,
    state: 'credited' | 'repaid',
    { userId, reason }: Handling,
    repaymentHash: string | null = null,
  ): Promise<void> {
    const { db, clock } = this.#parts
    const { id, version, chainName, transactionHash, logOrdinal } = row
    await db.execute(
      `update web3_unmatched_payment set state = case when id = ? then ? else 'used' end, version = version + 1,
         handled_at = ?
       where chain_name = ? and transaction_hash = ? and log_ordinal = ? and state = 'open'`,
      [id, state, new Date(clock.now()), chainName, transactionHash, logOrdinal],
    )
    const claimed = await db.execute(
      `update web3_unmatched_payment set handled_by = ?, reason = ?, repayment_hash = ?
       where id = ? and version = ? and state = ?`,
      [userId, reason, repaymentHash, id, version + 1, state],
    )
    if (claimed === 0) throw changed()
  }

  /** Ends the rows about a transfer that settled an order. Must be called in the transaction of the settlement. */
  async close(chainName: string, transactionHash: string, logOrdinal: number): Promise<void> {
    const { db, clock } = this.#parts
    await db.execute(
      `update web3_unmatched_payment set state = 'used', version = version + 1, handled_at = ?
       where chain_name = ? and transaction_hash = ? and log_ordinal = ? and state = 'open'`,
      [new Date(clock.now()), chainName, transactionHash, logOrdinal],
    )
  }

  #run<T>({ isRehearsal = false }: Handling, work: () => Promise<T>): Promise<T> {
    const { db } = this.#parts
    return isRehearsal ? rehearse(db, work) : db.transactional(work)
  }
}

const changed = (fingerprint?: string) =>
  businessError('unmatched-payment-changed', fingerprint === undefined ? {} : { data: { fingerprint } })

const paymentOf = (row: UnmatchedRow): UnmatchedPayment => ({
  outTradeNo: row.outTradeNo,
  chainName: row.chainName,
  transactionHash: row.transactionHash,
  eventKey: row.eventKey,
  logOrdinal: row.logOrdinal,
  amount: row.amount ?? 0,
  facts: {
    kind: row.kind,
    blockNumber: row.blockNumber,
    logIndex: row.logIndex,
    from: row.payer,
    to: row.receiver,
    token: row.token,
    value: row.amountRaw,
  },
})
