/**
 * Tests optional members of requests. If a caller omits an optional member, as an older caller does, the documented
 * default is stored and returned.
 */
import { join } from 'node:path'
import { assertMembers } from '@plinth/dev/testing'
import { createDatabase, startMigrated } from '@plinth/dev/testing/database'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { defineProduct, systemClock } from '@plinth/kernel'
import t from 'tap'
import quickstart from '../examples/quickstart/plinth.config.ts'

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const password = 'Correct-horse-7'

// biome-ignore lint/suspicious/noExplicitAny: answers of many routes
type Data = any
type Members = Readonly<Record<string, unknown>>

const db = await createDatabase('sqlite')
t.teardown(() => db.drop())
const product = defineProduct({
  name: 'quickstart',
  plugins: quickstart.plugins,
  config: {
    ...quickstart.config,
    ...db.config,
    'platform.http.port': 0,
    'platform.storage.root': join(db.directory, 'storage'),
    'platform.system-config.master-key-file': join(db.directory, 'master.key'),
    'platform.install.installed': true,
    'platform.rate-limit.enabled': false,
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
  },
})
const running = await startMigrated(product, { clock: systemClock })
t.teardown(() => running.stop('test ended'))
const server = running.service(http)
const people = running.service(accounts)
await people.createAdministrator({ username: 'root', password }, origin)
const ann = await people.create({ username: 'ann', password }, origin)

async function logIn(username: string) {
  const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: { username, password } })
  const authorization = `Bearer ${login.json().data.accessToken}`
  return async (method: 'GET' | 'POST' | 'PUT', path: string, payload?: Members, more: Record<string, string> = {}) => {
    const headers = { authorization, 'accept-language': 'en', ...more }
    const body = payload === undefined ? {} : { payload }
    const answer = (await server.inject({ method, url: `/api/v1/${path}`, headers, ...body })).json()
    t.equal(answer.code, '200', `${method} ${path}: ${answer.message} ${JSON.stringify(answer.data)}`)
    return answer.data as Data
  }
}
const root = await logIn('root')

interface Write {
  readonly path: string
  /** Returns the required members for an object with this name. */
  readonly needs: (name: string) => Members
  /** Optional members with their defaults. */
  readonly defaults: Members
  /** Members of the response that are different for each object. */
  readonly own: readonly string[]
}

const writes: readonly Write[] = [
  {
    path: 'notification-rules',
    needs: (name) => ({ code: `test.${name}` }),
    defaults: {
      digest: null,
      enabled: true,
      thresholdCount: 1,
      thresholdWindow: null,
      dedupeWindow: null,
      silenceWindow: null,
      channels: ['database'],
      recipientUserIds: [],
      escalation: { enabled: false, after: null, dedupeWindow: null, channels: [], recipientUserIds: [] },
    },
    own: ['code'],
  },
  {
    path: 'admin/templates',
    needs: (name) => ({ code: name, locale: 'en', subject: 'Hello', content: 'Good morning' }),
    defaults: { channel: 'all', html: null, htmlFormat: null, enabled: true, testValues: null },
    own: ['code'],
  },
  {
    path: 'admin/iam/roles',
    needs: (name) => ({ code: name, name: 'Sales', permissions: ['iam:user:view'] }),
    defaults: { description: null, dataScope: 'self' },
    own: ['code'],
  },
  {
    path: 'admin/iam/users',
    needs: (name) => ({ username: name, password }),
    defaults: { email: null, mobile: null, enabled: true, orgId: null, roleIds: [] },
    own: ['username'],
  },
  {
    path: 'admin/open-platform/apps',
    needs: () => ({ name: 'Warehouse' }),
    defaults: { description: null, scopes: [], rateLimitPerMinute: null, ownerUserId: null },
    own: ['appKey', 'secret'],
  },
]

const without = (members: Members, names: readonly string[]): Members =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)))

t.test('C-032 an omitted optional member has the response and the stored value of its default', async (t) => {
  const { paths } = (await server.openapi()) as { paths: Record<string, Record<string, Data>> }
  for (const { path, needs, defaults, own } of writes) {
    const body = paths[`/api/v1/${path}`]?.['post'].requestBody.content['application/json'].schema
    const optional = Object.keys(body.properties).filter((name) => !body.required.includes(name))
    t.same(Object.keys(defaults).sort(), optional.sort(), `${path}: every optional member has its default here`)
    for (const [name, value] of Object.entries(defaults)) {
      const documented = body.properties[name].default
      if (documented !== undefined) t.same(value, documented, `${path}: the documented default of ${name}`)
    }
    const create = async (name: string, more: Members) => {
      const answer = await root('POST', path, { ...needs(name), ...more })
      const differing = [...own, 'id', 'createdAt', 'updatedAt']
      const stored = await root('GET', `${path}/${answer.id}`)
      return { answer: without(answer, differing), stored: without(stored, differing) }
    }
    const spelledOut = await create('spelled-out', defaults)
    t.match(spelledOut.answer, without(defaults, ['roleIds']), `${path}: the defaults are in force`)
    t.same(await create('left-out', {}), spelledOut, `${path}: all left out`)
    for (const [index, name] of Object.keys(defaults).entries()) {
      t.same(await create(`one-less-${index}`, without(defaults, [name])), spelledOut, `${path}: without ${name}`)
    }
  }
})

t.test('C-032 a rule that is changed without its escalation keeps it', async (t) => {
  const escalation = { enabled: true, after: 60, dedupeWindow: 120, channels: ['mail'], recipientUserIds: [ann.id] }
  const { id } = await root('POST', 'notification-rules', { code: 'test.escalated', escalation })
  const changed = await root('PUT', `notification-rules/${id}`, { thresholdCount: 2 })
  t.match(changed, { thresholdCount: 2, escalation })
  const again = await root('PUT', `notification-rules/${id}`, { thresholdCount: 2, escalation })
  t.same(without(again, ['version', 'updatedAt']), without(changed, ['version', 'updatedAt']))
})

t.test('C-032 an action without a reason works like one with a reason, which only the records contain', async (t) => {
  const why = 'Ann asked for it'
  for (const { path, needs, own } of writes.filter(({ path }) => path.startsWith('admin/iam/'))) {
    const create = async (name: string, headers: Record<string, string>) => {
      const answer = await root('POST', path, needs(name), headers)
      const { items } = await root('GET', `admin/iam/audits?targetId=${answer.id}`)
      t.equal(items.length, 1, `${path}: one record`)
      const { action, actor, targetType, reason } = items[0]
      const created = without(answer, [...own, 'id', 'createdAt', 'updatedAt'])
      return { reason, done: { created, action, actor, targetType } }
    }
    const silent = await create('silent', {})
    const reasoned = await create('reasoned', { 'x-reason': encodeURIComponent(why) })
    t.equal(silent.reason, null, path)
    t.equal(reasoned.reason, why, path)
    t.same(silent.done, reasoned.done, path)
  }

  const key = 'platform.site.title'
  const save = async (more: Members) => {
    const changes = [{ key, action: 'set', value: 'Tea House' }]
    const saved = await root('POST', 'admin/system-config/changes', { changes, ...more })
    const { value } = await root('GET', `admin/system-config/keys/${key}`)
    await root('POST', 'admin/system-config/changes', { changes: [{ key, action: 'reset' }] })
    return { ...without(saved, ['version']), value }
  }
  const reasoned = await save({ reason: why, verify: true })
  assertMembers(t, reasoned, { value: 'Tea House', errors: [] })
  t.same(await save({}), reasoned)
  const { items } = await root('GET', `admin/system-config/history?key=${key}`)
  t.same(
    items.map(({ reason }: Data) => reason),
    [undefined, undefined, undefined, why],
    'the newest first',
  )
})

t.test('C-032 a message without a language has that of the site', async (t) => {
  for (const [locale, subject] of [
    ['en', 'Good morning'],
    ['zh-CN', '早上好'],
  ] as const)
    await root('POST', 'admin/templates', { code: 'greeting', channel: 'all', locale, subject, content: subject })
  const preview = (more: Members) =>
    root('POST', 'notifications/template-preview', { channel: 'database', template: 'greeting', ...more })
  const inEnglish = await preview({ locale: 'en' })
  t.match(inEnglish, { subject: 'Good morning' })
  t.match(await preview({ locale: 'zh-CN' }), { subject: '早上好' }, 'it depends on the language')
  t.same(await preview({}), inEnglish)

  const message = { channels: ['database'], recipientUserIds: [ann.id], template: 'greeting' }
  const defaults = { locale: 'en', priority: 'normal', variables: {}, attributes: {} }
  const responses: Members[][] = []
  for (const more of [{}, defaults]) {
    const results: Members[] = await root('POST', 'notifications/send', { ...message, ...more })
    responses.push(results.map((result) => without(result, ['messageId'])))
  }
  const [silent, spelledOut] = responses
  assertMembers(t, spelledOut, [{ channel: 'database', success: true }])
  t.same(silent, spelledOut)
  await running.service(events).idle()
  const { items } = await (await logIn('ann'))('GET', 'notifications/inbox')
  const shown = items.map((item: Members) => without(item, ['id', 'messageId', 'createdAt']))
  t.equal(shown.length, 2)
  t.match(shown[0], { subject: 'Good morning', content: 'Good morning' })
  t.same(shown[0], shown[1])
})
