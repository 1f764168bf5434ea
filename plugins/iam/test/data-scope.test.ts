import { database as databaseService, insertRows } from '@plinth/database'
import { isProof, throwsWith } from '@plinth/dev/testing'
import { createDatabase, onDatabase } from '@plinth/dev/testing/database'
import { type DataScope, identity, type Principal } from '@plinth/iam'
import fc from 'fast-check'
import t from 'tap'
import { User } from '../src/entities.ts'
import { origin, startIam, system } from './fixtures/product.ts'

const users = '/api/v1/admin/iam/users'
const roles = '/api/v1/admin/iam/roles'
const sessions = '/api/v1/admin/iam/sessions'
const permissions = [
  'user:view',
  'user:create',
  'user:update',
  'user:delete',
  'session:view',
  'session:revoke',
  'role:view',
  'role:save',
  'audit:view',
].map((code) => `iam:${code}`)
const reasonOf = ({ code, data }: { code: string; data: { reason?: string } | null }) =>
  data?.reason === undefined ? code : `${code} ${data.reason}`

type Iam = Awaited<ReturnType<typeof startIam>>

/** Starts a product with one role per data scope. The roles differ only in the scope. */
async function startScoped(t: Parameters<typeof startIam>[0], db: Parameters<typeof startIam>[1]) {
  const iam = await startIam(t, db)
  const admin = await iam.administrator()
  const create = async (dataScope: DataScope) =>
    (
      await iam.call('POST', roles, {
        token: admin,
        body: { code: dataScope, name: dataScope, dataScope, permissions },
      })
    ).data.id as number
  const superAdmin = (await iam.call('GET', `${roles}?keyword=super-admin`, { token: admin })).data.items[0]
    .id as number
  const ids = { all: await create('all'), org: await create('org'), self: await create('self'), super: superAdmin }
  return { iam, admin, roleIds: ids }
}

/** Opens a session without a password, because hashing a password is slow. */
async function tokenOf({ running }: Iam, userId: number): Promise<string> {
  const attempt = { ...origin, method: 'test', identifier: 'x', setHeader() {} }
  return (await running.service(identity).openSession(userId, attempt)).accessToken
}

onDatabase(t, 'A5 no administrator can widen their own scope or move users out of it', async (t, db) => {
  const { iam, admin, roleIds } = await startScoped(t, db)
  const { call, accounts } = iam
  const person = (username: string, orgId: number | null, roleIds: number[]) =>
    accounts.create({ username, password: 'secret1', orgId, roleIds }, system)
  const lead = await person('lead', 7, [roleIds.org])
  const victim = await person('victim', 8, [])
  const token = await iam.login('lead', 'secret1')

  await t.test('an administrator of one organisation cannot become one of another', async (t) => {
    const move = await call('PUT', `${users}/${lead.id}`, { token, body: { orgId: 8 } })
    t.hasStrict(move, { code: '403', data: { reason: 'iam.organisation-out-of-scope', field: 'orgId' } })
    await iam.clock.advance(1000)
    const grab = await call('PUT', `${users}/${victim.id}/password`, { token, body: { password: 'stolen!' } })
    t.equal(reasonOf(grab), '404 iam.user-unknown')
    const login = { body: { username: 'victim', password: 'stolen!' } }
    t.equal(reasonOf(await call('POST', '/api/v1/auth/login', login)), '401 iam.login-failed')
    t.equal((await call('GET', users, { token })).data.total, 1)
    t.equal(
      reasonOf(await call('PUT', `${users}/${lead.id}`, { token, body: { orgId: null } })),
      '403 iam.organisation-out-of-scope',
    )
  })
  await t.test('no user can be moved out of the scope or into another organisation', async (t) => {
    const mate = await person('mate', 7, [])
    for (const orgId of [8, null]) {
      const body = { username: `new-${orgId}`, orgId }
      t.equal(reasonOf(await call('PUT', `${users}/${mate.id}`, { token, body: { orgId } })).slice(0, 3), '403')
      const created = await call('POST', users, { token, body: { ...body, password: 'secret1' } })
      t.equal(reasonOf(created), '403 iam.organisation-out-of-scope')
    }
    const created = await call('POST', users, { token, body: { username: 'new-mate', password: 'secret1' } })
    t.hasStrict(created, { code: '200', data: { orgId: 7 } }, 'the own organisation when none is named')
  })
  await t.test('a creator with the scope self cannot create users', async (t) => {
    const loner = await person('loner', 7, [roleIds.self])
    const own = await tokenOf(iam, loner.id)
    for (const orgId of [undefined, null, 7, 8]) {
      const body = { username: `made-${orgId}`, password: 'secret1', ...(orgId === undefined ? {} : { orgId }) }
      t.equal(reasonOf(await call('POST', users, { token: own, body })), '403 iam.creation-out-of-scope')
    }
    t.equal((await call('GET', users, { token: own })).data.total, 1)
  })
  await t.test('changing the own password requires the current one', async (t) => {
    for (const holder of [token, admin]) {
      const me = (await call('GET', '/api/v1/iam/users/me', { token: holder })).data
      const body = { password: 'another-secret-1' }
      t.equal(
        reasonOf(await call('PUT', `${users}/${me.id}/password`, { token: holder, body })),
        '403 iam.own-password',
        me.username,
      )
    }
    t.ok(await iam.login('lead', 'secret1'))
  })
  await t.test(
    'sessions of users with more permissions cannot be read, and those out of scope do not exist',
    async (t) => {
      const boss = await person('boss', 7, [roleIds.super])
      await tokenOf(iam, boss.id)
      const list = (id: number) => call('GET', `${users}/${id}/sessions`, { token }).then(reasonOf)
      t.equal(await list(boss.id), '403 iam.beyond-own-authority')
      t.equal(await list(victim.id), '404 iam.user-unknown')
      await tokenOf(iam, victim.id)
      const [foreign] = (await call('GET', `${users}/${victim.id}/sessions`, { token: admin })).data
      const end = (id: number) => call('DELETE', `${sessions}/${id}`, { token })
      t.same(await end(foreign.id), await end(1), 'a foreign session is answered as one that does not exist')
    },
  )
  await t.test('a role that a user out of scope has cannot be changed', async (t) => {
    const body = { name: 'changed', dataScope: 'org', permissions, version: 1 }
    const change = (content: object) => call('PUT', `${roles}/${roleIds.org}`, { token, body: { ...body, ...content } })
    const other = await person('other-lead', 8, [roleIds.org])
    t.equal(reasonOf(await change({ permissions: [] })), '403 iam.out-of-scope')
    const removal = await call('DELETE', `${roles}/${roleIds.org}`, { token })
    t.equal(reasonOf(removal), '403 iam.out-of-scope', 'the number of foreign holders is not shown')
    await call('DELETE', `${users}/${other.id}`, { token: admin })
    t.equal(reasonOf(await change({})), '200')
  })
  await t.test('for other plugins: one user, many users, organisations and lists', async (t) => {
    const service = iam.running.service(identity)
    const principal = (await service.authenticate(token)) as Principal
    t.ok(await service.isInScope(principal, lead.id))
    t.notOk(await service.isInScope(principal, victim.id))
    t.notOk(await service.isInScope(principal, 1), 'nobody')
    service.assertOrgInScope(principal, 7)
    const rejected = { reason: 'iam.organisation-out-of-scope' } as unknown as Error
    for (const orgId of [8, null]) throwsWith(t, () => service.assertOrgInScope(principal, orgId), rejected)
    service.assertOrgInScope({ ...principal, dataScope: 'all' }, 8)
    throwsWith(t, () => service.assertOrgInScope({ ...principal, dataScope: 'self' }, 7), rejected)
  })
  await t.test('the common organisation of more users than one statement reads', async (t) => {
    const service = iam.running.service(identity)
    const database = iam.running.service(databaseService)
    const now = new Date()
    const rows = Array.from({ length: 600 }, (_, index) => {
      const username = `clerk-${index}`
      const moments = { createdAt: now, updatedAt: now }
      return { id: database.newId(), username, usernameKey: username, enabled: true, orgId: 7, version: 1, ...moments }
    })
    await insertRows(database, User, rows)
    const ids = rows.map(({ id }) => id)
    t.equal(await service.commonOrganisation([...ids, ids[0] as number]), 7)
    t.equal(await service.commonOrganisation([...ids, 1]), null, 'an unknown user')
    t.equal(await service.commonOrganisation([...ids, victim.id]), null, 'another organisation')
    const alone = await person('alone', null, [])
    t.equal(await service.commonOrganisation([...ids, alone.id]), null, 'no organisation, at the end')
    t.equal(await service.commonOrganisation([alone.id, ...ids]), null, 'no organisation, at the start')
    t.equal(await service.commonOrganisation([]), null)
    const principal = (await service.authenticate(token)) as Principal
    t.same(await service.reachedOf(principal, [...ids, victim.id, alone.id, 1]), new Set(ids))
  })
})

type RoleName = 'none' | 'self' | 'org' | 'all' | 'super'
interface Person {
  readonly id: number
  orgId: number | null
  role: RoleName
  isGone: boolean
}

const widths: Readonly<Record<RoleName, number>> = { none: 0, self: 0, org: 1, all: 2, super: 3 }
const scoped = (person: Person) =>
  person.role === 'super' || person.role === 'all' ? 'all' : person.role === 'org' && person.orgId ? 'org' : 'self'

/** Reference implementation of all data scope rules, in two functions. */
const reaches = (actor: Person, target: Person) =>
  !target.isGone &&
  (scoped(actor) === 'all' || actor === target || (scoped(actor) === 'org' && actor.orgId === target.orgId))
const coversRole = (actor: Person, role: RoleName) => widths[role] <= widths[actor.role]

const anyRole = fc.constantFrom<RoleName>('none', 'self', 'org', 'all', 'super')
const anyOrg = fc.constantFrom(null, 1, 2)
const verbs = [
  'view',
  'list',
  'create',
  'email',
  'move',
  'roles',
  'disable',
  'password',
  'delete',
  'sessions',
  'end-all',
  'end-one',
  'login-audits',
  'audits',
] as const
const step = fc.record({
  verb: fc.constantFrom(...verbs),
  actor: fc.nat(5),
  target: fc.nat(5),
  orgId: anyOrg,
  namesOrg: fc.boolean(),
  role: anyRole,
})

t.test(
  'A5 random administrators can do what a simple model allows, and nothing else',
  { timeout: 600_000 },
  async (t) => {
    const db = await createDatabase('sqlite')
    t.teardown(() => db.drop())
    const { iam, admin, roleIds } = await startScoped(t, db)
    const idsOf = (role: RoleName) => (role === 'none' ? [] : [roleIds[role]])
    let names = 0
    let rejectedSteps = 0
    let allowedSteps = 0

    async function play(
      people: Person[],
      { verb, actor: a, target: b, orgId, namesOrg, role }: typeof step extends fc.Arbitrary<infer S> ? S : never,
    ) {
      const [actor, target] = [people[a], people[b]] as [Person, Person]
      if (actor.isGone || actor.role === 'none') return
      const token = await tokenOf(iam, actor.id)
      const as = (who: string, method: string, path: string, body?: object) =>
        iam.call(method, path, { token: who, ...(body ? { body } : {}) })
      const ask = (method: string, path: string, body?: object) => as(token, method, path, body)
      const seenByAll = (path: string) => as(admin, 'GET', path)
      const path = `${users}/${target.id}`
      const state = async () => ({ ...(await seenByAll(path)).data, lastLoginAt: undefined })
      const before = await state()
      const isReached = reaches(actor, target)
      const isCovered = actor === target || coversRole(actor, target.role)
      const expected = !isReached ? '404' : isCovered ? '200' : '403'

      const check = async (response: { code: string }, requested: string, then: () => void = () => {}) => {
        t.equal(response.code, requested, `${verb} ${JSON.stringify({ actor, target, orgId, role, namesOrg })}`)
        if (requested === '200') {
          allowedSteps++
          then()
        } else {
          rejectedSteps++
          t.same(await state(), before, 'what was refused changed nothing')
        }
      }
      const sees = async (list: string) => {
        const [own, all] = [await ask('GET', list), await seenByAll(list)]
        t.equal(own.data.total, isReached || scoped(actor) === 'all' ? all.data.total : 0, `${verb} ${list}`)
      }

      if (verb === 'view') await check(await ask('GET', path), isReached ? '200' : '404')
      if (verb === 'list') {
        const { items } = (await ask('GET', `${users}?size=200&sort=-id`)).data
        const seen = new Set(items.map(({ id }: { id: number }) => id))
        t.same(
          people.filter(({ id }) => seen.has(id)),
          people.filter((person) => reaches(actor, person)),
          `list of ${JSON.stringify(actor)}`,
        )
      }
      if (verb === 'create') {
        const scope = scoped(actor)
        const mayPut = scope === 'all' || (scope === 'org' && (!namesOrg || orgId === actor.orgId))
        const body = {
          username: `made-${names++}`,
          password: 'secret1',
          roleIds: idsOf(role),
          ...(namesOrg ? { orgId } : {}),
        }
        const response = await ask('POST', users, body)
        await check(response, mayPut && coversRole(actor, role) ? '200' : '403')
        if (response.code === '200') {
          t.equal(response.data.orgId, namesOrg ? orgId : scope === 'org' ? actor.orgId : null)
          people[b] = { id: response.data.id, orgId: response.data.orgId, role, isGone: false }
        }
      }
      if (verb === 'email') await check(await ask('PUT', path, { email: `a${names++}@example.org` }), expected)
      if (verb === 'move') {
        const mayMove = orgId === target.orgId || scoped(actor) === 'all'
        await check(await ask('PUT', path, { orgId }), expected === '200' && !mayMove ? '403' : expected, () => {
          target.orgId = orgId
        })
      }
      if (verb === 'roles') {
        const mayGive = role === target.role || coversRole(actor, role)
        const requested = expected === '200' && !mayGive ? '403' : expected
        await check(await ask('PUT', path, { roleIds: idsOf(role) }), requested, () => {
          target.role = role
        })
      }
      if (verb === 'disable') {
        await check(await ask('PUT', path, { enabled: false }), expected)
        if (expected === '200') await as(admin, 'PUT', path, { enabled: true })
      }
      if (verb === 'password') {
        const response = await ask('PUT', `${path}/password`, { password: 'another1' })
        await check(response, actor === target ? '403' : expected)
      }
      if (verb === 'delete') {
        await check(await ask('DELETE', path), expected, () => {
          target.isGone = true
        })
      }
      if (verb === 'sessions') await check(await ask('GET', `${path}/sessions`), expected)
      if (verb === 'end-all') await check(await ask('DELETE', `${path}/sessions`), expected)
      if (verb === 'end-one' && !target.isGone) {
        await tokenOf(iam, target.id)
        const [session] = (await seenByAll(`${path}/sessions`)).data
        await check(await ask('DELETE', `${sessions}/${session.id}`), expected)
      }
      if (verb === 'login-audits') await sees(`/api/v1/admin/iam/login-audits?userId=${target.id}`)
      if (verb === 'audits') await sees(`/api/v1/admin/iam/audits?actor=user:${target.id}`)
    }

    const world = fc.array(fc.record({ orgId: anyOrg, role: anyRole }), { minLength: 6, maxLength: 6 })
    const property = fc.asyncProperty(world, fc.array(step, { minLength: 20, maxLength: 20 }), async (seeds, steps) => {
      const people: Person[] = []
      for (const { orgId, role } of seeds) {
        const { id } = await iam.accounts.create({ username: `user-${names++}`, orgId, roleIds: idsOf(role) }, system)
        people.push({ id, orgId, role, isGone: false })
      }
      for (const one of steps) {
        await play(people, one)
        // The product caches tokens and roles for half a second, so the clock advances by this time.
        await iam.clock.advance(500)
      }
      return t.passing()
    })
    await fc.assert(property, { numRuns: isProof ? 60 : 20, endOnFailure: true })
    const expected = isProof ? 100 : 30
    t.ok(
      allowedSteps > expected && rejectedSteps > expected,
      `${allowedSteps} allowed and ${rejectedSteps} refused steps`,
    )
  },
)
