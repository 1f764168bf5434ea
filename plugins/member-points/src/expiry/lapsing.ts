import { type Database, type Selected, selectionOf } from '@plinth/database'
import type { BatchResult, Ledger } from '@plinth/money'
import { SourceRow } from '../entities.ts'
import { type ExpiryDetails, splitIdsIntoLists } from '../lots/lot-moves.ts'
import type { Parts } from '../parts.ts'

/** Columns of sources with expired points. They are read before the accounts are locked. */
export const expiredSources = selectionOf(SourceRow).pick('id', 'accountId', 'expiresAt')
export type ExpiredSource = Selected<typeof expiredSources>

const remainingPointsSources = selectionOf(SourceRow).pick('id', 'accountId', 'remaining', 'expired')
type RemainingPointsSource = Selected<typeof remainingPointsSources>

export const expiryPageSize = 500
/** Maximum number of pages per call for one account. The scheduled scan expires the remaining points. */
const maxPages = 20

/** Debits expired points, one page per transaction. */
export class PointsExpiry {
  readonly #db: Database
  readonly #ledger: Ledger

  constructor({ db, ledger }: Pick<Parts, 'db' | 'ledger'>) {
    this.#db = db
    this.#ledger = ledger
  }

  /**
   * Debits the expired points of sources. Each source has its own idempotency key, so it expires once. Points on hold
   * are not debited.
   *
   * @param sources at most `expiryPageSize`
   */
  async expire(asset: string, sources: readonly ExpiredSource[]): Promise<BatchResult> {
    const ids = sources.map(({ id }) => id)
    return this.#ledger.batch({
      asset,
      kind: 'points.expire',
      direction: 'debit',
      counter: 'expired',
      accountIds: [...new Set(sources.map(({ accountId }) => accountId))],
      // Members may have spent points before the lock.
      postings: async () => {
        const rows = await this.#remaining(ids)
        return rows.map(({ id, accountId, remaining, expired }) => {
          const details: ExpiryDetails = { lapsed: { sourceId: id } }
          return {
            accountId,
            amount: remaining,
            // Points of a source that were on hold can expire later than its other points, so this second posting needs
            // another key.
            key: `member-points:expire:${id}${expired === 0 ? '' : `:${expired}`}`,
            reference: { type: 'points-source', id: String(id) },
            lots: details,
          }
        })
      },
    })
  }

  /**
   * Releases the expired holds of an account, and then debits its expired points, before points are taken. This remains
   * if the taking is rejected, unless the caller has a transaction.
   */
  async prepareDebit(accountId: number, asset: string, at: number): Promise<void> {
    const prepare = async () => {
      await this.#ledger.releaseExpiredHolds(accountId)
      await this.sweep(accountId, asset, at)
    }
    await (this.#db.inTransaction ? prepare() : this.#db.withFirstStatement(undefined, prepare))
  }

  /**
   * Debits all expired points of an account, so that its balance contains only points that can be spent. @returns the
   * number of sources
   */
  async sweep(accountId: number, asset: string, at: number): Promise<number> {
    let found = 0
    for (let page = 0; page < maxPages; page++) {
      const sources = await expiredSources.select(
        this.#db,
        `where account_id = ? and status = 'active' and expires_at <= ? and remaining > 0
         order by expires_at, id limit ${expiryPageSize}`,
        [accountId, at],
      )
      if (sources.length === 0) break
      found += sources.length
      await this.expire(asset, sources)
      if (sources.length < expiryPageSize) break
    }
    return found
  }

  async #remaining(ids: readonly number[]): Promise<readonly RemainingPointsSource[]> {
    const found: RemainingPointsSource[] = []
    for (const list of splitIdsIntoLists(ids)) {
      const places = list.map(() => '?').join(', ')
      found.push(
        ...(await remainingPointsSources.select(
          this.#db,
          `where id in (${places}) and status = 'active' and remaining > 0`,
          list,
        )),
      )
    }
    return found
  }
}
