import database from '@plinth/database'
import { assertMembers, bindSecretsToDestinations, manualClock } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import http, { http as httpRef } from '@plinth/http'
import i18n from '@plinth/i18n'
import { definePlugin, notificationChannel } from '@plinth/kernel'
import type { ConfigEntry } from '@plinth/kernel/host'
import { webhookProvider } from '@plinth/notification-channels/webhook'
import rateLimit from '@plinth/rate-limit'
import memoryStore from '@plinth/rate-limit-stores/memory'
import sharedWindow from '@plinth/rate-limit-stores/shared-window'
import sharedStore from '@plinth/shared-store'
import t from 'tap'
import { samples } from './fixtures/samples.ts'
import { startServices, startWebhooks, through } from './fixtures/services.ts'

const root = 'platform.notification.channels.webhook'
const row = (name: string, written: string | boolean | readonly string[]) =>
  ({ by: 'key', name: `${root}.${name}`, written, place: 'row 1' }) as const

t.test(
  'N-059 N-061 N-066 the channel is disabled by default; the default provider is DingTalk; both are live keys',
  async (t) => {
    const services = await startServices(t)
    const { send, running } = await startWebhooks(t, services, { config: { [`${root}.enabled`]: false } })
    t.match(await send(), { success: false, skipped: true, errorCode: 'notification.channel-disabled' })
    await running.config.apply([row('enabled', true)])
    t.match(await send(), { success: true, provider: 'dingtalk' })
    await running.config.apply([row('enabled', true), row('default-provider', 'slack')])
    t.match(await send(), { success: true, provider: 'slack' })
    const verify = (written: string) =>
      running.config.verify(`${root}.default-provider`, written, new AbortController().signal)
    t.match(await verify('slak'), { outcome: /^refused$/, reason: /Did you mean "slack"/ })
    t.hasStrict(await verify('lark'), { outcome: 'verified' }, 'an alias is a name too')
    t.match(await send({ 'webhook.provider': 'discrod' }), {
      errorCode: 'webhook.provider-unknown',
      errorMessage: /Did you mean "discord"/,
    })
    t.match(await send({ 'webhook.provider': ' SLACK ' }), { success: true, provider: 'slack' }, 'in any case')
  },
)

t.test(
  'N-045 N-060 N-062 attributes override the configuration of the provider, which overrides that of the channel',
  async (t) => {
    const services = await startServices(t)
    const { send, running } = await startWebhooks(t, services)
    const type = () => JSON.parse(services.last('dingtalk')?.body ?? '').msgtype
    await send(through('dingtalk'))
    t.equal(type(), 'text', 'by default')
    await running.config.apply([row('message-type', 'markdown')])
    await send(through('dingtalk'))
    t.equal(type(), 'markdown', 'the key of the channel')
    await running.config.apply([row('message-type', 'markdown'), row('providers.dingtalk.message-type', 'text')])
    await send(through('dingtalk'))
    t.equal(type(), 'text', 'the setting of the provider')
    await send(through('dingtalk', { 'webhook.message-type': 'Markdown' }))
    t.equal(type(), 'markdown', 'the attribute')
    const unknown = await send(through('dingtalk', { 'webhook.message-type': 'post' }))
    t.match(unknown, {
      errorCode: 'webhook.attribute-invalid',
      errorMessage: /be one of text, markdown for this provider$/,
    })
    await running.config.apply([row('message-type', 'post')])
    t.match(await send(through('slack')), { success: true }, 'a provider without the default type uses its first')

    const other = `${services.url}/dingtalk/robot/send?access_token=named`
    await send(through('dingtalk', { 'webhook.endpoint': other, 'webhook.secret': 'named-secret' }))
    t.match(services.last('dingtalk')?.url, 'access_token=named&timestamp=')
    await running.config.apply([row('providers.dingtalk.enabled', false)])
    t.hasStrict(await send(through('dingtalk')), {
      success: false,
      outcome: 'rejected',
      errorCode: 'webhook.provider-disabled',
    })
  },
)

t.test('N-062 N-066 every setting of every provider is live', async (t) => {
  const services = await startServices(t)
  const { send, running } = await startWebhooks(t, services, { providers: [] })
  const names = Object.entries(samples).flatMap(([code]) => (code === 'feishu' ? ['feishu', 'lark'] : [code]))
  for (const name of names) {
    const code = name === 'lark' ? 'feishu' : name
    const { secret = '' } = samples[code] ?? {}
    const attributes = { ...through(code), 'webhook.provider': name }
    const own = (setting: string, written: string | boolean) => row(`providers.${name}.${setting}`, written)
    const rows = [own('endpoint', services.endpoint(code))]
    await running.config.apply(rows)
    const before = services.received.length
    await send(attributes)
    const unsigned = services.received[before]
    const store = (...more: ConfigEntry[]) =>
      running.config.apply(bindSecretsToDestinations(running.config, [...rows, own('secret', secret), ...more]))
    await store()
    await send(attributes)
    const signed = services.last(code)
    t.not(JSON.stringify(signed), JSON.stringify(unsigned), `effect of the secret of ${name}`)
    await store(own('message-type', 'markdown'))
    t.match(await send(attributes), { success: true, provider: name }, `effect of the endpoint of ${name}`)
    const same = ['teams', 'google-chat'].includes(code) || signed?.body === services.last(code)?.body
    t.ok(same || services.last(code)?.body.length !== signed?.body.length, `effect of the message type of ${name}`)
    await store(own('enabled', false))
    t.match(await send(attributes), { errorCode: 'webhook.provider-disabled' }, `effect of the switch of ${name}`)
    await running.config.apply([])
  }
  t.match(await send(through('mattermost')), {
    outcome: /^rejected$/,
    errorCode: 'webhook.endpoint-missing',
    errorMessage: /set platform\..*mattermost\.endpoint$/,
  })
})

t.test(
  'N-062 lark is an alias of feishu: its own settings have priority, and its secret belongs to its address',
  async (t) => {
    const services = await startServices(t)
    const { send, running } = await startWebhooks(t, services, { providers: ['feishu'] })
    t.match(await send({ 'webhook.provider': 'lark' }), { success: true, provider: 'lark' })
    t.match(services.last('feishu')?.body, '"sign"', 'those of feishu where it has none')
    await running.config.apply([row('providers.lark.endpoint', `${services.url}/feishu/lark-robot`)])
    await send({ 'webhook.provider': 'lark' })
    t.match(services.last('feishu'), { url: '/feishu/lark-robot' })
    t.notMatch(services.last('feishu')?.body, '"sign"', 'the secret of another robot is not used')
  },
)

t.test('N-057 N-062 a configured secret is never sent to a server that a message names', async (t) => {
  const [services, foreign] = [await startServices(t), await startServices(t)]
  const hosts = { 'platform.outgoing-http.allowed-hosts': [services.host, foreign.host] }
  const { send, running } = await startWebhooks(t, services, { config: hosts })
  for (const code of Object.keys(samples)) {
    const secrets = (samples[code]?.secret ?? '').split(/[/:]/)
    await send(through(code, { 'webhook.endpoint': foreign.endpoint(code) }))
    for (const { url, headers, body } of foreign.received) {
      const all = `${url} ${JSON.stringify(headers)} ${body}`
      for (const secret of secrets) t.notOk(all.includes(secret) && secret.length > 5, `${code}: not with its secret`)
      t.notMatch(all, /[?&]sign=|webhook-signature|"sign":/, 'nor signed with it')
    }
    foreign.received.length = 0
    await send(through(code, { 'webhook.endpoint': services.endpoint(code) }))
    t.ok(services.last(code), 'the same server gets it')
  }

  await running.config.apply([row('endpoint-attribute', 'known-hosts')])
  const named = await send(through('slack', { 'webhook.endpoint': services.endpoint('slack') }))
  t.match(named, {
    outcome: /^rejected$/,
    errorCode: 'webhook.endpoint-not-allowed',
    errorMessage: /hooks\.slack\.com/,
  })
  await running.config.apply([row('endpoint-attribute', 'off')])
  const rejected = await send(through('slack', { 'webhook.endpoint': 'https://hooks.slack.com/services/x' }))
  t.match(rejected, { errorCode: 'webhook.endpoint-not-allowed' })
  t.match(await send(through('slack')), { success: true })
})

t.test('fail-over and rotation between providers, with attempts in the log', async (t) => {
  const services = await startServices(t)
  const clock = manualClock()
  const order = ['dingtalk', 'slack', 'discord']
  const { send, running, lines } = await startWebhooks(t, services, {
    clock,
    config: {
      [`${root}.strategy`]: 'failover',
      [`${root}.providers-order`]: order,
    },
  })
  t.match(await send(), { success: true, provider: 'dingtalk' }, 'begins with the first')
  services.answer('dingtalk', { status: 503, body: '' })
  t.match(await send(), { success: true, provider: 'slack' })
  const attempts = () => lines.filter((line) => line.includes('webhook not delivered')).length
  t.equal(attempts(), 1, 'every failed attempt is a line')
  services.received.length = 0
  await send()
  t.same(
    services.received.map(({ code }) => code),
    ['slack'],
    'one that failed is asked after the others',
  )
  await clock.advance(60_001)
  services.recover()
  t.match(await send(), { success: true, provider: 'dingtalk' }, 'its rest is over')

  for (const code of order) services.answer(code, { status: 503, headers: { 'retry-after': '9' }, body: '' })
  const failed = await send()
  t.hasStrict(failed, { success: false, outcome: 'deferred', retryAfterMs: 9000 })
  for (const code of order) t.match(failed.errorMessage, `${code}: `, 'the failure names every attempt')
  services.received.length = 0
  await send()
  t.equal(services.received.length, 3, 'all rest, so all are asked')
  services.recover()
  t.match(await send(), { success: true }, 'one bad minute stops nothing')

  services.answer('dingtalk', { body: '<html>' })
  await clock.advance(120_000)
  services.received.length = 0
  t.hasStrict(await send(), { success: false, outcome: 'unknown', provider: 'dingtalk' })
  t.same(
    services.received.map(({ code }) => code),
    ['dingtalk'],
    'what may have arrived is not sent again elsewhere',
  )
  t.match(await send({ 'webhook.provider': 'dingtalk' }), { success: false }, 'a named provider leaves no choice')
  services.recover()

  await running.config.apply([row('strategy', 'round-robin')])
  const turns = [await send(), await send(), await send(), await send()].map(({ provider }) => provider)
  t.same(new Set(turns.slice(0, 3)).size, 3, 'each in its turn')
  t.equal(turns[3], turns[0])
})

t.test('an endpoint gets no more messages than its provider accepts; others are deferred', async (t) => {
  const services = await startServices(t)
  const clock = manualClock()
  const setting = {
    plugins: [rateLimit, memoryStore],
    config: { 'platform.rate-limit.default-store': 'memory' },
    clock,
  }
  const { send, running } = await startWebhooks(t, services, setting)
  const limitedForMs = () =>
    running.contributions(notificationChannel).get('webhook')?.condition?.('dingtalk').limitedForMs ?? Number.NaN
  t.equal(limitedForMs(), 0)
  const results = []
  for (let count = 0; count < 21; count++) results.push(await send(through('dingtalk')))
  t.equal(results.filter(({ success }) => success).length, 20)
  t.hasStrict(results[20], { outcome: 'deferred', errorCode: 'webhook.rate-limited', provider: 'dingtalk' })
  t.ok((results[20]?.retryAfterMs ?? 0) > 0 && (results[20]?.retryAfterMs ?? 0) <= 60_000)
  const elsewhere = { 'webhook.endpoint': `${services.url}/dingtalk/robot/send?access_token=other` }
  t.match(await send(through('dingtalk', elsewhere)), { success: true }, 'another robot has its own limit')
  const chat = (id: string) => send(through('telegram', { 'webhook.telegram.chat-id': id }))
  assertMembers(
    t,
    [await chat('1'), await chat('2')],
    [{ success: true }, { success: true }],
    'Telegram counts by chat',
  )
  t.hasStrict(await chat('1'), { outcome: 'deferred' })
  t.ok(limitedForMs() > 0 && limitedForMs() <= 60_000, 'operators see that the limit is reached')
  await clock.advance(60_000)
  t.equal(limitedForMs(), 0, 'and that it is not any more')
  await running.config.apply([row('rate-limit-enabled', false)])
  t.match(await send(through('dingtalk')), { success: true })
})

t.test('the limit of an endpoint is shared by all instances', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const services = await startServices(t)
  const setting = {
    clock: manualClock(),
    plugins: [database, sharedStore, rateLimit, sharedWindow],
    config: { ...at.config, 'platform.rate-limit.default-store': 'shared-window' },
  }
  const [one, two] = [await startWebhooks(t, services, setting), await startWebhooks(t, services, setting)]
  const results = []
  for (let count = 0; count < 11; count++) {
    for (const { send } of [one, two]) results.push(await send(through('dingtalk')))
  }
  t.same(
    results.map(({ outcome }) => outcome),
    [...Array(20).fill('accepted'), 'deferred', 'deferred'],
  )
  t.equal(services.received.length, 20)
})

t.test('a message without text is not sent, unless it contains the whole payload', async (t) => {
  const services = await startServices(t)
  const { send } = await startWebhooks(t, services)
  const nothing = { subject: ' ', content: '' }
  const result = await send({ ...through('generic'), 'webhook.payload': '' }, { ...nothing, template: 'nobody.has-it' })
  t.match(result, { outcome: /^rejected$/, errorCode: 'webhook.attribute-invalid', errorMessage: /text must be there/ })
  t.equal(services.received.length, 0)
  const whole = { ...through('generic'), 'webhook.payload': { ping: true } }
  t.hasStrict(await send(whole, { ...nothing, template: 'nobody.has-it' }), { outcome: 'accepted' })
})

/** Admits every request, as an identity plugin admits a user who has the permission. */
const door = definePlugin({
  id: 'test.door',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http: httpRef },
  setup: ({ services }) => services.http.guard({ name: 'test.door', stage: 'access', forRoute: () => () => {} }),
})

t.test('N-047 N-128 send-metadata lists the attributes of each provider, and a form may send them', async (t) => {
  const services = await startServices(t)
  const { running } = await startWebhooks(t, services, {
    plugins: [http, i18n, door],
    config: { 'platform.http.port': 0, 'platform.http.response-check': true },
  })
  const call = async (method: 'GET' | 'POST', path: string, locale: string, payload?: object) => {
    const url = `/api/v1/notifications/${path}`
    const headers = { 'accept-language': locale }
    return (await running.service(httpRef).inject({ method, url, headers, ...(payload && { payload }) })).json()
  }
  interface Attribute {
    readonly name: string
    readonly displayName: string
    readonly sensitive: boolean
  }
  const metadata = async (locale: string) => {
    const { data } = await call('GET', 'send-metadata', locale)
    const channel = data.channels.find(({ code }: { code: string }) => code === 'webhook')
    const providers: { code: string; displayName: string; messageTypes: string[]; attributes: Attribute[] }[] =
      channel.providers
    return { allowed: data.attributes as string[], providers, all: providers.flatMap(({ attributes }) => attributes) }
  }
  const [english, chinese] = [await metadata('en'), await metadata('zh-CN')]
  const codes = [...running.contributions(webhookProvider).values()].flatMap(({ provider }) => [
    provider.code,
    ...(provider.aliases ?? []),
  ])
  t.same(
    english.providers.map(({ code }) => code),
    codes.sort(),
    'each code and alias',
  )
  const of = ({ providers }: typeof english, code: string) => providers.find((provider) => provider.code === code)
  const text = { type: 'text', values: null, minimum: null, maximum: null, sensitive: false }
  assertMembers(t, of(english, 'ntfy'), {
    displayName: 'ntfy',
    messageTypes: ['text', 'markdown'],
    attributes: [
      { ...text, name: 'webhook.ntfy.topic', displayName: 'Topic' },
      { ...text, name: 'webhook.ntfy.priority', displayName: 'Priority', type: 'integer', minimum: 1, maximum: 5 },
      { ...text, name: 'webhook.ntfy.tags', displayName: 'Tags', type: 'list' },
      { ...text, name: 'webhook.ntfy.click', displayName: 'Address to open' },
      { ...text, name: 'webhook.ntfy.attach', displayName: 'Address of an attachment' },
      { ...text, name: 'webhook.ntfy.filename', displayName: 'Name of the attachment' },
      { ...text, name: 'webhook.ntfy.actions', displayName: 'Actions', type: 'objects', maximum: 3, sensitive: true },
      { ...text, name: 'webhook.ntfy.markdown', displayName: 'Markdown', type: 'boolean' },
    ],
  })
  const chineseTitles = of(chinese, 'ntfy')?.attributes.map(({ displayName }) => displayName)
  t.strictSame(chineseTitles?.slice(0, 4), ['主题', '优先级', '标签', '点击打开的地址'])
  assertMembers(t, of(english, 'telegram')?.attributes, [
    { name: 'webhook.telegram.chat-id' },
    { name: 'webhook.telegram.parse-mode', values: ['Markdown', 'MarkdownV2', 'HTML'] },
  ])
  assertMembers(t, of(english, 'dingtalk')?.attributes, [
    { name: 'webhook.dingtalk.at-mobiles', type: 'list', sensitive: true },
    { name: 'webhook.dingtalk.at-user-ids', type: 'list', sensitive: false },
    { name: 'webhook.dingtalk.at-all', type: 'boolean', sensitive: false },
  ])
  for (const { name, displayName } of english.all) t.match(displayName, /^[\x20-\x7e]+$/, `${name} in English`)
  t.ok(
    chinese.all.some(({ displayName }, index) => displayName !== english.all[index]?.displayName),
    'titles in two languages',
  )

  const send = (attributes: object) =>
    call('POST', 'send', 'en', { channels: ['webhook'], subject: 'Hi', content: 'there', attributes })
  for (const { name, sensitive } of english.all) {
    t.equal(english.allowed.includes(name), !sensitive, `${name} is ${sensitive ? 'not ' : ''}for pages`)
  }
  t.hasStrict(await send({ 'webhook.provider': 'ntfy', 'webhook.ntfy.topic': 'alarms', 'webhook.ntfy.priority': 4 }), {
    code: '200',
  })
  t.match(JSON.parse(services.last('ntfy')?.body ?? ''), { priority: 4 })
  t.hasStrict(await send({ 'webhook.provider': 'dingtalk', 'webhook.dingtalk.at-mobiles': '13800138000' }), {
    code: '400',
    data: { reason: 'notification.attribute-refused', attribute: 'webhook.dingtalk.at-mobiles' },
  })
})

t.test('N-056 a failure contains provider, code, message and a hint, in the language of the site', async (t) => {
  const services = await startServices(t)
  const failure = { body: { errcode: 310000, errmsg: 'sign not match' } }
  for (const [locale, hint] of [
    ['en', /Check that the configured secret matches/],
    ['zh-CN', /核对配置的密钥/],
  ] as const) {
    const config = { 'platform.i18n.default-locale': locale }
    const { send } = await startWebhooks(t, services, { plugins: [i18n], config })
    services.answer('dingtalk', failure)
    const result = await send(through('dingtalk'))
    const said = { provider: 'dingtalk', providerCode: '310000', providerMessage: 'sign not match', hint }
    t.match(result, { success: false, outcome: /^rejected$/, errorCode: 'webhook.signature-mismatch', ...said })
    t.equal(result.errorMessage, 'DingTalk refused the message (HTTP 200, 310000)')
    services.recover()
    const cut = await send(through('wecom'), { content: '汉🎉'.repeat(2000) })
    t.match(cut, { success: true, hint: /shortened|截断/ }, 'what was cut says so')
    const { content } = JSON.parse(services.last('wecom')?.body ?? '').text
    t.ok(Buffer.byteLength(content) <= 2048 && Buffer.byteLength(content) > 2035 && content.isWellFormed())
  }
})
