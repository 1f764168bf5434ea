/** What keys of the config centre do that no other test is about. */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createDatabase } from '@plinth/database/testing'
import { manualClock } from '@plinth/kernel/testing'
import t from 'tap'
import { operator, startOn, startWithClock } from './fixtures/products.ts'

const secretKey = 'platform.sample.secret'
const save = (value: string) => [[{ key: secretKey, action: 'set', value }] as const, { actor: operator }] as const

t.test('effect of platform.system-config.poll-interval: how often an instance looks', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const clock = manualClock()
  const sleeps: number[] = []
  const { sleep } = clock
  clock.sleep = (ms, signal) => {
    sleeps.push(ms)
    return sleep(ms, signal)
  }
  await startWithClock(t, db, clock, { config: { 'platform.system-config.poll-interval': '4321ms' } })
  await clock.advance(0)
  t.ok(sleeps.includes(4321), `${sleeps}`)
})

t.test('effects of platform.system-config.{master-key,master-key-file}: what seals secrets', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const masterKey = randomBytes(32).toString('base64')
  const given = { environment: { PLATFORM_SYSTEM_CONFIG_MASTER_KEY: masterKey } }
  const first = await startOn(t, db, given)
  await first.centre.save(...save('hush-hush-42'))
  t.notOk(existsSync(join(db.directory, 'master.key')), 'a key that is given needs no file')
  await first.running.stop('restart')
  const again = await startOn(t, db, given)
  t.equal((await again.centre.get(secretKey)).problem, undefined, 'the same key opens it')
  await again.running.stop('restart')

  const other = await createDatabase('sqlite')
  t.teardown(() => other.drop())
  const file = join(other.directory, 'elsewhere.key')
  const filed = await startOn(t, other, { config: { 'platform.system-config.master-key-file': file } })
  await filed.centre.save(...save('hush-hush-42'))
  t.ok(existsSync(file), 'without a key, one is made where the file shall lie')
})
