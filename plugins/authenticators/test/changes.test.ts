/** Tests changes of factors: which proof they need, what cannot be removed, resets, notices and data of users. */
import { onDatabase, onEachDatabase } from '@plinth/dev/testing/database'
import { accounts, identity, personalRecords } from '@plinth/iam'
import recovery from '@plinth/iam/recovery'
import t from 'tap'
import { auth, factor, outcomeOf, type Product, password, startAuthenticators, system } from './fixtures/product.ts'

const enabled = { 'platform.iam.fresh-proof.enabled': true }
const required = '401 iam.proof-required'
const adminPath = (id: number) => `/api/v1/admin/iam/users/${id}/authenticators`

const provenBy = ({ post }: Product) => ({
  password: async (token: string) =>
    (await post(`${auth}/proof`, { method: 'password', password }, { token })).data.accessToken as string,
  totp: async (token: string, code: string) =>
    (await post(`${auth}/proof/totp`, { code }, { token })).data.accessToken as string,
})

onEachDatabase(t, 'changes of factors need the strongest method of the user', async (t, db) => {
  const product = await startAuthenticators(t, db, { config: enabled })
  const { call, post, createUser, addPasskey, addTotp, assertion, clock } = product
  const proof = provenBy(product)
  const user = await createUser()
  const { code } = await addTotp(user.token)
  const changesOf = async (token: string) => {
    const tokenBody = {
      name: 'script',
      expiresAt: new Date(clock.now() + 86_400_000).toISOString(),
    }
    const attempts = {
      'passkey options': await post(`${auth}/passkeys/options`, {}, { token }),
      'recovery codes': await post(`${auth}/recovery-codes`, {}, { token }),
      'API token': await post('/api/v1/iam/users/me/api-tokens', tokenBody, { token }),
      'remove TOTP': await call('DELETE', `${auth}/totp`, { token }),
    }
    return Object.fromEntries(
      Object.entries(attempts).map(([name, one]) => [name, [outcomeOf(one), one.data?.methods]]),
    )
  }
  const all = (outcome: string, methods: readonly string[]) =>
    Object.fromEntries(
      ['passkey options', 'recovery codes', 'API token', 'remove TOTP'].map((name) => [name, [outcome, methods]]),
    )
  const byPassword = await proof.password(user.token)
  t.strictSame(await changesOf(byPassword), all(required, ['totp']), 'the password is not enough')
  t.equal(
    outcomeOf(await call('DELETE', '/api/v1/iam/users/me/sessions', { token: byPassword })),
    '200',
    'other operations accept it',
  )
  const byTotp = await proof.totp(byPassword, code())
  t.equal(outcomeOf(await post(`${auth}/passkeys/options`, {}, { token: byTotp })), '200')
  const { device } = await addPasskey(byTotp)
  t.strictSame(await changesOf(byTotp), all(required, ['passkey']), 'with a passkey, a code is not enough')
  const answer = await assertion(`${auth}/proof/passkey`, device, {}, { token: byTotp })
  const { data } = await post(
    `${auth}/proof/passkey`,
    { challengeId: answer.challengeId, response: answer.response },
    { token: byTotp },
  )
  const removed = await call('DELETE', `${auth}/totp`, { token: data.accessToken })
  t.equal(outcomeOf(removed), '200')
  t.equal(outcomeOf(await call('GET', '/api/v1/iam/users/me', { token: byTotp })), '401 iam.token-invalid')
  const waiting = (await product.login(user.username)).data
  t.strictSame(waiting.methods, ['passkey', 'recovery-code'])
})

onDatabase(t, 'a user who has lost the device replaces it after a sign-in with a recovery code', async (t, db) => {
  const product = await startAuthenticators(t, db, { config: enabled })
  const { call, post, createUser, addPasskey, addTotp, pendingOf, clock } = product
  const user = await createUser()
  const { added } = await addPasskey(user.token)
  const pendingToken = await pendingOf(user.username)
  const { data } = await post(`${factor}/recovery-code`, { pendingToken, code: added.data.recoveryCodes[0] })
  const token = data.accessToken
  t.equal((await addTotp(token)).added.code, '200')
  t.equal(outcomeOf(await call('DELETE', `${auth}/passkeys/${added.data.id}`, { token })), '200')
  await clock.advance(300_000)
  t.equal(outcomeOf(await call('DELETE', `${auth}/totp`, { token })), required, 'only for five minutes')
})

onDatabase(t, 'a user who must keep a factor replaces the lost app', async (t, db) => {
  const product = await startAuthenticators(t, db, { config: enabled })
  const { call, post, administrator, addTotp, pendingOf, settled, mailbox } = product
  const admin = await administrator()
  const { added, code: lost } = await addTotp(admin.token)
  await requireFactor(product)
  const pendingToken = await pendingOf('admin')
  const body = { pendingToken, code: added.data.recoveryCodes[0] }
  const { data } = await post(`${factor}/recovery-code`, body)
  const token = data.accessToken
  t.equal(outcomeOf(await call('DELETE', `${auth}/totp`, { token })), '409 authenticators.factor-required')
  const replaced = await addTotp(token)
  t.strictSame([replaced.added.code, replaced.added.data], ['200', { recoveryCodes: null }])
  const tryCode = async (code: string) =>
    outcomeOf(await post(`${factor}/totp`, { pendingToken: await pendingOf('admin'), code }))
  t.strictSame([await tryCode(lost()), await tryCode(replaced.code())], ['401 authenticators.totp-invalid', '200'])
  await settled()
  t.strictSame(
    mailbox.sent.map(({ subject }) => subject).filter((subject) => /one-time/.test(subject)),
    ['were set up', 'were removed', 'were set up'].map((change) => `Shop: one-time passwords ${change}`),
    'the owner is told',
  )
})

onEachDatabase(t, 'the last factor and the last way of signing in cannot be removed', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { call, administrator, createUser, addPasskey, addTotp, running, assertion, post, set } = product
  const admin = await administrator()
  const { added } = await addPasskey(admin.token)
  const removePasskey = async (token: string, id: number) =>
    outcomeOf(await call('DELETE', `${auth}/passkeys/${id}`, { token }))
  const factorRequired = '409 authenticators.factor-required'
  await requireFactor(product)
  t.equal(await removePasskey(admin.token, added.data.id), factorRequired)
  t.equal((await call('GET', `${auth}/authenticators`, { token: admin.token })).data.passkeys.length, 1)
  await addTotp(admin.token)
  t.equal(await removePasskey(admin.token, added.data.id), '200')
  t.equal(outcomeOf(await call('DELETE', `${auth}/totp`, { token: admin.token })), factorRequired)

  const user = await createUser()
  const first = await addPasskey(user.token)
  t.equal(await removePasskey(user.token, first.added.data.id), '200', 'without a policy and with a password')
  t.equal((await call('GET', `${auth}/authenticators`, { token: user.token })).data.recoveryCodes, null)
  t.equal(
    outcomeOf(await post(`${auth}/recovery-codes`, {}, { token: user.token })),
    '409 authenticators.factor-missing',
  )
  t.equal((await product.login(user.username)).code, '200')

  const guest = await running.service(accounts).create({ username: 'guest', password }, system)
  const opened = (await product.login('guest')).data.accessToken
  const only = await addPasskey(opened)
  await product.db.execute('update iam_user set password_hash = null where id = ?', [guest.id])
  const answer = await assertion(`${auth}/passkey`, only.device)
  const session = await post(`${auth}/passkey/login`, { challengeId: answer.challengeId, response: answer.response })
  const token = session.data.accessToken
  t.equal(await removePasskey(token, only.added.data.id), '409 authenticators.last-sign-in-way')
  const second = await addPasskey(token)
  t.equal(await removePasskey(token, only.added.data.id), '200', 'another passkey remains')
  t.equal(await removePasskey(token, second.added.data.id), '409 authenticators.last-sign-in-way')

  const carol = await createUser()
  await addPasskey(carol.token)
  await addTotp(carol.token)
  await set('platform.site.url', 'https://new.example.com')
  t.equal(
    outcomeOf(await call('DELETE', `${auth}/totp`, { token: carol.token })),
    factorRequired,
    'the passkey is unusable',
  )
})

async function requireFactor({ db, clock }: Product) {
  await db.execute("update iam_role set second_factor_from = ? where code = 'super-admin'", [new Date(clock.now())])
}

onEachDatabase(t, 'an administrator resets the factors of a user', async (t, db) => {
  const product = await startAuthenticators(t, db, { config: enabled })
  const { call, post, administrator, createUser, addPasskey, addTotp, pendingOf, login, settled, mailbox } = product
  const admin = await administrator()
  const user = await createUser()
  const { added } = await addPasskey(user.token)
  const pendingToken = await pendingOf(user.username)
  const view = (await call('GET', adminPath(user.id), { token: admin.token })).data
  t.strictSame([view.passkeys.length, view.totp, view.recoveryCodes.left], [1, null, 10])
  const reset = async (id: number, token: string) => outcomeOf(await post(`${adminPath(id)}/reset`, {}, { token }))
  t.equal(await reset(user.id, user.token), '403 iam.permission-denied')
  t.equal(
    outcomeOf(
      await call('POST', `${adminPath(user.id)}/reset`, {
        token: admin.token,
        headers: { 'x-reason': encodeURIComponent('lost the phone') },
      }),
    ),
    '200',
  )
  t.equal(outcomeOf(await call('GET', '/api/v1/iam/users/me', { token: user.token })), '401 iam.token-invalid')
  const code = added.data.recoveryCodes[0]
  t.equal(outcomeOf(await post(`${factor}/recovery-code`, { pendingToken, code })), '401 iam.pending-sign-in-invalid')
  t.equal(outcomeOf(await login(user.username)), '200')
  t.equal(await reset(user.id, admin.token), '409 authenticators.nothing-to-reset')
  const audit = await product.db.query<{ actor: string; reason: string; summary: string }>(
    "select actor, reason, summary from iam_audit where action = 'user.reset-second-factors'",
  )
  t.equal(audit.length, 1)
  t.strictSame([audit[0]?.actor, audit[0]?.reason], [`user:${admin.id}`, 'lost the phone'])
  t.match(JSON.stringify(audit[0]?.summary), /passkey.*recovery-code/)
  await settled()
  t.ok(mailbox.sent.some(({ to, subject }) => to === `${user.username}@example.com` && /were removed/.test(subject)))

  await addTotp(admin.token)
  const byPassword = await provenBy(product).password(admin.token)
  const other = await createUser()
  await addTotp(other.token)
  t.equal(await reset(other.id, byPassword), required, 'the administrator proves the strongest method')
  t.equal(await reset(admin.id, byPassword), required)
})

onDatabase(
  t,
  'an operator resets no user beyond the own authority or data scope, and not the own factors',
  async (t, db) => {
    const product = await startAuthenticators(t, db)
    const { call, post, administrator, createUser, addTotp } = product
    const admin = await administrator()
    await addTotp(admin.token)
    const roleOf = async (code: string, dataScope: string) =>
      (
        await post(
          '/api/v1/admin/iam/roles',
          { code, name: code, dataScope, permissions: ['authenticators:factors:reset', 'iam:user:view'] },
          { token: admin.token },
        )
      ).data.id
    const wide = await createUser({ roleIds: [await roleOf('wide', 'all')] })
    const narrow = await createUser({ roleIds: [await roleOf('narrow', 'self')] })
    const user = await createUser()
    for (const { token } of [wide, narrow, user]) await addTotp(token)
    const reset = async (id: number, token: string) => outcomeOf(await post(`${adminPath(id)}/reset`, {}, { token }))
    t.strictSame(
      {
        administrator: await reset(admin.id, wide.token),
        own: await reset(wide.id, wide.token),
        outOfScope: await reset(user.id, narrow.token),
        viewOutOfScope: outcomeOf(await call('GET', adminPath(user.id), { token: narrow.token })),
        unknown: await reset(1, wide.token),
        allowed: await reset(user.id, wide.token),
      },
      {
        administrator: '403 iam.beyond-own-authority',
        own: '403 authenticators.own-reset',
        outOfScope: '404 iam.user-unknown',
        viewOutOfScope: '404 authenticators.user-unknown',
        unknown: '404 iam.user-unknown',
        allowed: '200',
      },
    )
  },
)

onDatabase(t, 'the owner is told about each change, and the audit has it', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { call, post, createUser, addPasskey, addTotp, settled, mailbox } = product
  const user = await createUser()
  const { added } = await addPasskey(user.token)
  const { id } = added.data
  await call('PUT', `${auth}/passkeys/${id}`, { token: user.token, body: { name: 'Blue key' } })
  await addTotp(user.token)
  await post(`${auth}/recovery-codes`, {}, { token: user.token })
  await call('DELETE', `${auth}/passkeys/${id}`, { token: user.token })
  await call('DELETE', `${auth}/totp`, { token: user.token })
  await settled()
  t.strictSame(
    mailbox.sent,
    [
      'Shop: a passkey was added',
      'Shop: one-time passwords were set up',
      'Shop: new recovery codes',
      'Shop: a passkey was removed',
      'Shop: one-time passwords were removed',
    ].map((subject) => ({ to: `${user.username}@example.com`, subject })),
  )
  const audit = await product.db.query<{ action: string; actor: string }>(
    "select action, actor from iam_audit where actor <> 'test' order by id",
  )
  t.strictSame(
    audit.map(({ action, actor }) => [action, actor]),
    ['add-passkey', 'rename-passkey', 'add-totp', 'create-recovery-codes', 'remove-passkey', 'remove-totp'].map(
      (action) => [`user.${action}`, `user:${user.id}`],
    ),
  )
  const other = await createUser()
  for (const [method, path, body] of [
    ['PUT', `${auth}/passkeys/${id}`, { name: 'x' }],
    ['DELETE', `${auth}/passkeys/${id}`, undefined],
  ] as const)
    t.equal(outcomeOf(await call(method, path, { token: other.token, body })), '404 authenticators.passkey-unknown')
})

onEachDatabase(t, 'nothing remains of a deleted or erased user, and the export has no secrets', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { call, createUser, addPasskey, addTotp, administrator, settled, running, post, pendingOf } = product
  const admin = await administrator()
  const tables = ['handle', 'passkey', 'totp', 'recovery_code', 'network'].map((name) => `authenticator_${name}`)
  const rowsOf = async (userId: number) => {
    const counts = []
    for (const table of tables)
      counts.push((await product.db.query(`select id from ${table} where user_id = ?`, [userId])).length)
    return counts
  }
  const users = []
  for (let at = 0; at < 2; at++) {
    const user = await createUser()
    await addPasskey(user.token)
    const { code } = await addTotp(user.token)
    await post(`${factor}/totp`, { pendingToken: await pendingOf(user.username), code: code() })
    t.strictSame(await rowsOf(user.id), [1, 1, 1, 10, 1])
    users.push(user)
  }
  const [deleted, erased] = users
  await call('DELETE', `/api/v1/admin/iam/users/${deleted?.id}`, { token: admin.token })
  await settled()
  t.strictSame(await rowsOf(deleted?.id ?? 0), [0, 0, 0, 0, 0])
  const records = running.service(personalRecords)
  let text = ''
  for await (const chunk of await records.export(erased?.id ?? 0, system)) text += chunk
  const exported = JSON.parse(text).tables.map(({ table }: { table: string }) => table)
  t.strictSame(exported.filter((table: string) => table.startsWith('authenticator_')).sort(), [...tables].sort())
  for (const column of ['secretEnc', 'publicKey', 'codeHash', 'secret_enc', 'public_key', 'code_hash'])
    t.notOk(text.includes(column), column)
  await records.erase(erased?.id ?? 0, { actor: system, signal: new AbortController().signal })
  t.strictSame(await rowsOf(erased?.id ?? 0), [0, 0, 0, 0, 0])
})

onDatabase(t, 'a new password by mail does not remove the second factor', async (t, db) => {
  const product = await startAuthenticators(t, db, { plugins: [recovery] })
  const { post, createUser, addTotp, settled, mailbox } = product
  const user = await createUser()
  const { code } = await addTotp(user.token)
  await post(`${auth}/recovery`, { identifier: user.username })
  await settled()
  const [, token = ''] = /#for=reset&token=(\w+)/.exec(mailbox.texts.join('\n')) ?? []
  const next = 'another long password'
  t.equal(outcomeOf(await post(`${auth}/recovery/complete`, { token, password: next })), '200')
  const waiting = await post(`${auth}/login`, { username: user.username, password: next })
  t.equal(outcomeOf(waiting), '401 iam.second-factor-required')
  const completed = await post(`${factor}/totp`, { pendingToken: waiting.data.pendingToken, code: code() })
  t.equal(outcomeOf(completed), '200')
})

onDatabase(t, 'a stolen session cannot change factors while fresh proofs are off', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { call, post, createUser, addTotp, clock, running } = product
  const proof = provenBy(product)
  const user = await createUser()
  await clock.advance(300_001)
  const begin = (token: string) => post(`${auth}/totp/options`, {}, { token })
  const stolen = await begin(user.token)
  t.strictSame([outcomeOf(stolen), stolen.data.methods], [required, ['password']])
  t.equal(outcomeOf(await post(`${auth}/passkeys/options`, {}, { token: user.token })), required)
  const token = await proof.password(user.token)
  await addTotp(token)
  await clock.advance(300_001)
  for (const path of ['totp', 'passkeys/1'])
    t.equal(outcomeOf(await call('DELETE', `${auth}/${path}`, { token })), required, path)
  t.equal(outcomeOf(await post(`${auth}/recovery-codes`, {}, { token })), required)
  const again = await proof.password(token)
  t.equal(outcomeOf(await call('DELETE', `${auth}/totp`, { token: again })), '200', 'a proof by any method is enough')

  // A user who can prove nothing adds the first factor.
  const people = running.service(accounts)
  const subject = { provider: 'wallet', chainType: 'evm', subject: 'x' }
  const { account } = await people.resolveExternal(subject, { username: 'walter', fallbackPrefix: 'w' }, system)
  const origin = { ...system, method: 'wallet', identifier: 'walter', setHeader: () => {} }
  const { accessToken } = await running.service(identity).openSession(account.id, origin)
  await clock.advance(300_001)
  t.equal(outcomeOf(await begin(accessToken)), '200')
})
