import { type Database, exactInteger, insertMissingRows, type NewRow, selectionOf } from '@plinth/database'
import type { Events } from '@plinth/events'
import {
  type LotClaim,
  type LotMovement,
  type LotPage,
  type LotRepository,
  type LotSums,
  postingInvalidError,
} from '@plinth/money'
import { pointsMoved } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { noExpiryTime, SourceRow, type SourceUseRow } from '../entities.ts'
import type { Parts } from '../parts.ts'
import type { Rules } from '../rules/rules.ts'
import { LotClaims, type ReturnedUnits } from './lot-claims.ts'
import {
  type ClaimDetails,
  type ExpiryDetails,
  isClaim,
  isExpiry,
  isGrant,
  isReversal,
  LotMoves,
  splitIdsIntoLists,
} from './lot-moves.ts'

const table = 'points_source'
type Source = NewRow<typeof SourceRow>

const shown = ['id', 'sourceType', 'sourceId', 'granted', 'remaining', 'held', 'expiresAt', 'createdAt'] as const
const shownLots = selectionOf(SourceRow).pick(...shown)
const unused = { held: 0, consumed: 0, reversed: 0, expired: 0, status: 'active' } as const

/** Stores the lots of points assets in the table of sources. */
export class PointsLotRepository implements LotRepository {
  readonly #db: Database
  readonly #events: Pick<Events, 'isHandled' | 'publish'>
  readonly #rules: Rules
  readonly #moves: LotMoves
  readonly #claims: LotClaims

  constructor({ db, events, rules }: Pick<Parts, 'db' | 'events' | 'rules'>) {
    this.#db = db
    this.#events = events
    this.#rules = rules
    this.#moves = new LotMoves(db)
    this.#claims = new LotClaims(db, this.#moves)
  }

  async move(movement: LotMovement): Promise<void> {
    await this.#move(movement)
    await this.#publish([movement])
  }

  async #move(movement: LotMovement): Promise<void> {
    const { kind, detail } = movement
    if (kind === 'credit') {
      return movement.isTransferred && !isGrant(detail) ? this.#receive(movement) : this.#grant([movement])
    }
    if (kind === 'capture' || kind === 'release') return this.#endHold(movement)
    if (kind === 'reverse') return this.#return(movement)
    if (isExpiry(detail)) return this.#expire([movement])
    if (isClaim(detail)) return this.#takeClaimed(movement, detail)
    const left = isReversal(detail) ? await this.#reverse(movement) : movement.amount
    const taking = kind === 'hold' ? 'hold' : isReversal(detail) ? 'reverse' : 'spend'
    if (left > 0 && (await this.#moves.take(movement, taking, left)) > 0) throw businessError('points-lapsed')
    if (left > 0 && isReversal(detail) && detail.reversed.sourceId !== null) {
      await this.#claims.lend(detail.reversed.sourceId, movement.journalId)
    }
  }

  async moveMany(movements: readonly LotMovement[]): Promise<void> {
    if (movements.every(({ detail }) => isExpiry(detail))) await this.#expire(movements)
    else if (movements.every(({ kind }) => kind === 'credit')) await this.#grant(movements)
    else for (const movement of movements) await this.#move(movement)
    await this.#publish(movements)
  }

  async #publish(movements: readonly LotMovement[]): Promise<void> {
    if (!this.#events.isHandled(pointsMoved)) return
    for (const { owner, accountId, asset, kind, amount, journalId } of movements) {
      const user = owner.type === 'user' ? { userId: userIdOf(owner.id) } : {}
      const moved = { ...user, accountId, asset, kind, amount, journalId }
      await this.#events.publish(pointsMoved, moved, { key: `points:${accountId}` })
    }
  }

  async claims(movement: LotMovement): Promise<readonly LotClaim[]> {
    const parts = movement.kind === 'reverse' ? await this.#returned(movement) : await this.#ofHold(movement)
    return this.#claims.settle(
      movement,
      parts.filter(({ units }) => units > 0),
    )
  }

  /** Records that a grant paid a debt from the refund of an order. */
  async payFor(orderRewardId: number, sourceId: number, points: number): Promise<void> {
    await this.#claims.pay(orderRewardId, sourceId, points)
  }

  async #grant(movements: readonly LotMovement[]): Promise<void> {
    const sources: Source[] = []
    for (const movement of movements) sources.push(await this.#sourceOf(movement))
    await insertMissingRows(this.#db, SourceRow, 'id', sources)
  }

  async #sourceOf({ accountId, owner, asset, amount, journalId, at, detail }: LotMovement): Promise<Source> {
    const isNamed = isGrant(detail)
    const { id, type, key } = isNamed
      ? detail.source
      : { id: this.#db.newId(), type: 'ledger', key: `${journalId}:${accountId}` }
    const rule = isNamed ? detail.rule : undefined
    return {
      ...unused,
      id,
      accountId,
      userId: owner.type === 'user' ? userIdOf(owner.id) : null,
      asset,
      sourceType: type,
      sourceId: key,
      granted: amount,
      remaining: amount,
      // If the grant specifies no expiry, the rule `expiry` determines it.
      expiresAt: isNamed ? detail.expiresAt : (await this.#rules.at('expiry', at)).expiryOf(at),
      journalId,
      ruleCode: rule?.code ?? null,
      ruleVersion: rule?.version ?? null,
      createdAt: at,
    }
  }

  /** Takes points from the source that granted them. @returns the points that this source could not cover */
  async #reverse(movement: LotMovement): Promise<number> {
    const { accountId, amount, at, detail } = movement
    const sourceId = isReversal(detail) ? detail.reversed.sourceId : null
    if (sourceId === null) return amount
    const [row] = await this.#db.query<Record<string, unknown>>(
      `select remaining, expires_at from ${table} where id = ? and account_id = ? and status = 'active' and expires_at > ?`,
      [sourceId, accountId, at],
    )
    const remaining = exactInteger(row?.['remaining'] ?? null)
    const taken = Math.min(remaining, amount)
    if (taken > 0) {
      const lot = { id: sourceId, remaining, expiresAt: exactInteger(row?.['expires_at']) }
      await this.#moves.takeFrom(movement, 'reverse', lot, taken)
    }
    return amount - taken
  }

  /** Creates one lot for each expiry time of the sent points. */
  async #receive(movement: LotMovement): Promise<void> {
    const { accountId, owner, asset, journalId, at } = movement
    const userId = owner.type === 'user' ? userIdOf(owner.id) : null
    const sent = await this.#db.query<Record<string, unknown>>(
      `select lot.expires_at, sum(used.amount) as units from points_source_use used
       join ${table} lot on lot.id = used.source_id
       where used.journal_id = ? and used.kind = 'spend' group by lot.expires_at order by lot.expires_at`,
      [journalId],
    )
    const received = sent.map((row): Source => {
      const [expiresAt, units] = [exactInteger(row['expires_at']), exactInteger(row['units'])]
      return {
        ...unused,
        id: this.#db.newId(),
        accountId,
        userId,
        asset,
        sourceType: 'transfer',
        sourceId: `${journalId}:${accountId}:${expiresAt}`,
        granted: units,
        remaining: units,
        expiresAt,
        journalId,
        createdAt: at,
      }
    })
    await insertMissingRows(this.#db, SourceRow, 'id', received)
  }

  /** Ends a hold. A capture takes the points that expire first. The other points return to their sources. */
  async #endHold(movement: LotMovement): Promise<void> {
    const { kind, amount, released = 0, journalId, holdId = null } = movement
    const parts = await this.#ofHold(movement)
    const expected = kind === 'capture' ? amount + released : amount
    const found = parts.reduce((sum, { units, captured }) => sum + units + captured, 0)
    if (found !== expected) throw new Error(`Hold ${holdId} has ${expected} units, and its sources ${found}.`)
    const uses: NewRow<typeof SourceUseRow>[] = []
    for (const { sourceId, units, captured } of parts) {
      const all = units + captured
      await this.#db.execute(
        `update ${table} set status = case when remaining + held > ? then 'active' else 'exhausted' end,
           remaining = remaining + ?, held = held - ?, consumed = consumed + ? where id = ?`,
        [captured, units, all, captured, sourceId],
      )
      if (captured > 0) uses.push({ journalId, sourceId, kind: 'capture', amount: captured, holdId })
      if (units > 0) uses.push({ journalId, sourceId, kind: 'release', amount: units, holdId })
    }
    await this.#moves.note(uses)
    if (kind === 'capture') await this.#claims.release(parts.filter(({ claimed }) => claimed > 0).map(idOfPart))
  }

  /** Divides the points of a hold by source, into released and captured ones. */
  async #ofHold({ kind, amount, holdId = 0 }: LotMovement) {
    const rows = await this.#db.query<Record<string, unknown>>(
      `select held.source_id, held.amount, lot.claimed from points_source_use held join ${table} lot on lot.id = held.source_id
       where held.hold_id = ? and held.kind = 'hold' order by lot.expires_at, lot.id`,
      [holdId],
    )
    let left = kind === 'capture' ? amount : 0
    return rows.map((row) => {
      const all = exactInteger(row['amount'])
      const captured = Math.min(all, left)
      left -= captured
      return {
        sourceId: exactInteger(row['source_id']),
        units: all - captured,
        captured,
        claimed: exactInteger(row['claimed']),
      }
    })
  }

  /**
   * Returns spent or held points to their sources. The expiry of the sources does not change, even if it has passed.
   */
  async #return(movement: LotMovement): Promise<void> {
    const parts = await this.#returned(movement)
    for (const { sourceId, units } of parts) {
      await this.#db.execute(
        `update ${table} set status = case when remaining + held > ? then 'active' else 'reversed' end,
           consumed = consumed - ?, remaining = remaining + ? where id = ?`,
        [-units, units, units, sourceId],
      )
    }
    const { journalId } = movement
    await this.#moves.note(parts.map(({ sourceId, units }) => ({ journalId, sourceId, kind: 'return', amount: units })))
  }

  /**
   * Divides returned units by source. Points that expire last are returned first. Points that an earlier reversal
   * returned are skipped.
   */
  async #returned({ amount, reversed }: LotMovement): Promise<readonly ReturnedUnits[]> {
    const rows = await this.#db.query<Record<string, unknown>>(
      `select used.source_id, used.amount from points_source_use used join ${table} lot on lot.id = used.source_id
       where used.journal_id = ? and used.kind in ('spend', 'capture') order by lot.expires_at desc, lot.id desc`,
      [reversed?.journalId ?? 0],
    )
    let [skipped, left] = [reversed?.before ?? 0, amount]
    const parts: ReturnedUnits[] = []
    for (const row of rows) {
      const used = exactInteger(row['amount'])
      const before = Math.min(used, skipped)
      const units = Math.min(used - before, left)
      skipped -= before
      left -= units
      if (units > 0) parts.push({ sourceId: exactInteger(row['source_id']), units })
    }
    if (left > 0) throw postingInvalidError('journalId', 'a journal that spent points')
    return parts
  }

  async #takeClaimed({ journalId }: LotMovement, { claimed }: ClaimDetails): Promise<void> {
    for (const { sourceId, units } of claimed) {
      // In MariaDB and MySQL an assignment sees the values of earlier assignments, so `status` is assigned before the
      // columns that it reads.
      await this.#db.execute(
        `update ${table} set status = case when remaining + held > ? then 'active' else 'reversed' end,
           remaining = remaining - ?, reversed = reversed + ? where id = ?`,
        [units, units, units, sourceId],
      )
    }
    await this.#moves.note(
      claimed.map(({ sourceId, units }) => ({ journalId, sourceId, kind: 'reverse', amount: units })),
    )
  }

  async #expire(movements: readonly LotMovement[]): Promise<void> {
    const idOf = ({ detail }: LotMovement) => (detail as ExpiryDetails).lapsed.sourceId
    const uses = movements.map((movement) => {
      const { journalId, amount } = movement
      return { journalId, sourceId: idOf(movement), kind: 'expire', amount }
    })
    for (const ids of splitIdsIntoLists(movements.map(idOf))) {
      await this.#db.execute(
        `update ${table} set expired = expired + remaining, remaining = 0,
           status = case when held > 0 then 'active' else 'expired' end where id in (${ids.map(() => '?').join(', ')})`,
        ids,
      )
    }
    await this.#moves.note(uses)
  }

  async sums(accountIds: readonly number[]): Promise<ReadonlyMap<number, LotSums>> {
    const sums = new Map<number, LotSums>()
    for (const ids of splitIdsIntoLists(accountIds)) {
      const rows = await this.#db.query<Record<string, unknown>>(
        `select account_id, sum(remaining) as remaining, sum(held) as held from ${table}
         where account_id in (${ids.map(() => '?').join(', ')}) and status = 'active' group by account_id`,
        ids,
      )
      for (const row of rows) {
        const [remaining, held] = [exactInteger(row['remaining']), exactInteger(row['held'])]
        sums.set(exactInteger(row['account_id']), { remaining, held })
      }
    }
    return sums
  }

  async lots(accountId: number, { after, size }: { readonly after?: string; readonly size: number }): Promise<LotPage> {
    const [expiry = 0, id = 0] = positionOf(after)
    const rows = await shownLots.select(
      this.#db,
      `where account_id = ? and status = 'active' and expires_at >= ? and (expires_at > ? or id > ?)
       order by expires_at, id limit ?`,
      [accountId, expiry, expiry, id, size + 1],
    )
    const items = rows.slice(0, size).map(({ sourceId, expiresAt, ...lot }) => ({
      ...lot,
      sourceKey: sourceId,
      expiresAt: expiresAt === noExpiryTime ? null : expiresAt,
    }))
    const last = rows.length > size ? items.at(-1) : undefined
    return { items, next: last === undefined ? null : `${last.expiresAt ?? noExpiryTime}.${last.id}` }
  }
}

const idOfPart = ({ sourceId }: ReturnedUnits) => sourceId

/** @throws BusinessError `400` `money.posting-invalid` for a user with an invalid id */
function userIdOf(id: string): number {
  const userId = /^[1-9]\d{0,15}$/.test(id) ? Number(id) : 0
  if (userId < 1 || !Number.isSafeInteger(userId)) throw postingInvalidError('owner.id', 'the ID of a user')
  return userId
}

/** @throws BusinessError `400` `member-points.position-invalid` */
function positionOf(after: string | undefined): readonly number[] {
  if (after === undefined) return [0, 0]
  const parts = /^\d{1,16}\.\d{1,16}$/.test(after) ? after.split('.').map(Number) : []
  if (parts.length !== 2 || !parts.every(Number.isSafeInteger)) throw businessError('position-invalid')
  return parts
}
