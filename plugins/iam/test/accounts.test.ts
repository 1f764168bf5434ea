import { database } from '@plinth/database'
import { assertMembers, rejectsWith } from '@plinth/dev/testing'
import { createDatabase, onDatabase, onEachDatabase, onSqlite } from '@plinth/dev/testing/database'
import { identity, loginGuard, type Principal, renameGuard } from '@plinth/iam'
import { BusinessError, definePlugin, type Plugin } from '@plinth/kernel'
import t from 'tap'
import { adminPassword, startIam, system } from './fixtures/product.ts'

const users = '/api/v1/admin/iam/users'
const roles = '/api/v1/admin/iam/roles'
const rejectedFor = (reason: string) => ({ reason }) as unknown as Error
const reasonOf = ({ code, data }: { code: string; data: { reason?: string } | null }) => `${code} ${data?.reason}`

/**
 * Returns a plugin that rejects names that begin with `0x` and are not bound to a wallet, and rejects every login with
 * the user name `limited`. Two guards reject this login, each with its own error.
 */
function guardingPlugin(): Plugin {
  return definePlugin({
    id: 'guarding',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [loginGuard, renameGuard],
    setup({ contribute }) {
      contribute(renameGuard, 'bound-names', {
        async assertUsernameAllowed(userId, username, identities) {
          if (!username.startsWith('0x') || (await identities.isBound(userId, 'evm', username))) return
          throw new BusinessError('403', 'Not bound.', { reason: 'test.not-bound' })
        },
      })
      // Contributed first, but called second, because guards are called in the order of their names.
      contribute(loginGuard, 'opening-hours', {
        beforeAttempt({ identifier }) {
          if (identifier === 'limited') throw new BusinessError('403', 'Closed.', { reason: 'test.closed' })
        },
      })
      contribute(loginGuard, 'limit', {
        beforeAttempt(attempt) {
          if (attempt.identifier !== 'limited') return
          attempt.setHeader('x-ratelimit-remaining', '0')
          throw new BusinessError('429', 'Too many requests.', { reason: 'rate-limit.exceeded' })
        },
      })
    },
  })
}

onEachDatabase(t, 'C-014 C-039 change sets create the tables that the entities declare', async (t, db) => {
  const { running } = await startIam(t, db)
  const em = running.service(database).fork()
  const generator = em.config.getExtension('@mikro-orm/schema-generator') as {
    getUpdateSchemaSQL(options: object): Promise<string>
  }
  const difference = await generator.getUpdateSchemaSQL({ dropTables: false, safe: false, wrap: false })
  t.equal(difference.trim(), '')
})

onDatabase(t, 'K-006 K-007 C-021 A1 A2 users, roles, login and logout over HTTP', async (t, db) => {
  const iam = await startIam(t, db)
  const { call } = iam
  t.same(await call('GET', users).then(reasonOf), '401 iam.token-missing')
  t.equal((await call('GET', users)).status, 200, 'a refusal is no HTTP failure')
  t.same(await call('GET', users, { token: 'x' }).then(reasonOf), '401 iam.token-invalid')

  const admin = await iam.administrator()
  const me = (await call('GET', '/api/v1/iam/users/me', { token: admin })).data
  t.ok(me.isSuperAdmin)
  t.ok(me.permissions.includes('iam:user:view'), 'super-admin holds every code')

  const role = await call('POST', roles, {
    token: admin,
    body: { code: 'clerk', name: 'Clerk', dataScope: 'all', permissions: ['iam:user:view'] },
  })
  const body = { username: 'Mia.Müller', email: 'Mia@example.org', password: 'secret1', roleIds: [role.data.id] }
  const created = await call('POST', users, { token: admin, body })
  assertMembers(t, created, { code: '200', data: { username: 'Mia.Müller', roles: [{ code: 'clerk' }], version: 1 } })
  t.notMatch(JSON.stringify(created), /password|argon2/i)

  await t.test('names and addresses are unique regardless of case', async (t) => {
    const again = (change: object) => call('POST', users, { token: admin, body: { ...body, ...change } }).then(reasonOf)
    t.equal(await again({ username: 'MIA.MÜLLER', email: null }), '409 iam.username-taken')
    t.equal(await again({ username: 'other', email: 'mia@EXAMPLE.org' }), '409 iam.email-taken')
    t.equal(await again({ username: 'a@b', email: null }), '400 iam.username-invalid')
    t.equal(await again({ username: 'other', email: 'nobody' }), '400 iam.email-invalid')
    t.equal(await again({ username: 'other', email: null, password: '12345' }), '400 iam.password-refused')
    t.equal(await again({ username: 'other', email: null, roleIds: [1] }), '404 iam.role-unknown')
  })

  await t.test('A2 login with name or address; one response for every wrong input', async (t) => {
    const token = await iam.login('mia@example.ORG', 'secret1')
    t.match(token, /^plinth_[\w-]{43}$/)
    t.equal((await call('GET', users, { token })).code, '200')
    const denied = await call('POST', users, { token, body })
    t.hasStrict(denied, { code: '403', data: { reason: 'iam.permission-denied', permission: 'iam:user:create' } })
    const wrong = ['mia.müller', 'nobody', 'no@where.org', 'x'.repeat(200), "' or 1=1 --"].map((username) =>
      call('POST', '/api/v1/auth/login', { body: { username, password: 'wrong' } }),
    )
    const responses = (await Promise.all(wrong)).map((answer) => JSON.stringify(answer))
    t.equal(new Set(responses).size, 1, 'the answers are the same to the letter')

    t.equal((await call('POST', '/api/v1/auth/logout', { token })).code, '200')
    t.equal(await call('GET', users, { token }).then(reasonOf), '401 iam.token-invalid')

    const audits = (await call('GET', '/api/v1/admin/iam/login-audits?success=false', { token: admin })).data
    t.equal(audits.total, 5)
    const known = audits.items.filter(({ userId }: { userId: number | null }) => userId === created.data.id)
    assertMembers(t, known, [{ reason: 'iam.login-failed' }], 'the operator sees whose account was tried')
    t.ok(audits.items.every(({ identifier }: { identifier: string }) => /^.\*\*\*$/.test(identifier)))
  })

  await t.test('the list is paged, searched and sorted by allowed names only', async (t) => {
    const list = (query: string) => call('GET', `${users}?${query}`, { token: admin })
    t.same((await list('sort=-username&size=1')).data.items[0].username, 'Mia.Müller')
    assertMembers(t, (await list('sort=username&size=1&page=2')).data, {
      total: 2,
      items: [{ username: 'Mia.Müller' }],
    })
    t.equal((await list('keyword=EXAMPLE')).data.total, 1)
    t.equal((await list('keyword=%25')).data.total, 0, 'no wild cards')
    t.equal((await list('enabled=false')).data.total, 0)
    t.equal((await list(`roleId=${role.data.id}`)).data.total, 1)
    for (const sort of ['password_hash', 'id;drop table iam_user', 'passwordHash']) {
      t.hasStrict(await list(`sort=${encodeURIComponent(sort)}`), { status: 200, code: '400' }, 'C-017')
    }
  })

  await t.test('a disabled user cannot sign in, and neither can a deleted user', async (t) => {
    const token = await iam.login('mia.müller', 'secret1')
    const { id } = created.data
    const disabled = await call('PUT', `${users}/${id}`, { token: admin, body: { enabled: false, version: 1 } })
    t.hasStrict(disabled, { code: '200', data: { enabled: false, version: 2 } })
    t.equal(await call('GET', users, { token }).then(reasonOf), '401 iam.token-invalid')
    const login = { body: { username: 'mia.müller', password: 'secret1' } }
    t.equal(await call('POST', '/api/v1/auth/login', login).then(reasonOf), '403 iam.user-disabled')
    await call('PUT', `${users}/${id}`, { token: admin, body: { enabled: true } })
    t.equal(await call('GET', users, { token }).then(reasonOf), '401 iam.token-invalid', 'enabling revives no session')

    t.hasStrict(await call('DELETE', `${roles}/${role.data.id}`, { token: admin }), { code: '409', data: { count: 1 } })
    t.equal((await call('DELETE', `${users}/${id}`, { token: admin })).code, '200')
    t.equal(await call('GET', `${users}/${id}`, { token: admin }).then(reasonOf), '404 iam.user-unknown')
    t.equal((await call('DELETE', `${roles}/${role.data.id}`, { token: admin })).code, '200')
  })

  const actions = (await call('GET', '/api/v1/admin/iam/audits?size=50', { token: admin })).data.items
  t.same(
    new Set(actions.map(({ action }: { action: string }) => action)),
    new Set(['user.create', 'user.update', 'user.delete', 'role.create', 'role.delete', 'session.logout']),
    'every action left an audit record',
  )
  t.ok(actions.every(({ traceId }: { traceId: string }) => traceId !== ''))

  const walked: object[] = []
  for (let cursor: string | null = ''; cursor !== null && walked.length < 200; ) {
    const behind = cursor === '' ? '' : `&cursor=${cursor}`
    const { data } = await call('GET', `/api/v1/admin/iam/audits?size=2${behind}`, { token: admin })
    walked.push(...data.items)
    cursor = data.next
  }
  t.same(walked, actions, 'a walk by cursor meets the same')
})

onSqlite(t, 'A5 no user can read, change or grant more than their own permissions', async (t, db) => {
  const iam = await startIam(t, db)
  const { call } = iam
  const admin = await iam.administrator()
  const create = async (code: string, dataScope: string, permissions: string[]) =>
    (await call('POST', roles, { token: admin, body: { code, name: code, dataScope, permissions } })).data.id as number
  const person = async (username: string, roleIds: number[], orgId: number | null) =>
    (await call('POST', users, { token: admin, body: { username, password: 'secret1', roleIds, orgId } })).data
  const leadCodes = ['iam:user:view', 'iam:user:update', 'iam:user:create', 'iam:user:delete', 'iam:role:save']
  const lead = await create('lead', 'org', leadCodes)
  const auditor = await create('auditor', 'org', ['iam:audit:view'])
  const superAdmin = (await call('GET', `${roles}?keyword=super`, { token: admin })).data.items[0]
  await person('lead', [lead], 7)
  const mate = await person('mate', [], 7)
  const other = await person('other', [], 8)
  const boss = await person('boss', [superAdmin.id], 7)
  const checker = await person('checker', [auditor], 7)
  const token = await iam.login('lead', 'secret1')
  const put = (id: number, body: object) => call('PUT', `${users}/${id}`, { token, body }).then(reasonOf)

  t.equal((await call('GET', users, { token })).data.total, 4, 'the own organisation alone')
  t.equal(await call('GET', `${users}/${other.id}`, { token }).then(reasonOf), '404 iam.user-unknown')
  t.equal(await put(mate.id, { email: 'mate@example.org' }), '200 undefined')
  t.equal(await put(other.id, { enabled: false }), '404 iam.user-unknown')
  t.equal(await put(boss.id, { enabled: false }), '403 iam.beyond-own-authority')
  t.equal(await put(checker.id, { enabled: false }), '403 iam.beyond-own-authority')
  t.equal(await put(mate.id, { roleIds: [superAdmin.id] }), '403 iam.beyond-own-authority')
  t.equal(await put(mate.id, { roleIds: [auditor] }), '403 iam.beyond-own-authority')
  t.equal(await put(mate.id, { roleIds: [lead] }), '200 undefined')
  const grab = { token, body: { password: 'stolen!' } }
  t.equal(await call('PUT', `${users}/${boss.id}/password`, grab).then(reasonOf), '403 iam.beyond-own-authority')
  const wide = { code: 'wide', name: 'x', dataScope: 'all', permissions: [] }
  t.equal(await call('POST', roles, { token, body: wide }).then(reasonOf), '403 iam.beyond-own-authority')
  const strong = { name: 'x', dataScope: 'org', permissions: ['iam:audit:view'], version: 1 }
  t.equal(await call('PUT', `${roles}/${lead}`, { token, body: strong }).then(reasonOf), '403 iam.beyond-own-authority')
  const unknown = { token: admin, body: { code: 'odd', name: 'x', permissions: ['no:such'] } }
  t.equal(await call('POST', roles, unknown).then(reasonOf), '400 iam.permission-unknown')
  const { code: _, ...replaced } = wide
  const builtIn = { token: admin, body: { ...replaced, version: 1 } }
  t.equal(await call('PUT', `${roles}/${superAdmin.id}`, builtIn).then(reasonOf), '409 iam.role-built-in')

  const service = iam.running.service(identity)
  const principal = (await service.authenticate(token)) as Principal
  await service.assertInScope(principal, [mate.id, boss.id, mate.id])
  await rejectsWith(t, service.assertInScope(principal, [mate.id, other.id]), rejectedFor('iam.out-of-scope'))
  const bindTo = (userId: number) =>
    iam.accounts.bindExternal(
      userId,
      { provider: 'evm', chainType: 'evm', subject: '0xlead' },
      { ...system, principal },
    )
  await rejectsWith(t, bindTo(boss.id), rejectedFor('iam.beyond-own-authority'))
  await rejectsWith(t, bindTo(other.id), rejectedFor('iam.user-unknown'))
  await bindTo(mate.id)
})

onEachDatabase(t, 'the last active administrator stays, also with concurrent requests', async (t, db) => {
  const iam = await startIam(t, db)
  const first = await iam.administrator()
  const { call } = iam
  const [admin] = await iam.accounts.findByRole('super-admin')
  const id = admin?.id as number
  for (const body of [{ enabled: false }, { roleIds: [] }]) {
    t.equal(await call('PUT', `${users}/${id}`, { token: first, body }).then(reasonOf), '409 iam.last-administrator')
  }
  t.equal(await call('DELETE', `${users}/${id}`, { token: first }).then(reasonOf), '409 iam.last-administrator')

  const second = await iam.accounts.createSuperAdministrator({ username: 'second', password: 'secret1' }, system)
  const token = await iam.login('second', 'secret1')
  const responses = await Promise.all([
    call('PUT', `${users}/${second.id}`, { token: first, body: { enabled: false } }),
    call('PUT', `${users}/${id}`, { token, body: { roleIds: [] } }),
  ])
  t.equal((await iam.accounts.findByRole('super-admin')).length, 1)
  t.equal(responses.filter(({ code }) => code === '200').length, 1)
})

onEachDatabase(t, 'concurrent edits: one succeeds, the others get a conflict', async (t, db) => {
  const iam = await startIam(t, db)
  const { call } = iam
  const token = await iam.administrator()
  const body = { username: 'same', password: 'secret1' }
  const created = await Promise.all(Array.from({ length: 6 }, () => call('POST', users, { token, body })))
  t.equal(created.filter(({ code }) => code === '200').length, 1)
  t.equal(created.map(reasonOf).filter((text) => text === '409 iam.username-taken').length, 5)

  const user = created.find(({ code }) => code === '200')?.data
  const edits = ['a', 'b', 'c', 'd'].map((name) =>
    call('PUT', `${users}/${user.id}`, { token, body: { email: `${name}@example.org`, version: user.version } }),
  )
  const edited = await Promise.all(edits)
  t.equal(edited.filter(({ code }) => code === '200').length, 1)
  const lost = edited.filter(({ code }) => code === '409')
  t.equal(lost.length, 3)
  t.match(lost[0]?.data, {
    reason: /^iam\.version-conflict$/,
    currentVersion: 2,
    updatedBy: 'admin',
    updatedAt: /^\d{4}-.*Z$/,
  })

  const role = (await call('POST', roles, { token, body: { code: 'r', name: 'r', permissions: [] } })).data
  const renames = ['x', 'y', 'z'].map((name) =>
    call('PUT', `${roles}/${role.id}`, { token, body: { name, permissions: [], version: 1 } }),
  )
  const codes = (await Promise.all(renames)).map(({ code }) => code).sort()
  t.same(codes, ['200', '409', '409'])
})

onEachDatabase(t, 'I-150 I-152 I-155 two instances create exactly one of many first administrators', async (t, db) => {
  const one = await startIam(t, db)
  const two = await startIam(t, db, { clock: one.clock })
  t.notOk(await one.accounts.hasUsers())
  t.equal(await one.accounts.findByUsername('root0'), undefined)
  t.equal(await one.accounts.findByUsername('a b@'), undefined)
  await rejectsWith(
    t,
    one.accounts.createAdministrator({ username: 'root', password: '12345' }, system),
    rejectedFor('iam.password-refused'),
  )
  const attempts = [one, two, one, two].map(({ accounts }, index) =>
    accounts.createAdministrator({ username: `root${index}`, password: adminPassword }, system),
  )
  const results = await Promise.all(attempts)
  const winner = results.find(({ created }) => created)?.account
  t.equal(results.filter(({ created }) => created).length, 1)
  t.equal((await one.accounts.findByRole('super-admin')).length, 1)
  t.match(await two.login(String(winner?.username), adminPassword), /^plinth_/)
  const again = await two.accounts.createAdministrator({ username: 'late', password: adminPassword }, system)
  t.same(again, { created: false, account: undefined })
})

onEachDatabase(t, 'external identities and renames', async (t, db) => {
  const iam = await startIam(t, db, { plugins: [guardingPlugin()] })
  const { call, accounts } = iam
  const admin = await iam.administrator()
  const subject = { provider: 'evm', chainType: 'evm', subject: '0xabc' }
  const names = { username: '0xabc', fallbackPrefix: 'wallet_00000abc' }
  const parallel = await Promise.all([1, 2, 3].map(() => accounts.resolveExternal(subject, names, system)))
  t.equal(parallel.filter(({ created }) => created).length, 1, 'one user for parallel first logins')
  t.equal(new Set(parallel.map(({ account }) => account.id)).size, 1)
  t.equal(parallel[0]?.account.username, '0xabc')

  t.same(new Set(parallel.map(({ proof }) => proof)), new Set([null]), 'bound without a proof')
  await accounts.storeExternalProof(subject, 'ecrecover')
  t.match(await accounts.resolveExternal({ ...subject, proof: 'other' }, names, system), {
    created: false,
    proof: 'ecrecover',
    account: { id: parallel[0]?.account.id },
  })
  await accounts.storeExternalProof({ ...subject, subject: '0xabcd' }, 'ecrecover')
  t.equal(await accounts.findByExternal({ ...subject, subject: '0xabcd' }), undefined)

  await accounts.create({ username: '0xdef', password: 'secret1' }, system)
  const other = { ...subject, subject: '0xdef' }
  const proven = { ...other, proof: 'eip-1271:1' }
  const taken = await accounts.resolveExternal(proven, { ...names, username: '0xdef' }, system)
  t.match(taken, { created: true, proof: 'eip-1271:1', account: { username: /^wallet_00000abc_[0-9a-f]{8}$/ } })
  await rejectsWith(
    t,
    accounts.bindExternal(taken.account.id, subject, system),
    rejectedFor('iam.external-identity-taken'),
  )

  const attempt = {
    clientIp: '::1',
    traceId: 't',
    userAgent: '',
    method: 'wallet',
    identifier: '0xdef',
    setHeader() {},
  }
  const session = await iam.running.service(identity).openSession(taken.account.id, attempt)
  const rename = (username: string) =>
    call('PUT', '/api/v1/iam/users/me', { token: session.accessToken, body: { username } }).then(reasonOf)
  t.equal(await rename('0xabc'), '403 test.not-bound', 'by the user')
  const byAdmin = { token: admin, body: { username: '0x123' } }
  t.equal(
    await call('PUT', `${users}/${taken.account.id}`, byAdmin).then(reasonOf),
    '403 test.not-bound',
    'by an admin',
  )
  t.equal(await rename('plain'), '200 undefined')
  t.equal(await rename('0xdef'), '409 iam.username-taken', 'bound to the user, but taken')
  const audits = (await call('GET', '/api/v1/admin/iam/login-audits', { token: admin })).data.items
  t.match(audits[0], { method: 'wallet', userId: taken.account.id, success: true })
})

onSqlite(t, 'R-073 a login guard rejects before any hash is computed, with its reason in the audit', async (t, db) => {
  const iam = await startIam(t, db, { plugins: [guardingPlugin()] })
  const token = await iam.administrator()
  const payload = { username: 'limited', password: 'x' }
  const response = await iam.server.inject({ method: 'POST', url: '/api/v1/auth/login', payload })
  t.hasStrict(response.json(), { code: '429', data: { reason: 'rate-limit.exceeded' } })
  t.equal(response.headers['x-ratelimit-remaining'], '0')
  const [audit] = (await iam.call('GET', '/api/v1/admin/iam/login-audits', { token })).data.items
  t.match(audit, { success: false, reason: /^rate-limit\.exceeded$/, message: 'Too many requests.' })
})

t.test('authenticated responses, rejections and logins are not cacheable', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const iam = await startIam(t, db)
  const token = await iam.administrator()
  const responses = [
    await iam.call('GET', '/api/v1/iam/users/me', { token }),
    await iam.call('GET', users, { token: 'x' }),
    await iam.call('POST', '/api/v1/auth/login', { body: { username: 'admin', password: 'wrong' } }),
    await iam.call('POST', '/api/v1/auth/login', { body: {} }),
  ]
  for (const { code, headers } of responses) t.equal(headers['cache-control'], 'no-store', code)
})

onSqlite(t, 'an e-mail address can be used to sign in only after it was verified', async (t, db) => {
  const iam = await startIam(t, db)
  const { call, accounts } = iam
  const admin = await iam.administrator()
  const thief = await accounts.create({ username: 'thief', password: 'secret1' }, system)
  const token = await iam.login('thief', 'secret1')
  const own = (email: string | null) =>
    call('PUT', '/api/v1/iam/users/me', { token, body: { email, currentPassword: 'secret1' } })
  const signIn = (username: string, password: string) =>
    call('POST', '/api/v1/auth/login', { body: { username, password } }).then(reasonOf)

  t.hasStrict(await own('Owner@example.org'), {
    code: '200',
    data: { email: 'Owner@example.org', emailVerified: false },
  })
  t.equal(await signIn('owner@example.org', 'secret1'), '401 iam.login-failed', 'a claimed address opens nothing')
  const owner = await accounts.create({ username: 'owner', email: 'owner@example.org', password: 'secret2' }, system)
  t.equal(await signIn('owner@example.org', 'secret2'), '200 undefined', 'and keeps nobody from having it')
  t.match((await call('GET', `${users}/${owner.id}`, { token: admin })).data, { emailVerified: true })
  const taken = { reason: 'iam.email-taken' } as unknown as Error
  await rejectsWith(t, accounts.confirmEmail(thief.id, 'owner@example.org', system), taken)

  await own('free@example.org')
  await rejectsWith(t, accounts.confirmEmail(thief.id, 'other@example.org', system), rejectedFor('iam.email-changed'))
  await accounts.confirmEmail(thief.id, 'FREE@example.org', system)
  t.equal(await signIn('free@example.org', 'secret1'), '200 undefined', 'proven')
  t.match(
    await own('Free@example.org'),
    { data: { email: 'Free@example.org', emailVerified: true } },
    'another spelling',
  )
  await own('other@example.org')
  t.equal(await signIn('free@example.org', 'secret1'), '401 iam.login-failed', 'the old address is given up')
  const vouch = { token: admin, body: { email: 'other@example.org' } }
  t.match(
    await call('PUT', `${users}/${thief.id}`, vouch),
    { data: { emailVerified: true } },
    'the same text, vouched for',
  )
  t.equal(await signIn('other@example.org', 'secret1'), '200 undefined')

  const adminId = (await call('GET', '/api/v1/iam/users/me', { token: admin })).data.id
  const self = { token: admin, body: { email: 'boss@example.org' } }
  t.match(
    await call('PUT', `${users}/${adminId}`, self),
    { data: { emailVerified: false } },
    'not by the admin route either',
  )
  const sorted = (await call('GET', `${users}?sort=email`, { token: admin })).data.items
  t.same(
    sorted.map(({ email }: { email: string }) => email),
    ['boss@example.org', 'other@example.org', 'owner@example.org'],
  )
})

onEachDatabase(t, 'users in any order are read by a cursor', async (t, db) => {
  const iam = await startIam(t, db)
  const token = await iam.administrator()
  for (const [index, name] of ['b', 'A', 'ä', 'c', 'D', 'e', '中'].entries()) {
    const email = index % 2 === 0 ? { email: `${name === 'b' ? 'Z' : index}@example.org` } : {}
    await iam.accounts.create({ username: `${name}${name}${name}`, password: 'secret1', ...email }, system)
  }
  await iam.login('bbb', 'secret1')
  await iam.login('DDD', 'secret1')
  const list = async (query: string) => (await iam.call('GET', `${users}?${query}`, { token })).data
  const ids = (items: readonly { id: number }[]) => items.map(({ id }) => id)
  for (const sort of ['id', 'username', 'email', 'createdAt', 'lastLoginAt'].flatMap((name) => [name, `-${name}`])) {
    const all = await list(`sort=${sort}`)
    t.match(all, { total: 8, counted: 'exact', next: null })
    const walked: number[] = []
    let next: string | null = (await list(`sort=${sort}&size=1`)).next
    for (; next !== null; ) {
      const page = await list(`sort=${sort}&size=2&cursor=${next}`)
      walked.push(...ids(page.items))
      next = page.next
    }
    t.same(walked, ids(all.items).slice(1), sort)
  }
  const withoutLogin = (await list('sort=lastLoginAt')).items.slice(0, 5)
  t.ok(
    withoutLogin.every(({ lastLoginAt }: { lastLoginAt: string | null }) => lastLoginAt === null),
    'who never signed in comes first, on every database',
  )
  t.equal((await list('sort=-email')).items[0].email, 'Z@example.org', 'in any case')
})

onEachDatabase(t, 'names that look the same count as the same, and mix no scripts', async (t, db) => {
  const iam = await startIam(t, db)
  const token = await iam.administrator()
  const create = (username: string) =>
    iam.call('POST', users, { token, body: { username, password: 'secret1' } }).then(reasonOf)
  t.equal(await create('adm\u0131n'), '409 iam.username-taken', 'a dotless i')
  t.equal(await create('\uff41\u24d3min'), '409 iam.username-taken', 'full width, in a circle')
  t.equal(await create('\u0430dmin'), '400 iam.username-mixed-script', 'a Cyrillic a')
  t.equal(await create('\u03bd\u03af\u03ba\u03bf\u03c2'), '200 undefined')
  t.equal(await create('\u039d\u038a\u039a\u039f\u03a3'), '409 iam.username-taken', 'a final sigma')
  t.equal(await create('Stra\u00dfe'), '200 undefined')
  t.equal(await create('STRASSE'), '409 iam.username-taken')
  t.ok(await iam.login('strasse', 'secret1'), 'every spelling logs in')

  const mia = await iam.accounts.create({ username: 'mia', password: 'secret1' }, system)
  const store = iam.running.service(database)
  await store.execute('update iam_user set username = ?, username_key = ? where id = ?', [
    'm\u0456a',
    'm\u0456a',
    mia.id,
  ])
  const kept = { token, body: { username: 'm\u0456a', mobile: '+8613800000000' } }
  t.equal(
    await iam.call('PUT', `${users}/${mia.id}`, kept).then(reasonOf),
    '200 undefined',
    'a name of earlier rules stays',
  )
})

onSqlite(t, 'a change without effect on permissions keeps all tokens cached', async (t, db) => {
  const iam = await startIam(t, db)
  const { call } = iam
  const token = await iam.administrator()
  const store = iam.running.service(database)
  const epoch = async () => Number((await store.query<{ epoch: unknown }>('select epoch from iam_epoch'))[0]?.epoch)
  const content = { name: 'Clerk', dataScope: 'org', permissions: ['iam:user:view'] }
  const role = (await call('POST', roles, { token, body: { code: 'clerk', ...content } })).data
  const body = { username: 'mia', password: 'secret1', roleIds: [role.id], orgId: 7 }
  const mia = (await call('POST', users, { token, body })).data
  const me = (await call('GET', '/api/v1/iam/users/me', { token })).data
  const start = await epoch()
  const idle = [
    ['PUT', `${users}/${mia.id}`, { username: 'mia', roleIds: [role.id], orgId: 7, enabled: true }],
    ['PUT', `${users}/${mia.id}`, { email: 'mia@example.org' }],
    ['PUT', '/api/v1/iam/users/me', { mobile: '+8613800000001' }],
    ['PUT', `${users}/${mia.id}/password`, { password: 'secret2' }],
    ['PUT', `${roles}/${role.id}`, { ...content, version: 1 }],
    ['DELETE', `${users}/${mia.id}/sessions`, undefined],
    ['DELETE', '/api/v1/iam/users/me/sessions', undefined],
    ['PUT', `${users}/${mia.id}`, { username: 'x' }],
    ['PUT', `${users}/${mia.id}`, { username: 'tom', version: 77 }],
  ] as const
  for (const [method, path, body] of idle) await call(method, path, { token, ...(body ? { body } : {}) })
  t.equal(await epoch(), start)
  t.equal((await call('GET', `${roles}/${role.id}`, { token })).data.version, 1)
  const described = { ...content, description: 'Sells tickets' }
  for (const [index, fields] of [described, { ...described, name: 'Cashier' }].entries()) {
    await call('PUT', `${roles}/${role.id}`, { token, body: { ...fields, version: index + 1 } })
    const { data } = await call('GET', `${roles}/${role.id}`, { token })
    t.match(data, { name: fields.name, description: fields.description, version: index + 2 }, 'one changed text')
  }
  t.equal(await epoch(), start)
  const changes = [
    [`${users}/${mia.id}`, { orgId: 8 }],
    [`${users}/${mia.id}`, { roleIds: [] }],
    [`${users}/${mia.id}`, { enabled: false }],
    [`${roles}/${role.id}`, { ...content, permissions: [], version: 3 }],
    [`${roles}/${role.id}`, { ...content, permissions: [], dataScope: 'self', version: 4 }],
    [`${users}/${me.id}`, { username: 'root' }],
  ] as const
  for (const [index, [path, body]] of changes.entries()) {
    t.equal((await call('PUT', path, { token, body })).code, '200')
    t.equal(await epoch(), start + index + 1, JSON.stringify(body))
  }
})

onSqlite(t, 'ending all sessions of a user is recorded as an action on this user', async (t, db) => {
  const iam = await startIam(t, db)
  const token = await iam.administrator()
  const mia = await iam.accounts.create({ username: 'mia', password: 'secret1' }, system)
  await iam.login('mia', 'secret1')
  t.same((await iam.call('DELETE', `${users}/${mia.id}/sessions`, { token })).data, { affected: 1 })
  const list = async (query: string) =>
    (await iam.call('GET', `/api/v1/admin/iam/audits?${query}`, { token })).data.items
  assertMembers(t, await list(`targetType=user&targetId=${mia.id}&action=session.revoke-all`), [
    { summary: { count: 1 } },
  ])
})
