/**
 * Runs random payments, blocks, reorganisations, reviews, settlements and audits, and compares the product with a model
 * of the chain and the shop.
 */
import { onSqlite } from '@plinth/dev/testing/database'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { paidChainFacts } from './fixtures/doubles.ts'
import { adminWeb3Path, startSettlement } from './fixtures/product.ts'
import { transferLog } from './fixtures/ready-case.ts'

const required = 3

interface Block {
  readonly hash: string
  readonly transactions: readonly string[]
}

/** Position of a transaction. The same payment in another position needs another review. */
interface Place {
  readonly block: string
  readonly number: number
  readonly index: number
}

/** A model of a chain. */
class PaperChain {
  blocks: Block[] = []
  waiting: string[] = []
  #made = 0

  get head(): number {
    return this.blocks.length
  }

  mine(transactions: readonly string[] = []): void {
    this.#made += 1
    this.blocks.push({ hash: `0x${this.#made.toString(16).padStart(64, 'b')}`, transactions })
  }

  /** Adds blocks. The first of them contains the waiting transactions. */
  mineWaiting(blocks: number): void {
    this.mine(this.waiting.splice(0))
    for (let more = 1; more < blocks; more++) this.mine()
  }

  /**
   * Replaces the newest blocks.
   * @param fate what happens to the transactions of the dropped blocks
   */
  reorganise(depth: number, fate: 'gone' | 'waiting' | 'moved'): void {
    const dropped = this.blocks.splice(Math.max(0, this.head - depth))
    const transactions = dropped.flatMap((block) => block.transactions)
    if (fate === 'waiting') this.waiting.push(...transactions)
    // The transactions are put into the first new block in reverse order, so that their positions change.
    for (let made = 0; made < dropped.length; made++) {
      this.mine(made === 0 && fate === 'moved' ? transactions.reverse() : [])
    }
  }

  placeOf(transaction: string): Place | undefined {
    for (const [at, { hash, transactions }] of this.blocks.entries()) {
      const index = transactions.indexOf(transaction)
      if (index >= 0) return { block: hash, number: at + 1, index }
    }
    return undefined
  }

  confirmationsOf(transaction: string): number {
    const place = this.placeOf(transaction)
    return place === undefined ? 0 : this.head - place.number + 1
  }

  /** Returns what a correct node reports about the transaction. */
  said(transaction: string) {
    const place = this.placeOf(transaction)
    const { head } = this
    if (place === undefined)
      return paidChainFacts(transaction, { head, receipt: null, canonicalBlockHash: null, transaction: null })
    const { block: blockHash, number: blockNumber, index } = place
    const logs = [{ ...transferLog(index), transactionHash: transaction, blockHash }]
    return paidChainFacts(transaction, {
      head,
      canonicalBlockHash: blockHash,
      transaction: { hash: transaction, blockHash, blockNumber },
      receipt: { blockHash, blockNumber, logs },
    })
  }
}

type Step =
  | { readonly what: 'pay' | 'plan' | 'review' | 'settle'; readonly order: number }
  | { readonly what: 'mine'; readonly blocks: number }
  | { readonly what: 'reorganise'; readonly depth: number; readonly fate: 'gone' | 'waiting' | 'moved' }
  | { readonly what: 'audit' }

const order = fc.integer({ min: 0, max: 3 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ what: fc.constant('pay' as const), order }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constant('mine' as const), blocks: fc.integer({ min: 1, max: 3 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant('reorganise' as const),
      depth: fc.integer({ min: 1, max: 5 }),
      fate: fc.constantFrom('gone' as const, 'waiting' as const, 'moved' as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('plan' as const), order }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constant('review' as const), order }) },
  { weight: 5, arbitrary: fc.record({ what: fc.constant('settle' as const), order }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('audit' as const) }) },
)

/** A complete sequence of steps, because random steps rarely complete a payment. */
const wholeWay = fc.record({ order, blocks: fc.integer({ min: 2, max: 3 }) }).map(({ order, blocks }): Step[] => [
  { what: 'pay', order },
  { what: 'mine', blocks },
  { what: 'review', order },
  { what: 'settle', order },
])
/** Steps in which a payment moves, and which settle it without a review, or with a review of its earlier position. */
const movedMeanwhile = fc
  .record({ order, fate: fc.constantFrom('gone' as const, 'waiting' as const, 'moved' as const) })
  .map(({ order, fate }): Step[] => [
    { what: 'pay', order },
    { what: 'mine', blocks: 3 },
    { what: 'review', order },
    { what: 'reorganise', depth: 3, fate },
    { what: 'mine', blocks: 3 },
    { what: 'settle', order },
  ])
/** Steps in which a payment is lost after its settlement. The payment may return. */
const lostAfterwards = fc
  .record({ order, depth: fc.integer({ min: 1, max: 5 }), fate: fc.constantFrom('gone' as const, 'moved' as const) })
  .map(({ order, depth, fate }): Step[] => [
    { what: 'pay', order },
    { what: 'mine', blocks: 3 },
    { what: 'review', order },
    { what: 'settle', order },
    { what: 'reorganise', depth, fate },
    { what: 'audit' },
  ])
const walk = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: step.map((one) => [one]) },
      { weight: 1, arbitrary: wholeWay },
      { weight: 1, arbitrary: movedMeanwhile },
      { weight: 1, arbitrary: lostAfterwards },
    ),
    { minLength: 8, maxLength: 25 },
  )
  .map((parts) => parts.flat())

onSqlite(
  t,
  'S-016 S-017 S-023 S-026 S-057 S-080 whatever happens on a chain, an order is settled once, by a confirmed payment',
  async (t: Test, at) => {
    const { world, call, rows, paidOrder, save, settle, statusOf } = await startSettlement(t, at)
    let settlements = 0
    let risks = 0
    const equal = (found: unknown, expected: unknown, what: string) => {
      if (JSON.stringify(found) !== JSON.stringify(expected)) {
        throw new Error(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`)
      }
    }
    await fc.assert(
      fc.asyncProperty(walk, async (steps) => {
        const chain = new PaperChain()
        for (let block = 0; block < 6; block++) chain.mine()
        // The last order refers to the transaction of the first order.
        const orders: { outTradeNo: string; transaction: string }[] = []
        for (let number = 0; number < 4; number++) {
          const claimed = orders[0]?.transaction
          const { outTradeNo, transactionHash } = await paidOrder(
            number === 3 && claimed !== undefined ? { transactionHash: claimed } : {},
          )
          const transaction = String(transactionHash)
          world.answers.set(transaction, () => chain.said(transaction))
          orders.push({ outTradeNo, transaction })
        }
        const paid = new Set<number>()
        const settledAt = new Map<number, string>()
        const reviews = new Map<number, { id: number; place: Place | undefined }>()
        const isUsed = (transaction: string) =>
          orders.some((one, at) => paid.has(at) && one.transaction === transaction)

        for (const one of steps) {
          if (one.what === 'mine') chain.mineWaiting(one.blocks)
          else if (one.what === 'reorganise') chain.reorganise(one.depth, one.fate)
          else if (one.what === 'audit') {
            const numbers = [...paid].map((at) => orders[at]?.outTradeNo)
            if (numbers.length === 0) continue
            const { data } = await call('POST', `${adminWeb3Path}/payment-confirmations/settled-audits`, {
              outTradeNos: numbers,
            })
            const expected = [...paid].filter((at) => {
              const { transaction } = orders[at] ?? { transaction: '' }
              const isMoved = JSON.stringify(chain.placeOf(transaction)) !== settledAt.get(at)
              return isMoved || chain.confirmationsOf(transaction) < required
            })
            equal([data.audited, data.risky], [numbers.length, expected.length], 'audit')
            risks += expected.length
          } else {
            const { outTradeNo, transaction } = orders[one.order] ?? { outTradeNo: '', transaction: '' }
            const place = chain.placeOf(transaction)
            const confirmations = chain.confirmationsOf(transaction)
            // The first and the last order refer to the same transaction. While both are unpaid, an operator must
            // decide.
            const rival = [3, undefined, undefined, 0][one.order]
            const isContested = rival !== undefined && !paid.has(rival) && !paid.has(one.order)
            const isReady = confirmations >= required && !isUsed(transaction) && !paid.has(one.order)
            if (one.what === 'pay') {
              if (place === undefined && !chain.waiting.includes(transaction)) chain.waiting.push(transaction)
            } else if (one.what === 'plan') {
              const { data } = await call('POST', `${adminWeb3Path}/payment-confirmations`, { outTradeNo })
              const expected =
                paid.has(one.order) || (place !== undefined && isUsed(transaction))
                  ? 'blocked'
                  : place === undefined
                    ? 'pending'
                    : isReady
                      ? isContested
                        ? 'review_required'
                        : 'ready'
                      : 'confirming'
              equal([data.state, data.confirmations], [expected, place === undefined ? null : confirmations], 'plan')
            } else if (one.what === 'review') {
              reviews.set(one.order, { id: (await save(outTradeNo)).data.id, place })
            } else {
              const review = reviews.get(one.order)
              if (review === undefined) continue
              const isAsReviewed = place !== undefined && JSON.stringify(place) === JSON.stringify(review.place)
              const { data } = await settle(review.id, 'settle', undefined, true)
              equal(
                data.outcome,
                isReady && isAsReviewed ? 'settled' : 'skipped',
                `settle, ${JSON.stringify(data.reasons)}`,
              )
              if (data.outcome === 'settled') {
                paid.add(one.order)
                settledAt.set(one.order, JSON.stringify(place))
                settlements += 1
              }
            }
          }
        }
        for (const [at, { outTradeNo }] of orders.entries()) {
          equal(await statusOf(outTradeNo), paid.has(at) ? 'success' : 'pending', outTradeNo)
          const effects = await rows(`select count(*) as n from test_effect where out_trade_no = '${outTradeNo}'`)
          equal(Number(effects[0]?.['n']), paid.has(at) ? 1 : 0, `effects of ${outTradeNo}`)
        }
      }),
      { numRuns: 40 },
    )
    t.ok(settlements >= 10, `${settlements} settlements`)
    t.ok(risks > 0, `${risks} risks`)
    const [used] = await rows(
      'select count(*) as n, count(distinct transaction_hash) as hashes from money_payment_transaction',
    )
    t.same([Number(used?.['n']), Number(used?.['hashes'])], [settlements, settlements], 'each payment is used once')
  },
)
