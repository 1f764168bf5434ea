import { Writable } from 'node:stream'
import { ForeignKeyConstraintViolationException } from '@mikro-orm/core'
import { applyLiveValues, assertKeyEffect, assertMembers } from '@plinth/dev/testing'
import { createDatabase, onDatabase, onSqlite, serversUnderTest } from '@plinth/dev/testing/database'
import { kernel, PlinthError } from '@plinth/kernel'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { knownModules } from '../src/module-view.ts'
import { allPhrase, type ModuleSettings, origin, startCleanup } from './fixtures/products.ts'

const aBlocker = { code: 'real-orders', message: { en: 'Real orders', 'zh-CN': '真实订单' }, count: 3 }
const blocked: ModuleSettings = { blockers: () => [aBlocker, { ...aBlocker, code: 'none', count: 0 }] }

onSqlite(t, 'I-172 I-173 I-174 the preview', async (t: Test, db) => {
  const modules = Object.fromEntries([...knownModules].reverse().map((code) => [code, {}]))
  const all = { 'acme-shop': {}, ...modules, mall: blocked }
  const { call, data, left } = await startCleanup(t, db, { modules: all })
  const overview = await call('GET')
  t.equal(overview.code, '200')
  t.equal(overview.data.confirmation, allPhrase)
  t.same(
    overview.data.modules.map(({ moduleCode }: { moduleCode: string }) => moduleCode),
    [...knownModules, 'acme-shop'],
    'the 19 modules of the document in its order, then others',
  )
  t.equal(knownModules.length, 19)
  t.equal(overview.data.executableCount, 19)

  const one = await call('GET', '/forum', undefined, { locale: 'zh-CN' })
  t.same(one.data, {
    moduleCode: 'forum',
    moduleName: '模块 forum',
    dataType: 'demo-items',
    state: 'ready',
    executable: true,
    targets: [
      { type: 'items', name: '条目', count: 1 },
      { type: 'notes', name: '备注', count: 2 },
    ],
    targetCount: 3,
    blockers: [],
    blockerCount: 0,
    confirmation: { moduleCode: 'forum', dataType: 'demo-items', confirmation: 'CLEAN-FORUM' },
  })
  const { data: mall } = await call('GET', '/mall')
  t.hasStrict(mall, { state: 'blocked', executable: false, blockerCount: 3 })
  t.same(mall.blockers, [{ code: 'real-orders', message: 'Real orders', count: 3 }])
  await data.execute('delete from demo_item where module = ?', ['blog'])
  await data.execute('delete from demo_note where module = ?', ['blog'])
  assertMembers(t, (await call('GET', '/blog')).data, {
    state: 'clean',
    executable: false,
    targets: [],
    targetCount: 0,
  })

  for (const [method, body] of [['GET'], ['POST', { moduleCode: 'x', dataType: 'x', confirmation: 'x' }]] as const) {
    const unknown = await call(method, '/nothing', body, { locale: 'zh-CN' })
    t.match(unknown, { status: 200, code: /^404$/, message: /没有.*nothing/ })
    t.equal(unknown.data.reason, 'quickstart-cleanup.module-unknown')
  }
  t.same(await left('forum'), [1, 2], 'looking removes nothing')
})

onDatabase(t, 'I-175 I-176 I-177 I-181 D.35 all modules', async (t: Test, db) => {
  const modules = { forum: {}, mall: blocked, blog: {}, 'acme-shop': {} }
  const { call, left, entries, data } = await startCleanup(t, db, { modules })
  for (const confirmation of ['', 'yes', '清理演示数据', 'CLEAN-FORUM']) {
    const rejected = await call('POST', '', { confirmation })
    t.match(rejected, { status: 200, code: /^400$/, message: /confirmation/ })
    t.same(rejected.data, { reason: 'quickstart-cleanup.confirmation-mismatch', field: 'confirmation' })
  }
  for (const body of [undefined, {}, { confirmation: 1 }]) t.equal((await call('POST', '', body)).code, '400')
  t.same(await left('forum'), [1, 2])
  const recorded = entries.length
  t.equal((await call('POST', '', {})).data.field, 'confirmation')
  t.equal(entries.length, recorded + 1, 'an attempt without the phrase is recorded as well')
  t.hasStrict(
    entries,
    Array(entries.length).fill({ action: 'quickstart-cleanup', status: 'failed', summary: { module: 'all' } }),
  )
  entries.length = 0

  await data.execute('delete from demo_item where module = ?', ['blog'])
  await data.execute('delete from demo_note where module = ?', ['blog'])
  const run = await call('POST', '', { confirmation: ` ${allPhrase.normalize('NFD')}\n` })
  t.hasStrict(run, { code: '200', data: { passed: true, cleanedCount: 2, failedCount: 0, skippedCount: 2 } })
  const [blog, forum, mall, acme] = run.data.modules
  assertMembers(t, blog, { moduleCode: 'blog', outcome: 'clean', executed: false, errorKey: '', removed: [] })
  t.hasStrict(forum, { moduleCode: 'forum', outcome: 'cleaned', executed: true, state: 'clean', targetCount: 0 })
  t.same(forum.removed, [
    { type: 'notes', count: 2 },
    { type: 'items', count: 1 },
  ])
  t.match(mall, {
    outcome: /^blocked$/,
    executed: false,
    state: /^blocked$/,
    errorKey: '',
    message: /Nothing was removed/,
  })
  t.match(mall, { targetCount: 3, blockerCount: 3 })
  t.hasStrict(acme, { moduleCode: 'acme-shop', outcome: 'cleaned' })
  t.same(
    [await left('forum'), await left('mall'), await left('acme-shop')],
    [
      [0, 0],
      [1, 2],
      [0, 0],
    ],
  )

  assertMembers(t, entries, [
    {
      action: 'quickstart-cleanup',
      status: /^passed$/,
      operator: 'admin',
      clientIp: '127.0.0.1',
      userAgent: 'tap',
      traceId: /.{8}/,
      summary: {
        module: 'forum',
        dataType: 'demo-items',
        outcome: /^cleaned$/,
        targets: 3,
        blockers: 0,
        removed: 3,
        errorKey: '',
      },
    },
    { status: /^warning$/, summary: { module: 'mall', outcome: /^blocked$/, targets: 3, blockers: 3, removed: 0 } },
    { status: /^passed$/, summary: { module: 'acme-shop' } },
  ])
  t.equal(entries.length, 3)
  t.notMatch(JSON.stringify(entries), new RegExp(allPhrase), 'the phrase is kept nowhere')

  const again = await call('POST', '', { confirmation: allPhrase })
  t.match(again.data, { passed: true, cleanedCount: 0, failedCount: 0, skippedCount: 4 }, 'nothing is left to do')
})

onSqlite(t, 'I-178 I-181 one module, confirmed after its preview', async (t: Test, db) => {
  const { call, left, confirm, entries } = await startCleanup(t, db, { modules: { forum: {}, mall: blocked } })
  const right = confirm('forum')
  const wrong: [string, object][] = [
    ['moduleCode', { ...right, moduleCode: 'mall' }],
    ['moduleCode', { ...right, moduleCode: 'FORUM' }],
    ['dataType', { ...right, dataType: 'demo-item' }],
    ['confirmation', { ...right, confirmation: allPhrase }],
    ['confirmation', { ...right, confirmation: 'CLEAN-MALL' }],
    ['moduleCode', {}],
    ['moduleCode', { dataType: right.dataType, confirmation: right.confirmation }],
    ['dataType', { moduleCode: right.moduleCode, confirmation: right.confirmation }],
    ['confirmation', { moduleCode: right.moduleCode, dataType: right.dataType }],
  ]
  for (const [field, body] of wrong) {
    const rejected = await call('POST', '/forum', body, { locale: 'zh-CN' })
    t.match(rejected, { code: /^400$/, message: new RegExp(`${field} 与预览要求不一致`) })
    t.same(rejected.data, { reason: 'quickstart-cleanup.confirmation-mismatch', field })
  }
  t.equal((await call('POST', '/mall', right)).data.field, 'moduleCode', 'path and body must agree')
  t.same(await left('forum'), [1, 2])
  t.equal(entries.length, wrong.length + 1)
  for (const [index, [field]] of wrong.entries()) {
    const summary = { module: 'forum', errorKey: 'confirmation-mismatch', field }
    t.hasStrict(entries[index], { action: 'quickstart-cleanup', status: 'failed', summary }, `attempt ${index + 1}`)
  }
  t.notMatch(JSON.stringify(entries), /CLEAN-/i)

  const folded = await call('POST', '/forum', { ...right, confirmation: '  clean-Forum ' })
  assertMembers(t, folded.data, { passed: true, cleanedCount: 1, modules: [{ outcome: 'cleaned' }] })
  t.same(await left('forum'), [0, 0])
  assertMembers(t, (await call('POST', '/forum', right)).data, {
    passed: true,
    skippedCount: 1,
    modules: [{ outcome: 'clean' }],
  })
  assertMembers(t, (await call('POST', '/mall', confirm('mall'))).data, {
    passed: true,
    modules: [{ outcome: 'blocked', state: 'blocked', executed: false }],
  })
  t.same(await left('mall'), [1, 2])
  assertMembers(t, entries.slice(-2), [{ summary: { outcome: 'cleaned' } }, { summary: { outcome: 'blocked' } }])
})

onDatabase(t, 'I-179 I-180 I-181 I-183 a failing module is rolled back, and only this module', async (t: Test, db) => {
  const wrapped = (cause: Error) => new Error('the module wraps it', { cause })
  const failing: Record<string, ModuleSettings> = {
    'foreign-key': {
      async between(data) {
        const [item] = await data.query<{ id: number }>('select id from demo_item where module = ?', ['foreign-key'])
        await data.execute('insert into real_link (id, item_id) values (?, ?)', [data.newId(), Number(item?.id)])
      },
    },
    'removal-failed': { removeItems: (data) => data.execute('delete from no_such_table') },
    wrapped: {
      removeItems: () => Promise.reject(wrapped(new ForeignKeyConstraintViolationException(new Error('referenced')))),
    },
    'data-source': {
      removeItems: () => Promise.reject(wrapped(new PlinthError('PLINTH_DATABASE_UNREACHABLE', 'gone', 'mend'))),
    },
    conflict: {
      removeItems: () => Promise.reject(new PlinthError('PLINTH_DATABASE_TRANSACTION_GAVE_UP', 'busy', 'again')),
    },
    'residual-data': { removeItems: async () => 1 },
  }
  const expected = { ...Object.fromEntries(Object.keys(failing).map((key) => [key, key])), wrapped: 'foreign-key' }
  const { call, left, entries } = await startCleanup(t, db, { modules: { ai: {}, ...failing, video: {} } })
  const { code, data } = await call('POST', '', { confirmation: allPhrase })
  t.equal(code, '200')
  t.match(data, { passed: false, cleanedCount: 2, failedCount: 6, skippedCount: 0 })
  for (const result of data.modules) {
    const errorKey = expected[result.moduleCode as keyof typeof expected]
    if (errorKey === undefined) {
      t.hasStrict(result, { outcome: 'cleaned' })
      t.same(await left(result.moduleCode), [0, 0])
      continue
    }
    assertMembers(t, result, {
      outcome: 'failed',
      executed: true,
      errorKey,
      state: 'ready',
      targetCount: 3,
      removed: [],
    })
    t.match(result.message, /nothing was removed/i)
    t.same(await left(result.moduleCode), [1, 2], `${result.moduleCode}: the notes are back`)
    const entry = entries.find(({ summary }) => summary['module'] === result.moduleCode)
    t.hasStrict(entry, { status: 'failed', summary: { errorKey, targets: 3, blockers: 0, removed: 0 } })
  }
  t.notMatch(JSON.stringify(data), /no_such_table|delete from|wraps/i, 'no SQL and no inner message reaches the caller')
})

const endOwnConnection = {
  postgresql: 'select pg_terminate_backend(pg_backend_pid())',
  mariadb: 'kill connection_id()',
}

for (const { dialect, skip } of serversUnderTest) {
  t.test(`I-179 the connection is lost in the middle (${dialect})`, { skip, timeout: 600_000 }, async (t) => {
    const db = await createDatabase(dialect)
    t.teardown(() => db.drop())
    const { call, left, confirm } = await startCleanup(t, db, {
      modules: { forum: { between: (data) => data.execute(endOwnConnection[dialect]).then(() => {}) } },
    })
    const { data } = await call('POST', '/forum', confirm('forum'))
    assertMembers(t, data, { passed: false, modules: [{ outcome: 'failed', errorKey: 'data-source' }] })
    t.same(await left('forum'), [1, 2])
  })
}

onDatabase(t, 'I-177 data that becomes real after the preview is not removed', async (t: Test, db) => {
  let requested = 0
  const { call, left, confirm, entries } = await startCleanup(t, db, {
    modules: { forum: { blockers: () => (++requested === 1 ? [] : [aBlocker]) } },
  })
  const { data } = await call('POST', '/forum', confirm('forum'))
  assertMembers(t, data.modules, [{ outcome: 'blocked', state: 'blocked', executed: false, blockerCount: 3 }])
  t.same(await left('forum'), [1, 2])
  assertMembers(t, entries, [{ status: 'warning', summary: { outcome: 'blocked', blockers: 3 } }])
})

onDatabase(t, 'I-181 the removal and the record of its success are one transaction', async (t: Test, db) => {
  const audit = () => Promise.reject(new Error('the audit is full'))
  const { call, left, confirm } = await startCleanup(t, db, { modules: { forum: {} }, audit })
  const { data } = await call('POST', '/forum', confirm('forum'))
  assertMembers(t, data.modules, [{ outcome: 'failed', errorKey: 'removal-failed' }])
  t.same(await left('forum'), [1, 2])
})

onDatabase(t, 'I-002 two concurrent runs remove the data once', async (t: Test, db) => {
  const { call, left, confirm } = await startCleanup(t, db, { modules: { forum: {} } })
  const runs = await Promise.all([1, 2, 3].map(() => call('POST', '/forum', confirm('forum'))))
  t.ok(runs.every(({ data }) => data.passed))
  const removed = runs.flatMap(({ data }) => data.modules[0].removed)
  t.equal(
    removed.reduce((total: number, { count }: { count: number }) => total + count, 0),
    3,
  )
  t.same(await left('forum'), [0, 0])
})

onSqlite(t, 'I-015 I-182 the switch', async (t: Test, db) => {
  const { running, call, left, confirm, entries } = await startCleanup(t, db, { modules: { forum: {} } })
  const [codes] = await assertKeyEffect(t, 'platform.install.quickstart-cleanup.enabled', {
    changed: false,
    async observe(values) {
      await applyLiveValues(running, values)
      return (await call('GET')).code
    },
  })
  t.match(codes, { before: '200', after: '403' })
  const calls = [['GET'], ['GET', '/forum'], ['GET', '/nothing'], ['POST', '', { confirmation: allPhrase }]] as const
  for (const [method, path = '', body] of [...calls, ['POST', '/forum', confirm('forum')] as const]) {
    const rejected = await call(method, path, body)
    t.hasStrict(rejected, { status: 200, code: '403', data: { reason: 'quickstart-cleanup.disabled' } })
  }
  t.same(await left('forum'), [1, 2])
  t.same(entries, [])
})

onSqlite(t, 'I-002 I-162 login and permissions', async (t: Test, db) => {
  const { call, left, confirm, users, session, running } = await startCleanup(t, db, { modules: { forum: {} } })
  t.notOk(
    running.service(kernel).plugins.some(({ id }) => id === 'install'),
    'it works without what installs',
  )
  const clerk = await users.create({ username: 'clerk', password: 'correct horse battery staple' }, origin)
  const token = await session(clerk.id)
  for (const [method, path, body] of [
    ['GET', '', undefined],
    ['GET', '/forum', undefined],
    ['POST', '', { confirmation: allPhrase }],
    ['POST', '/forum', confirm('forum')],
  ] as const) {
    t.equal((await call(method, path, body, { token: '' })).code, '401')
    const denied = await call(method, path, body, { token })
    t.hasStrict(denied, { code: '403' })
    const permission = `install:quickstart-cleanup:${method === 'GET' ? 'view' : 'execute'}`
    t.equal(denied.data.permission, permission)
  }
  t.same(await left('forum'), [1, 2])
})

t.test('I-179 modules that take too long or cannot be read', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const hang = (signal: AbortSignal) =>
    new Promise<void>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      started()
    })
  let started = () => {}
  const begun = () =>
    new Promise<void>((resolve) => {
      started = resolve
    })
  const modules = {
    slow: { between: (_: unknown, signal: AbortSignal) => hang(signal) },
    broken: { preview: () => Promise.reject(new Error('no such table: secret_table')) },
    silent: { preview: hang },
  }
  const { call, left, confirm, clock, entries } = await startCleanup(t, db, { modules })

  let waiting = begun()
  let response = call('POST', '/slow', confirm('slow'))
  await waiting
  await clock.advance(300_000)
  assertMembers(t, (await response).data.modules, [{ outcome: 'failed', errorKey: 'timed-out' }])
  t.same(await left('slow'), [1, 2])

  const broken = await call('POST', '/broken', confirm('broken'))
  assertMembers(t, broken.data.modules, [
    { outcome: 'failed', errorKey: 'preview-failed', executed: false, state: 'unknown' },
  ])
  t.notMatch(JSON.stringify(broken), /secret_table/)
  t.hasStrict(entries.at(-1), { status: 'failed', summary: { errorKey: 'preview-failed' } })
  assertMembers(t, (await call('GET', '/broken')).data, { state: 'unknown', executable: false, targets: [] })

  waiting = begun()
  response = call('GET')
  await waiting
  await clock.advance(10_000)
  assertMembers(
    t,
    (await response).data.modules.map(({ state }: { state: string }) => state),
    ['unknown', 'unknown', 'ready'],
  )
})

t.test('I-181 without an audit plugin the removal is logged', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const lines: string[] = []
  const stream = new Writable({
    write(chunk, _, done) {
      lines.push(String(chunk))
      done()
    },
  })
  const logger = pino({ level: 'info' }, stream)
  const { call, confirm } = await startCleanup(t, db, { modules: { forum: {} }, audit: false, logger })
  t.match((await call('POST', '/forum', confirm('forum'))).data, { passed: true })
  const audited = lines.map((line) => JSON.parse(line)).filter(({ audit }) => audit !== undefined)
  assertMembers(t, audited, [
    { audit: { action: 'quickstart-cleanup', status: 'passed', summary: { module: 'forum' } } },
  ])
})
