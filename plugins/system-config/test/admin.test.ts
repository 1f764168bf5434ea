import { database } from '@plinth/database'
import { assertMembers } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import http, { http as httpRef } from '@plinth/http'
import i18n from '@plinth/i18n'
import iam, { accounts } from '@plinth/iam'
import { BusinessError, definePlugin, omitUndefined, type Plugin } from '@plinth/kernel'
import { configCentre } from '@plinth/system-config'
import t, { type Test } from 'tap'
import admin from '../src/admin.ts'
import { host, mailer, password } from './fixtures/mailer.ts'
import { samplePlugin, startOn } from './fixtures/products.ts'

/** Plugin in place of the identity plugin. The header `x-permissions` contains the permissions of the caller. */
const guard = definePlugin({
  id: 'test.guard',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http: httpRef },
  setup({ services }) {
    services.http.guard({
      name: 'test',
      stage: 'access',
      forRoute: ({ access }) => {
        if (typeof access === 'string') return undefined
        return (request) => {
          const held = String(request.headers['x-permissions'] ?? '').split(' ')
          if (!held.includes(access.permission)) throw new BusinessError('403', 'No permission.')
          Object.assign(request, { principal: { username: 'carol' } })
        }
      },
    })
  },
})

const everything = 'system-config:view system-config:save system-config:export system-config:approve'

async function start(t: Test, set: Record<string, string> = {}, plugin: Plugin = samplePlugin) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { running } = await startOn(t, db, {
    plugins: [admin, http, i18n, guard, plugin],
    config: { 'platform.http.port': 0, 'platform.http.response-check': true },
    set,
  })
  const call = async (
    method: 'GET' | 'POST',
    path: string,
    payload?: object | string,
    headers: Record<string, string> = {},
  ) => {
    const response = await running.service(httpRef).inject(
      omitUndefined({
        method,
        url: `/api/v1/admin/system-config/${path}`,
        headers: { 'x-permissions': everything, 'x-trace-id': 'trace-of-the-test', ...headers },
        payload,
      }),
    )
    return { status: response.statusCode, text: response.body, ...response.json() }
  }
  return { call, running }
}

const limit = 'platform.sample.limit'
const secret = 'platform.sample.secret'

/**
 * Returns the CPU milliseconds of a call in this process. Use it only with generous limits, because other work also
 * runs in this process.
 */
async function cpuOf<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly ms: number }> {
  const before = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(before)
  return { result, ms: (user + system) / 1000 }
}

const unknownKeys = (count: number) =>
  Array.from({ length: count }, (_, index) => `platform.sample.${'limti-'.repeat(28)}${index}`)

t.test('input of callers does not decide how long a preview, a save or an import takes', async (t) => {
  const { call } = await start(t)
  const set = (key: string, value: unknown) => ({ key, action: 'set', value })

  const names = ['platform.sample.limti', ...Array.from({ length: 20 }, (_, index) => `platform.sample.limi${index}`)]
  const named = await call('POST', 'changes/preview', { changes: names.map((key) => set(key, 1)) })
  const messages: string[] = named.data.errors.map(({ message }: { message: string }) => message)
  t.equal(messages.length, names.length, 'each unknown key is a fault')
  t.match(messages[0], /did you mean platform\.sample\.limit\?/)
  t.equal(
    messages.filter((message) => message.includes('did you mean')).length,
    10,
    'the search is made ten times at most',
  )

  const many = unknownKeys(900)
  const warm = await call('POST', 'changes/preview', { changes: [set('platform.none', 1)] })
  t.equal(warm.code, '200')
  const preview = await cpuOf(() => call('POST', 'changes/preview', { changes: many.map((key) => set(key, 1)) }))
  t.equal(preview.result.data.errors.length, many.length)
  t.ok(preview.ms < 1500, `900 unknown long keys cost ${Math.round(preview.ms)} ms`)
  const save = await cpuOf(() => call('POST', 'changes', { changes: many.map((key) => set(key, 1)) }))
  t.hasStrict(save.result, { code: '400', data: { reason: 'system-config.invalid' } })
  t.ok(save.ms < 1500, `to save them ${Math.round(save.ms)} ms`)
  t.equal((await call('POST', 'changes/preview', { changes: unknownKeys(1001).map((key) => set(key, 1)) })).code, '400')
  t.equal((await call('POST', 'changes', { changes: [set('k'.repeat(201), 1)] })).code, '400')

  const documentOf = (keys: readonly string[], value: unknown = 1) => ({
    document: { format: 'plinth-config/1', values: Object.fromEntries(keys.map((key) => [key, value])) },
    dryRun: true,
  })
  const imported = await cpuOf(() => call('POST', 'import', documentOf(many)))
  t.equal(imported.result.data.errors.length, many.length)
  t.ok(imported.ms < 1500, `to import them ${Math.round(imported.ms)} ms`)
  const full = await cpuOf(() => call('POST', 'import', documentOf(unknownKeys(4900))))
  t.equal(full.result.data.errors.length, 1000, 'the first faults of a document that fills the request')
  t.ok(full.ms < 1500, `to find them ${Math.round(full.ms)} ms`)
  const [problem] = (await call('POST', 'import', documentOf(['k'.repeat(100_000)]))).data.errors
  t.match(problem, { rule: 'unknown', message: /more than 200 characters/ })
  t.ok(JSON.stringify(problem).length < 1000, 'and is not repeated in full')

  const long = 'x'.repeat(900_000)
  for (const key of [limit, secret, 'platform.sample.window', 'platform.sample.tags']) {
    const { result, ms } = await cpuOf(() => call('POST', 'changes/preview', { changes: [set(key, long)] }))
    assertMembers(t, result.data.errors, [{ field: key, rule: 'maxLength', message: /at most 65536 characters/ }])
    t.ok(result.text.length < 2000, 'the text is not sent back')
    t.ok(ms < 1000, `900,000 characters for ${key} cost ${Math.round(ms)} ms`)
  }
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  const text = JSON.stringify(documentOf(['platform.sample.tags'], 'deep')).replace('"deep"', deep)
  const nested = (await call('POST', 'import', text, { 'content-type': 'application/json' })).data.errors
  assertMembers(t, nested, [{ field: 'platform.sample.tags', rule: 'maxLength', message: /within each other/ }])
})

t.test('R-106 operations that read or change many keys have a lower quota than the default', async (t) => {
  const { running } = await start(t)
  const limited = running
    .service(httpRef)
    .routes.filter(({ annotations }) => annotations.some(({ id }) => id === 'rate-limit.limited'))
    .map(({ method, path }) => `${method} ${path.replace('/api/v1/admin/system-config/', '')}`)
  t.same(limited.sort(), ['GET export', 'POST changes/preview', 'POST import', 'POST rollback', 'POST verifications'])
})

t.test('C-026 every route is an admin route with its own permission', async (t) => {
  const { call, running } = await start(t)
  const routes = running.service(httpRef).routes.filter(({ plugin }) => plugin === 'system-config.admin')
  t.same(
    routes.map(({ method, path, access }) => [
      method,
      path.replace('/api/v1/admin/system-config/', ''),
      (access as { permission: string }).permission,
    ]),
    [
      ['GET', 'keys', 'system-config:view'],
      ['GET', 'keys/:key', 'system-config:view'],
      ['POST', 'changes/preview', 'system-config:view'],
      ['POST', 'changes', 'system-config:save'],
      ['POST', 'verifications', 'system-config:save'],
      ['GET', 'history', 'system-config:view'],
      ['GET', 'history/:id', 'system-config:view'],
      ['POST', 'rollback', 'system-config:save'],
      ['GET', 'export', 'system-config:export'],
      ['POST', 'import', 'system-config:save'],
      ['GET', 'requests', 'system-config:view'],
      ['GET', 'requests/:id', 'system-config:view'],
      ['POST', 'requests/:id/approve', 'system-config:approve'],
      ['POST', 'requests/:id/reject', 'system-config:approve'],
      ['POST', 'requests/:id/withdraw', 'system-config:save'],
      ['GET', 'instances', 'system-config:view'],
    ],
  )
  const changes = { changes: [{ key: limit, action: 'set', value: 1 }] }
  t.hasStrict(await call('POST', 'changes', changes, { 'x-permissions': 'system-config:view' }), { code: '403' })
  t.hasStrict(await call('GET', 'export', undefined, { 'x-permissions': 'system-config:view' }), { code: '403' })
  t.hasStrict(await call('GET', 'keys', undefined, { 'x-permissions': '' }), { code: '403' })
  const declared = running.plugins.flatMap(({ permissions = [] }) => permissions.map(({ code }) => code))
  t.same(declared, everything.split(' '))
})

t.test('C-018 C-019 K-009 keys by group, in the language of the request, secrets masked', async (t) => {
  const { call } = await start(t)
  await call('POST', 'changes', { changes: [{ key: secret, action: 'set', value: 'planted-secret' }] })
  const { data } = await call('GET', 'keys?query=%40group%3Asample', undefined, { 'accept-language': 'zh-CN' })
  assertMembers(t, data, { version: 1, total: 10, groups: [{ group: 'sample', displayTitle: '样例' }] })
  const items = new Map(data.groups[0].items.map((item: { key: string }) => [item.key, item]))
  assertMembers(t, items.get(limit), {
    displayTitle: '请求上限',
    value: 10,
    source: 'default',
    isSet: false,
    default: 10,
    version: 0,
    reload: 'live',
    env: 'PLATFORM_SAMPLE_LIMIT',
    schema: { minimum: 1 },
    sources: [{ source: 'default', active: true }],
  })
  t.match(items.get(secret), {
    value: '******',
    sensitive: true,
    isSet: true,
    version: 1,
    stored: { value: '******', updatedBy: 'carol' },
  })
  t.match(items.get('platform.sample.old-window'), {
    deprecated: { since: '1.0.0', replacement: 'platform.sample.window' },
  })
  t.match((await call('GET', `keys/${limit}`)).data, { key: limit, displayTitle: 'Request limit', locked: undefined })
  for (const [key, locked] of [
    ['platform.sample.state', 'state'],
    ['platform.sample.safety', 'safety'],
    ['platform.http.port', 'process'],
  ]) {
    t.match((await call('GET', `keys/${key}`)).data, { editable: false, locked }, `why ${key} is locked`)
  }
  t.hasStrict(await call('GET', 'keys/platform.none'), {
    status: 200,
    code: '404',
    data: { reason: 'system-config.key-unknown' },
  })
  t.match(await call('GET', 'keys?query=%40nonsense', undefined, { 'accept-language': 'zh-CN' }), {
    code: /^400$/,
    message: /没有筛选条件“@nonsense”/,
  })
})

t.test('C-020 save: dry run, all errors at once, conflict, history with the caller and the trace id', async (t) => {
  const { call } = await start(t)
  const change = { key: limit, action: 'set', value: 20, expectedVersion: 0 }
  const mode = { key: 'platform.sample.mode', action: 'set', value: 'fast' }
  assertMembers(
    t,
    (await call('POST', 'changes/preview', { changes: [change, mode, { ...mode, key: 'platform.none' }] })).data,
    {
      dryRun: true,
      restartRequired: true,
      plugins: ['test.sample'],
      effects: [{ outcome: 'applied', after: 20 }, { outcome: 'pendingRestart' }],
      errors: [{ field: 'platform.none', rule: 'unknown' }],
      version: 0,
    },
  )
  assertMembers(t, (await call('POST', 'changes', { changes: [change, mode], reason: 'launch' })).data, {
    dryRun: false,
    version: 1,
    effects: [{ outcome: 'applied' }, { outcome: 'pendingRestart' }],
  })
  assertMembers(t, await call('POST', 'changes', { changes: [change] }), {
    status: 200,
    code: /^409$/,
    data: {
      reason: /^system-config\.conflict$/,
      currentVersion: 1,
      updatedBy: /^carol$/,
      updatedAt: /Z$/,
      conflicts: [{ key: limit, expectedVersion: 0, currentVersion: 1 }],
    },
  })
  assertMembers(
    t,
    await call('POST', 'changes', {
      changes: [
        { ...change, value: 0, expectedVersion: 1 },
        { key: 'platform.sample.window', action: 'set', value: 'x' },
      ],
    }),
    {
      code: '400',
      data: { reason: 'system-config.invalid', errors: [{ field: limit, rule: 'minimum' }, { rule: 'format' }] },
    },
  )
  assertMembers(t, await call('POST', 'changes', { changes: [{ key: limit, action: 'set' }] }), {
    code: '400',
    data: { errors: [{ field: limit, rule: 'required' }] },
  })
  const state = { key: 'platform.sample.state', action: 'set', value: 1 }
  const document = { format: 'plinth-config/1', values: { [state.key]: 1 } }
  for (const [path, body] of [
    ['changes', { changes: [state], verify: false }],
    ['changes', { changes: [{ ...state, action: 'reset' }] }],
    ['import', { document }],
  ] as const) {
    const rejected = { code: '400', data: { errors: [{ field: state.key, rule: 'not-editable' }] } }
    t.match(await call('POST', path, body), rejected, `I-007 state is not written by ${path}`)
  }
  for (const reason of ['x'.repeat(201), '', '  '])
    t.hasStrict(await call('POST', 'changes', { changes: [change], reason }), { code: '400' }, reason)
  const [latest] = (await call('GET', `history?key=${limit}`)).data.items
  t.same((await call('GET', `history/${latest.id}`)).data, latest, 'one change by its id')
  assertMembers(t, (await call('GET', `history?version=${latest.version}`)).data.items, [
    { version: latest.version, key: limit },
    { version: latest.version, key: mode.key },
  ])
  t.hasStrict(await call('GET', 'history/99:no.such.key'), {
    code: '404',
    data: { reason: 'system-config.change-unknown' },
  })
  t.hasStrict(await call('GET', 'history/nothing'), { code: '400' })
  assertMembers(t, (await call('GET', `history?key=${limit}`)).data, {
    total: 1,
    page: 1,
    items: [{ version: 1, after: 20, actor: 'carol', reason: 'launch', traceId: 'trace-of-the-test', origin: 'save' }],
  })
  await call('POST', 'changes', { changes: [{ key: limit, action: 'reset' }] })
  assertMembers(t, (await call('POST', 'rollback', { toVersion: 1, dryRun: true })).data, {
    dryRun: true,
    effects: [{ key: limit, after: 20 }],
  })
  t.match((await call('POST', 'rollback', { toVersion: 1 })).data, { version: 3, dryRun: false })
  const undone = (await call('POST', 'rollback', { toVersion: 0, keys: [limit], dryRun: true })).data
  t.strictSame(undone.effects, [
    {
      key: limit,
      displayTitle: 'Request limit',
      plugin: 'test.sample',
      outcome: 'applied',
      before: 20,
      fallback: 10,
    },
  ])
  assertMembers(t, (await call('GET', 'instances')).data, { version: 3, items: [{ roles: ['web', 'worker'] }] })
})

t.test('the response for a key shows whether its stored value applies', async (t) => {
  const { call } = await start(t, { [limit]: '7' })
  const changes = [
    { key: limit, action: 'set', value: 20 },
    { key: 'platform.sample.mode', action: 'set', value: 'fast' },
    { key: 'platform.sample.window', action: 'set', value: '2m' },
  ]
  const saved = await call('POST', 'changes', { changes })
  assertMembers(t, saved.data.effects, [{ outcome: 'shadowed' }, { outcome: 'pendingRestart' }, { outcome: 'applied' }])
  assertMembers(t, (await call('GET', `keys/${limit}`)).data, {
    value: 7,
    source: 'command-line',
    stored: { value: 20 },
    shadowed: true,
    pendingRestart: false,
    sources: [{ active: false }, { source: 'database', active: false }, { source: 'command-line', active: true }],
  })
  t.match((await call('GET', 'keys/platform.sample.mode')).data, {
    value: 'slow',
    shadowed: false,
    pendingRestart: true,
  })
  t.match((await call('GET', 'keys/platform.sample.window')).data, { value: '2m', shadowed: false, source: 'database' })
})

t.test('verify, export, import with its difference, and no secret in any response', async (t) => {
  const { call } = await start(t)
  const responses: string[] = []
  const keep = async (...request: Parameters<typeof call>) => {
    const answer = await call(...request)
    responses.push(answer.text)
    return answer
  }
  t.hasStrict((await keep('POST', 'verifications', { key: secret, value: 'wrong-planted-secret' })).data, {
    outcome: 'refused',
    reason: 'the service refuses ******',
  })
  const changes = [
    { key: secret, action: 'set', value: 'planted-secret' },
    { key: limit, action: 'set', value: 20 },
  ]
  await keep('POST', 'changes/preview', { changes })
  await keep('POST', 'changes', { changes })
  for (const [value, isStored] of [
    ['planted-secret', true],
    ['planted-secres', false],
  ] as const)
    t.same((await keep('POST', 'verifications', { key: secret, value })).data, { outcome: 'verified', isStored })
  await keep('POST', 'changes', { changes: [{ ...changes[0], value: 'wrong-planted-secret' }] })
  const { data: document } = await keep('GET', 'export')
  assertMembers(t, document, { format: 'plinth-config/1', values: { [limit]: 20 }, omittedSecrets: [secret] })
  document.values['platform.sample.window'] = '2m'
  delete document.values[limit]
  const dry = (await keep('POST', 'import', { document, mode: 'replace', dryRun: true })).data
  assertMembers(t, dry, {
    dryRun: true,
    effects: [
      { key: 'platform.sample.window', after: '2m' },
      { key: limit, before: 20, outcome: 'applied' },
    ],
  })
  const [last] = (await keep('GET', 'history')).data.items
  const newest = { currentVersion: dry.version, updatedBy: 'carol', updatedAt: last.changedAt }
  t.hasStrict(await keep('POST', 'import', { document, expectedVersion: dry.version - 1 }), {
    code: '409',
    data: { reason: 'system-config.version-changed', ...newest },
  })
  t.hasStrict(await keep('POST', 'import', { document, mode: 'replace', expectedVersion: dry.version }), {
    code: '200',
  })
  t.match((await keep('GET', 'keys?query=%40stored')).data, { total: 2 })
  t.hasStrict(await keep('POST', 'import', { document: { format: 'other', values: {} } }), { code: '400' })
  await keep('GET', 'history')
  await keep('GET', 'keys')
  const { running } = await start(t)
  responses.push(JSON.stringify(await running.service(httpRef).openapi()))
  for (const form of ['planted-secret', Buffer.from('planted-secret').toString('base64')]) {
    t.notOk(responses.some((answer) => answer.includes(form)))
  }
})

t.test('C-020 a database that does not respond is a clear failure', async (t) => {
  const { call, running } = await start(t)
  const service = running.service(database)
  service.fork = () => {
    throw new Error('connect ECONNREFUSED 10.0.0.1')
  }
  for (const [method, path, body] of [
    ['GET', 'keys'],
    ['GET', 'history'],
    ['POST', 'changes', { changes: [{ key: limit, action: 'set', value: 20 }] }],
  ] as const) {
    const answer = await call(method, path, body)
    t.hasStrict(answer, { status: 200, code: '503', data: { reason: 'system-config.storage-unavailable' } })
    t.notMatch(answer.text, /10\.0\.0\.1/)
  }
})

t.test('C-021 with the identity plugin: a token, a permission, and the name of the user in the history', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { running } = await startOn(t, db, {
    plugins: [admin, http, i18n, iam, samplePlugin],
    config: { 'platform.http.port': 0 },
  })
  const password = 'a-Long-enough-1'
  const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'trace', userAgent: 'test' }
  await running.service(accounts).createAdministrator({ username: 'root', password }, origin)
  await running.service(accounts).create({ username: 'guest', password }, origin)
  const inject = running.service(httpRef).inject
  const tokenOf = async (username: string) => {
    const login = await inject({ method: 'POST', url: '/api/v1/auth/login', payload: { username, password } })
    return { authorization: `Bearer ${login.json().data.accessToken}` }
  }
  const url = '/api/v1/admin/system-config/changes'
  const payload = { changes: [{ key: limit, action: 'set', value: 3 }] }
  t.hasStrict((await inject({ method: 'POST', url, payload })).json(), { code: '401' })
  t.hasStrict((await inject({ method: 'POST', url, payload, headers: await tokenOf('guest') })).json(), { code: '403' })
  t.hasStrict((await inject({ method: 'POST', url, payload, headers: await tokenOf('root') })).json(), { code: '200' })
  const { items } = await running.service(configCentre).history({}, { size: 5, offset: 0, count: 'exact' })
  assertMembers(t, items, [{ actor: 'root', after: 3 }])

  await t.test('changes are in the audit, and the history shows the user under any name', async (t) => {
    const headers = await tokenOf('root')
    const get = async (path: string) => (await inject({ method: 'GET', url: path, headers })).json().data
    const me = await get('/api/v1/iam/users/me')
    await inject({ method: 'PUT', url: '/api/v1/iam/users/me', headers, payload: { username: 'renamed' } })
    const changes = [
      { key: secret, action: 'set', value: 'a-secret-to-keep' },
      { key: limit, action: 'reset' },
    ]
    await inject({ method: 'POST', url, headers, payload: { changes, reason: 'spring clean' } })
    const { items: audits } = await get('/api/v1/admin/iam/audits?targetType=configuration')
    assertMembers(t, audits, [
      {
        actor: `user:${me.id}`,
        action: 'configuration.save',
        targetId: 2,
        summary: { set: [secret], reset: [limit], reason: 'spring clean' },
        clientIp: '127.0.0.1',
        traceId: /./,
      },
      { actor: `user:${me.id}`, summary: { set: [limit], reset: [] } },
    ])
    t.notMatch(JSON.stringify(audits), /a-secret-to-keep/)
    const verify = '/api/v1/admin/system-config/verifications'
    for (const value of ['a-secret-to-guess', 'a-secret-to-keep'])
      await inject({ method: 'POST', url: verify, headers, payload: { key: secret, value } })
    const { items: requested } = await get('/api/v1/admin/iam/audits?action=configuration.verify')
    assertMembers(t, requested, [
      { actor: `user:${me.id}`, targetName: secret, summary: { isSame: true }, clientIp: '127.0.0.1' },
      { actor: `user:${me.id}`, targetName: secret, summary: { isSame: false } },
    ])
    t.notMatch(JSON.stringify(requested), /a-secret-to/)
    const history = await get(`/api/v1/admin/system-config/history?actorUserId=${me.id}`)
    t.same(
      history.items.map(({ actor, actorUserId }: Record<string, unknown>) => [actor, actorUserId]),
      [
        ['renamed', me.id],
        ['renamed', me.id],
        ['root', me.id],
      ],
    )
    t.equal((await get('/api/v1/admin/system-config/history?actorUserId=1')).total, 0)
    const last = await inject({ method: 'POST', url, headers, payload: { changes } })
    t.equal(last.json().code, '200')
  })
})

t.test('no dry run and no save confirms a guessed secret', async (t) => {
  const { call } = await start(t)
  const save = (value: string) => call('POST', 'changes', { changes: [{ key: secret, action: 'set', value }] })
  const document = (value: string) => ({ format: 'plinth-config/1', values: { [secret]: value } })
  const essence = ({ data }: { data: { effects: object[] } }) => JSON.stringify(data)
  await save('the-right-secret')
  for (const [path, bodyOf] of [
    ['import', (value: string) => ({ document: document(value), dryRun: true })],
    ['import', (value: string) => ({ document: document(value), dryRun: true, mode: 'replace' })],
    ['changes/preview', (value: string) => ({ changes: [{ key: secret, action: 'set', value }] })],
  ] as const) {
    const [right, wrong] = [
      await call('POST', path, bodyOf('the-right-secret')),
      await call('POST', path, bodyOf('a guess')),
    ]
    t.equal(essence(right), essence(wrong), path)
    t.equal(right.data.effects.length, 1)
  }
  t.equal((await save('the-right-secret')).data.version, 2, 'the same secret is stored anew')
  t.equal((await call('POST', 'import', { document: document('the-right-secret') })).data.version, 3)
  const back = await call('POST', 'rollback', { toVersion: 1, dryRun: true })
  await save('a guess')
  const other = await call('POST', 'rollback', { toVersion: 1, dryRun: true })
  t.same(back.data.effects, other.data.effects, 'nor does the way back')
})

t.test(
  'a rejected value is explained in the language of the request, and an unknown key with the nearest known key',
  async (t) => {
    const { call } = await start(t)
    const changes = (key: string, value: unknown) => ({ changes: [{ key, action: 'set', value }] })
    const messageIn = async (language: string, path: string, body: object) => {
      const { data } = await call('POST', path, body, { 'accept-language': language })
      return data.errors.map(({ message }: { message: string }) => message)
    }
    for (const path of ['changes/preview', 'changes']) {
      const text = changes('platform.sample.code', 'a\r\nBcc: x@y')
      t.strictSame(await messageIn('en', path, text), [
        'platform.sample.code must be one line of text without control characters; it is "a\\r\\nBcc: x@y"',
      ])
      t.strictSame(await messageIn('zh', path, text), [
        'platform.sample.code 必须是不含控制字符的单行文本；给出的是 "a\\r\\nBcc: x@y"',
      ])
      const code = changes('platform.sample.code', 'A 1')
      t.strictSame(await messageIn('en', path, code), ['platform.sample.code must be lower-case letters; it is "A 1"'])
      t.strictSame(await messageIn('zh', path, code), ['platform.sample.code 必须是小写字母；给出的是 "A 1"'])
      assertMembers(t, await messageIn('zh', path, changes('platform.sample.safety', true)), [
        /^platform\.sample\.safety 不能在此写入/,
      ])
      assertMembers(t, await messageIn('zh', path, changes('platform.sample.limt', 1)), [
        /；是否想写 platform\.sample\.limit？$/,
      ])
    }
    const unknown = { reason: 'system-config.key-unknown', nearest: 'platform.sample.limit' }
    t.hasStrict(await call('GET', 'keys/platform.sample.limt'), { code: '404', data: unknown })
    const item = (await call('GET', 'keys/platform.sample.code', undefined, { 'accept-language': 'zh' })).data
    t.equal(item.displayRule, '是小写字母')
  },
)

t.test('a secret is bound to the destination that the page has shown', async (t) => {
  const { call } = await start(t, {}, mailer)
  const { destinationVersion: expectedDestination } = (await call('GET', `keys/${password}`)).data
  const change = { key: password, action: 'set', value: 'secret-a', expectedVersion: 0, expectedDestination }
  const ofOther = [{ key: host, action: 'set', value: 'evil.example' }]
  t.hasStrict(await call('POST', 'changes', { changes: ofOther }), { code: '200' })
  const moved = { code: '409', data: { reason: 'system-config.destination-changed', key: password, keys: [host] } }
  t.hasStrict(await call('POST', 'changes', { changes: [change] }), moved)
  t.hasStrict(await call('POST', 'verifications', { key: password, value: 'secret-a', expectedDestination }), moved)
  t.equal((await call('GET', `keys/${password}`)).data.isSet, false)
  const saved = await call('POST', 'changes', { changes: [{ key: password, action: 'set', value: 'secret-a' }] })
  assertMembers(t, saved.data.effects, [{ key: password, destination: { [host]: 'evil.example' } }])
})
