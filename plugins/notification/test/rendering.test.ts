/** Tests templates in sent messages and previews (document 2 of the specification, "Template rules"). */
import database from '@plinth/database'
import { applyLiveValues, assertKeyEffect, assertMembers, startForTest } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import http, { http as httpRef } from '@plinth/http'
import i18n from '@plinth/i18n'
import iam, { accounts } from '@plinth/iam'
import { defineProduct } from '@plinth/kernel'
import notification, { notification as notificationRef } from '@plinth/notification'
import log from '@plinth/notification-channels/log'
import memory, { sentNotifications } from '@plinth/notification-channels/memory'
import template from '@plinth/template'
import { pino } from 'pino'
import t, { type Test } from 'tap'

const administrator = { username: 'admin', password: 'correct horse battery staple' }
const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const validates = 'platform.notification.template.validate-before-send'
const failsOnMissing = 'platform.notification.template.fail-on-missing-variables'

async function start(t: Test, set: Record<string, string> = {}) {
  const lines: Record<string, unknown>[] = []
  const logger = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) })
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const config = {
    ...db.config,
    'platform.http.port': 0,
    'platform.http.response-check': true,
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
  }
  const plugins = [database, http, i18n, iam, template, notification, log, memory]
  const running = await startForTest(defineProduct({ name: 'letters', plugins, config }), { set, logger })
  t.teardown(() => running.stop('test ended'))
  await running.service(accounts).createAdministrator(administrator, origin)
  const server = running.service(httpRef)
  const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: administrator })
  const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
  const call = async (method: 'GET' | 'POST', url: string, payload?: object) => {
    const body = payload === undefined ? {} : { payload }
    return (await server.inject({ method, url: `/api/v1/${url}`, headers, ...body })).json()
  }
  const save = async (members: object) => {
    const { code, message } = await call('POST', 'admin/templates', { channel: 'all', locale: 'en', ...members })
    if (code !== '200') throw new Error(message)
  }
  return {
    running,
    lines,
    call,
    save,
    sent: running.service(sentNotifications),
    facade: running.service(notificationRef),
    send: (message: object) => call('POST', 'notifications/send', { channels: ['memory'], ...message }),
    preview: (message: object) => call('POST', 'notifications/template-preview', message),
  }
}

t.test('N-020 N-021 N-022 N-023 a template renders a message for each channel', async (t) => {
  const { save, facade, sent, send, preview, call, lines } = await start(t)
  await save({ code: 'welcome', subject: 'Hi {{name}}', content: 'all: {{name}} {{city}}' })
  const one = async (draft: object, channel = 'memory') => {
    sent.clear()
    await facade.sendTo(channel, draft)
    return sent.messages.at(-1)
  }
  const welcome = { template: 'welcome', variables: { name: '<Ada>', city: 'Ulm' }, subject: 'mine', content: 'mine' }

  t.match(
    await one(welcome),
    { subject: 'Hi <Ada>', content: 'all: <Ada> Ulm', template: 'welcome', variables: welcome.variables },
    'N-022 the template for all channels is the fallback',
  )
  const html = '<p>{{name}}</p>'
  await save({
    code: 'welcome',
    channel: 'memory',
    subject: 'S',
    content: 'memory: {{name}}',
    html,
    htmlFormat: 'html',
  })
  await save({ code: 'welcome', channel: 'memory', locale: 'zh-CN', subject: 'S', content: '内存：{{name}}' })
  const own = await one({ ...welcome, html: '<b>mine</b>' })
  t.match(own, { content: 'memory: <Ada>', html: '<p>&lt;Ada&gt;</p>' }, 'N-021 the own template of the channel wins')
  const chinese = await one({ ...welcome, locale: 'zh-CN', html: '<b>mine</b>' })
  t.match(chinese, { content: '内存：<Ada>' }, 'N-020 code, channel and language decide')
  t.notOk(chinese?.html, 'an HTML form of another text is left out')
  for (const template of ['', ' ', 'unknown']) {
    t.match(
      await one({ ...welcome, template, html: '<b>mine</b>' }),
      { subject: 'mine', content: 'mine', html: '<b>mine</b>' },
      `N-023 with the code "${template}" subject and content are as given`,
    )
  }
  t.match(
    await one({ ...welcome, template: '', content: '{{name}}' }),
    { content: '{{name}}' },
    'N-023 and filled in with nothing',
  )

  await t.test('N-133 messages of administrators are rendered like those of plugins', async (t) => {
    sent.clear()
    const { code } = await send({ template: 'welcome', variables: welcome.variables, subject: 'mine', content: 'mine' })
    t.equal(code, '200')
    assertMembers(t, sent.messages, [{ subject: 'S', content: 'memory: <Ada>' }])
  })

  await t.test('N-134 the preview renders, sends nothing and logs nothing', async (t) => {
    const rows = async () => (await call('GET', 'notification-send-logs/summary')).data
    const before = await rows()
    sent.clear()
    const { code, data } = await preview({ ...welcome, channel: 'memory' })
    t.equal(code, '200')
    t.same(data, {
      subject: 'S',
      content: 'memory: <Ada>',
      html: '<p>&lt;Ada&gt;</p>',
      missingVariables: [],
      variables: [{ name: 'name', needed: true }],
      templateLocale: 'en',
      fallback: [{ locale: 'en', rule: 'exact', isDefaultLanguage: true, found: 'en' }],
    })
    assertMembers(t, (await preview({ template: 'welcome', channel: 'LOG', variables: { name: 'x' } })).data, {
      content: 'all: x ',
      html: null,
      missingVariables: ['city'],
    })
    t.match((await preview({ ...welcome, channel: 'memory', locale: 'zh' })).data, { content: '内存：<Ada>' })
    t.match((await preview({ subject: 'a', content: '{{b}}', channel: 'log' })).data, {
      subject: 'a',
      content: '{{b}}',
    })
    t.hasStrict(await preview({ ...welcome, channel: 'memori' }), {
      code: '400',
      data: { reason: 'notification.channel-unknown', field: 'channel' },
    })
    t.hasStrict(await preview({ channel: 'log' }), { code: '400', data: { reason: 'notification.message-empty' } })
    t.same(sent.messages, [])
    t.same(await rows(), before)
  })

  await t.test('N-024 a missing variable does not block the send, and renders as nothing', async (t) => {
    sent.clear()
    lines.splice(0)
    assertMembers(t, await send({ template: 'welcome', channels: ['memory'], variables: {} }), {
      code: '200',
      data: [{ success: true }],
    })
    assertMembers(t, sent.messages, [{ content: 'memory: ' }])
    const named = { channel: 'memory', template: 'welcome', missingVariables: ['name'] }
    const reported = lines.filter(({ msg }) => msg === 'a message lacks variables of its template')
    assertMembers(
      t,
      reported,
      [{ level: 40, messageId: sent.messages[0]?.id, ...named }],
      'the log names what was missing',
    )
    t.equal(reported.length, 1)
  })
})

t.test('N-025 fail-on-missing-variables blocks the send and names the missing variables', async (t) => {
  const { save, facade, sent, send, preview } = await start(t, { [failsOnMissing]: 'true' })
  await save({ code: 'bill', subject: '{{number}}', content: '{{amount}} {{due.day}} {{#if note}}{{note}}{{/if}}' })
  const bill = { template: 'bill', variables: { number: 'A-1' } }
  t.match(await send(bill), {
    code: /^503$/,
    data: {
      result: { errorCode: 'notification.variables-missing', errorMessage: /amount, due\.day/, outcome: /^rejected$/ },
    },
  })
  const results = await facade.send(bill, { channels: ['memory', 'log'] })
  assertMembers(t, results, [
    { errorCode: 'notification.variables-missing' },
    { errorCode: 'notification.variables-missing' },
  ])
  t.same(sent.messages, [])
  assertMembers(t, (await preview({ ...bill, channel: 'memory' })).data, { missingVariables: ['amount', 'due.day'] })
  await save({ code: 'note', subject: '', content: '{{amount}} {{#if note}}{{note}}{{/if}}' })
  t.hasStrict(await send({ template: 'note', variables: { amount: null } }), { code: '200' }, 'null is a value')
  t.equal(sent.messages.length, 1)
})

t.test('N-026 with validate-before-send off nothing is checked', async (t) => {
  const { save, sent, send } = await start(t, { [failsOnMissing]: 'true', [validates]: 'false' })
  await save({ code: 'bill', subject: '{{number}}', content: '{{amount}} EUR' })
  t.hasStrict(await send({ template: 'bill' }), { code: '200' })
  assertMembers(t, sent.messages, [{ content: ' EUR' }])
})

t.test('missing variables of a message are handled as configured', async (t) => {
  const { running, save, send, lines } = await start(t)
  await save({ code: 'bill', subject: '{{number}}', content: '{{amount}} EUR' })
  const [codes] = await assertKeyEffect(t, 'platform.notification.template.fail-on-missing-variables', {
    changed: true,
    async observe(values) {
      await applyLiveValues(running, values)
      return (await send({ template: 'bill' })).code
    },
  })
  t.match(codes, { before: '200', after: '503' })
  const [logged] = await assertKeyEffect(t, 'platform.notification.template.validate-before-send', {
    changed: false,
    async observe(values) {
      await applyLiveValues(running, values)
      lines.splice(0)
      await send({ template: 'bill' })
      return lines.filter(({ msg }) => msg === 'a message lacks variables of its template').length
    },
  })
  t.match(logged, { before: 1, after: 0 })
})

t.test('N-023 a preview lists the variables of the template, and dotted names are members', async (t) => {
  const { save, send, sent, preview } = await start(t)
  const content = 'Dear {{user.name}} of {{user.city}}{{#if note}}: {{note}}{{/if}}'
  await save({ code: 'sale', subject: '{{price}}', content })
  const variables = { price: 7, 'user.name': 'Ada', 'price.unit': 'EUR' }
  const { data } = await preview({ channel: 'memory', template: 'sale', locale: 'de', variables })
  t.strictSame(data, {
    subject: '7',
    content: 'Dear Ada of ',
    html: null,
    missingVariables: ['user.city'],
    variables: [
      { name: 'price', needed: true },
      { name: 'user.name', needed: true },
      { name: 'user.city', needed: true },
      { name: 'note', needed: false },
    ],
    templateLocale: 'en',
    fallback: [
      { locale: 'de', rule: 'exact', isDefaultLanguage: false, found: null },
      { locale: 'de', rule: 'language', isDefaultLanguage: false, found: null },
      { locale: 'de', rule: 'region', isDefaultLanguage: false, found: null },
      { locale: 'en', rule: 'exact', isDefaultLanguage: true, found: 'en' },
    ],
  })
  await send({ template: 'sale', variables: { ...variables, 'user.city': 'Ulm', note: 'soon' } })
  t.equal(sent.messages.at(-1)?.content, 'Dear Ada of Ulm: soon')
  const none = { variables: [], templateLocale: null }
  t.hasStrict((await preview({ channel: 'memory', template: 'unknown', subject: 'S' })).data, none)
})

t.test('without the template plugin a message is sent unchanged', async (t) => {
  const product = defineProduct({
    name: 'plain',
    plugins: [notification, memory],
    config: { 'platform.notification.default-channel': 'memory' },
  })
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  await running.service(notificationRef).send({ template: 'welcome', content: 'as given {{name}}' })
  assertMembers(t, running.service(sentNotifications).messages, [{ content: 'as given {{name}}', template: 'welcome' }])
})

t.test('a message contains the positions of values in its subject and content', async (t) => {
  const { save, facade, sent } = await start(t)
  const values = async (draft: object) => {
    sent.clear()
    await facade.sendTo('memory', draft)
    const { subject = '', content = '', valueRanges } = sent.messages.at(-1) ?? {}
    const cut = (text: string, ranges: readonly (readonly [number, number])[] = []) =>
      ranges.map(([from, to]) => text.slice(from, to))
    return [cut(subject, valueRanges?.subject), cut(content, valueRanges?.content)]
  }
  await save({
    code: 'reply',
    subject: ' {{gap}} {{by}} replied',
    content: '**{{by}}**: {{#each lines}}> {{this}}\n{{/each}}{{missing}}',
  })
  const variables = { gap: '\n', by: '👩‍🚀 <Ada>\n', lines: ['one', '**'] }
  t.same(await values({ template: 'reply', variables }), [['👩‍🚀 <Ada> '], ['👩‍🚀 <Ada>\n', 'one', '**']])
  const key = 'messages.notification.channel-unknown-nearest'
  const params = { channel: 'a\uFDD0{{b}}\uFDD1', nearest: '' }
  t.same(await values({ content: key, variables: params }), [[], ['a{{b}}']], 'also in a text of the catalogue')
  t.same(await values({ content: 'messages.no.such.text', variables: params }), [[], []])
  t.same(await values({ content: '{{by}}', variables }), [[], []], 'a text that is not rendered holds none')
})

t.test('no channel receives half of a surrogate pair', async (t) => {
  const { save, facade, sent } = await start(t)
  await save({ code: 'half', subject: '{{a}}', content: 'b{{a}}', html: '<p>{{a}}</p>', htmlFormat: 'html' })
  const half = '\ud83d'
  const cycle: Record<string, unknown> = { half }
  cycle['self'] = cycle
  const draft = {
    subject: half,
    content: `x${half}y`,
    html: half,
    variables: { a: half, n: 1 },
    attributes: { module: `m${half}`, 'webhook.payload': { deep: [{ text: half }] }, cycle },
  }
  await facade.sendTo('memory', draft)
  await facade.sendTo('memory', { ...draft, template: 'half' })
  const [plain, filled] = sent.messages
  t.match(plain, { subject: '\ufffd', content: 'x\ufffdy', html: '\ufffd', variables: { a: '\ufffd', n: 1 } })
  assertMembers(t, plain?.attributes, { module: 'm\ufffd', 'webhook.payload': { deep: [{ text: '\ufffd' }] } })
  t.match(filled, { subject: '\ufffd', content: 'b\ufffd', html: '<p>\ufffd</p>' })
  await facade.sendTo('memory', { content: 'whole 🎉', variables: { a: '🎉' } })
  t.match(sent.messages.at(-1), { content: 'whole 🎉', variables: { a: '🎉' } })
})
