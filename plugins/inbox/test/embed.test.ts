/** Tests the tokens of embedded inboxes, and the sites that may use them. */
import { database } from '@plinth/database'
import {
  applyLiveValues,
  assertKeyEffect,
  assertMembers,
  manualClock,
  rejectsWith,
  throwsWith,
} from '@plinth/dev/testing'
import { onDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import { identity } from '@plinth/iam'
import { categories, categoryOf, inboxEmbedding } from '@plinth/inbox'
import t, { type Test } from 'tap'
import { startInbox } from './fixtures/inbox-product.ts'

const shop = 'https://shop.example'
const password = 'correct horse battery staple'

async function start(t: Test, at: TestDatabase) {
  const clock = manualClock(Date.now())
  const product = await startInbox(t, at, { clock, config: { 'platform.notification.inbox.embed.origins': [shop] } })
  const { server } = product
  const codeOf = async (
    token: string,
    method: string,
    url: string,
    headers: Record<string, string> = {},
    payload?: object,
  ) => {
    const request = {
      method: method as 'GET',
      url: `/api/v1/${url}`,
      headers: { authorization: `Bearer ${token}`, ...headers },
    }
    const { code, data } = (await server.inject({ ...request, ...(payload === undefined ? {} : { payload }) })).json()
    return data?.reason === undefined ? String(code) : `${code} ${data.reason}`
  }
  const tokenOf = async ({ call }: Pick<Awaited<ReturnType<typeof product.loginAs>>, 'call'>): Promise<string> =>
    (await call('POST', 'notifications/inbox-tokens')).data.token
  return { ...product, codeOf, tokenOf }
}

onDatabase(t, 'a token is only valid for the own inbox and preferences', async (t, at) => {
  const { user, add, codeOf, tokenOf, clock, running } = await start(t, at)
  const [ada, bob] = [await user('ada'), await user('bob')]
  await add({ messageId: 'm1', userIds: [ada.id] })
  await add({ messageId: 'm2', userIds: [bob.id] })
  const [adas, bobs] = await Promise.all([ada, bob].map(async ({ inbox }) => (await inbox()).items[0].id))
  const token = await tokenOf(ada)
  const inbox = 'notifications/inbox'
  const seen = []
  for (const [method, url, payload] of [
    ['GET', inbox],
    ['GET', `${inbox}/unread-count`],
    ['PUT', `${inbox}/${adas}/read`],
    ['PUT', `${inbox}/${adas}/unread`],
    ['PUT', `${inbox}/read-all`, {}],
    ['GET', 'notifications/preferences'],
    ['PUT', 'notifications/preferences', { mallEnabled: false }],
    ['GET', 'notifications/preferences/cells'],
    ['PUT', 'notifications/preferences/cells/mail/forum', { enabled: false }],
    ['POST', 'notifications/preferences/link'],
    ['PUT', 'admin/notifications/preference-defaults/mail/forum', { enabled: false, locked: false }],
    ['PUT', `${inbox}/${bobs}/read`],
    ['DELETE', `${inbox}/${bobs}`],
    ['DELETE', `${inbox}/${adas}`],
    ['POST', 'notifications/inbox-tokens'],
    ['GET', 'iam/users/me'],
    ['GET', 'admin/iam/users'],
    ['POST', 'auth/logout'],
    ['GET', 'notification-read-receipts'],
  ] as const)
    seen.push(
      `${method} ${url.replace(inbox, 'inbox').replace(`${adas}`, 'own').replace(`${bobs}`, 'foreign')} ${await codeOf(token, method, url, {}, payload)}`,
    )
  const outside = '403 iam.token-out-of-audience'
  t.same(seen, [
    'GET inbox 200',
    'GET inbox/unread-count 200',
    'PUT inbox/own/read 200',
    'PUT inbox/own/unread 200',
    'PUT inbox/read-all 200',
    'GET notifications/preferences 200',
    'PUT notifications/preferences 200',
    'GET notifications/preferences/cells 200',
    'PUT notifications/preferences/cells/mail/forum 200',
    `POST notifications/preferences/link ${outside}`,
    `PUT admin/notifications/preference-defaults/mail/forum ${outside}`,
    'PUT inbox/foreign/read 404 notification-inbox.item-unknown',
    'DELETE inbox/foreign 404 notification-inbox.item-unknown',
    'DELETE inbox/own 200',
    `POST inbox-tokens ${outside}`,
    `GET iam/users/me ${outside}`,
    `GET admin/iam/users ${outside}`,
    `POST auth/logout ${outside}`,
    `GET notification-read-receipts ${outside}`,
  ])
  t.equal(await codeOf(token, 'GET', inbox, { cookie: 'plinth-session=x' }), '401 iam.api-token-with-cookie')
  t.same((await ada.call('GET', 'iam/users/me/api-tokens')).data, [], 'it is not a personal token')
  throwsWith(t, () => running.service(identity).authenticate(token), { code: '401', reason: 'iam.api-token-misplaced' })
  await clock.advance(14 * 60_000)
  t.equal(await codeOf(token, 'GET', inbox), '200')
  await clock.advance(61_000)
  t.equal(await codeOf(token, 'GET', inbox), '401 iam.api-token-expired')
})

onDatabase(t, 'a token ends with what allowed it', async (t, at) => {
  const { user, loginAs, admin, codeOf, tokenOf, running } = await start(t, at)
  const { id: own } = await user('eve')
  const issued = async (userId: number) => (await running.service(inboxEmbedding).issueToken(userId)).token
  const change = { currentPassword: password, newPassword: 'another horse battery staple' }
  const ends: Record<string, (ada: Awaited<ReturnType<typeof user>>) => Promise<unknown>> = {
    'sign-out': ({ call }) => call('POST', 'auth/logout'),
    'a new password': ({ call }) => call('PUT', 'iam/users/me/password', change),
    'a disabled account': ({ id }) => admin.call('PUT', `admin/iam/users/${id}`, { enabled: false }),
    'a deleted account': ({ id }) => admin.call('DELETE', `admin/iam/users/${id}`),
  }
  const seen: Record<string, unknown> = {}
  let number = 0
  for (const [name, end] of Object.entries(ends)) {
    const ada = await user(`ada${++number}`)
    const second = await loginAs(`ada${number}`)
    const tokens = [await tokenOf(ada), await tokenOf(second), await issued(ada.id)]
    const codes = () =>
      Promise.all(tokens.map(async (token) => (await codeOf(token, 'GET', 'notifications/inbox')).slice(0, 3)))
    t.same(await codes(), ['200', '200', '200'])
    t.hasStrict(await end(ada), { code: '200' }, name)
    seen[name] = (await codes()).join(' ')
  }
  t.same(seen, {
    'sign-out': '401 200 200',
    'a new password': '401 401 401',
    'a disabled account': '401 401 401',
    'a deleted account': '401 401 401',
  })
  await rejectsWith(t, issued(999), { code: '404', reason: 'iam.user-unknown' })
  for (let i = 0; i < 55; i++) await issued(own)
  const [stored] = await running
    .service(database)
    .query<{ total: unknown }>(
      'select count(*) as total from iam_api_token where user_id = ? and audience is not null',
      [own],
    )
  t.equal(Number(stored?.total), 50, 'the oldest are replaced')
})

onDatabase(t, 'only pages of allowed sites can call the operations of the inbox', async (t, at) => {
  const { server, user, tokenOf, running } = await start(t, at)
  const token = await tokenOf(await user('ada'))
  const headersOf = async (method: 'GET' | 'OPTIONS', path: string, origin: string, bearer = token) => {
    const preflight = { 'access-control-request-method': 'PUT', 'access-control-request-headers': 'authorization' }
    const headers = { origin, authorization: `Bearer ${bearer}`, ...(method === 'OPTIONS' ? preflight : {}) }
    const response = await server.inject({ method, url: `/api/v1/${path}`, headers })
    const cors = Object.entries(response.headers).filter(([name]) => name.startsWith('access-control-'))
    return [response.statusCode, Object.fromEntries(cors.map(([name, value]) => [name.slice(15), value]))]
  }
  const allowed = { 'allow-origin': shop }
  const preflight = {
    ...allowed,
    'allow-methods': 'GET, PUT, DELETE',
    'allow-headers': 'authorization, content-type',
    'max-age': '600',
  }
  const seen = await Promise.all([
    headersOf('OPTIONS', 'notifications/inbox/12/read', shop),
    headersOf('OPTIONS', 'notifications/preferences?x=1', shop),
    headersOf('GET', 'notifications/inbox?size=1', shop),
    headersOf('GET', 'notifications/inbox', shop, 'wrong'),
    headersOf('GET', 'notifications/inbox', 'https://shop.example.evil.example'),
    headersOf('GET', 'notifications/inbox', 'http://shop.example'),
    headersOf('GET', 'notifications/inbox', 'null'),
    headersOf('GET', 'iam/users/me', shop),
    headersOf('OPTIONS', 'notifications/inbox-tokens', shop),
    headersOf('OPTIONS', 'notifications/inbox/1/read/more', shop),
  ])
  const none = [200, {}]
  t.same(seen.slice(0, 8), [[204, preflight], [204, preflight], [200, allowed], [200, allowed], none, none, none, none])
  for (const [, headers] of seen.slice(8) as [unknown, object][]) t.same(headers, {})
  const other = 'https://other.example'
  const [origins] = await assertKeyEffect(t, 'platform.notification.inbox.embed.origins', {
    changed: [other],
    async observe(values) {
      await applyLiveValues(running, values)
      return headersOf('GET', 'notifications/inbox', other)
    },
  })
  assertMembers(t, origins, { before: none, after: [200, { 'allow-origin': other }] })
})

onDatabase(t, 'a list of a category contains exactly the messages of its modules', async (t, at) => {
  const { user, add } = await start(t, at)
  const ada = await user('ada')
  const modules = [...categories, 'approval', 'to-do', 'CMS', 'social', 'commerce', 'Security', 'unknown-module']
  for (const module of modules) await add({ messageId: module, userIds: [ada.id], attributes: { module } })
  const listed = async (category: string) =>
    (await ada.inbox(`category=${category}&size=100`)).items
      .map(({ messageId }: { messageId: string }) => messageId)
      .sort()
  const codeOf = (module: string) => (module === 'Security' ? 'security' : categoryOf(module))
  const expected = (category: string) => modules.filter((module) => codeOf(module) === category).sort()
  for (const category of [...categories, 'security', 'legal'])
    t.same(await listed(category), expected(category), category)
  t.same(await listed('other'), [])
})
