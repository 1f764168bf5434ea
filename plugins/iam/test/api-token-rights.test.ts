/** Tests what API tokens may do: never more than their owner, and nothing that needs a person. */

import { assertMembers, manualClock, throwsWith } from '@plinth/dev/testing'
import { createDatabase, onDatabase } from '@plinth/dev/testing/database'
import { identity } from '@plinth/iam'
import fc from 'fast-check'
import t from 'tap'
import { ownerOfLaterWork } from '../src/access/data-scope.ts'
import { type RoleGrant, resolveGrants } from '../src/access/role-grants.ts'
import { limitGrants } from '../src/api-tokens/token-grants.ts'
import {
  adminTokens,
  createOwner,
  createToken,
  me,
  ownTokens,
  reasonOf,
  requestToken,
  roles,
  tokenBody,
  users,
} from './fixtures/api-tokens.ts'
import { adminPassword, startIam, system } from './fixtures/product.ts'

const operator = [
  'iam:user:view',
  'iam:user:create',
  'iam:user:update',
  'iam:user:delete',
  'iam:user:export',
  'iam:role:save',
  'iam:role:view',
  'iam:session:view',
  'iam:session:revoke',
  'iam:api-token:view',
  'iam:api-token:revoke',
]
const width = { self: 0, org: 1, all: 2 }

t.test('the rights of a token are those that it and its owner have in common', (t) => {
  const codes = ['a:b', 'a:c', 'a:d', 'x:y']
  const scope = fc.constantFrom('all' as const, 'org' as const, 'self' as const)
  const some = fc.subarray(codes)
  const role: fc.Arbitrary<RoleGrant> = fc.record({
    code: fc.constantFrom('clerk', 'lead', 'super-admin'),
    dataScope: scope,
    permissions: some,
  })
  const property = fc.property(fc.array(role, { maxLength: 3 }), some, scope, (held, permissions, dataScope) => {
    const owner = resolveGrants(held)
    const rights = limitGrants(owner, { permissions, dataScope })
    const may = codes.filter((code) => rights.can(code))
    return (
      !rights.isSuperAdmin &&
      rights.roles.length === 0 &&
      String(may) === String(codes.filter((code) => owner.can(code) && permissions.includes(code))) &&
      String([...rights.permissions].sort()) === String(may) &&
      width[rights.dataScope] === Math.min(width[owner.dataScope], width[dataScope])
    )
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 500 }))
  t.end()
})

onDatabase(t, 'rights that the owner loses are gone at the next request, on all instances', async (t, db) => {
  const clock = manualClock()
  const one = await startIam(t, db, { clock })
  const two = await startIam(t, db, { clock })
  const root = await one.administrator()
  const view = ['iam:user:view']
  const { user, role, session } = await createOwner(one, 'mia', {
    permissions: ['iam:user:view', 'iam:role:view'],
    orgId: 7,
  })
  await one.accounts.create({ username: 'abroad', orgId: 8 }, system)
  const token = await createToken(one, session, { dataScope: 'all', permissions: view })
  const account = `${users}/${user.id}`
  const as = (body: object) => ({ token: root, body })
  const content = { name: 'mia', dataScope: 'all', permissions: view }

  /** Makes a change on the first instance. Returns the response of the second one, which knew the token before. */
  const after = async (change: () => Promise<unknown>) => {
    for (const instance of [one, two]) t.equal((await instance.call('GET', users, { token })).code, '200', 'it works')
    await change()
    const here = await one.call('GET', users, { token })
    await clock.advance(900)
    const there = await two.call('GET', users, { token })
    t.equal(reasonOf(here), reasonOf(there), 'both instances agree')
    return there
  }
  const restore = async (change: () => Promise<unknown>) => {
    await change()
    await clock.advance(1000)
  }

  const denied = '403 iam.permission-denied'
  t.equal(reasonOf(await after(() => one.call('PUT', account, as({ roleIds: [] })))), denied, 'the role is taken away')
  await restore(() => one.call('PUT', account, as({ roleIds: [role.id] })))
  const without = { ...content, permissions: ['iam:role:view'], version: 1 }
  t.equal(
    reasonOf(await after(() => one.call('PUT', `${roles}/${role.id}`, as(without)))),
    denied,
    'the role is smaller',
  )
  await restore(() => one.call('PUT', `${roles}/${role.id}`, as({ ...content, version: 2 })))

  t.match((await two.call('GET', users, { token })).data, { total: 3 }, 'all users')
  const narrow = { ...content, dataScope: 'org', version: 3 }
  const seen = await after(() => one.call('PUT', `${roles}/${role.id}`, as(narrow)))
  t.match(seen.data, { total: 1 }, 'the data scope of the owner became narrower')
  await restore(() => one.call('PUT', `${roles}/${role.id}`, as({ ...content, version: 4 })))

  const gone = '401 iam.api-token-invalid'
  const [{ id } = { id: 0 }] = (await one.call('GET', ownTokens, { token: session })).data
  t.equal(reasonOf(await after(() => one.call('DELETE', `${ownTokens}/${id}`, { token: session }))), gone, 'revoked')
  const second = await createToken(one, session, { permissions: view })
  await one.call('PUT', account, as({ enabled: false }))
  t.equal(reasonOf(await one.call('GET', users, { token: second })), gone, 'the owner is disabled')
  await restore(() => one.call('PUT', account, as({ enabled: true })))
  for (const instance of [one, two])
    t.equal(reasonOf(await instance.call('GET', users, { token: second })), gone, 'and stays revoked after that')
  const third = await createToken(one, await one.login('mia', 'secret1'), { permissions: view })
  t.equal((await two.call('GET', users, { token: third })).code, '200')
  await one.call('DELETE', account, as({}))
  await clock.advance(900)
  for (const instance of [one, two])
    t.equal(reasonOf(await instance.call('GET', users, { token: third })), gone, 'the owner is deleted')
})

t.test('a token of a super administrator has only its own permissions', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const iam = await startIam(t, db)
  const root = await iam.administrator()
  const bare = await createToken(iam, root, { dataScope: 'all' })
  assertMembers(t, (await iam.call('GET', me, { token: bare })).data, {
    isSuperAdmin: false,
    permissions: [],
    dataScope: 'all',
  })
  t.equal(reasonOf(await iam.call('GET', users, { token: bare })), '403 iam.permission-denied', 'none means none')
  const viewer = await createToken(iam, root, { permissions: ['iam:user:view'] })
  t.match((await iam.call('GET', users, { token: viewer })).data, { total: 1 })
  assertMembers(t, (await iam.call('GET', me, { token: viewer })).data, {
    permissions: ['iam:user:view'],
    dataScope: 'self',
  })
  t.equal(reasonOf(await iam.call('GET', roles, { token: viewer })), '403 iam.permission-denied')

  const saver = await createToken(iam, root, { dataScope: 'all', permissions: ['iam:role:save', 'iam:user:create'] })
  const role = (code: string, permissions: readonly string[]) =>
    iam.call('POST', roles, { token: saver, body: { code, name: code, dataScope: 'all', permissions } })
  t.equal(reasonOf(await role('more', ['iam:audit:view'])), '403 iam.beyond-own-authority', 'no role beyond the token')
  t.equal((await role('same', ['iam:role:save'])).code, '200')
  const rootRole = (await iam.call('GET', `${roles}?keyword=super-admin`, { token: root })).data.items[0].id
  const body = { username: 'eve', password: 'secret1', roleIds: [rootRole] }
  t.equal(reasonOf(await iam.call('POST', users, { token: saver, body })), '403 iam.beyond-own-authority')
})

onDatabase(t, 'a token does nothing that needs a person', async (t, db) => {
  const iam = await startIam(t, db)
  const root = await iam.administrator()
  const { user, role, session } = await createOwner(iam, 'mia', { permissions: operator })
  const other = await iam.accounts.create({ username: 'noa', email: 'noa@example.org', password: 'secret1' }, system)
  const noas = await iam.login('noa', 'secret1')
  const token = await createToken(iam, session, { dataScope: 'all', permissions: operator })
  const [{ id: tokenId }] = (await iam.call('GET', ownTokens, { token: session })).data
  const [{ id: sessionId }] = (await iam.call('GET', `${users}/${other.id}/sessions`, { token: session })).data
  const own = `${users}/${user.id}`
  const foreign = `${users}/${other.id}`
  const attempts: readonly (readonly [method: string, url: string, body?: object])[] = [
    ['POST', ownTokens, tokenBody(iam)],
    ['GET', ownTokens],
    ['DELETE', `${ownTokens}/${tokenId}`],
    ['PUT', me, { username: 'mia2' }],
    ['PUT', `${me}/password`, { currentPassword: 'secret1', newPassword: 'secret2' }],
    ['GET', `${me}/sessions`],
    ['DELETE', `${me}/sessions`],
    ['DELETE', `${me}/sessions/${sessionId}`],
    ['POST', '/api/v1/auth/logout'],
    ['PUT', own, { username: 'mia2' }],
    ['PUT', own, { roleIds: [] }],
    ['PUT', own, { enabled: false }],
    ['PUT', `${own}/password`, { password: 'secret2' }],
    ['DELETE', own],
    ['GET', `${own}/sessions`],
    ['GET', `${own}/personal-data`],
    ['PUT', foreign, { email: 'eve@example.org' }],
    ['PUT', foreign, { email: null }],
    ['PUT', `${foreign}/password`, { password: 'secret2' }],
    ['DELETE', `${foreign}/sessions`],
    ['DELETE', `/api/v1/admin/iam/sessions/${sessionId}`],
    ['DELETE', `${adminTokens}/${tokenId}`],
  ]
  for (const [method, url, body] of attempts)
    t.equal(reasonOf(await iam.call(method, url, { token, body })), '403 iam.session-required', `${method} ${url}`)
  t.equal((await iam.call('GET', me, { token: noas })).code, '200', 'the session of the other user goes on')
  t.equal((await iam.call('GET', me, { token: session })).code, '200')
  t.hasStrict(await iam.accounts.find(other.id), { email: 'noa@example.org' })
  t.hasStrict(await iam.accounts.find(user.id), { username: 'mia', enabled: true })
  t.equal(
    (await iam.call('PUT', foreign, { token, body: { enabled: false } })).code,
    '200',
    'what its permissions allow',
  )

  const principal = await iam.running.service(identity).authenticate(token, { clientIp: '' })
  assertMembers(t, principal, { credential: 'api-token', sessionId: 0, userId: user.id, roles: [] })
  const laterWork = { code: '403', reason: 'iam.session-required' }
  throwsWith(t, () => ownerOfLaterWork({ principal }), laterWork)
  const byUser = await iam.running.service(identity).principalOf(user.id)
  assertMembers(t, byUser, { credential: 'none', sessionId: 0 })
  t.equal(byUser?.permissions.size, operator.length)
  t.equal((await iam.call('GET', `${roles}/${role.id}`, { token: root })).code, '200')
})

onDatabase(t, 'users can only give a token what they have', async (t, db) => {
  const iam = await startIam(t, db)
  await iam.administrator()
  const { session } = await createOwner(iam, 'mia', { dataScope: 'org', permissions: ['iam:user:view'], orgId: 7 })
  const create = (request: Parameters<typeof requestToken>[2]) => requestToken(iam, session, request).then(reasonOf)
  t.equal(await create({ permissions: ['iam:role:save'] }), '403 iam.beyond-own-authority')
  t.equal(await create({ dataScope: 'all' }), '403 iam.beyond-own-authority')
  t.equal(await create({ permissions: ['acme:unknown'] }), '400 iam.permission-unknown')
  t.equal(await create({ dataScope: 'org', permissions: ['iam:user:view'] }), '200')
  const body = { ...tokenBody(iam), userId: 1 }
  t.equal(
    reasonOf(await iam.call('POST', ownTokens, { token: session, body })),
    '400 http.invalid-input',
    'never for another user',
  )
  const wide = await createOwner(iam, 'noa', { permissions: ['iam:user:view'], orgId: 8 })
  const narrow = await createToken(iam, wide.session, { dataScope: 'org', permissions: ['iam:user:view'] })
  t.match((await iam.call('GET', users, { token: wide.session })).data, { total: 3 })
  const seen = (await iam.call('GET', users, { token: narrow })).data.items
  t.same(
    seen.map(({ username }: { username: string }) => username),
    ['noa'],
    'the data scope of the token is narrower than that of its owner',
  )
})

onDatabase(t, 'administrators see and revoke the tokens of users within their rights', async (t, db) => {
  const iam = await startIam(t, db)
  const root = await iam.administrator()
  const manage = ['iam:api-token:view', 'iam:api-token:revoke']
  const lead = await createOwner(iam, 'lead', { dataScope: 'org', permissions: manage, orgId: 7 })
  const mate = await createOwner(iam, 'mate', { dataScope: 'self', orgId: 7 })
  const chief = await createOwner(iam, 'chief', { dataScope: 'org', permissions: ['iam:role:save'], orgId: 7 })
  const abroad = await createOwner(iam, 'abroad', { dataScope: 'self', orgId: 8 })
  const tokens = new Map<string, string>()
  for (const { user, session } of [mate, chief, abroad])
    tokens.set(user.username, await createToken(iam, session, { name: `of ${user.username}` }))
  const list = async (token: string, query = '') => {
    const { data } = await iam.call('GET', `${adminTokens}${query}`, { token })
    return data.items.map(({ name }: { name: string }) => name)
  }
  t.same(await list(root), ['of abroad', 'of chief', 'of mate'])
  t.same(await list(lead.session), ['of chief', 'of mate'], 'users of the own organisation')
  t.same(await list(lead.session, `?userId=${mate.user.id}`), ['of mate'])
  t.same(await list(lead.session, `?userId=${abroad.user.id}`), [])
  const all: { id: number; name: string }[] = (await iam.call('GET', adminTokens, { token: root })).data.items
  t.notMatch(JSON.stringify(all), /plinthpat_|hash/i)
  const revoke = async (token: string, name: string) => {
    const id = all.find((one) => one.name === name)?.id
    return reasonOf(await iam.call('DELETE', `${adminTokens}/${id}`, { token }))
  }
  t.equal(await revoke(mate.session, 'of chief'), '403 iam.permission-denied')
  t.equal(await revoke(lead.session, 'of abroad'), '404 iam.api-token-unknown', 'out of scope')
  t.equal(await revoke(lead.session, 'of chief'), '403 iam.beyond-own-authority', 'more permissions than the caller')
  t.equal(await revoke(lead.session, 'of mate'), '200')
  t.equal(await revoke(lead.session, 'of mate'), '200', 'again')
  t.equal(reasonOf(await iam.call('GET', me, { token: tokens.get('mate') ?? '' })), '401 iam.api-token-invalid')
  t.equal((await iam.call('GET', me, { token: tokens.get('chief') ?? '' })).code, '200')
  const foreignId = all.find(({ name }) => name === 'of chief')?.id
  const foreign = await iam.call('DELETE', `${ownTokens}/${foreignId}`, { token: mate.session })
  t.equal(reasonOf(foreign), '404 iam.api-token-unknown', 'not by the own route either')

  for (const [language, created, revoked] of [
    ['en', 'API token: Create', 'API token: Revoke'],
    ['zh-CN', 'API 令牌: 新建', 'API 令牌: 吊销'],
  ] as const) {
    const { data } = await iam.call('GET', '/api/v1/admin/iam/audits?targetType=api-token', { token: root, language })
    t.same(
      data.items.map(({ actionName }: { actionName: string }) => actionName),
      [revoked, created, created, created],
      language,
    )
    t.match(data.items[0], { actor: `user:${lead.user.id}`, summary: { userId: mate.user.id, name: 'of mate' } })
  }
})

t.test('a password that another person sets revokes the tokens, and an own password does not', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const iam = await startIam(t, db)
  const root = await iam.administrator()
  const { user, session } = await createOwner(iam, 'mia')
  const token = await createToken(iam, session)
  const own = { currentPassword: 'secret1', newPassword: 'secret2' }
  t.equal((await iam.call('PUT', `${me}/password`, { token: session, body: own })).code, '200')
  t.equal((await iam.call('GET', me, { token })).code, '200')
  const body = { password: 'secret3' }
  t.equal((await iam.call('PUT', `${users}/${user.id}/password`, { token: root, body })).code, '200')
  t.equal(reasonOf(await iam.call('GET', me, { token })), '401 iam.api-token-invalid')
  t.match(await iam.login('admin', adminPassword), /^plinth_/)
})

onDatabase(
  t,
  'a session that has just ended creates no token, also while an instance still accepts it',
  async (t, db) => {
    const clock = manualClock()
    const one = await startIam(t, db, { clock })
    const two = await startIam(t, db, { clock })
    const root = await one.administrator()
    const { user, session } = await createOwner(one, 'mia', { permissions: ['iam:user:view'] })
    const body = { password: 'secret2' }
    t.equal((await two.call('GET', me, { token: session })).code, '200')
    t.equal((await one.call('PUT', `${users}/${user.id}/password`, { token: root, body })).code, '200')
    t.equal((await two.call('GET', me, { token: session })).code, '200', 'known for half a second more')
    t.equal(reasonOf(await requestToken(two, session)), '401 iam.token-invalid')
    const renewed = await one.login('mia', 'secret2')
    t.same((await one.call('GET', ownTokens, { token: renewed })).data, [], 'no token outlives the change')
  },
)
