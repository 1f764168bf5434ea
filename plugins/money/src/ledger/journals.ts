import { type Database, exactInteger, insertNew, type Parameter } from '@plinth/database'
import { refusal } from '../failures.ts'
import type { Movement, Outcome } from './movement.ts'

const table = 'money_journal'
const columns = [
  ...['id', 'idem_hash', 'idem_key', 'fingerprint', 'action', 'kind', 'ref_type', 'ref_id', 'parent_id'],
  ...['actor', 'reason', 'occurred_at', 'created_at'],
]
/** Values in one `in`. Few sizes keep the number of prepared texts small. */
const steps = [100, 10, 1] as const

/** A movement with the id of its journal. */
export interface NumberedMovement {
  readonly movement: Movement
  readonly journalId: number
}

/** Writes journals: the unique key of each decides whether a movement is carried out or was before. */
export class Journals {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** @returns by hash, journals of earlier calls: id and fingerprint */
  async write(numbered: readonly NumberedMovement[], now: number): Promise<ReadonlyMap<string, EarlierJournal>> {
    const rows = numbered.map(({ journalId, movement: { draft } }): Parameter[] => [
      ...[journalId, draft.idemHash, draft.idemKey, draft.fingerprint, draft.action, draft.kind],
      ...[draft.refType, draft.refId, draft.parentId, draft.actor, draft.reason, draft.at ?? now, now],
    ])
    const fresh = await insertNew(this.#db, { table, columns, unique: 'idem_hash' }, rows)
    if (fresh === numbered.length) return new Map()
    const ids = new Set(numbered.map(({ journalId }) => journalId))
    const earlier = new Map<string, EarlierJournal>()
    const hashes = numbered.map(({ movement: { draft } }) => draft.idemHash)
    const sql = (places: string) => `select id, idem_hash, fingerprint from ${table} where idem_hash in (${places})`
    for (const row of await this.#inSteps<Record<string, unknown>>(sql, hashes)) {
      const journal = { id: exactInteger(row['id']), fingerprint: String(row['fingerprint']) }
      if (!ids.has(journal.id)) earlier.set(String(row['idem_hash']), journal)
    }
    return earlier
  }

  /** Takes back journals that this transaction wrote, for movements that were refused. */
  async forget(ids: readonly number[]): Promise<void> {
    for (const id of ids) await this.#db.execute(`delete from ${table} where id = ?`, [id])
  }

  /** What an earlier call under the same key did. @throws BusinessError `409` `money.idempotency-mismatch` */
  async replay(movement: Movement, earlier: EarlierJournal): Promise<Outcome> {
    if (earlier.fingerprint !== movement.draft.fingerprint) throw refusal('idempotency-mismatch')
    const entries = await this.#db.query<Record<string, unknown>>(
      `select account_id, available_after, frozen_after from money_entry
       where journal_id = ? and seq is not null order by id`,
      [earlier.id],
    )
    const [hold] =
      movement.opens === undefined
        ? []
        : await this.#db.query<{ id: unknown }>('select id from money_hold where journal_id = ?', [earlier.id])
    return {
      journalId: earlier.id,
      accounts: entries.map((row) => ({
        accountId: exactInteger(row['account_id']),
        available: exactInteger(row['available_after']),
        frozen: exactInteger(row['frozen_after']),
      })),
      holdId: hold === undefined ? undefined : exactInteger(hold.id),
      replayed: true,
    }
  }

  async #inSteps<Row extends object>(sql: (places: string) => string, values: readonly Parameter[]): Promise<Row[]> {
    const rows: Row[] = []
    let from = 0
    for (const step of steps) {
      for (; values.length - from >= step; from += step) {
        const places = Array(step).fill('?').join(', ')
        rows.push(...(await this.#db.query<Row>(sql(places), values.slice(from, from + step))))
      }
    }
    return rows
  }
}

export interface EarlierJournal {
  readonly id: number
  readonly fingerprint: string
}
