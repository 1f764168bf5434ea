import { type Database, exactInteger, findPage, type PageWindow, sumsOverTime, type TimeSpan } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import type {
  AccountFilter,
  AccountRef,
  AccountView,
  BalanceExplanation,
  DebtFilter,
  DebtView,
  EntryFilter,
  EntryView,
  HoldFilter,
  HoldView,
  JournalEntryView,
  JournalView,
  MonthTotal,
  MovedSums,
  UnitChange,
} from '../contract.ts'
import { businessError } from '../declarations.ts'
import { AccountRow, DebtRow, EntryRow, HoldRow, JournalRow, noExpiryTime } from '../entities.ts'
import type { Assets } from './assets.ts'

const explainedHolds = 100

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

  async account(id: number, rows: object = {}): Promise<AccountView> {
    const row = await this.#db.fork().findOne(AccountRow, { $and: [{ id }, rows] })
    if (row === null) throw businessError('account-unknown')
    return accountView(row)
  }

  async accounts({ asset, role, ownerType, ownerId, rows = {} }: AccountFilter, window: PageWindow) {
    const where = {
      ...(role === undefined ? {} : { role }),
      ...(asset === undefined ? {} : { asset }),
      ...(ownerType === undefined ? {} : { ownerType }),
      ...(ownerId === undefined ? {} : { ownerId }),
    }
    const found = await findPage<AccountRow>(this.#db.fork(), AccountRow, { $and: [where, rows] }, window)
    return { ...found, items: found.items.map(accountView) }
  }

  async entries({ accountId, asset, monthKey, kind, role, rows = {} }: EntryFilter, window: PageWindow) {
    const where = {
      ...(role === undefined ? {} : { seq: role === 'owner' ? { $ne: null } : null }),
      ...(accountId === undefined ? {} : { accountId }),
      ...(asset === undefined ? {} : { asset }),
      ...(monthKey === undefined ? {} : { monthKey }),
      ...(kind === undefined ? {} : { kind }),
    }
    const em = this.#db.fork()
    const found = await findPage<EntryRow>(em, EntryRow, { $and: [where, rows] }, window)
    const journalIds = found.items.map(({ journalId }) => journalId)
    const journals = journalIds.length === 0 ? [] : await em.find(JournalRow, { id: { $in: journalIds } })
    const accountOf = await this.#accountsOf(found.items)
    const journalOf = new Map(journals.map((row) => [row.id, notesOf(row)]))
    const items = found.items.map((row): EntryView => {
      const notes = journalOf.get(row.journalId)
      if (notes === undefined) throw new Error(`Entry ${row.id} has no journal.`)
      const { owner, asset } = accountOf(row.accountId)
      return { ...entryView(row, asset), owner, ...notes }
    })
    return { ...found, items }
  }

  /** Returns a function that finds owner and asset of an account. */
  async #accountsOf(rows: readonly { readonly accountId: number }[]) {
    const ids = [...new Set(rows.map(({ accountId }) => accountId))]
    const found = ids.length === 0 ? [] : await this.#db.fork().find(AccountRow, { id: { $in: ids } })
    const accounts = new Map(found.map((row) => [row.id, row]))
    return (id: number) => {
      const account = accounts.get(id)
      if (account === undefined) throw new Error(`There is no account ${id}.`)
      return { owner: { type: account.ownerType, id: account.ownerId }, asset: account.asset }
    }
  }

  async holds({ accountId, state, rows = {} }: HoldFilter, window: PageWindow) {
    const where = { ...(accountId === undefined ? {} : { accountId }), ...(state === undefined ? {} : { state }) }
    const found = await findPage<HoldRow>(this.#db.fork(), HoldRow, { $and: [where, rows] }, window)
    const accountOf = await this.#accountsOf(found.items)
    return { ...found, items: found.items.map((row) => holdView(row, accountOf(row.accountId).asset)) }
  }

  async debts({ accountId, rows = {} }: DebtFilter, window: PageWindow) {
    const where = accountId === undefined ? {} : { accountId }
    const found = await findPage<DebtRow>(this.#db.fork(), DebtRow, { $and: [where, rows] }, window)
    const accountOf = await this.#accountsOf(found.items)
    return { ...found, items: found.items.map((row) => debtView(row, accountOf(row.accountId))) }
  }

  async journal(id: number, rows?: object): Promise<JournalView> {
    const em = this.#db.fork()
    const row = await em.findOne(JournalRow, { id })
    if (row === null) throw businessError('journal-unknown')
    const entries = await em.find(EntryRow, { journalId: id }, { orderBy: { id: 'asc' } })
    if (rows !== undefined && !(await this.#isWhollyAmong(entries, rows))) throw businessError('journal-unknown')
    const accountOf = await this.#accountsOf(entries)
    return {
      id,
      action: row.action,
      kind: row.kind,
      parentJournalId: row.parentId ?? null,
      ...notesOf(row),
      occurredAt: row.occurredAt,
      createdAt: row.createdAt,
      entries: entries.map((entry) => entryView(entry, accountOf(entry.accountId).asset)),
    }
  }

  /** True if the condition `rows` matches every owner account of the entries, and there is at least one. */
  async #isWhollyAmong(entries: readonly EntryRow[], rows: object): Promise<boolean> {
    const em = this.#db.fork()
    const among = { id: { $in: [...new Set(entries.map(({ accountId }) => accountId))] } }
    const visible = new Set((await em.find(AccountRow, { $and: [among, rows] })).map(({ id }) => id))
    const owned = await em.find(AccountRow, { ...among, role: 'owner' })
    return visible.size > 0 && owned.every(({ id }) => visible.has(id))
  }

  async explain(
    accountId: number,
    page: { readonly after?: string; readonly size: number },
    rows?: object,
  ): Promise<BalanceExplanation> {
    const account = await this.account(accountId, rows)
    const lots = (await this.#assets.find(account.asset)?.lots?.lots(accountId, page)) ?? null
    const newest = [{ property: 'id', direction: 'desc' }] as const
    const window = { orderBy: newest, size: explainedHolds, offset: 0, count: 'none' } as const
    const { items: holds } = await this.holds({ accountId, state: 'open' }, window)
    return { account, lots, holds }
  }

  async moved(
    asset: string,
    { after, before, size }: { readonly after: number; readonly before: number; readonly size: number },
  ): Promise<readonly UnitChange[]> {
    const rows = await this.#db.query<Record<string, unknown>>(
      `select id, kind, d_available, d_frozen, created_at from money_entry
       where asset = ? and id > ? and id < ? order by id limit ?`,
      [asset, after, before, size],
    )
    return rows.map((row) => ({
      id: exactInteger(row['id']),
      kind: String(row['kind']),
      units: exactInteger(row['d_available']) + exactInteger(row['d_frozen']),
      createdAt: exactInteger(row['created_at']),
    }))
  }

  async movedOverTime(asset: string, span: TimeSpan, after = 0): Promise<readonly MovedSums[]> {
    const units = 'd_available + d_frozen'
    const found = await sumsOverTime(this.#db, {
      table: 'money_entry',
      time: { id: 'id' },
      span,
      where: { sql: 'asset = ? and id > ?', parameters: [asset, after] },
      by: 'kind',
      sums: {
        received: `sum(case when ${units} > 0 then ${units} else 0 end)`,
        taken: `sum(case when ${units} < 0 then -(${units}) else 0 end)`,
      },
    })
    return found.map(({ at, by, sums }) => ({ at, kind: by, ...sums }))
  }

  async monthTotals(accountId: number, monthKey?: number): Promise<readonly MonthTotal[]> {
    const { asset } = await this.account(accountId)
    const rows = await this.#db.query<Record<string, unknown>>(
      `select kind, count(*) as entries,
         sum(case when d_available + d_frozen > 0 then (d_available + d_frozen) * 1.0 else 0 end) as received,
         sum(case when d_available + d_frozen < 0 then (d_available + d_frozen) * -1.0 else 0 end) as spent
       from money_entry where account_id = ? and month_key = ? group by kind order by kind`,
      [accountId, monthKey ?? this.#assets.monthKeyOf(asset, this.#clock.now())],
    )
    return rows.map(({ kind, received, spent, entries }) => ({
      kind: String(kind),
      received: limited(received),
      spent: limited(spent),
      entries: exactInteger(entries),
    }))
  }
}

/** The SQL uses decimals to prevent an overflow, so the sum is rounded and limited here. */
const limited = (sum: unknown) => Math.min(Math.round(Number(sum)), Number.MAX_SAFE_INTEGER)

const accountView = (row: AccountRow): AccountView => ({
  id: row.id,
  owner: { type: row.ownerType, id: row.ownerId },
  asset: row.asset,
  role: row.role,
  ...(row.role === 'owner'
    ? { available: row.available, frozen: row.frozen, owed: row.owed, version: row.version }
    : { available: null, frozen: null, owed: null, version: null }),
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

const entryView = (row: EntryRow, asset: string): JournalEntryView => ({
  id: row.id,
  journalId: row.journalId,
  accountId: row.accountId,
  asset,
  sequence: row.seq ?? null,
  available: row.dAvailable,
  frozen: row.dFrozen,
  availableAfter: row.availableAfter ?? null,
  frozenAfter: row.frozenAfter ?? null,
  kind: row.kind,
  monthKey: row.monthKey,
  createdAt: row.createdAt,
})

const debtView = (row: DebtRow, account: AccountRef): DebtView => ({
  ...account,
  id: row.id,
  accountId: row.accountId,
  kind: row.kind,
  reference: row.refType == null || row.refId == null ? null : { type: row.refType, id: row.refId },
  journalId: row.journalId ?? null,
  deducted: row.deducted,
  shortfall: row.shortfall,
  owed: row.owed,
  recovery: row.recovery,
  actor: row.actor ?? null,
  reason: row.reason ?? null,
  createdAt: row.createdAt,
})

const holdView = (row: HoldRow, asset: string): HoldView => ({
  id: row.id,
  accountId: row.accountId,
  asset,
  amount: row.amount,
  captured: row.captured,
  released: row.released,
  state: row.state,
  expiresAt: row.expiresAt === noExpiryTime ? null : row.expiresAt,
  journalId: row.journalId,
  createdAt: row.createdAt,
})
