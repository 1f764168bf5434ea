/** Tests amounts that owners owe, because they had spent them before they were taken back. */

import { assertMembers, rejectsWith } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import type { Ledger, Recovery } from '@plinth/money'
import t from 'tap'
import { brokenRules } from './fixtures/invariants.ts'
import { asset, of, reasonOf, startLedger, userOwner } from './fixtures/product.ts'

const kind = 'test.posting'
const newest = { orderBy: [{ property: 'id', direction: 'desc' }], size: 10, offset: 0, count: 'none' } as const

onDatabase(t, 'K-014 an amount that was spent before it is taken back is owed', async (t, at) => {
  const { ledger, db } = await startLedger(t, at)
  const other = (await startLedger(t, at)).ledger
  const state = async (id: string) => {
    const account = await ledger.find(of(id))
    return [account?.available, account?.frozen, account?.owed]
  }
  const takeBack = (id: string, amount: number, recovery?: Recovery, key = `${id}:back`) =>
    ledger.takeBack({ ...of(id), amount, key, kind: 'test.back', ...(recovery === undefined ? {} : { recovery }) })
  const credit = (id: string, amount: number, key: string, books: Ledger = ledger) =>
    books.credit({ ...of(id), amount, key: `${id}:${key}`, kind })
  /** Credits 100 units, and spends 80 of them. */
  const spend = async (id: string) => {
    await credit(id, 100, 'grant')
    return ledger.debit({ ...of(id), amount: 80, key: `${id}:spend`, kind })
  }
  t.afterEach(async () => t.same(await brokenRules(db), []))

  await t.test('an available amount is debited, and nothing is owed', async (t) => {
    await credit('rich', 100, 'grant')
    const taken = await takeBack('rich', 60)
    t.match(taken, { deducted: 60, owed: 0, journalId: Number, replayed: false })
    t.same(await takeBack('rich', 60), { ...taken, replayed: true })
    t.equal(await reasonOf(takeBack('rich', 61)), '409 money.idempotency-mismatch')
    t.same(await state('rich'), [40, 0, 0])
  })

  await t.test('the missing part is recorded, and later credits pay it only if the caller chose so', async (t) => {
    for (const [id, recovery, afterFirst, afterSecond] of [
      ['kept', undefined, [30, 0, 80], [130, 0, 80]],
      ['paid', 'future-credits', [0, 0, 50], [50, 0, 0]],
    ] as const) {
      await spend(id)
      const taken = await takeBack(id, 100, recovery)
      t.match(taken, { deducted: 20, owed: 80, replayed: false })
      t.same(await takeBack(id, 100, recovery), { ...taken, replayed: true })
      t.equal(await reasonOf(takeBack(id, 99, recovery)), '409 money.idempotency-mismatch')
      t.same(await state(id), [0, 0, 80])
      await credit(id, 30, 'first')
      t.same(await state(id), afterFirst, id)
      t.match(await credit(id, 100, 'second'), { replayed: false })
      t.same(await state(id), afterSecond, id)
    }
    const account = await ledger.find(of('paid'))
    const entries = await ledger.entries({ accountId: account?.id ?? 0 }, newest)
    assertMembers(t, entries.items, [
      { kind: 'money.recover', available: -50, availableAfter: 50 },
      { kind, available: 100 },
      { kind: 'money.recover', available: -30, availableAfter: 0 },
      { kind, available: 30 },
      { kind: 'test.back', available: -20 },
      { available: -80 },
      { available: 100 },
    ])
    const debts = await ledger.debts({ accountId: account?.id ?? 0 }, newest)
    assertMembers(t, debts.items, [
      { owner: userOwner('paid'), asset, deducted: 20, shortfall: 80, owed: 0, recovery: 'future-credits' },
    ])
  })

  await t.test('units that return pay, too', async (t) => {
    const { journalId } = await spend('returned')
    await takeBack('returned', 100, 'future-credits')
    await ledger.reverse({ journalId, amount: 30, key: 'returned:part' })
    t.same(await state('returned'), [0, 0, 50])
    await credit('sender', 20, 'grant')
    const transfer = { from: userOwner('sender'), to: userOwner('returned'), asset, amount: 20, kind }
    await ledger.transfer({ ...transfer, key: 'returned:transfer' })
    t.same(await state('returned'), [0, 0, 30])
    await ledger.reverse({ journalId, amount: 50, key: 'returned:rest' })
    t.same(await state('returned'), [20, 0, 0])

    await credit('held', 100, 'grant')
    const { holdId } = await ledger.hold({ ...of('held'), amount: 80, key: 'held:hold', kind })
    t.match(await takeBack('held', 100, 'future-credits'), { deducted: 20, owed: 80 })
    await ledger.capture({ holdId, amount: 30, key: 'held:capture', kind })
    t.same(await state('held'), [0, 0, 30])
    const { accountId } = await credit('held', 10, 'one')
    const batch = { asset, kind, direction: 'credit', accountIds: [accountId] } as const
    const postings = ['two', 'three'].map((key) => ({ accountId, amount: 15, key: `held:${key}` }))
    await ledger.batch({ ...batch, postings: async () => postings })
    t.same(await state('held'), [10, 0, 0])
  })

  await t.test('an account without a balance, and a closed one, owe the whole amount', async (t) => {
    t.match(await takeBack('empty', 5), { deducted: 0, owed: 5, journalId: null })
    t.same(await state('empty'), [0, 0, 5])
    const { accountId } = await credit('closed', 9, 'grant')
    await ledger.setStatus(accountId, 'closed')
    t.match(await takeBack('closed', 5), { deducted: 0, owed: 5 })
    t.same(await state('closed'), [9, 0, 5])
  })

  await t.test('an expired hold is taken back, and several debts are paid from the oldest on', async (t) => {
    await credit('several', 10, 'grant')
    await ledger.hold({ ...of('several'), amount: 10, key: 'several:hold', kind, expiresAt: 1 })
    t.match(await takeBack('several', 15, 'future-credits', 'several:1'), { deducted: 10, owed: 5 })
    t.match(await takeBack('several', 20, 'none', 'several:2'), { deducted: 0, owed: 20 })
    t.match(await takeBack('several', 30, 'future-credits', 'several:3'), { deducted: 0, owed: 30 })
    await credit('several', 12, 'first')
    const account = await ledger.find(of('several'))
    const owed = (await ledger.debts({ accountId: account?.id ?? 0 }, newest)).items.map((debt) => debt.owed)
    t.same(owed, [23, 20, 0], 'the newest first')
    t.same(await state('several'), [0, 0, 43])
  })

  await t.test('concurrent credits pay a debt exactly', async (t) => {
    await spend('busy')
    await takeBack('busy', 100, 'future-credits')
    const calls = Array.from({ length: 30 }, (_, index) =>
      credit('busy', 5, `credit:${index}`, index % 2 ? ledger : other),
    )
    await Promise.all(calls)
    t.same(await state('busy'), [70, 0, 0])
  })

  await t.test('invalid input is rejected', async (t) => {
    for (const [field, change] of [
      ['amount', { amount: 0 }],
      ['recovery', { recovery: 'later' as Recovery }],
      ['counter', { counter: 'Upper' }],
    ] as const) {
      const call = ledger.takeBack({ ...of('bad'), amount: 1, key: 'bad', kind, ...change })
      await rejectsWith(t, call, { code: '400', reason: 'money.posting-invalid', data: { field } })
    }
    const call = ledger.takeBack({ ...of('bad'), asset: 'gold', amount: 1, key: 'bad', kind })
    t.equal(await reasonOf(call), '400 money.asset-unknown')
  })
})
