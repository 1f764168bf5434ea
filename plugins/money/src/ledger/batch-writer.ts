import type { Database } from '@plinth/database'
import type { Batch, BatchResult } from '../contract.ts'
import type { Accounts } from './accounts.ts'
import type { Assets } from './assets.ts'
import { invalid } from './checks.ts'
import { batchedOf } from './movements.ts'
import type { PostingEngine } from './posting-engine.ts'

/** Accounts and postings of one batch. */
const largestBatch = 1_000

interface BatchParts {
  readonly db: Database
  readonly assets: Assets
  readonly accounts: Accounts
  readonly engine: PostingEngine
}

export async function writeBatch(parts: BatchParts, batch: Batch): Promise<BatchResult> {
  const { db, assets, accounts, engine } = parts
  assets.get(batch.asset)
  if (batch.accountIds.length > largestBatch) invalid('accountIds', `at most ${largestBatch}`)
  return db.statements(async () => {
    const locked = await accounts.lock(batch.accountIds)
    for (const { asset } of locked.values())
      if (asset !== batch.asset) invalid('accountIds', `accounts of ${batch.asset}`)
    const postings = await batch.postings()
    if (postings.length > largestBatch) invalid('postings', `at most ${largestBatch}`)
    if (postings.some(({ accountId }) => !locked.has(accountId))) invalid('postings', 'of the accounts of the batch')
    if (new Set(postings.map(({ key }) => key)).size < postings.length) invalid('postings', 'of different keys')
    const movements = postings.map((posting) => batchedOf(batch, posting))
    const verdicts = await engine.post(movements, locked)
    let posted = 0
    let amount = 0
    const replayed: string[] = []
    const refused: string[] = []
    postings.forEach((posting, index) => {
      const verdict = verdicts[index]
      if (verdict === undefined || 'refused' in verdict) {
        if (verdict?.refused.reason === 'money.idempotency-mismatch') throw verdict.refused
        refused.push(posting.key)
      } else if (verdict.outcome.replayed) {
        replayed.push(posting.key)
      } else {
        posted++
        amount += posting.amount
      }
    })
    return { posted, amount, replayed, refused }
  })
}
