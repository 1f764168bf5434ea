import { type Database, database } from '@plinth/database'
import { assertMembers } from '@plinth/dev/testing'
import { createDatabase, onDatabase, onSqlite, type TestDatabase } from '@plinth/dev/testing/database'
import { BusinessError, definePlugin, key, type Logger } from '@plinth/kernel'
import type { ConfigCentre, ConfigChange, KeyProblem } from '@plinth/system-config'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { ConfigRow } from '../src/entities.ts'
import { operator, startOn } from './fixtures/products.ts'

const by = { actor: operator }
const set = (name: string, value: string | number): ConfigChange => ({
  key: `platform.judge.${name}`,
  action: 'set',
  value,
})

/** Returns a plugin that owns a key. It rejects the values in `banned`, and records its calls. */
function judge() {
  const banned = new Set<unknown>()
  const asked: unknown[] = []
  const rates: number[] = []
  const levels: number[] = []
  const plugin = definePlugin({
    id: 'test.judge',
    version: '1.0.0',
    kernel: '^1.0.0',
    config: {
      'platform.judge.rate': key.integer({ title: 'Rate', default: 1, reload: 'live' }),
      'platform.judge.level': key.integer({ title: 'Level', default: 1, reload: 'live' }),
      'platform.judge.backend': key.string({ title: 'Backend', default: 'none' }),
      'platform.judge.old-backend': key.string({
        title: 'Old backend',
        deprecated: { since: '1.0.0', replacement: 'platform.judge.backend' },
      }),
      'platform.judge.password': key.string({ title: 'Password', default: '', sensitive: true }),
      'platform.judge.port': key.port({ title: 'Port', default: 80, scope: 'process' }),
    },
    setup({ config }) {
      const reject = (value: unknown) => {
        if (banned.has(value)) throw new Error(`${value} is out of the question`)
      }
      const verifier = (value: unknown) => {
        asked.push(value)
        reject(value)
      }
      config.onVerify('platform.judge.backend', verifier)
      config.onVerify('platform.judge.password', verifier)
      config.onChange('platform.judge.rate', (rate) => {
        reject(rate)
        rates.push(rate)
      })
      config.onChange('platform.judge.level', (level) => {
        reject(level)
        levels.push(level)
      })
    },
  })
  return { plugin, banned, asked, rates, levels }
}

async function problemsOf(work: Promise<unknown>): Promise<readonly KeyProblem[]> {
  try {
    await work
  } catch (error) {
    if (error instanceof BusinessError && error.reason === 'system-config.invalid') {
      return error.data?.['errors'] as KeyProblem[]
    }
    throw error
  }
  throw new Error('It should have been refused.')
}
const stored = async (centre: ConfigCentre) => (await centre.list('@stored')).map((item) => item.key.split('.').at(-1))

onSqlite(
  t,
  'a value that its owner rejects is never stored, and neither are the values saved with it',
  async (t, db) => {
    const owner = judge()
    const { centre } = await startOn(t, db, { plugins: [owner.plugin] })
    owner.banned.add(13).add('nowhere').add('guess')

    const changes = [set('rate', 7), set('level', 13), set('backend', 'nowhere'), set('password', 'guess')]
    const plan = await centre.preview(changes)
    assertMembers(t, plan.faults, [
      {
        field: 'platform.judge.backend',
        rule: 'refused',
        message: /refused by its plugin: nowhere is out of the question/,
      },
    ])
    t.equal(plan.faults.length, 1, 'a look asks no owner of a secret, and calls no listener')
    t.same(
      plan.effects.map((effect) => effect.key.split('.').at(-1)),
      ['rate', 'level', 'password'],
    )
    t.same([owner.asked, owner.rates, owner.levels], [['nowhere'], [], []])

    const fields = async (asked: readonly ConfigChange[], options = {}) =>
      (await problemsOf(centre.save(asked, { ...by, ...options }))).map(({ field, rule }) => `${rule} ${field}`)
    t.same(await fields(changes), ['refused platform.judge.backend', 'refused platform.judge.password'])
    t.same(
      await fields([set('old-backend', 'nowhere')]),
      ['refused platform.judge.old-backend'],
      'it speaks for the new key',
    )
    t.same(owner.rates, [], 'verifiers come first')
    t.same(await fields([set('rate', 7), set('backend', 'here'), set('level', 13)]), ['refused platform.judge.level'])
    t.same(owner.rates, [7, 1], 'who had taken a value has the old one back')
    t.same(
      await fields([set('level', 13)], { verify: false }),
      ['refused platform.judge.level'],
      'a listener always decides',
    )
    const document = {
      format: 'plinth-config/1' as const,
      values: { 'platform.judge.level': 13, 'platform.judge.rate': 7 },
    }
    assertMembers(t, await problemsOf(centre.import(document, { ...by, mode: 'merge' })), [
      { field: 'platform.judge.level' },
    ])
    t.same([centre.version, await stored(centre)], [0, []])

    await centre.save([set('level', 5), set('backend', 'here')], by)
    await centre.save([set('level', 6), set('backend', 'there')], by)
    t.same(owner.levels, [5, 6], 'a listener gets a value that is stored once')
    owner.banned.add(5)
    assertMembers(t, await problemsOf(centre.rollback(1, by)), [{ field: 'platform.judge.level', rule: 'refused' }])
    owner.banned.add('here')
    assertMembers(t, await problemsOf(centre.rollback(1, by)), [{ field: 'platform.judge.backend', rule: 'refused' }])
    t.equal(centre.version, 2)
    t.match(await centre.get('platform.judge.level'), {
      stored: { value: 6 },
      explanation: { effective: { value: 6 } },
    })
  },
)

onDatabase(t, 'after concurrent saves, all instances have the value of the successful one', async (t, db) => {
  const [one, two] = [judge(), judge()]
  const [a, b] = [await startOn(t, db, { plugins: [one.plugin] }), await startOn(t, db, { plugins: [two.plugin] })]
  for (let round = 0; round < 5; round++) {
    const version = (await a.centre.get('platform.judge.rate')).stored?.version ?? 0
    await b.centre.refresh()
    const save = (centre: ConfigCentre, rate: number) =>
      centre.save([{ ...set('rate', rate), expectedVersion: version }], by)
    const outcomes = await Promise.allSettled([save(a.centre, 100 + round), save(b.centre, 200 + round)])
    const won = outcomes.filter(({ status }) => status === 'fulfilled')
    t.equal(won.length, 1)
    const winner = outcomes[0]?.status === 'fulfilled' ? 100 + round : 200 + round
    for (const [centre, { rates }] of [
      [a.centre, one],
      [b.centre, two],
    ] as const) {
      await centre.refresh()
      t.equal(rates.at(-1), winner, 'what was not stored was taken back')
    }
  }
})

onSqlite(
  t,
  'a key of a single process is never stored for all; a value of an earlier version is ignored',
  async (t, db) => {
    const lines: { level: number; key?: string; fix?: string; msg: string }[] = []
    const logger: Logger = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) })
    const { centre, running } = await startOn(t, db, { plugins: [judge().plugin], logger })
    const rejected = {
      field: 'platform.judge.port',
      rule: 'not-editable',
      message: /set per process.*set it in a file, as PLATFORM_JUDGE_PORT or with --set/,
    }
    const changes = [set('port', 8080), set('rate', 2)]
    assertMembers(t, (await centre.preview(changes)).faults, [rejected])
    assertMembers(t, await problemsOf(centre.save(changes, by)), [rejected])
    const document = { format: 'plinth-config/1' as const, values: { 'platform.judge.port': 8080 } }
    assertMembers(t, await problemsOf(centre.import(document, { ...by, mode: 'merge' })), [rejected])
    t.equal(centre.version, 0)

    await plant(running.service(database), 'platform.judge.port', '8080')
    const item = await centre.get('platform.judge.port')
    t.match(item, {
      declaration: { scope: 'process', editable: false },
      problem: /is set per process/,
      explanation: { effective: { value: 80 } },
    })
    const warned = lines.filter(({ key }) => key === 'platform.judge.port')
    assertMembers(t, warned, [
      { level: 40, msg: /platform\.judge\.port is ignored/, fix: /plinth config reset platform\.judge\.port/ },
    ])
    t.same(
      (await centre.list('@process @plugin:test.judge')).map((one) => one.key),
      ['platform.judge.port'],
    )
    t.same((await centre.export()).values, {}, 'an export can be imported')
    await centre.save([{ key: 'platform.judge.port', action: 'reset' }], by)
    t.same(await stored(centre), [])
    t.same(await centre.rollbackChanges(1), [], 'going back does not bring it back')
  },
)

t.test('a product starts with a stored row of an earlier version, and reports the row', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  await startPlanted(t, db)
  const lines: { msg: string }[] = []
  const logger: Logger = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) })
  const { centre } = await startOn(t, db, { plugins: [judge().plugin], logger })
  t.match((await centre.get('platform.judge.port')).explanation?.effective, { value: 80, source: 'default' })
  t.ok(lines.some(({ msg }) => msg.includes('platform.judge.port is ignored')))
})

async function startPlanted(t: Test, db: TestDatabase): Promise<void> {
  const { running } = await startOn(t, db, { plugins: [judge().plugin] })
  await plant(running.service(database), 'platform.judge.port', '8080')
  await running.stop('planted')
}

/** Stores a value as an earlier version would have stored it, which did not have the rule that rejects the value. */
async function plant(storage: Database, configKey: string, configValue: string): Promise<void> {
  const row = { masterKeyId: null, sensitive: false, version: 1, updatedAt: new Date(0), updatedBy: 'earlier' }
  await storage.transactional(async (em) => {
    em.create(ConfigRow, { ...row, configKey, configValue })
    await storage.execute('update sys_config_version set version = 1')
  })
}
