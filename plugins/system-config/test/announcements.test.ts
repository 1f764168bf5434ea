import { spawn } from 'node:child_process'
import { rename } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { assertMembers, until, waitForProcessEnd } from '@plinth/dev/testing'
import { createDatabase, onDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import { createRedisNamespace, skipRedis } from '@plinth/dev/testing/shared-store'
import { type Clock, definePlugin, type JsonValue, systemClock } from '@plinth/kernel'
import sharedStorePlugin, { type SharedStore, sharedStore } from '@plinth/shared-store'
import type { ConfigChange } from '@plinth/system-config'
import t, { type Test } from 'tap'
import { operator, sample, samplePlugin, startWithClock } from './fixtures/products.ts'

const by = { actor: operator }
const limit = 'platform.sample.limit'
const set = (key: string, value: JsonValue): ConfigChange => ({ key, action: 'set', value })

/** A clock with real time on which a sleep of a minute never ends. With it, the config centre never polls. */
const withoutPoll: Clock = {
  ...systemClock,
  sleep: (ms, signal) => {
    if (ms < 60_000) return systemClock.sleep(ms, signal)
    return new Promise((resolve) => {
      if (signal?.aborted) resolve()
      signal?.addEventListener('abort', () => resolve())
    })
  },
}

const plugins = [samplePlugin, sharedStorePlugin]
const config = { 'platform.system-config.poll-interval': '1m', 'platform.shared-store.database.poll-interval': '10ms' }

/** Starts an instance that reads the stored values once and does not poll afterwards. */
async function instanceOn(t: Test, db: TestDatabase, driver: Readonly<Record<string, JsonValue>>) {
  const instance = await startWithClock(t, db, withoutPoll, { plugins, config: { ...config, ...driver } })
  const { limits } = instance.running.service(sample)
  await until(
    async () => (await instance.centre.instances()).some(({ pid, version }) => pid === process.pid && version >= 0),
    'it has read the stored values',
  )
  return { ...instance, limits }
}

async function everyWayOfChange(t: Test, db: TestDatabase, driver: Readonly<Record<string, JsonValue>>) {
  const a = await instanceOn(t, db, driver)
  const b = await instanceOn(t, db, driver)
  await until(async () => (await a.centre.instances()).length === 2, 'both are known')

  await a.centre.save([set(limit, 20)], by)
  await until(() => b.limits.at(-1) === 20, 'the save is in force')
  await until(async () => (await a.centre.instances()).every(({ version }) => version === 1), 'all say so')
  t.pass('a save is in force on the other instance, and that instance says so')
  await b.centre.save([{ key: limit, action: 'reset' }], by)
  await until(() => a.limits.at(-1) === 10, 'the reset is in force')
  t.pass('a reset, in the other direction')
  await a.centre.rollback(1, by)
  await until(() => b.limits.at(-1) === 20, 'the rollback is in force')
  t.pass('a rollback')
  const document = { format: 'plinth-config/1', values: { [limit]: 30 } } as const
  await a.centre.import(document, { ...by, mode: 'merge' })
  await until(() => b.limits.at(-1) === 30, 'the import is in force')
  t.pass('an import')
  await a.centre.saveState('test.sample', [set('platform.sample.state', 1)], by)
  await until(() => b.centre.version === a.centre.version, 'both have the same version')
  t.pass('state of a plugin')
}

onDatabase(t, 'K-008 a value that one instance stores applies on another immediately, through the database', (t, db) =>
  everyWayOfChange(t, db, {}),
)

t.test('K-008 a value that one instance stores applies on another, through Redis', { skip: skipRedis }, async (t) => {
  onDatabase(t, 'at once', async (t, db) => {
    const redis = createRedisNamespace()
    t.teardown(() => redis.drop())
    await everyWayOfChange(t, db, redis.config)
  })
})

t.test('K-008 other processes learn about a command through Redis', { skip: skipRedis }, async (t) => {
  const redis = createRedisNamespace()
  t.teardown(() => redis.drop())
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const server = await instanceOn(t, db, redis.config)
  const fixtures = JSON.stringify(join(import.meta.dirname, 'fixtures', 'products.ts'))
  const resolve = createRequire(import.meta.url).resolve
  const directory = t.testdir({
    'plinth.config.ts': `import { productOn, samplePlugin } from ${fixtures}
      import sharedStore from ${JSON.stringify(resolve('@plinth/shared-store'))}
      const db = ${JSON.stringify({ config: db.config, directory: db.directory })}
      export default productOn(db as never, [samplePlugin, sharedStore], ${JSON.stringify(redis.config)})`,
  })
  const program = resolve('@plinth/kernel').replace('index.ts', 'cli/main.ts')
  const child = spawn(process.execPath, [program, 'config', 'set', limit, '77'], { cwd: directory })
  const { code, stderr } = await waitForProcessEnd(child)
  t.equal(code, 0, stderr)
  await until(() => server.limits.at(-1) === 77, 'the value of the command is in force')
})

t.test('secrets that are encrypted again are read again, although no value changed', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const a = await instanceOn(t, db, {})
  const secret = 'platform.sample.secret'
  await a.centre.save([set(secret, 'right-1')], by)
  const file = join(db.directory, 'master.key')
  await rename(file, `${file}.away`)
  const b = await instanceOn(t, db, {})
  assertMembers(t, await b.centre.list('@problem'), [{ key: secret }])
  await rename(`${file}.away`, file)
  await b.centre.refresh()
  assertMembers(t, await b.centre.list('@problem'), [{ key: secret }], 'nothing says that the key is back')
  await a.centre.rotateSecrets()
  await until(async () => (await b.centre.list('@problem')).length === 0, 'the secret is read again')
  t.equal(b.centre.version, 1)
})

t.test('if the shared store is down, the save succeeds without an announcement', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  let requested = 0
  const down = () => {
    requested++
    return Promise.reject(new Error('nobody is there'))
  }
  const broken = definePlugin({
    id: 'test.broken-store',
    version: '1.0.0',
    kernel: '^1.0.0',
    provides: [sharedStore],
    setup: ({ provide }) => provide(sharedStore, { publish: down, subscribe: down } as unknown as SharedStore),
  })
  const { centre, running } = await startWithClock(t, db, withoutPoll, { plugins: [samplePlugin, broken] })
  assertMembers(t, await centre.save([set(limit, 20)], by), { version: 1, effects: [{ outcome: 'applied' }] })
  t.equal(running.service(sample).limits.at(-1), 20)
  await running.stop('done')
  t.equal(requested, 2, 'both were tried')
})
