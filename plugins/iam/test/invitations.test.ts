/** Tests invitations, links that operators send, and changes of the e-mail address. */
import { assertMembers } from '@plinth/dev/testing'
import { onDatabase, onEachDatabase, onSqlite } from '@plinth/dev/testing/database'
import { identity } from '@plinth/iam'
import t from 'tap'
import { adminPassword, origin, system } from './fixtures/product.ts'
import { type Recovering, startRecovery } from './fixtures/recovery.ts'

const chosen = 'another horse battery staple'
const users = '/api/v1/admin/iam/users'
const invitations = '/api/v1/admin/iam/invitations'
const emailChange = '/api/v1/iam/users/me/email-change'
const failed = ({ code, data }: { code: string; data: { reason?: string } | null }) => [code, data?.reason]
const invalid = ['400', 'recovery.token-invalid']
const withdrawn = ['403', 'recovery.invitation-withdrawn']
const hourMs = 3_600_000

/** Returns the newest mail of a purpose to an address. */
const linkTo = ({ mailbox }: Recovering, address: string, purpose: string) =>
  mailbox.sent.findLast((mail) => mail.to === address && mail.purpose === purpose)?.token ?? ''

/** Creates a role and returns its id. */
async function createRole(
  { call }: Recovering,
  token: string,
  code: string,
  permissions: readonly string[],
  dataScope = 'all',
) {
  const body = { code, name: code, dataScope, permissions }
  return (await call('POST', '/api/v1/admin/iam/roles', { token, body })).data.id as number
}

/** Creates an operator with a role and logs in. */
async function createInviter(
  shop: Recovering,
  root: string,
  code: string,
  permissions: readonly string[],
  more: object = {},
) {
  const roleId = await createRole(shop, root, code, permissions)
  const user = await shop.createUser({ roleIds: [roleId], ...more })
  return { ...user, roleId, token: await shop.login(user.username, adminPassword) }
}

onDatabase(t, 'an invited user chooses a password with a link', async (t, db) => {
  const shop = await startRecovery(t, db)
  const root = await shop.administrator()
  const body = { username: 'guest', email: 'guest@example.com' }
  const created = await shop.post(invitations, body, { token: root, headers: { 'idempotency-key': 'once' } })
  t.same([created.code, created.data.username], ['200', 'guest'])
  await shop.settled()
  assertMembers(t, shop.mailbox.sent, [{ to: body.email, subject: 'Shop: your invitation', purpose: 'invitation' }])
  t.match(shop.mailbox.sent[0]?.text, /within 72 hours/)
  t.same(failed(await shop.post('/api/v1/auth/login', { username: 'guest', password: chosen })), [
    '401',
    'iam.login-failed',
  ])
  const first = linkTo(shop, body.email, 'invitation')
  t.equal((await shop.post(`${users}/${created.data.id}/invitation`, {}, { token: root })).code, '200')
  await shop.settled()
  t.same(failed(await shop.complete(first, chosen)), invalid, 'a new invitation replaces the previous one')
  shop.clock.shiftWallClock(72 * hourMs - 1000)
  const second = linkTo(shop, body.email, 'invitation')
  t.equal((await shop.complete(second, chosen)).code, '200')
  t.same(failed(await shop.complete(second, chosen)), invalid)
  t.ok(await shop.login('guest', chosen))
  const again = await shop.login('admin', adminPassword)
  t.same(failed(await shop.post(`${users}/${created.data.id}/invitation`, {}, { token: again })), [
    '409',
    'recovery.already-accepted',
  ])
  t.same(failed(await shop.post(invitations, { ...body, username: 'other' }, { token: again })), [
    '409',
    'iam.email-taken',
  ])
  t.same(failed(await shop.post(invitations, { ...body, email: 'x' }, { token: again })), ['400', 'iam.email-invalid'])
  t.equal(
    (await shop.rows(`select id from iam_user where username = 'other'`)).length,
    0,
    'no user without an invitation',
  )
})

onDatabase(t, 'an invitation needs the permissions of the inviter, also when it is accepted', async (t, db) => {
  const shop = await startRecovery(t, db)
  const root = await shop.administrator()
  const may = ['iam:user:create', 'iam:user:view']
  const shown = await createRole(shop, root, 'viewer', ['iam:user:view'])
  const strong = await createRole(shop, root, 'strong', ['iam:user:view', 'iam:user:delete'])
  let count = 0
  /** Invites a user as a new inviter, changes something, and returns the result of accepting the invitation. */
  const acceptedAfter = async (
    change: (parts: { inviter: Awaited<ReturnType<typeof createInviter>>; id: number }) => Promise<unknown>,
  ) => {
    const inviter = await createInviter(shop, root, `inviter${++count}`, may)
    const email = `invited${count}@example.com`
    const body = { username: `invited${count}`, email, roleIds: [shown] }
    const { code, data } = await shop.post(invitations, body, { token: inviter.token })
    t.equal(code, '200')
    await shop.settled()
    const { code: changed } = (await change({ inviter, id: data.id })) as { code: string }
    t.equal(changed, '200')
    return shop.complete(linkTo(shop, email, 'invitation'), chosen)
  }
  const put = (path: string, body: object) => shop.call('PUT', path, { token: root, body })
  t.equal((await acceptedAfter(({ inviter }) => put(`${users}/${inviter.id}`, { mobile: null }))).code, '200')
  t.same(failed(await acceptedAfter(({ inviter }) => put(`${users}/${inviter.id}`, { roleIds: [] }))), withdrawn)
  t.same(failed(await acceptedAfter(({ inviter }) => put(`${users}/${inviter.id}`, { enabled: false }))), withdrawn)
  t.same(failed(await acceptedAfter(({ inviter }) => put(`${users}/${inviter.id}`, { roleIds: [shown] }))), withdrawn)
  t.same(
    failed(await acceptedAfter(({ inviter }) => shop.call('DELETE', `${users}/${inviter.id}`, { token: root }))),
    withdrawn,
  )
  t.same(
    failed(await acceptedAfter(({ id }) => put(`${users}/${id}`, { roleIds: [strong] }))),
    withdrawn,
    'the user may do more than the inviter',
  )
  const inviter = await createInviter(shop, root, 'last', may)
  const beyond = { username: 'beyond', email: 'beyond@example.com', roleIds: [strong] }
  t.same(failed(await shop.post(invitations, beyond, { token: inviter.token })), ['403', 'iam.beyond-own-authority'])
})

onDatabase(t, 'operators send links within their permissions and data scope', async (t, db) => {
  const shop = await startRecovery(t, db)
  const root = await shop.administrator()
  const [admin] = await shop.rows(`select id from iam_user where username = 'admin'`)
  const [member, foreign] = [await shop.createUser({ orgId: 1 }), await shop.createUser({ orgId: 2 })]
  const roleId = await createRole(shop, root, 'clerk', ['iam:user:update'], 'org')
  const clerk = await shop.createUser({ roleIds: [roleId], orgId: 1 })
  const token = await shop.login(clerk.username, adminPassword)
  const send = (id: unknown, what = 'recovery', by = token) => shop.post(`${users}/${id}/${what}`, {}, { token: by })
  t.same(failed(await send(foreign.id)), ['404', 'iam.user-unknown'])
  t.same(failed(await send(foreign.id, 'invitation')), ['404', 'iam.user-unknown'])
  t.same(failed(await send(admin?.['id'], 'recovery', root)), ['409', 'recovery.email-missing'])
  const chief = await shop.createUser({
    roleIds: [await createRole(shop, root, 'chief', ['iam:user:delete'])],
    orgId: 1,
  })
  t.same(failed(await send(chief.id)), ['403', 'iam.beyond-own-authority'])
  t.same(failed(await send(member.id, 'recovery', await shop.login(member.username, adminPassword))), [
    '403',
    'iam.permission-denied',
  ])
  t.same(failed(await send(member.id, 'invitation')), ['409', 'recovery.already-accepted'])
  const wallet = await shop.createUser({ orgId: 1, password: undefined })
  t.same(failed(await send(wallet.id)), ['409', 'recovery.password-missing'])
  const disabled = await shop.createUser({ orgId: 1, enabled: false })
  t.same(failed(await send(disabled.id)), ['409', 'recovery.user-disabled'])
  t.same(shop.mailbox.sent, [])
  t.equal((await send(member.id)).code, '200')
  await shop.settled()
  t.ok(await shop.login(member.username, adminPassword), 'the present password stays valid')
  t.equal((await shop.complete(linkTo(shop, member.address, 'reset'), chosen)).code, '200')
  const audited = await shop.rows(
    `select action, actor_user_id from iam_audit where target_id = ${member.id} order by id`,
  )
  t.same(
    audited.slice(-2).map(({ action, actor_user_id: by }) => [action, by === null ? null : Number(by)]),
    [
      ['user.start-recovery', clerk.id],
      ['user.recover', null],
    ],
  )
})

onEachDatabase(t, 'a change of the e-mail address takes effect at the link to the new address', async (t, db) => {
  const shop = await startRecovery(t, db)
  const { username, id, address } = await shop.createUser()
  const token = await shop.login(username, adminPassword)
  const ask = (body: object) => shop.post(emailChange, body, { token })
  const addressOf = async () => (await shop.rows(`select email, email_key from iam_user where id = ${id}`))[0]
  const before = { email: address, email_key: address }
  t.same(failed(await ask({ email: 'new@example.com' })), ['400', 'iam.password-required'])
  t.same(failed(await ask({ email: 'new@example.com', currentPassword: 'wrong' })), ['400', 'iam.password-wrong'])
  t.same(failed(await ask({ email: 'new', currentPassword: adminPassword })), ['400', 'iam.email-invalid'])
  t.same(failed(await ask({ email: address.toUpperCase(), currentPassword: adminPassword })), [
    '400',
    'recovery.email-unchanged',
  ])
  const other = await shop.createUser()
  t.equal((await ask({ email: other.address, currentPassword: adminPassword })).code, '200', 'reveals no other account')
  await shop.settled()
  t.same(failed(await shop.useEmail(linkTo(shop, other.address, 'email-change'))), ['409', 'iam.email-taken'])
  t.equal((await ask({ email: 'typo@example.com', currentPassword: adminPassword })).code, '200')
  await shop.settled()
  t.same(await addressOf(), before, 'a typing error has no effect')
  t.equal((await ask({ email: 'new@example.com', currentPassword: adminPassword })).code, '200')
  await shop.settled()
  t.same(
    failed(await shop.useEmail(linkTo(shop, 'typo@example.com', 'email-change'))),
    invalid,
    'the last request counts',
  )
  const link = linkTo(shop, 'new@example.com', 'email-change')
  t.same(failed(await shop.complete(link, chosen)), invalid, 'the link sets no password')
  const results = await Promise.all([shop.useEmail(link), shop.useEmail(link)])
  t.same(results.map(({ code }) => code).sort(), ['200', '400'])
  t.same(await addressOf(), { email: 'new@example.com', email_key: 'new@example.com' })
  t.ok(await shop.login('new@example.com', adminPassword))
  await shop.settled()
  const undo = linkTo(shop, address, 'email-undo')
  t.same(results.find(({ code }) => code === '200')?.data, { purpose: 'email-change' })
  t.same((await shop.useEmail(undo)).data, { purpose: 'email-undo' })
  t.same(await addressOf(), before)
  t.equal((await shop.call('GET', '/api/v1/iam/users/me', { token })).code, '401', 'an undo ends all sessions')
  t.same(failed(await shop.useEmail(undo)), invalid)
})

onSqlite(t, 'an attacker with a session and the password cannot take the link of the owner away', async (t, db) => {
  const shop = await startRecovery(t, db)
  const { username, id, address } = await shop.createUser()
  const token = await shop.login(username, adminPassword)
  const replace = async (email: string, currentPassword: string) => {
    t.equal((await shop.post(emailChange, { email, currentPassword }, { token })).code, '200')
    await shop.settled()
    t.equal((await shop.useEmail(linkTo(shop, email, 'email-change'))).code, '200')
    await shop.settled()
  }
  await replace('evil1@example.com', adminPassword)
  const undo = linkTo(shop, address, 'email-undo')
  const body = { currentPassword: adminPassword, newPassword: chosen }
  t.equal((await shop.call('PUT', '/api/v1/iam/users/me/password', { token, body })).code, '200')
  await replace('evil2@example.com', chosen)
  t.equal(linkTo(shop, 'evil1@example.com', 'email-undo'), '', 'only the first change can be undone')
  t.match(shop.mailbox.sent.at(-1), { to: 'evil1@example.com', token: '' })
  const reset = await shop.tokenFor(username)
  t.equal((await shop.complete(reset, `${chosen} 2`)).code, '200')
  t.equal((await shop.useEmail(undo)).code, '200')
  const [user] = await shop.rows(`select email from iam_user where id = ${id}`)
  t.equal(user?.['email'], address)
  const mine = await shop.tokenFor(address)
  t.equal((await shop.complete(mine, chosen)).code, '200')
  t.ok(await shop.login(address, chosen))
})

onDatabase(t, 'no link undoes an address that an administrator has set', async (t, db) => {
  const shop = await startRecovery(t, db)
  await shop.administrator()
  const { username, id, address } = await shop.createUser()
  const addressOf = async () => (await shop.rows(`select email from iam_user where id = ${id}`))[0]?.['email']
  const replace = async (token: string, email: string) => {
    await shop.post(emailChange, { email, currentPassword: adminPassword }, { token })
    await shop.settled()
    t.equal((await shop.useEmail(linkTo(shop, email, 'email-change'))).code, '200')
    await shop.settled()
  }
  // The owner misses the hour of the first link. With a second change, the attacker gets a link too.
  const stolen = await shop.login(username, adminPassword)
  await replace(stolen, 'evil1@example.com')
  shop.clock.shiftWallClock(hourMs)
  await replace(stolen, 'evil2@example.com')
  const evil = linkTo(shop, 'evil1@example.com', 'email-undo')
  t.not(evil, '')
  const root = await shop.login('admin', adminPassword)
  t.equal((await shop.call('PUT', `${users}/${id}`, { token: root, body: { email: address } })).code, '200')
  t.same(failed(await shop.useEmail(evil)), invalid)
  t.equal(await addressOf(), address)
  await replace(await shop.login(username, adminPassword), 'new@example.com')
  t.same(failed(await shop.useEmail(evil)), invalid)
  t.equal((await shop.useEmail(linkTo(shop, address, 'email-undo'))).code, '200', 'the owner has a link')
  t.equal(await addressOf(), address)
})

onSqlite(t, 'a user without a password needs a fresh proof to change the e-mail address', async (t, db) => {
  const shop = await startRecovery(t, db, { config: { 'platform.iam.fresh-proof.enabled': true } })
  const { id, username } = await shop.createUser({ password: undefined })
  const request = async (isProof: boolean) => {
    const attempt = { ...origin, method: 'wallet', identifier: username, isProof, setHeader() {} }
    const { accessToken: token } = await shop.running.service(identity).openSession(id, attempt)
    return failed(await shop.post(emailChange, { email: 'new@example.com' }, { token }))
  }
  t.same(await request(false), ['401', 'iam.proof-required'])
  t.same(await request(true), ['200', undefined])
})

onSqlite(t, 'the link of the owner is valid although its mail arrives after a second change', async (t, db) => {
  const shop = await startRecovery(t, db)
  const { username, id, address } = await shop.createUser()
  const token = await shop.login(username, adminPassword)
  shop.mailbox.state.deferredAddress = address
  for (const email of ['evil1@example.com', 'evil2@example.com']) {
    await shop.post(emailChange, { email, currentPassword: adminPassword }, { token })
    await shop.settled()
    t.equal((await shop.useEmail(linkTo(shop, email, 'email-change'))).code, '200')
    await shop.settled()
  }
  t.equal(linkTo(shop, 'evil1@example.com', 'email-undo'), '')
  shop.mailbox.state.deferredAddress = ''
  for (let second = 0; second < 30 && linkTo(shop, address, 'email-undo') === ''; second++) {
    await shop.clock.advance(1000)
    await shop.settled()
  }
  t.equal((await shop.useEmail(linkTo(shop, address, 'email-undo'))).code, '200')
  t.same(await shop.rows(`select email from iam_user where id = ${id}`), [{ email: address }])
})

onSqlite(t, 'a pending change does not survive a change of the account or its hour', async (t, db) => {
  const shop = await startRecovery(t, db)
  const root = await shop.administrator()
  const put = (id: number, body: object) => shop.call('PUT', `${users}/${id}`, { token: root, body })
  const changes: Readonly<Record<string, (id: number) => Promise<unknown>>> = {
    'the address was replaced': (id) => put(id, { email: 'admin-chose@example.com' }),
    'the user was disabled': (id) => put(id, { enabled: false }),
    'the password was changed': (id) =>
      shop.call('PUT', `${users}/${id}/password`, { token: root, body: { password: chosen } }),
    'the hour is over': async () => shop.clock.shiftWallClock(hourMs),
  }
  for (const [name, change] of Object.entries(changes)) {
    const { username, id } = await shop.createUser()
    const token = await shop.login(username, adminPassword)
    await shop.post(emailChange, { email: 'next@example.com', currentPassword: adminPassword }, { token })
    await shop.settled()
    await change(id)
    t.same(failed(await shop.useEmail(linkTo(shop, 'next@example.com', 'email-change'))), invalid, name)
  }
  const wallet = await shop.accounts.create({ username: 'wanda' }, system)
  t.equal(wallet.email, null)
})

onSqlite(t, 'the documented change of the account stays as it is', async (t, db) => {
  const shop = await startRecovery(t, db)
  const { username } = await shop.createUser({ email: null })
  const token = await shop.login(username, adminPassword)
  const changed = await shop.call('PUT', '/api/v1/iam/users/me', { token, body: { email: 'direct@example.com' } })
  const { email, emailVerified } = changed.data
  t.same([changed.code, email, emailVerified], ['200', 'direct@example.com', false])
})

onSqlite(t, 'a user without a password changes the e-mail address with a fresh proof only', async (t, db) => {
  const shop = await startRecovery(t, db, { config: { 'platform.iam.fresh-proof.enabled': true } })
  const account = await shop.accounts.create({ username: 'wallet' }, system)
  const attempt = { ...system, method: 'wallet', identifier: 'wallet', setHeader: () => {} }
  const { accessToken: token } = await shop.running.service(identity).openSession(account.id, attempt)
  const ask = () => shop.post(emailChange, { email: 'new@example.com' }, { token })
  t.equal((await ask()).code, '200')
  await shop.clock.advance(300_001)
  t.same(failed(await ask()), ['401', 'iam.proof-required'])
})
