/** Tests the effect of each configuration key of the config centre. */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { assertKeyEffect, manualClock } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { operator, startOn, startWithClock } from './fixtures/products.ts'

const secretKey = 'platform.sample.secret'
const save = (value: string) => [[{ key: secretKey, action: 'set', value }] as const, { actor: operator }] as const

async function sqlite() {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return db
}

t.test('an instance polls for changes at the interval', async (t) => {
  const [polls] = await assertKeyEffect(t, 'platform.system-config.poll-interval', {
    changed: '4321ms',
    observe: async (config) => {
      const clock = manualClock()
      const sleeps: number[] = []
      const { sleep } = clock
      clock.sleep = (ms, ...others) => {
        sleeps.push(ms)
        return sleep(ms, ...others)
      }
      await startWithClock(t, await sqlite(), clock, { config })
      await clock.advance(0)
      return sleeps.includes(4321)
    },
  })
  t.match(polls, { before: false, after: true })
})

t.test('secrets are encrypted with the master key', async (t) => {
  const [one, other] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]
  const withKey = (key: string) => ({ environment: { PLATFORM_SYSTEM_CONFIG_MASTER_KEY: key } })
  const [outcomes] = await assertKeyEffect(t, 'platform.system-config.master-key', {
    compared: one,
    changed: other,
    observe: async (values, key) => {
      const db = await sqlite()
      const first = await startOn(t, db, withKey(one))
      await first.centre.save(...save('hush-hush-42'))
      await first.running.stop('restart')
      const second = await startOn(t, db, withKey(String(values[key])))
      const { problem } = await second.centre.get(secretKey)
      await second.running.stop('done')
      return { isReadable: problem === undefined, hasFile: existsSync(join(db.directory, 'master.key')) }
    },
  })
  t.same(outcomes?.before, { isReadable: true, hasFile: false })
  t.match(outcomes?.after, { isReadable: false })

  const [file, elsewhere] = [join(t.testdir(), 'one.key'), join(t.testdir(), 'other.key')]
  const [files] = await assertKeyEffect(t, 'platform.system-config.master-key-file', {
    compared: file,
    changed: elsewhere,
    observe: async (config) => {
      const { centre } = await startOn(t, await sqlite(), { config })
      await centre.save(...save('hush-hush-42'))
      return [file, elsewhere].map((path) => existsSync(path))
    },
  })
  t.same(
    [files?.before, files?.after],
    [
      [true, false],
      [true, true],
    ],
  )
})

t.test('changes of listed keys become requests', async (t) => {
  const [outcomes] = await assertKeyEffect(t, 'platform.system-config.approval.keys', {
    changed: ['platform.sample.*'],
    observe: async (config) => {
      const { centre } = await startOn(t, await sqlite(), { config })
      const actor = { name: 'ann', userId: 7, can: () => true }
      const { requestId } = await centre.save([{ key: 'platform.sample.limit', action: 'set', value: 7 }], { actor })
      return requestId !== undefined
    },
  })
  t.match(outcomes, { before: false, after: true })
})
