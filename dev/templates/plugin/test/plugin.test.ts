import assert from 'node:assert/strict'
import { test } from 'node:test'
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

test('an entry is added, changed, listed and deleted with the operations of its page', async () => {
  const running = await startForTest(product)
  try {
    const server = running.service(http)
    await running.service(accounts).createAdministrator(administrator, origin)
    const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: administrator })
    const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
    const call = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) =>
      (await server.inject({ method, url, headers, ...(payload && { payload }) })).json()

    const page = (await call('GET', '/api/v1/admin/console/pages/sample-name.entries')).data
    assert.deepEqual(
      page.columns.map(({ title }: { title: string }) => title),
      ['Author', 'Name', 'Note', 'Created at', 'Updated at', 'Updated by'],
    )
    assert.equal((await call('POST', page.create.path, { name: '' })).code, '400')
    const { id } = (await call('POST', page.create.path, { name: 'North' })).data
    assert.equal((await call('PUT', `${page.path}/${id}`, { note: 'first', version: 1 })).code, '200')
    const conflict = await call('PUT', `${page.path}/${id}`, { note: 'second', version: 1 })
    assert.equal(conflict.data.reason, 'sample-name.version-conflict')
    const [{ name, note }] = (await call('GET', `${page.path}?keyword=nor`)).data.items
    assert.deepEqual([name, note], ['North', 'first'])
    assert.equal((await call('DELETE', `${page.path}/${id}`)).code, '200')
    assert.equal((await call('GET', `${page.path}/${id}`)).data.reason, 'sample-name.not-found')
  } finally {
    await running.stop('test ended')
  }
})
