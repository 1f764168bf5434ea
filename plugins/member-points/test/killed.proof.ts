/** Tests a scan of expired points that is killed. */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { manualClock, watchProcess } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { grantMany, june } from './fixtures/grants.ts'
import { brokenRules } from './fixtures/invariants.ts'
import { day, startPoints } from './fixtures/product.ts'

onEachDatabase(t, 'X7 P-041 a process that is killed between the pages of a scan', async (t, at) => {
  const clock = manualClock(june(1))
  const product = await startPoints(t, at, { clock })
  const { rows, db, points } = product
  await grantMany(product, 'x7', [1, 2, 3, 4, 5], 1600, june(2))
  clock.shiftWallClock(day)
  // The process is killed at a statement of the second page, of the third page and of the last page.
  for (const after of [9, 22, 40]) {
    const about = JSON.stringify({ config: at.config, now: clock.now(), after })
    const program = join(import.meta.dirname, 'fixtures', 'killed-scan.ts')
    const scan = watchProcess(t, fork(program, [about], { silent: true }))
    t.same(await scan.ended(), [null, 'SIGKILL'], `killed at statement ${after}`)
    t.same(await brokenRules(product), [])
    // Lets the lease of the killed scan expire.
    await db.execute('update points_expire_batch set lease_until = 1 where holder is not null')
  }
  const [cut] = await rows('select scanned, status from points_expire_batch')
  t.hasStrict(cut, { status: 'running' })
  await points.expire()
  const batches = await rows('select status, scanned, expired, points, refused from points_expire_batch')
  t.same(batches, [{ status: 'completed', scanned: 1600, expired: 1600, points: 1600, refused: 0 }])
  const lapsed = await rows(`select count(*) as total from money_journal where kind = 'points.expire'`)
  t.same(lapsed, [{ total: 1600 }], 'each source once')
  t.same(await brokenRules(product), [])
})
