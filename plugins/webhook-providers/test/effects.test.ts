import { assertKeyEffect, assertMembers, type KeyValues, manualClock } from '@plinth/dev/testing'
import type { JsonValue } from '@plinth/kernel'
import rateLimit from '@plinth/rate-limit'
import memoryStore from '@plinth/rate-limit-stores/memory'
import t from 'tap'
import { type Services, startServices, startWebhooks, through } from './fixtures/services.ts'

const root = 'platform.notification.channels.webhook'
const failover = { [`${root}.strategy`]: 'failover', [`${root}.providers-order`]: ['dingtalk', 'slack'] }
const busy = { status: 503, body: '' }

t.test('a message uses the configured provider of the channel', async (t) => {
  /** Sends two messages, 10 s apart. The first provider fails for the first message. */
  const providersWith = (config: Readonly<Record<string, JsonValue>>) => async (values: KeyValues) => {
    const [services, clock] = [await startServices(t), manualClock()]
    const { send } = await startWebhooks(t, services, { clock, config: { ...config, ...values } })
    services.answer('dingtalk', busy)
    const first = await send()
    services.recover()
    await clock.advance(10_000)
    return [first, await send()].map(({ provider, errorCode }) => provider ?? errorCode)
  }
  const [rest] = await assertKeyEffect(t, 'platform.notification.channels.webhook.provider-rest', {
    changed: '5s',
    observe: providersWith(failover),
  })
  assertMembers(t, rest, { before: ['slack', 'slack'], after: ['slack', 'dingtalk'] })
  const [strategy] = await assertKeyEffect(t, 'platform.notification.channels.webhook.strategy', {
    changed: 'failover',
    observe: providersWith({ [`${root}.providers-order`]: ['dingtalk', 'slack'] }),
  })
  assertMembers(t, strategy, { before: ['dingtalk', 'dingtalk'], after: ['slack', 'slack'] })
  await assertKeyEffect(t, 'platform.notification.channels.webhook.providers-order', {
    changed: ['dingtalk', 'feishu'],
    observe: providersWith({ [`${root}.strategy`]: 'failover' }),
  })
  await assertKeyEffect(t, 'platform.notification.channels.webhook.default-provider', {
    changed: 'slack',
    observe: providersWith({}),
  })
})

t.test('a message is sent in the configured form', async (t) => {
  const observe = async (values: KeyValues) => {
    const services: Services = await startServices(t)
    const { send } = await startWebhooks(t, services, { clock: manualClock(), config: values })
    const { success } = await send()
    const { url = '', body = '{}' } = services.last('dingtalk') ?? {}
    return { success, isSigned: url.includes('sign='), type: JSON.parse(body).msgtype }
  }
  const proofs = [
    await assertKeyEffect(t, 'platform.notification.channels.webhook.message-type', { changed: 'markdown', observe }),
    await assertKeyEffect(t, 'platform.notification.channels.webhook.enabled', {
      compared: true,
      changed: false,
      observe,
    }),
    await assertKeyEffect(t, 'platform.notification.channels.webhook.signing-enabled', { changed: false, observe }),
  ].flat()
  const plain = { success: true, isSigned: true, type: 'text' }
  t.same(
    proofs.map(({ before, after }) => [before, after]),
    [
      [plain, { ...plain, type: 'markdown' }],
      [plain, { success: false, isSigned: false }],
      [plain, { ...plain, isSigned: false }],
    ],
  )
})

t.test('each provider has its own switch and endpoint', async (t) => {
  const services = await startServices(t)
  const observe = async (config: KeyValues, key: string) => {
    const name = key.split('.').at(-2) ?? ''
    const { send, stop } = await startWebhooks(t, services, { clock: manualClock(), config })
    services.received.length = 0
    const attributes = { ...through(name === 'lark' ? 'feishu' : name), 'webhook.provider': name }
    const { errorCode } = await send(attributes)
    await stop()
    return { path: services.received[0]?.url.split(/[/?]/)[1], isOff: errorCode === 'webhook.provider-disabled' }
  }
  const switches = await assertKeyEffect(
    t,
    'platform.notification.channels.webhook.providers.{generic,dingtalk,wecom,feishu,lark,slack,mattermost,discord,bark,pushplus,serverchan,telegram,gotify,ntfy,teams,google-chat,rocketchat}.enabled',
    { changed: false, observe },
  )
  for (const { key, before, after } of switches) t.same([before.isOff, after], [false, { isOff: true }], key)
  const endpoints = await assertKeyEffect(
    t,
    'platform.notification.channels.webhook.providers.{generic,dingtalk,wecom,feishu,lark,slack,mattermost,discord,bark,pushplus,telegram,gotify,teams,google-chat,rocketchat}.endpoint',
    { changed: `${services.url}/elsewhere`, observe },
  )
  for (const { key, after } of endpoints) t.equal(after.path, 'elsewhere', key)
})

t.test('a public service is called at its configured address', async (t) => {
  const [one, other] = [await startServices(t), await startServices(t)]
  const found = await assertKeyEffect(
    t,
    'platform.notification.channels.webhook.providers.{ntfy,serverchan}.endpoint',
    {
      compared: `${one.url}/`,
      changed: `${other.url}/`,
      observe: async (values, key) => {
        const code = key.split('.').at(-2) ?? ''
        const allowed = { 'platform.outgoing-http.allowed-hosts': [one.host, other.host] }
        const { send, stop } = await startWebhooks(t, one, { clock: manualClock(), config: { ...allowed, ...values } })
        for (const { received } of [one, other]) received.length = 0
        await send(through(code))
        await stop()
        return [one.received.length, other.received.length]
      },
    },
  )
  for (const { key, before, after } of found) {
    t.same(before, [1, 0], key)
    t.same(after, [0, 1], key)
  }
})

t.test('the secret of a provider is sent or signs the message', async (t) => {
  const services = await startServices(t)
  /** Sends a message through a provider that has an endpoint, and a secret only if the values contain it. */
  const observe = async (values: KeyValues, key: string) => {
    const name = key.split('.').at(-2) ?? ''
    const code = name === 'lark' ? 'feishu' : name
    const config = { [`${root}.providers.${name}.endpoint`]: services.endpoint(code), ...values }
    const { send, stop } = await startWebhooks(t, services, { clock: manualClock(), providers: [], config })
    services.received.length = 0
    await send({ ...through(code), 'webhook.provider': name })
    await stop()
    const request = JSON.stringify(services.received)
    return {
      isSent: request.includes('S3cret'),
      isSigned: /[?&]sign=|webhook-signature|\\"sign\\"/.test(request),
    }
  }
  const proofs = [
    await assertKeyEffect(
      t,
      'platform.notification.channels.webhook.providers.{dingtalk,wecom,feishu,lark,slack,mattermost,discord,bark,pushplus,gotify,ntfy,teams,google-chat,rocketchat}.secret',
      { changed: 'any-S3cret', observe },
    ),
    await assertKeyEffect(t, 'platform.notification.channels.webhook.providers.serverchan.secret', {
      changed: 'SCTS3cret',
      observe,
    }),
    await assertKeyEffect(t, 'platform.notification.channels.webhook.providers.telegram.secret', {
      changed: '1:S3cret',
      observe,
    }),
    await assertKeyEffect(t, 'platform.notification.channels.webhook.providers.generic.secret', {
      changed: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      observe,
    }),
  ].flat()
  for (const { key, before, after } of proofs) {
    t.same(before, { isSent: false, isSigned: false }, key)
    t.not(after.isSent, after.isSigned, key)
  }
})

t.test('a provider sends the configured message type', async (t) => {
  const services = await startServices(t)
  const found = await assertKeyEffect(
    t,
    'platform.notification.channels.webhook.providers.{generic,dingtalk,wecom,feishu,lark,slack,mattermost,discord,bark,pushplus,serverchan,telegram,gotify,ntfy,teams,google-chat,rocketchat}.message-type',
    {
      changed: 'markdown',
      observe: async (values, key) => {
        const name = key.split('.').at(-2) ?? ''
        const code = name === 'lark' ? 'feishu' : name
        const config = { [`${root}.providers.${name}.endpoint`]: services.endpoint(code), ...values }
        const { send, stop } = await startWebhooks(t, services, { clock: manualClock(), config })
        services.received.length = 0
        const { success } = await send({ ...through(code), 'webhook.provider': name })
        await stop()
        // The id of a message is random, so it is replaced.
        const body = services.received[0]?.body.replaceAll(/[0-9a-f-]{36}/g, 'id')
        return { success, body }
      },
    },
  )
  for (const { key, before, after } of found) t.same([before.success, after.success], [true, true], key)
})

t.test('a message may name its own endpoint only if configured', async (t) => {
  const [outcome] = await assertKeyEffect(t, 'platform.notification.channels.webhook.endpoint-attribute', {
    changed: 'known-hosts',
    observe: async (config) => {
      const services = await startServices(t)
      const { send } = await startWebhooks(t, services, { clock: manualClock(), config })
      const { errorCode } = await send(through('slack', { 'webhook.endpoint': services.endpoint('slack') }))
      return [services.received.length, errorCode]
    },
  })
  t.same([outcome?.before[0], outcome?.after], [1, [0, 'webhook.endpoint-not-allowed']])
})

t.test('a request ends at the deadline of the channel', async (t) => {
  const [results] = await assertKeyEffect(t, 'platform.notification.channels.webhook.deadline', {
    changed: '2s',
    observe: async (config) => {
      const [services, clock] = [await startServices(t), manualClock()]
      const { send } = await startWebhooks(t, services, { clock, config })
      services.answer('dingtalk', 'hang')
      let result = 'pending'
      const sent = send().then(({ outcome }) => {
        result = outcome
      })
      await services.arrived(1)
      await clock.advance(2_000)
      const atTwoSeconds = result
      await clock.advance(10_000)
      await sent
      return [atTwoSeconds, result]
    },
  })
  t.same(
    [results?.before, results?.after],
    [
      ['pending', 'unknown'],
      ['unknown', 'unknown'],
    ],
  )
})

t.test('the limits of providers apply unless they are disabled', async (t) => {
  const [outcomes] = await assertKeyEffect(t, 'platform.notification.channels.webhook.rate-limit-enabled', {
    changed: false,
    observe: async (values) => {
      const services = await startServices(t)
      const { send } = await startWebhooks(t, services, {
        plugins: [rateLimit, memoryStore],
        config: { 'platform.rate-limit.default-store': 'memory', ...values },
        clock: manualClock(),
      })
      return [await send(through('slack')), await send(through('slack'))].map(({ outcome }) => outcome)
    },
  })
  t.same(
    [outcomes?.before, outcomes?.after],
    [
      ['accepted', 'deferred'],
      ['accepted', 'accepted'],
    ],
  )
})
