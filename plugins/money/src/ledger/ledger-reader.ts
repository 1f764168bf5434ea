import { type Database, exactInteger, findPage, type PageWindow } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import type {
  AccountFilter,
  AccountRef,
  AccountView,
  EntryFilter,
  EntryView,
  Explanation,
  HoldFilter,
  HoldView,
  JournalEntryView,
  JournalView,
  MonthTotal,
} from '../contract.ts'
import { AccountRow, EntryRow, HoldRow, JournalRow, never } from '../entities.ts'
import { refusal } from '../failures.ts'
import type { Assets } from './assets.ts'

const explainedHolds = 100

/** Reads what the ledger holds; every list along an index. */
export class LedgerReader {
  readonly #db: Database
  readonly #assets: Assets
  readonly #clock: Pick<Clock, 'now'>

  constructor(db: Database, assets: Assets, clock: Pick<Clock, 'now'>) {
    this.#db = db
    this.#assets = assets
    this.#clock = clock
  }

  async find({ owner, asset }: AccountRef): Promise<AccountView | undefined> {
    const row = await this.#db.fork().findOne(AccountRow, { ownerType: owner.type, ownerId: owner.id, asset })
    return row === null ? undefined : accountView(row)
  }

  async account(id: number): Promise<AccountView> {
    const row = await this.#db.fork().findOne(AccountRow, { id })
    if (row === null) throw refusal('account-unknown')
    return accountView(row)
  }

  async accounts({ asset, ownerType, ownerId }: AccountFilter, window: PageWindow) {
    const where = {
      ...(asset === undefined ? {} : { asset }),
      ...(ownerType === undefined ? {} : { ownerType }),
      ...(ownerId === undefined ? {} : { ownerId }),
    }
    const found = await findPage<AccountRow>(this.#db.fork(), AccountRow, where, window)
    return { ...found, items: found.items.map(accountView) }
  }

  async entries({ accountId, asset, monthKey, kind }: EntryFilter, window: PageWindow) {
    const where = {
      ...(accountId === undefined ? {} : { accountId }),
      ...(asset === undefined ? {} : { asset }),
      ...(monthKey === undefined ? {} : { monthKey }),
      ...(kind === undefined ? {} : { kind }),
    }
    const em = this.#db.fork()
    const found = await findPage<EntryRow>(em, EntryRow, where, window)
    const journals = await em.find(JournalRow, { id: { $in: found.items.map(({ journalId }) => journalId) } })
    const accounts = await em.find(AccountRow, { id: { $in: found.items.map(({ accountId }) => accountId) } })
    const journalOf = new Map(journals.map((row) => [row.id, notesOf(row)]))
    const ownerOf = new Map(accounts.map(({ id, ownerType: type, ownerId }) => [id, { type, id: ownerId }]))
    const items = found.items.map((row): EntryView => {
      const [notes, owner] = [journalOf.get(row.journalId), ownerOf.get(row.accountId)]
      if (notes === undefined || owner === undefined) throw new Error(`Entry ${row.id} has no journal or no account.`)
      return { ...entryView(row), owner, ...notes }
    })
    return { ...found, items }
  }

  async holds({ accountId, state }: HoldFilter, window: PageWindow) {
    const where = { ...(accountId === undefined ? {} : { accountId }), ...(state === undefined ? {} : { state }) }
    const found = await findPage<HoldRow>(this.#db.fork(), HoldRow, where, window)
    return { ...found, items: found.items.map(holdView) }
  }

  async journal(id: number): Promise<JournalView> {
    const em = this.#db.fork()
    const row = await em.findOne(JournalRow, { id })
    if (row === null) throw refusal('journal-unknown')
    const entries = await em.find(EntryRow, { journalId: id }, { orderBy: { id: 'asc' } })
    return {
      id,
      action: row.action,
      kind: row.kind,
      parentJournalId: row.parentId ?? null,
      ...notesOf(row),
      occurredAt: row.occurredAt,
      createdAt: row.createdAt,
      entries: entries.map(entryView),
    }
  }

  async explain(accountId: number, page: { readonly after?: string; readonly size: number }): Promise<Explanation> {
    const account = await this.account(accountId)
    const lots = (await this.#assets.find(account.asset)?.lots?.lots(accountId, page)) ?? null
    const newest = [{ property: 'id', direction: 'desc' }] as const
    const window = { orderBy: newest, size: explainedHolds, offset: 0, count: 'none' } as const
    const { items: holds } = await this.holds({ accountId, state: 'open' }, window)
    return { account, lots, holds }
  }

  async monthTotals(accountId: number, monthKey?: number): Promise<readonly MonthTotal[]> {
    const { asset } = await this.account(accountId)
    const rows = await this.#db.query<Record<string, unknown>>(
      `select kind, count(*) as entries,
         sum(case when d_available + d_frozen > 0 then d_available + d_frozen else 0 end) as received,
         sum(case when d_available + d_frozen < 0 then d_available + d_frozen else 0 end) as spent
       from money_entry where account_id = ? and month_key = ? group by kind order by kind`,
      [accountId, monthKey ?? this.#assets.monthKeyOf(asset, this.#clock.now())],
    )
    return rows.map(({ kind, received, spent, entries }) => ({
      kind: String(kind),
      received: exactInteger(received),
      spent: Math.abs(exactInteger(spent)),
      entries: exactInteger(entries),
    }))
  }
}

export const accountView = (row: AccountRow): AccountView => ({
  id: row.id,
  owner: { type: row.ownerType, id: row.ownerId },
  asset: row.asset,
  role: row.role,
  available: row.available,
  frozen: row.frozen,
  version: row.version,
  status: row.status,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

const notesOf = ({ idemKey: key, refType, refId, actor, reason }: JournalRow) => ({
  key,
  reference: refType == null || refId == null ? null : { type: refType, id: refId },
  actor: actor ?? null,
  reason: reason ?? null,
})

const entryView = (row: EntryRow): JournalEntryView => ({
  id: row.id,
  journalId: row.journalId,
  accountId: row.accountId,
  sequence: row.seq ?? null,
  available: row.dAvailable,
  frozen: row.dFrozen,
  availableAfter: row.availableAfter ?? null,
  frozenAfter: row.frozenAfter ?? null,
  kind: row.kind,
  monthKey: row.monthKey,
  createdAt: row.createdAt,
})

export const holdView = (row: HoldRow): HoldView => ({
  id: row.id,
  accountId: row.accountId,
  amount: row.amount,
  captured: row.captured,
  released: row.released,
  state: row.state,
  expiresAt: row.expiresAt === never ? null : row.expiresAt,
  journalId: row.journalId,
  createdAt: row.createdAt,
})
