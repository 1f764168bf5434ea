/** Tests that the kit for cleanups accepts a correct cleanup on each database. */
import { database } from '@plinth/database'
import { quickstartCleanupCases } from '@plinth/dev/conformance'
import { onDatabase } from '@plinth/dev/testing/database'
import { quickstartCleanup } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { startCleanup } from './fixtures/products.ts'

onDatabase(t, 'a cleanup of demo data passes its kit', async (t: Test, db) => {
  const cases = quickstartCleanupCases(
    async () => {
      const { running, data } = await startCleanup(t, db, { modules: { forum: {}, shop: {} } })
      const rows = (module: string) =>
        data.query('select id from demo_item where module = ? union select id from demo_note where module = ?', [
          module,
          module,
        ])
      const cleanup = running.contributions(quickstartCleanup).get('forum')
      if (cleanup === undefined) throw new Error('the module is missing')
      return {
        cleanup,
        transactional: <T>(work: () => Promise<T>) => running.service(database).transactional(work),
        snapshot: async () => [await rows('forum'), await rows('shop')],
        kept: () => rows('shop'),
      }
    },
    { patienceMs: 60_000 },
  )
  t.equal(cases.length, 6)
  for (const { name, run } of cases) await t.test(name, run)
})
