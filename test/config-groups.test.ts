/** Tests the permission to change the configuration keys of a single group. */
import { startForTest } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import type { Product } from '@plinth/kernel'
import t from 'tap'
import product from '../examples/quickstart/plinth.config.ts'
import { dataDirectory } from './fixtures/product-process.ts'

const password = 'Correct-horse-7'
const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: '' }
const centre = '/api/v1/admin/system-config'

t.test('an operator with the permission of a group changes only the keys of the group', async (t) => {
  const root = await dataDirectory(t.teardown)
  const config = {
    ...product.config,
    'platform.http.port': 0,
    'platform.install.installed': true,
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
    'platform.rate-limit.enabled': false,
  }
  const running = await startForTest({ ...product, root, config } as Product, { roles: ['web'] })
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)
  const callerOf = (token?: string) => async (method: string, url: string, payload?: object) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const response = await server.inject({ method: method as 'GET', url, headers, ...(payload ? { payload } : {}) })
    return response.json()
  }
  const logIn = async (username: string) =>
    callerOf((await callerOf()('POST', '/api/v1/auth/login', { username, password })).data.accessToken)
  await running.service(accounts).createSuperAdministrator({ username: 'root', password }, origin)
  const asRoot = await logIn('root')
  const operator = async (code: string, permissions: readonly string[]) => {
    const role = { code, name: code, dataScope: 'all', permissions }
    const { id } = (await asRoot('POST', '/api/v1/admin/iam/roles', role)).data
    await asRoot('POST', '/api/v1/admin/iam/users', { username: code, password, roleIds: [id] })
    return logIn(code)
  }
  const view = 'system-config:view'
  const one = await operator('site-editor', [view, 'system-config:save:site'])
  const guarding = await operator('mail-editor', [view, 'system-config:save:mail', 'iam:guards:save'])
  const all = await operator('editor', [view, 'system-config:save'])
  const none = await operator('reader', [view])
  const set = (key: string, value: unknown) => ({ key, action: 'set', value })
  const site = set('platform.site.title', 'Shop')
  const mail = set('platform.mail.from', 'a@shop.example')
  const url = set('platform.site.url', 'https://shop.example')
  const host = set('platform.mail.smtp.host', 'mail.example')
  type Call = typeof one
  const resultOf = ({ code, data }: { code: string; data: { reason?: string; permissions?: string[] } }) =>
    [code, data?.reason, data?.permissions?.join()].filter(Boolean).join(' ')
  const save = async (call: Call, ...changes: object[]) =>
    resultOf(await call('POST', `${centre}/changes`, { changes, verify: false }))
  const document = (values: object) => ({ document: { format: 'plinth-config/1', values }, mode: 'merge' })
  const denied = (permission: string) => `403 system-config.key-protected ${permission}`

  t.strictSame(
    {
      'a key of the group': await save(one, site),
      'a key of another group': await save(one, mail),
      'both in one request': await save(one, set('platform.site.title', 'Other'), mail),
      'a guard of the group': await save(one, url),
      'a guard of the group, with its permission': await save(guarding, host),
      'a guard of another group, with its permission': await save(guarding, url),
      'an import': resultOf(
        await one('POST', `${centre}/import`, document({ 'platform.mail.from': 'b@shop.example' })),
      ),
      'a rollback of everything': resultOf(await one('POST', `${centre}/rollback`, { toVersion: 0 })),
      'a rollback of a key of the group': resultOf(
        await one('POST', `${centre}/rollback`, { toVersion: 0, keys: ['platform.site.title'] }),
      ),
      'a guess of a secret of another group': resultOf(
        await one('POST', `${centre}/verifications`, { key: 'platform.mail.smtp.password', value: 'x' }),
      ),
      'all keys': await save(all, site, mail),
      'no permission': await save(none, site),
    },
    {
      'a key of the group': '200',
      'a key of another group': denied('system-config:save:mail'),
      'both in one request': denied('system-config:save:mail'),
      'a guard of the group': denied('iam:guards:save'),
      'a guard of the group, with its permission': '200',
      'a guard of another group, with its permission': denied('system-config:save:site'),
      'an import': denied('system-config:save:mail'),
      'a rollback of everything': denied('system-config:save:mail'),
      'a rollback of a key of the group': '200',
      'a guess of a secret of another group': denied('system-config:save:mail'),
      'all keys': '200',
      'no permission': '403 iam.permission-denied',
    },
  )
  const lockOf = async (call: Call, key: string) => {
    const { editable, locked, permission } = (await call('GET', `${centre}/keys/${key}`)).data
    return [editable, locked, permission]
  }
  t.strictSame(
    [await lockOf(one, 'platform.site.title'), await lockOf(one, 'platform.mail.from')],
    [
      [true, undefined, undefined],
      [false, 'permission', 'system-config:save:mail'],
    ],
  )
  const listed = (await asRoot('GET', '/api/v1/admin/iam/permissions')).data
  const own = listed.find(({ code }: { code: string }) => code === 'system-config:save:mail')
  t.match(own, { plugin: /^system-config\.admin$/, name: /^Change the configuration: /, loaded: true })
})
