/** Tests the operations for logged-in operators: diagnostics, state and audit. */
import { readdirSync } from 'node:fs'
import { assertMembers } from '@plinth/dev/testing'
import { onDatabase, onEachDatabase, onSqlite, type TestDatabase } from '@plinth/dev/testing/database'
import { accounts } from '@plinth/iam'
import { installAudit } from '@plinth/install'
import t, { type Test } from 'tap'
import { type StartSettings, secrets, startInstall } from './fixtures/product.ts'

const reads = [
  'diagnostics',
  'diagnostics/export',
  'status',
  'steps',
  'sessions',
  'sessions/x',
  'sessions/x/export',
  'execution-logs',
  'audit-logs',
]
const changes = ['state/reset', 'state/mark-installed', 'migrate']
const system = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }

async function installed(t: Test, db: TestDatabase, settings: StartSettings = {}) {
  const started = await startInstall(t, db, settings)
  const { data } = await started.execute()
  return { ...started, sessionId: data.sessionId as string, admin: await started.administrator() }
}

onSqlite(t, 'I-162 I-163 I-164 permissions of the operations', async (t, db) => {
  const { call, login, running } = await installed(t, db, { config: { 'platform.install.token': 'x'.repeat(40) } })
  // The product is not installed, because the token was missing. Users with one permission each can still log in.
  const service = running.service(accounts)
  await service.createAdministrator({ username: 'founder', password: secrets.administrator }, system)
  const root = await login('founder', secrets.administrator)
  const users = { viewer: ['install:view'], manager: ['install:manage'], nobody: [] as string[] }
  const { data: token } = await call('POST', '/api/v1/auth/login', {
    body: { username: 'founder', password: secrets.administrator },
  })
  const headers = { authorization: `Bearer ${token.accessToken}` }
  for (const [username, permissions] of Object.entries(users)) {
    const role = await call('POST', '/api/v1/admin/iam/roles', {
      headers,
      body: { code: `role-${username}`, name: username, dataScope: 'all', permissions },
    })
    t.equal(role.code, '200', role.message)
    await service.create({ username, password: 'password', roleIds: [role.data.id] }, system)
  }
  const [viewer, manager, nobody] = [
    await login('viewer', 'password'),
    await login('manager', 'password'),
    await login('nobody', 'password'),
  ]
  for (const path of reads) {
    t.equal((await call('GET', `/api/v1/admin/install/${path}`)).code, '401', `I-162 ${path}`)
    const seen = await root('GET', path)
    t.notMatch(seen.code ?? '200', /^40[13]$/, `I-162 no install token: ${path}`)
    t.notMatch((await viewer('GET', path)).code ?? '200', /^40[13]$/, path)
    t.hasStrict(await manager('GET', path), { code: '403', data: { permission: 'install:view' } }, path)
    t.equal((await nobody('GET', path)).code, '403', path)
  }
  for (const path of changes) {
    t.equal((await call('POST', `/api/v1/admin/install/${path}`, { body: {} })).code, '401', path)
    t.hasStrict(await viewer('POST', path, {}), { code: '403', data: { permission: 'install:manage' } }, path)
    t.equal((await manager('POST', path, {})).code, '200', path)
  }
})

onSqlite(
  t,
  'I-001 I-074 I-075 I-079 I-080 I-083 I-084 reset is rejected for every missing condition',
  async (t, db) => {
    const { admin, look } = await installed(t, db)
    const rejected = async (body: object, why: RegExp) => {
      const { code, data } = await admin('POST', 'state/reset', body)
      assertMembers(
        t,
        [code, data],
        ['200', { reset: false, alreadyUninstalled: false, message: why }],
        JSON.stringify(body),
      )
      t.match((await look('status')).data, { installed: true, installAllowed: false })
    }
    await rejected({ confirmation: 'RESET-INSTALL' }, /platform\.install\.allow-reinstall/)
    for (const body of [{}, { confirmation: '' }, { confirmation: 'RESET' }, { confirmation: 'MARK-INSTALLED' }]) {
      await rejected(body, /phrase is wrong/)
    }
    await rejected({ dryRun: true }, /platform\.install\.allow-reinstall/)
    const { data } = await admin('GET', 'audit-logs?action=state-reset')
    t.equal(data.total, 6, 'I-083')
    for (const entry of data.items) t.hasStrict(entry, { action: 'state-reset', status: 'failed', operator: 'founder' })
  },
)

onDatabase(t, 'I-003 I-074 I-076 I-080 I-081 I-082 reset opens the installer again', async (t, db) => {
  const config = { 'platform.install.allow-reinstall': true }
  const { admin, look, server, centre, execute } = await installed(t, db, { config })
  t.equal((await server.inject('/install/')).statusCode, 200, 'I-003')
  const reason = `${'理'.repeat(300)}`
  const { data } = await admin('POST', 'state/reset', { confirmation: '  reset-Install\n', reason })
  t.match(data, { reset: true, alreadyUninstalled: false })
  t.match((await look('status')).data, { installed: false, installAllowed: true, locked: false }, 'I-081')
  t.match(await centre.get('platform.install.installed'), { stored: { value: false, updatedBy: 'founder' } })
  const again = await admin('POST', 'state/reset', { confirmation: 'RESET-INSTALL' })
  t.match(again.data, { reset: true, alreadyUninstalled: true }, 'I-076')
  t.match((await admin('POST', 'state/reset', { confirmation: 'no' })).data, {
    reset: false,
    alreadyUninstalled: false,
  })
  const audit = (await admin('GET', 'audit-logs?action=state-reset')).data.items
  t.same(
    audit.map(({ status }: { status: string }) => status),
    ['failed', 'passed', 'passed'],
    'I-083',
  )
  t.equal([...audit[2].summary.reason].length, 200, 'I-082')
  const { items } = await centre.history({ key: 'platform.install.installed' }, { size: 1, offset: 0, count: 'exact' })
  t.equal([...(items[0]?.reason ?? '')].length, 200, 'I-082')
  t.match((await execute()).data, { passed: true, locked: true }, 'D63 a second installation')
})

onSqlite(t, 'I-083 a dry run of a reset shows who could install, and changes nothing', async (t, db) => {
  const config = { 'platform.install.allow-reinstall': true }
  const { admin, look, running } = await installed(t, db, { config })
  const dry = async () => (await admin('POST', 'state/reset', { dryRun: true })).data
  const open = { installAllowed: true, tokenRequired: false, networks: [], productClosed: false }
  const seen = await dry()
  t.match(seen, { reset: false, alreadyUninstalled: false, message: /Nothing was changed yet/ })
  t.same(seen.entry, open)
  t.match((await look('status')).data, { installed: true, locked: true })
  const [entry] = (await admin('GET', 'audit-logs?action=state-reset')).data.items
  t.hasStrict(entry, { status: 'passed', operator: 'founder', summary: { finding: 'would-reset' } })
  const done = (await admin('POST', 'state/reset', { confirmation: 'RESET-INSTALL', dryRun: false })).data
  assertMembers(t, [done.reset, done.entry], [true, open], 'what was foreseen')
  t.match(await dry(), { reset: true, alreadyUninstalled: true, message: /not installed/ })
  await running.stop('it starts with other settings')

  const guarded = await startInstall(t, db, {
    config: {
      ...config,
      'platform.install.token': 'a-token-of-32-characters-and-more',
      'platform.install.cidr-check-enabled': true,
      'platform.install.allowed-cidrs': ['127.0.0.1/32', '10.0.0.0/8'],
      'platform.install.access-protection-enabled': true,
    },
  })
  const { data } = await guarded.install('lock', { token: 'a-token-of-32-characters-and-more' })
  t.match(data, { locked: true })
  const again = await guarded.administrator()
  const networks = ['127.0.0.1/32', '10.0.0.0/8']
  t.same((await again('POST', 'state/reset', { dryRun: true })).data.entry, {
    installAllowed: true,
    tokenRequired: true,
    networks,
    productClosed: true,
  })
})

onSqlite(t, 'I-077 I-078 I-079 I-081 mark as installed', async (t, db) => {
  const {
    admin,
    accounts: users,
    look,
    login,
    install,
  } = await (async () => {
    const started = await startInstall(t, db)
    await started.running
      .service(accounts)
      .createAdministrator({ username: 'founder', password: secrets.administrator }, system)
    return { ...started, admin: await started.login('founder', secrets.administrator) }
  })()
  t.ok(await users.hasUsers())
  t.match((await admin('POST', 'state/mark-installed', { confirmation: 'mark' })).data, {
    marked: false,
    alreadyInstalled: false,
  })
  t.match((await look('status')).data, { installed: false })
  const { data } = await admin('POST', 'state/mark-installed', { confirmation: ' mark-installed ', reason: 'moved' })
  t.match(
    data,
    { marked: true, alreadyInstalled: false, message: 'The installer is locked.' },
    'I-078 without leave to install again',
  )
  t.match((await look('status')).data, { installed: true, locked: true, installAllowed: false }, 'I-081')
  t.match(
    (await admin('POST', 'state/mark-installed', { confirmation: 'MARK-INSTALLED' })).data,
    { marked: true, alreadyInstalled: true },
    'I-077',
  )
  t.match((await install('lock')).data, { authorized: false })
  t.equal(
    (await (await login('founder', secrets.administrator))('GET', 'audit-logs?action=state-mark-installed')).data.total,
    3,
  )
})

onSqlite(t, 'I-156 I-157 only the lock step', async (t, db) => {
  const { install, look, accounts: users } = await startInstall(t, db)
  const { code, data } = await install('lock')
  t.equal(code, '200')
  t.match(data, {
    authorized: true,
    locked: true,
    lockedAt: '2026-01-01T00:00:00.000Z',
    status: { installed: true, locked: true },
    message: /no user exists/,
  })
  t.equal(await users.hasUsers(), false, 'I-157')
  t.match((await look('status')).data, { installed: true, installAllowed: false }, 'I-072')
  t.match((await install('lock')).data, { authorized: false, locked: false }, 'I-073')
})

onSqlite(t, 'I-149 I-150 I-151 I-153 I-155 only the administrator step', async (t, db) => {
  const { install, form, call, accounts: users, server } = await startInstall(t, db)
  const { administrator } = form
  t.match((await install('administrator', { body: { ...administrator, confirmPassword: 'other-one' } })).data, {
    ready: false,
    created: false,
    message: /differ/,
  })
  t.match((await install('administrator', { body: { ...administrator, username: 'a@b' } })).data, {
    ready: false,
    message: /user name/i,
  })
  t.match(
    (await install('administrator', { body: { ...administrator, password: 'abc', confirmPassword: 'abc' } })).data,
    { ready: false },
  )
  t.equal(await users.hasUsers(), false)
  const response = await server.inject({ method: 'POST', url: '/api/v1/install/administrator', payload: administrator })
  const { data } = response.json()
  t.same(Object.keys(data).sort(), ['authorized', 'created', 'message', 'ready', 'userId', 'username'])
  t.match(data, { authorized: true, ready: true, created: true, username: 'founder' })
  t.notMatch(response.body, secrets.administrator, 'I-153')
  t.notOk(Object.keys(response.headers).includes('set-cookie'), 'I-153')
  assertMembers(
    t,
    await users.findByRole('super-admin'),
    [{ id: data.userId, username: 'founder', email: 'founder@example.com' }],
    'I-150',
  )
  const again = await install('administrator', { body: { ...administrator, username: 'second' } })
  t.match(again.data, { ready: true, created: false, userId: data.userId, username: 'founder' }, 'I-151')
  const stranger = { body: { ...administrator, username: 'third' }, remoteAddress: '192.0.2.7' }
  const named = (await install('administrator', stranger)).data
  t.match(named, { ready: true, created: false, userId: null, username: '' }, 'a stranger learns no name')
  t.notMatch(JSON.stringify(named), 'founder')
  const login = await call('POST', '/api/v1/auth/login', {
    body: { username: 'founder', password: secrets.administrator },
  })
  t.match(login, { code: /^200$/, data: { accessToken: /./ } }, 'I-155')
})

onSqlite(t, 'stored sentences are in the language of the reader', async (t, db) => {
  const { server, sessionId } = await installed(t, db)
  const headers = { authorization: `Bearer ${(await loginToken(server)).accessToken}` }
  const said = async (language: string) => {
    const read = async (path: string) => {
      const request = { url: `/api/v1/admin/install/${path}`, headers: { ...headers, 'accept-language': language } }
      return (await server.inject(request)).json().data
    }
    const { session, records } = await read(`sessions/${sessionId}`)
    const { items } = await read('audit-logs?action=execute')
    const { changes } = await read(`audit-logs/${items[0].id}`)
    const fact = changes.find(({ title }: { readonly title: string }) => /^(?:Message|消息)$/.test(title))
    const [entry, preflight] = records.map(({ message }: { readonly message: string }) => message)
    return [session.message, entry, preflight, items[0].summary.message, fact.after.value]
  }
  const [passed, warned] = ['The product is installed.', /^Passed with warnings\. [A-Z].*[a-z]\.$/]
  assertMembers(t, await said('en'), [passed, 'The security check passed.', warned, passed, passed])
  assertMembers(t, await said('zh-CN'), [
    '产品安装完成。',
    '安全检查通过。',
    /^[^a-z]*(?:Redis[^a-z]*)?$/,
    '产品安装完成。',
    '产品安装完成。',
  ])
})

onSqlite(t, 'I-165 I-166 I-167 I-168 I-170 diagnostics, sessions, exports', async (t, db) => {
  const { admin, server, sessionId, db: database, root } = await installed(t, db)
  const counts = async () => {
    const tables = ['install_session', 'install_record', 'install_audit', 'sys_config', 'iam_user', 'schema_changelog']
    return Promise.all(tables.map((table) => database.query(`select count(*) as n from ${table}`)))
  }
  const before = [await counts(), readdirSync(root, { recursive: true }).sort()]
  const { data } = await admin('GET', 'diagnostics')
  t.same(Object.keys(data).sort(), ['executionLogs', 'preflight', 'product', 'sessions', 'status', 'steps'])
  assertMembers(t, data, {
    status: { installed: true },
    preflight: { passed: true },
    sessions: [{ id: sessionId, status: 'passed' }],
  })
  t.hasStrict(data.steps[0], { code: 'security-entry', status: 'passed' })
  t.equal(data.executionLogs.length, 9)
  t.same([await counts(), readdirSync(root, { recursive: true }).sort()], before, 'I-170')

  const headers = { authorization: `Bearer ${(await loginToken(server)).accessToken}` }
  const exported = await server.inject({ url: '/api/v1/admin/install/diagnostics/export', headers })
  t.match(exported.headers, {
    'content-type': /^application\/json/,
    'content-disposition': 'attachment; filename="install-diagnostics-2026-01-01.json"',
    'cache-control': 'no-store',
  })
  const file = JSON.parse(exported.body)
  t.notOk('code' in file, 'no envelope')
  assertMembers(t, file, { status: { installed: true }, sessions: [{ id: sessionId }] })
  t.notMatch(exported.body, secrets.administrator)

  const { durationMs } = data.sessions[0]
  t.ok(Number.isSafeInteger(durationMs) && durationMs >= 0, 'how long the run took')
  await server.inject({
    method: 'POST',
    url: '/api/v1/admin/install/state/reset',
    payload: { confirmation: 'no' },
    headers: { ...headers, 'x-reason': encodeURIComponent('搬家') },
  })
  assertMembers(t, (await admin('GET', 'audit-logs?action=state-reset')).data.items, [{ summary: { reason: '搬家' } }])

  const session = await server.inject({ url: `/api/v1/admin/install/sessions/${sessionId}/export?limit=2`, headers })
  t.match(session.headers['content-disposition'], `install-session-${sessionId}`)
  t.match(JSON.parse(session.body), { session: { id: sessionId }, records: { length: 2 } }, 'I-168')
  t.equal((await admin('GET', 'sessions/unknown')).code, '404')
  t.equal((await server.inject({ url: '/api/v1/admin/install/sessions/unknown/export', headers })).json().code, '404')

  const page = async (query: string) => (await admin('GET', `sessions?${query}`)).data
  assertMembers(
    t,
    await page('status=passed&page=1&size=1'),
    { total: 1, page: 1, size: 1, items: [{ id: sessionId }] },
    'I-167',
  )
  assertMembers(t, await page('status=failed'), { total: 0, items: [] })
  t.match(await page(`keyword=${sessionId.slice(0, 13).toUpperCase()}`), { total: 1 })
  t.match(await page('keyword=%25'), { total: 0 }, 'no wild cards')
  assertMembers(t, await page('page=2&size=1'), { total: 1, items: [] })
  t.equal((await admin('GET', 'sessions?status=whatever')).code, '400')
})

onEachDatabase(t, 'I-167 I-169 sessions and audit logs are read by a cursor', async (t, db) => {
  const { install, execute, form, administrator, clock } = await startInstall(t, db)
  const broken = { ...form, site: { ...form.site, name: '' } }
  for (let run = 0; run < 4; run++) {
    await install('execute', { body: broken })
    // Some sessions begin at the same time. They must be ordered too.
    if (run > 0) await clock.advance(1_000)
  }
  await execute()
  const admin = await administrator()
  for (const list of ['sessions?', 'sessions?status=failed&', 'audit-logs?', 'audit-logs?keyword=EXECUTE&']) {
    const whole = (await admin('GET', `${list}size=100`)).data
    t.match(whole, { page: 1, size: 100, total: whole.items.length, counted: 'exact', next: null }, list)
    t.ok(whole.items.length > 3, 'more than a page')
    const times = whole.items.map((item: Record<string, string>) => item['startedAt'] ?? item['occurredAt'])
    t.same(times, [...times].sort().reverse(), 'the newest first')
    const walked: object[] = []
    for (let cursor: string | null = ''; cursor !== null && walked.length < 200; ) {
      const { data } = await admin('GET', `${list}size=2${cursor === '' ? '' : `&cursor=${cursor}`}`)
      if (cursor !== '') t.match(data, { total: null, counted: 'none' }, 'nothing is counted behind a cursor')
      walked.push(...data.items)
      cursor = data.next ?? null
    }
    t.same(walked, whole.items, `${list} meets the same`)
    t.match((await admin('GET', `${list}size=2&count=none`)).data, { items: { length: 2 }, total: null })
    t.equal((await admin('GET', `${list}cursor=bogus`)).code, '400')
  }
})

async function loginToken(server: { inject(options: object): Promise<{ json(): { data: { accessToken: string } } }> }) {
  const payload = { username: 'founder', password: secrets.administrator }
  return (await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload })).json().data
}

onSqlite(t, 'I-055 I-158 I-161 records of single steps, and their limit', async (t, db) => {
  const { install, look, form, db: database } = await startInstall(t, db)
  await install('preflight')
  await install('config/validate', { body: form })
  const { data } = await look('execution-logs')
  assertMembers(t, data, {
    authorized: true,
    records: [
      { sessionId: '', stepCode: 'environment-preflight', status: /warning|passed/ },
      { sessionId: '', stepCode: 'config-validation' },
    ],
  })
  assertMembers(t, (await look('sessions/none')).data, { authorized: true, sessionId: 'none', records: [] }, 'I-161')
  const now = new Date('2026-01-02T00:00:00Z')
  const passedStep = { code: 'environment-preflight', status: 'passed', message: data.records[0].message }
  for (let index = 1; index <= 520; index++) {
    if (index === 450) t.match((await look('steps')).data.steps[1], passedStep, 'its result precedes 449 records')
    await database.execute(
      'insert into install_record (id, session_id, step_code, status, message, occurred_at) values (?, ?, ?, ?, ?, ?)',
      [index, 'many', 'probe', 'passed', `${index}`, now],
    )
  }
  const lengths = async (query: string) => (await look(`execution-logs${query}`)).data.records.length
  t.same(
    [
      await lengths(''),
      await lengths('?limit=9999'),
      await lengths('?limit=500'),
      await lengths('?limit=0'),
      await lengths('?limit=-5'),
    ],
    [100, 500, 500, 1, 1],
    'I-158',
  )
  t.equal((await look('execution-logs?limit=abc')).code, '400')
  assertMembers(t, (await look('sessions/many?limit=2')).data.records, [{ message: '519' }, { message: '520' }])
})

onSqlite(
  t,
  'I-059 I-072 the lock step alone completes the installation, with its record in the audit',
  async (t, db) => {
    const { install, look, form, administrator, centre, db: database } = await startInstall(t, db)
    await install('migrate')
    await install('administrator', { body: form.administrator })
    const trace = { headers: { 'x-trace-id': 'trace-lock' } }
    const { data } = await install('lock', trace)
    t.match(data, {
      authorized: true,
      locked: true,
      lockedAt: /Z$/,
      status: { installed: true, installAllowed: false },
    })
    t.match(await centre.get('platform.install.installed'), { stored: { value: true, updatedBy: 'install' } })
    const [row] = await database.query<{ installed: unknown }>('select installed from install_state where id = 1')
    t.equal(Number(row?.installed), 1, 'the compatibility record')
    t.match((await look('status')).data, { installed: true, locked: true, installAllowed: false })
    t.match((await install('lock')).data, { authorized: false, locked: false }, 'the entry is closed')

    const admin = await administrator()
    const { data: page } = await admin('GET', 'audit-logs?action=lock')
    t.equal(page.total, 1)
    assertMembers(t, page.items, [
      { action: 'lock', status: /^passed$/, traceId: 'trace-lock', summary: { message: data.message } },
    ])
  },
)

onDatabase(t, 'I-002 I-057 I-058 I-059 I-060 I-169 I-171 audit', async (t, db) => {
  const { install, look, execute, form, administrator, running } = await startInstall(t, db)
  const trace = { headers: { 'x-trace-id': 'trace-42', 'user-agent': `wizard ${secrets.administrator}`.slice(0, 6) } }
  await install('token/verify', { body: {}, ...trace })
  await install('preflight', trace)
  await install('config/validate', { body: form, ...trace })
  await install('config/plan', { body: form, ...trace })
  await install('config/write', { body: form, ...trace })
  await install('migrate', trace)
  const broken = { ...form, site: { ...form.site, name: '' } }
  const failed = (await install('execute', { body: broken, ...trace })).data
  await install('administrator', { body: form.administrator, ...trace })
  await install(`sessions/${failed.sessionId}/retry`, { body: form, ...trace })
  await execute(trace)
  const admin = await administrator()
  await admin('POST', 'migrate')
  await running.service(installAudit).record({
    action: 'quickstart-cleanup',
    status: 'passed',
    operator: 'founder',
    clientIp: '',
    userAgent: '',
    traceId: '',
    summary: { module: 'forum', targets: 3 },
  })
  const { data } = await admin('GET', 'audit-logs?size=100')
  t.same(
    data.items.map(({ action, status }: Record<string, string>) => `${action} ${status}`).reverse(),
    [
      'entry-check passed',
      'preflight warning',
      'config-validate warning',
      'config-plan warning',
      'config-write warning',
      'migrate passed',
      'execute failed',
      'administrator passed',
      'retry passed',
      'execute passed',
      'entry-check failed',
      'forced-migration passed',
      'quickstart-cleanup passed',
    ].map((line) => (db.dialect === 'sqlite' ? line.replace(/(config-\w+) warning/, '$1 passed') : line)),
    'I-058 I-059 I-171',
  )
  const executed = data.items.find(({ action }: { action: string }) => action === 'execute')
  t.same(
    Object.keys(executed).sort(),
    [
      'action',
      'actionName',
      'id',
      'occurredAt',
      'operator',
      'sessionId',
      'sourceIp',
      'status',
      'summary',
      'traceId',
      'userAgent',
    ],
    'I-057',
  )
  t.match(executed, {
    sourceIp: '127.0.0.1',
    traceId: 'trace-42',
    userAgent: 'wizard',
    operator: 'install',
    sessionId: /./,
  })
  t.notMatch(JSON.stringify(data), secrets.administrator, 'I-060')

  const page = async (query: string) => (await admin('GET', `audit-logs?${query}`)).data
  t.match(await page('action=execute'), { total: 2 }, 'I-169')
  assertMembers(t, await page('action=execute&status=failed'), { total: 1, items: [{ sessionId: failed.sessionId }] })
  t.match(await page('keyword=TRACE-42&page=2&size=4'), { page: 2, size: 4, items: { length: 4 } })
  t.match(await page('keyword=forum'), { total: 1 }, 'in the summary as well')
  t.match((await look('status')).data, { installed: true })
})

onSqlite(t, 'I-059 callers without access cannot fill the audit', async (t, db) => {
  const { look, administrator, clock } = await installed(t, db)
  for (let call = 0; call < 80; call++) await look('steps')
  await clock.advance(60_000)
  await look('steps')
  const admin = await administrator()
  t.equal((await admin('GET', 'audit-logs?action=entry-check&size=1')).data.total, 61)
})
