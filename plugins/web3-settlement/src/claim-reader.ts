import type { ClaimOrder, ClaimQuery, PaymentClaim, PaymentOrder } from '@plinth/money/payments'
import { findBoundUser } from './bound-wallets.ts'
import type { Parts } from './parts.ts'
import type { SettlementPlan } from './planning/plan.ts'
import { addressOf, amountOf } from './planning/plan-input.ts'
import { acceptsAmount, type Transfer, type TransferClaim } from './planning/transfers.ts'

/** An order whose plan does not include the claims of other orders yet. */
export interface ClaimedOrder {
  readonly hash: string
  readonly order: PaymentOrder
  readonly plan: SettlementPlan
}

interface ReadClaims {
  readonly claims: readonly TransferClaim[]
  /** True if `claims` does not list all orders that claim the transaction. */
  readonly hasMoreClaims: boolean
  /** True if the sender of the transfer is bound by key to the account of the buyer. */
  readonly isSentByBuyer: boolean
}

interface ReviewClaim {
  readonly hash: string
  readonly logIndex: number | null
  readonly order: PaymentOrder
}

type Claimed = Pick<Transfer, 'to' | 'token' | 'value'>
type Terms = Pick<PaymentOrder, 'tokenContract' | 'receiver' | 'amountRaw'>

type ClaimDependencies = Pick<Parts, 'db' | 'payments' | 'accounts' | 'amountTolerance'>

/** Maximum number of reviews that are read. More are unlikely, because operators save each review manually. */
const maxReviews = 2_000
const maxOrdersAtOnce = 200

/** Reads which other orders claim the same transfers. */
export class ClaimReader {
  readonly #parts: ClaimDependencies

  constructor(parts: ClaimDependencies) {
    this.#parts = parts
  }

  /**
   * Reads the claims on the transfers of several orders, which must all be on this chain.
   *
   * @returns a function that returns the claims for one order
   */
  async read(chainName: string, claimed: readonly ClaimedOrder[]): Promise<(one: ClaimedOrder) => ReadClaims> {
    if (claimed.length === 0) return () => ({ claims: [], hasMoreClaims: false, isSentByBuyer: false })
    const transactionHashes = [...new Set(claimed.map(({ hash }) => hash))]
    const payers = [...new Set(claimed.flatMap(({ plan }) => plan.transfer?.from ?? []))]
    const users = await this.#usersOf(payers)
    const userIds = [...new Set(users.values())]
    const tolerance = this.#parts.amountTolerance()
    const terms = termsOf(
      claimed.flatMap((one) => transferOf(one) ?? []),
      tolerance,
    )
    const [orders, reviews] = await Promise.all([
      this.#parts.payments.pendingClaims({ chainName, transactionHashes, payers, userIds, terms }),
      this.#openReviews(chainName, transactionHashes),
    ])
    return (one) => {
      const { hash, order, plan } = one
      const sender = plan.transfer?.from
      const user = sender === undefined ? undefined : users.get(sender)
      const transfer = transferOf(one)
      const accepts = (other: Terms) => transfer !== undefined && acceptsTransfer(other, transfer, tolerance)
      const payerOf = ({ userId, payer }: Pick<ClaimOrder, 'userId' | 'payer'>) =>
        sender !== undefined && user !== undefined && userId === user ? sender : payer
      const named = reviews.found.filter((review) => review.hash === hash)
      const about = orders.filter((claim) => accepts(claim) && isAbout(claim, hash, sender, user))
      const claims = [
        ...about.flatMap(({ transactionHash, newest }) =>
          newest.map((other) => ({
            outTradeNo: other.outTradeNo,
            orderId: other.id,
            namesTransaction: transactionHash !== null,
            logIndex: null,
            payer: payerOf(other),
            acceptsTransfer: true,
          })),
        ),
        ...named.map(({ logIndex, order: other }) => ({
          outTradeNo: other.outTradeNo,
          orderId: other.id,
          namesTransaction: true,
          payer: payerOf(other),
          // An order that specifies the transaction claims all logs of the transaction.
          logIndex: other.transactionHash === hash ? null : logIndex,
          acceptsTransfer: accepts(other),
        })),
      ]
      return {
        claims: claims.filter(({ outTradeNo }) => outTradeNo !== order.outTradeNo),
        hasMoreClaims: reviews.isCut || about.some(({ newest, total }) => newest.length < total),
        isSentByBuyer: user !== undefined && order.userId === user,
      }
    }
  }

  /** Returns the users to whose accounts the addresses are bound by key. */
  async #usersOf(addresses: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const users = new Map<string, number>()
    for (const address of addresses) {
      const userId = await findBoundUser(this.#parts.accounts, address)
      if (userId !== undefined) users.set(address, userId)
    }
    return users
  }

  /** Returns reviews of pending orders that can still settle these orders. */
  async #openReviews(
    chainName: string,
    hashes: readonly string[],
  ): Promise<{ readonly found: readonly ReviewClaim[]; readonly isCut: boolean }> {
    const { db, payments } = this.#parts
    const rows = await db.query<{ hash: string; log_index: unknown; out_trade_no: string }>(
      `select distinct transaction_hash as hash, log_index, out_trade_no from web3_settlement_review_log
       where transaction_hash in (${hashes.map(() => '?').join(', ')}) and status in ('open', 'approved')
         and action in ('settle', 'auto-approve') and chain_name = ? limit ${maxReviews}`,
      [...hashes, chainName],
    )
    const numbers = [...new Set(rows.map((row) => row.out_trade_no))]
    const orders = new Map<string, PaymentOrder>()
    for (let from = 0; from < numbers.length; from += maxOrdersAtOnce) {
      for (const one of await payments.findMany(numbers.slice(from, from + maxOrdersAtOnce))) orders.set(...one)
    }
    const found = rows.flatMap(({ hash, log_index, out_trade_no }) => {
      const order = orders.get(out_trade_no)
      if (order?.status !== 'pending') return []
      return [{ hash, order, logIndex: log_index == null ? null : Number(log_index) }]
    })
    return { found, isCut: rows.length === maxReviews }
  }
}

/** True if a claim concerns this transaction. An order that specifies another transaction claims only that one. */
const isAbout = (
  { transactionHash, payer, userId }: PaymentClaim,
  hash: string,
  sender: string | undefined,
  user: number | undefined,
) => {
  if (payer === null && userId === null) return transactionHash === hash
  const isOfSender = payer !== null ? payer === sender : userId === user
  return isOfSender && (transactionHash === hash || transactionHash === null)
}

/** Returns the transfer of a plan; without one, the transfer that the order expects; undefined if it lacks terms. */
function transferOf({ plan, order }: ClaimedOrder): Claimed | undefined {
  if (plan.transfer !== null) return { ...plan.transfer, value: BigInt(plan.transfer.value) }
  const [token, to, value] = [addressOf(order.tokenContract), addressOf(order.receiver), amountOf(order.amountRaw)]
  return token === null || to === null || value === null ? undefined : { token, to, value }
}

/** An order that lacks a term accepts no transfer, because it cannot be settled. */
function acceptsTransfer(
  { tokenContract, receiver, amountRaw }: Terms,
  { token, to, value }: Claimed,
  tolerance: number,
): boolean {
  const amount = amountOf(amountRaw)
  const isTo = addressOf(tokenContract) === token && addressOf(receiver) === to
  return isTo && amount !== null && acceptsAmount(amount, value, tolerance)
}

/** With a tolerance, orders of any amount are read. */
const termsOf = (transfers: readonly Claimed[], tolerance: number): NonNullable<ClaimQuery['terms']> => ({
  tokenContracts: [...new Set(transfers.map(({ token }) => token))],
  receivers: [...new Set(transfers.map(({ to }) => to))],
  amountsRaw: tolerance > 0 ? undefined : [...new Set(transfers.map(({ value }) => String(value)))],
})
