import { database } from '@plinth/database'
import { assertMembers } from '@plinth/dev/testing'
import { onEachDatabase, onSqlite } from '@plinth/dev/testing/database'
import { BusinessError, definePlugin, type JsonValue, key, omitUndefined, service } from '@plinth/kernel'
import type { ConfigCentre, ConfigChange, KeyProblem } from '@plinth/system-config'
import t from 'tap'
import { operator, samplePlugin, startOn } from './fixtures/products.ts'

const installed = 'platform.setup.installed'
const by = { actor: operator, reason: 'because' }

interface Setup {
  readonly seen: boolean[]
}
const setup = service<Setup>('test.setup')

/** A plugin that stores in the database whether its work is done. */
const setupPlugin = definePlugin({
  id: 'test.setup',
  version: '1.0.0',
  kernel: '^1.0.0',
  provides: [setup],
  config: {
    [installed]: key.boolean({ title: 'Installed', default: false, state: true, reload: 'live' }),
    'platform.setup.safety': key.boolean({ title: 'Safety', default: false, editable: false }),
    'platform.setup.name': key.string({ title: 'Name', default: '' }),
  },
  setup({ config, provide }) {
    const seen = [config.get(installed)]
    config.onChange(installed, (value) => void seen.push(value))
    provide(setup, { seen })
  },
})
const plugins = [setupPlugin, samplePlugin]

const set = (name: string, value: JsonValue, expectedVersion?: number): ConfigChange =>
  omitUndefined({
    key: name,
    action: 'set',
    value,
    expectedVersion,
  })
const reset = (name: string): ConfigChange => ({ key: name, action: 'reset' })

async function rejection(work: Promise<unknown>): Promise<{ reason: string | undefined; rules: readonly string[] }> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof BusinessError)) throw error ?? new Error('It should have failed.')
  return { reason: error.reason, rules: ((error.data?.['errors'] ?? []) as KeyProblem[]).map(({ rule }) => rule) }
}
const notEditable = { reason: 'system-config.invalid', rules: ['not-editable'] }

onEachDatabase(t, 'I-007 only its plugin writes state, and the state applies on every instance', async (t, db) => {
  const [a, b] = [await startOn(t, db, { plugins }), await startOn(t, db, { plugins })]
  assertMembers(t, await a.centre.saveState('test.setup', [set(installed, true, 0)], by), {
    version: 1,
    effects: [{ outcome: 'applied', after: true }],
  })
  await b.centre.refresh()
  for (const { running } of [a, b]) t.same(running.service(setup).seen, [false, true])
  const { items } = await b.centre.history({}, { size: 9, offset: 0, count: 'exact' })
  assertMembers(t, items, [{ key: installed, origin: 'state', actor: 'alice', reason: 'because', traceId: 'trace-1' }])
  t.match(await b.centre.get(installed), {
    declaration: { editable: false, state: true },
    explanation: { effective: { source: 'database', value: true } },
    problem: undefined,
  })

  const others = ['platform.setup.safety', 'platform.setup.name', 'platform.sample.limit', 'platform.none']
  for (const other of others) {
    const error = await rejection(a.centre.saveState('test.setup', [set(installed, false), set(other, 1)], by))
    t.same(error.rules, ['not-owner'], other)
  }
  t.same((await rejection(a.centre.saveState('test.sample', [set(installed, false)], by))).rules, ['not-owner'])
  t.same((await rejection(a.centre.saveState('test.setup', [set(installed, 'no')], by))).rules, ['type'])
  t.equal(a.centre.version, 1, 'all or none')
})

onEachDatabase(t, 'I-007 if many instances set state at the same time, one succeeds', async (t, db) => {
  const [a, b] = [await startOn(t, db, { plugins }), await startOn(t, db, { plugins })]
  const tries = Array.from({ length: 8 }, (_, index) => {
    const { centre } = index % 2 === 0 ? a : b
    return centre.saveState('test.setup', [set(installed, true, 0)], by)
  })
  const ends = await Promise.allSettled(tries)
  t.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1)
  for (const end of ends) {
    if (end.status === 'rejected') t.hasStrict(end.reason, { code: '409', reason: 'system-config.conflict' })
  }
})

onSqlite(
  t,
  'I-007 no other operation writes state: save, reset, import, rollback, not even as an orphan',
  async (t, db) => {
    const { centre, running } = await startOn(t, db, { plugins })
    await centre.save([set('platform.sample.limit', 20)], by)
    await centre.saveState('test.setup', [set(installed, true)], by)
    const attacks = async (under: ConfigCentre, reported: typeof notEditable) => {
      const document = { format: 'plinth-config/1', values: { [installed]: false } } as const
      const options = { ...by, verify: false }
      t.same(await rejection(under.save([set(installed, false)], options)), reported)
      t.same(await rejection(under.save([reset(installed)], options)), reported)
      t.same(await rejection(under.import(document, { ...options, mode: 'merge' })), reported)
      t.same(await rejection(under.rollback(1, { ...options, keys: [installed] })), reported)
      const preview = await under.preview([set(installed, false), reset(installed)])
      t.same(
        preview.faults.map(({ rule }) => rule),
        ['not-editable', 'duplicate'],
      )
    }
    await attacks(centre, notEditable)
    assertMembers(
      t,
      await centre.rollback(0, by),
      { version: 3, effects: [{ key: 'platform.sample.limit' }] },
      'it stays',
    )
    t.equal((await centre.import({ format: 'plinth-config/1', values: {} }, { ...by, mode: 'replace' })).version, 3)
    t.same((await centre.export()).values, {})
    t.same(running.service(setup).seen, [false, true])

    const without = await startOn(t, db)
    t.match(await without.centre.get(installed), { declaration: undefined, stored: { value: true } })
    await attacks(without.centre, notEditable)
    await centre.saveState('test.setup', [reset(installed)], by)
    t.same(running.service(setup).seen, [false, true, false])
  },
)

onSqlite(t, 'A14 a locked key that is not state is never read from the database', async (t, db) => {
  const { centre, running } = await startOn(t, db, { plugins })
  const storage = running.service(database)
  await centre.saveState('test.setup', [set(installed, true)], by)
  await storage.execute('update sys_config set config_key = ? where config_key = ?', [
    'platform.setup.safety',
    installed,
  ])
  await storage.execute('update sys_config_version set version = version + 1')
  await centre.refresh()
  t.match(await centre.get('platform.setup.safety'), {
    explanation: { effective: { value: false } },
    problem: /must not come from the database/,
  })
})
