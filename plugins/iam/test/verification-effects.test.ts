/** Tests the effect of each configuration key of verification codes. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { database } from '@plinth/database'
import { assertKeyEffect, assertMembers, type KeyValues } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import {
  address,
  type Channel,
  createSinkSender,
  otherSecretKey,
  secretKey,
  startCodes,
  startSharedCodes,
} from './fixtures/verification.ts'

const root = 'platform.iam.auth.login.verification'
const channelOf = (key: string): Channel => (key.startsWith(`${root}.sms.`) ? 'sms' : 'email')

async function startOnSqlite(settings: Parameters<typeof startCodes>[2] = {}) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const outbox = createSinkSender()
  const codes = await startCodes(t, db, { ...settings, senders: [outbox.plugin, ...(settings.senders ?? [])] })
  return { ...codes, db, outbox }
}

const shared = await startSharedCodes(t)
const { clock, send, check, outbox, alerts, reset } = shared

/** Sends one code to `address` and returns the message. The texts of the message come from the configuration. */
async function messageOf(config: KeyValues, key: string) {
  await reset(config)
  await send(channelOf(key), address[channelOf(key)])
  const { code, ttlMs: _ttl, traceId: _trace, ...message } = outbox.messages[0] ?? { code: '', ttlMs: 0, traceId: '' }
  return { ...message, digits: code.length }
}

t.test('the message of a code is sent as configured', async (t) => {
  const lengths = await assertKeyEffect(t, 'platform.iam.auth.login.verification.{sms,email}.code-length', {
    changed: 9,
    observe: messageOf,
  })
  for (const { before, after } of lengths) t.same([before.digits, after.digits], [6, 9])
  const scenes = await assertKeyEffect(t, 'platform.iam.auth.login.verification.{sms,email}.default-scene', {
    changed: 'sign-up',
    observe: messageOf,
  })
  for (const { before, after } of scenes) t.same([before.scene, after.scene], ['login', 'sign-up'])
  const texts = [
    ...(await assertKeyEffect(t, 'platform.iam.auth.login.verification.{sms,email}.template', {
      changed: 'mine',
      observe: messageOf,
    })),
    ...(await assertKeyEffect(t, 'platform.iam.auth.login.verification.sms.{template-code,sign-name,provider}', {
      changed: 'mine',
      observe: messageOf,
    })),
    ...(await assertKeyEffect(t, 'platform.iam.auth.login.verification.email.subject', {
      changed: 'mine',
      observe: messageOf,
    })),
  ]
  t.same(
    texts.map(({ before, after }) =>
      Object.entries(after).flatMap(([name, value]) => (value === 'mine' ? [name, Reflect.get(before, name)] : [])),
    ),
    [
      ['template', undefined],
      ['template', undefined],
      ['templateCode', undefined],
      ['signName', undefined],
      ['provider', undefined],
      ['subject', 'Verification code'],
    ],
  )
})

t.test('a code is accepted during its lifetime', async (t) => {
  const found = await assertKeyEffect(t, 'platform.iam.auth.login.verification.{sms,email}.ttl', {
    changed: '90s',
    observe: async (config, key) => {
      await reset(config)
      const [channel, to] = [channelOf(key), address[channelOf(key)]]
      await send(channel, to)
      clock.skip(90_000)
      return (await check(channel, to, outbox.last())).code
    },
  })
  for (const { before, after } of found) t.same([before, after], ['200', '400'])
})

t.test('a disabled channel sends no code', async (t) => {
  const found = await assertKeyEffect(t, 'platform.iam.auth.login.verification.{sms,email}.enabled', {
    changed: false,
    observe: async (config, key) => {
      await reset(config)
      const { code } = await send(channelOf(key), address[channelOf(key)])
      return [code, outbox.messages.length]
    },
  })
  for (const { before, after } of found)
    t.same(
      [before, after],
      [
        ['200', 1],
        ['403', 0],
      ],
    )
})

t.test('codes and counts are stored under the prefix', async (t) => {
  const found = await assertKeyEffect(t, 'platform.iam.auth.login.verification.{sms,email}.key-prefix', {
    changed: 'own:codes',
    observe: async (config, key) => {
      const { send, running } = await startOnSqlite({ config, store: 'shared-window' })
      await send(channelOf(key), address[channelOf(key)])
      const rows = await running.service(database).query<{ name: string }>('select name from shared_store_entry')
      return rows.flatMap(({ name }) => /(iam:auth|own):[a-z:]*/.exec(name)?.[0] ?? []).sort()
    },
  })
  for (const { key, before, after } of found) {
    t.ok(before.length > 1 && before.every((name) => name.startsWith(`iam:auth:login:verification:${channelOf(key)}:`)))
    t.ok(after.length === before.length && after.every((name) => name.startsWith('own:codes:')))
  }
})

/**
 * Repeats one action until it is rejected, at most seven times. Returns the number of accepted actions, and the waiting
 * time in seconds.
 */
async function limitOf(config: KeyValues, key: string) {
  const channel = channelOf(key)
  const [, verify, kind] = /\.(verify-)?(\w+)-(?:max-attempts|window)$/.exec(key) ?? []
  await reset(config)
  for (let count = 0; count < 7; count++) {
    const index = 10 + count
    const other = channel === 'sms' ? `+86139000000${index}` : `user${index}@example.com`
    const [to, from] = kind === 'ip' ? [other, '203.0.113.1'] : [address[channel], `203.0.113.${index}`]
    const { code, data } = verify ? await check(channel, to, '123456', from) : await send(channel, to, from)
    if (code === '429') return { count, retryAfter: data.retryAfter }
  }
  return 'unlimited'
}

t.test('codes and their checks are limited per recipient and per address', async (t) => {
  const recipients = await assertKeyEffect(
    t,
    'platform.iam.auth.login.verification.{sms.mobile,sms.verify-mobile,email.email,email.verify-email}-max-attempts',
    { changed: 3, observe: limitOf },
  )
  const [once, fiveTimes] = [
    { count: 1, retryAfter: 60 },
    { count: 5, retryAfter: 300 },
  ]
  t.same(
    recipients.map(({ before }) => before),
    [once, fiveTimes, once, fiveTimes],
  )
  for (const { after } of recipients) t.hasStrict(after, { count: 3 })
  const addresses = await assertKeyEffect(
    t,
    'platform.iam.auth.login.verification.{sms,email}.{ip,verify-ip}-max-attempts',
    {
      changed: 3,
      observe: limitOf,
    },
  )
  for (const { before, after } of addresses) t.same([before, after], ['unlimited', { count: 3, retryAfter: 3600 }])
})

t.test('a limit lasts as long as its window', async (t) => {
  const found = await assertKeyEffect(
    t,
    'platform.iam.auth.login.verification.{sms.mobile,sms.verify-mobile,sms.ip,sms.verify-ip,email.email,email.verify-email,email.ip,email.verify-ip}-window',
    {
      changed: '7m',
      observe: (config, key) => limitOf({ [key.replace(/window$/, 'max-attempts')]: 2, ...config }, key),
    },
  )
  for (const { key, before, after } of found) {
    const seconds = key.endsWith('ip-window') ? 3600 : key.includes('verify-') ? 300 : 60
    t.same(
      [before, after],
      [
        { count: 2, retryAfter: seconds },
        { count: 2, retryAfter: 420 },
      ],
      key,
    )
  }
})

t.test('mobile numbers are limited by country', async (t) => {
  const sendTo =
    (...numbers: readonly string[]) =>
    async (config: KeyValues) => {
      await reset(config)
      const codes = []
      for (const [index, to] of numbers.entries()) codes.push((await send('sms', to, `203.0.113.${index}`)).code)
      return [...codes, ...outbox.messages.map(({ recipient }) => recipient)]
    }
  const [national] = await assertKeyEffect(t, 'platform.iam.auth.login.verification.sms.default-country', {
    changed: 'DE',
    observe: sendTo('13800000001', '0170 1234567'),
  })
  t.same(national?.before, ['200', '200', '+8613800000001', '+861701234567'])
  t.ok(national?.after.includes('+491701234567'))
  const [listed] = await assertKeyEffect(t, 'platform.iam.auth.login.verification.sms.countries', {
    changed: ['49'],
    observe: sendTo('+491701234567', '+8613800000001'),
  })
  assertMembers(t, listed, {
    before: ['200', '200', '+491701234567', '+8613800000001'],
    after: ['200', '400', '+491701234567'],
  })
  const [perDay] = await assertKeyEffect(t, 'platform.iam.auth.login.verification.sms.country-max-attempts', {
    changed: 1,
    observe: sendTo('+8613800000001', '+8613800000002', '+491701234567'),
  })
  assertMembers(t, perDay, {
    before: ['200', '200', '200', '+8613800000001', '+8613800000002', '+491701234567'],
    after: ['200', '429', '200', '+8613800000001', '+491701234567'],
  })
})

t.test('operators are alerted after a number of e-mail codes', async (t) => {
  const [found] = await assertKeyEffect(t, 'platform.iam.auth.login.verification.email.alert-after', {
    changed: 2,
    observe: async (config) => {
      await reset(config)
      for (const user of ['a', 'b', 'c']) await send('email', `${user}@example.org`)
      await shared.settled()
      return [...alerts]
    },
  })
  t.same([found?.before, found?.after], [[], [{ area: 'email-codes', subject: 'all', count: 2, limit: 2 }]])
})

t.test('the configured sender delivers to its directory', async (t) => {
  const senders = await assertKeyEffect(t, 'platform.iam.auth.login.verification.{sms,email}.sender', {
    changed: 'other',
    compared: 'sink',
    observe: async (config, key) => {
      const other = createSinkSender('other')
      const rest = { [`${root}.${channelOf(key) === 'sms' ? 'email' : 'sms'}.sender`]: 'log' }
      const { send, outbox } = await startOnSqlite({ config: { ...rest, ...config }, senders: [other.plugin] })
      await send(channelOf(key), address[channelOf(key)])
      return [outbox.messages.length, other.messages.length]
    },
  })
  for (const { before, after } of senders)
    t.same(
      [before, after],
      [
        [1, 0],
        [0, 1],
      ],
    )
  const at = t.testdir()
  const [files] = await assertKeyEffect(t, 'platform.iam.auth.login.verification.file-sender.directory', {
    compared: join(at, 'a'),
    changed: join(at, 'b'),
    observe: async (config) => {
      const { send } = await startOnSqlite({ config: { [`${root}.sms.sender`]: 'file', ...config } })
      await send('sms', address.sms)
      return readdirSync(at)
    },
  })
  t.same([files?.before, files?.after], [['a'], ['a', 'b']])
})

t.test('a code is checked with the key with which it was created', async (t) => {
  const [found] = await assertKeyEffect(t, 'platform.iam.auth.login.verification.secret-key', {
    compared: secretKey,
    changed: otherSecretKey,
    observe: async (config) => {
      await reset()
      await send('sms', address.sms)
      const checking = await startCodes(t, shared.db, { config, clock })
      return (await checking.check('sms', address.sms, outbox.last())).code
    },
  })
  t.same([found?.before, found?.after], ['200', '400'])
})
