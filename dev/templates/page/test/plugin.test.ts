import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminPages } from '@plinth/admin'
import consolePlugin from '@plinth/console'
import consoleAdmin from '@plinth/console/admin'
import databasePlugin from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import eventsPlugin from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import { defineProduct } from '@plinth/kernel'
import sitePlugin from '@plinth/site'
import sampleNamePlugin from '../src/plugin.ts'

const administrator = { username: 'admin', password: 'correct horse battery staple' }
const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'test' }
const product = defineProduct({
  name: 'test',
  plugins: [
    consolePlugin,
    consoleAdmin,
    databasePlugin,
    eventsPlugin,
    httpPlugin,
    i18nPlugin,
    iamPlugin,
    sitePlugin,
    sampleNamePlugin,
  ],
  config: {
    'platform.http.port': 0,
    'platform.database.sqlite.file': ':memory:',
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
  },
})

test('an entry is added, listed, closed and found on the pages of the back office', async () => {
  const running = await startForTest(product)
  try {
    const pages = [...running.contributions(adminPages).keys()].filter((page) => page.startsWith('sample-name'))
    assert.deepEqual(pages, ['sample-name', 'sample-name.entry'])
    const server = running.service(http)
    await running.service(accounts).createAdministrator(administrator, origin)
    const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: administrator })
    const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
    const get = async (url: string) => (await server.inject({ url, headers })).json()
    const send = async (method: 'POST' | 'PUT', url: string, payload: object) =>
      (await server.inject({ method, url, headers, payload })).json()

    assert.deepEqual(
      sampleNamePlugin.permissions?.map(({ code }) => code),
      ['sample-name:entry:view', 'sample-name:entry:edit'],
    )
    const list = (await get('/api/v1/admin/console/pages/sample-name')).data
    assert.deepEqual(
      list.columns.map(({ title }: { title: string }) => title),
      ['Name', 'Note', 'State'],
    )
    assert.equal((await send('POST', list.create.path, { name: '', note: 'first' })).code, '400')
    const { id } = (await send('POST', list.create.path, { name: 'North', note: 'first' })).data
    assert.equal((await send('PUT', list.actions[0].path.replace('{id}', id), { state: 'closed' })).code, '200')
    assert.deepEqual((await get(list.path)).data.items, [{ id, name: 'North', note: 'first', state: 'closed' }])
    const unknown = await get('/api/v1/admin/sample-name/7')
    assert.equal(unknown.data.reason, 'sample-name.entry-unknown')
  } finally {
    await running.stop('test ended')
  }
})
