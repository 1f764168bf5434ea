import {
  applyLiveValues,
  assertKeyEffect,
  assertMembers,
  manualClock,
  rejectsWith,
  startForTest,
} from '@plinth/dev/testing'
import {
  type BusinessError,
  type DeliveryOutcome,
  definePlugin,
  defineProduct,
  type NotificationChannel,
  type NotificationMessage,
  notificationChannel,
  type Plugin,
  type SendContext,
} from '@plinth/kernel'
import notification, { notification as facadeRef } from '@plinth/notification'
import log from '@plinth/notification-channels/log'
import memory, { sentNotifications } from '@plinth/notification-channels/memory'
import { pino } from 'pino'
import t from 'tap'
import { withoutSecrets } from '../src/facade/results.ts'

type Send = (message: NotificationMessage, context: SendContext) => Promise<DeliveryOutcome>

/** Returns a plugin with one channel. */
function channelPlugin(code: string, send: Send, more: Partial<NotificationChannel> = {}) {
  const channel: NotificationChannel = {
    displayName: code,
    recipientKinds: [],
    traits: { idempotent: false },
    send,
    ...more,
  }
  return definePlugin({
    id: `test.${code}`,
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [notificationChannel],
    setup: ({ contribute }) => contribute(notificationChannel, code, channel),
  })
}

async function start(more: readonly Plugin[] = [], set: Record<string, string> = {}) {
  const clock = manualClock()
  const lines: Record<string, unknown>[] = []
  const logger = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) })
  const product = defineProduct({ name: 'notices', plugins: [notification, log, memory, ...more] })
  const running = await startForTest(product, { clock, set, logger })
  const stop = () => running.stop('test ended')
  return { clock, running, lines, facade: running.service(facadeRef), sent: running.service(sentNotifications), stop }
}
const accepted: Send = async () => ({ outcome: 'accepted' })

t.test('N-001 N-004 N-018 without channels the default channel sends', async (t) => {
  const { facade, lines, stop } = await start()
  t.teardown(stop)
  const results = await facade.send({ subject: 'Hello', content: 'World', variables: { name: 'Ada', count: 2 } })
  const line = lines.find(({ msg }) => msg === 'notification')
  const { messageId } = line ?? {}
  t.match(line, { subject: 'Hello', content: 'World', plugin: 'notification-channels.log' })
  t.same(results, [
    {
      channel: 'log',
      success: true,
      outcome: 'accepted',
      messageId: String(messageId),
      errorCode: null,
      errorMessage: null,
    },
  ])
  t.match(results[0]?.messageId, /^[0-9a-f-]{36}$/)
})

t.test(
  'N-001 N-030 N-032 N-033 one result per channel in the given order; a failure does not stop the others',
  async (t) => {
    const throwing = channelPlugin('throwing', async () => {
      throw new Error('https://hook.example/?token=s3cr3t')
    })
    const synchronous = channelPlugin('synchronous', () => {
      throw new Error('not even a promise')
    })
    const nonsense = channelPlugin('nonsense', async () => undefined as never)
    const agreeing = channelPlugin('agreeing', async () => true as never)
    const silent = channelPlugin('silent', async () => ({ outcome: 'rejected' }) as never)
    const rejecting = channelPlugin('rejecting', async () => ({
      outcome: 'rejected',
      errorCode: 'acme.403',
      errorMessage: 'Refused',
      provider: 'acme',
      providerCode: '403',
      providerMessage: 'forbidden',
      hint: 'Check the key',
    }))
    const hanging = channelPlugin('hanging', () => new Promise(() => {}))
    const { facade, sent, clock, lines, stop } = await start([
      throwing,
      synchronous,
      nonsense,
      agreeing,
      silent,
      rejecting,
      hanging,
    ])
    t.teardown(stop)
    const wrong = ['nonsense', 'agreeing', 'silent']
    const channels = ['throwing', 'memory', 'hanging', 'Rejecting', ' LOG', 'memory', ...wrong, 'synchronous']
    const sending = facade.send({ content: 'Hi' }, { channels })
    await clock.advance(0)
    t.equal(sent.messages.length, 1, 'the others are not held up by one that hangs; a duplicate counts once')
    await clock.advance(10_000)
    await clock.advance(1_000)
    const results = await sending
    t.same(
      results.map(({ channel, success, errorCode }) => [channel, success, errorCode]),
      [
        ['throwing', false, 'notification.channel-failed'],
        ['memory', true, null],
        ['hanging', false, 'notification.deadline-exceeded'],
        ['rejecting', false, 'acme.403'],
        ['log', true, null],
        ...wrong.map((channel) => [channel, false, 'notification.channel-failed']),
        ['synchronous', false, 'notification.channel-failed'],
      ],
    )
    t.match(results[3], { provider: 'acme', providerCode: '403', providerMessage: 'forbidden', hint: 'Check the key' })
    t.notMatch(JSON.stringify(results), 's3cr3t', 'what a channel throws is not for callers')
    const logged = lines.filter(({ err }) => err !== undefined).map(({ channel, err }) => [channel, Object(err).code])
    t.strictSame(
      new Map(logged as [string, string | undefined][]),
      new Map([
        ['throwing', undefined],
        ['synchronous', undefined],
        ...wrong.map((channel) => [channel, 'PLINTH_NOTIFICATION_RESULT'] as const),
      ]),
      'but it is logged',
    )
    t.equal(clock.sleepers, 0, 'no timer is left')
    t.equal(new Set(results.map(({ messageId }) => messageId)).size, 1, 'one message, one id')
  },
)

t.test('R-095 no result and no log line contains secret variables, whatever a channel returns', async (t) => {
  const echoing = channelPlugin('echoing', async ({ content }) => ({
    outcome: 'rejected',
    errorCode: 'acme.403',
    errorMessage: `refused: ${content}`,
    provider: 'acme',
    providerMessage: encodeURIComponent(content),
    hint: `Do not send "${content}"`,
  }))
  const throwing = channelPlugin('throwing', async ({ content, variables }) => {
    throw Object.assign(new Error(`refused: ${content}`), { request: { variables } })
  })
  const { facade, lines, sent, stop } = await start([echoing, throwing])
  t.teardown(stop)
  const draft = {
    subject: '482913',
    content: 'Code 482913 for Ada',
    variables: { code: '482913', name: 'Ada' },
    secretVariables: ['code', 'absent'],
  }
  const results = await facade.send(draft, { channels: ['echoing', 'throwing', 'log', 'memory'] })
  assertMembers(t, results, [
    { errorCode: 'acme.403', errorMessage: 'refused: Code ****** for Ada', hint: 'Do not send "Code ****** for Ada"' },
    { errorCode: 'notification.channel-failed' },
    { success: true },
    { success: true },
  ])
  t.match(
    lines.find(({ msg }) => msg === 'notification'),
    { subject: '******', content: 'Code ****** for Ada' },
  )
  t.match(
    lines.find(({ msg }) => msg === 'a notification channel threw an error'),
    { reason: 'refused: Code ****** for Ada' },
  )
  t.notMatch(JSON.stringify([results, lines]), '482913')
  assertMembers(t, sent.messages, [{ subject: '482913', content: draft.content }], 'the recipient gets it in clear')
})

t.test('N-031 N-172 sendTo throws the error that prevents the message from being sent', async (t) => {
  const down = channelPlugin('down', async () => ({ outcome: 'deferred', errorCode: 'acme.503', errorMessage: 'Down' }))
  const off = channelPlugin('off', accepted, { enabled: () => false })
  const numbered = channelPlugin('numbered', async () => ({ outcome: 'accepted', messageId: 'acme-1' }))
  const { facade, stop } = await start([down, off, numbered])
  t.teardown(stop)
  t.match(await facade.sendTo('numbered', { content: 'Hi' }), { success: true, messageId: 'acme-1' })
  await rejectsWith(t, facade.sendTo('down', { content: 'Hi' }), {
    name: 'BusinessError',
    code: '503',
    reason: 'notification.delivery-failed',
    data: { result: { channel: 'down', errorCode: 'acme.503' } },
  })
  await rejectsWith(t, facade.sendTo('off', { content: 'Hi' }), {
    code: '503',
    reason: 'notification.channel-disabled',
  })
})

t.test('an unknown channel or an empty message is rejected before anything is sent', async (t) => {
  const { facade, sent, stop } = await start()
  t.teardown(stop)
  const unknown: BusinessError = await facade.send({ content: 'Hi' }, { channels: ['memory', 'memroy'] }).then(
    () => t.fail('sent') as never,
    (error) => error,
  )
  t.hasStrict(unknown, {
    code: '400',
    reason: 'notification.channel-unknown',
    messageKey: 'messages.notification.channel-unknown-nearest',
    params: { channel: 'memroy', nearest: 'memory' },
  })
  t.match(unknown.message, /"memroy".*"memory"/)
  await rejectsWith(t, facade.sendTo('telepathy', { content: 'Hi' }), {
    code: '400',
    messageKey: 'messages.notification.channel-unknown',
  })
  for (const draft of [{}, { subject: ' ', content: '' }, { variables: { a: 1 } }]) {
    await rejectsWith(t, facade.send(draft, { channels: ['memory'] }), {
      code: '400',
      reason: 'notification.message-empty',
    })
  }
  t.same(sent.messages, [])
  t.equal((await facade.send({ template: 'order.paid' }, { channels: ['memory'] }))[0]?.success, true)
})

t.test('N-063 N-064 a disabled channel is skipped, immediately after the change', async (t) => {
  const { facade, running, sent, stop } = await start()
  t.teardown(stop)
  const apply = (values: Record<string, string | boolean>) =>
    running.config.apply(
      Object.entries(values).map(([name, written]) => {
        const key = `platform.notification.${name}`
        return { name: key, by: 'key', written, place: key }
      }),
    )
  const send = () => facade.send({ content: 'Hi' }, { channels: ['memory', 'log'] })
  await apply({ 'channels.memory.enabled': false })
  assertMembers(t, await send(), [
    { channel: 'memory', success: false, skipped: true, errorCode: 'notification.channel-disabled' },
    { channel: 'log', success: true },
  ])
  await apply({ enabled: false })
  assertMembers(t, await send(), [
    { channel: 'memory', success: false, skipped: true, errorCode: 'notification.disabled' },
    { channel: 'log', success: false, skipped: true, errorCode: 'notification.disabled' },
  ])
  await rejectsWith(t, facade.sendTo('log', { content: 'Hi' }), { code: '503', reason: 'notification.disabled' })
  t.same(sent.messages, [])
  await apply({ 'default-channel': 'memory' })
  t.equal((await facade.send({ content: 'Hi' }))[0]?.channel, 'memory')
  assertMembers(t, (await apply({ 'default-channel': 'memroy' })).refused, [
    { reason: /"memroy".*Did you mean "memory"/ },
  ])
  await rejectsWith(t, start([], { 'platform.notification.default-channel': 'logg' }), {
    cause: { code: 'PLINTH_NOTIFICATION_UNKNOWN_CHANNEL' },
    message: /Did you mean "log"/,
  })
})

t.test(
  'N-013 N-016 N-027 N-028 N-029 a channel of a third party gets every recipient kind that it declares',
  async (t) => {
    const received: NotificationMessage[] = []
    const collect: Send = async (message) => {
      received.push(message)
      return { outcome: 'accepted' }
    }
    const mail = channelPlugin('post', collect, { recipientKinds: ['email', 'user'] })
    const { facade, stop } = await start([mail])
    t.teardown(stop)
    const recipients = [
      { kind: 'user', userId: 7 },
      { kind: 'email', address: 'ada@example.com' },
      { kind: 'mobile', number: '13800138000' },
      { kind: 'websocket-user', userId: 7 },
      { kind: 'websocket-session', sessionId: 's1' },
      { kind: 'websocket-group', group: 'ops' },
      { kind: 'websocket-guest' },
      { kind: 'social-openid', openId: 'o1' },
      { kind: 'topic', topic: 'news' },
    ] as const
    const draft = {
      subject: 'S',
      content: 'C',
      template: 'T',
      variables: { name: 'Ada' },
      locale: 'zh-CN',
      attributes: { module: 'mall' },
      recipients,
    }
    assertMembers(t, await facade.send(draft, { channels: ['post'] }), [{ success: true }])
    t.match(received[0], draft)
    const unreachable = { ...draft, recipients: recipients.slice(2) }
    assertMembers(t, await facade.send(unreachable, { channels: ['post', 'memory'] }), [
      { channel: 'post', success: false, errorCode: 'notification.recipient-missing' },
      { channel: 'memory', success: true },
    ])
    t.equal(received.length, 1, 'a channel is not asked for what it cannot reach')
  },
)

t.test('the caller and the deadline can end a send; the idempotency key reaches the channel', async (t) => {
  const contexts: SendContext[] = []
  const patient = channelPlugin('patient', async (_, context) => {
    contexts.push(context)
    await new Promise((resolve) => context.signal.addEventListener('abort', resolve))
    return { outcome: 'unknown', errorCode: 'acme.timeout', errorMessage: 'No answer' }
  })
  const { facade, clock, stop } = await start([patient], { 'platform.notification.send-deadline': '2s' })
  t.teardown(stop)
  const caller = new AbortController()
  const options = { channels: ['patient'], idempotencyKey: 'order-1', signal: caller.signal }
  const given = facade.send({ content: 'Hi' }, options)
  await clock.advance(0)
  caller.abort()
  assertMembers(t, await given, [{ success: false, errorCode: 'acme.timeout' }])
  t.match(contexts[0], { idempotencyKey: 'order-1', attempt: 1 })

  const late = facade.send({ content: 'Hi' }, { channels: ['patient'] })
  await clock.advance(1999)
  t.equal(contexts[1]?.signal.aborted, false)
  await clock.advance(1)
  assertMembers(
    t,
    await late,
    [{ success: false, errorCode: 'acme.timeout' }],
    'the channel may report after the abort',
  )
  t.equal(contexts[1]?.signal.aborted, true)
})

t.test('R-095 an id of the product is never masked, and an outcome without secrets is returned unchanged', (t) => {
  const redact = (text: string) => text.replaceAll('1234', '****')
  const masked = (outcome: DeliveryOutcome) => withoutSecrets(outcome, redact, [], 'id-1234')
  const own = { outcome: 'accepted', messageId: 'id-1234' } as const
  t.equal(masked(own), own, 'the same object')
  t.same(masked({ outcome: 'accepted', messageId: 'acme-1234', provider: 'acme' }), {
    outcome: 'accepted',
    messageId: 'acme-****',
    provider: 'acme',
  })
  t.end()
})

t.test('N-031 a server that does not respond several times rests, and then one message tries it again', async (t) => {
  let calls = 0
  let isSilent = true
  const mute = channelPlugin('mute', async (_, { signal }) => {
    calls += 1
    if (!isSilent) return { outcome: 'accepted' }
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return { outcome: 'deferred', errorCode: 'acme.silent', errorMessage: 'No answer' }
  })
  const { facade, clock, stop } = await start([mute], { 'platform.notification.send-deadline': '3s' })
  t.teardown(stop)
  const send = async () => {
    const sending = facade.send({ content: 'Hi' }, { channels: ['mute'] })
    await clock.advance(3_000)
    const [result] = await sending
    return result?.errorCode ?? result?.outcome
  }
  const codes = [await send(), await send(), await send(), await send(), await send()]
  await clock.advance(30_000)
  codes.push(await send(), await send())
  isSilent = false
  await clock.advance(30_000)
  codes.push(await send(), await send())
  const [silent, resting] = ['acme.silent', 'notification.server-resting']
  t.same(codes, [silent, silent, silent, resting, resting, silent, resting, 'accepted', 'accepted'])
  t.equal(calls, 6, 'a message to a resting server costs nothing')
})

t.test('K-018 a stopping product waits for running sends, then aborts them', async (t) => {
  let finish = () => {}
  const slow = channelPlugin('slow', async () => {
    await new Promise<void>((resolve) => {
      finish = resolve
    })
    return { outcome: 'accepted' }
  })
  const stubborn = channelPlugin('stubborn', async (_, { signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return { outcome: 'unknown', errorCode: 'aborted', errorMessage: 'Given up' }
  })
  const { facade, running, clock } = await start([slow, stubborn], { 'platform.notification.send-deadline': '1h' })
  const inTime = facade.send({ content: 'Hi' }, { channels: ['slow'] })
  const endless = facade.send({ content: 'Hi' }, { channels: ['stubborn'] })
  await clock.advance(0)
  let stopped = false
  const stopping = running.stop('test').then(
    () => {
      stopped = true
    },
    () => {
      stopped = true
    },
  )
  await clock.advance(1)
  t.equal(stopped, false)
  finish()
  assertMembers(t, await inTime, [{ success: true }])
  await clock.advance(60_000)
  await stopping
  assertMembers(t, await endless, [{ success: false, errorCode: 'aborted' }])
})

t.test('without a database, a message cannot be queued', async (t) => {
  const { facade, stop } = await start()
  t.teardown(stop)
  await rejectsWith(t, facade.enqueue({ content: 'x' }), { code: 'PLINTH_NOTIFICATION_NO_QUEUE' })
})

t.test('a message is sent as configured', async (t) => {
  const contexts: SendContext[] = []
  const patient = channelPlugin('patient', async (_, context) => {
    contexts.push(context)
    await new Promise((resolve) => context.signal.addEventListener('abort', resolve))
    return { outcome: 'unknown', errorCode: 'acme.timeout', errorMessage: 'No answer' }
  })
  const { facade, clock, running, stop } = await start([patient])
  t.teardown(stop)
  const [channels] = await assertKeyEffect(t, 'platform.notification.default-channel', {
    changed: 'memory',
    async observe(values) {
      await applyLiveValues(running, values)
      return (await facade.send({ content: 'Hi' })).map(({ channel }) => channel)
    },
  })
  assertMembers(t, channels, { before: ['log'], after: ['memory'] })
  const [errors] = await assertKeyEffect(t, 'platform.notification.enabled', {
    changed: false,
    async observe(values) {
      await applyLiveValues(running, values)
      const [result] = await facade.send({ content: 'Hi' }, { channels: ['memory'] })
      return result?.errorCode
    },
  })
  t.match(errors, { before: undefined, after: 'notification.disabled' })
  const [isEnded] = await assertKeyEffect(t, 'platform.notification.send-deadline', {
    changed: '2s',
    async observe(values) {
      await applyLiveValues(running, values)
      const sending = facade.send({ content: 'Hi' }, { channels: ['patient'] })
      await clock.advance(2_000)
      const isEnded = contexts.at(-1)?.signal.aborted
      await clock.advance(8_000)
      await sending
      return isEnded
    },
  })
  t.match(isEnded, { before: false, after: true })
})
