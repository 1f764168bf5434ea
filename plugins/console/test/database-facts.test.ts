import { onDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { startLiveOffice } from './fixtures/live-office.ts'

interface Facts {
  readonly product: string
  readonly applied: number
  readonly pending: number
  readonly changeSets: readonly { plugin: string; changeSet: string; state: string; appliedAt: string | null }[]
}

onDatabase(t, 'operators see which change sets are applied, pending, changed and orphaned', async (t, at) => {
  const { call, root, db } = await startLiveOffice((work) => t.teardown(work), at)
  t.hasStrict(await call('GET', 'admin/console/database'), { code: '401' })
  const token = await root()
  const facts = async () => (await call('GET', 'admin/console/database', token)).data as Facts

  const before = await facts()
  t.match(before.product.toLowerCase(), at.dialect)
  t.same(new Set(before.changeSets.map(({ state }) => state)), new Set(['applied']))
  t.equal(before.changeSets.length, before.applied)
  t.equal(before.pending, 0)

  const moved = before.changeSets.find(({ plugin }) => plugin === 'events')
  const of = { plugin: 'events', set: moved?.changeSet ?? '' }
  await db.execute('update schema_changelog set plugin = ? where plugin = ? and change_set = ?', [
    'gone',
    of.plugin,
    of.set,
  ])
  await db.execute("update schema_changelog set checksum = '2:other' where plugin = 'iam'", [])
  const after = await facts()
  const statesOf = (plugin: string) =>
    new Set(after.changeSets.filter((set) => set.plugin === plugin).map(({ state }) => state))
  t.same(statesOf('gone'), new Set(['orphaned']))
  t.equal(after.pending, 1, 'what its plugin brings is to be applied again')
  t.match(
    after.changeSets.find(({ state }) => state === 'pending'),
    { plugin: of.plugin, changeSet: of.set, appliedAt: null },
  )
  t.equal(after.changeSets[0]?.state, 'changed', 'what keeps the product from being migrated comes first')
})
