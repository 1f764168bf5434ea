import databasePlugin from '@plinth/database'
import { createDatabase } from '@plinth/database/testing'
import eventsPlugin from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18n from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import { definePlugin, defineProduct, type JsonValue, notificationChannel } from '@plinth/kernel'
import { notificationChannelCases } from '@plinth/kernel/conformance'
import { startForTest } from '@plinth/kernel/testing'
import mailPlugin from '@plinth/mail'
import notificationPlugin, { notification } from '@plinth/notification'
import inboxPlugin, { notificationPreferences } from '@plinth/notification/inbox'
import mailChannel from '@plinth/notification-channels/mail'
import storagePlugin from '@plinth/storage'
import templatePlugin from '@plinth/template'
import t, { type Test } from 'tap'
import { decodedHeader, partsOf, startMailServer } from '../../mail/test/fixtures/mail-server.ts'

const secret = 'planted-password-4711'
const owner = definePlugin({ id: 'owner', version: '1.0.0', kernel: '^1.0.0', extensionPoints: [notificationChannel] })
const credentials = { 'platform.mail.smtp.username': 'shop', 'platform.mail.smtp.password': secret }

t.test('N-008 the channel keeps its contract', async (t) => {
  const create = async () => {
    let state: 'working' | 'failing' | 'hanging' = 'working'
    const server = await startMailServer(t, {
      // Only a check that sends nothing asks for this.
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
    nextHop: {
      fail: ({ become }) => become('failing'),
      hang: ({ become }) => become('hanging'),
      recover: ({ become }) => become('working'),
    },
  })
  for (const { name, run } of cases) t.test(name, run)
})

async function start(t: Test, set: Readonly<Record<string, JsonValue>> = {}) {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const server = await startMailServer(t)
  const config = {
    ...at.config,
    ...server.config,
    ...credentials,
    'platform.http.port': 0,
    'platform.storage.root': at.directory,
    'platform.notification.default-channel': 'mail',
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
    ...set,
  }
  const plugins = [databasePlugin, httpPlugin, i18n, iamPlugin, eventsPlugin, storagePlugin, inboxPlugin]
  const more = [mailPlugin, templatePlugin, notificationPlugin, mailChannel]
  const running = await startForTest(defineProduct({ name: 'mails', plugins: [...plugins, ...more], config }))
  t.teardown(() => running.stop('test ended'))
  const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
  const ada = await running.service(accounts).create({ username: 'ada', email: 'ada@example.com' }, origin)
  const nobody = await running.service(accounts).create({ username: 'nobody' }, origin)
  return { running, server, facade: running.service(notification), web: running.service(http), ada, nobody }
}

t.test('N-008 the channel delegates to the mail facility, for addresses and for users', async (t) => {
  const { server, facade, ada, nobody } = await start(t)
  t.match(
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
  t.match(result, { success: true, outcome: 'accepted', provider: 'smtp' })
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
    t.match(await facade.send({ ...message, recipients: [recipient] }), [
      { success: false, outcome: 'rejected', errorCode },
    ])
  }
  t.match(await facade.send({ subject: 'only', recipients: [{ kind: 'email', address: 'a@b.c' }] }), [
    { errorCode: 'mail.empty' },
  ])
  t.equal(server.received.length, 2)
})

t.test('a reply of the server is told without secret variables', async (t) => {
  const { server, facade } = await start(t)
  server.behave({ onMail: { code: 550, text: `5.7.1 "Your code 471108" is spam, ${secret}` } })
  const recipients = [{ kind: 'email' as const, address: 'ada@example.com' }]
  const code = { variables: { code: '471108' }, secretVariables: ['code'] }
  const results = await facade.send({ content: 'Your code 471108', recipients, ...code })
  t.match(results, [
    { outcome: 'rejected', errorCode: 'mail.refused', providerCode: '550', providerMessage: /5\.7\.1/ },
  ])
  t.notMatch(JSON.stringify(results), '471108')
  t.notMatch(JSON.stringify(results), secret)
})

t.test('without a driver the channel is off', async (t) => {
  const { facade } = await start(t, { 'platform.mail.driver': '' })
  t.match(facade.channels(), [{ code: 'mail', enabled: false }])
  const recipients = [{ kind: 'email' as const, address: 'ada@example.com' }]
  t.match(await facade.send({ content: 'x', recipients }), [
    { skipped: true, errorCode: 'notification.channel-disabled' },
  ])
  const off = await start(t, { 'platform.notification.channels.mail.enabled': false })
  t.match(
    off.facade.channels(),
    [{ code: 'mail', enabled: false }],
    'effect of platform.notification.channels.mail.enabled',
  )
})

t.test('marketing mails to users have a link that ends them, by one POST and not by a look', async (t) => {
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
  // effect of platform.notification.channels.mail.unsubscribe-key
  t.match(marketing, { 'list-unsubscribe-post': 'List-Unsubscribe=One-Click' })
  t.notHas(mall, { 'list-unsubscribe': String })
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
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const answer = await web.inject({ method: 'POST', url, headers: form, payload: 'List-Unsubscribe=One-Click' })
  t.equal(answer.statusCode, 200)
  t.equal((await wanted()).size, 0)
  t.match(await send('marketing'), [{ skipped: true }], 'and none are sent any more')
  t.match(await send('mall'), [{ success: true }])
})
