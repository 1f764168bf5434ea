/** Tests sequential and concurrent use of the ledger on each database. */

import { assertMembers, rejectsWith } from '@plinth/dev/testing'
import { onEachDatabase, onSqlite } from '@plinth/dev/testing/database'
import { omitUndefined } from '@plinth/kernel'
import type { Ledger } from '@plinth/money'
import t from 'tap'
import { brokenRules } from './fixtures/invariants.ts'
import { asset, of, reasonOf, startLedger, userOwner } from './fixtures/product.ts'

const kind = 'test.posting'

onEachDatabase(t, 'K-014 postings', async (t, at) => {
  const { ledger, db } = await startLedger(t, at)
  const balance = async (id: string | number) => {
    const { available, frozen } = await ledger.balance(of(id))
    return [available, frozen]
  }
  const rowsOf = async (key: string) =>
    (await db.query('select id from money_journal where idem_key = ?', [key])).length

  await t.test('M1 hold, spend, capture in part, release', async (t) => {
    await ledger.credit({ ...of('m1'), amount: 100, key: 'm1:grant', kind })
    const { holdId, available, frozen } = await ledger.hold({ ...of('m1'), amount: 60, key: 'm1:hold', kind })
    t.same([available, frozen], [40, 60])
    const spend = ledger.debit({ ...of('m1'), amount: 41, key: 'm1:spend', kind })
    t.equal(await reasonOf(spend), '409 money.balance-insufficient')
    t.equal(await reasonOf(ledger.capture({ holdId, amount: 61, key: 'm1:more', kind })), '409 money.exceeds-hold')
    const captured = await ledger.capture({ holdId, amount: 45, key: 'm1:capture', kind })
    t.match(captured, { captured: 45, released: 15, available: 55, frozen: 0, replayed: false })
    t.match(await ledger.capture({ holdId, amount: 45, key: 'm1:capture', kind }), { ...captured, replayed: true })
    t.equal(await reasonOf(ledger.release({ holdId, key: 'm1:release' })), '409 money.hold-closed')
    t.equal(await reasonOf(ledger.capture({ holdId, key: 'm1:again', kind })), '409 money.hold-closed')
    t.equal(await reasonOf(ledger.release({ holdId: 1, key: 'm1:none' })), '404 money.hold-unknown')
    t.same(await balance('m1'), [55, 0])
  })

  await t.test('M2 a debit beyond the balance changes nothing', async (t) => {
    await ledger.credit({ ...of('m2'), amount: 50, key: 'm2:grant', kind })
    const debit = (amount: number) => ledger.debit({ ...of('m2'), amount, key: `m2:${amount}`, kind })
    t.equal(await reasonOf(debit(51)), '409 money.balance-insufficient')
    t.equal(await rowsOf('m2:51'), 0)
    t.same(await balance('m2'), [50, 0])
    t.match(await debit(50), { available: 0, frozen: 0 })
    t.equal(
      await reasonOf(ledger.debit({ ...of('nobody'), amount: 1, key: 'm2:nobody', kind })),
      '409 money.balance-insufficient',
    )
    t.same(await ledger.balance(of('nobody')), { available: 0, frozen: 0 })
  })

  await t.test('M3 a key is one movement: the same call is replayed, another call is rejected', async (t) => {
    const lottery = (id: number, amount: number) =>
      ledger.credit({ ...of(id), amount, key: `member-points:marketing-lottery:${id}:op-1`, kind })
    const first = await lottery(7, 88)
    t.same(await lottery(7, 88), { ...first, replayed: true })
    t.equal(await reasonOf(lottery(7, 99)), '409 money.idempotency-mismatch')
    const key = 'member-points:marketing-lottery:7:op-1'
    const otherKind = ledger.credit({ ...of(7), amount: 88, key, kind: 'test.other-posting' })
    t.equal(await reasonOf(otherKind), '409 money.idempotency-mismatch', 'the same key of another kind')
    await lottery(8, 88)
    t.equal(((await balance(7))[0] as number) + ((await balance(8))[0] as number), 176)
  })

  await t.test('M4 the same reward four times is one', async (t) => {
    const give = () => ledger.credit({ ...of('m4'), amount: 100, key: 'mall:first-order', kind })
    await Promise.all([give(), give()])
    await give()
    await give()
    t.same(await balance('m4'), [100, 0])
  })

  await t.test('M7 I11 a hundred concurrent credits and a hundred concurrent debits', async (t) => {
    const credits = Array.from({ length: 100 }, (_, index) =>
      ledger.credit({ ...of('m7'), amount: 7, key: `m7:credit:${index}`, kind }),
    )
    const debits = Array.from({ length: 100 }, (_, index) =>
      reasonOf(ledger.debit({ ...of('m7'), amount: 5, key: `m7:debit:${index}`, kind })),
    )
    await Promise.all(credits)
    const responses = await Promise.all(debits)
    const done = responses.filter((response) => response === 'done').length
    const refused = responses.filter((response) => response === '409 money.balance-insufficient').length
    t.equal(done + refused, 100)
    t.same(await balance('m7'), [700 - 5 * done, 0])
    t.equal((await ledger.find(of('m7')))?.version, 100 + done)
  })

  await t.test('M8 fifty callers with one key', async (t) => {
    const calls = Array.from({ length: 50 }, () => ledger.credit({ ...of('m8'), amount: 3, key: 'm8', kind }))
    const responses = await Promise.all(calls)
    t.equal(new Set(responses.map(({ journalId }) => journalId)).size, 1)
    t.equal(responses.filter(({ replayed }) => replayed).length, 49)
    t.same(new Set(responses.map(({ available }) => available)), new Set([3]))
    t.equal(await rowsOf('m8'), 1)
    // The first posting runs alone. The two others wait for it, so the queue could put both into its next group.
    const post = (key: string) => ledger.credit({ ...of('m8'), amount: 3, key, kind })
    const [, first, second] = await Promise.all([post('m8:before'), post('m8:new'), post('m8:new')])
    t.match(first, { available: 9, replayed: false })
    t.same(second, { ...first, replayed: true })
    t.same(await balance('m8'), [9, 0])
  })

  await t.test('M9 keys are distinguished by case and blanks', async (t) => {
    for (const key of ['A', 'a', 'a ']) await ledger.credit({ ...of('m9'), amount: 1, key, kind })
    t.same(await balance('m9'), [3, 0])
  })

  await t.test('M11 a rollback of the caller removes the posting', async (t) => {
    const post = () => ledger.credit({ ...of('m11'), amount: 9, key: 'm11', kind })
    const failing = db.transactional(async () => {
      await post()
      throw new Error('the order failed')
    })
    await rejectsWith(t, failing, { message: 'the order failed' })
    t.equal(await rowsOf('m11'), 0)
    t.equal(await ledger.find(of('m11')), undefined)
    t.match(await post(), { available: 9, replayed: false })
    t.match(await db.transactional(post), { available: 9, replayed: true })
  })

  await t.test('M12 a hundred concurrent transfers in each direction', async (t) => {
    for (const id of ['a12', 'b12']) await ledger.credit({ ...of(id), amount: 1_000, key: `m12:${id}`, kind })
    const send = (from: string, to: string, index: number) =>
      ledger.transfer({ from: userOwner(from), to: userOwner(to), asset, amount: 1, key: `m12:${from}:${index}`, kind })
    const both = (index: number) => [send('a12', 'b12', index), send('b12', 'a12', index)]
    await Promise.all(Array.from({ length: 100 }, (_, index) => both(index)).flat())
    t.same(
      [await balance('a12'), await balance('b12')],
      [
        [1_000, 0],
        [1_000, 0],
      ],
    )
    t.equal(
      await reasonOf(
        ledger.transfer({ from: userOwner('a12'), to: userOwner('b12'), asset, amount: 1_001, key: 'm12:all', kind }),
      ),
      '409 money.balance-insufficient',
    )
    t.match(
      await ledger.transfer({ from: userOwner('a12'), to: userOwner('c12'), asset, amount: 400, key: 'm12:c', kind }),
      {
        available: 600,
        to: { available: 400 },
      },
    )
  })

  await t.test('a batch posts what the accounts allow, once', async (t) => {
    const accounts: number[] = []
    for (const id of ['x', 'y', 'z']) {
      accounts.push((await ledger.credit({ ...of(`batch-${id}`), amount: 10, key: `batch:${id}`, kind })).accountId)
    }
    const [x = 0, y = 0, z = 0] = accounts
    const run = () =>
      ledger.batch({
        asset,
        kind: 'test.expire',
        direction: 'debit',
        counter: 'expired',
        accountIds: [z, x, y],
        postings: async () => [
          { accountId: x, amount: 4, key: 'batch:1' },
          { accountId: y, amount: 11, key: 'batch:2' },
          { accountId: x, amount: 6, key: 'batch:3' },
          { accountId: z, amount: 1, key: 'batch:4' },
        ],
      })
    t.same(await run(), { posted: 3, amount: 11, replayed: [], refused: ['batch:2'] })
    t.same(await run(), { posted: 0, amount: 0, replayed: ['batch:1', 'batch:3', 'batch:4'], refused: ['batch:2'] })
    t.same(
      [await balance('batch-x'), await balance('batch-y'), await balance('batch-z')],
      [
        [0, 0],
        [10, 0],
        [9, 0],
      ],
    )
  })

  await t.test('invalid input is rejected, and no account is locked for it', async (t) => {
    const good = { ...of('bad'), amount: 1, key: 'bad', kind }
    for (const [field, change] of [
      ['amount', { amount: 0 }],
      ['amount', { amount: 1.5 }],
      ['amount', { amount: 2 ** 53 }],
      ['key', { key: '' }],
      ['key', { key: 'x'.repeat(256) }],
      ['kind', { kind: 'No words' }],
      ['owner.type', { owner: { type: 'system', id: 'issued' } }],
      ['owner.id', { owner: userOwner('white space') }],
      ['counter', { counter: 'Upper' }],
      ['reference.id', { reference: { type: 'order', id: '' } }],
      ['reason', { reason: '🎁'.repeat(256) }],
      ['reason', { reason: 'a\0b' }],
      ['reason', { reason: 'half \ud83c' }],
      ['at', { at: -1 }],
    ] as const) {
      const refused = await ledger.credit({ ...good, ...change }).catch((error) => error)
      t.hasStrict(refused, { code: '400', reason: 'money.posting-invalid', data: { field } })
    }
    await ledger.credit({ ...good, amount: 5, key: 'bad:grant' })
    const { holdId } = await ledger.hold({ ...good, key: 'bad:hold' })
    const spent = await ledger.debit({ ...good, key: 'bad:debit' })
    const none = { amount: 0, key: 'bad', kind }
    const moved = { ...none, amount: 1, asset }
    for (const [field, call] of [
      ['amount', () => ledger.debit({ ...good, ...none })],
      ['amount', () => ledger.hold({ ...good, ...none })],
      ['amount', () => ledger.transfer({ from: userOwner('bad'), to: userOwner('m1'), asset, ...none })],
      ['amount', () => ledger.capture({ holdId, ...none })],
      ['amount', () => ledger.reverse({ journalId: spent.journalId, ...none })],
      ['to', () => ledger.transfer({ from: userOwner('bad'), to: userOwner('bad'), ...moved })],
      ['from.id', () => ledger.transfer({ from: userOwner('white space'), to: userOwner('m1'), ...moved })],
      ['to.id', () => ledger.transfer({ from: userOwner('m1'), to: userOwner('white space'), ...moved })],
      ['expiresAt', () => ledger.hold({ ...good, expiresAt: 0 })],
      ['counter', () => ledger.debit({ ...good, counter: 'Upper' })],
      ['counter', () => ledger.capture({ holdId, key: 'bad', kind, counter: 'Upper' })],
    ] as const)
      await rejectsWith(t, call(), { code: '400', reason: 'money.posting-invalid', data: { field } })
    const { journalId } = await ledger.credit({ ...good, key: 'bad:long', reason: '🎁'.repeat(255) })
    t.equal((await ledger.journal(journalId)).reason, '🎁'.repeat(255), 'characters count, however they are written')
    t.equal(await reasonOf(ledger.credit({ ...good, asset: 'gold' })), '400 money.asset-unknown')
    const limit = { ...of('rich'), kind, amount: Number.MAX_SAFE_INTEGER }
    await ledger.credit({ ...limit, key: 'rich:1' })
    t.equal(await reasonOf(ledger.credit({ ...limit, key: 'rich:2' })), '409 money.balance-limit')
    const account = await ledger.find(of('rich'))
    await ledger.setStatus(account?.id ?? 0, 'closed')
    t.equal(await reasonOf(ledger.debit({ ...of('rich'), amount: 1, key: 'rich:3', kind })), '409 money.account-closed')
  })

  await t.test('units of a debit or a capture are returned once, to the account from which they came', async (t) => {
    await ledger.credit({ ...of('back'), amount: 100, key: 'back:grant', kind })
    const { journalId } = await ledger.debit({ ...of('back'), amount: 60, key: 'back:spend', kind, counter: 'sold' })
    const reverse = (amount: number | undefined, key: string) =>
      ledger.reverse(omitUndefined({ journalId, key, amount }))
    t.match(await reverse(25, 'back:1'), { available: 65, frozen: 0, replayed: false })
    t.match(await reverse(25, 'back:1'), { available: 65, replayed: true })
    t.equal(await reasonOf(reverse(24, 'back:1')), '409 money.idempotency-mismatch')
    t.hasStrict(await reverse(36, 'back:2').catch((error) => error), {
      code: '409',
      reason: 'money.exceeds-journal',
      data: { amount: 35 },
    })
    t.equal(await reasonOf(reverse(undefined, 'back:2')), '409 money.exceeds-journal', 'all of it is 60')
    t.match(await reverse(35, 'back:2'), { available: 100 })
    const { journalId: returned } = await reverse(35, 'back:2')
    t.match(await ledger.journal(returned), { action: 'reverse', kind: 'money.reverse', parentJournalId: journalId })

    const at = Date.parse('2020-02-29T12:00:00Z')
    const early = await ledger.credit({ ...of('early'), amount: 1, key: 'early', kind, at })
    t.same((await ledger.journal(early.journalId)).occurredAt, new Date(at), 'the time of the event')

    const { holdId } = await ledger.hold({ ...of('back'), amount: 50, key: 'back:hold', kind })
    const captured = await ledger.capture({ holdId, amount: 30, key: 'back:capture', kind })
    t.match(await ledger.reverse({ journalId: captured.journalId, key: 'back:3' }), { available: 100 })
    const sold = await ledger.find({ owner: { type: 'system', id: 'sold' }, asset })
    const entries = await ledger.entries(
      { accountId: sold?.id ?? 0 },
      { orderBy: [{ property: 'id', direction: 'asc' }], size: 10, offset: 0, count: 'none' },
    )
    t.same(
      entries.items.map(({ available }) => available),
      [60, -25, -35],
      'the other side is the system account that received them',
    )

    t.equal(await reasonOf(ledger.reverse({ journalId: returned, key: 'back:4' })), '409 money.journal-not-reversible')
    t.equal(await reasonOf(ledger.reverse({ journalId: 1, key: 'back:5' })), '404 money.journal-unknown')
    const all = await Promise.all(
      [1, 2, 3].map((index) =>
        reasonOf(ledger.reverse({ journalId: captured.journalId, amount: 10, key: `back:race:${index}` })),
      ),
    )
    t.same(all, Array(3).fill('409 money.exceeds-journal'))
    const again = await ledger.debit({ ...of('back'), amount: 25, key: 'back:more', kind })
    const race = await Promise.all(
      [1, 2, 3, 4].map((index) =>
        reasonOf(ledger.reverse({ journalId: again.journalId, amount: 10, key: `back:many:${index}` })),
      ),
    )
    t.equal(
      race.filter((response) => response === 'done').length,
      2,
      'callers at the same time get no more than was taken',
    )
  })

  await t.test('an account can be created and closed before anything is posted to it', async (t) => {
    const { id } = await ledger.ensureAccount(of('early'))
    t.equal((await ledger.ensureAccount(of('early'))).id, id)
    await ledger.setStatus(id, 'closed')
    const credit = ledger.credit({ ...of('early'), amount: 1, key: 'early:1', kind })
    t.equal(await reasonOf(credit), '409 money.account-closed')
  })

  await t.test('months use the time zone of the asset, and totals are grouped by kind', async (t) => {
    const { accountId } = await ledger.credit({ ...of('month'), amount: 5, key: 'month:1', kind: 'test.grant' })
    const at = Date.UTC(2025, 11, 31, 23)
    await ledger.credit({ ...of('month'), amount: 7, key: 'month:2', kind: 'test.grant', at })
    await ledger.debit({ ...of('month'), amount: 2, key: 'month:3', kind: 'test.spend' })
    t.same(await ledger.monthTotals(accountId), [
      { kind: 'test.grant', received: 5, spent: 0, entries: 1 },
      { kind: 'test.spend', received: 0, spent: 2, entries: 1 },
    ])
    assertMembers(t, await ledger.monthTotals(accountId, 202512), [{ received: 7 }])
  })

  t.same(await brokenRules(db), [])
})

onEachDatabase(t, 'K-014 movements of several accounts in one transaction', async (t, at) => {
  const { ledger, db } = await startLedger(t, at)
  // Callers of one instance wait in its queue, so only callers of several instances meet in the database.
  const instances = [ledger, (await startLedger(t, at)).ledger]
  const available = async (...ids: readonly string[]) =>
    Promise.all(ids.map(async (id) => (await ledger.balance(of(id))).available))
  const credit = (id: string, key: string) => ({ action: 'credit', ...of(id), amount: 1, key, kind }) as const

  await t.test('all movements are executed, or none', async (t) => {
    const grant = await ledger.credit({ ...of('p1'), amount: 10, key: 'p:grant', kind })
    const movements = [
      { action: 'debit', ...of('p1'), amount: 4, key: 'p:debit', kind },
      { action: 'credit', owner: userOwner('p2'), asset: 'cny', amount: 3, key: 'p:credit', kind },
      { action: 'transfer', from: userOwner('p1'), to: userOwner('p3'), asset, amount: 2, key: 'p:transfer', kind },
      { action: 'hold', ...of('p1'), amount: 1, key: 'p:hold', kind },
    ] as const
    const results = await ledger.post(movements)
    assertMembers(t, results, [
      { accountId: grant.accountId, available: 6, replayed: false },
      { available: 3, frozen: 0 },
      { available: 4, to: { available: 2 } },
      { available: 3, frozen: 1 },
    ])
    t.same(
      await ledger.post(movements),
      results.map((result) => ({ ...result, replayed: true })),
    )
    const [debited, , , { holdId }] = results
    const ended = await ledger.post([
      { action: 'capture', holdId, key: 'p:capture', kind },
      { action: 'reverse', journalId: debited.journalId, amount: 1, key: 'p:back' },
    ])
    assertMembers(t, ended, [{ captured: 1, released: 0, available: 3 }, { available: 4 }])
    for (const [last, reason] of [
      [{ action: 'debit', ...of('p1'), amount: 6, key: 'p:more', kind }, '409 money.balance-insufficient'],
      [{ action: 'release', holdId, key: 'p:release' }, '409 money.hold-closed'],
      [{ action: 'reverse', journalId: debited.journalId, amount: 4, key: 'p:all' }, '409 money.exceeds-journal'],
    ] as const)
      t.equal(await reasonOf(ledger.post([credit('p1', 'p:with'), last])), reason)
    const parts = [2, 2].map((amount, index) => {
      return { action: 'reverse', journalId: debited.journalId, amount, key: `p:part:${index}` } as const
    })
    t.equal(await reasonOf(ledger.post(parts)), '409 money.exceeds-journal', 'both together exceed the debit')
    const twice = ledger.post([credit('p1', 'p:twice'), credit('p2', 'p:twice')])
    await rejectsWith(t, twice, { code: '400', reason: 'money.posting-invalid', data: { field: 'movements' } })
    const many = Array.from({ length: 101 }, (_, index) => credit('p1', `p:many:${index}`))
    await rejectsWith(t, ledger.post(many), { reason: 'money.posting-invalid', data: { field: 'movements' } })
    t.same(await ledger.post([]), [])
    t.same(await available('p1', 'p2', 'p3'), [4, 0, 2], 'a rejected call changes nothing')
    await rejectsWith(
      t,
      db.transactional(async () => {
        await ledger.post([credit('p1', 'p:rolled-back')])
        throw new Error('the order failed')
      }),
      { message: 'the order failed' },
    )
    t.same(await available('p1'), [4])
  })

  const [one, other] = ['a', 'b']
  const writers = {
    post: (ledger: Ledger, ids: readonly string[], key: string) =>
      ledger.post(ids.map((id) => credit(id, `${key}:${id}`))),
    transactional: (ledger: Ledger, ids: readonly string[], key: string) =>
      ledger.transactional(ids.map(of), async () => {
        for (const id of ids) await ledger.credit(credit(id, `${key}:${id}`))
      }),
  }
  for (const [name, write] of Object.entries(writers)) {
    await t.test(`${name}: sixteen callers use two accounts in both orders`, async (t) => {
      for (const id of [one, other]) await ledger.credit(credit(`${name}:${id}`, `${name}:${id}:first`))
      const ids = [`${name}:${one}`, `${name}:${other}`]
      const call = async (caller: number) => {
        const books = instances[caller % 2] as Ledger
        const order = caller % 4 < 2 ? ids : ids.toReversed()
        for (let round = 0; round < 8; round++) await write(books, order, `${name}:${caller}:${round}`)
      }
      await Promise.all(Array.from({ length: 16 }, (_, caller) => call(caller)))
      t.same(await available(...ids), [129, 129])
    })
  }
  t.same(await brokenRules(db), [])
})

onSqlite(t, 'a batch beyond its asset, its accounts or its size is rejected and posts nothing', async (t, at) => {
  const { ledger } = await startLedger(t, at)
  const cny = { owner: userOwner('batch-of'), asset: 'cny' }
  const credited = await Promise.all([
    ledger.credit({ ...of('batch-of'), amount: 10, key: 'batch-of:points', kind }),
    ledger.credit({ ...of('batch-beside'), amount: 10, key: 'batch-of:beside', kind }),
    ledger.credit({ ...cny, amount: 10, key: 'batch-of:cny', kind }),
  ])
  const [own = 0, beside = 0, yuan = 0] = credited.map(({ accountId }) => accountId)
  const posting = (key: number, accountId = own) => ({ accountId, amount: 1, key: `batch-of:${key}` })
  const numbers = Array.from({ length: 1_001 }, (_, index) => index + 1)
  const cases = {
    'an unknown asset': { asset: 'points:none' },
    'an account of another asset': { accountIds: [own, yuan] },
    'more than 1,000 accounts': { accountIds: [own, ...numbers.slice(1)] },
    'more than 1,000 postings': { postings: async () => numbers.map((number) => posting(number)) },
    'an account that is not locked': { postings: async () => [posting(1), posting(2, beside)] },
    'two postings with one key': { postings: async () => [posting(1), posting(1)] },
  }
  const results: Record<string, unknown> = {}
  for (const [name, change] of Object.entries(cases)) {
    const batch = { asset, kind, direction: 'debit' as const, accountIds: [own], postings: async () => [posting(1)] }
    results[name] = await ledger.batch({ ...batch, ...change }).then(
      () => 'posted',
      ({ code, reason, data }) => [code, reason, data?.field],
    )
  }
  const invalid = (field: string) => ['400', 'money.posting-invalid', field]
  t.same(results, {
    'an unknown asset': ['400', 'money.asset-unknown', 'asset'],
    'an account of another asset': invalid('accountIds'),
    'more than 1,000 accounts': invalid('accountIds'),
    'more than 1,000 postings': invalid('postings'),
    'an account that is not locked': invalid('postings'),
    'two postings with one key': invalid('postings'),
  })
  const balances = await Promise.all(
    [of('batch-of'), of('batch-beside'), cny].map((account) => ledger.balance(account)),
  )
  t.same(
    balances.map(({ available }) => available),
    [10, 10, 10],
  )
})
