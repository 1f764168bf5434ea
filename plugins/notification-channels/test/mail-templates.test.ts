/** Tests waiting messages whose template changes, the files of templates and messages in mails, and test messages. */
import databasePlugin from '@plinth/database'
import { manualClock, startForTest } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import eventsPlugin, { events } from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18n from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import inboxPlugin from '@plinth/inbox'
import { defineProduct } from '@plinth/kernel'
import mailPlugin from '@plinth/mail'
import notificationPlugin, { notification } from '@plinth/notification'
import databaseChannel from '@plinth/notification-channels/database'
import mailChannel from '@plinth/notification-channels/mail'
import storagePlugin, { storage } from '@plinth/storage'
import templatePlugin from '@plinth/template'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { decodedHeader, leavesOf, startMailServer } from '../../mail/test/fixtures/mail-server.ts'

// biome-ignore lint/suspicious/noExplicitAny: responses of many routes
type Data = any

const signIn = { username: 'root', password: 'correct horse battery staple' }
const root = { ...signIn, email: 'root@shop.example' }
const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const hourMs = 3_600_000

async function start(t: Test) {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const server = await startMailServer(t)
  const clock = manualClock(Date.now())
  const warnings: string[] = []
  const logger = pino(
    { level: 'warn' },
    {
      write(line) {
        const { msg, err } = JSON.parse(line)
        warnings.push(err === undefined ? msg : `${msg}: ${err.stack}`)
      },
    },
  )
  const config = {
    ...at.config,
    ...server.config,
    'platform.http.port': 0,
    'platform.storage.root': at.directory,
    'platform.notification.default-channel': 'mail',
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
  }
  const plugins = [databasePlugin, httpPlugin, i18n, iamPlugin, eventsPlugin, storagePlugin, inboxPlugin, mailPlugin]
  const others = [templatePlugin, notificationPlugin, mailChannel, databaseChannel]
  const product = defineProduct({ name: 'mails', plugins: [...plugins, ...others], config })
  const running = await startForTest(product, { clock, logger })
  t.teardown(() => running.stop('test ended'))
  const { account } = await running.service(accounts).createAdministrator(root, origin)
  const userId = account?.id ?? 0
  const web = running.service(http)
  const call = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, payload?: object): Promise<Data> => {
    const body = payload === undefined ? {} : { payload }
    // Each call has a session of its own, because the tests advance the clock.
    const login = await web.inject({ method: 'POST', url: '/api/v1/auth/login', payload: signIn })
    const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
    const { code, data, message } = (await web.inject({ method, url: `/api/v1/${path}`, headers, ...body })).json()
    if (code !== '200') throw new Error([code, message, ...warnings.slice(-1)].join(' '))
    return data
  }
  const facade = running.service(notification)
  const later = async () => {
    await clock.advance(2 * hourMs)
    await running.service(events).idle()
  }
  const save = (template: object) =>
    call('POST', 'admin/templates', {
      code: 'letter',
      channel: 'mail',
      locale: 'en',
      subject: 's',
      content: 'c',
      ...template,
    })
  const enqueue = (draft: object, options: object = {}) =>
    facade.enqueue(
      { template: 'letter', recipients: [{ kind: 'email', address: 'ada@example.com' }], ...draft },
      { notBefore: clock.now() + hourMs, ...options },
    )
  const bodies = () => server.received.map(({ raw }) => leavesOf(raw)[0]?.body.toString())
  const files = running.service(storage)
  return { server, running, clock, warnings, call, facade, later, save, enqueue, bodies, files, userId }
}

t.test('a waiting message is sent as its template was when it was stored', async (t) => {
  const { save, enqueue, call, later, bodies, warnings, server } = await start(t)
  const { id } = await save({ content: 'one {{name}}' })
  const waiting = await enqueue({ variables: { name: 'Ada' } }, { idempotencyKey: 'order-1' })
  const { items } = await call('GET', `notifications?size=1`)
  t.same((await call('GET', `admin/templates/${id}/uses`)).uses, [
    {
      kind: 'Waiting message',
      use: { value: String(items[0].id), name: 's', page: 'notification.message', labels: null, unit: null },
    },
  ])
  await call('PUT', `admin/templates/${id}`, { subject: 's', content: 'two {{name}}', version: 1 })
  t.same(await enqueue({ variables: { name: 'Ada' } }, { idempotencyKey: 'order-1' }), waiting, 'the same message')
  t.same(
    warnings.filter((text) => text.includes('idempotency key')),
    [],
    'a changed template does not make it another message',
  )
  await enqueue({ variables: { name: 'Bob' } })
  await enqueue({ variables: { name: 'Cyd' }, locale: 'fr' })
  await save({ locale: 'fr', content: 'trois {{name}}' })
  await enqueue({ variables: { name: 'Dan' }, locale: 'fr' })
  await enqueue({ variables: { name: 'Eve' }, templateVersions: { [id]: 1 } })
  await call('DELETE', `admin/templates/${id}`)
  server.behave({ onMail: { code: 451, text: 'Later' } })
  await later()
  t.same(server.received, [])
  server.behave({})
  await later()
  await later()
  t.same(
    bodies().sort(),
    ['one Ada', 'one Eve', 'trois Dan', 'two Bob', 'two Cyd'],
    'also the retries of a deleted template',
  )
  t.same((await call('GET', `admin/templates/${(await call('GET', 'admin/templates')).items[0].id}/uses`)).uses, [])
})

t.test('files of the template and of the message are in the mail, and only there', async (t) => {
  const { save, enqueue, call, later, server, files, userId } = await start(t)
  const [logo, ticket, terms] = ['logo', 'ticket', 'terms'].map((name) => Buffer.from(name.repeat(5_000)))
  for (const [path, content] of Object.entries({ 'a/ticket.png': ticket, 'a/terms.pdf': terms }))
    await files.put(files.localDisk, path, content as Buffer)
  const { id } = await save({ channel: 'all' })
  const upload = await call('POST', 'admin/storage/uploads', { name: 'logo.png', content: logo?.toString('base64') })
  await call('POST', `admin/templates/${id}/draft/attachments`, { file: upload.id, contentId: 'logo', version: 0 })
  const html = '<img src="cid:logo"><img src="cid:{{picture}}">'
  const text = { subject: 'Ticket', content: 'See', html, htmlFormat: 'html', baseVersion: 1, version: 1 }
  await call('PUT', `admin/templates/${id}/draft`, text)
  await call('POST', `admin/templates/${id}/draft/publish`, { version: 2 })
  const disk = files.localDisk
  const attachments = [
    {
      name: 'Bedingungen für alle.pdf',
      disk,
      path: 'a/terms.pdf',
      contentType: 'application/pdf',
      size: terms?.length,
    },
    { name: 'elsewhere.pdf', url: 'https://files.example/x.pdf', contentType: 'application/pdf', size: 1 },
  ]
  await enqueue(
    {
      variables: { picture: 'ticket' },
      recipients: [{ kind: 'user', userId }],
      attributes: { attachments },
      files: [{ name: 'ticket.png', disk, path: 'a/ticket.png', contentId: 'ticket' }],
    },
    { channels: ['mail', 'database'] },
  )
  await later()
  const leaves = leavesOf(server.received[0]?.raw ?? '')
  t.same(
    leaves.slice(2).map(({ filename, contentId, body }) => [filename, contentId, body]),
    [
      ['ticket.png', '<ticket>', ticket],
      ['logo.png', '<logo>', logo],
      ['Bedingungen für alle.pdf', undefined, terms],
    ],
  )
  t.equal(leaves[1]?.body.toString(), '<img src="cid:logo"><img src="cid:ticket">')
  const [item] = (await call('GET', 'notifications/inbox')).items
  t.same(
    item.attachments.map(({ name }: Data) => name),
    ['Bedingungen für alle.pdf', 'elsewhere.pdf'],
  )

  await files.delete(disk, 'a/terms.pdf')
  await enqueue({ attributes: { attachments } })
  await later()
  const [failed] = (await call('GET', 'notification-send-logs?status=failed')).items
  t.match(failed, { errorCode: 'mail.attachment-missing', errorMessage: '"Bedingungen für alle.pdf" does not exist' })
})

t.test('an operator sends a template with its test values to their own address', async (t) => {
  const { save, call, server } = await start(t)
  const { id } = await save({ subject: 'Hi {{name}}', content: 'one', testValues: { name: 'Zoë' } })
  await call('PUT', `admin/templates/${id}/draft`, { subject: 'Draft', content: 'two', version: 0, baseVersion: 1 })
  const test = (text: string) =>
    call('POST', 'admin/notification/template-tests', { templateId: id, text, channel: 'mail' })
  t.match(await test('published'), { channel: 'mail', success: true })
  t.match(await test('draft'), { success: true })
  t.same(
    server.received.map(({ to, headers }) => [to, decodedHeader(headers['subject'])]),
    [
      [[root.email], 'Hi Zoë'],
      [[root.email], 'Draft'],
    ],
  )
})
