import type { ReviewLog } from '../entities.ts'
import type { Parts } from '../parts.ts'
import type { Reviewer } from './review-logs.ts'

type SaverParts = Pick<Parts, 'db' | 'accounts' | 'attempts' | 'needsSecondPerson'>

/** The saver of a review, and the consequences for its settlement. */
export class Savers {
  readonly #parts: SaverParts

  constructor(parts: SaverParts) {
    this.#parts = parts
  }

  /**
   * Why a review must not be settled automatically (decision F.14): its saver cannot sign in any more, or a second person is
   * needed and has not tried to settle it yet.
   */
  async obstacleOf(log: ReviewLog): Promise<'saver-not-active' | 'second-person-required' | undefined> {
    const { accounts, attempts, needsSecondPerson } = this.#parts
    const saver = await this.#saverOf(log)
    if (saver === null) return undefined
    if ((await accounts.find(saver))?.enabled !== true) return 'saver-not-active'
    if (needsSecondPerson() && !(await attempts.wasTriedBySecond(log, saver))) return 'second-person-required'
    return undefined
  }

  /** Whether a second person is needed to settle the review, and the reviewer is the one who saved it. */
  async isOnlyPerson(log: ReviewLog, { userId }: Reviewer): Promise<boolean> {
    return userId !== null && this.#parts.needsSecondPerson() && (await this.#saverOf(log)) === userId
  }

  /** The user who saved the review, or the review that it follows from. */
  async #saverOf({ actorUserId, sourceLogId }: ReviewLog): Promise<number | null> {
    if (actorUserId != null || sourceLogId == null) return actorUserId ?? null
    const [source] = await this.#parts.db.query<{ actor_user_id: unknown }>(
      'select actor_user_id from web3_settlement_review_log where id = ?',
      [sourceLogId],
    )
    return source?.actor_user_id == null ? null : Number(source.actor_user_id)
  }
}
