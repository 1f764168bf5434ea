import { type Database, exactInteger, insertMissing, type Parameter } from '@plinth/database'
import type { LotBook, LotMovement, LotPage, LotSums } from '@plinth/money'
import { never } from '../entities.ts'
import { refusal } from '../failures.ts'
import type { Parts } from '../parts.ts'
import type { Rules } from '../rules/rules.ts'
import { type ExpiryDetails, isExpiry, isGrant, isReversal } from './lot-details.ts'
import { LotMoves } from './lot-moves.ts'

const table = 'points_source'
const columns = [
  ...['id', 'account_id', 'user_id', 'asset', 'source_type', 'source_id', 'granted', 'remaining', 'held', 'consumed'],
  ...['reversed', 'expired', 'expires_at', 'status', 'journal_id', 'rule_code', 'rule_version', 'created_at'],
]
/** Numbers in one list of a statement. Few sizes keep the number of prepared texts small. */
const listSizes = [500, 50, 5, 1] as const

/** The lots of points accounts: the table of sources. The ledger calls it under the lock of the account. */
export class PointsLotBook implements LotBook {
  readonly #db: Database
  readonly #rules: Rules
  readonly #moves: LotMoves

  constructor({ db, rules }: Pick<Parts, 'db' | 'rules'>) {
    this.#db = db
    this.#rules = rules
    this.#moves = new LotMoves(db)
  }

  async move(movement: LotMovement): Promise<void> {
    const { kind, detail } = movement
    if (kind === 'credit') return this.#grant([movement])
    if (kind === 'capture' || kind === 'release') return this.#endHold(movement)
    if (isExpiry(detail)) return this.#expire([movement])
    const left = isReversal(detail) ? await this.#reverse(movement) : movement.amount
    const taking = kind === 'hold' ? 'hold' : isReversal(detail) ? 'reverse' : 'spend'
    if (left > 0 && (await this.#moves.take(movement, taking, left)) > 0) throw refusal('points-lapsed')
  }

  async moveMany(movements: readonly LotMovement[]): Promise<void> {
    if (movements.every(({ detail }) => isExpiry(detail))) return this.#expire(movements)
    if (movements.every(({ kind }) => kind === 'credit')) return this.#grant(movements)
    for (const movement of movements) await this.move(movement)
  }

  async #grant(movements: readonly LotMovement[]): Promise<void> {
    const rows: Parameter[][] = []
    for (const movement of movements) rows.push(await this.#sourceOf(movement))
    await insertMissing(this.#db, { table, columns, unique: 'id' }, rows)
  }

  async #sourceOf({ accountId, owner, asset, amount, journalId, at, detail }: LotMovement): Promise<Parameter[]> {
    const isNamed = isGrant(detail)
    const { id, type, key } = isNamed
      ? detail.source
      : { id: this.#db.newId(), type: 'ledger', key: `${journalId}:${accountId}` }
    // Where the posting does not say it, points lapse as those of a reward do.
    const expiresAt = isNamed ? detail.expiresAt : (await this.#rules.at('expiry', at)).expiryOf(at)
    const rule = isNamed ? detail.rule : undefined
    const userId = owner.type === 'user' ? Number(owner.id) : null
    return [
      ...[id, accountId, userId, asset, type, key, amount, amount, 0, 0, 0, 0, expiresAt, 'active', journalId],
      ...[rule?.code ?? null, rule?.version ?? null, at],
    ]
  }

  /** From the source of the grant as far as it has live points. @returns what is left to take */
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

  /** Takes the captured units of a hold away, those that lapse first at first, and gives the others back to their sources. */
  async #endHold({ kind, amount, journalId, holdId, ...movement }: LotMovement): Promise<void> {
    const rows = await this.#db.query<Record<string, unknown>>(
      `select held.source_id, held.amount, lot.remaining, lot.held from points_source_use held join ${table} lot on lot.id = held.source_id
       where held.hold_id = ? and held.kind = 'hold' order by lot.expires_at, lot.id`,
      [holdId ?? 0],
    )
    const uses: (string | number)[][] = []
    let captured = kind === 'capture' ? amount : 0
    const expected = kind === 'capture' ? amount + (movement.released ?? 0) : amount
    let found = 0
    for (const row of rows) {
      const [id, part] = [exactInteger(row['source_id']), exactInteger(row['amount'])]
      const gone = Math.min(part, captured)
      const back = part - gone
      captured -= gone
      found += part
      const remaining = exactInteger(row['remaining']) + back
      const held = exactInteger(row['held']) - part
      await this.#db.execute(
        `update ${table} set remaining = ?, held = ?, consumed = consumed + ?, status = ? where id = ?`,
        [remaining, held, gone, remaining + held > 0 ? 'active' : 'exhausted', id],
      )
      if (gone > 0) uses.push([journalId, id, 'capture', gone])
      if (back > 0) uses.push([journalId, id, 'release', back])
    }
    if (found !== expected) throw new Error(`Hold ${holdId} has ${expected} units, and its sources ${found}.`)
    await this.#moves.note(uses.map((use) => [...use, holdId ?? null]))
  }

  async #expire(movements: readonly LotMovement[]): Promise<void> {
    const idOf = ({ detail }: LotMovement) => (detail as ExpiryDetails).lapsed.sourceId
    const uses = movements.map((movement) => [movement.journalId, idOf(movement), 'expire', movement.amount, null])
    for (const ids of listsOf(movements.map(idOf))) {
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
    for (const ids of listsOf(accountIds)) {
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
    const rows = await this.#db.query<Record<string, unknown>>(
      `select id, source_type, source_id, granted, remaining, held, expires_at, created_at from ${table}
       where account_id = ? and status = 'active' and expires_at >= ? and (expires_at > ? or id > ?)
       order by expires_at, id limit ?`,
      [accountId, expiry, expiry, id, size + 1],
    )
    const items = rows.slice(0, size).map((row) => {
      const expiresAt = exactInteger(row['expires_at'])
      return {
        id: exactInteger(row['id']),
        sourceType: String(row['source_type']),
        sourceKey: String(row['source_id']),
        granted: exactInteger(row['granted']),
        remaining: exactInteger(row['remaining']),
        held: exactInteger(row['held']),
        expiresAt: expiresAt === never ? null : expiresAt,
        createdAt: exactInteger(row['created_at']),
      }
    })
    const last = rows.length > size ? items.at(-1) : undefined
    return { items, next: last === undefined ? null : `${last.expiresAt ?? never}.${last.id}` }
  }
}

/** @throws BusinessError `400` `member-points.position-invalid` */
function positionOf(after: string | undefined): readonly number[] {
  if (after === undefined) return [0, 0]
  const parts = /^\d{1,16}\.\d{1,16}$/.test(after) ? after.split('.').map(Number) : []
  if (parts.length !== 2 || !parts.every(Number.isSafeInteger)) throw refusal('position-invalid')
  return parts
}

/** Lists of few sizes; what is left over fills the last one by repeating itself. */
function listsOf(ids: readonly number[]): readonly (readonly number[])[] {
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
