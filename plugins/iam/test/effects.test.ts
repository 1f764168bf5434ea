/** What keys of identity do that no other test is about. */
import { database } from '@plinth/database'
import { createDatabase } from '@plinth/database/testing'
import { identity } from '@plinth/iam'
import type { JsonValue } from '@plinth/kernel'
import rateLimitPlugin from '@plinth/rate-limit'
import memoryStore from '@plinth/rate-limit-stores/memory'
import sharedWindow from '@plinth/rate-limit-stores/shared-window'
import sharedStorePlugin from '@plinth/shared-store'
import t from 'tap'
import { hashes } from './fixtures/counted-hashes.ts'
import { adminPassword, startIam } from './fixtures/product.ts'

const day = 86_400_000

t.test('effect of platform.iam.audit.retention: old records go, young ones stay', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { running, clock, administrator } = await startIam(t, db, { config: { 'platform.iam.audit.retention': '2d' } })
  await administrator()
  const service = running.service(database)
  const count = async () => {
    const [row] = await service.query<{ n: number }>('select count(*) as n from iam_login_audit')
    return Number(row?.n)
  }
  const purge = () => running.scheduledTasks.find(({ name }) => name === 'iam.purge')?.run(new AbortController().signal)
  t.equal(await count(), 1)
  clock.shiftWallClock(2 * day - 1000)
  await purge()
  t.equal(await count(), 1)
  clock.shiftWallClock(2000)
  await purge()
  t.equal(await count(), 0)
})

t.test('effects of platform.iam.password.hash.{memory,passes}: what a stored hash says', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const config = { 'platform.iam.password.hash.memory': '2MiB', 'platform.iam.password.hash.passes': 3 }
  const { running, administrator } = await startIam(t, db, { config })
  await administrator()
  const [row] = await running.service(database).query<Record<string, string>>('select * from iam_user')
  t.match(JSON.stringify(row), /\$argon2id\$v=19\$m=2048,t=3,/)
})

t.test('effect of platform.iam.password.hash.concurrency: hashes at a time', async (t) => {
  for (const concurrency of [1, 3]) {
    const db = await createDatabase('sqlite')
    t.teardown(() => db.drop())
    const { call } = await startIam(t, db, { config: { 'platform.iam.password.hash.concurrency': concurrency } })
    const { promise, resolve } = Promise.withResolvers<void>()
    Object.assign(hashes, { most: 0, hold: promise })
    const logins = Array.from({ length: 6 }, (_, index) =>
      call('POST', '/api/v1/auth/login', { body: { username: `nobody-${index}`, password: 'wrong' } }),
    )
    while (hashes.atOnce < concurrency) await new Promise((next) => setImmediate(next))
    resolve()
    for (const { code } of await Promise.all(logins)) t.equal(code, '401')
    t.equal(hashes.most, concurrency)
  }
})

t.test('effect of platform.iam.token.cache-size: tokens that are checked without the database', async (t) => {
  for (const [size, expected] of [
    [1, '500'],
    [10, '200'],
  ] as const) {
    const db = await createDatabase('sqlite')
    t.teardown(() => db.drop())
    const iam = await startIam(t, db, { config: { 'platform.iam.token.cache-size': size } })
    const first = await iam.administrator()
    const second = await iam.login('admin', adminPassword)
    const ask = async (token: string) => (await iam.call('GET', '/api/v1/iam/users/me/sessions', { token })).code
    const check = (token: string) => iam.running.service(identity).authenticate(token)
    t.same([await ask(first), await ask(second)], ['200', '200'])
    await iam.running.service(database).execute('alter table iam_token rename to hidden_token')
    t.ok(!(check(second) instanceof Promise), 'the last one is known')
    const checked = check(first)
    if (expected === '500') await t.rejects(Promise.resolve(checked), 'the one before is not')
    else t.notOk(checked instanceof Promise, 'the one before as well')
  }
})

t.test('limits of logins', async (t) => {
  const root = 'platform.iam.auth.login.rate-limit'
  const start = async (config: Record<string, JsonValue>) => {
    const db = await createDatabase('sqlite')
    t.teardown(() => db.drop())
    const off = { [`${root}.password.identifier-max-attempts`]: 0, [`${root}.password.ip-max-attempts`]: 0 }
    const iam = await startIam(t, db, {
      plugins: [rateLimitPlugin, memoryStore, sharedStorePlugin, sharedWindow],
      config: { ...off, ...config },
    })
    let attempts = 0
    const attempt = (username: string | undefined, from: string | undefined) =>
      iam.call('POST', '/api/v1/auth/login', {
        body: { username: username ?? `nobody-${++attempts}`, password: 'wrong' },
        from: from ?? `203.0.113.${++attempts}`,
      })
    return { ...iam, attempt }
  }
  // effects of platform.iam.auth.login.rate-limit.password.{identifier-max-attempts,identifier-window,ip-max-attempts,ip-window}
  for (const kind of ['identifier', 'ip']) {
    const { attempt } = await start({
      [`${root}.password.${kind}-max-attempts`]: 2,
      [`${root}.password.${kind}-window`]: '7m',
    })
    const again = () => attempt(kind === 'ip' ? undefined : 'mia', kind === 'ip' ? '203.0.113.200' : undefined)
    t.same([(await again()).code, (await again()).code], ['401', '401'])
    t.match(await again(), { code: '429', data: { retryAfter: 420 } }, kind)
    t.equal((await attempt('ann', '203.0.113.201')).code, '401', 'another account at another address')
  }
  const { attempt, running } = await start({
    [`${root}.key-prefix`]: 'own:logins',
    'platform.rate-limit.default-store': 'shared-window',
    [`${root}.password.identifier-max-attempts`]: 1,
  })
  await attempt('mia', undefined)
  t.equal((await attempt('mia', undefined)).code, '429')
  const rows = await running.service(database).query('select name from shared_store_entry')
  t.match(JSON.stringify(rows), /:own:logins:/, 'effect of platform.iam.auth.login.rate-limit.key-prefix')
})
