/** Tests values that are valid individually but prevent a start in combination. */
import databasePlugin, { database } from '@plinth/database'
import { assertMembers, manualClock, startForTest } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { defineProduct } from '@plinth/kernel'
import rateLimitPlugin from '@plinth/rate-limit'
import localTokenBucket from '@plinth/rate-limit-stores/local-token-bucket'
import memory from '@plinth/rate-limit-stores/memory'
import sharedBucket from '@plinth/rate-limit-stores/shared-bucket'
import sharedWindow from '@plinth/rate-limit-stores/shared-window'
import sharedStorePlugin from '@plinth/shared-store'
import systemConfig, { type ConfigChange, configCentre } from '@plinth/system-config'
import t, { type Test } from 'tap'

const by = { actor: { name: 'alice' } }
const defaultStore = 'platform.rate-limit.default-store'
const set = (key: string, value: string | boolean): ConfigChange => ({ key, action: 'set', value })
const reset = (key: string): ConfigChange => ({ key, action: 'reset' })

async function start(t: Test, inFile: Readonly<Record<string, string | boolean>> = {}) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const product = defineProduct({
    name: 'test',
    plugins: [
      databasePlugin,
      sharedStorePlugin,
      systemConfig,
      rateLimitPlugin,
      memory,
      localTokenBucket,
      sharedBucket,
      sharedWindow,
    ],
    config: { ...db.config, 'platform.system-config.master-key-file': `${db.directory}/master.key`, ...inFile },
  })
  const restart = async () => {
    const running = await startForTest(product, { clock: manualClock() })
    t.teardown(() => running.stop('test ended'))
    await running.service(database).ping(AbortSignal.timeout(60_000))
    return { running, centre: running.service(configCentre) }
  }
  return { ...(await restart()), restart }
}

for (const name of ['shared-window', 'shared-bucket', 'local-token-bucket']) {
  const enabled = `platform.rate-limit.stores.${name}.enabled`
  t.test(`${name} is not disabled while it is the default store`, async (t) => {
    const { running, centre, restart } = await start(t)
    const rejected = async (work: Promise<unknown>, why: string, ...fields: string[]) => {
      const error: unknown = await work.catch((reason: unknown) => reason)
      assertMembers(t, error, { data: { errors: fields.map((field) => ({ field, rule: 'needed' })) } }, why)
    }
    const both = [set(defaultStore, name), set(enabled, false)]
    const { faults } = await centre.preview(both)
    assertMembers(t, faults, [
      {
        field: enabled,
        rule: 'needed',
        message: `${enabled} must stay true while ${defaultStore} is "${name}"; change that key first`,
      },
      {
        field: defaultStore,
        rule: 'needed',
        message: `${defaultStore} must not be "${name}" while ${enabled} is false; the product would not start`,
      },
    ])
    await rejected(centre.save(both, by), 'both at once', enabled, defaultStore)
    t.equal(centre.version, 0, 'nothing is stored')

    await centre.save([set(defaultStore, name)], by)
    assertMembers(t, (await centre.preview([set(enabled, false)])).faults, [{ field: enabled, rule: 'needed' }])
    await rejected(centre.save([set(enabled, false)], by), 'it is in use', enabled)
    await centre.save([set(defaultStore, 'memory'), set(enabled, false)], by)
    t.match(running.config.explain(enabled), { pendingRestart: true }, 'in one change with another default it goes')
    await rejected(centre.save([set(defaultStore, name)], by), 'what waits for the restart counts', defaultStore)
    await rejected(centre.rollback(1, { ...by, keys: [defaultStore] }), 'nor by way of the history', defaultStore)
    await running.stop('restart')
    const again = await restart()
    t.equal(again.running.state, 'ready')
    await again.centre.save([reset(enabled)], by)
    await again.running.stop('restart')
    t.equal((await (await restart()).centre.save([set(defaultStore, name)], by)).version, 4)
  })
}

t.test('a value in a file counts like a stored one', async (t) => {
  const enabled = 'platform.rate-limit.stores.shared-window.enabled'
  const { centre } = await start(t, { [defaultStore]: 'shared-window' })
  const error: unknown = await centre.save([set(enabled, false)], by).catch((reason: unknown) => reason)
  assertMembers(t, error, { data: { errors: [{ rule: 'needed', message: /must stay true/ }] } })
  await centre.save([set(defaultStore, 'memory')], by)
  await centre.save([set(enabled, false)], by)
  assertMembers(
    t,
    (await centre.preview([reset(defaultStore)])).faults,
    [{ field: defaultStore, rule: 'needed' }],
    'a reset too',
  )
})
