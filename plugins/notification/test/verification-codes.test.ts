import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import database from '@plinth/database'
import { assertMembers, manualClock, rejectsWith, until } from '@plinth/dev/testing'
import { createDatabase, startMigrated } from '@plinth/dev/testing/database'
import http, { http as httpRef } from '@plinth/http'
import i18n from '@plinth/i18n'
import { verificationCodeSender } from '@plinth/iam'
import verification from '@plinth/iam/verification'
import { definePlugin, defineProduct, type JsonValue, type Plugin } from '@plinth/kernel'
import mailPlugin from '@plinth/mail'
import notification from '@plinth/notification'
import logChannel from '@plinth/notification-channels/log'
import mailChannel from '@plinth/notification-channels/mail'
import rateLimit from '@plinth/rate-limit'
import memoryStore from '@plinth/rate-limit-stores/memory'
import sharedStore from '@plinth/shared-store'
import site from '@plinth/site'
import systemConfig from '@plinth/system-config'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { partsOf, startMailServer } from '../../mail/test/fixtures/mail-server.ts'
import { channel, type Send, testChannelPlugin } from './fixtures/channel.ts'

type Config = Readonly<Record<string, JsonValue>>

const root = 'platform.iam.auth.login.verification'

/** The codes are so long that no hash, trace id or time contains one by chance. */
const longCodes = { [`${root}.sms.code-length`]: 10, [`${root}.email.code-length`]: 10 }

async function start(
  t: Test,
  channels: readonly Plugin[],
  config: Config = {},
  translator: readonly Plugin[] = [i18n],
) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const clock = manualClock()
  const log: string[] = []
  const product = defineProduct({
    name: 'codes',
    plugins: [
      database,
      http,
      site,
      rateLimit,
      memoryStore,
      sharedStore,
      verification,
      notification,
      logChannel,
      systemConfig,
      testChannelPlugin,
      ...translator,
      ...channels,
    ],
    config: {
      ...db.config,
      'platform.http.port': 0,
      'platform.http.access-log': true,
      'platform.system-config.master-key-file': join(db.directory, 'master.key'),
      ...config,
    },
  })
  const logger = pino({ level: 'trace' }, { write: (line) => void log.push(line) })
  const running = await startMigrated(product, { clock, logger })
  t.teardown(() => running.stop('test ended'))
  const call = async (url: string, body: object, headers: Record<string, string> = {}) => {
    const response = await running
      .service(httpRef)
      .inject({ method: 'POST', url: `/api/v1/auth/verify/${url}`, payload: body, headers })
    return { status: response.statusCode, ...response.json() }
  }
  const files = () =>
    Buffer.concat(readdirSync(db.directory).map((name) => readFileSync(join(db.directory, name)))).toString('latin1')
  const sendLogs = async (query: string) =>
    (await running.service(httpRef).inject({ url: `/api/v1/notification-send-logs?${query}` })).json().data
  return { running, clock, log, call, files, sendLogs }
}

const mobile = '+8613800000001'
const email = 'Someone@Example.com'

t.test('R-088 text messages use the channel sms, e-mails the channel mail', async (t) => {
  const [sms, mail] = [channel('sms', ['mobile']), channel('mail', ['email'])]
  const { call } = await start(t, [sms.plugin, mail.plugin])
  const headers = { 'accept-language': 'en', 'x-trace-id': 'trace-0001' }
  t.hasStrict(await call('sms-codes', { mobile }, headers), { code: '200' })
  t.hasStrict(await call('email-codes', { email }, headers), { code: '200' })
  t.same([sms.sent.length, mail.sent.length], [1, 1])

  const text = sms.last()
  const code = String(text?.variables['code'])
  t.match(code, /^\d{6}$/)
  t.same(text?.recipients, [{ kind: 'mobile', number: mobile }])
  t.equal(text?.content, `Your verification code is ${code}. It is valid for 5 minutes. Do not share it with anyone.`)
  t.same(text?.variables, { code, validity: '5 minutes' })
  t.same(text?.secretVariables, ['code'])
  t.same(text?.attributes, { traceId: 'trace-0001' }, 'nothing that is not configured')
  t.match(text, { subject: '', locale: 'en' })
  t.notOk('template' in (text ?? {}))
  t.hasStrict(await call('sms-codes/check', { mobile, code }), { code: '200', data: { verified: true } })

  const letter = mail.last()
  assertMembers(t, letter, { subject: 'Verification code', recipients: [{ kind: 'email', address: email }] })
  t.match(letter?.content, String(letter?.variables['code']))
  t.hasStrict(await call('email-codes/check', { email, code: letter?.variables['code'] }), { code: '200' })

  t.hasStrict(await call('sms-codes', { mobile: '+8613800000002' }, { 'accept-language': 'zh' }), { code: '200' })
  const chinese = sms.last()
  t.equal(chinese?.content, `您的验证码是 ${chinese?.variables['code']}，5分钟内有效，请勿告诉他人。`)
  const keys = [...sms.sent, ...mail.sent].map(({ context }) => context.idempotencyKey)
  t.equal(new Set(keys).size, 3, 'each code is a message of its own')
})

t.test('R-094 a code by e-mail uses the channel mail and reaches a mail server', async (t) => {
  const server = await startMailServer(t)
  const { call } = await start(t, [mailPlugin, mailChannel], server.config)
  t.hasStrict(await call('email-codes', { email }, { 'accept-language': 'en' }), { code: '200' })
  const [letter] = server.received
  t.same(letter?.to, ['Someone@example.com'], 'a host has no case')
  const code = /\b\d{6}\b/.exec(letter === undefined ? '' : (partsOf(letter)['text/plain'] ?? ''))?.[0]
  t.match(code, /^\d{6}$/)
  t.hasStrict(await call('email-codes/check', { email, code }), { code: '200', data: { verified: true } })
  t.equal(server.received.length, 1)
})

t.test('R-088 R-089 the configured message settings reach the channel', async (t) => {
  const [sms, mail] = [channel('sms', ['mobile']), channel('mail', ['email'])]
  const { call } = await start(
    t,
    [sms.plugin, mail.plugin],
    {
      [`${root}.sms.template`]: 'login',
      [`${root}.sms.template-code`]: 'SMS_1',
      [`${root}.sms.sign-name`]: 'Plinth',
      [`${root}.sms.provider`]: 'acme',
      [`${root}.sms.ttl`]: '90s',
      [`${root}.email.template`]: 'mail-code',
      [`${root}.email.subject`]: 'Your code',
      [`${root}.email.ttl`]: '1h',
    },
    [],
  )
  await call('sms-codes', { mobile })
  await call('email-codes', { email })
  t.match(sms.last(), {
    template: 'login',
    attributes: { 'sms.template-code': 'SMS_1', 'sms.sign-name': 'Plinth', 'sms.provider': 'acme', traceId: /./ },
    content: /^Your verification code is \d{6}\. It is valid for 90 seconds\./,
  })
  t.match(mail.last(), { template: 'mail-code', subject: 'Your code', content: /valid for 1 hour\./ })
})

t.test('R-095 B22 a failing channel invalidates the code, and no error contains the code', async (t) => {
  const [sms, mail] = [channel('sms', ['mobile']), channel('mail', ['email'])]
  const config = { ...longCodes, 'platform.notification.send-deadline': '1m' }
  const { call, clock, log, files } = await start(t, [sms.plugin, mail.plugin], config)
  const responses: unknown[] = []
  let sends = 0
  const fails = async (why: string, behave: Send) => {
    sms.behave = behave
    const to = { mobile: `+86138000001${String(++sends).padStart(2, '0')}` }
    const sending = call('sms-codes', to)
    if (why === 'hangs') {
      await until(() => sms.sent.length >= sends, 'the messages are sent', 0)
      await clock.advance(10_000)
    }
    responses.push(await sending)
    t.hasStrict(responses.at(-1), { status: 200, code: '503', data: { reason: 'verification.delivery-failed' } }, why)
    responses.push(await call('sms-codes/check', { ...to, code: sms.last()?.variables['code'] }))
    t.hasStrict(responses.at(-1), { code: '400', data: { reason: 'verification.code-invalid' } }, `${why}: void`)
  }
  await fails('rejects', async ({ content }) => ({
    outcome: 'rejected',
    errorCode: 'acme.1',
    errorMessage: `refused: ${content}`,
    providerMessage: content,
    hint: content,
  }))
  await fails('throws', async ({ content, variables }) => {
    throw Object.assign(new Error(`refused: ${content}`), { request: { variables } })
  })
  const gaveUp = Promise.withResolvers<void>()
  await fails('hangs', async (_message, { signal }) => {
    await once(signal, 'abort')
    gaveUp.resolve()
    return { outcome: 'unknown', errorCode: 'acme.late', errorMessage: 'No answer' }
  })
  await t.resolves(gaveUp.promise, 'and is told to give up')
  t.equal(log.filter((line) => line.includes('could not be delivered')).length, 3)
  t.match(log.join(''), /refused: Your verification code is \*{6}\./, 'the log says why')

  sms.isEnabled = false
  responses.push(await call('sms-codes', { mobile }))
  t.hasStrict(responses.at(-1), { code: '503', data: { reason: 'verification.sender-missing' } }, 'switched off')
  t.equal(sms.sent.length, 3)

  responses.push(await call('email-codes', { email }))
  t.hasStrict(responses.at(-1), { code: '200' }, 'the other channel is not concerned')
  responses.push(await call('email-codes/check', { email, code: '0000000000' }))
  const everything = log.join('') + JSON.stringify(responses) + files()
  const codes = [...sms.sent, ...mail.sent].map(({ message }) => String(message.variables['code']))
  t.equal(codes.length, 4)
  for (const code of codes) t.notMatch(everything, code, 'in no log line, answer or file')
})

t.test('R-093 R-095 N-009 B23 a sent code is a row of the send log, without the code', async (t) => {
  const [sms, mail] = [channel('sms', ['mobile']), channel('mail', ['email'])]
  const config = { ...longCodes, [`${root}.email.subject`]: 'Your code' }
  const { call, sendLogs, files } = await start(t, [sms.plugin, mail.plugin], config)
  t.hasStrict(await call('sms-codes', { mobile }, { 'x-trace-id': 'trace-0001' }), { code: '200' })
  const one = await sendLogs('channel=sms')
  assertMembers(t, one, {
    total: 1,
    items: [
      {
        channel: 'sms',
        status: 'success',
        recipients: ['mobile:***0001'],
        retryable: false,
        traceId: 'trace-0001',
        errorCode: null,
      },
    ],
  })
  sms.behave = async ({ content }) => ({ outcome: 'deferred', errorCode: 'acme.1', errorMessage: `busy: ${content}` })
  t.hasStrict(await call('sms-codes', { mobile: '+8613800000002' }), { code: '503' })
  await call('email-codes', { email })
  const two = await sendLogs('channel=sms')
  assertMembers(t, two, {
    total: 2,
    items: [{ status: /^failed$/, errorMessage: /^busy: Your verification code is \*{6}\./ }, {}],
  })
  t.equal(two.items[0].retryable, false, 'a stale code is not sent again')
  const all = await sendLogs('')
  assertMembers(t, all, {
    total: 3,
    items: [
      { channel: 'mail', subject: 'Your code', recipients: ['email:S***@Example.com'] },
      { channel: 'sms' },
      { channel: 'sms' },
    ],
  })
  const codes = [...sms.sent, ...mail.sent].map(({ message }) => String(message.variables['code']))
  t.equal(codes.length, 3)
  for (const code of codes) t.notMatch(JSON.stringify(all) + files(), code)
})

t.test('only loaded channels are offered', async (t) => {
  const sms = channel('sms', ['mobile'])
  const warnings = (log: readonly string[]) =>
    log.filter((line) => line.includes('no plugin delivers verification codes')).map((line) => JSON.parse(line).channel)
  const one = await start(t, [sms.plugin])
  t.same(warnings(one.log), ['email'])
  t.hasStrict(await one.call('sms-codes', { mobile }), { code: '200' })
  t.hasStrict(await one.call('email-codes', { email }), {
    code: '503',
    data: { reason: 'verification.sender-missing' },
  })

  const none = await start(t, [])
  t.same(warnings(none.log), ['sms', 'email'])
  await rejectsWith(t, start(t, [], { [`${root}.email.sender`]: 'notification' }), {
    message: /email\.sender is "notification", which is not available/,
  })
})

t.test('if another plugin also has a sender, the configuration must choose', async (t) => {
  const mail = channel('mail', ['email'])
  const other = definePlugin({
    id: 'test.other',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [verificationCodeSender],
    setup: ({ contribute }) =>
      contribute(verificationCodeSender, 'other', { channels: ['sms', 'email'], send: async () => {} }),
  })
  await rejectsWith(t, start(t, [mail.plugin, other]), {
    message:
      /email\.sender is empty, but several plugins bring one\. Available senders: file, log, notification, other/,
  })
  const { call } = await start(t, [mail.plugin, other], { [`${root}.email.sender`]: 'notification' })
  await call('email-codes', { email })
  t.equal(mail.sent.length, 1)
})

t.test('E11 a code message names the site', async (t) => {
  for (const translator of [[i18n], []]) {
    const mail = channel('mail', ['email'])
    const { call } = await start(t, [mail.plugin], { 'platform.site.name': 'Acme $& shop' }, translator)
    const of = async (locale: string) => {
      await call('email-codes', { email: `${locale}@example.com` }, { 'accept-language': locale })
      return mail.last()
    }
    t.match((await of('en'))?.content, /^Acme \$& shop: your verification code is \d{6}\. It is valid for 5 minutes\./)
    const chinese = translator.length > 0 ? /^【Acme \$& shop】您的验证码是 \d{6}/ : /^Acme/
    t.match((await of('zh-CN'))?.content, chinese)
    t.match((await of('en-GB'))?.variables, { site: 'Acme $& shop' }, 'templates of providers may name it too')
  }
})
