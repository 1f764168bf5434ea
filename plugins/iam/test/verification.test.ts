import { createHmac, hash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { database } from '@plinth/database'
import { assertMembers } from '@plinth/dev/testing'
import { createDatabase, onDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import { createRedisNamespace, skipRedis } from '@plinth/dev/testing/shared-store'
import { type VerificationMessage, verificationCodes } from '@plinth/iam'
import type { PlinthError } from '@plinth/kernel'
import { StartRejectedError } from '@plinth/kernel/host'
import { sharedStore } from '@plinth/shared-store'
import { configCentre } from '@plinth/system-config'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { normalizeMobileNumber } from '../src/accounts/account-names.ts'
import { system } from './fixtures/product.ts'
import {
  address,
  type Config,
  createSinkSender,
  createSkippingClock,
  phone,
  startCodes as start,
  startSharedCodes,
} from './fixtures/verification.ts'

const root = 'platform.iam.auth.login.verification'

/** Tests that need no other plugins share this product. */
const shared = await startSharedCodes(t)

const other = (code: string) => (code.startsWith('0') ? `1${code.slice(1)}` : `0${code.slice(1)}`)

/**
 * All windows are one hour. Databases and Redis use their own clocks, which the test cannot stop, and no window may end
 * during the test on a slow host.
 */
const longWindows = Object.fromEntries(
  ['sms.mobile', 'sms.verify-mobile', 'email.email', 'email.verify-email'].map((name) => [
    `${root}.${name}-window`,
    '1h',
  ]),
)

/** The codes are so long that no hash, trace id or time contains one by chance. */
const longCodes = { [`${root}.sms.code-length`]: 10, [`${root}.email.code-length`]: 10 }

/**
 * Runs case 42 of the required test cases and the rules of document 1 of the specification, on two instances that share
 * codes and quotas.
 */
async function twoInstances(
  t: Test,
  db: TestDatabase,
  driver: Config,
  dump: (it: Awaited<ReturnType<typeof start>>) => Promise<string>,
) {
  const outbox = createSinkSender()
  const settings = {
    store: 'shared-window',
    config: { ...longWindows, ...longCodes, ...driver },
    senders: [outbox.plugin],
  } as const
  const one = await start(t, db, settings)
  const two = await start(t, db, { ...settings, clock: one.clock })

  for (const channel of ['sms', 'email'] as const) {
    const to = address[channel]
    const sent = await one.send(channel, to)
    t.match(sent, { code: /^200$/, data: { resendAfter: Number, expiresAt: String } })
    t.ok(sent.data.resendAfter > 3_000 && sent.data.resendAfter <= 3_600)
    const code = outbox.last()
    t.match(code, /^\d{10}$/, 'R-080')
    t.notMatch(JSON.stringify(sent), code, 'R-095')
    const again = await two.send(channel, to, '203.0.113.2')
    t.hasStrict(again, { status: 200, code: '429', data: { reason: 'rate-limit.exceeded' } }, 'R-082 R-086')
    t.match(again.headers['retry-after'], /^\d+$/)

    t.hasStrict(await two.check(channel, to, other(code)), {
      code: '400',
      data: { reason: 'verification.code-invalid' },
    })
    t.hasStrict(
      await one.check(channel, to, code, undefined, { scene: 'sign-up' }),
      { code: '400' },
      'R-096 another scene',
    )
    const stranger = channel === 'sms' ? '+8613800000099' : 'else@example.com'
    t.hasStrict(await one.check(channel, stranger, code), { code: '400' }, 'R-096 another recipient')
    const stored = await dump(one)
    t.match(stored, new RegExp(`iam:auth:login:verification:${channel}:code:login:[0-9a-f]{64}`), 'R-087 B21')
    t.match(stored, new RegExp(`rate-limit:iam:auth:login:verification:${channel}:send:(mobile|email):[0-9a-f]{64}`))
    for (const clear of [code, '13800000', 'omeone', 'example.com', '203.0.113']) {
      t.notOk(stored.includes(clear), `R-090 R-102 the store holds no ${clear}`)
    }

    const tries = await Promise.all(
      [one, two, one].map((it) => it.check(channel, to, code, undefined, { scene: 'login' })),
    )
    t.same(tries.map(({ code }) => code).sort(), ['200', '400', '400'], 'R-079 R-091 R-092 one of many succeeds')
    t.match(tries.find(({ code }) => code === '200')?.data, { verified: true })
    t.hasStrict(
      await one.check(channel, to, code),
      { code: '429' },
      'R-084 R-086 two wrong and three right ones were five',
    )
  }

  await one.send('sms', '+8613800000002')
  const code = outbox.last()
  for (let count = 0; count < 5; count++) {
    t.hasStrict(await [one, two][count % 2]?.check('sms', '+8613800000002', other(code)), { code: '400' })
  }
  t.hasStrict(await two.check('sms', '+8613800000002', code), { code: '429' }, 'R-084 D15 the sixth, though right')
  return one
}

onDatabase(
  t,
  'R-079 R-080 R-082 R-084 R-086 R-087 R-090 R-091 R-092 R-095 R-096 R-102 codes over the database',
  async (t, db) => {
    await twoInstances(t, db, {}, async ({ running }) =>
      JSON.stringify(await running.service(database).query('select name, variant, content from shared_store_entry')),
    )
  },
)

t.test('R-081 R-082 R-084 R-087 R-090 R-091 R-102 codes over Redis', { skip: skipRedis }, async (t) => {
  const db = await createDatabase('sqlite')
  const redis = createRedisNamespace()
  t.teardown(() => redis.drop())
  t.teardown(() => db.drop())
  const contents = async () => {
    const lines = []
    for (const name of await redis.keys()) {
      const type = await redis.client.type(name)
      const content = type === 'hash' ? await redis.client.hgetall(name) : await redis.client.get(name)
      const left = await redis.client.pttl(name)
      if (/:code:/.test(name)) t.ok(left > 0 && left <= 300_000, 'R-081 a code lives five minutes')
      lines.push(`${name} ${JSON.stringify(content)}`)
    }
    return lines.join('\n')
  }
  await twoInstances(t, db, redis.config, contents)
})

t.test('R-078 R-079 R-081 R-083 R-085 R-101 R-103 R-104 times, limits per address and input', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const outbox = createSinkSender()
  const clock = createSkippingClock()
  const it = await start(t, db, { senders: [outbox.plugin], clock })
  const { send, check } = it

  for (const channel of ['sms', 'email'] as const) {
    await t.test(channel, async (t) => {
      const to = address[channel]
      const bad =
        channel === 'sms'
          ? ['', '12', 'x'.repeat(20), '+86138000000011111', '1380000\u0000001']
          : ['', 'x', 'a@', '@b', 'a@b\u0000']
      for (const text of bad) t.equal((await send(channel, text)).code, '400', `R-103 ${JSON.stringify(text)}`)
      t.hasStrict(await send(channel, to, undefined, { scene: 'Not A Scene' }), {
        code: '400',
        data: { reason: 'verification.scene-invalid', field: 'scene' },
      })
      const sent = await send(channel, to)
      t.hasStrict(sent, { code: '200', data: { resendAfter: 60 } }, 'what was malformed cost nothing')
      t.equal(Date.parse(sent.data.expiresAt), clock.now() + 300_000, 'R-081')
      t.equal(sent.headers['retry-after'], undefined)
      for (const code of ['', '12', '1'.repeat(11), 'abcdef', '１２３４５６']) {
        t.equal((await check(channel, to, code)).code, '400', 'no code at all')
      }
      clock.skip(59_999)
      t.hasStrict(await send(channel, to), { code: '429', data: { retryAfter: 1 } }, 'R-082')
      clock.skip(1)
      const first = outbox.last()
      t.equal((await send(channel, to)).code, '200', 'R-082 a minute later')
      const second = outbox.last()
      if (first !== second) t.equal((await check(channel, to, first)).code, '400', 'only the last code counts')
      clock.skip(299_999)
      t.equal((await check(channel, to, second)).code, '200', 'R-081 a millisecond before its end')
      await send(channel, to)
      clock.skip(300_000)
      t.hasStrict(
        await check(channel, to, outbox.last()),
        { code: '400', data: { reason: 'verification.code-invalid' } },
        'R-081',
      )

      clock.skip(3_600_000)
      const recipient = (index: number) =>
        channel === 'sms' ? `+86139000000${10 + index}` : `user${index}@example.com`
      for (let index = 0; index < 30; index++) t.equal((await send(channel, recipient(index))).code, '200')
      t.equal((await send(channel, recipient(30))).code, '429', 'R-083 the 31st of one address')
      t.equal((await send(channel, recipient(30), '203.0.113.7')).code, '200', 'R-104 the recipient lost nothing by it')
      for (let index = 0; index < 20; index++) {
        t.equal((await send(channel, recipient(30), '203.0.113.8')).code, '429')
      }
      for (let index = 31; index < 61; index++) {
        t.equal((await send(channel, recipient(index), '203.0.113.8')).code, '200', 'R-104 nor the address')
      }
      for (let index = 0; index < 60; index++) t.equal((await check(channel, recipient(index), '000000')).code, '400')
      t.equal((await check(channel, recipient(61), '000000')).code, '429', 'R-085 the 61st check of one address')
      clock.skip(3_600_000)
      t.equal((await check(channel, recipient(61), '000000')).code, '400')
      t.equal((await send(channel, recipient(30))).code, '200')
    })
  }

  await t.test('all notations of a recipient share its quota', async (t) => {
    clock.skip(3_600_000)
    const spellings = [
      '+86 138-0000-0007',
      '008613800000007',
      '8613800000007',
      '+86(138)00000007',
      '13800000007',
      '138 0000 0007',
      '+86 (0) 138 0000 0007',
      '013800000007',
      '138.0000.0007',
    ]
    const codes = []
    for (const to of spellings) codes.push((await send('sms', to)).code)
    t.same(codes, ['200', ...spellings.slice(1).map(() => '429')])
    t.equal(outbox.messages.at(-1)?.recipient, '+8613800000007', 'in the form of E.164')
    t.equal((await check('sms', spellings[4] ?? '', outbox.last())).code, '200')
    for (const to of ['"a"@example.com', 'a(home)@example.com', 'a.@example.com', 'a..b@example.com']) {
      t.hasStrict(await send('email', to), { code: '400', data: { field: 'email' } }, to)
    }
    t.same([(await send('email', ' A@Example.com ')).code, (await send('email', 'a@example.COM')).code], ['200', '429'])
  })

  await t.test('switches and settings take effect immediately', async (t) => {
    clock.skip(3_600_000)
    const set = async (values: Config) => {
      const changes = Object.entries(values).map(([name, value]) => ({
        key: `${root}.${name}`,
        action: 'set' as const,
        value,
      }))
      await it.running.service(configCentre).save(changes, { actor: { name: 'test' } })
    }
    const count = outbox.messages.length
    await set({ 'sms.enabled': false })
    const off = { code: '403', data: { reason: 'verification.disabled' } }
    t.match(await send('sms', phone), off, 'R-078')
    t.match(await check('sms', phone, '123456'), off, 'R-078')
    t.equal(outbox.messages.length, count)
    t.equal((await send('email', 'b@example.com')).code, '200')
    await set({
      'sms.enabled': true,
      'sms.code-length': 10,
      'sms.ttl': '1m',
      'sms.default-scene': 'sign-up',
      'sms.mobile-max-attempts': 2,
    })
    t.hasStrict(await send('sms', phone), { code: '200', data: { resendAfter: 0 } }, 'another one may be sent at once')
    t.match(outbox.messages.at(-1), { code: /^\d{10}$/, ttlMs: 60_000, scene: 'sign-up' })
    t.equal((await check('sms', phone, outbox.last(), undefined, { scene: 'login' })).code, '400', 'R-079')
    t.equal((await check('sms', phone, outbox.last())).code, '200', 'R-079')
    await set({ 'sms.default-country': '' })
    t.hasStrict(await send('sms', '13800000001'), { code: '400', data: { field: 'mobile' } }, 'of which country?')
    await set({ 'sms.default-country': 'DE', 'sms.mobile-max-attempts': 3 })
    await send('sms', '0170 1234567')
    t.equal(outbox.messages.at(-1)?.recipient, '+491701234567')
    await set({ 'sms.code-length': 4 })
    await send('sms', phone)
    t.match(outbox.last(), /^\d{4}$/)
  })
})

t.test('SMS codes of one calling code are limited per day, and operators are alerted at 80 %', async (t) => {
  const { send, settled, alerts, outbox, reset } = shared
  await reset({ [`${root}.sms.country-max-attempts`]: 10 })
  const somalia = async (count: number, from: number) => {
    for (let i = from; i < from + count; i++)
      t.hasStrict(await send('sms', `+2526150000${String(i).padStart(2, '0')}`, `203.0.113.${i}`), { code: '200' })
    await settled()
  }
  await somalia(7, 10)
  t.same(alerts, [], 'nothing is published below 80 %')
  await somalia(3, 20)
  t.same(alerts, [{ area: 'sms-codes', subject: '+252', count: 8, limit: 10 }], 'published once')
  t.hasStrict(await send('sms', '+252615000099', '203.0.113.99'), {
    code: '429',
    data: { reason: 'rate-limit.exceeded' },
  })
  t.hasStrict(await send('sms', '+8613800000009', '203.0.113.98'), { code: '200' }, 'other countries are not affected')
  t.equal(outbox.messages.length, 11)
})

t.test('operators are alerted once about many e-mail codes, which are still sent', async (t) => {
  const { send, settled, alerts, outbox, reset } = shared
  await reset({ [`${root}.email.alert-after`]: 3 })
  const sendTo = async (...numbers: readonly number[]) => {
    for (const n of numbers) t.hasStrict(await send('email', `u${n}@example.org`, `203.0.113.${n}`), { code: '200' })
    await settled()
  }
  await sendTo(1, 2)
  t.same(alerts, [])
  await sendTo(3, 4, 5)
  t.same(alerts, [{ area: 'email-codes', subject: 'all', count: 3, limit: 3 }])
  t.equal(outbox.messages.length, 5)
})

t.test('only listed calling codes receive SMS codes, without a limit of the country', async (t) => {
  const { send, outbox, reset } = shared
  await reset({ [`${root}.sms.countries`]: ['86', '49'], [`${root}.sms.country-max-attempts`]: 1 })
  for (const abroad of ['+252615000001', '+881621000000', '+12025550123']) {
    const rejected = { code: '400', data: { reason: 'verification.country-not-allowed', field: 'mobile' } }
    t.match(await send('sms', abroad), rejected, abroad)
  }
  for (const number of ['+8613800000001', '+8613800000002', '+4915123456789'])
    t.hasStrict(await send('sms', number), { code: '200' })
  t.equal(outbox.messages.length, 3)
  t.hasStrict(await send('email', 'a@example.org'), { code: '200' }, 'addresses have no country')
})

t.test('R-080 B20 an invalid code length prevents the start', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  for (const channel of ['sms', 'email']) {
    for (const length of [3, 11]) {
      const refused = await start(t, db, { config: { [`${root}.${channel}.code-length`]: length } }).catch(
        (error) => error,
      )
      t.ok(refused instanceof StartRejectedError)
      t.match(String(refused), new RegExp(`${channel}.code-length.*must be at ${length === 3 ? 'least 4' : 'most 10'}`))
    }
  }
})

t.test('R-088 R-089 the configured message settings are passed to the sender', async (t) => {
  const { send, outbox, reset } = shared
  await reset()
  await send('sms', phone)
  await send('email', address.email)
  const common = { scene: 'login', ttlMs: 300_000, locale: 'en', traceId: /./, code: /^\d{6}$/ }
  assertMembers(t, outbox.messages, [
    { ...common, channel: 'sms', recipient: phone },
    { ...common, channel: 'email', recipient: 'Someone@Example.com', subject: 'Verification code' },
  ])
  for (const name of ['template', 'templateCode', 'signName', 'provider'])
    t.notOk(name in (outbox.messages[0] ?? {}), name)
  t.notOk('template' in (outbox.messages[1] ?? {}))

  const values = { template: 'login', 'template-code': 'SMS_1', 'sign-name': 'Plinth', provider: 'acme' }
  await reset({
    ...Object.fromEntries(Object.entries(values).map(([name, value]) => [`${root}.sms.${name}`, value])),
    [`${root}.email.template`]: 'mail-code',
    [`${root}.email.subject`]: 'Your code',
  })
  await send('sms', '+8613800000003')
  await send('email', 'c@example.com')
  assertMembers(t, outbox.messages, [
    { template: 'login', templateCode: 'SMS_1', signName: 'Plinth', provider: 'acme' },
    { template: 'mail-code', subject: 'Your code' },
  ])
})

t.test('B22 R-095 a failed delivery uses the quota and invalidates the code; no log contains a code', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  let log = ''
  const outbox = createSinkSender()
  const seen: string[] = []
  let behave: (message: VerificationMessage, signal: AbortSignal) => Promise<void> = async () => {}
  outbox.sender.send = (message, signal) => {
    seen.push(message.code)
    return behave(message, signal)
  }
  const config = { 'platform.http.access-log': true, ...longCodes }
  const it = await start(t, db, {
    senders: [outbox.plugin],
    config,
    log: (line) => {
      log += line
    },
  })
  const responses = []
  behave = async ({ code }) => {
    throw new Error(`the provider refuses "Your code is ${code}"`)
  }
  const failed = { status: 200, code: '503', data: { reason: 'verification.delivery-failed' } }
  responses.push(await it.send('sms', phone))
  t.match(responses.at(-1), failed)
  t.match(log, /could not be delivered/)
  responses.push(await it.send('sms', phone))
  t.hasStrict(responses.at(-1), { code: '429' }, 'the quota is gone')
  responses.push(await it.check('sms', phone, seen.at(-1) ?? ''))
  t.hasStrict(responses.at(-1), { code: '400', data: { reason: 'verification.code-invalid', field: 'code' } })

  const begun = Promise.withResolvers<AbortSignal>()
  behave = (_message, signal) => {
    begun.resolve(signal)
    return new Promise(() => {})
  }
  const hanging = it.send('email', 'slow@example.com')
  const signal = await begun.promise
  await it.clock.advance(10_000)
  responses.push(await hanging)
  t.match(responses.at(-1), failed, 'a sender that hangs')
  t.ok(signal.aborted, 'is told to give up')
  responses.push(await it.check('email', 'slow@example.com', seen.at(-1) ?? ''))
  t.hasStrict(responses.at(-1), { code: '400' })

  behave = async () => {}
  responses.push(await it.send('email', 'd@example.com'))
  responses.push(await it.check('email', 'd@example.com', other(seen.at(-1) ?? '')))
  responses.push(await it.check('email', 'd@example.com', seen.at(-1) ?? ''))
  t.hasStrict(responses.at(-1), { code: '200' })
  const file = Buffer.concat(readdirSync(db.directory).map((name) => readFileSync(join(db.directory, name))))
  t.equal(seen.length, 3)
  for (const code of seen) {
    const word = new RegExp(`(?<!\\d)${code}(?!\\d)`)
    t.notMatch(log, word, 'log')
    t.notMatch(JSON.stringify(responses), word, 'answers')
    t.notMatch(file.toString('latin1'), word, 'database with every audit')
  }
})

onDatabase(t, 'invalidating a code does not affect a newer code', async (t, at) => {
  const outbox = createSinkSender()
  let isRejected = true
  const { send } = outbox.sender
  outbox.sender.send = async (message, signal) => {
    if (isRejected) throw new Error('The provider refuses')
    await send(message, signal)
  }
  const config = { [`${root}.email.email-max-attempts`]: 0 }
  const it = await start(t, at, { senders: [outbox.plugin], config })
  const store = it.running.service(sharedStore)
  const again = async () => {
    if (!isRejected) return
    isRejected = false
    t.hasStrict(await it.send('email', address.email), { code: '200' })
  }
  const { delete: remove, deleteIf } = store
  store.delete = async (key) => {
    await again()
    return remove.call(store, key)
  }
  store.deleteIf = async (key, value) => {
    await again()
    return deleteIf.call(store, key, value)
  }
  t.hasStrict(await it.send('email', address.email), { code: '503', data: { reason: 'verification.delivery-failed' } })
  t.hasStrict(await it.check('email', address.email, outbox.last()), { code: '200' })
})

t.test('a store that is down is a clear failure, and no code is accepted', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const outbox = createSinkSender()
  const it = await start(t, db, { senders: [outbox.plugin] })
  await it.send('sms', phone)
  await it.running.service(database).execute('drop table shared_store_entry')
  const down = { status: 200, code: '503', data: { reason: 'verification.store-unavailable' } }
  t.match(await it.send('email', 'e@example.com'), down)
  t.match(await it.check('sms', phone, outbox.last()), down)
  t.equal(outbox.messages.length, 1, 'nothing is sent that could not be checked')
})

t.test('no code is sent or checked if only the store of the limits is down', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const outbox = createSinkSender()
  const it = await start(t, db, { senders: [outbox.plugin], store: 'shared-window' })
  await it.send('sms', phone)
  const fail = () => Promise.reject(new Error('the quotas are unavailable'))
  Object.assign(it.running.service(sharedStore).quota, { decide: fail, decideAll: fail })
  const down = { status: 200, code: '503', data: { reason: 'rate-limit.store-unavailable' } }
  t.hasStrict(await it.send('email', 'e@example.com'), down)
  for (const code of [other(outbox.last()), outbox.last()]) t.hasStrict(await it.check('sms', phone, code), down)
  t.equal(outbox.messages.length, 1)
})

t.test('R-090 a copy of the database reveals no code: its hash cannot be found by trying all codes', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const outbox = createSinkSender()
  const config = { [`${root}.sms.code-length`]: 4, [`${root}.sms.mobile-max-attempts`]: 9 }
  const first = await start(t, db, { senders: [outbox.plugin], config })
  await first.send('sms', phone)
  const code = outbox.last()
  const query = (text: string) => first.running.service(database).query<Record<string, unknown>>(text)
  const [entry] = await query("select name, content from shared_store_entry where name like '%:code:%'")
  const [name = ''] = /iam:auth:.*$/.exec(String(entry?.['name'])) ?? []
  const [, salt = '', tag = ''] = /([0-9a-f]{32})\.([0-9a-f]{64})/.exec(String(entry?.['content'])) ?? []
  t.ok(name !== '' && salt !== '' && tag !== '', 'that is what was stored')
  const stored = await query('select * from sys_config union select * from sys_config')
  const texts = ['', ...stored.flatMap((row) => Object.values(row).map(String))]
  const bytes = texts.flatMap((text) => [Buffer.from(text), Buffer.from(text, 'base64'), Buffer.from(text, 'hex')])
  const keys = [...bytes, ...bytes.flatMap((all) => [all.subarray(0, 32), all.subarray(-32)])]
  for (let number = 0; number < 10_000; number++) {
    const guess = String(number).padStart(4, '0')
    if (hash('sha256', `${salt} ${name} ${guess}`) === tag) t.fail('found without any key')
  }
  const mac = (key: Buffer) =>
    createHmac('sha256', key)
      .update(JSON.stringify(['plinth-verification-code-v1', salt, name, code]))
      .digest('hex')
  t.ok(keys.length > 20)
  for (const key of keys) t.not(mac(key), tag, 'nor with anything that the database holds')

  const again = await start(t, db, { senders: [outbox.plugin], config, clock: first.clock })
  await first.running.stop('restart')
  t.equal((await again.check('sms', phone, code)).code, '200', 'another instance, after a restart')
  await again.send('sms', phone)
  const stolen = await start(t, db, {
    senders: [outbox.plugin],
    clock: first.clock,
    config: { ...config, 'platform.system-config.master-key-file': join(db.directory, 'other.key') },
  })
  t.hasStrict(await stolen.check('sms', phone, outbox.last()), {
    code: '400',
    data: { reason: 'verification.code-invalid' },
  })
  t.hasStrict(await stolen.send('sms', phone), { code: '503', data: { reason: 'verification.store-unavailable' } })
  t.equal((await again.check('sms', phone, outbox.last())).code, '200', 'the key of the codes was not replaced')
})

t.test('a mobile number has one form, whatever its notation', async () => {
  const national = fc.tuple(fc.integer({ min: 30, max: 99 }), fc.integer({ min: 0, max: 99_999_999 }))
  const separator = fc.constantFrom('', ' ', '-', '(', ')', '.', '  ')
  await fc.assert(
    fc.property(
      national,
      fc.constantFrom('', '0', '86', '+86', '0086', '+860', '+86 (0)'),
      fc.array(separator, { minLength: 11, maxLength: 11 }),
      ([start, rest], prefix, between) => {
        const number = `1${start}${String(rest).padStart(8, '0')}`
        const spelled = prefix + [...number].map((digit, index) => `${between[index]}${digit}`).join('')
        return normalizeMobileNumber(spelled, 'CN') === `+86${number}`
      },
    ),
    { numRuns: 300 },
  )
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 32 }),
      fc.constantFrom('', 'CN', 'US', 'XX'),
      (text, country) => {
        const form = normalizeMobileNumber(text, country)
        return form === undefined || (/^\+\d{5,15}$/.test(form) && normalizeMobileNumber(form, 'DE') === form)
      },
    ),
  )
})

t.test('senders: one of another plugin, a named one, none, several', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  let log = ''
  const keep = (line: string) => {
    log += line
  }
  const none = await start(t, db, { log: keep })
  t.match(log, /no plugin delivers verification codes/)
  for (let count = 0; count < 2; count++) {
    t.hasStrict(
      await none.send('sms', phone),
      { code: '503', data: { reason: 'verification.sender-missing' } },
      'R-103 no quota',
    )
  }
  const service = none.running.service(verificationCodes)
  const origin = { clientIp: '::1', traceId: 'x', locale: 'en' }
  const direct = await service.send({ channel: 'sms', recipient: phone }, origin).catch((error: unknown) => error)
  t.hasStrict(direct, { code: '503', reason: 'verification.sender-missing' })

  const [a, b] = [createSinkSender('a'), createSinkSender('b')]
  const refused = (promise: Promise<unknown>) => promise.catch((error: PlinthError) => error)
  const several = await refused(start(t, db, { senders: [a.plugin, b.plugin] }))
  t.hasStrict(several, { cause: { code: 'PLINTH_IAM_VERIFICATION_SENDER' } })
  t.match(String(several), /sms.sender is empty, but several plugins bring one. Available senders: a, b, file, log/)
  const unknown = await refused(start(t, db, { config: { [`${root}.email.sender`]: 'c' } }))
  t.match(String(unknown), /email.sender is "c", which is not available/)
  const config = { [`${root}.sms.sender`]: 'b', [`${root}.email.sender`]: 'a' }
  const named = await start(t, db, { senders: [a.plugin, b.plugin], config })
  await named.send('sms', phone)
  await named.send('email', address.email)
  t.same([a.messages.map(({ channel }) => channel), b.messages.map(({ channel }) => channel)], [['email'], ['sms']])

  const directory = join(db.directory, 'codes')
  log = ''
  const development = await start(t, db, {
    log: keep,
    config: {
      [`${root}.sms.sender`]: 'file',
      [`${root}.email.sender`]: 'log',
      [`${root}.file-sender.directory`]: directory,
    },
  })
  t.match(log, /"sender":"file".*for development only/)
  t.match(log, /"sender":"log".*for development only/)
  await development.send('sms', '+8613800000004')
  const [file = ''] = readdirSync(directory)
  const path = join(directory, file)
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(statSync(directory).mode & 0o777, 0o700)
  const message = JSON.parse(readFileSync(path, 'utf8'))
  t.match(message, { channel: 'sms', recipient: '+8613800000004', scene: 'login', expiresAt: /Z$/ })
  t.equal((await development.check('sms', '+8613800000004', message.code)).code, '200')
  await development.send('email', 'f@example.com')
  const [, shown = ''] = /"code":"(\d{6})"/.exec(log) ?? []
  t.equal((await development.check('email', 'f@example.com', shown)).code, '200')
})

t.test('C-017 C-020 no input causes "500"', async (t) => {
  await shared.reset({ 'platform.rate-limit.enabled': false })
  const hostile: readonly unknown[] = [
    '\u0000',
    'a\u0000b',
    '\ud800',
    '%',
    "' or 1=1 --",
    '',
    ' ',
    'x'.repeat(300),
    '{}',
    '+',
    '＋８６１３８',
    -1,
    0,
    0.5,
    2 ** 60,
    true,
    null,
    [],
    {},
    ['+8613800000001'],
  ]
  const sound = { mobile: phone, email: address.email, scene: 'login', code: '123456' }
  let requests = 0
  for (const [channel, recipient] of [
    ['sms', 'mobile'],
    ['email', 'email'],
  ] as const) {
    for (const [suffix, members] of [
      ['', [recipient, 'scene']],
      ['/check', [recipient, 'scene', 'code']],
    ] as const) {
      for (const member of members) {
        for (const value of hostile) {
          const body = { ...Object.fromEntries(members.map((name) => [name, sound[name]])), [member]: value }
          const { status, code } = await shared.call('POST', `/api/v1/auth/verify/${channel}-codes${suffix}`, { body })
          requests++
          if (status !== 200 || code !== '400')
            t.fail(`${channel}${suffix} ${JSON.stringify(body)} -> ${status} ${code}`)
        }
      }
    }
  }
  t.equal(requests, 10 * hostile.length)
  t.same(shared.outbox.messages, [])
})

t.test('addresses of one IPv6 network share the limits of codes', async (t) => {
  await shared.reset({ [`${root}.email.ip-max-attempts`]: 1, [`${root}.email.verify-ip-max-attempts`]: 1 })
  t.equal((await shared.send('email', 'a@example.com', '2001:db8:1:2::1')).code, '200')
  t.equal((await shared.send('email', 'b@example.com', '2001:db8:1:2:ffff::2')).code, '429')
  t.equal((await shared.send('email', 'c@example.com', '2001:db8:1:3::1')).code, '200', 'another network')
  t.equal((await shared.check('email', 'a@example.com', '0000000000', '2001:db8:1:2::1')).code, '400')
  t.equal((await shared.check('email', 'b@example.com', '0000000000', '2001:db8:1:2:ffff::2')).code, '429')
})

t.test('users verify their e-mail address with a code that was sent to it', async (t) => {
  await shared.reset()
  await shared.accounts.create({ username: 'mia', password: 'secret1' }, system)
  const token = await shared.login('mia', 'secret1')
  const confirm = (code: string) => shared.call('POST', '/api/v1/iam/users/me/email/confirm', { token, body: { code } })
  t.hasStrict(
    await confirm('000000'),
    { code: '400', data: { reason: 'verification.email-invalid' } },
    'without an address',
  )
  await shared.call('PUT', '/api/v1/iam/users/me', { token, body: { email: 'mia@example.com' } })
  await shared.send('email', 'mia@example.com', undefined, { scene: 'confirm-email' })
  t.hasStrict(await confirm(other(shared.outbox.last())), {
    code: '400',
    data: { reason: 'verification.code-invalid' },
  })
  t.equal(await shared.login('mia@example.com', 'secret1'), undefined)
  t.hasStrict(await confirm(shared.outbox.last()), { code: '200', data: { verified: true } })
  t.ok(await shared.login('mia@example.com', 'secret1'))

  await shared.call('PUT', '/api/v1/iam/users/me', {
    token,
    body: { email: 'tom@example.com', currentPassword: 'secret1' },
  })
  shared.clock.skip(60_000)
  await shared.send('email', 'mia@example.com', undefined, { scene: 'confirm-email' })
  t.hasStrict(await confirm(shared.outbox.last()), { code: '400' }, 'a code of another address')
  await shared.send('email', 'tom@example.com')
  t.hasStrict(await confirm(shared.outbox.last()), { code: '400' }, 'a code of another scene')
})

t.test('a stolen session cannot give the account an e-mail address, which recovers it', async (t) => {
  await shared.reset({ 'platform.iam.fresh-proof.enabled': true })
  const me = '/api/v1/iam/users/me'
  const { id } = await shared.accounts.create({ username: 'noa', password: 'secret1' }, system)
  const token = await shared.login('noa', 'secret1')
  shared.clock.skip(300_001)
  const change = (body: object) => shared.call('PUT', me, { token, body })
  t.hasStrict(await change({ email: 'thief@example.com' }), { code: '401', data: { reason: 'iam.proof-required' } })
  t.hasStrict(await shared.accounts.find(id), { email: null })
  t.hasStrict(await change({ mobile: '+8613800138111' }), { code: '200' }, 'other fields need none')
  const { data } = await shared.call('POST', '/api/v1/auth/proof', {
    token,
    body: { method: 'password', password: 'secret1' },
  })
  const proven = { token: data.accessToken, body: { email: 'noa@example.com' } }
  t.hasStrict(await shared.call('PUT', me, proven), { code: '200', data: { email: 'noa@example.com' } })
  await shared.reset()
})
