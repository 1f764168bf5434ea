/** Tests the installation with one call on every database: order, errors, retry, parallel runs, logs and events. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertMembers, until } from '@plinth/dev/testing'
import { onDatabase, onSqlite } from '@plinth/dev/testing/database'
import { type Events, events } from '@plinth/events'
import { definePlugin, defineProduct } from '@plinth/kernel'
import { prepareProduct } from '@plinth/kernel/host'
import { defineChangeSet } from '@plinth/migrations'
import sharedStorePlugin from '@plinth/shared-store'
import acmeUploads from '@plinth-example/acme-install-task'
import t from 'tap'
import { InstallCompletedEvent, InstallExecutionFailedEvent } from '../src/index.ts'
import { OrphanRow } from './fixtures/orphan-entity.ts'
import { plugins, secrets, startInstall } from './fixtures/product.ts'
import { taskPlugin } from './fixtures/task-plugin.ts'

const builtIn = [
  'security-entry',
  'environment-preflight',
  'config-validation',
  'config-write',
  'database-migration',
  'table-readiness',
  'base-identity',
  'administrator',
  'install-lock',
]
const codesOf = (records: readonly { readonly stepCode: string }[]) => records.map(({ stepCode }) => stepCode)

/**
 * Returns a plugin that records the events about the end of an installation. `reported` resolves when the first event
 * arrives.
 */
function listener() {
  const received: { type: string; payload: unknown }[] = []
  const { promise: reported, resolve } = Promise.withResolvers<void>()
  const plugin = definePlugin({
    id: 'probe.listener',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { events },
    setup({ services }) {
      const bus: Events = services.events
      for (const ref of [InstallCompletedEvent, InstallExecutionFailedEvent]) {
        bus.on<unknown>(ref, 'probe', ({ type, payload }) => {
          received.push({ type, payload })
          resolve()
        })
      }
    },
  })
  return { received, reported, plugin }
}

onDatabase(
  t,
  'I-050 I-051 I-054 I-056 I-072 I-130 I-132 I-133 I-134 I-136 I-137 a complete installation',
  async (t, db) => {
    const { received, plugin } = listener()
    const {
      execute,
      look,
      running,
      administrator,
      root,
      centre,
      clock,
      db: database,
    } = await startInstall(t, db, {
      plugins: [plugin],
    })
    const { code, data } = await execute()
    t.equal(code, '200')
    t.same(Object.keys(data).sort(), [
      'administratorReady',
      'authorized',
      'configWritten',
      'failedField',
      'locked',
      'message',
      'passed',
      'records',
      'restartRequired',
      'retriedSessionId',
      'sessionId',
    ])
    t.match(data, {
      authorized: true,
      passed: true,
      restartRequired: false,
      configWritten: true,
      administratorReady: true,
      locked: true,
      retriedSessionId: '',
      message: 'The product is installed.',
    })
    t.same(codesOf(data.records), builtIn, 'I-051 I-130')
    for (const record of data.records) {
      t.same(Object.keys(record).sort(), ['id', 'message', 'occurredAt', 'sessionId', 'status', 'stepCode'], 'I-054')
      t.match(record, { sessionId: data.sessionId, status: /^(passed|warning)$/, occurredAt: /Z$/ }, 'I-056')
    }
    t.match((await look('status')).data, { installed: true, locked: true, installAllowed: false }, 'I-072 I-137')
    t.match(await centre.get('platform.install.installed'), { stored: { value: true, updatedBy: 'install' } }, 'I-072')
    const policy = await centre.get('platform.iam.password.policy')
    t.match(
      policy,
      { stored: undefined, explanation: { effective: { value: 'low' } } },
      'I-111 a form without a policy keeps the default',
    )
    t.match(
      await centre.get('platform.iam.fresh-proof.enabled'),
      { stored: { value: true, updatedBy: 'install' } },
      'a new product asks for fresh proofs',
    )
    const [row] = await database.query<{ installed: unknown; session_id: string }>(
      'select installed, session_id from install_state where id = 1',
    )
    assertMembers(t, [Number(row?.installed), row?.session_id], [1, data.sessionId], 'I-072 the compatibility record')
    t.ok(existsSync(join(root, 'data/storage/install/installed.json')), 'the marker')

    const admin = await administrator()
    t.same((await admin('GET', `sessions/${data.sessionId}`)).data.records, data.records, 'I-132')
    t.hasStrict((await admin('GET', `sessions/${data.sessionId}`)).data.session, {
      status: 'passed',
      failedStep: '',
      retriedSessionId: '',
      clientIp: '127.0.0.1',
    })
    const lines = readFileSync(join(root, 'data/storage/install/execution.log'), 'utf8').trim().split('\n')
    t.same(
      lines.map((line) => JSON.parse(line)),
      data.records,
      'I-018 I-159',
    )

    await clock.advance(5_000)
    await running.service(events).idle()
    t.same(received, [
      {
        type: 'install.execution.completed',
        payload: {
          sessionId: data.sessionId,
          completedAt: '2026-01-01T00:00:00.000Z',
          restartSuggested: false,
          logCount: builtIn.length,
          message: 'The product is installed.',
        },
      },
    ])
  },
)

onDatabase(
  t,
  'I-066 I-131 I-139 I-140 I-141 I-142 I-144 I-206 a required task fails, and the retry succeeds',
  async (t, db) => {
    const { received, plugin } = listener()
    let isBroken = true
    const breaks = taskPlugin('shop-tables', {
      run() {
        if (isBroken) throw new Error(`no table for ${secrets.administrator}`)
      },
    })
    const { execute, install, look, accounts, form, administrator, running, clock } = await startInstall(t, db, {
      plugins: [plugin, breaks.plugin],
    })
    const failed = (await execute()).data
    t.match(failed, {
      authorized: true,
      passed: false,
      configWritten: true,
      administratorReady: false,
      locked: false,
      message: /shop-tables/,
    })
    t.same(codesOf(failed.records), [...builtIn.slice(0, 7), 'shop-tables'], 'I-131')
    t.match(failed.records.at(-1), { status: /^failed$/, message: /Probe shop-tables failed: no table for \*{6}/ })
    t.equal(await accounts.hasUsers(), false)
    t.match((await look('status')).data, { installed: false, installAllowed: true }, 'I-139')
    const { steps } = (await look('steps')).data
    const stateOf = (code: string) => steps.find((step: { code: string }) => step.code === code)
    t.hasStrict(stateOf('shop-tables'), {
      status: 'pending',
      name: 'Probe shop-tables',
      required: true,
      retryable: true,
    })
    t.hasStrict(stateOf('config-write'), { status: 'passed' })
    t.hasStrict(stateOf('administrator'), { status: 'pending' })

    t.hasStrict(await install('sessions/no-such-session/retry', { body: form }), {
      code: '404',
      data: { reason: 'install.session-unknown' },
    })
    t.equal(breaks.runs.count, 1, 'I-144 nothing was run')

    isBroken = false
    const other = { ...form, site: { ...form.site, name: 'Second try' } }
    const retried = (await install(`sessions/${failed.sessionId}/retry`, { body: other })).data
    t.match(retried, { passed: true, locked: true, retriedSessionId: failed.sessionId })
    t.not(retried.sessionId, failed.sessionId, 'I-141')
    t.equal(breaks.runs.count, 2)
    const admin = await administrator()
    const source = (await admin('GET', `sessions/${failed.sessionId}`)).data
    t.same(source.records.slice(0, -1), failed.records, 'I-142')
    t.hasStrict(source.records.at(-1), { stepCode: 'retry-requested', status: 'passed' }, 'I-142')
    t.hasStrict(source.session, { status: 'failed', failedStep: 'shop-tables' })
    t.equal((await accounts.findByRole('super-admin')).length, 1, 'one administrator')
    t.equal(running.config.explain('platform.site.name')?.effective.value, 'Second try', 'I-140 from this body')

    await clock.advance(5_000)
    await running.service(events).idle()
    assertMembers(t, received, [
      {
        type: 'install.execution.failed',
        payload: {
          sessionId: failed.sessionId,
          failedAt: /Z$/,
          failedStepCode: 'shop-tables',
          failedStepCount: 1,
          stepMessage: failed.records.at(-1).message,
          logCount: 8,
          message: failed.message,
        },
      },
      { type: 'install.execution.completed', payload: { sessionId: retried.sessionId } },
    ])
  },
)

onSqlite(t, 'I-052 I-053 I-067 I-068 I-069 optional and completed tasks', async (t, db) => {
  const optional = taskPlugin('shop-demo', {
    required: false,
    retryable: false,
    order: 900,
    run: () => {
      throw new Error('no demo')
    },
  })
  const complete = taskPlugin('shop-ready', { order: 5, isCompleted: () => true })
  const { execute, look } = await startInstall(t, db, { plugins: [optional.plugin, complete.plugin] })
  const { steps } = (await look('steps')).data
  const expected = [
    ...builtIn.slice(0, 5),
    'shop-ready',
    'table-readiness',
    'base-identity',
    'shop-demo',
    ...builtIn.slice(7),
  ]
  t.same(
    steps.map(({ sequence, code }: { sequence: number; code: string }) => [sequence, code]),
    expected.map((code, index) => [index + 1, code]),
    'I-051 I-052',
  )
  for (const step of steps) {
    t.same(
      Object.keys(step).sort(),
      ['code', 'description', 'message', 'name', 'required', 'retryable', 'sequence', 'status'],
      'I-050',
    )
    t.match(step, { name: /./, status: /^(pending|passed)$/ })
  }
  t.match(steps[8], { required: false, retryable: false }, 'I-069')
  const chinese = (await look('steps', { headers: { 'accept-language': 'zh' } })).data.steps
  assertMembers(
    t,
    [chinese[0].name, chinese[0].description, chinese[8].name],
    ['安全检查', /有权/, '探测 shop-demo'],
    'I-053',
  )

  const { data } = await execute({ headers: { 'accept-language': 'zh-CN' } })
  t.match(data, { passed: true, locked: true, message: '产品安装完成。' })
  const record = (code: string) => data.records.find(({ stepCode }: { stepCode: string }) => stepCode === code)
  t.match(record('shop-demo'), { status: /^warning$/, message: /no demo/ }, 'I-067')
  t.match(record('shop-ready'), { status: /^passed$/, message: /无需处理/ }, 'I-068')
  t.same([optional.runs.count, complete.runs.count], [1, 0], 'I-068')
})

onSqlite(t, 'an instance restarts if an installation on another instance changed the settings file', async (t, db) => {
  const [first, second, third] = [await startInstall(t, db), await startInstall(t, db), await startInstall(t, db)]
  const instances = [first, second, third]
  const isReady = () => instances.map(({ running }) => running.state === 'ready')
  const passTime = async () => {
    for (const { running, clock } of instances) if (running.state === 'ready') await clock.advance(2_000)
  }
  await passTime()
  t.strictSame(isReady(), [true, true, true])
  const chinese = { ...first.form, site: { ...first.form.site, defaultLocale: 'zh-CN' } }
  t.hasStrict((await first.install('execute', { body: chinese })).data, { locked: true, restartRequired: false })
  await until(async () => passTime().then(() => !isReady().includes(true)), 'all instances stop', 10, 60_000)
  const later = await startInstall(t, db)
  await later.clock.advance(10_000)
  t.equal(later.running.state, 'ready', 'the file did not change after this start')
})

t.test('I-061 I-062 I-063 I-064 I-065 I-071 order, dependencies, cycles, codes', async (t) => {
  const planOf = (...extra: readonly { readonly plugin: (typeof plugins)[number] }[]) =>
    prepareProduct(defineProduct({ name: 'test', plugins: [...plugins, ...extra.map(({ plugin }) => plugin)] }), {
      envFile: false,
    }).plan.problems.map(({ code, message }) => `${code} ${message}`)
  t.same(planOf(taskPlugin('shop-a', { dependencies: ['not-there'] })), [], 'I-064')
  const circle = [
    taskPlugin('shop-a', { dependencies: ['shop-b'] }),
    taskPlugin('shop-b', { dependencies: ['shop-a'] }),
  ]
  assertMembers(
    t,
    planOf(...circle),
    [/PLINTH_PLAN_DEPENDENCY_CYCLE Install tasks.*shop-a -> shop-b -> shop-a/],
    'I-065',
  )
  const twin = { plugin: definePlugin({ ...taskPlugin('shop-a').plugin, id: 'probe.twin' }) }
  assertMembers(
    t,
    planOf(taskPlugin('shop-a'), twin),
    [/PLINTH_PLAN_DUPLICATE_DECLARATION.*install task "shop-a"/],
    'I-071',
  )
  assertMembers(t, planOf(taskPlugin('base-identity')), [/PLINTH_PLAN_DUPLICATE_DECLARATION/], 'I-071')
})

onSqlite(t, 'I-062 I-063 I-064 tasks run by order, dependencies first', async (t, db) => {
  const tasks = [
    taskPlugin('shop-late', { order: 100, dependencies: ['shop-last', 'not-there'] }),
    taskPlugin('shop-last', { order: 900 }),
    taskPlugin('shop-first', { order: 50 }),
  ]
  const { execute } = await startInstall(t, db, { plugins: tasks.map(({ plugin }) => plugin) })
  const { data } = await execute()
  t.same(codesOf(data.records).slice(7, 10), ['shop-first', 'shop-last', 'shop-late'])
})

onSqlite(t, 'I-052 I-061 a task of a third party is a normal step', async (t, db) => {
  const { execute, look, root } = await startInstall(t, db, { plugins: [acmeUploads] })
  const { steps } = (await look('steps')).data
  t.hasStrict(steps[7], { code: 'acme-uploads', name: 'Prepare upload folders', status: 'pending', required: false })
  const { data } = await execute()
  t.match(data.records[7], { stepCode: 'acme-uploads', status: /^passed$/, message: 'Prepare upload folders: done.' })
  t.ok(existsSync(join(root, 'data/acme-uploads/layout.json')))
})

onDatabase(t, 'I-070 the table check only reads', async (t, db) => {
  // In development the start rejects an entity without a table, so this test runs in production mode.
  const environment = process.env['NODE_ENV']
  process.env['NODE_ENV'] = 'production'
  t.teardown(() => {
    if (environment === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = environment
  })
  const forgetful = definePlugin({ id: 'probe.tables', version: '1.0.0', kernel: '^1.0.0', entities: [OrphanRow] })
  const token = 'k9Jm2Qx7Lw4Zr8Tn5Vb1Yc6Hd3Fg0PsA'
  const settings = { plugins: [forgetful], environment: { PLATFORM_INSTALL_TOKEN: token } }
  const { execute, db: database } = await startInstall(t, db, settings)
  const { data } = await execute({ token })
  t.match(data.records.at(-1), { stepCode: 'table-readiness', status: /^failed$/, message: /missing: probe_orphan\./ })
  await t.rejects(database.query('select 1 from probe_orphan'), 'it was not created')
})

onSqlite(t, 'I-111 I-152 the chosen password policy is stored, and the password must meet it', async (t, db) => {
  const policyKey = 'platform.iam.password.policy'
  const { execute, centre, form } = await startInstall(t, db)
  const withPassword = (password: string, choice: object) => ({
    ...form,
    administrator: { ...form.administrator, password, confirmPassword: password, ...choice },
  })
  const rejected = await execute({ body: withPassword('123456', { passwordPolicy: 'medium' }) })
  t.match(rejected.data, { passed: false, administratorReady: false })
  t.equal(rejected.data.records.at(-1)?.stepCode, 'config-validation')
  t.same((await centre.get(policyKey)).stored, undefined)
  const taken = await execute({ body: withPassword('meadow42', { passwordPolicy: 'medium' }) })
  t.match(taken.data, { passed: true, administratorReady: true })
  t.match(await centre.get(policyKey), { stored: { value: 'medium', updatedBy: 'install' } })
})

onDatabase(t, 'I-138 concurrent runs and administrators create one of each', async (t, db) => {
  const first = await startInstall(t, db)
  const second = await startInstall(t, db, { config: { 'platform.database.migrate-at-start': false } })
  const calls = Array.from({ length: 6 }, (_, index) => {
    const own = index % 2 === 0 ? first : second
    const administrator = {
      ...own.form.administrator,
      username: `founder${index}`,
      email: `f${index}@example.com`,
      mobile: '',
    }
    return index < 4
      ? own.execute({ body: { ...own.form, administrator } })
      : own.install('administrator', { body: administrator })
  })
  const answers = await Promise.all(calls)
  t.equal((await first.accounts.findByRole('super-admin')).length, 1, 'one administrator')
  for (const { code, data } of answers) {
    t.ok(code === '200' || (code === '409' && data.reason === 'install.running'), JSON.stringify([code, data]))
  }
  const locked = answers.filter(({ data }) => data.locked === true)
  t.equal(locked.length, 1, 'one run did it')
  t.match((await second.look('status')).data, { installed: true })
  const { total } = await first.centre.history(
    { key: 'platform.install.installed' },
    { size: 9, offset: 0, count: 'exact' },
  )
  t.equal(total, 1, 'one lock')
})

onDatabase(t, 'I-145 I-146 I-147 I-148 migration', async (t, db) => {
  const config = { 'platform.database.migrate-at-start': false }
  const { install, look, execute, accounts } = await startInstall(t, db, { config })
  t.match((await look('status')).data, { installed: false, installAllowed: true }, 'never migrated, never installed')
  const first = (await install('migrate')).data
  t.match(first, { authorized: true, migrated: true, upToDate: false })
  t.ok(first.pendingBefore > 5 && first.applied === first.pendingBefore, 'I-145')
  t.match((await install('migrate')).data, { migrated: true, pendingBefore: 0, applied: 0, upToDate: true }, 'I-146')
  t.match((await execute()).data, { passed: true, locked: true })
  t.equal(await accounts.hasUsers(), true)
})

onDatabase(t, 'I-130 a database without tables is migrated during the run', async (t, db) => {
  const config = { 'platform.database.migrate-at-start': false }
  const { look, execute, centre, administrator } = await startInstall(t, db, { config })
  const before = (await look('execution-logs')).data
  assertMembers(t, before, { authorized: true, records: [] })
  const { data } = await execute()
  t.match(data, { passed: true, locked: true })
  t.same(codesOf(data.records), builtIn)
  t.match(data.records[4], { message: /change sets were applied/ })
  t.match(await centre.get('platform.site.name'), { stored: { value: 'Acme' } }, 'what had to wait is stored')
  const admin = await administrator()
  t.same((await admin('GET', `sessions/${data.sessionId}`)).data.records, data.records, 'no record is lost')
})

onDatabase(
  t,
  'I-138 a run that began without lock tables does not continue in a product that another run has installed',
  async (t, db) => {
    const config = { 'platform.database.migrate-at-start': false }
    const [first, late] = [await startInstall(t, db, { config }), await startInstall(t, db, { config })]
    const migrate = late.db.migrate.bind(late.db)
    const isBefore = Promise.withResolvers<void>()
    const goesOn = Promise.withResolvers<void>()
    late.db.migrate = async (options) => {
      isBefore.resolve()
      await goesOn.promise
      return migrate(options)
    }
    const form = { ...late.form, site: { ...late.form.site, name: 'Late' } }
    const coming = late.execute({ body: form })
    await isBefore.promise
    t.match((await first.execute()).data, { passed: true, locked: true })
    goesOn.resolve()
    const { data } = await coming
    t.match(data, { authorized: true, passed: false, locked: false, administratorReady: false })
    t.match(data.records.at(-1), { stepCode: 'database-migration', status: /^failed$/, message: /has been installed/ })
    t.match(await first.centre.get('platform.site.name'), { stored: { value: 'Acme' } }, 'its settings are not stored')
    const admin = await first.administrator()
    const { items } = (await admin('GET', 'sessions')).data
    t.same(items.map(({ status }: { status: string }) => status).sort(), ['failed', 'passed'])
  },
)

onSqlite(t, 'I-206 a failure before the first migration is announced', async (t, db) => {
  const { received, reported, plugin } = listener()
  const { execute, form } = await startInstall(t, db, {
    plugins: [plugin],
    config: { 'platform.database.migrate-at-start': false },
  })
  const { data } = await execute({ body: { ...form, site: { ...form.site, name: '' } } })
  t.match(data, { passed: false, locked: false })
  await reported
  assertMembers(t, received, [
    {
      type: 'install.execution.failed',
      payload: {
        sessionId: data.sessionId,
        failedStepCode: 'config-validation',
        failedStepCount: 1,
        failedAt: '2026-01-01T00:00:00.000Z',
        logCount: data.records.length,
        message: data.message,
        stepMessage: data.records.at(-1).message,
      },
    },
  ])
  t.equal(received.length, 1, 'once')
})

onDatabase(t, 'I-147 I-160 a failed migration is reported without secrets', async (t, db) => {
  const broken = definePlugin({
    id: 'probe.broken',
    version: '1.0.0',
    kernel: '^1.0.0',
    migrations: [
      defineChangeSet({
        id: '0001-broken',
        data: async () => {
          throw new Error(`refused with ${secrets.database}`)
        },
      }),
    ],
  })
  const { install, execute, look } = await startInstall(t, db, {
    plugins: [broken, sharedStorePlugin],
    config: { 'platform.database.migrate-at-start': false },
    environment: { PLATFORM_CACHE_PASSWORD: secrets.database },
  })
  const { code, data } = await install('migrate')
  t.equal(code, '200')
  t.match(data, { authorized: true, migrated: false, applied: 0, upToDate: false, message: /migration failed/i })
  t.match(data.message, /refused with \*{6}/)
  const run = (await execute()).data
  t.match(run, { passed: false, locked: false })
  t.hasStrict(run.records.at(-1), { stepCode: 'database-migration', status: 'failed' }, 'later steps stop')
  t.match((await look('status')).data, { installed: false })
})
