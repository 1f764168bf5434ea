/** Tests passwords of operators, changes of the sign-in address, and the number of concurrent logins. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rejectsWith } from '@plinth/dev/testing'
import { createDatabase, onDatabase } from '@plinth/dev/testing/database'
import eventsPlugin, { events } from '@plinth/events'
import mailPlugin from '@plinth/mail'
import t from 'tap'
import { adminPassword, startIam, system } from './fixtures/product.ts'

const me = '/api/v1/iam/users/me'

t.test(
  'a user who replaces their sign-in address must enter the password, and the old address is notified',
  async (t) => {
    const db = await createDatabase('sqlite')
    t.teardown(() => db.drop())
    const mails = join(db.directory, 'mails')
    const config = {
      'platform.mail.driver': 'file',
      'platform.mail.file.directory': mails,
      'platform.mail.from': 'shop@example.org',
    }
    const iam = await startIam(t, db, { plugins: [eventsPlugin, mailPlugin], config })
    const admin = await iam.administrator()
    const password = 'secret1'
    await iam.accounts.create({ username: 'ann', email: 'ann@example.org', password }, system)
    const token = await iam.login('ann', password)
    const change = (body: object) => iam.call('PUT', me, { token, body })
    const sent = () =>
      existsSync(mails) ? readdirSync(mails).map((file) => readFileSync(join(mails, file), 'utf8')) : []

    const missing = { code: '400', data: { reason: 'iam.password-required', field: 'currentPassword' } }
    t.match(await change({ email: 'thief@example.org' }), missing)
    t.match(await change({ email: null }), missing, 'a removed address no longer signs in')
    const wrong = { email: 'thief@example.org', currentPassword: 'guess12' }
    t.hasStrict(await change(wrong), { code: '400', data: { reason: 'iam.password-wrong', field: 'currentPassword' } })
    t.match((await iam.call('GET', me, { token })).data, { email: 'ann@example.org', emailVerified: true })
    t.hasStrict(
      await change({ email: 'Ann@Example.org', mobile: '+8613800000001' }),
      { code: '200' },
      'it stays the same',
    )

    t.hasStrict(await change({ email: 'new@example.org', currentPassword: password }), { code: '200' })
    await iam.running.service(events).idle()
    t.equal(sent().length, 1, 'one mail')
    const [head = '', body = ''] = (sent()[0] ?? '').split('\r\n\r\n')
    t.match(head, /^To: ann@example\.org\r$/im)
    t.match(Buffer.from(body, 'base64').toString(), /The account ann no longer uses this e-mail address/)

    t.hasStrict(await change({ email: 'newer@example.org' }), { code: '200' }, 'an unproven address signs nobody in')
    const { data: found } = await iam.call('GET', '/api/v1/admin/iam/users?keyword=ann', { token: admin })
    const byOperator = { email: 'vouched@example.org' }
    t.hasStrict(
      await iam.call('PUT', `/api/v1/admin/iam/users/${found.items[0].id}`, { token: admin, body: byOperator }),
      {
        code: '200',
      },
    )
    await iam.running.service(events).idle()
    t.equal(sent().length, 1, 'only changes by the user are told')
  },
)

t.test('operators need their password to replace their own sign-in address', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const iam = await startIam(t, db)
  const admin = await iam.administrator()
  const { data: role } = await iam.call('POST', '/api/v1/admin/iam/roles', {
    token: admin,
    body: { code: 'desk', name: 'Desk', dataScope: 'all', permissions: ['iam:user:update'] },
  })
  const password = 'secret1'
  const ann = { username: 'ann', email: 'ann@example.org', password, roleIds: [role.id] }
  const { id } = await iam.accounts.create(ann, system)
  const token = await iam.login('ann', password)
  const change = (body: object) => iam.call('PUT', `/api/v1/admin/iam/users/${id}`, { token, body })
  const rejected = { code: '403', data: { reason: 'iam.own-email', field: 'email' } }
  t.match(await change({ email: 'thief@example.org' }), rejected)
  t.match(await change({ email: null }), rejected)
  t.match((await iam.call('GET', me, { token })).data, { email: 'ann@example.org', emailVerified: true })
  t.hasStrict(
    await change({ email: 'ann@example.org', mobile: '+8613800000001' }),
    { code: '200' },
    'it stays the same',
  )
})

t.test('wrong passwords when changing an address count as sign-in attempts', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const iam = await startIam(t, db)
  const admin = await iam.administrator()
  await iam.accounts.create({ username: 'ann', email: 'ann@example.org', password: 'secret1' }, system)
  const token = await iam.login('ann', 'secret1')
  await iam.call('PUT', me, { token, body: { email: 'x@example.org', currentPassword: 'guess12' } })
  const { data } = await iam.call('GET', '/api/v1/admin/iam/login-audits?success=false', { token: admin })
  t.hasStrict(data.items[0], { method: 'email-change', reason: 'iam.password-wrong' })
})

t.test('passwords of accounts with permissions have a separate minimum length', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const iam = await startIam(t, db, { config: { 'platform.iam.password.operator-min-length': 12 } })
  const faults = [{ rule: 'too-short', limit: 12 }]
  const tooShort = { reason: 'iam.password-refused', data: { faults } } as unknown as Error
  await rejectsWith(t, iam.accounts.createAdministrator({ username: 'root', password: 'secret1' }, system), tooShort)
  const admin = await iam.administrator()
  const role = { code: 'clerk', name: 'Clerk', dataScope: 'all', permissions: ['iam:user:view'] }
  const { data: clerk } = await iam.call('POST', '/api/v1/admin/iam/roles', { token: admin, body: role })
  const { data: bare } = await iam.call('POST', '/api/v1/admin/iam/roles', {
    token: admin,
    body: { code: 'bare', name: 'Bare', dataScope: 'self', permissions: [] },
  })
  const create = (username: string, roleIds: number[]) =>
    iam.call('POST', '/api/v1/admin/iam/users', { token: admin, body: { username, password: 'secret1', roleIds } })
  t.hasStrict(await create('member', [bare.id]), { code: '200' }, 'a role without permissions is not affected')
  t.hasStrict(await create('clerk', [clerk.id]), { code: '400', data: { reason: 'iam.password-refused' } })
  await iam.accounts.create({ username: 'clerk', password: 'long enough 1', roleIds: [clerk.id] }, system)
  const token = await iam.login('clerk', 'long enough 1')
  const body = { currentPassword: 'long enough 1', newPassword: 'secret1' }
  t.hasStrict(await iam.call('PUT', `${me}/password`, { token, body }), { data: { reason: 'iam.password-refused' } })
})

t.test('well-known passwords are rejected under every policy if configured', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const create = (iam: Awaited<ReturnType<typeof startIam>>, username: string, password: string) =>
    iam.accounts.create({ username, password }, system)
  const plain = await startIam(t, db)
  await create(plain, 'ann', '123456')
  const strict = await startIam(t, db, { config: { 'platform.iam.password.reject-well-known': true } })
  for (const password of ['123456', '987654', '111111', 'Password1', 'bertha22'])
    await rejectsWith(t, create(strict, 'bertha', password), { reason: 'iam.password-refused' }, password)
  await create(strict, 'bertha', 'kite-7-mill')
})

onDatabase(t, 'a login above the maximum number per user ends the oldest one', async (t, db) => {
  const iam = await startIam(t, db, { config: { 'platform.iam.token.max-per-user': 3 } })
  await iam.administrator()
  await iam.accounts.create({ username: 'ann', password: 'secret1' }, system)
  const other = await iam.login('admin', adminPassword)
  const tokens: string[] = []
  for (let i = 0; i < 5; i++) tokens.push(await iam.login('ann', 'secret1'))
  const codes = await Promise.all(tokens.map(async (token) => (await iam.call('GET', me, { token })).code))
  t.same(codes, ['401', '401', '200', '200', '200'])
  t.equal((await iam.call('GET', me, { token: other })).code, '200', 'other users are not affected')
  await iam.call('POST', '/api/v1/auth/logout', { token: tokens[3] as string })
  await iam.login('ann', 'secret1')
  t.equal((await iam.call('GET', me, { token: tokens[2] as string })).code, '200', 'an ended login does not count')
})
