import { exactInteger, insertMissingRows } from '@plinth/database'
import { NamedTransactionRow } from '../entities.ts'
import type { Parts } from '../parts.ts'
import { isFinal } from './unmatched-transfers.ts'

type NamedDependencies = Pick<Parts, 'db' | 'clock' | 'payments' | 'candidates' | 'unmatched'>

const perRun = 50
const minute = 60_000
const longestPause = 6 * 60 * minute
/** Age after which a transaction that is not on its chain is no longer searched. */
const maxAgeMs = 30 * 24 * 60 * minute

/** Maximum number of transactions per order. Otherwise one order could fill the queue of the search. */
const maxPerOrder = 20

/** Stores a transaction that an order names, in the current transaction. Only the newest ones of an order are kept. */
export async function storeNamedTransaction(
  { db, clock }: Pick<Parts, 'db' | 'clock'>,
  { outTradeNo, transactionHash }: { readonly outTradeNo: string; readonly transactionHash: string },
): Promise<void> {
  const now = new Date(clock.now())
  const row = { id: db.newId(), outTradeNo, transactionHash, checkAt: now, createdAt: now }
  await insertMissingRows(db, NamedTransactionRow, ['outTradeNo', 'transactionHash'], [row])
  const [oldest] = await db.query<{ id: unknown }>(
    'select id from web3_named_transaction where out_trade_no = ? order by id desc limit 1 offset ?',
    [outTradeNo, maxPerOrder],
  )
  if (oldest !== undefined) {
    await db.execute('delete from web3_named_transaction where out_trade_no = ? and id <= ?', [
      outTradeNo,
      exactInteger(oldest.id),
    ])
  }
}

/** Looks for unmatched payments in the transactions that orders name. */
export class NamedTransactions {
  readonly #parts: NamedDependencies

  constructor(parts: NamedDependencies) {
    this.#parts = parts
  }

  /** Checks the transactions that are due. Later checks of the same transaction have longer pauses. */
  async search(signal?: AbortSignal): Promise<void> {
    const { db, clock, candidates, unmatched } = this.#parts
    const now = clock.now()
    const orderBy = { checkAt: 'asc', id: 'asc' } as const
    const due = await db
      .fork()
      .find(NamedTransactionRow, { checkAt: { $lte: new Date(now) } }, { orderBy, limit: perRun })
    const questions = due.map(({ outTradeNo, transactionHash }) => ({ outTradeNo, transactionHash }))
    const found = due.length === 0 ? [] : await candidates.ofMany(questions)
    for (const [at, row] of due.entries()) {
      const candidate = found[at]
      if (signal?.aborted || candidate === undefined) return
      const { plan, order } = candidate
      const ageMs = now - row.createdAt.getTime()
      await db.transactional(async () => {
        await unmatched.record(candidate, 'order')
        // A transfer that can still settle its order is unmatched if the order is closed first.
        const isDone = isFinal(plan.reasons) && !(order?.status === 'pending' && plan.reasons.length === 0)
        if (isDone || order === undefined || ageMs > maxAgeMs) {
          await db.execute('delete from web3_named_transaction where id = ?', [row.id])
          return
        }
        const pauseMs = Math.min(longestPause, Math.max(minute, ageMs / 4))
        await db.execute('update web3_named_transaction set check_at = ? where id = ?', [
          new Date(now + Math.round(pauseMs)),
          row.id,
        ])
      })
    }
  }
}
