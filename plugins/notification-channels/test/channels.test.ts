import { type DeliveredMessage, notificationChannelCases } from '@plinth/dev/conformance'
import { rejectsWith, startForTest } from '@plinth/dev/testing'
import { definePlugin, defineProduct, type NotificationMessage, notificationChannel, type Plugin } from '@plinth/kernel'
import log from '@plinth/notification-channels/log'
import memory, { sentNotifications } from '@plinth/notification-channels/memory'
import { pino } from 'pino'
import t from 'tap'

/** Plugin that declares the extension point in place of the notification plugin. A channel needs no other plugin. */
const owner = definePlugin({
  id: 'test.owner',
  version: '1.0.0',
  kernel: '^1.0.0',
  extensionPoints: [notificationChannel],
})

async function load(plugin: Plugin, name: string, set: Record<string, string> = {}) {
  const lines: Record<string, unknown>[] = []
  const logger = pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line)) })
  const product = await startForTest(defineProduct({ name: 'channels', plugins: [plugin, owner] }), { logger, set })
  const channel = product.contributions(notificationChannel).get(name)
  if (channel === undefined) throw new Error(`no channel ${name}`)
  const written = () => lines.filter(({ msg }) => msg === 'notification')
  return { product, channel, written, stop: () => product.stop('test ended') }
}

const message = (changes: Partial<NotificationMessage> = {}): NotificationMessage => ({
  id: 'message-1',
  subject: 'Hello',
  content: 'World',
  variables: {},
  recipients: [],
  attributes: {},
  ...changes,
})
const context = (idempotencyKey = 'key-1') => ({ signal: new AbortController().signal, idempotencyKey, attempt: 1 })

t.test('N-004 N-013 the log channel obeys its contract', async (t) => {
  const create = async () => {
    const loaded = await load(log, 'log')
    return { ...loaded, delivered: () => loaded.written() as unknown as DeliveredMessage[] }
  }
  for (const { name, run } of notificationChannelCases(create, { nextHop: 'none' })) t.test(name, run)
})

t.test('N-005 N-013 the memory channel obeys its contract', async (t) => {
  const create = async () => {
    const loaded = await load(memory, 'memory')
    return {
      ...loaded,
      delivered: () => loaded.product.service(sentNotifications).messages,
    }
  }
  for (const { name, run } of notificationChannelCases(create, { nextHop: 'none' })) t.test(name, run)
})

t.test('the channel log rejects a message without text, as the inbox does', async (t) => {
  const { channel, written, stop } = await load(log, 'log')
  t.teardown(stop)
  const unknown = message({ subject: '', content: ' ', template: 'no.such.template' })
  t.hasStrict(await channel.send(unknown, context()), { outcome: 'rejected', errorCode: 'text-missing' })
  t.same(written(), [])
})

t.test('N-004 N-019 N-180 N-181 the channel log writes one line without secrets', async (t) => {
  const { channel, written, stop } = await load(log, 'log')
  t.teardown(stop)
  const secrets = ['s3cr3t', 'device-77', 'oAb-openid', 'Bearer-x', 'hook-token', '482913', 'ada@', '1380013']
  await channel.send(
    message({
      content: 'line one\nline two',
      template: 'order.paid',
      locale: 'zh-CN',
      variables: { code: '482913' },
      recipients: [
        { kind: 'user', userId: 7 },
        { kind: 'email', address: 'ada@example.com' },
        { kind: 'mobile', number: '13800138000' },
        { kind: 'websocket-group', group: 'ops' },
        { kind: 'social-openid', openId: 'oAb-openid' },
        { kind: 'websocket-guest' },
        { kind: 'topic', topic: 'news' },
      ],
      attributes: {
        module: 'mall',
        'webhook.secret': 's3cr3t',
        'webhook.endpoint': 'https://hook.example.com/send?key=hook-token',
        'webhook.bark.device-key': 'device-77',
        'social.to-user': 'oAb-openid',
        nested: [{ authorization: 'Bearer-x', event: 'order.status-changed' }],
      },
    }),
    context(),
  )
  t.equal(written().length, 1, 'one line for a message of two lines')
  const [line] = written()
  t.match(line, {
    messageId: 'message-1',
    subject: 'Hello',
    content: 'line one\nline two',
    template: 'order.paid',
    locale: 'zh-CN',
    plugin: 'notification-channels.log',
  })
  const { attributes, variables, recipients } = line ?? {}
  t.same(attributes, { module: 'mall', nested: [{ event: 'order.status-changed' }] })
  t.same(variables, ['code'], 'names of variables, not values')
  t.same(recipients, [
    'user:7',
    'email:a***@example.com',
    'mobile:***8000',
    'websocket-group:ops',
    'social-openid',
    'websocket-guest',
    'topic:news',
  ])
  for (const secret of secrets) t.notMatch(JSON.stringify(line), secret, `no ${secret}`)
  const endless: Record<string, unknown> = {}
  Object.assign(endless, { self: endless })
  await channel.send(message({ attributes: endless }), context())
  t.equal(written().length, 2, 'attributes that contain themselves end somewhere')
})

t.test('N-005 the channel memory keeps 1000 messages by default and drops the oldest', async (t) => {
  const { channel, product, stop } = await load(memory, 'memory')
  t.teardown(stop)
  const sent = product.service(sentNotifications)
  for (let index = 0; index <= 1000; index++) await channel.send(message({ id: `m${index}` }), context(`k${index}`))
  t.equal(sent.messages.length, 1000)
  t.equal(sent.messages[0]?.id, 'm1')
  t.equal(sent.messages.at(-1)?.id, 'm1000')
  await channel.send(message({ id: 'again' }), context('k500'))
  t.notOk(
    sent.messages.some(({ id }) => id === 'again'),
    'a known idempotency key sends nothing',
  )
  sent.clear()
  t.same(sent.messages, [])

  const small = await load(memory, 'memory', { 'platform.notification.channels.memory.capacity': '2' })
  t.teardown(small.stop)
  for (const id of ['a', 'b', 'c']) await small.channel.send(message({ id }), context(id))
  t.same(
    small.product.service(sentNotifications).messages.map(({ id }) => id),
    ['b', 'c'],
  )
})

t.test('N-064 the switch of a channel belongs to its plugin', async (t) => {
  for (const [plugin, name] of [
    [log, 'log'],
    [memory, 'memory'],
  ] as const) {
    const on = await load(plugin, name)
    t.equal(on.channel.enabled?.(), true, `${name} is on by default`)
    await on.stop()
    const off = await load(plugin, name, { [`platform.notification.channels.${name}.enabled`]: 'false' })
    t.equal(off.channel.enabled?.(), false, `${name} can be switched off`)
    await off.stop()
  }
  await rejectsWith(t, load(memory, 'memory', { 'platform.notification.channels.memory.capacity': '0' }), {
    code: 'PLINTH_START_REFUSED',
  })
})
