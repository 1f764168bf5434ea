import { type Database, exactInteger } from '@plinth/database'
import type { BatchResult, Ledger } from '@plinth/money'
import type { ExpiryDetails } from '../lots/lot-moves.ts'
import type { Parts } from '../parts.ts'

/** A source that has lapsed, before its account is locked. */
export interface LapsedSource {
  readonly id: number
  readonly accountId: number
  readonly expiresAt: number
}

/** Sources of one transaction. */
export const lapsePage = 500
/** Pages that one account is swept at once; the scheduled scan does the rest. */
const mostPages = 20

/** Takes points that have lapsed from their accounts, a page in one transaction. */
export class Lapsing {
  readonly #db: Database
  readonly #ledger: Ledger

  constructor({ db, ledger }: Pick<Parts, 'db' | 'ledger'>) {
    this.#db = db
    this.#ledger = ledger
  }

  /**
   * Lets sources of one asset lapse: each is a journal of its own, and its key lets no point lapse twice. What is held stays.
   *
   * @param sources at most `lapsePage`
   */
  async expire(asset: string, sources: readonly LapsedSource[]): Promise<BatchResult> {
    const ids = sources.map(({ id }) => id)
    return this.#ledger.batch({
      asset,
      kind: 'points.expire',
      direction: 'debit',
      counter: 'expired',
      accountIds: [...new Set(sources.map(({ accountId }) => accountId))],
      // Read under the locks: a spend may have been quicker.
      postings: async () => {
        const rows = await this.#remaining(ids)
        return rows.map((row) => {
          const [id, expired] = [exactInteger(row['id']), exactInteger(row['expired'])]
          const details: ExpiryDetails = { lapsed: { sourceId: id } }
          return {
            accountId: exactInteger(row['account_id']),
            amount: exactInteger(row['remaining']),
            // Units that were held when the source lapsed lapse when they come back.
            key: `member-points:expire:${id}${expired === 0 ? '' : `:${expired}`}`,
            reference: { type: 'points-source', id: String(id) },
            lots: details,
          }
        })
      },
    })
  }

  /** Lets what has lapsed of one account lapse now, so that the balance is what can be spent. @returns sources that were found */
  async sweep(accountId: number, asset: string, at: number): Promise<number> {
    let found = 0
    for (let page = 0; page < mostPages; page++) {
      const rows = await this.#db.query<Record<string, unknown>>(
        `select id, expires_at from points_source
         where account_id = ? and status = 'active' and expires_at <= ? and remaining > 0
         order by expires_at, id limit ${lapsePage}`,
        [accountId, at],
      )
      if (rows.length === 0) break
      found += rows.length
      const sources = rows.map((row) => ({
        id: exactInteger(row['id']),
        accountId,
        expiresAt: exactInteger(row['expires_at']),
      }))
      await this.expire(asset, sources)
      if (rows.length < lapsePage) break
    }
    return found
  }

  async #remaining(ids: readonly number[]): Promise<readonly Record<string, unknown>[]> {
    const places = [...ids, ...Array<number>(paddingOf(ids.length)).fill(ids.at(-1) as number)]
    const rows = await this.#db.query<Record<string, unknown>>(
      `select id, account_id, remaining, expired from points_source
       where id in (${places.map(() => '?').join(', ')}) and status = 'active' and remaining > 0`,
      places,
    )
    return rows
  }
}

/** Few lengths of the list keep the number of prepared texts small. */
const paddingOf = (length: number) => ([1, 5, 50].find((size) => size >= length) ?? lapsePage) - length
