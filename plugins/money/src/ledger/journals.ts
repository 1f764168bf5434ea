import { type Database, exactInteger, insertRowsIfAbsent, type NewRow, type Parameter } from '@plinth/database'
import type { AccountRef, LotMovement } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { JournalRow } from '../entities.ts'
import { refOf } from './accounts.ts'
import type { JournalDraft } from './checks.ts'

export interface AccountChange {
  /** Account to change. It is created if it does not exist and the leg adds units. */
  readonly account: AccountRef | number
  readonly available: number
  readonly frozen: number
  readonly lots?: Pick<LotMovement, 'kind' | 'amount' | 'released' | 'holdId' | 'isTransferred' | 'detail'>
}

/** A validated movement that is not written yet. */
export interface PendingJournal {
  readonly asset: string
  readonly draft: JournalDraft
  /** Changes of one or two owner accounts. If their sum is not zero, an entry of a system account balances it. */
  readonly legs: readonly AccountChange[]
  readonly counter?: string
  /** Hold to open in the account of the first leg. */
  readonly opens?: { readonly amount: number; readonly expiresAt: number }
  /** Hold to close. An expired hold can only be released. */
  readonly closes?: HoldClosing
  /** Journal whose units are returned. */
  readonly reverses?: JournalToReverse
  /**
   * True for a debit that the lot repository claims from returned units. A closed account does not prevent this debit.
   */
  readonly isClaim?: boolean
}

export interface JournalToReverse {
  readonly journalId: number
  /** Minor units that the journal debited. */
  readonly taken: number
}

export interface HoldClosing {
  readonly holdId: number
  readonly captured: number
  readonly released: number
}

interface AccountAfter {
  readonly accountId: number
  readonly available: number
  readonly frozen: number
}

/** `accounts` has the order of the legs of the movement. */
export interface JournalOutcome {
  readonly journalId: number
  readonly accounts: readonly AccountAfter[]
  readonly holdId: number | undefined
  readonly replayed: boolean
}

/** Numbers of values that one statement may contain, so that few distinct statements are prepared. */
const allowedSizes = [100, 10, 1] as const

export interface NumberedJournal {
  readonly movement: PendingJournal
  readonly journalId: number
}

/** Writes journals. Their unique key decides which of several equal calls executes the movement. */
export class Journals {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Inserts the journals whose keys are new. @returns journals of earlier calls, by hash of the key */
  async write(numbered: readonly NumberedJournal[], now: number): Promise<ReadonlyMap<string, EarlierJournal>> {
    const rows = numbered.map(({ journalId, movement: { draft } }): NewRow<typeof JournalRow> => {
      const { at, ...stored } = draft
      return { ...stored, id: journalId, occurredAt: at ?? now, createdAt: now }
    })
    const fresh = await insertRowsIfAbsent(this.#db, JournalRow, 'idemHash', rows)
    if (fresh === numbered.length) return new Map()
    const ids = new Set(numbered.map(({ journalId }) => journalId))
    const earlier = new Map<string, EarlierJournal>()
    const hashes = numbered.map(({ movement: { draft } }) => draft.idemHash)
    const sql = (places: string) =>
      `select id, idem_hash, fingerprint from money_journal where idem_hash in (${places})`
    for (const row of await this.#inSteps<Record<string, unknown>>(sql, hashes)) {
      const journal = { id: exactInteger(row['id']), fingerprint: String(row['fingerprint']) }
      if (!ids.has(journal.id)) earlier.set(String(row['idem_hash']), journal)
    }
    return earlier
  }

  /** Returns true if an earlier call used the key. */
  async has(idemHash: string): Promise<boolean> {
    return (await this.#db.query('select id from money_journal where idem_hash = ?', [idemHash])).length > 0
  }

  /** Deletes journals of rejected movements. */
  async forget(ids: readonly number[]): Promise<void> {
    for (const id of ids) await this.#db.execute(`delete from money_journal where id = ?`, [id])
  }

  /**
   * Returns the result of the earlier call with the same key.
   *
   * @throws BusinessError `409` `money.idempotency-mismatch` if that call was different
   */
  async replay(movement: PendingJournal, earlier: EarlierJournal): Promise<JournalOutcome> {
    if (earlier.fingerprint !== movement.draft.fingerprint) throw businessError('idempotency-mismatch')
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

  /**
   * Returns the units that a debit or capture took from an account.
   *
   * @throws BusinessError `404` `money.journal-unknown`, `409` `money.journal-not-reversible`
   */
  async taken(journalId: number): Promise<DebitedUnits> {
    const rows = await this.#db.query<Record<string, unknown>>(
      `select j.action, e.account_id, e.d_available + e.d_frozen as units, a.role, a.owner_type, a.owner_id, a.asset
       from money_journal j join money_entry e on e.journal_id = j.id join money_account a on a.id = e.account_id
       where j.id = ?`,
      [journalId],
    )
    if (rows.length === 0) throw businessError('journal-unknown')
    const owner = rows.find(({ role }) => role === 'owner')
    const system = rows.find(({ role }) => role === 'system')
    const isTaking = owner?.['action'] === 'debit' || owner?.['action'] === 'capture'
    if (owner === undefined || system === undefined || !isTaking) throw businessError('journal-not-reversible')
    return {
      accountId: exactInteger(owner['account_id']),
      account: refOf(owner),
      taken: -exactInteger(owner['units']),
      counter: String(system['owner_id']),
    }
  }

  /** Returns the units of a journal that were already returned. The account must be locked. */
  async reversed(journalId: number): Promise<number> {
    const [row] = await this.#db.query<Record<string, unknown>>(
      `select sum(e.d_available) as units from money_journal j join money_entry e on e.journal_id = j.id
       where j.parent_id = ? and j.action = 'reverse' and e.seq is not null`,
      [journalId],
    )
    return exactInteger(row?.['units'] ?? null)
  }

  async #inSteps<Row extends object>(sql: (places: string) => string, values: readonly Parameter[]): Promise<Row[]> {
    const rows: Row[] = []
    let from = 0
    for (const step of allowedSizes) {
      for (; values.length - from >= step; from += step) {
        const places = Array(step).fill('?').join(', ')
        rows.push(...(await this.#db.query<Row>(sql(places), values.slice(from, from + step))))
      }
    }
    return rows
  }
}

/** `counter` is the system account that received the units. */
export interface DebitedUnits {
  readonly accountId: number
  readonly account: AccountRef
  readonly taken: number
  readonly counter: string
}

interface EarlierJournal {
  readonly id: number
  readonly fingerprint: string
}
