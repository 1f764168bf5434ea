import { asyncTasks, taskType } from '@plinth/async-task'
import { assertKeyEffect, assertMembers, type KeyValues, rejectsWith, until } from '@plinth/dev/testing'
import { createDatabase, onDatabase, onSqlite, type TestDatabase } from '@plinth/dev/testing/database'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import { BusinessError, definePlugin, type Logger } from '@plinth/kernel'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { advanceUntil, Probe, reportTaskType, startTasks } from './fixtures/product.ts'

const root = '/api/v1/async-tasks'
const password = 'correct horse battery staple'
const system = { clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap', name: 'test' }

const texts = definePlugin({
  id: 'texts',
  version: '1.0.0',
  kernel: '^1.0.0',
  messages: {
    en: { shop: { gone: 'The rule {{code}} is gone.' } },
    'zh-CN': { shop: { gone: '规则 {{code}} 已不存在。' } },
  },
})

/** Starts a product with two users and an administrator, all logged in. */
async function startShop(t: Test, db: TestDatabase, config: KeyValues = {}, logger: Logger = pino({ enabled: false })) {
  const probe = new Probe()
  const started = await startTasks(t, db, {
    logger,
    plugins: [httpPlugin, i18nPlugin, iamPlugin, texts],
    config: {
      'platform.http.port': 0,
      'platform.http.response-check': true,
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
      'platform.async-task.lease': '1h',
      ...config,
    },
    handle: (tasks) =>
      tasks.handle(reportTaskType, async ({ rows }, context) => {
        if (rows === 0) throw new BusinessError('409', 'gone', { reason: 'shop.gone', params: { code: 'x1' } })
        if (rows === 9) return probe.handle(undefined, context)
        context.progress(50, { en: 'writing', 'zh-CN': '写入中' })
        const numbers = Array.from({ length: rows }, (_, index) => `row ${index}`)
        await context.writeCsv({ name: '报表.csv' }, [{ title: 'row', value: (row: string) => row }], numbers)
      }),
  })
  const { running } = started
  const users = running.service(accounts)
  const ann = await users.create({ username: 'ann', password }, system)
  const bob = await users.create({ username: 'bob', password }, system)
  await users.createSuperAdministrator({ username: 'root', password }, system)
  const server = running.service(http)
  const login = async (username: string): Promise<string> => {
    const response = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: { username, password } })
    return response.json().data.accessToken
  }
  const tokens = { ann: await login('ann'), bob: await login('bob'), root: await login('root'), nobody: undefined }
  type Who = keyof typeof tokens
  const raw = (
    who: Who,
    url: string,
    method: 'GET' | 'POST' | 'HEAD' = 'GET',
    headers: Record<string, string> = {},
  ) => {
    const token = tokens[who]
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
    return server.inject({ method, url, headers: { ...authorization, ...headers } })
  }
  const call = async (who: Who, url: string, method: 'GET' | 'POST' = 'GET', language = 'en') =>
    (await raw(who, url, method, { 'accept-language': language })).json()
  const submit = (ownerId: number, rows: number) =>
    running.service(asyncTasks).submit(reportTaskType, { rows }, { ownerId })
  /** Calls a user or role operation as the administrator. */
  const administer = async (method: 'POST' | 'PUT' | 'DELETE', path: string, payload: object = {}) => {
    const headers = { authorization: `Bearer ${tokens.root}` }
    const response = (await server.inject({ method, url: `/api/v1/admin/iam/${path}`, payload, headers })).json()
    t.equal(response.code, '200', `${path} ${response.message}`)
    return response.data
  }
  return { ...started, ann, bob, users, login, server, raw, call, submit, probe, administer }
}

t.test('a download address is valid as long as configured', async (t) => {
  const [types] = await assertKeyEffect(t, 'platform.async-task.download-url.lifetime', {
    changed: '4m',
    observe: async (config) => {
      const db = await createDatabase('sqlite')
      t.teardown(() => db.drop())
      const { ann, raw, call, submit, reaches, clock } = await startShop(t, db, config)
      const { id } = await submit(ann.id, 2)
      await reaches(id, 'succeeded')
      const { url } = (await call('ann', `${root}/${id}/download-url`)).data
      clock.shiftWallClock(4 * 60_000)
      return (await raw('nobody', url)).headers['content-type']
    },
  })
  t.match(types, { before: 'text/csv; charset=utf-8', after: 'application/json; charset=utf-8' })
})

onSqlite(t, 'C-008 a result is visible to its owner and to users with the scope all', async (t, db) => {
  const { ann, bob, raw, call, submit, reaches, clock } = await startShop(t, db)
  const { id } = await submit(ann.id, 2)
  await reaches(id, 'succeeded')

  const { code, data } = await call('ann', `${root}/${id}`)
  t.equal(code, '200')
  const moment = new Date(clock.now()).toISOString()
  t.same(data, {
    id,
    type: 'shop.report',
    displayName: 'Report',
    ownerId: ann.id,
    status: 'succeeded',
    cancelRequested: false,
    progress: 100,
    note: 'writing',
    attempts: 1,
    error: null,
    artifact: { name: '报表.csv', size: 28 },
    hasFile: true,
    createdAt: moment,
    startedAt: moment,
    finishedAt: moment,
  })
  t.match((await call('ann', `${root}/${id}`, 'GET', 'zh-CN')).data, { displayName: '报表', note: '写入中' })

  const file = await raw('ann', `${root}/${id}/artifact`)
  t.equal(file.body, '\ufeff"row"\r\n"row 0"\r\n"row 1"\r\n')
  t.equal(file.headers['content-type'], 'text/csv; charset=utf-8')
  t.equal(file.headers['cache-control'], 'private, no-store')
  t.equal(file.headers['x-content-type-options'], 'nosniff')
  t.match(
    file.headers['content-disposition'],
    /^attachment; filename="__.csv"; filename\*=UTF-8''%E6%8A%A5%E8%A1%A8.csv$/,
  )
  const part = await raw('ann', `${root}/${id}/artifact`, 'GET', { range: 'bytes=4-6' })
  t.equal(`${part.statusCode} ${part.body}`, '206 row')
  t.equal((await raw('ann', `${root}/${id}/artifact`, 'HEAD')).headers['content-length'], '28')

  const { data: link } = await call('ann', `${root}/${id}/download-url`)
  t.equal(link.expiresAt, new Date(clock.now() + 300_000).toISOString())
  const fetched = await raw('nobody', link.url)
  t.equal(fetched.body, file.body, 'the address is sufficient to download the file')
  t.match(fetched.headers['content-disposition'], /%E6%8A%A5%E8%A1%A8.csv$/)
  clock.shiftWallClock(300_000)
  t.hasStrict((await raw('nobody', link.url)).json(), { code: '403', data: { reason: 'storage.url-expired' } })
  clock.shiftWallClock(-240_000)

  for (const path of ['', '/artifact', '/download-url']) {
    const url = `${root}/${id}${path}`
    t.hasStrict(await call('bob', url), { code: '404', data: { reason: 'async-task.unknown' } }, `bob, ${path}`)
    t.hasStrict(await call('nobody', url), { code: '401' }, `nobody, ${path}`)
    t.equal((await raw('bob', url)).statusCode, 200)
    t.notMatch((await raw('bob', url)).body, /row 0/)
    t.equal((await raw('root', url)).statusCode, 200)
    t.notMatch((await raw('root', url)).body, /"code":"40/, `root, ${path}`)
  }
  t.hasStrict(
    await call('bob', `${root}/1`),
    { code: '404', data: { reason: 'async-task.unknown' } },
    'as one that is not',
  )
  t.hasStrict(await call('bob', `${root}/${id}/cancel`, 'POST'), { code: '404' })
  for (const bad of ['x', '0', '-1', '1.5', '99999999999999999999'])
    t.equal((await call('ann', `${root}/${bad}`)).code, '400')

  const other = await submit(bob.id, 1)
  await reaches(other.id, 'succeeded')
  const ids = async (who: 'ann' | 'bob' | 'root', query = '') => {
    const { data } = await call(who, `${root}${query}`)
    return [data.total, ...data.items.map((item: { id: number }) => item.id)]
  }
  t.same(await ids('ann'), [1, id])
  const seen = async (who: 'ann' | 'root') => (await call(who, `${root}/${id}`)).data.hasFile
  t.same([await seen('ann'), await seen('root')], [true, true], 'who may read the file is told so')
  t.same(await ids('bob'), [1, other.id])
  t.same(await ids('root'), [2, other.id, id])
  t.same(await ids('root', `?ownerId=${ann.id}`), [1, id])
  t.same(await ids('ann', `?ownerId=${bob.id}`), [0], 'not even that there are any')
  t.same(await ids('ann', `?status=queued`), [0])
  t.same(await ids('root', `?type=shop.report&size=1&page=2`), [2, id])
  for (const bad of ['status=done', 'type=A', 'page=0', 'size=201', 'ownerId=x']) {
    t.equal((await call('root', `${root}?${bad}`)).code, '400', bad)
  }
  t.equal((await call('nobody', root)).code, '401')
})

onDatabase(
  t,
  'N-155 the file of another user needs scope and permission on each request, and each request is recorded',
  async (t, db) => {
    const { ann, users, login, server, call, submit, reaches, administer } = await startShop(t, db)
    const { id } = await submit(ann.id, 2)
    await reaches(id, 'succeeded')
    await administer('PUT', `users/${ann.id}`, { orgId: 5 })
    const role = async (dataScope: string, permissions: readonly string[]) =>
      administer('POST', 'roles', {
        code: `role-${dataScope}-${permissions.length}`,
        name: 'Role',
        dataScope,
        permissions,
      })
    const permission = 'shop:report:read'
    const [seeing, reading, colleague] = [
      await role('all', []),
      await role('all', [permission]),
      await role('org', [permission]),
    ]
    const person = async (username: string, roleId: number, orgId: number | null = null) => {
      const account = await users.create({ username, password, roleIds: [roleId], orgId }, system)
      const headers = { authorization: `Bearer ${await login(username)}` }
      const get = (url: string) => server.inject({ url: url.startsWith('/') ? url : `${root}/${id}/${url}`, headers })
      const outcome = async (url: string) => {
        const { body } = await get(url)
        if (body.includes('row 0')) return 'file'
        const { code, data } = JSON.parse(body)
        return code === '200' ? 'address' : `${code} ${data.reason}`
      }
      const both = async () => [await outcome('artifact'), await outcome('download-url')]
      return { id: account.id, get, outcome, both }
    }
    const fetched = async (url: string) => {
      const { body } = await server.inject({ url })
      return body.includes('row 0') ? 'file' : JSON.parse(body).data.reason
    }
    const trail = async () => {
      const { items } = (await call('root', '/api/v1/admin/iam/audits?targetType=async-task')).data
      return items.map((item: Record<string, unknown>) => [
        item['action'],
        item['actorId'] ?? item['actor'],
        item['targetId'],
        item['summary'],
      ])
    }

    const cara = await person('cara', seeing.id)
    t.equal((await cara.get(`${root}/${id}`)).json().code, '200', 'the scope shows the task')
    t.same(await cara.both(), ['403 async-task.file-forbidden', '403 async-task.file-forbidden'], 'but not its file')
    const eve = await person('eve', colleague.id, 6)
    t.same(await eve.both(), ['404 async-task.unknown', '404 async-task.unknown'], 'of another organisation')
    const fay = await person('fay', colleague.id, 5)
    t.equal((await fay.get(`${root}/${id}`)).json().data.hasFile, false, 'a colleague sees the task without its file')
    const forbidden = ['403 async-task.file-forbidden', '403 async-task.file-forbidden']
    t.same(await fay.both(), forbidden, 'the owner may reach more than a colleague')
    t.same(await trail(), [], 'what was refused was not read')

    const dave = await person('dave', reading.id)
    const { url } = (await dave.get('download-url')).json().data
    t.equal(await fetched(url), 'file')
    const summary = { ownerId: ann.id, taskType: 'shop.report', file: '报表.csv' }
    const records = await trail()
    assertMembers(
      t,
      records.map(([action]: readonly unknown[]) => action),
      ['async-task.read-file', 'async-task.make-url'],
      'who reads, and who reads by an address',
    )
    for (const [, , target, facts] of records) t.same([target, facts], [id, summary])
    t.match(JSON.stringify(records[0]), String(dave.id))

    await administer('PUT', `roles/${reading.id}`, {
      version: reading.version,
      name: 'Role',
      dataScope: 'all',
      permissions: [],
    })
    t.equal(await fetched(url), 'async-task.file-forbidden', 'the address knows no more than its user')
    await administer('PUT', `users/${dave.id}`, { roleIds: [colleague.id], orgId: 6 })
    t.equal(await fetched(url), 'async-task.unknown')
    await administer('PUT', `users/${dave.id}`, { orgId: 5 })
    t.equal(await fetched(url), 'async-task.file-forbidden', 'nor more than the scope of its user')
    await administer('PUT', `users/${dave.id}`, { enabled: false })
    t.equal(await fetched(url), 'async-task.reader-gone')

    const own = (await call('ann', `${root}/${id}/download-url`)).data.url
    const before = (await trail()).length
    t.equal(await fetched(own), 'file')
    t.equal((await trail()).length, before, 'what is read of the own is nobody else’s business')
    await administer('PUT', `users/${ann.id}`, { enabled: false })
    t.equal(await fetched(own), 'async-task.reader-gone')
    await administer('PUT', `users/${ann.id}`, { enabled: true })
    t.equal(await fetched(own), 'file')
    await administer('DELETE', `users/${ann.id}`)
    t.equal(await fetched(own), 'async-task.reader-gone')
  },
)

onSqlite(t, 'waiting and running tasks of a disabled or deleted user end', async (t, db) => {
  const lines: Record<string, unknown>[] = []
  const logger = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) })
  const { ann, bob, submit, reaches, probe, administer, clock, tasks } = await startShop(t, db, {}, logger)
  const running = [await submit(ann.id, 9), await submit(bob.id, 9)]
  const runs = [await probe.begun(1), await probe.begun(2)]
  await administer('PUT', `users/${ann.id}`, { enabled: false })
  await administer('DELETE', `users/${bob.id}`)
  await advanceUntil(clock, () => runs.every(({ signal }) => signal.aborted), 'both are told to end')
  probe.release()
  for (const { id } of running) t.hasStrict(await reaches(id, 'cancelled'), { status: 'cancelled', artifact: null })
  for (const { id: ownerId } of [ann, bob]) {
    const { id } = await tasks.submit(reportTaskType, { rows: 2 }, { ownerId })
    t.match(await reaches(id, 'cancelled'), { attempts: 0, artifact: null }, 'it is never begun')
    const msg = 'a task was cancelled because its owner was disabled or deleted'
    const logged = lines.filter((line) => line['msg'] === msg && line['ownerId'] === ownerId)
    assertMembers(t, logged, [{ level: 30, taskId: id }])
  }
})

t.test('an undeclared permission prevents the start', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const about = { displayName: 'Secret', params: Type.Object({}), readPermission: 'shop:nothing:read' }
  const start = startTasks(t, db, { handle: (tasks) => tasks.handle(taskType('shop.secret', about), () => {}) })
  await rejectsWith(t, start, { message: /shop\.secret.*shop:nothing:read/ })
})

onSqlite(t, 'the owner of a task sees that it runs, fails or is cancelled', async (t, db) => {
  const { ann, raw, call, submit, reaches, probe, db: database } = await startShop(t, db)
  const failed = await submit(ann.id, 0)
  await reaches(failed.id, 'failed')
  t.match((await call('ann', `${root}/${failed.id}`)).data, {
    status: /^failed$/,
    error: { reason: /^shop\.gone$/, message: 'The rule x1 is gone.' },
    artifact: null,
  })
  t.match((await call('ann', `${root}/${failed.id}`, 'GET', 'zh-CN')).data.error.message, '规则 x1 已不存在。')
  for (const path of ['artifact', 'download-url']) {
    t.hasStrict(await call('ann', `${root}/${failed.id}/${path}`), {
      code: '404',
      data: { reason: 'async-task.no-artifact' },
    })
  }
  t.hasStrict(await call('ann', `${root}/${failed.id}/cancel`, 'POST'), {
    code: '409',
    data: { reason: 'async-task.finished' },
  })

  const long = await submit(ann.id, 9)
  const run = await probe.begun(1)
  t.hasStrict((await call('ann', `${root}/${long.id}`)).data, { status: 'running', finishedAt: null, progress: 0 })
  t.hasStrict(await call('ann', `${root}/${long.id}/artifact`), { code: '404' })
  t.hasStrict((await call('root', `${root}/${long.id}/cancel`, 'POST')).data, {
    status: 'running',
    cancelRequested: true,
  })
  await until(() => run.signal.aborted, 'the signal aborts')
  run.end.resolve()
  await reaches(long.id, 'cancelled')
  t.hasStrict((await call('ann', `${root}/${long.id}`)).data, {
    status: 'cancelled',
    cancelRequested: false,
    error: null,
  })

  const own = await submit(ann.id, 9)
  const second = await probe.begun(2)
  await call('ann', `${root}/${own.id}/cancel`, 'POST')
  await until(() => second.signal.aborted, 'the signal aborts')
  probe.release()
  await reaches(own.id, 'cancelled')
  const audits = await call('root', '/api/v1/admin/iam/audits?targetType=async-task')
  assertMembers(t, audits.data.items, [
    { action: 'async-task.cancel', targetId: long.id, summary: { ownerId: ann.id } },
  ])
  t.equal(audits.data.total, 1, 'who ends tasks of others is in the audit')

  const metrics = async () => (await raw('nobody', '/metrics')).body
  const cancelled = 'platform_async_task_runs_total{type="shop.report",outcome="cancelled"} 2\n'
  await until(async () => (await metrics()).includes(cancelled), 'runs are counted')
  t.match(await metrics(), /platform_async_task_runs_total\{type="shop.report",outcome="failed"\} 1\n/)
  t.match(await metrics(), /platform_async_task_tasks\{status="running"\} 0\n/)
  await database.execute('alter table async_task rename to hidden_task')
  const others = await metrics()
  await database.execute('alter table hidden_task rename to async_task')
  t.match(others, cancelled, 'if the database fails, the other metrics are still returned')
  t.notMatch(others, 'platform_async_task_tasks{')
})
