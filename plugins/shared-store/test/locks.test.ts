/**
 * Tests that a lock is renewed even if other work has used up the connection pool, because renewals have reserved
 * connections.
 */
import databasePlugin, { database } from '@plinth/database'
import { manualClock, startForTest } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import { defineProduct } from '@plinth/kernel'
import sharedStorePlugin, { sharedStore } from '@plinth/shared-store'
import t from 'tap'

onEachDatabase(t, 'a lock is renewed and released while other work holds all connections', async (t, db) => {
  const running = await startForTest(
    defineProduct({
      name: 'test',
      plugins: [databasePlugin, sharedStorePlugin],
      config: { ...db.config, 'platform.database.pool-size': 2 },
    }),
    { clock: manualClock(Date.now()) },
  )
  t.teardown(() => running.stop('test ended'))
  const store = running.service(sharedStore)
  const data = running.service(database)
  const lease = await store.acquire('report', 60_000)
  const other = await store.acquire('other', 60_000)
  const end = Promise.withResolvers<void>()
  const hold = async () => {
    const begun = Promise.withResolvers<void>()
    const held = data.transactional(async () => {
      begun.resolve()
      await end.promise
    })
    await begun.promise
    return () => held
  }
  // On SQLite, the test blocks no connection: there is only one, and a renewal comes first in its queue.
  const holders = db.dialect === 'sqlite' ? [] : await Promise.all([hold(), hold()])
  t.equal(await lease?.renew(120_000), true)
  t.equal(await other?.release(), true)
  end.resolve()
  await Promise.all(holders.map((held) => held()))

  const [row] = await data.query<{ since: unknown; expires_at: unknown; amount: unknown }>(
    'select since, expires_at, amount from shared_store_entry where name = ?',
    ['lock:report'],
  )
  const { fence = 0 } = lease ?? {}
  t.equal(Number(row?.expires_at) - Number(row?.since), 86_400_000, 'the fence is remembered for a day after the lease')
  t.ok(Number(row?.since) * 1000 > fence + 60_000_000, 'the lease ends later than before')
  t.equal(Number(row?.amount), fence)
  t.equal(await store.acquire('report', 1), undefined)
  t.ok(((await store.acquire('other', 60_000))?.fence ?? 0) > (other?.fence ?? 0), 'what was released is free')
  t.equal(await other?.renew(1), false, 'and no longer held by the one before')
  t.equal(await other?.release(), false)
})
