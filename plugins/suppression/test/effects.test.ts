/** Tests the effect of each configuration key of the suppression list. */
import { applyLiveValues, assertKeyEffect } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { mailTo, startSuppression } from './suppression-product.ts'

t.test('the keys of the suppression list have an effect', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const [own = '', other = ''] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'))
  const config = { 'platform.suppression.hash-key': own }
  const { running, add, send, received, db, purge } = await startSuppression(t, at, { config })
  await add('ada@example.com')
  const [hash] = await assertKeyEffect(t, 'platform.suppression.hash-key', {
    changed: other,
    async observe(values) {
      await applyLiveValues(running, values)
      await send('mail', [mailTo('ada@example.com')])
      return received()
    },
  })
  t.strictSame([hash?.before, hash?.after], [[], ['ada@example.com']], 'another key finds no entry')
  await applyLiveValues(running, {})

  const dayMs = 86_400_000
  const [kept] = await assertKeyEffect(t, 'platform.suppression.retention', {
    changed: '1d',
    async observe(values) {
      await applyLiveValues(running, values)
      await db.execute('update suppression set ends_at = ?', [new Date(db.clock.now() - 2 * dayMs)])
      await purge()
      const [row] = await db.query<{ total: unknown }>('select count(*) as total from suppression')
      return Number(row?.total)
    },
  })
  t.strictSame([kept?.before, kept?.after], [1, 0])
})
