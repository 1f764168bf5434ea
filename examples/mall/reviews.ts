import { type Database, insertMissingRows } from '@plinth/database'
import { type Events, reviewReward } from '@plinth/events'
import type { Clock } from '@plinth/kernel'
import { businessError } from './declarations.ts'
import { Review } from './entities.ts'
import type { Orders } from './orders.ts'

/** Rating and text that a customer writes. */
interface Opinion {
  /** 1 to 5. */
  readonly rating: number
  /** At most 500 characters. */
  readonly body: string
}

interface ReviewDependencies {
  readonly db: Database
  readonly events: Pick<Events, 'publish'>
  readonly clock: Pick<Clock, 'now'>
  readonly orders: Orders
}

/** Minimum number of characters of a review that is rewarded. */
const minRewardedLength = 10

/** Reviews by customers: one per line of a paid order. A customer may change a review. */
export class Reviews {
  readonly #parts: ReviewDependencies

  constructor(parts: ReviewDependencies) {
    this.#parts = parts
  }

  /**
   * Creates or replaces the review of an order line. The event `review-reward` is published once, when the text is long
   * enough for the first time.
   * @throws BusinessError "404" `mall.order-unknown`, `mall.line-unknown`, "409" `mall.order-not-paid`
   */
  save(userId: number, orderNo: string, lineId: number, { rating, body }: Opinion): Promise<Review> {
    const { db, events, clock, orders } = this.#parts
    return db.transactional(async () => {
      const now = new Date(clock.now())
      const { order, lines } = await orders.get(orderNo, userId)
      const { status } = order
      if (status !== 'paid' && status !== 'shipped') {
        throw businessError('order-not-paid', { params: { status }, data: { status } })
      }
      const line = lines.find(({ id }) => id === lineId)
      if (line === undefined) throw businessError('line-unknown')
      const { goodsId } = line
      const first = { lineId, goodsId, userId, rating, body, rewarded: false, createdAt: now, updatedAt: now }
      await insertMissingRows(db, Review, 'lineId', [{ ...first, id: db.newId() }])
      await db.execute('update mall_review set rating = ?, body = ?, updated_at = ? where line_id = ?', [
        rating,
        body,
        now,
        lineId,
      ])
      const review = await db.fork().findOneOrFail(Review, { lineId })
      if ([...body.trim()].length < minRewardedLength) return review
      const isFirst = await db.execute('update mall_review set rewarded = ? where id = ? and rewarded = ?', [
        true,
        review.id,
        false,
      ])
      if (isFirst === 1) {
        await events.publish(reviewReward, { userId, reviewId: String(review.id) }, { key: `order:${orderNo}` })
      }
      return review
    })
  }
}
