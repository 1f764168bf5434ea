import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import consolePlugin from '@plinth/console'
import consoleAdmin from '@plinth/console/admin'
import databasePlugin from '@plinth/database'
import { assertMembers, manualClock, startForTest } from '@plinth/dev/testing'
import { onDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import eventsPlugin, { events } from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import { defineProduct, omitUndefined } from '@plinth/kernel'
import { declaredTasks } from '@plinth/kernel/host'
import sitePlugin from '@plinth/site'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import notesPlugin from './plugin.ts'

const administrator = { username: 'admin', password: 'correct horse battery staple' }
const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const path = '/api/v1/example-notes'

async function startNotes(t: Test, db: TestDatabase) {
  const clock = manualClock(Date.now())
  const config = {
    ...db.config,
    'platform.http.port': 0,
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
    'platform.example.notes.retention': '10m',
  }
  const plugins = [
    databasePlugin,
    httpPlugin,
    sitePlugin,
    i18nPlugin,
    iamPlugin,
    eventsPlugin,
    consolePlugin,
    consoleAdmin,
    notesPlugin,
  ]
  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const running = await startForTest(defineProduct({ name: 'notes', plugins, config }), { clock, logger })
  t.teardown(() => running.stop('test ended'))
  await running.service(accounts).createAdministrator(administrator, origin)
  const server = running.service(http)
  const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: administrator })
  const headers = { authorization: `Bearer ${login.json().data.accessToken}`, 'accept-language': 'zh-CN' }
  const call = async (method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object) =>
    (await server.inject(omitUndefined({ method, url, headers, payload }))).json()
  return { running, server, clock, call, lines }
}

onDatabase(t, 'notes are added, announced, listed and removed, and old notes are deleted', async (t: Test, db) => {
  const { running, server, clock, call } = await startNotes(t, db)
  t.hasStrict(await call('POST', path, { body: '' }), { code: '400' })
  const { data } = await call('POST', path, { body: 'Tomatoes in November' })
  await running.service(events).idle()
  assertMembers(t, (await call('GET', path)).data, {
    items: [{ id: data.id, body: 'Tomatoes in November', announced: true }],
    total: 1,
  })
  t.hasStrict(await call('DELETE', `/api/v1/admin/example-notes/${data.id}`), { code: '200', data: null })
  t.match(await call('DELETE', `/api/v1/admin/example-notes/${data.id}`), {
    code: /^404$/,
    message: `没有编号为 ${data.id} 的笔记。`,
    data: { reason: /^notes\.not-found$/ },
  })

  await call('POST', path, { body: 'old' })
  clock.shiftWallClock(600_001)
  const [purge] = running.service(declaredTasks).scheduledTasks.filter(({ plugin }) => plugin === 'example.notes')
  await purge?.run(new AbortController().signal)
  assertMembers(t, (await call('GET', path)).data, { items: [], total: 0 })
  t.hasStrict((await server.inject(path)).json(), { code: '401' }, 'nobody without an account')
})

onDatabase(t, 'the page lists notes, and adds and removes them', async (t: Test, db) => {
  const { call, lines } = await startNotes(t, db)
  const page = (await call('GET', '/api/v1/admin/console/pages/notes.notes')).data
  assertMembers(t, page, {
    title: '笔记',
    columns: [{ title: '内容' }, { title: '已发布' }, { title: '创建时间' }],
    create: { method: 'POST', fields: [{ name: 'body', title: '内容', required: true }] },
  })
  const { data } = await call('POST', page.create.path, { body: 'from the page' })
  const [remove] = page.actions
  t.hasStrict(await call('DELETE', remove.path.replace('{id}', data.id)), { code: '200' })
  t.notMatch(lines.join(), /PLINTH_CONSOLE_PAGE/, 'the back office finds no problem')
  const text = readFileSync(join(import.meta.dirname, 'plugin.ts'), 'utf8')
  t.ok(text.trimEnd().split('\n').length <= 60)
})
