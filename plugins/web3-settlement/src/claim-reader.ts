import type { PaymentClaim, PaymentOrder } from '@plinth/money/payments'
import type { Parts } from './parts.ts'
import type { SettlementPlan } from './planning/plan.ts'
import type { TransferClaim } from './planning/transfers.ts'

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
}

interface ReviewClaim {
  readonly hash: string
  readonly logIndex: number | null
  readonly order: PaymentOrder
}

type ClaimDependencies = Pick<Parts, 'db' | 'payments'>

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
    if (claimed.length === 0) return () => ({ claims: [], hasMoreClaims: false })
    const transactionHashes = [...new Set(claimed.map(({ hash }) => hash))]
    const payers = [...new Set(claimed.flatMap(({ plan }) => plan.transfer?.from ?? []))]
    const [orders, reviews] = await Promise.all([
      this.#parts.payments.pendingClaims({ chainName, transactionHashes, payers }),
      this.#openReviews(chainName, transactionHashes),
    ])
    return ({ hash, order, plan }) => {
      const named = reviews.found.filter((review) => review.hash === hash)
      const about = orders.filter((claim) => isAbout(claim, hash, plan.transfer?.from))
      const claims = [
        ...about.flatMap((claim) => claimsOf(claim, order)),
        ...named.map(({ logIndex, order: other }) => ({
          outTradeNo: other.outTradeNo,
          orderId: other.id,
          namesTransaction: true,
          payer: other.payer,
          // An order that specifies the transaction claims all logs of the transaction.
          logIndex: other.transactionHash === hash ? null : logIndex,
          hasEqualTerms: hasEqualTerms(other, order),
        })),
      ]
      return { claims, hasMoreClaims: reviews.isCut || about.some(({ newest, total }) => newest.length < total) }
    }
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

/**
 * True if a claim concerns this transaction. A claim by payer does not apply if its order specifies another
 * transaction.
 */
const isAbout = ({ transactionHash, payer }: PaymentClaim, hash: string, sender: string | undefined) =>
  payer === null ? transactionHash === hash : payer === sender && (transactionHash === hash || transactionHash === null)

/** Converts a group of claims to one claim for each order, without the claim of the given order. */
const claimsOf = (claim: PaymentClaim, order: PaymentOrder): readonly TransferClaim[] =>
  claim.newest
    .filter(({ outTradeNo }) => outTradeNo !== order.outTradeNo)
    .map(({ id, outTradeNo }) => ({
      outTradeNo,
      orderId: id,
      namesTransaction: claim.transactionHash !== null,
      logIndex: null,
      payer: claim.payer,
      hasEqualTerms: hasEqualTerms(claim, order),
    }))

type Terms = Pick<PaymentOrder, 'tokenContract' | 'receiver' | 'amountRaw'>

const hasEqualTerms = (one: Terms, other: Terms) =>
  one.amountRaw === other.amountRaw &&
  one.tokenContract?.toLowerCase() === other.tokenContract?.toLowerCase() &&
  one.receiver?.toLowerCase() === other.receiver?.toLowerCase()
