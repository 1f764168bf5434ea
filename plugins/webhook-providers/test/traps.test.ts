/** Tests unexpected behaviour of services, by the requests that the product sends. */

import type { WebhookSample } from '@plinth/dev/conformance/webhook'
import { assertMembers, manualClock } from '@plinth/dev/testing'
import t from 'tap'
import { startServices, startWebhooks, through } from './fixtures/services.ts'

const markdown = { 'webhook.message-type': 'markdown' }

t.test('mentioned users appear in the Markdown text', async (t) => {
  const services = await startServices(t)
  const { send } = await startWebhooks(t, services)
  const body = (code: string) => JSON.parse(services.last(code)?.body ?? '')
  const mobiles = { ...markdown, 'webhook.dingtalk.at-mobiles': '13800138000', 'webhook.dingtalk.at-user-ids': 'u1' }
  t.match(await send(through('dingtalk', mobiles)), { success: true })
  assertMembers(t, body('dingtalk'), {
    markdown: { text: '### Release <42>\nIt is *out*\n\n@13800138000 @u1' },
    at: { atMobiles: ['13800138000'], atUserIds: ['u1'], isAtAll: false },
  })

  const users = { 'webhook.wecom.mentioned-list': 'u1,@all' }
  t.match(await send(through('wecom', { ...markdown, ...users })), { success: true })
  t.same(body('wecom'), {
    msgtype: 'markdown',
    markdown: { content: '## Release <42>\nIt is *out*\n<@u1> <@all>' },
  })
  const before = services.received.length
  const phones = { 'webhook.wecom.mentioned-mobile-list': '13800138000' }
  t.match(await send(through('wecom', { ...markdown, ...phones })), {
    success: false,
    outcome: /^rejected$/,
    errorCode: 'webhook.attribute-invalid',
    errorMessage: /^webhook\.wecom\.mentioned-mobile-list must be sent as text/,
  })
  t.equal(services.received.length, before, 'nobody is left out silently')
  t.match(await send(through('wecom', phones)), { success: true })
  assertMembers(t, body('wecom'), { text: { mentioned_mobile_list: ['13800138000'] } })
})

t.test('N-053 Slack and Mattermost: an empty response or "ok" is a success, other text is not', async (t) => {
  const services = await startServices(t)
  const { send } = await startWebhooks(t, services)
  for (const code of ['slack', 'mattermost']) {
    for (const [body, success] of [
      ['', true],
      ['ok', true],
      ['ok\n', true],
      ['OK', false],
      ['okay', false],
      ['not ok', false],
    ] as const) {
      services.answer(code, { body })
      const result = await send(through(code))
      t.equal(result.success, success, `${code}: ${JSON.stringify(body)}`)
    }
  }
})

t.test('a token in a query is sent as the service issued it, wherever it was copied from', async (t) => {
  const services = await startServices(t)
  const { send } = await startWebhooks(t, services)
  const query = async (code: string, parameter: string, more: Record<string, unknown>) => {
    t.match(await send(through(code, more)), { success: true }, code)
    return new URL(services.last(code)?.url ?? '', services.url).search
      .slice(1)
      .split('&')
      .filter((pair) => pair.startsWith(`${parameter}=`))
  }
  for (const [code, parameter] of [
    ['teams', 'sig'],
    ['google-chat', 'token'],
    ['wecom', 'key'],
  ] as const) {
    const at = (rest: string) => ({ 'webhook.endpoint': `${services.url}/${code}/x${rest}` })
    for (const secret of ['a%2Bb%2Fc%3D', 'a+b/c=']) {
      const sent = await query(code, parameter, { ...at(''), 'webhook.secret': secret })
      t.same(sent, [`${parameter}=a%2Bb%2Fc%3D`], `${code}: ${secret}`)
    }
    t.same(await query(code, parameter, { ...at(''), 'webhook.secret': 'a%zzb' }), [`${parameter}=a%25zzb`])
    const whole = await query(code, parameter, { ...at(`?v=1&${parameter}=a%2Bb`), 'webhook.secret': 'other' })
    t.same(whole, [`${parameter}=a%2Bb`], `${code}: that of the address stays as it is`)
  }
})

t.test('values of the sender are kept, and missing values are omitted', async (t) => {
  const services = await startServices(t)
  const { send } = await startWebhooks(t, services, { clock: manualClock(1_700_000_000_000) })
  const body = async (code: string, more: Record<string, unknown> = {}, texts = {}) => {
    t.match(await send(through(code, more), texts), { success: true }, code)
    return JSON.parse(services.last(code)?.body ?? '')
  }
  const click = { 'client::notification': { click: { url: 'https://x' } } }
  const shown = { 'client::display': { contentType: 'text/markdown' } }
  const extras = (value: object) => ({ ...markdown, 'webhook.gotify.extras': value })
  t.same((await body('gotify', extras(click))).extras, { ...click, ...shown }, 'Gotify: extras of both')
  const plain = { 'client::display': { contentType: 'text/plain' } }
  t.same((await body('gotify', extras(plain))).extras, plain)
  t.notOk('extras' in (await body('gotify')))
  t.notOk('priority' in (await body('gotify')), 'Gotify: the priority of the application')

  t.notOk('parse_mode' in (await body('telegram')), 'Telegram: text has no markup')
  t.notOk('at' in (await body('dingtalk')))

  const forum = await body('discord', { 'webhook.discord.thread-name': 'Releases' })
  t.equal(forum.thread_name, 'Releases', 'Discord: a forum takes no message without a thread')
  t.notOk('thread_name' in (await body('discord')))

  const thread = await body('google-chat', { 'webhook.google-chat.thread-key': 'releases' })
  t.same(thread.thread, { threadKey: 'releases' })
  t.match(services.last('google-chat')?.url, 'messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD')

  const lines = [[{ tag: 'text', text: 'one' }], [{ tag: 'text', text: 'two' }]]
  const post = { 'webhook.message-type': 'post' }
  t.match(await body('feishu', post, { content: 'one\ntwo' }), {
    msg_type: 'post',
    content: { post: { zh_cn: { title: 'Release <42>', content: lines } } },
  })

  const own = await body('bark', { 'webhook.endpoint': `${services.url}/bark/ownDeviceKey99` })
  t.equal(services.last('bark')?.url, '/bark/ownDeviceKey99', 'Bark: an address that holds the key stays')
  t.match(own, { title: 'Release <42>', body: 'It is *out*' })

  await body('ntfy', { 'webhook.secret': 'ada:pass-word', 'webhook.endpoint': `${services.url}/` })
  const login = Buffer.from('ada:pass-word').toString('base64')
  t.equal(services.last('ntfy')?.headers['authorization'], `Basic ${login}`)
  t.match(await body('pushplus', {}, { subject: '' }), { title: 'It is *out*', content: 'It is *out*' })
})

t.test('the retry time comes from the service: seconds, fractions, a date, or a member of the response', async (t) => {
  const services = await startServices(t)
  const now = 1_700_000_000_000
  const cases: readonly (readonly [code: string, answer: WebhookSample, waitMs: number])[] = [
    ['slack', { status: 429, headers: { 'retry-after': '30' }, body: '' }, 30_000],
    ['slack', { status: 429, headers: { 'retry-after': new Date(now + 45_000).toUTCString() }, body: '' }, 45_000],
    ['slack', { status: 429, headers: { 'retry-after': new Date(now - 45_000).toUTCString() }, body: '' }, 0],
    ['slack', { status: 429, headers: { 'retry-after': '9999999999' }, body: '' }, 86_400_000],
    ['discord', { status: 429, headers: { 'retry-after': '0.65' }, body: { message: 'slow' } }, 650],
    ['discord', { status: 429, body: { message: 'slow', retry_after: 1.25, global: false } }, 1250],
    ['telegram', { status: 429, body: { ok: false, error_code: 429, parameters: { retry_after: 34 } } }, 34_000],
    ['dingtalk', { body: { errcode: 130101, errmsg: 'send too fast' } }, 60_000],
    ['wecom', { body: { errcode: 45009, errmsg: 'api freq out of limit' } }, 60_000],
  ]
  const { send } = await startWebhooks(t, services, { clock: manualClock(now) })
  for (const [code, answer, retryAfterMs] of cases) {
    services.answer(code, answer)
    const result = await send(through(code))
    t.hasStrict(result, { outcome: 'deferred', retryAfterMs, provider: code }, `${code}: ${JSON.stringify(answer)}`)
  }
  services.answer('slack', { status: 429, headers: { 'retry-after': 'soon' }, body: '' })
  t.notOk('retryAfterMs' in (await send(through('slack'))), 'what nobody understands is no time')
})
