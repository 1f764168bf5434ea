/** Tests the claims with which a lot repository debits units that a movement has just returned. */

import { rejectsWith } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import type { LotClaim, LotMovement } from '@plinth/money'
import t from 'tap'
import { brokenLots, lotTables, TestLots } from './fixtures/lot-repository.ts'
import { of, startLedger } from './fixtures/product.ts'

const kind = 'test.posting'
const claim: LotClaim = { key: 'claim', kind: 'test.claim', amount: 4, counter: 'redeemed' }

/** Lots that claim the same units of each movement that returns some. */
class ClaimingLots extends TestLots {
  claim: LotClaim = claim

  claims({ kind }: LotMovement): Promise<readonly LotClaim[]> {
    return Promise.resolve(kind === 'release' ? [this.claim] : [])
  }
}

onEachDatabase(t, 'K-014 claims of a lot repository', async (t, at) => {
  const lots = new ClaimingLots()
  const { ledger, db } = await startLedger(t, at, { lots, plugins: [lotTables] })
  lots.db = db
  const { accountId } = await ledger.credit({ ...of('claims'), amount: 10, key: 'grant', kind })
  const held = async (key: string) => (await ledger.hold({ ...of('claims'), amount: 6, key, kind })).holdId

  await t.test('a claim must have a positive amount and a counter account', async (t) => {
    const holdId = await held('invalid')
    for (const [field, change] of [
      ['amount', { amount: 0 }],
      ['amount', { amount: -1 }],
      ['counter', { counter: 'Upper' }],
      ['kind', { kind: 'No words' }],
    ] as const) {
      lots.claim = { ...claim, ...change }
      await rejectsWith(t, ledger.release({ holdId, key: 'invalid:release' }), {
        code: '400',
        reason: 'money.posting-invalid',
        data: { field },
      })
      t.hasStrict(await ledger.balance(of('claims')), { available: 4, frozen: 6 }, 'nothing is released')
    }
    lots.claim = claim
    t.hasStrict(await ledger.release({ holdId, key: 'invalid:release' }), { available: 10, frozen: 0 })
  })

  t.hasStrict(await ledger.balance(of('claims')), { available: 6, frozen: 0 }, 'the claim is debited')
  const totals = await ledger.monthTotals(accountId)
  t.match(
    totals.find(({ kind }) => kind === 'test.claim'),
    { received: 0, spent: 4 },
  )
  t.same(await brokenLots(db), [])
})
