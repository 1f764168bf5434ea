import { setImmediate as nextTurn } from 'node:timers/promises'
import { taskType } from '@plinth/async-task'
import { type Database, exactInteger, findPage, insertRows, type PageWindow, updateRows } from '@plinth/database'
import { Type } from '@plinth/http'
import { type Clock, type CommandDeclaration, type DataCheck, service } from '@plinth/kernel'
import { businessError, permissionCodes } from '../declarations.ts'
import { FindingRow, ReconciliationRow, type ReconciliationState } from '../entities.ts'
import type { Accounts } from '../ledger/accounts.ts'
import type { Assets } from '../ledger/assets.ts'
import {
  type CheckedAccount,
  findDifferences,
  findUnbalancedJournals,
  type ReconciliationDifference,
  readNextAccounts,
  readNextJournals,
} from './checks.ts'

/** Service that only tasks and commands of this plugin use. */
export const reconciliations = service<Pick<Reconciler, 'request' | 'run'>>('money.reconciliations', {
  from: '@plinth/money',
})

type Uses = { provides: readonly [typeof reconciliations] }

/** Returns the data check of the ledger. It stores nothing. */
export const createLedgerCheck =
  (reconciler: Pick<Reconciler, 'check'>): DataCheck =>
  async ({ signal, progress }) => {
    let last = 0
    const onProgress = (percent: number) => {
      const whole = Math.floor(percent / 10) * 10
      if (whole <= last) return
      last = whole
      progress(`${whole} %`)
    }
    const { findings } = await reconciler.check({ signal, onProgress })
    if (findings > 0)
      throw new Error(`${findings} differences in the ledger. Run \`plinth money reconcile\` to list them.`)
  }

/** The exit code is 1 if there are differences. */
export const reconcileCommand: CommandDeclaration<Uses> = {
  name: 'money reconcile',
  summary: 'compare entries, balances, holds and lots of the ledger, without changing it',
  options: [{ flags: '--asset <asset>', description: 'check only accounts of this asset' }],
  async run({ own }, { options, output, signal }) {
    const reconciler = own(reconciliations)
    const { asset } = options
    const id = await reconciler.request(typeof asset === 'string' ? asset : null, 'cli')
    let last = -1
    const onProgress = (percent: number) => {
      const whole = Math.floor(percent / 10) * 10
      if (whole === last) return
      last = whole
      output.progress(`${whole} %`)
    }
    const { accounts, journals, findings } = await reconciler.run(id, { signal, onProgress })
    const text = findings === 0 ? 'Everything agrees.' : `${findings} findings: see reconciliation ${id}.`
    output.result({ id, accounts, journals, findings }, `${accounts} accounts, ${journals} journals. ${text}`)
    return findings === 0 ? 0 : 1
  },
}

export const reconcileTask = taskType('money.reconcile', {
  displayName: { en: 'Reconcile the ledger', 'zh-CN': '账本对账' },
  params: Type.Object({ reconciliationId: Type.Integer({ minimum: 1 }) }),
  readPermission: permissionCodes.ledgerView,
})

/** Maximum number of stored differences. Many differences usually have one cause, so more are not stored. */
const maxFindings = 10_000

interface ReconcilerDependencies {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly assets: Assets
  readonly accounts: Accounts
}

interface RunOptions {
  readonly signal: AbortSignal
  /** Called with the progress, 0 to 100 percent. */
  readonly onProgress?: (percent: number) => void
}

interface RunResult {
  readonly accounts: number
  readonly journals: number
  readonly findings: number
}

/**
 * Checks each account against its entries, holds and lots, and each journal against the sum zero. It only reads, in
 * small pages.
 *
 * Postings continue during a run, so an account with a difference is checked again while it is locked.
 */
export class Reconciler {
  readonly #parts: ReconcilerDependencies

  constructor(parts: ReconcilerDependencies) {
    this.#parts = parts
  }

  /** @returns the id @throws BusinessError `400` `money.asset-unknown` */
  async request(asset: string | null, requestedBy: string): Promise<number> {
    if (asset !== null) this.#parts.assets.get(asset)
    const { db, clock } = this.#parts
    // A command can create ids only inside a transaction.
    return db.statements(async () => {
      const id = db.newId()
      const counts = { accounts: 0, journals: 0, findings: 0 }
      const queued = { id, asset, state: 'queued', requestedBy, ...counts, createdAt: clock.now() } as const
      await insertRows(db, ReconciliationRow, [queued])
      return id
    })
  }

  async nameTask(id: number, taskId: number): Promise<void> {
    await updateRows(this.#parts.db, ReconciliationRow, { id }, { taskId })
  }

  /** Runs a reconciliation from the start. Deletes the results of an earlier attempt. */
  async run(id: number, { signal, onProgress = () => {} }: RunOptions): Promise<RunResult> {
    const { asset } = await this.find(id)
    await this.#forget(id)
    await this.#mark(id, 'running', { accounts: 0, journals: 0, findings: 0 })
    const counts = { accounts: 0, journals: 0, findings: 0 }
    const keep: OnFound = (found) => this.#keep(id, found, counts)
    try {
      await this.#checkAll(asset ?? null, counts, keep, { signal, onProgress })
      await this.#mark(id, 'completed', counts)
      return counts
    } catch (error) {
      if (!signal.aborted) await this.#mark(id, 'failed', counts)
      throw error
    }
  }

  /** Runs a reconciliation of all assets without storing it. */
  async check({ signal, onProgress = () => {} }: RunOptions): Promise<RunResult> {
    const counts = { accounts: 0, journals: 0, findings: 0 }
    const count: OnFound = async ({ length }) => {
      counts.findings += length
    }
    await this.#checkAll(null, counts, count, { signal, onProgress })
    return counts
  }

  async #checkAll(
    asset: string | null,
    counts: Counts,
    onFound: OnFound,
    { signal, onProgress }: Required<RunOptions>,
  ): Promise<void> {
    await this.#checkAccounts(asset, counts, onFound, { signal, onProgress: (part) => onProgress(part / 2) })
    await this.#checkJournals(counts, onFound, { signal, onProgress: (part) => onProgress(50 + part / 2) })
  }

  /** @throws BusinessError `404` `money.reconciliation-unknown` */
  async find(id: number): Promise<ReconciliationRow> {
    const row = await this.#parts.db.fork().findOne(ReconciliationRow, { id })
    if (row === null) throw businessError('reconciliation-unknown')
    return row
  }

  list(window: PageWindow) {
    return findPage<ReconciliationRow>(this.#parts.db.fork(), ReconciliationRow, {}, window)
  }

  async findings(reconciliationId: number, window: PageWindow) {
    await this.find(reconciliationId)
    return findPage<FindingRow>(this.#parts.db.fork(), FindingRow, { reconciliationId }, window)
  }

  async #checkAccounts(
    asset: string | null,
    counts: Counts,
    onFound: OnFound,
    options: Required<RunOptions>,
  ): Promise<void> {
    const { db } = this.#parts
    const end = await this.#largest('money_account')
    let first: number | undefined
    let after = 0
    for (;;) {
      options.signal.throwIfAborted()
      const page = await readNextAccounts(db, after, asset)
      if (page.length === 0) return
      first ??= page[0]?.id ?? 0
      after = page.at(-1)?.id ?? after
      counts.accounts += page.length
      for (const [name, accounts] of Map.groupBy(page, (account) => account.asset)) {
        await this.#checkPage(name, accounts, onFound)
      }
      options.onProgress(share(first, after, end))
      if (after >= end) return
      await nextTurn()
    }
  }

  async #checkPage(asset: string, accounts: readonly CheckedAccount[], onFound: OnFound): Promise<void> {
    const { db, assets } = this.#parts
    const lots = assets.find(asset)?.lots
    const suspects = new Set((await findDifferences(db, accounts, lots)).map(({ accountId }) => accountId))
    for (const { id: accountId } of accounts.filter((account) => suspects.has(account.id))) {
      // Checks the account again while it is locked, because a posting may have changed it between two statements of
      // the first check.
      const found = await db.statements(async () => {
        const locked = await this.#parts.accounts.lock([accountId])
        return findDifferences(db, [...locked.values()], lots)
      })
      await onFound(found)
    }
  }

  async #checkJournals(counts: Counts, onFound: OnFound, { signal, onProgress }: Required<RunOptions>): Promise<void> {
    const { db } = this.#parts
    const end = await this.#largest('money_journal')
    let first: number | undefined
    let after = 0
    for (;;) {
      signal.throwIfAborted()
      const page = await readNextJournals(db, after)
      if (page === undefined) return
      first ??= page.first
      await onFound(await findUnbalancedJournals(db, after, page.last))
      counts.journals += page.count
      after = page.last
      onProgress(share(first, after, end))
      // Stops at the last journal that existed when the run began. Otherwise a run could follow new journals forever.
      if (after >= end) return
      await nextTurn()
    }
  }

  async #keep(id: number, found: readonly ReconciliationDifference[], counts: Counts): Promise<void> {
    const { db, clock } = this.#parts
    const kept = found.slice(0, Math.max(0, maxFindings - counts.findings))
    const rows = kept.map((finding) => ({
      ...finding,
      id: db.newId(),
      reconciliationId: id,
      createdAt: clock.now(),
    }))
    await insertRows(db, FindingRow, rows)
    counts.findings += found.length
  }

  /** Deletes the stored differences in small steps, because an earlier attempt may have stored many. */
  async #forget(id: number): Promise<void> {
    const sql = 'select id from money_finding where reconciliation_id = ? order by id limit 500'
    for (;;) {
      const rows = await this.#parts.db.query<{ id: unknown }>(sql, [id])
      const last = rows.at(-1)
      if (last === undefined) return
      const remove = 'delete from money_finding where reconciliation_id = ? and id <= ?'
      await this.#parts.db.execute(remove, [id, exactInteger(last.id)])
    }
  }

  async #mark(id: number, state: ReconciliationState, { accounts, journals, findings }: RunResult): Promise<void> {
    const { db, clock } = this.#parts
    const finishedAt = state === 'running' ? null : clock.now()
    await updateRows(db, ReconciliationRow, { id }, { state, accounts, journals, findings, finishedAt })
  }

  async #largest(table: string): Promise<number> {
    const [row] = await this.#parts.db.query<{ id: unknown }>(`select max(id) as id from ${table}`)
    return exactInteger(row?.id ?? null)
  }
}

type OnFound = (found: readonly ReconciliationDifference[]) => Promise<void>
type Counts = { -readonly [Name in keyof RunResult]: RunResult[Name] }

/** Ids increase with time, so their distance measures the progress. */
const share = (first: number, at: number, end: number) => (at >= end ? 100 : (100 * (at - first)) / (end - first))
