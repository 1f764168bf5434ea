/** What keys of identity do that no other test is about. */
import { database } from '@plinth/database'
import { createDatabase } from '@plinth/database/testing'
import t from 'tap'
import { startIam } from './fixtures/product.ts'

const day = 86_400_000

t.test('effect of platform.iam.audit.retention: old records go, young ones stay', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { running, clock, administrator } = await startIam(t, db, { config: { 'platform.iam.audit.retention': '2d' } })
  await administrator()
  const service = running.service(database)
  const count = async () => {
    const [row] = await service.query<{ n: number }>('select count(*) as n from iam_login_audit')
    return Number(row?.n)
  }
  const purge = () => running.scheduledTasks.find(({ name }) => name === 'iam.purge')?.run(new AbortController().signal)
  t.equal(await count(), 1)
  clock.shiftWallClock(2 * day - 1000)
  await purge()
  t.equal(await count(), 1)
  clock.shiftWallClock(2000)
  await purge()
  t.equal(await count(), 0)
})

t.test('effects of platform.iam.password.hash.{memory,passes}: what a stored hash says', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const config = { 'platform.iam.password.hash.memory': '2MiB', 'platform.iam.password.hash.passes': 3 }
  const { running, administrator } = await startIam(t, db, { config })
  await administrator()
  const [row] = await running.service(database).query<Record<string, string>>('select * from iam_user')
  t.match(JSON.stringify(row), /\$argon2id\$v=19\$m=2048,t=3,/)
})
