import { database, type FoundPage } from '@plinth/database'
import { assertMembers, rejectsWith, until } from '@plinth/dev/testing'
import { createDatabase, onDatabase, onSqlite } from '@plinth/dev/testing/database'
import { BusinessError, definePlugin, key, omitUndefined, type PlinthError } from '@plinth/kernel'
import { StartRejectedError } from '@plinth/kernel/host'
import type { ConfigCentre, ConfigChange, KeyProblem } from '@plinth/system-config'
import { pino } from 'pino'
import t from 'tap'
import { ConfigRow } from '../src/entities.ts'
import { operator, sample, samplePlugin, startOn } from './fixtures/products.ts'

const set = (name: string, value: string | number | boolean, expectedVersion?: number): ConfigChange =>
  omitUndefined({
    key: `platform.sample.${name}`,
    action: 'set',
    value,
    expectedVersion,
  })
const reset = (name: string): ConfigChange => ({ key: `platform.sample.${name}`, action: 'reset' })
const by = { actor: operator }

async function failure(work: Promise<unknown>): Promise<BusinessError> {
  try {
    await work
  } catch (error) {
    if (error instanceof BusinessError) return error
    throw error
  }
  throw new Error('It should have failed.')
}
const problemsIn = ({ data }: BusinessError) => data?.['errors'] as KeyProblem[]
const storedKeys = async (centre: ConfigCentre) => (await centre.list('@stored')).map((item) => item.key)

onDatabase(t, 'change sets create the tables that the entities declare', async (t, db) => {
  const { running } = await startOn(t, db)
  const generator = running.service(database).fork().config.getExtension('@mikro-orm/schema-generator') as {
    getUpdateSchemaSQL(options: object): Promise<string>
  }
  t.equal((await generator.getUpdateSchemaSQL({ dropTables: false, safe: false, wrap: false })).trim(), '')
})

onDatabase(t, 'K-008 a stored live value applies immediately, a restart value at the next start', async (t, db) => {
  const first = await startOn(t, db, { environment: { PLATFORM_SAMPLE_MODE: 'slow' } })
  const plan = await first.centre.preview([set('limit', 20), set('mode', 'fast'), set('tags', 'x'), set('limt', 1)])
  assertMembers(t, plan.effects, [
    { key: 'platform.sample.limit', outcome: 'applied', plugin: 'test.sample' },
    { key: 'platform.sample.mode', outcome: 'pendingRestart' },
  ])
  t.same(plan.plugins, ['test.sample'])
  t.same(
    plan.faults.map(({ field, rule }) => [field, rule]),
    [
      ['platform.sample.tags', 'type'],
      ['platform.sample.limt', 'unknown'],
    ],
  )
  t.match(plan.faults[1]?.message, 'did you mean platform.sample.limit?')
  t.same([first.centre.version, first.running.service(sample).limits], [0, [10]], 'a preview changes nothing')

  const saved = await first.centre.save([set('limit', 20, 0), set('mode', 'fast', 0)], { ...by, reason: 'more load' })
  assertMembers(t, saved, {
    version: 1,
    effects: [
      { key: 'platform.sample.limit', outcome: 'applied', before: undefined, after: 20 },
      { key: 'platform.sample.mode', outcome: 'pendingRestart', after: 'fast' },
    ],
  })
  t.same(first.running.service(sample).limits, [10, 20])
  const mode = await first.centre.get('platform.sample.mode')
  t.match(mode.explanation, { pendingRestart: true, effective: { source: 'environment', value: 'slow' } })
  t.same(
    (await first.centre.list('@pending')).map((item) => item.key),
    ['platform.sample.mode'],
  )
  assertMembers(t, await first.centre.save([set('limit', 20)], by), { version: 1, effects: [{ outcome: 'unchanged' }] })

  await first.running.stop('restart')
  const second = await startOn(t, db, { environment: { PLATFORM_SAMPLE_MODE: 'slow' } })
  t.equal(second.running.service(sample).modeAtSetup, 'fast', 'set-up of a later plugin reads the database value')
  t.same(second.running.service(sample).limits, [20])
  t.same(
    second.running.plugins.map(({ id }) => id),
    ['followed-clock', 'database', 'system-config', 'test.sample'],
  )

  const shadowed = await startOn(t, db, { set: { 'platform.sample.limit': '7' } })
  assertMembers(t, await shadowed.centre.preview([set('limit', 30)]), {
    effects: [{ outcome: 'shadowed' }],
    plugins: [],
  })
  assertMembers(t, await shadowed.centre.save([set('limit', 30)], by), { effects: [{ outcome: 'shadowed' }] })
  t.same(shadowed.running.service(sample).limits, [7])
})

onSqlite(t, 'every error of every key is reported at once and nothing is saved', async (t, db) => {
  const { centre, running } = await startOn(t, db)
  const faulty = [
    set('limit', 0),
    set('mode', 'sideways'),
    set('safety', true),
    set('secret', '******'),
    set('window', 'soon'),
    set('token', 'fine'),
    set('token', 'twice'),
    reset('nothing'),
  ]
  const error = await failure(centre.save(faulty, by))
  t.hasStrict(error, { code: '400', reason: 'system-config.invalid' })
  t.same(
    problemsIn(error).map(({ field, rule }) => `${field.split('.').at(-1)} ${rule}`),
    [
      'limit minimum',
      'mode enum',
      'safety not-editable',
      'secret masked',
      'window format',
      'token duplicate',
      'nothing unknown',
    ],
  )
  t.equal(centre.version, 0)
  t.equal((await centre.history({}, { size: 10, offset: 0, count: 'exact' })).total, 0)

  const storage = running.service(database)
  await storage.transactional(async (em) => {
    const row = { masterKeyId: null, sensitive: false, version: 1, updatedAt: new Date(0), updatedBy: 'intruder' }
    em.create(ConfigRow, { ...row, configKey: 'platform.sample.safety', configValue: 'true' })
    em.create(ConfigRow, { ...row, configKey: 'platform.sample.limit', configValue: '5000' })
    await storage.execute('update sys_config_version set version = 1')
  })
  const items = await centre.list('@problem')
  assertMembers(t, items, [
    { key: 'platform.sample.limit', problem: /must be at most 1000/, explanation: { effective: { value: 10 } } },
    {
      key: 'platform.sample.safety',
      problem: /must not come from the database/,
      explanation: { effective: { value: false } },
    },
  ])
  await centre.save([reset('safety')], by)
  t.same(
    (await centre.list('@problem')).map((item) => item.key),
    ['platform.sample.limit'],
  )
})

onDatabase(
  t,
  'two instances see a live change within one interval; a rejection keeps the old value and is shown',
  async (t, db) => {
    const [a, b] = [await startOn(t, db), await startOn(t, db)]
    const there = b.running.service(sample)
    const next = there.nextLimit()
    await a.centre.save([set('limit', 50), set('mode', 'fast')], by)
    await until(
      async () => {
        await b.clock.advance(3_000)
        return there.limits.at(-1) === 50
      },
      'the other instance applies the value',
      0,
    )
    t.equal(await next, 50)
    t.match((await b.centre.get('platform.sample.mode')).explanation, {
      pendingRestart: true,
      effective: { value: 'slow' },
    })

    // An instance may reject a value that another instance accepts. Here an earlier version has stored a value that
    // both instances reject.
    await a.running.service(database).transactional(async (em) => {
      await em.nativeUpdate(ConfigRow, { configKey: 'platform.sample.limit' }, { configValue: '666', version: 2 })
      await a.running.service(database).execute('update sys_config_version set version = 2')
    })
    for (const { centre } of [a, b]) await centre.refresh()
    for (const { running, centre } of [a, b]) {
      t.equal(running.service(sample).limits.at(-1), 50)
      assertMembers(t, await centre.list('@problem'), [
        {
          key: 'platform.sample.limit',
          stored: { value: 666 },
          explanation: { effective: { value: 50 }, refused: /666/ },
        },
      ])
    }
    // The clocks of both instances advance together. Otherwise an instance without contact for minutes would not be
    // listed.
    await until(async () => {
      for (const { clock } of [a, b]) await clock.advance(3_000)
      return (await a.centre.instances()).every(({ version }) => version === 2)
    }, 'both have read what is stored')
    const instances = await a.centre.instances()
    t.equal(instances.length, 2)
    t.ok(instances.some(({ version, refused: list }) => version === 2 && list[0]?.key === 'platform.sample.limit'))
    await b.running.stop('gone')
    t.equal((await a.centre.instances()).length, 1)
  },
)

onDatabase(
  t,
  'concurrent edits: one of two operators succeeds, and saves of all instances have one order',
  async (t, db) => {
    const [a, b] = [await startOn(t, db), await startOn(t, db)]
    const attempts = await Promise.allSettled([
      a.centre.save([set('limit', 100, 0), set('window', '5m', 0)], { actor: { name: 'alice' } }),
      b.centre.save([set('window', '9m', 0), set('limit', 200, 0)], { actor: { name: 'bob' } }),
    ])
    t.same(attempts.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    const lost = attempts.find((attempt) => attempt.status === 'rejected')?.reason as BusinessError
    t.hasStrict(lost, { code: '409', reason: 'system-config.conflict' })
    assertMembers(t, lost.data?.['conflicts'], [{ expectedVersion: 0, currentVersion: 1, updatedBy: /alice|bob/ }, {}])
    await Promise.all([a.centre.refresh(), b.centre.refresh()])
    const values = async (centre: ConfigCentre) => (await centre.list('@stored')).map(({ stored }) => stored?.value)
    t.same(await values(a.centre), await values(b.centre))
    assertMembers(t, await values(a.centre), (await values(a.centre))[0] === 100 ? [100, '5m'] : [200, '9m'])

    await Promise.all(
      Array.from({ length: 12 }, (_, index) => [a, b][index % 2]?.centre.save([set('limit', index + 300)], by)),
    )
    await Promise.all([a.centre.refresh(), b.centre.refresh()])
    t.same([a.centre.version, b.centre.version], [13, 13])
    const { items } = await a.centre.history({ key: 'platform.sample.limit' }, { size: 50, offset: 0, count: 'exact' })
    const chain = items.toReversed()
    for (const [index, entry] of chain.entries())
      t.equal(entry.before, chain[index - 1]?.after, `version ${entry.version}`)
    t.equal(a.running.service(sample).limits.at(-1), chain.at(-1)?.after)
    t.equal(b.running.service(sample).limits.at(-1), chain.at(-1)?.after)
  },
)

onDatabase(t, 'two concurrent saves cannot store values that are invalid together', async (t, db) => {
  const [enabled, mode] = ['platform.pair.enabled', 'platform.pair.mode'] as const
  const pair = definePlugin({
    id: 'test.pair',
    version: '1.0.0',
    kernel: '^1.0.0',
    config: {
      [enabled]: key.boolean({ title: 'Enabled', default: true, neededWhile: { key: mode, is: 'on' } }),
      [mode]: key.enum({ title: 'Mode', values: ['off', 'on'], default: 'off' }),
    },
  })
  const one = await startOn(t, db, { plugins: [pair] })
  const two = await startOn(t, db, { plugins: [pair] })
  const switchOff = [{ key: enabled, action: 'set', value: false }] as const
  const use = [{ key: mode, action: 'set', value: 'on' }] as const
  const resets = [enabled, mode].map((key) => ({ key, action: 'reset' }) as const)
  const refused = { code: '400', reason: 'system-config.invalid', data: { errors: [{ field: mode, rule: 'needed' }] } }

  // The other instance saves its change after this instance has validated its own change.
  const store = one.running.service(database)
  const { transactional } = store
  store.transactional = async (work, options) => {
    store.transactional = transactional
    await two.centre.save(switchOff, by)
    return transactional.call(store, work, options) as Promise<never>
  }
  await rejectsWith(t, one.centre.save(use, by), refused)
  t.match(await one.centre.get(mode), { stored: undefined })

  await one.centre.save(resets, by)
  const outcomes = await Promise.allSettled([one.centre.save(switchOff, by), one.centre.save(use, by)])
  t.same(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'], 'nor on one instance')
})

onDatabase(t, 'the history contains user, time and reason; a rollback is a new version', async (t, db) => {
  const { centre, running } = await startOn(t, db)
  await centre.save([set('limit', 20), set('window', '5m')], { ...by, reason: '因为'.repeat(150) })
  await centre.save([set('limit', 30), reset('window'), set('secret', 'right-1')], { actor: { name: 'bob' } })
  await centre.save([set('secret', 'right-2')], by)
  const { items, total } = await centre.history({}, { size: 2, offset: 0, count: 'exact' })
  t.equal(total, 6)
  t.match(items[0], { version: 3, key: 'platform.sample.secret', before: '******', after: '******', sensitive: true })
  const first = (
    await centre.history({ key: 'platform.sample.limit' }, { size: 10, offset: 0, count: 'exact' })
  ).items.at(-1)
  t.match(first, { actor: 'alice', traceId: 'trace-1', origin: 'save', before: undefined, after: 20, version: 1 })
  t.equal([...(first?.reason ?? '')].length, 200)
  const walked: unknown[] = []
  for (let after: FoundPage<unknown>['next'] | undefined; after !== null && walked.length < 200; ) {
    const page = await centre.history({}, { size: 1, offset: 0, count: 'none', after })
    walked.push(...page.items)
    after = page.next
  }
  t.same(walked, (await centre.history({}, { size: 9, offset: 0, count: 'none' })).items, 'one by one the same')

  t.same(await centre.rollbackChanges(3), [])
  assertMembers(t, await centre.preview(await centre.rollbackChanges(1)), {
    faults: [],
    effects: [
      { key: 'platform.sample.limit', before: 30, after: 20 },
      { key: 'platform.sample.secret', before: '******', after: undefined },
      { key: 'platform.sample.window', before: undefined, after: '5m' },
    ],
  })
  assertMembers(t, await centre.rollback(2, { ...by, keys: ['platform.sample.secret'] }), {
    version: 4,
    effects: [{ after: '******' }],
  })
  t.match(await centre.rollback(1, { ...by, reason: 'too much' }), { version: 5 })
  t.same(await storedKeys(centre), ['platform.sample.limit', 'platform.sample.window'])
  t.equal(running.service(sample).limits.at(-1), 20)
  assertMembers(t, (await centre.history({}, { size: 1, offset: 0, count: 'exact' })).items, [
    { version: 5, origin: 'rollback', reason: 'too much' },
  ])
  await centre.rollback(0, by)
  t.same(await storedKeys(centre), [])
  t.hasStrict(await failure(centre.rollback(99, by)), { code: '400', reason: 'system-config.version-unknown' })
})

onSqlite(
  t,
  'values of missing plugins are kept and shown, and deprecated keys apply to their replacement',
  async (t, db) => {
    const first = await startOn(t, db)
    await first.centre.save([set('limit', 20), set('old-window', '7m'), set('secret', 'right-secret')], by)
    t.match((await first.centre.get('platform.sample.window')).explanation, {
      effective: { value: '7m', source: 'database' },
    })
    t.same(
      (await first.centre.list('@deprecated')).map((item) => item.key),
      ['platform.sample.old-window'],
    )
    await first.running.stop('plugin removed')

    const without = await startOn(t, db, { plugins: [] })
    const orphans = await without.centre.list('@orphaned')
    assertMembers(t, orphans, [
      { key: 'platform.sample.limit', declaration: undefined, stored: { value: 20 } },
      { key: 'platform.sample.old-window' },
      { key: 'platform.sample.secret', stored: { value: '******' } },
    ])
    assertMembers(t, problemsIn(await failure(without.centre.save([set('limit', 5)], by))), [{ rule: 'unknown' }])
    assertMembers(t, await without.centre.export(), {
      values: { 'platform.sample.limit': 20 },
      omittedSecrets: ['platform.sample.secret'],
    })
    await without.centre.save([reset('old-window')], by)
    await without.running.stop('plugin back')

    const again = await startOn(t, db)
    t.same(again.running.service(sample).limits, [20], 'the kept value counts again')
    t.equal((await again.centre.get('platform.sample.old-window')).stored, undefined)
  },
)

onDatabase(t, 'a database failure in the middle of a save changes nothing', async (t, db) => {
  const { centre, running } = await startOn(t, db)
  await centre.save([set('limit', 20)], by)
  const service = running.service(database)
  const execute = service.execute.bind(service)
  let isBroken = true
  service.execute = async (sql, parameters) => {
    if (isBroken && sql.startsWith('update sys_config_version set version = ?')) {
      isBroken = false
      // The server closes the connection that saves, not the connection that polls.
      if (db.dialect === 'postgresql') await execute('select pg_terminate_backend(pg_backend_pid())')
      else throw new Error('disk I/O error with a secret in it')
    }
    return execute(sql, parameters)
  }
  const error = await failure(centre.save([set('limit', 30), set('window', '5m')], by))
  t.hasStrict(error, { code: '503', reason: 'system-config.storage-unavailable' })
  t.notMatch(error.message, /disk|secret/)
  t.match(await centre.get('platform.sample.limit'), {
    stored: { value: 20, version: 1 },
    explanation: { effective: { value: 20 } },
  })
  t.equal((await centre.history({}, { size: 10, offset: 0, count: 'exact' })).total, 1)
  t.match(await centre.save([set('limit', 30, 1)], by), { version: 2 }, 'and the next save works')
})

t.test('an outage of the database is one short log line per operation', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const lines: string[] = []
  // No server listens on this port.
  const { centre } = await startOn(t, db, {
    roles: ['cli'],
    config: {
      'platform.database.type': 'postgresql',
      'platform.database.host': '127.0.0.1',
      'platform.database.port': 1,
    },
    logger: pino({ level: 'warn' }, { write: (line) => void lines.push(line) }),
  })
  const error = await failure(centre.history({}, { size: 10, offset: 0, count: 'none' }))
  t.hasStrict(error, { code: '503', reason: 'system-config.storage-unavailable' })
  const reason = 'Cannot connect to the postgresql server at 127.0.0.1:1/plinth: connect ECONNREFUSED 127.0.0.1:1.'
  const own = lines.map((line) => JSON.parse(line)).filter(({ plugin }) => plugin === 'system-config')
  t.same(
    own.map(({ level, msg, reason, err }) => ({ level, msg, reason, err })),
    [
      { level: 40, msg: 'stored configuration cannot be read', reason, err: undefined },
      { level: 50, msg: 'stored configuration cannot be read', reason, err: undefined },
    ],
  )
})

t.test('K-008 search: words in both languages and filters, all of which must match', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { centre } = await startOn(t, db, { environment: { PLATFORM_SAMPLE_WINDOW: '3m' } })
  await centre.save([set('limit', 20)], by)
  const found = async (query: string) =>
    (await centre.list(query)).map((item) => item.key.replace('platform.sample.', ''))
  t.same(await found('请求 limit'), ['limit'])
  t.same(await found('REQUEST LIMIT'), ['limit'])
  t.same(await found('PLATFORM_SAMPLE_LIMIT'), ['limit'])
  t.same(await found('@modified @group:sample @source:env'), ['window'])
  t.same(await found('@modified @plugin:test.sample'), ['limit', 'window'])
  t.same(await found('@stored'), ['limit'])
  t.same(await found('@sensitive @restart @plugin:test.sample'), ['token'])
  t.same(await found('@secret @restart @plugin:test.sample'), ['token'])
  t.same(await found('@env @plugin:test.sample'), ['window'])
  t.same(await found('@locked @plugin:test.sample'), ['safety', 'state'])
  t.same(await found('no such thing'), [])
  t.ok((await found('')).length > 20, 'keys of all plugins and of the kernel')
  for (const query of ['@modifed', '@group', '@constructor', '@source:env @__proto__']) {
    t.hasStrict(await failure(centre.list(query)), { code: '400', reason: 'system-config.filter-unknown' }, query)
  }
  t.hasStrict(await failure(centre.get('platform.nothing')), { code: '404', reason: 'system-config.key-unknown' })
})

t.test('plugins that the configuration plugin needs are set up first, whatever the order of the list', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const needy = definePlugin({
    id: 'a.needy',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { sample },
    config: { 'platform.needy.x': key.string({ title: 'X', required: true }) },
  })
  const error = await startOn(t, db, { plugins: [needy, samplePlugin] }).catch((rejection: PlinthError) => rejection)
  t.ok(error instanceof StartRejectedError, 'a required value cannot come from the database alone')
  const { running } = await startOn(t, db, { plugins: [needy, samplePlugin], config: { 'platform.needy.x': 'x' } })
  t.same(
    running.plugins.map(({ id }) => id),
    ['followed-clock', 'database', 'system-config', 'test.sample', 'a.needy'],
  )
})
