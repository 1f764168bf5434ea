import { type Database, insertMissingRows, type NewRow, type Selected, selectionOf } from '@plinth/database'
import type { LotMovement } from '@plinth/money'
import { SourceRow, SourceUseRow } from '../entities.ts'

/** Lengths of lists of ids. Few lengths mean few distinct statements to prepare. */
const listSizes = [500, 50, 5, 1] as const

/** Divides ids into lists with the lengths of `listSizes`. Repeats the last id to fill a list. */
export function splitIdsIntoLists(ids: readonly number[]): readonly (readonly number[])[] {
  const lists: number[][] = []
  for (let from = 0; from < ids.length; ) {
    const left = ids.length - from
    const size = left >= listSizes[0] ? listSizes[0] : (listSizes.findLast((size) => size >= left) ?? 1)
    const part = ids.slice(from, from + size)
    from += part.length
    lists.push([...part, ...Array<number>(size - part.length).fill(part.at(-1) as number)])
  }
  return lists
}

/** Value of `lots` in a credit. */
export interface GrantDetails {
  readonly source: { readonly id: number; readonly type: string; readonly key: string }
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
  readonly rule?: { readonly code: string; readonly version: number }
}

/** `lots` of a debit that takes points back, first from the source that granted them. */
export interface ReversalDetails {
  readonly reversed: { readonly sourceId: number | null }
}

/** `lots` of a debit for expired points. */
export interface ExpiryDetails {
  readonly lapsed: { readonly sourceId: number }
}

/** `lots` of a debit that takes claimed points after their hold. */
export interface ClaimDetails {
  readonly claimed: readonly { readonly sourceId: number; readonly units: number }[]
}

const has = (detail: unknown, member: string) =>
  typeof detail === 'object' && detail !== null && Object.hasOwn(detail, member)

export const isGrant = (detail: unknown): detail is GrantDetails => has(detail, 'source')
export const isReversal = (detail: unknown): detail is ReversalDetails => has(detail, 'reversed')
export const isClaim = (detail: unknown): detail is ClaimDetails => has(detail, 'claimed')
export const isExpiry = (detail: unknown): detail is ExpiryDetails => has(detail, 'lapsed')

const table = 'points_source'
const pageSize = 500

type Taking = 'spend' | 'reverse' | 'hold'

/**
 * For each way to take points: the column that increases, and the status of the source when no points are available any
 * more.
 */
const takings = {
  spend: { column: 'consumed', last: 'exhausted' },
  reverse: { column: 'reversed', last: 'reversed' },
  hold: { column: 'held', last: 'active' },
} as const

const freeLots = selectionOf(SourceRow).pick('id', 'expiresAt', 'remaining')
type FreeLot = Selected<typeof freeLots>

type Moved = Pick<LotMovement, 'accountId' | 'journalId' | 'holdId' | 'at'>

/**
 * Moves points between the columns of sources, while the account is locked. Takes points that expire first, then older
 * ones. Skips expired sources.
 */
export class LotMoves {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Takes points that have not expired. @returns the part of the amount that they could not cover */
  async take(moved: Moved, taking: Taking, amount: number): Promise<number> {
    let left = amount
    while (left > 0) {
      const lots = await this.#free(moved)
      const whole: FreeLot[] = []
      for (const lot of lots) {
        if (lot.remaining > left) break
        whole.push(lot)
        left -= lot.remaining
      }
      const next = lots[whole.length]
      const end = whole.at(-1)
      if (end !== undefined && whole.length === 1) await this.takeFrom(moved, taking, end, end.remaining)
      else if (end !== undefined) await this.#takeWhole(moved, taking, end)
      if (next !== undefined && left > 0) {
        await this.takeFrom(moved, taking, next, left)
        left = 0
      }
      if (lots.length < pageSize) break
    }
    return left
  }

  /** Takes points from one source. @param amount at most the available points of the source */
  async takeFrom({ journalId, holdId }: Moved, taking: Taking, lot: FreeLot, amount: number): Promise<void> {
    const { column, last } = takings[taking]
    const isLast = amount === lot.remaining
    await this.#db.execute(
      `update ${table} set ${column} = ${column} + ?, remaining = remaining - ?${isLast ? `, ${statusNow(last)}` : ''} where id = ?`,
      [amount, amount, lot.id],
    )
    await this.note([{ journalId, sourceId: lot.id, kind: taking, amount, holdId: holdId ?? null }])
  }

  /** Takes all available points of the sources up to `end`, in the order of expiry. */
  async #takeWhole({ accountId, journalId, holdId, at }: Moved, taking: Taking, end: FreeLot): Promise<void> {
    const { column, last } = takings[taking]
    const where = `account_id = ? and status = 'active' and remaining > 0 and expires_at > ? and expires_at <= ?
      and (expires_at < ? or id <= ?)`
    const range = [accountId, at, end.expiresAt, end.expiresAt, end.id]
    await this.#db.execute(
      `insert into points_source_use (journal_id, source_id, kind, amount, hold_id)
       select ?, id, '${taking}', remaining, ? from ${table} where ${where} order by expires_at, id`,
      [journalId, holdId ?? null, ...range],
    )
    await this.#db.execute(
      `update ${table} set ${column} = ${column} + remaining, remaining = 0, ${statusNow(last)} where ${where}`,
      range,
    )
  }

  /** Records how points were used. Skips uses that are already recorded. */
  async note(uses: readonly NewRow<typeof SourceUseRow>[]): Promise<void> {
    await insertMissingRows(this.#db, SourceUseRow, ['journalId', 'sourceId', 'kind'], uses)
  }

  #free({ accountId, at }: Moved): Promise<readonly FreeLot[]> {
    return freeLots.select(
      this.#db,
      `where account_id = ? and status = 'active' and remaining > 0 and expires_at > ?
       order by expires_at, id limit ${pageSize}`,
      [accountId, at],
    )
  }
}

/**
 * SQL that sets the status. MySQL assigns columns from left to right, so the expression must not read a column that was
 * changed before. `hold` changes `held`, but then both branches are `active`.
 */
const statusNow = (last: string) => `status = case when held > 0 then 'active' else '${last}' end`
