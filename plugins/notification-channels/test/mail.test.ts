import { type AddressInfo, createServer, type Socket } from 'node:net'
import databasePlugin, { database } from '@plinth/database'
import { notificationChannelCases } from '@plinth/dev/conformance'
import { applyLiveValues, assertKeyEffect, assertMembers, startForTest, until } from '@plinth/dev/testing'
import { createDatabase, startMigrated, type TestDatabase } from '@plinth/dev/testing/database'
import eventsPlugin, { event, events } from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18n from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import inboxPlugin, { notificationPreferences } from '@plinth/inbox'
import { definePlugin, defineProduct, type JsonValue, notificationChannel, type Plugin } from '@plinth/kernel'
import mailPlugin from '@plinth/mail'
import notificationPlugin, { notification } from '@plinth/notification'
import mailChannel from '@plinth/notification-channels/mail'
import rateLimit from '@plinth/rate-limit'
import memoryStore from '@plinth/rate-limit-stores/memory'
import sharedStore from '@plinth/shared-store'
import sitePlugin from '@plinth/site'
import storagePlugin from '@plinth/storage'
import systemConfig from '@plinth/system-config'
import templatePlugin from '@plinth/template'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { decodedHeader, partsOf, startMailServer } from '../../mail/test/fixtures/mail-server.ts'

const secret = 'planted-password-4711'
const owner = definePlugin({ id: 'owner', version: '1.0.0', kernel: '^1.0.0', extensionPoints: [notificationChannel] })
const credentials = { 'platform.mail.smtp.username': 'shop', 'platform.mail.smtp.password': secret }

t.test('N-008 the channel obeys its contract', async (t) => {
  const create = async () => {
    let state: 'working' | 'failing' | 'hanging' = 'working'
    const server = await startMailServer(t, {
      // Only the verification of the channel, which sends no message, uses this handler.
      onConnect: (_session, done) =>
        state === 'failing' ? done(Object.assign(new Error('Down'), { responseCode: 421 })) : done(),
    })
    const config = { ...server.config, ...credentials }
    const product = await startForTest(
      defineProduct({ name: 'mails', plugins: [owner, mailPlugin, mailChannel], config }),
    )
    const channel = product.contributions(notificationChannel).get('mail')
    if (channel === undefined) throw new Error('no channel')
    const delivered = () =>
      server.received.map((mail) => ({
        subject: decodedHeader(mail.headers['subject']),
        content: partsOf(mail)['text/plain'] ?? '',
        recipients: mail.to.map((address) => ({ kind: 'email' as const, address })),
      }))
    const become = (next: typeof state) => {
      state = next
      server.behave({
        hangs: next === 'hanging',
        ...(next === 'failing' ? { onSender: { code: 451, text: 'Down' } } : {}),
      })
      server.hangReset(next === 'hanging')
    }
    return { channel, delivered, become, stop: () => product.stop('test ended') }
  }
  const cases = notificationChannelCases(create, {
    secrets: [secret],
    recipients: [
      { kind: 'email', address: 'ada@example.com' },
      { kind: 'email', address: 'bob@example.com' },
    ],
    recipientsAs: 'each',
    lineEnds: 'crlf',
    nextHop: {
      fail: ({ become }) => become('failing'),
      hang: ({ become }) => become('hanging'),
      recover: ({ become }) => become('working'),
    },
  })
  for (const { name, run } of cases) t.test(name, run)
})

const root = { username: 'root', password: 'correct horse battery staple' }

async function start(
  t: Test,
  set: Readonly<Record<string, JsonValue>> = {},
  { at, others = [] }: { readonly at?: TestDatabase; readonly others?: readonly Plugin[] } = {},
) {
  at ??= await createDatabase('sqlite')
  const { drop } = at
  if (others.length === 0) t.teardown(() => drop())
  const server = await startMailServer(t)
  const config = {
    ...at.config,
    ...server.config,
    ...credentials,
    'platform.http.port': 0,
    'platform.storage.root': at.directory,
    'platform.mail.file.directory': `${at.directory}/mail`,
    'platform.notification.default-channel': 'mail',
    // On a busy host, the first compilation of an MJML template takes longer than the usual limit.
    'platform.template.compile-deadline': '1m',
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
    ...set,
  }
  const plugins = [databasePlugin, httpPlugin, sitePlugin, i18n, iamPlugin, eventsPlugin, storagePlugin, inboxPlugin]
  const more = [mailPlugin, templatePlugin, notificationPlugin, mailChannel]
  const running = await startForTest(
    defineProduct({ name: 'mails', plugins: [...plugins, ...more, ...others], config }),
  )
  t.teardown(() => running.stop('test ended'))
  const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
  await running.service(accounts).createAdministrator(root, origin)
  const ada = await running.service(accounts).create({ username: 'ada', email: 'ada@example.com' }, origin)
  const nobody = await running.service(accounts).create({ username: 'nobody' }, origin)
  return { running, server, facade: running.service(notification), web: running.service(http), ada, nobody }
}

t.test('N-008 the channel delegates to the mail facility, for addresses and for users', async (t) => {
  const { server, facade, ada, nobody } = await start(t)
  assertMembers(
    t,
    facade.channels().find(({ code }) => code === 'mail'),
    { enabled: true, recipientKinds: ['email', 'user'] },
  )
  const message = { subject: 'Hello', content: 'Dear reader', html: '<p>Dear reader</p>', locale: 'zh-CN' }
  const [result] = await facade.send({
    ...message,
    recipients: [
      { kind: 'email', address: 'eve@example.com' },
      { kind: 'user', userId: ada.id },
    ],
  })
  t.hasStrict(result, { success: true, outcome: 'accepted', provider: 'smtp' })
  t.same(
    server.received.map(({ to }) => to).toSorted(),
    [['ada@example.com'], ['eve@example.com']],
    'nobody sees the others',
  )
  const [mail = { raw: '', headers: {} }] = server.received
  t.same(partsOf(mail), { 'text/plain': message.content, 'text/html': message.html })
  t.match(mail.headers, { 'content-language': 'zh-CN', from: 'Shop <noreply@shop.example>' })
  t.notHas(mail.headers, { 'list-unsubscribe': String })
  for (const [recipient, errorCode] of [
    [{ kind: 'user' as const, userId: nobody.id }, 'mail.address-missing'],
    [{ kind: 'email' as const, address: 'a@b.c\nBcc: x@y.z' }, 'mail.address-invalid'],
  ] as const) {
    assertMembers(t, await facade.send({ ...message, recipients: [recipient] }), [
      { success: false, outcome: 'rejected', errorCode },
    ])
  }
  assertMembers(t, await facade.send({ subject: 'only', recipients: [{ kind: 'email', address: 'a@b.c' }] }), [
    { errorCode: 'mail.empty' },
  ])
  t.equal(server.received.length, 2)
  const recipients = [{ kind: 'email' as const, address: 'eve@example.com' }]
  await facade.send({ ...message, subject: 'Order\t7\r\nBcc: x@y.z', recipients })
  const { headers = {}, to } = server.received.at(-1) ?? {}
  t.same([headers['subject'], headers['bcc'], to], ['Order 7 Bcc: x@y.z', undefined, ['eve@example.com']])
})

t.test('N-008 N-021 an MJML template arrives as HTML, with a plain text alternative', async (t) => {
  const { server, facade, web } = await start(t)
  const login = await web.inject({ method: 'POST', url: '/api/v1/auth/login', payload: root })
  const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
  const text = '<mj-text>Dear {{name}}, order {{no}} is paid.</mj-text>'
  const template = {
    code: 'order.paid',
    channel: 'mail',
    locale: 'en',
    subject: 'Order {{no}} of {{name}}',
    content: 'Dear {{name}}, order {{no}} is paid.',
    html: `<mjml><mj-body><mj-section><mj-column>${text}</mj-column></mj-section></mj-body></mjml>`,
    htmlFormat: 'mjml',
  }
  const saved = await web.inject({ method: 'POST', url: '/api/v1/admin/templates', headers, payload: template })
  t.hasStrict(saved.json(), { code: '200' })
  const recipients = [{ kind: 'email' as const, address: 'ada@example.com' }]
  const variables = { name: 'Ada <b>', no: 42 }
  assertMembers(t, await facade.send({ template: 'order.paid', variables, recipients, locale: 'en' }), [
    { success: true },
  ])
  const [mail] = server.received
  t.equal(decodedHeader(mail?.headers['subject']), 'Order 42 of Ada <b>')
  const parts = partsOf(mail ?? { raw: '' })
  t.equal(parts['text/plain'], 'Dear Ada <b>, order 42 is paid.')
  t.match(parts['text/html'], /<!doctype html>/i)
  t.match(parts['text/html'], 'Dear Ada &lt;b&gt;, order 42 is paid.')
  t.notMatch(parts['text/html'], /<mj-|\{\{/, 'nothing of the source is left')
})

t.test('an error of the server is shown without secret variables', async (t) => {
  const { server, facade } = await start(t)
  server.behave({ onMail: { code: 550, text: `5.7.1 "Your code 471108" is spam, ${secret}` } })
  const recipients = [{ kind: 'email' as const, address: 'ada@example.com' }]
  const code = { variables: { code: '471108' }, secretVariables: ['code'] }
  const results = await facade.send({ content: 'Your code 471108', recipients, ...code })
  assertMembers(t, results, [
    { outcome: /^rejected$/, errorCode: 'mail.refused', providerCode: '550', providerMessage: /5\.7\.1/ },
  ])
  t.notMatch(JSON.stringify(results), '471108')
  t.notMatch(JSON.stringify(results), secret)
})

t.test('without a driver the channel is disabled', async (t) => {
  const { facade } = await start(t, { 'platform.mail.driver': '' })
  assertMembers(t, facade.channels(), [{ code: 'mail', enabled: false }])
  const recipients = [{ kind: 'email' as const, address: 'ada@example.com' }]
  assertMembers(t, await facade.send({ content: 'x', recipients }), [
    { skipped: true, errorCode: 'notification.channel-disabled' },
  ])
  const off = await start(t, { 'platform.notification.channels.mail.enabled': false })
  assertMembers(t, off.facade.channels(), [{ code: 'mail', enabled: false }])
})

t.test('mails to users have an unsubscribe link of their category that works by POST and not by GET', async (t) => {
  const { server, facade, ada, web, running } = await start(t, {
    'platform.notification.channels.mail.unsubscribe-key': `${'k'.repeat(32)},${'o'.repeat(32)}`,
    'platform.site.url': 'https://shop.example',
  })
  const send = (module: string, recipient: object = { kind: 'user', userId: ada.id }) =>
    facade.send({ content: 'Buy', attributes: { module }, recipients: [recipient as never] })
  await send('marketing')
  await send('mall')
  await send('marketing', { kind: 'email', address: 'eve@example.com' })
  const [marketing, mall, stranger] = server.received.map(({ headers }) => headers)
  t.match(marketing, { 'list-unsubscribe-post': 'List-Unsubscribe=One-Click' })
  t.match(mall?.['list-unsubscribe'], /token=\d+\.mall\.[\w-]{43}>$/)
  t.notHas(stranger, { 'list-unsubscribe': String }, 'an address without an account has no preferences')
  const [, url = ''] = /^<https:\/\/shop\.example(\/api\/v1\/.*)>$/.exec(marketing?.['list-unsubscribe'] ?? '') ?? []
  const wanted = () =>
    running.service(notificationPreferences).wanted([ada.id], { channel: 'mail', category: 'marketing' })
  t.match(await web.inject(url), { statusCode: 200, body: /<form method="post">/ })
  t.equal((await wanted()).size, 1, 'a look ends nothing')
  for (const bad of [
    `${url}x`,
    url.replace(/token=\d/, 'token=9'),
    url.replace(/\?.*/, ''),
    url.replace(/\..*$/, '.'),
  ]) {
    t.match(await web.inject({ method: 'POST', url: bad }), { statusCode: 404 }, bad.slice(-60))
  }
  t.equal((await wanted()).size, 1)
  // Bodies of the request. RFC 8058, 3.1 allows both media types.
  const part = 'Content-Disposition: form-data; name="List-Unsubscribe"'
  const forms = {
    'multipart/form-data; boundary=end': `--end\r\n${part}\r\n\r\nOne-Click\r\n--end--\r\n`,
    'application/x-www-form-urlencoded': 'List-Unsubscribe=One-Click',
  }
  for (const [form, payload] of Object.entries(forms)) {
    const response = await web.inject({ method: 'POST', url, headers: { 'content-type': form }, payload })
    t.equal(response.statusCode, 200, form)
  }
  t.equal((await wanted()).size, 0)
  assertMembers(t, await send('marketing'), [{ skipped: true }], 'and none are sent any more')
  assertMembers(t, await send('mall'), [{ success: true }])
  await send('security')
  t.notHas(server.received.at(-1)?.headers, { 'list-unsubscribe': String }, 'a required message has no link')

  const [, mallUrl = ''] = /^<https:\/\/shop\.example(\/.*)>$/.exec(mall?.['list-unsubscribe'] ?? '') ?? []
  const preferences = running.service(notificationPreferences)
  const wants = async (channel: string, category: string) =>
    (await preferences.wanted([ada.id], { channel, category })).size === 1
  t.match(await web.inject({ method: 'POST', url: mallUrl }), { statusCode: 200 })
  t.same([await wants('mail', 'mall'), await wants('sms', 'mall'), await wants('mail', 'forum')], [false, true, true])
  // Links of earlier releases contain no category.
  await preferences.switchOff(ada.id, 'todo')
  t.match(await web.inject({ method: 'POST', url: url.replace('.marketing.', '.') }), { statusCode: 200 })
  t.match(await web.inject({ method: 'POST', url: url.replace('.marketing.', '.todo.') }), { statusCode: 404 })
})

t.test('unsubscribe links are signed with the keys', async (t) => {
  const site = { 'platform.site.url': 'https://shop.example' }
  const linkOf = async ({ facade, server, ada }: Awaited<ReturnType<typeof start>>) => {
    const recipients = [{ kind: 'user' as const, userId: ada.id }]
    await facade.send({ content: 'Buy', attributes: { module: 'marketing' }, recipients })
    return /<https:\/\/shop\.example(\/.*)>/.exec(server.received[0]?.headers['list-unsubscribe'] ?? '')?.[1]
  }
  const [links] = await assertKeyEffect(t, 'platform.notification.channels.mail.unsubscribe-key', {
    changed: 'k'.repeat(32),
    observe: async (values) => (await linkOf(await start(t, { ...site, ...values }))) !== undefined,
  })
  t.match(links, { before: false, after: true })

  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const [own = '', other = ''] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'))
  const config = {
    ...site,
    'platform.system-config.master-key-file': `${at.directory}/master.key`,
    'platform.notification.channels.mail.unsubscribe-secret': own,
  }
  const product = await start(t, config, { at, others: [sharedStore, systemConfig] })
  const url = (await linkOf(product)) ?? ''
  const [statuses] = await assertKeyEffect(t, 'platform.notification.channels.mail.unsubscribe-secret', {
    changed: other,
    async observe(values) {
      await applyLiveValues(product.running, values)
      return (await product.web.inject(url)).statusCode
    },
  })
  t.match(statuses, { before: 200, after: 404 })
})

t.test('the unsubscribe link accepts 120 requests per minute and address, for each method', async (t) => {
  const { web } = await start(
    t,
    { 'platform.rate-limit.default-store': 'memory' },
    { others: [rateLimit, memoryStore], at: await createDatabase('sqlite') },
  )
  const url = '/api/v1/notifications/unsubscribe?token=1.wrong'
  for (const method of ['GET', 'POST'] as const) {
    const ask = async (clientIp: string) => (await web.inject({ method, url, remoteAddress: clientIp })).statusCode
    const statuses = new Set<number>()
    for (let time = 0; time < 120; time++) statuses.add(await ask('198.51.100.7'))
    t.same([...statuses], [404], `${method}: a token that nobody signed`)
    t.equal(await ask('198.51.100.7'), 429, `${method}: one more is refused`)
    t.equal(await ask('198.51.100.8'), 404, `${method}: others are not held up`)
  }
})

t.test(
  'N-008 a mail goes through the next driver if the server cannot be reached, but not if it rejects the address',
  async (t) => {
    const key = 'platform.notification.channels.mail'
    const recipients = [{ kind: 'email' as const, address: 'ada@example.com' }]
    const order = { [`${key}.strategy`]: 'failover', [`${key}.drivers-order`]: ['acme', 'smtp', 'file'] }
    const there = await start(t, { ...order, [`${key}.driver-rest`]: '0s', 'platform.mail.driver': '' })
    assertMembers(t, await there.facade.send({ content: 'x', recipients }), [{ success: true, provider: 'smtp' }])
    there.server.behave({ onMail: { code: 550, text: 'No such user' } })
    const rejected = [{ success: false, outcome: 'rejected', provider: 'smtp' }]
    t.match(await there.facade.send({ content: 'x', recipients }), rejected)
    // No server listens on this port, so the first driver cannot connect.
    const away = await start(t, { ...order, 'platform.mail.smtp.port': 1 })
    assertMembers(t, await away.facade.send({ content: 'x', recipients }), [{ success: true, provider: 'file' }])
    const turns = await start(t, { ...order, [`${key}.strategy`]: 'round-robin' })
    const providers: unknown[] = []
    for (let count = 0; count < 4; count++) {
      providers.push((await turns.facade.send({ content: 'x', recipients }))[0]?.provider)
    }
    t.same(providers, ['smtp', 'file', 'smtp', 'file'], 'each in its turn')
  },
)

t.test(
  'N-008 a product with a config centre creates the key of its unsubscribe links itself, once for all instances',
  async (t) => {
    const at = await createDatabase('sqlite')
    t.teardown(() => at.drop())
    const others = [sharedStore, systemConfig]
    const set = {
      'platform.site.url': 'https://shop.example',
      'platform.system-config.master-key-file': `${at.directory}/master.key`,
    }
    const first = await start(t, set, { at, others })
    const send = () =>
      first.facade.send({
        content: 'Buy',
        attributes: { module: 'marketing' },
        recipients: [{ kind: 'user', userId: first.ada.id }],
      })
    await send()
    await send()
    const links = first.server.received.map(({ headers }) => headers['list-unsubscribe'])
    t.match(links[0], /^<https:\/\/shop\.example\/.*>$/)
    t.equal(links[1], links[0], 'one key')
    const text = partsOf(first.server.received[0] ?? { raw: '' })['text/plain'] ?? ''
    const [, page = ''] = /^Buy\s+-- \s+Notification preferences: https:\/\/shop\.example(\S+)\s*$/.exec(text) ?? []
    t.match(await first.web.inject(page), { statusCode: 200, body: /<h1>Notification preferences<\/h1>/ })
    const [, url = ''] = /^<https:\/\/shop\.example(\/.*)>$/.exec(links[0] ?? '') ?? []
    const stored = await first.running.service(database).query('select config_value from sys_config')
    t.ok(stored.length > 0)
    t.notMatch(JSON.stringify(stored), /"[A-Za-z0-9+/]{43}="/, 'it is stored encrypted')
    t.match(await first.web.inject({ method: 'POST', url: url.replace(/.$/, (end) => (end === 'A' ? 'B' : 'A')) }), {
      statusCode: 404,
    })
    t.match(await first.web.inject({ method: 'POST', url }), { statusCode: 200 })
    assertMembers(t, await send(), [{ skipped: true }])
  },
)

t.test('N-031 K-013 a mail server that does not respond defers mails, and delays nothing else', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const sockets = new Set<Socket>()
  const silent = createServer((socket) => void sockets.add(socket.on('error', () => {})))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const orderPaid = event('test.order-paid', Type.Object({ order: Type.Integer() }))
  const granted = Promise.withResolvers<void>()
  const points = definePlugin({
    id: 'test',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { events },
    setup: ({ services }) =>
      services.events.on(orderPaid, 'test.points', () => granted.resolve(), { transaction: true }),
  })
  const plugins = [databasePlugin, eventsPlugin, httpPlugin, notificationPlugin, mailPlugin, mailChannel, points]
  const { port } = silent.address() as AddressInfo
  const config = {
    ...at.config,
    'platform.http.port': 0,
    'platform.notification.default-channel': 'mail',
    'platform.mail.driver': 'smtp',
    'platform.mail.from': 'shop@example.com',
    'platform.mail.smtp.host': '127.0.0.1',
    'platform.mail.smtp.port': port,
  }
  const running = await startMigrated(defineProduct({ name: 'silent', plugins, config }))
  t.teardown(() => running.stop('test ended'))
  const bus = running.service(events)
  const recipients = Array.from({ length: 400 }, (_, index) => ({
    kind: 'email' as const,
    address: `user${index}@example.com`,
  }))
  await running.service(notification).enqueue({ subject: 'News', content: 'Hi', recipients })
  await until(() => sockets.size > 0, 'mails are under way')
  await bus.publish(orderPaid, { order: 1 })
  await granted.promise
  const rows = () =>
    running
      .service(database)
      .query<{ status: string; outcome: string; n: unknown }>(
        'select status, outcome, count(*) as n from notification_send_log group by status, outcome',
      )
  await until(async () => Number((await rows()).find(({ status }) => status === 'waiting')?.n) === 400, 'all wait')
  t.same(
    (await rows()).map(({ status, outcome, n }) => [status, outcome, Number(n)]),
    [['waiting', 'deferred', 400]],
    'nothing was sent, so each mail is sent later',
  )
  t.ok(sockets.size < 200, `the server rests instead of costing a deadline for each mail: ${sockets.size} connections`)
})
