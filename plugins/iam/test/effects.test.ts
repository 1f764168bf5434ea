/** Tests the effect of each configuration key of identity. */
import { database } from '@plinth/database'
import { applyLiveValues, assertKeyEffect, assertMembers, type KeyValues, until } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { identity } from '@plinth/iam'
import type { Plugin } from '@plinth/kernel'
import rateLimitPlugin from '@plinth/rate-limit'
import memoryStore from '@plinth/rate-limit-stores/memory'
import sharedWindow from '@plinth/rate-limit-stores/shared-window'
import sharedStorePlugin from '@plinth/shared-store'
import t, { type Test } from 'tap'
import { hashCounters } from './fixtures/counted-hashes.ts'
import { adminPassword, startIam, system } from './fixtures/product.ts'

const day = 86_400_000

async function startOnSqlite(t: Test, config: KeyValues, plugins: readonly Plugin[] = []) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return startIam(t, db, { config, plugins })
}

const shared = await startOnSqlite(t, {})
await shared.administrator()
let users = 0

t.test('an audit record is stored as long as its retention', async (t) => {
  const [stored] = await assertKeyEffect(t, 'platform.iam.audit.retention', {
    changed: '2d',
    observe: async (config) => {
      const { running, clock, administrator } = await startOnSqlite(t, config)
      await administrator()
      const count = async () => (await running.service(database).query('select id from iam_login_audit')).length
      const purge = () =>
        running.scheduledTasks.find(({ name }) => name === 'iam.purge')?.run(new AbortController().signal)
      const counts = [await count()]
      for (const passedMs of [2 * day - 1000, 2000]) {
        clock.shiftWallClock(passedMs)
        await purge()
        counts.push(await count())
      }
      return counts
    },
  })
  assertMembers(t, stored, { before: [1, 1, 1], after: [1, 1, 0] })
})

t.test('operations with an old proof of identity are rejected', async (t) => {
  const iam = await startOnSqlite(t, {})
  const token = await iam.administrator()
  await iam.clock.advance(6 * 60_000)
  const [codes] = await assertKeyEffect(t, 'platform.iam.fresh-proof.enabled', {
    changed: true,
    async observe(values) {
      await applyLiveValues(iam.running, values)
      return (await iam.call('DELETE', '/api/v1/iam/users/me/sessions', { token })).code
    },
  })
  t.match(codes, { before: /^200$/, after: /^401$/ })
})

t.test('a password hash contains its costs', async (t) => {
  const observe = async (config: KeyValues) => {
    const { running, administrator } = await startOnSqlite(t, config)
    await administrator()
    const [row] = await running.service(database).query<Record<string, string>>('select * from iam_user')
    return /\$argon2id\$v=19\$(m=\d+,t=\d+),/.exec(JSON.stringify(row))?.[1]
  }
  const compared = '1MiB'
  const [memory] = await assertKeyEffect(t, 'platform.iam.password.hash.memory', { compared, changed: '2MiB', observe })
  t.match(memory, { before: 'm=1024,t=1', after: 'm=2048,t=1' })
  const [passes] = await assertKeyEffect(t, 'platform.iam.password.hash.passes', { compared: 1, changed: 3, observe })
  t.match(passes, { before: 'm=1024,t=1', after: 'm=1024,t=3' })
})

t.test('the number of passwords that are hashed at the same time is limited', async (t) => {
  const [most] = await assertKeyEffect(t, 'platform.iam.password.hash.concurrency', {
    compared: 3,
    changed: 1,
    observe: async (config) => {
      const { call } = await startOnSqlite(t, config)
      const { promise, resolve } = Promise.withResolvers<void>()
      Object.assign(hashCounters, { most: 0, hold: promise })
      const logins = Array.from({ length: 6 }, (_, index) =>
        call('POST', '/api/v1/auth/login', { body: { username: `nobody-${index}`, password: 'wrong' } }),
      )
      const [concurrency] = Object.values(config)
      await until(() => hashCounters.atOnce >= Number(concurrency), 'the hashes are computed', 0)
      resolve()
      for (const { code } of await Promise.all(logins)) t.equal(code, '401')
      return hashCounters.most
    },
  })
  t.match(most, { before: 3, after: 1 })
})

t.test('cached tokens are checked without the database', async (t) => {
  const [kinds] = await assertKeyEffect(t, 'platform.iam.token.cache-size', {
    changed: 1,
    observe: async (config) => {
      const iam = await startOnSqlite(t, config)
      const tokens = [await iam.administrator(), await iam.login('admin', adminPassword)]
      for (const token of tokens) {
        const { code } = await iam.call('GET', '/api/v1/iam/users/me/sessions', { token })
        t.equal(code, '200')
      }
      await iam.running.service(database).execute('alter table iam_token rename to hidden_token')
      const checks = tokens.map((token) => iam.running.service(identity).authenticate(token))
      const found = checks.map((check) => (check instanceof Promise ? 'database' : 'cache'))
      await Promise.allSettled(checks)
      return found
    },
  })
  t.same(
    [kinds?.before, kinds?.after],
    [
      ['cache', 'cache'],
      ['database', 'cache'],
    ],
  )
})

t.test('a login ends at its lifetime, after inactivity, and if a user has too many', async (t) => {
  const minute = 60_000
  /**
   * Advances the clock by each of these durations, one after another. Returns the response code of a request with the
   * token after each of them.
   */
  const codesAfter =
    (...times: readonly number[]) =>
    async (config: KeyValues) => {
      const { running, call, clock, login } = shared
      await applyLiveValues(running, config)
      const token = await login('admin', adminPassword)
      const codes: string[] = []
      for (const ms of times) {
        await clock.advance(ms)
        codes.push((await call('GET', '/api/v1/iam/users/me', { token })).code)
      }
      return codes.join(' ')
    }
  const [idle] = await assertKeyEffect(t, 'platform.iam.token.idle-timeout', {
    changed: '10m',
    observe: codesAfter(9 * minute, 10 * minute),
  })
  t.match(idle, { before: '200 200', after: '200 401' })
  const [lifetimes] = await assertKeyEffect(t, 'platform.iam.token.lifetime', {
    changed: '1h',
    observe: codesAfter(59 * minute, minute),
  })
  t.match(lifetimes, { before: '200 200', after: '200 401' })
  const [counts] = await assertKeyEffect(t, 'platform.iam.token.max-per-user', {
    changed: 2,
    observe: async (config) => {
      const { running, call, login } = shared
      await applyLiveValues(running, config)
      const tokens: string[] = []
      while (tokens.length < 3) tokens.push(await login('admin', adminPassword))
      const responses = tokens.map((token) => call('GET', '/api/v1/iam/users/me', { token }))
      return (await Promise.all(responses)).map(({ code }) => code).join(' ')
    },
  })
  t.match(counts, { before: '200 200 200', after: '401 200 200' })
})

t.test('a password must follow the configured rules', async (t) => {
  /** Returns the violated rules of each password. */
  const brokenRules =
    (passwords: readonly string[], others: KeyValues = {}) =>
    async (config: KeyValues) => {
      await applyLiveValues(shared.running, { ...others, ...config })
      const create = (password: string) =>
        shared.accounts.create({ username: `user-${++users}`, password }, system).then(
          () => [],
          ({ data }: { data: { faults: readonly { rule: string }[] } }) => data.faults.map(({ rule }) => rule),
        )
      return Promise.all(passwords.map(create))
    }
  const custom = { 'platform.iam.password.policy': 'custom' }
  const [policies] = await assertKeyEffect(t, 'platform.iam.password.policy', {
    changed: 'medium',
    observe: brokenRules(['12345678', 'abcdefg1']),
  })
  t.same(
    [policies?.before, policies?.after],
    [
      [[], []],
      [['needs-letter-and-digit'], []],
    ],
  )
  const [lengths] = await assertKeyEffect(t, 'platform.iam.password.min-length', {
    changed: 10,
    observe: brokenRules(['abcdefgh', 'abcdefghij'], custom),
  })
  t.same(
    [lengths?.before, lengths?.after],
    [
      [[], []],
      [['too-short'], []],
    ],
  )
  const [patterns] = await assertKeyEffect(t, 'platform.iam.password.pattern', {
    changed: '^\\p{Lu}',
    observe: brokenRules(['abcdefgh', 'Abcdefgh'], custom),
  })
  t.same(
    [patterns?.before, patterns?.after],
    [
      [[], []],
      [['pattern'], []],
    ],
  )
  const [known] = await assertKeyEffect(t, 'platform.iam.password.reject-well-known', {
    changed: true,
    observe: brokenRules(['123456', 'kite-7-mill']),
  })
  t.same(
    [known?.before, known?.after],
    [
      [[], []],
      [['well-known'], []],
    ],
  )
  const [operators] = await assertKeyEffect(t, 'platform.iam.password.operator-min-length', {
    changed: 12,
    observe: async (config) => {
      const { accounts } = await startOnSqlite(t, config)
      return accounts.createAdministrator({ username: 'root', password: 'secret1' }, system).then(
        () => 'created',
        ({ data }: { data: { faults: readonly { rule: string; limit: number }[] } }) =>
          data.faults.map(({ rule, limit }) => `${rule} ${limit}`),
      )
    },
  })
  t.same([operators?.before, operators?.after], ['created', ['too-short 12']])
})

t.test('logins are limited per account and per address', async (t) => {
  const root = 'platform.iam.auth.login.rate-limit'
  const plugins = [rateLimitPlugin, memoryStore, sharedStorePlugin, sharedWindow]
  const limited = await startOnSqlite(t, {}, plugins)
  let runs = 0
  /**
   * Logs in with a wrong password until an attempt is rejected, at most 25 times: always with one account, or always
   * from one address, each of which only this run uses. Returns the number of accepted attempts and the waiting time in seconds.
   */
  const limitOf =
    (kind: 'identifier' | 'ip', others: KeyValues = {}) =>
    async (values: KeyValues) => {
      await applyLiveValues(limited.running, { ...others, ...values })
      const run = ++runs
      for (let count = 0; count < 25; count++) {
        const { code, data } = await limited.call('POST', '/api/v1/auth/login', {
          body: { username: kind === 'ip' ? `nobody-${run}-${count}` : `mia-${run}`, password: 'wrong' },
          from: `198.18.${run}.${kind === 'ip' ? 200 : count}`,
        })
        if (code === '429') return { count, retryAfter: data.retryAfter }
      }
      return 'unlimited'
    }
  const [perAccount] = await assertKeyEffect(t, 'platform.iam.auth.login.rate-limit.password.identifier-max-attempts', {
    changed: 3,
    observe: limitOf('identifier'),
  })
  t.match(perAccount, { before: { count: 5, retryAfter: 60 }, after: { count: 3, retryAfter: 60 } })
  const [perAddress] = await assertKeyEffect(t, 'platform.iam.auth.login.rate-limit.password.ip-max-attempts', {
    changed: 2,
    observe: limitOf('ip'),
  })
  t.match(perAddress, { before: { count: 20, retryAfter: 60 }, after: { count: 2, retryAfter: 60 } })
  const windows = await assertKeyEffect(t, 'platform.iam.auth.login.rate-limit.password.{identifier,ip}-window', {
    changed: '7m',
    observe: (values, key) => {
      const kind = key.endsWith('ip-window') ? 'ip' : 'identifier'
      return limitOf(kind, { [`${root}.password.${kind}-max-attempts`]: 3 })(values)
    },
  })
  for (const { before, after } of windows)
    t.match({ before, after }, { before: { count: 3, retryAfter: 60 }, after: { count: 3, retryAfter: 420 } })
  const switches = await assertKeyEffect(t, 'platform.iam.auth.login.rate-limit.{enabled,password.enabled}', {
    changed: false,
    observe: limitOf('identifier'),
  })
  for (const { after } of switches) t.equal(after, 'unlimited')
  const [prefixes] = await assertKeyEffect(t, 'platform.iam.auth.login.rate-limit.key-prefix', {
    changed: 'own:logins',
    observe: async (values) => {
      const config = { 'platform.rate-limit.default-store': 'shared-window', ...values }
      const { call, running } = await startOnSqlite(t, config, plugins)
      await call('POST', '/api/v1/auth/login', { body: { username: 'mia', password: 'wrong' } })
      const rows = await running.service(database).query('select name from shared_store_entry')
      return /own:logins|iam:auth:login/.exec(JSON.stringify(rows))?.[0]
    },
  })
  t.match(prefixes, { before: 'iam:auth:login', after: 'own:logins' })
})
