/** Tests the lists of entries that pages show. */
import { onDatabase, watchStatements } from '@plinth/dev/testing/database'
import t from 'tap'
import { asset, of, startLedger, userOwner } from './fixtures/product.ts'

const window = { orderBy: [{ property: 'id', direction: 'desc' }], size: 5, offset: 0, count: 'none' } as const

onDatabase(t, 'K-014 entries show the purpose of their journals', async (t, at) => {
  const { ledger, db } = await startLedger(t, at)
  const reference = { type: 'order', id: 'A-1' }
  for (let index = 0; index < 300; index++) {
    await ledger.credit({
      ...of(1 + (index % 3)),
      amount: 1,
      key: `${index}`,
      kind: 'test.grant',
      reference,
      actor: 'user:9',
      reason: 'thanks',
    })
    await ledger.credit({ owner: userOwner(1), asset: 'cny', amount: 1, key: `cny ${index}`, kind: 'test.grant' })
  }
  t.same([...ledger.assets.keys()].sort(), ['cny', 'points:mall'])
  t.equal(ledger.assets.get('cny')?.scale, 2)
  const { plansOf } = watchStatements(db, 'money_entry')

  const keys: string[] = []
  let after: readonly (string | number | boolean | null)[] | undefined
  for (let page = 0; page < 60; page++) {
    const found = await ledger.entries({ asset }, { ...window, after })
    for (const { key, owner, available, sequence, ...notes } of found.items) {
      keys.push(key)
      t.hasStrict(notes, { reference, actor: 'user:9', reason: 'thanks' })
      t.same([owner, available], [userOwner(1 + (Number(key) % 3)), 1])
      t.ok(sequence, 'no entry of a system account')
    }
    after = found.next ?? undefined
  }
  t.same(
    keys,
    Array.from({ length: 300 }, (_, index) => `${299 - index}`),
    'of one asset, newest first',
  )

  const account = await ledger.find(of(2))
  const own = await ledger.entries({ accountId: account?.id ?? 0 }, window)
  t.same(
    own.items.map(({ key }) => key),
    ['298', '295', '292', '289', '286'],
  )
  for (const [filter, index] of [
    [{ asset }, 'money_entry_asset_id_index'],
    [{ accountId: account?.id ?? 0 }, 'money_entry_account_id_id_index'],
  ] as const) {
    for (const { sql, indexes, sorts, scans } of await plansOf(() => ledger.entries(filter, window))) {
      // If a table has few rows, PostgreSQL may use the primary key instead of the index.
      const others = db.dialect === 'postgresql' ? ['primary'] : []
      t.ok(indexes.length === 1 && [index, ...others].includes(String(indexes[0])), `${indexes}: ${sql}`)
      t.notOk(sorts || scans.length > 0, sql)
    }
  }
})
