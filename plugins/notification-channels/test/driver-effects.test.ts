/** Tests the effect of each configuration key of channels with drivers. */

import { assertKeyEffect, type KeyValues, manualClock, startForTest } from '@plinth/dev/testing'
import { defineProduct } from '@plinth/kernel'
import mailPlugin from '@plinth/mail'
import notificationPlugin, { notification } from '@plinth/notification'
import logChannel from '@plinth/notification-channels/log'
import mailChannel from '@plinth/notification-channels/mail'
import memoryChannel, { sentNotifications } from '@plinth/notification-channels/memory'
import smsChannel from '@plinth/notification-channels/sms'
import outgoingHttp from '@plinth/outgoing-http'
import smsPlugin from '@plinth/sms'
import t from 'tap'
import { startMailServer } from '../../mail/test/fixtures/mail-server.ts'
import { startProviderStub } from '../../sms/test/fixtures/company.ts'

const taken = { status: 201, body: '{"sid":"SM1","status":"queued"}' }
const busy = { status: 503, body: '' }
const messages = {
  sms: { content: 'x', recipients: [{ kind: 'mobile' as const, number: '+8613800138000' }] },
  mail: { content: 'x', recipients: [{ kind: 'email' as const, address: 'ada@example.com' }] },
  log: { content: 'x' },
  memory: { content: 'x' },
}

/** Starts a product with these channels, and a mail server and an SMS provider that the test can make fail. */
async function start(config: KeyValues) {
  const [company, clock] = [await startProviderStub(t), manualClock()]
  let isDown = false
  const server = await startMailServer(t, {
    onConnect: (_session, done) => done(isDown ? Object.assign(new Error('Down'), { responseCode: 421 }) : undefined),
  })
  company.reply = taken
  const plugins = [
    notificationPlugin,
    outgoingHttp,
    smsPlugin,
    smsChannel,
    mailPlugin,
    mailChannel,
    logChannel,
    memoryChannel,
  ]
  const running = await startForTest(
    defineProduct({
      name: 'channels',
      plugins,
      config: {
        ...server.config,
        'platform.outgoing-http.allowed-hosts': [company.host],
        'platform.outgoing-http.allow-http': true,
        'platform.sms.driver': 'twilio',
        'platform.sms.twilio.endpoint': company.url,
        'platform.sms.twilio.account-sid': 'AC1',
        'platform.sms.twilio.auth-token': 'planted-token-4711',
        'platform.sms.twilio.from': '+15005550006',
        ...config,
      },
    }),
    { clock },
  )
  t.teardown(() => running.stop('test ended'))
  const send = async (channel: keyof typeof messages) => {
    const [result] = await running.service(notification).send(messages[channel], { channels: [channel] })
    return result?.provider ?? result?.errorCode ?? result?.outcome
  }
  const fail = (fails: boolean) => {
    company.reply = fails ? busy : taken
    isDown = fails
  }
  return { running, clock, send, fail }
}

const channelOf = (key: string) => key.split('.')[3] as keyof typeof messages

t.test('a disabled channel sends nothing', async (t) => {
  const found = await assertKeyEffect(t, 'platform.notification.channels.{sms,mail,log,memory}.enabled', {
    compared: true,
    changed: false,
    observe: async (config, key) => (await start(config)).send(channelOf(key)),
  })
  for (const { key, after } of found) t.equal(after, 'notification.channel-disabled', key)
})

t.test('a message uses the configured drivers', async (t) => {
  /**
   * Sends two messages, 10 s apart, and makes the first driver fail for the first message. Returns the drivers that
   * sent them.
   */
  const driversWith =
    (others: Readonly<Record<string, string | string[]>>) => async (values: KeyValues, key: string) => {
      const channel = channelOf(key)
      const root = `platform.notification.channels.${channel}`
      const config = Object.fromEntries(Object.entries(others).map(([name, value]) => [`${root}.${name}`, value]))
      const order = { [`${root}.drivers-order`]: channel === 'sms' ? ['twilio', 'log'] : ['smtp', 'log'] }
      const { send, fail, clock } = await start({ ...order, ...config, ...values })
      fail(true)
      const first = await send(channel)
      fail(false)
      await clock.advance(10_000)
      return [first, await send(channel)].join(' ')
    }
  const failover = { strategy: 'failover' }
  const rests = await assertKeyEffect(t, 'platform.notification.channels.{sms,mail}.driver-rest', {
    changed: '5s',
    observe: driversWith(failover),
  })
  t.same(
    rests.map(({ before, after }) => [before, after]),
    [
      ['log log', 'log twilio'],
      ['log log', 'log smtp'],
    ],
  )
  const strategies = await assertKeyEffect(t, 'platform.notification.channels.{sms,mail}.strategy', {
    changed: 'failover',
    observe: driversWith({}),
  })
  t.same(
    strategies.map(({ after }) => after),
    ['log log', 'log log'],
  )
  const orders = await assertKeyEffect(t, 'platform.notification.channels.{sms,mail}.drivers-order', {
    changed: ['log', 'unknown'],
    observe: async (values, key) => {
      const channel = channelOf(key)
      const { send } = await start({ [`platform.notification.channels.${channel}.strategy`]: 'failover', ...values })
      return send(channel)
    },
  })
  t.same(
    orders.map(({ after }) => after),
    ['log', 'log'],
  )
})

t.test('the memory channel stores the newest messages', async (t) => {
  const [counts] = await assertKeyEffect(t, 'platform.notification.channels.memory.capacity', {
    changed: 2,
    observe: async (config) => {
      const { running, send } = await start(config)
      for (let count = 0; count < 3; count++) await send('memory')
      return running.service(sentNotifications).messages.length
    },
  })
  t.match(counts, { before: 3, after: 2 })
})
