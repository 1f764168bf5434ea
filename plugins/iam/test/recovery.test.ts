/** Tests the recovery of accounts by links in mails. The hostile cases come first. */
import { assertMembers, until } from '@plinth/dev/testing'
import { onDatabase, onEachDatabase, onSqlite } from '@plinth/dev/testing/database'
import { personalRecords } from '@plinth/iam'
import { definePlugin, rateLimitStore } from '@plinth/kernel'
import t from 'tap'
import { adminPassword, system } from './fixtures/product.ts'
import { type Recovering, recoveryPath, startRecovery } from './fixtures/recovery.ts'

const renewed = 'another horse battery staple'
const users = '/api/v1/admin/iam/users'
const failed = ({ code, data }: { code: string; data: { reason?: string } | null }) => [code, data?.reason]
const invalid = ['400', 'recovery.token-invalid']
const minuteMs = 60_000

/** Names of the audited actions on a user, in their order. */
const actionsOn = async ({ rows }: Pick<Recovering, 'rows'>, userId: number) =>
  (await rows(`select action from iam_audit where target_type = 'user' and target_id = ${userId} order by id`)).map(
    ({ action }) => action,
  )

onEachDatabase(t, 'of several uses of one link at the same time, exactly one succeeds', async (t, db) => {
  const shop = await startRecovery(t, db)
  const { username, id } = await shop.createUser()
  const token = await shop.tokenFor(username)
  const results = await Promise.all(
    Array.from({ length: 6 }, (_, index) => shop.complete(token, `${renewed} ${index}`)),
  )
  const winners = results.flatMap(({ code }, index) => (code === '200' ? [index] : []))
  t.equal(winners.length, 1)
  for (const [index, result] of results.entries()) if (!winners.includes(index)) t.same(failed(result), invalid)
  t.ok(await shop.login(username, `${renewed} ${winners[0]}`))
  t.same((await actionsOn(shop, id)).filter((action) => action === 'user.recover').length, 1)
  t.same(failed(await shop.complete(token, renewed)), invalid, 'a used link stays used')
})

onDatabase(t, 'the response to a request is the same for every account', async (t, db) => {
  // Without a worker, only the request itself executes statements.
  const shop = await startRecovery(t, db, { roles: ['web'] })
  const [known, disabled] = [await shop.createUser(), await shop.createUser({ enabled: false })]
  const withoutAddress = await shop.createUser({ email: null })
  const statements: string[] = []
  const connection = shop.db.fork().getConnection()
  for (const [owner, name] of [
    [shop.db, 'execute'],
    [shop.db, 'query'],
    [connection, 'execute'],
  ] as const) {
    const run = Reflect.get(owner, name).bind(owner)
    const counted = (sql: string, ...rest: unknown[]) => {
      statements.push(sql)
      return run(sql, ...rest)
    }
    Object.defineProperty(owner, name, { configurable: true, value: counted })
  }
  const asked = async (identifier: string) => {
    statements.length = 0
    const response = await shop.request(identifier)
    const { 'x-trace-id': _, date: __, ...headers } = response.headers
    return { response, headers, statements: [...statements] }
  }
  await asked('warm-up')
  const expected = await asked('nobody-here')
  t.same(expected.response, { status: 200, code: '200', message: expected.response.message, data: { accepted: true } })
  t.ok(expected.statements.length > 0)
  for (const identifier of [known.username, disabled.username, withoutAddress.username])
    t.same(await asked(identifier), expected, identifier)
  const byAddress = await asked('nobody@example.com')
  t.same(await asked(known.address), byAddress)
  t.equal((await shop.rows('select id from outbox_event')).length, 7, 'each request stores one event')
})

onSqlite(t, 'a link leads to the configured site, whatever host the request names', async (t, db) => {
  const shop = await startRecovery(t, db)
  const { username } = await shop.createUser()
  for (const headers of [
    { host: 'evil.example' },
    { 'x-forwarded-host': 'evil.example' },
    { forwarded: 'host=evil.example' },
  ]) {
    await shop.request(username, { headers })
    await shop.settled()
    const { link = '', text = '' } = shop.mailbox.sent.at(-1) ?? {}
    t.ok(link.startsWith('https://shop.example/admin/recovery#for=reset&token='), link)
    t.notMatch(text, /evil/)
  }
})

onSqlite(t, 'a link that programs open or that no longer fits the account', async (t, db) => {
  const shop = await startRecovery(t, db)
  const { call, complete, tokenFor, createUser, clock } = shop
  const root = await shop.administrator()
  const { username, id } = await createUser()
  const token = await tokenFor(username)
  for (const method of ['GET', 'HEAD', 'GET', 'HEAD', 'GET'])
    for (const path of [`${recoveryPath}/complete?token=${token}`, `/admin/recovery?token=${token}`])
      await shop.server.inject({ method: method as 'GET', url: path })
  t.equal((await complete(token, renewed)).code, '200', 'opening a link does not use it up')
  t.ok(await shop.login(username, renewed))

  const changes: Readonly<Record<string, (user: { id: number; username: string }) => Promise<unknown>>> = {
    'the address was replaced': ({ id }) =>
      call('PUT', `${users}/${id}`, { token: root, body: { email: 'new@example.com' } }),
    'the address was removed': ({ id }) => call('PUT', `${users}/${id}`, { token: root, body: { email: null } }),
    'the user was disabled': ({ id }) => call('PUT', `${users}/${id}`, { token: root, body: { enabled: false } }),
    'the password was changed': ({ id }) =>
      call('PUT', `${users}/${id}/password`, { token: root, body: { password: renewed } }),
    'the user was deleted': ({ id }) => call('DELETE', `${users}/${id}`, { token: root }),
    'a newer link was sent': ({ username }) => tokenFor(username),
    'its lifetime is over': async () => clock.shiftWallClock(30 * minuteMs),
  }
  for (const [name, change] of Object.entries(changes)) {
    const user = await createUser()
    const sent = await tokenFor(user.username)
    await change(user)
    t.same(failed(await complete(sent, `${renewed} 2`)), invalid, name)
  }
  for (const wrong of ['x', token.toUpperCase(), `${token} `, '0'.repeat(64)])
    t.same(failed(await complete(wrong, renewed)), invalid, 'no link')
  const fresh = await tokenFor(username)
  t.same(failed(await shop.useEmail(fresh)), invalid, 'a link for another purpose')
  t.same(failed(await complete(fresh, 'x')), ['400', 'iam.password-refused'], 'the policy applies')
  t.equal((await complete(fresh, `${renewed} 3`)).code, '200', 'a rejected password does not use the link up')
  t.ok((await actionsOn(shop, id)).includes('user.recover'))
})

onSqlite(t, 'a new password ends all sessions and notifies the owner, and opens no session', async (t, db) => {
  const shop = await startRecovery(t, db)
  const { username, address, id } = await shop.createUser()
  const session = await shop.login(username, adminPassword)
  const token = await shop.tokenFor(address.toUpperCase())
  t.match(shop.mailbox.sent.at(-1), { to: address, subject: 'Shop: choose a new password', purpose: 'reset' })
  t.match(shop.mailbox.sent.at(-1)?.text, /within 30 minutes/)
  const response = await shop.complete(token, renewed)
  t.same([response.code, response.data, response.headers['set-cookie']], ['200', null, undefined])
  t.equal((await shop.call('GET', '/api/v1/iam/users/me', { token: session })).code, '401')
  t.equal((await shop.post('/api/v1/auth/login', { username, password: adminPassword })).code, '401')
  t.ok(await shop.login(username, renewed))
  await shop.settled()
  const notice = shop.mailbox.sent.at(-1)
  t.match(notice, { to: address, subject: 'Shop: your password was changed', token: '' })
  t.notMatch(notice?.text, renewed)
  const [entry] = await shop.rows(`select actor, actor_user_id from iam_audit where action = 'user.recover'`)
  t.same(entry, { actor: 'recovery-link', actor_user_id: null })
  await shop.request(username, { language: 'zh-CN' })
  await shop.settled()
  t.match(shop.mailbox.sent.at(-1)?.subject, 'Shop：重设密码')
  t.equal((await actionsOn(shop, id)).length, 2)
})

onSqlite(t, 'an account without a password or a confirmed address gets no link', async (t, db) => {
  const shop = await startRecovery(t, db)
  const wallet = { provider: 'evm', chainType: 'evm', subject: '0x1' }
  const external = await shop.accounts.create({ username: 'wanda', email: 'wanda@example.com' }, system)
  await shop.accounts.bindExternal(external.id, wallet, system)
  t.equal(await shop.tokenFor('wanda'), '')
  assertMembers(t, shop.mailbox.sent, [{ to: 'wanda@example.com', subject: 'Shop: this account has no password' }])
  t.match(shop.mailbox.sent[0]?.text, /This account has no password/)
  // The user replaces the address and mistypes it, so a stranger may own the new one.
  const { username } = await shop.createUser()
  const session = await shop.login(username, adminPassword)
  const body = { email: 'stranger@example.com', currentPassword: adminPassword }
  t.equal((await shop.call('PUT', '/api/v1/iam/users/me', { token: session, body })).code, '200')
  await shop.settled()
  shop.mailbox.sent.length = 0
  t.equal(await shop.tokenFor(username), '')
  t.same(shop.mailbox.sent, [])
  t.same(await shop.rows('select id from iam_recovery_token'), [])
})

onDatabase(t, 'limits slow a stranger down and never lock the owner out', async (t, db) => {
  const shop = await startRecovery(t, db, {
    config: {
      'platform.iam.recovery.account-max-mails': 2,
      'platform.iam.recovery.identifier-max-attempts': 3,
      'platform.iam.recovery.ip-max-attempts': 5,
    },
  })
  const { username } = await shop.createUser()
  const codes = async (from: string, names: readonly string[]) => {
    const found = []
    for (const name of names) found.push((await shop.request(name, { from })).code)
    return found
  }
  const stranger = '203.0.113.1'
  for (const name of [username, 'nobody'])
    t.same(await codes(`198.51.100.${name.length}`, [name, name, name, name]), ['200', '200', '200', '429'], name)
  t.same(await codes(stranger, ['a1', 'a2', 'a3', 'a4', 'a5', 'a6']), ['200', '200', '200', '200', '200', '429'])
  t.equal((await shop.request(username, { from: '203.0.113.77' })).code, '200', 'the owner on another network')
  await shop.settled()
  t.equal(shop.mailbox.sent.length, 2, 'an account gets a limited number of mails')
  t.equal((await shop.complete(shop.mailbox.sent[1]?.token ?? '', renewed)).code, '200', 'the last link stays valid')
  const uses = []
  for (let count = 0; count < 6; count++)
    uses.push((await shop.complete('0'.repeat(64), renewed, { from: stranger })).code)
  t.same(uses, ['400', '400', '400', '400', '400', '429'])
})

onDatabase(
  t,
  'requests of one account at the same time send one mail each, and the last link is valid',
  async (t, db) => {
    const shop = await startRecovery(t, db)
    const { username } = await shop.createUser()
    for (let round = 0; round < 5; round++) {
      shop.mailbox.sent.length = 0
      await shop.rows('delete from iam_recovery_token returning id')
      await Promise.all(Array.from({ length: 4 }, () => shop.request(username)))
      await shop.settled()
      t.equal(shop.mailbox.sent.length, 4)
      t.equal((await shop.complete(shop.mailbox.sent.at(-1)?.token ?? '', `${renewed} ${round}`)).code, '200')
      await shop.settled()
    }
  },
)

onSqlite(t, 'if requests cannot be counted, they are rejected', async (t, db) => {
  let isBroken = true
  const brittle = definePlugin({
    id: 'test.brittle',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [rateLimitStore],
    setup({ contribute }) {
      const consume = () => {
        if (isBroken) throw new Error('nobody is there')
        return { allowed: true, remaining: 1, resetAtMs: 0, retryAfterMs: 0 }
      }
      contribute(rateLimitStore, 'brittle', {
        traits: { shared: false, algorithm: 'fixed-window' },
        consume,
        peek: consume,
        reset: () => undefined,
      })
    },
  })
  const config = {
    'platform.rate-limit.default-store': 'brittle',
    'platform.iam.recovery.identifier-max-attempts': 3,
    'platform.iam.recovery.ip-max-attempts': 20,
  }
  const shop = await startRecovery(t, db, { plugins: [brittle], config })
  const { username } = await shop.createUser()
  const rejected = ['503', 'rate-limit.store-unavailable']
  t.same(failed(await shop.request(username)), rejected)
  t.same(failed(await shop.complete('0'.repeat(64), renewed)), rejected)
  await shop.settled()
  t.same(shop.mailbox.sent, [])
  isBroken = false
  t.ok(await shop.tokenFor(username))
})

onSqlite(t, 'a mail server that is down reveals nothing, and the mail follows later', async (t, db) => {
  const shop = await startRecovery(t, db)
  const { username } = await shop.createUser()
  const { state, sent } = shop.mailbox
  state.isDown = true
  const unknown = await shop.request('nobody')
  t.same(await shop.request(username), unknown)
  await until(() => state.attempts > 0, 'the mail is attempted')
  await shop.settled()
  state.isDown = false
  for (let second = 0; second < 30 && sent.length === 0; second++) {
    await shop.clock.advance(1000)
    await shop.settled()
  }
  t.equal(sent.length, 1)
  t.equal((await shop.complete(sent[0]?.token ?? '', renewed)).code, '200')
  const events = JSON.stringify(await shop.rows('select * from outbox_event'))
  t.notMatch(events, /#for=reset/, 'the stored error does not repeat the mail')
})

onSqlite(t, 'no table and no log contains a token or a password', async (t, db) => {
  const shop = await startRecovery(t, db, { config: { 'platform.http.access-log': true } })
  const root = await shop.administrator()
  const { username, address } = await shop.createUser()
  const session = await shop.login(username, adminPassword)
  await shop.post(
    `/api/v1/iam/users/me/email-change`,
    { email: 'other@example.com', currentPassword: adminPassword },
    { token: session },
  )
  await shop.post('/api/v1/admin/iam/invitations', { username: 'guest', email: 'guest@example.com' }, { token: root })
  await shop.tokenFor(address)
  const tokens = shop.mailbox.sent.map(({ token }) => token)
  t.equal(new Set(tokens).size, 3)
  await shop.useEmail(shop.mailbox.sent.find(({ purpose }) => purpose === 'email-change')?.token ?? '')
  await shop.complete(shop.mailbox.sent.find(({ purpose }) => purpose === 'invitation')?.token ?? '', renewed)
  await shop.complete('0'.repeat(63), renewed)
  await shop.settled()
  const tables = await shop.rows(`select name from sqlite_master where type = 'table'`)
  const stored = await Promise.all(
    tables.map(async ({ name }) => JSON.stringify(await shop.rows(`select * from ${name}`))),
  )
  t.ok(stored.join().includes('guest@example.com'))
  t.ok(shop.log.join().includes(recoveryPath))
  for (const secret of [...tokens, ...shop.mailbox.sent.flatMap(({ token }) => token || []), renewed, adminPassword])
    t.notOk(`${stored.join()} ${shop.log.join()}`.includes(secret), secret)
})

onDatabase(t, 'an erasure removes the links of a user, and the purge removes expired ones', async (t, db) => {
  const shop = await startRecovery(t, db)
  const [erased, other] = [await shop.createUser(), await shop.createUser()]
  await shop.tokenFor(erased.username)
  await shop.tokenFor(other.username)
  const owners = async () =>
    (await shop.rows('select user_id from iam_recovery_token')).map(({ user_id }) => Number(user_id))
  t.same((await owners()).sort(), [erased.id, other.id].sort())
  const { signal } = new AbortController()
  const records = shop.running.service(personalRecords)
  let text = ''
  for await (const chunk of await records.export(erased.id, system)) text += chunk
  t.match(text, /iam_recovery_token/)
  t.notMatch(text, /[0-9a-f]{64}/, 'the export contains no hash')
  await records.erase(erased.id, { actor: system, signal })
  t.same(await owners(), [other.id])
  const purge = () => shop.running.scheduledTasks.find(({ name }) => name === 'iam.recovery.purge')?.run(signal)
  await purge()
  t.same(await owners(), [other.id])
  shop.clock.shiftWallClock(25 * 60 * minuteMs)
  await purge()
  t.same(await owners(), [])
})

onSqlite(t, 'without a site URL, a mail driver or the key, the function is off', async (t, db) => {
  const shop = await startRecovery(t, db)
  const root = await shop.administrator()
  const { username, id } = await shop.createUser()
  const token = await shop.tokenFor(username)
  const available = async () => (await shop.call('GET', recoveryPath)).data.available
  t.equal(await available(), true)
  for (const [values, isOff] of [
    [{ 'platform.site.url': '' }, false],
    [{ 'platform.mail.driver': '' }, false],
    [{ 'platform.iam.recovery.enabled': false }, true],
  ] as const) {
    await shop.set(values)
    t.equal(await available(), false)
    for (const response of [
      await shop.request(username),
      await shop.request('nobody'),
      await shop.call('POST', `${users}/${id}/recovery`, { token: root }),
      await shop.post('/api/v1/admin/iam/invitations', { username: 'guest', email: 'g@example.com' }, { token: root }),
    ])
      t.same(failed(response), ['503', 'recovery.unavailable'])
    const reason = isOff ? ['503', 'recovery.unavailable'] : invalid
    t.same(failed(await shop.complete('0'.repeat(64), renewed)), reason)
  }
  await shop.set({})
  t.equal((await shop.complete(token, renewed)).code, '200')
  assertMembers(t, await shop.rows(`select username from iam_user where username = 'guest'`), [])
})
