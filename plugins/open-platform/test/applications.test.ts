import { database } from '@plinth/database'
import { assertMembers } from '@plinth/dev/testing'
import { createDatabase, onDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { describeOutcome, exportScope, orderScope, startOpen } from './fixtures/product.ts'

const apps = '/api/v1/admin/open-platform/apps'
const audits = '/api/v1/admin/iam/audits?targetType=open-app'

onDatabase(t, 'C-014 C-039 change sets create the tables that the entities declare', async (t, db) => {
  const { running } = await startOpen(t, db)
  const em = running.service(database).fork()
  const generator = em.config.getExtension('@mikro-orm/schema-generator') as {
    getUpdateSchemaSQL(options: object): Promise<string>
  }
  const difference = await generator.getUpdateSchemaSQL({ dropTables: false, safe: false, wrap: false })
  t.equal(difference.trim(), '')
})

onDatabase(t, 'C-051 A25 applications are created, changed, disabled and deleted', async (t, db) => {
  const { call, adminToken, createApp, signed, clock } = await startOpen(t, db)
  const admin = await adminToken()
  const me = (await call('GET', '/api/v1/iam/users/me', admin)).data.id

  const body = {
    name: 'Partner 漢',
    description: 'Reads orders',
    scopes: [orderScope],
    rateLimitPerMinute: 5,
    ownerUserId: me,
  }
  const created = await call('POST', apps, admin, body)
  t.hasStrict(created, { code: '200', data: { ...body, status: 'active', version: 1, previousSecretValidUntil: null } })
  t.match(created.data.appKey, /^app_[0-9a-f]{24}$/)
  t.match(created.data.secret, /^plinth_open_[\w-]{43}$/)
  t.equal(created.headers['cache-control'], 'no-store')
  const { id, secret } = created.data
  const path = `${apps}/${id}`

  await t.test('C-053 the secret is shown only once', async (t) => {
    const shown = [await call('GET', path, admin), await call('GET', apps, admin), await call('GET', audits, admin)]
    for (const { text } of shown) t.notMatch(text, /secret"|plinth_open_/i)
    t.match(shown[0]?.data, { ...body, id })
  })

  await t.test('an application that is created again with its key is the same one, with its secret', async (t) => {
    const key = { 'idempotency-key': 'create-1' }
    const content = { name: 'Once', scopes: [] }
    const twice = [await call('POST', apps, admin, content, key), await call('POST', apps, admin, content, key)]
    t.equal(twice[1]?.text, twice[0]?.text)
    t.match(twice[1]?.data.secret, /^plinth_open_/)
    t.equal((await call('GET', `${apps}?keyword=Once`, admin)).data.total, 1)
    t.equal((await call('DELETE', `${apps}/${twice[0]?.data.id}`, admin)).code, '200')
  })

  await t.test('the list is searched by name and key, and filtered by status', async (t) => {
    const other = await createApp(admin, { name: 'Another' })
    const list = async (query: string) => (await call('GET', `${apps}?${query}`, admin)).data
    assertMembers(t, await list(`keyword=${created.data.appKey.toUpperCase()}`), { total: 1, items: [{ id }] })
    t.match(await list('keyword=partner%20%E6%BC%A2'), { total: 1 })
    t.match(await list('status=disabled'), { total: 0 })
    t.equal((await call('DELETE', `${apps}/${other.id}`, admin)).code, '200')
  })

  await t.test('a change only affects the given members, and an older version rotates no secret', async (t) => {
    const change = { scopes: [exportScope, orderScope], rateLimitPerMinute: null, description: null, version: 1 }
    const { version: _, ...after } = change
    t.hasStrict(await call('PUT', path, admin, change), { code: '200', data: { ...body, ...after, version: 2 } })
    const { updatedAt } = (await call('GET', path, admin)).data
    const rejected = await call('POST', `${path}/rotate-secret`, admin, { version: 1 })
    t.equal(describeOutcome(rejected), '409 open-platform.version-conflict')
    t.match(rejected.data, { currentVersion: 2, updatedBy: 'admin', updatedAt })
  })

  await t.test('invalid input names the field and changes nothing', async (t) => {
    const rejected: readonly (readonly [object, string, string])[] = [
      [{}, '400 http.invalid-input', 'name'],
      [{ name: 'x', rateLimitPerMinute: 2 ** 31 }, '400 http.invalid-input', 'rateLimitPerMinute'],
      [{ name: 'x', scopes: ['shop:order:burn'] }, '400 open-platform.scope-unknown', 'shop:order:burn'],
      [{ name: 'x', ownerUserId: 404 }, '403 open-platform.owner-out-of-scope', 'ownerUserId'],
    ]
    for (const [input, expected, named] of rejected) {
      const response = await call('POST', apps, admin, input)
      t.equal(describeOutcome(response), expected, JSON.stringify(input))
      t.ok(response.text.includes(named), `${named} is named`)
    }
    for (const graceSeconds of [-1, 0.5, 30 * 86_400 + 1, '1']) {
      t.equal((await call('POST', `${path}/rotate-secret`, admin, { graceSeconds })).code, '400', `${graceSeconds}`)
    }
    t.equal((await call('GET', apps, admin)).data.total, 1)
    const missing = await call('POST', `${apps}/1/rotate-secret`, admin, {})
    t.equal(describeOutcome(missing), '404 open-platform.app-unknown')
  })

  await t.test('a rotated secret is accepted during its grace period together with the new one', async (t) => {
    const app = { appKey: created.data.appKey, secret }
    const rotated = await call('POST', `${path}/rotate-secret`, admin, { graceSeconds: 3600 })
    const until = new Date(clock.now() + 3_600_000).toISOString()
    t.hasStrict(rotated, { code: '200', data: { previousSecretValidUntil: until } })
    t.not(rotated.data.secret, secret)
    const renewed = { ...app, secret: rotated.data.secret }
    t.equal(describeOutcome(await signed(app)), '200')
    t.equal(describeOutcome(await signed(renewed)), '200')
    await clock.advance(3_599_999)
    t.equal(describeOutcome(await signed(app)), '200')
    await clock.advance(1)
    t.equal(describeOutcome(await signed(app)), '401 open-platform.signature-invalid', 'over')
    t.equal(describeOutcome(await signed(renewed)), '200')
    const token = admin
    t.equal((await call('GET', path, token)).data.previousSecretValidUntil, null)

    const twice = await call('POST', `${path}/rotate-secret`, token, {})
    const last = await call('POST', `${path}/rotate-secret`, token, { graceSeconds: 0 })
    t.equal(describeOutcome(await signed({ ...app, secret: twice.data.secret })), '401 open-platform.signature-invalid')
    t.equal(describeOutcome(await signed(renewed)), '401 open-platform.signature-invalid', 'two rotations ago')
    t.equal(describeOutcome(await signed({ ...app, secret: last.data.secret })), '200')
  })

  await t.test('a second rotation does not end the grace period of an earlier secret', async (t) => {
    const rotate = `${path}/rotate-secret`
    const { secret: working } = (await call('POST', rotate, admin, { graceSeconds: 0 })).data
    const app = { appKey: created.data.appKey, secret: working }
    const first = await call('POST', rotate, admin, {})
    const before = (await call('GET', path, admin)).data
    for (const body of [{}, { graceSeconds: 60 }, { force: false, version: before.version }]) {
      const rejected = await call('POST', rotate, admin, body)
      t.equal(describeOutcome(rejected), '409 open-platform.grace-running')
      t.equal(rejected.data.previousSecretValidUntil, first.data.previousSecretValidUntil)
    }
    t.equal(describeOutcome(await signed(app)), '200', 'the partner still works')
    t.same((await call('GET', path, admin)).data, before, 'and nothing has changed')
    const forced = await call('POST', rotate, admin, { force: true, graceSeconds: 60 })
    t.equal(forced.code, '200')
    t.equal(describeOutcome(await signed(app)), '401 open-platform.signature-invalid', 'it said so')
    t.equal(describeOutcome(await signed({ ...app, secret: first.data.secret })), '200')

    const key = { 'idempotency-key': 'rotation-1' }
    await clock.advance(60_000)
    const twice = [await call('POST', rotate, admin, {}, key), await call('POST', rotate, admin, {}, key)]
    t.equal(twice[1]?.text, twice[0]?.text, 'who lost the answer gets the secret that counts')
    t.equal(twice[1]?.headers['idempotency-replayed'], 'true')
    t.equal(describeOutcome(await signed({ ...app, secret: twice[1]?.data.secret })), '200')
    t.equal(describeOutcome(await call('POST', rotate, admin, { force: true }, key)), '422 idempotency.key-reused')
  })

  t.equal((await call('DELETE', path, admin)).code, '200')
  t.equal(describeOutcome(await call('GET', path, admin)), '404 open-platform.app-unknown')
  const records = (await call('GET', `${audits}&targetId=${id}&size=50`, admin)).data.items
  t.same(
    records.map(({ action }: { action: string }) => action).sort(),
    ['create', 'delete', ...Array(7).fill('rotate-secret'), 'update'].map((verb) => `open-app.${verb}`),
    'every change left one record, every refusal none',
  )
  t.ok(records.every((record: { actor: string; traceId: string }) => record.actor === `user:${me}` && record.traceId))
  assertMembers(t, records.at(-1), {
    action: 'open-app.create',
    summary: { appKey: created.data.appKey, name: body.name, scopes: [orderScope] },
  })
  t.equal((await call('GET', `${audits}&action=open-app.delete`, admin)).data.total, 3)
})

t.test('C-021 each operation needs its permission', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { call, adminToken, login, createApp } = await startOpen(t, db)
  const admin = await adminToken()
  const app = await createApp(admin)
  const operations: readonly (readonly [string, string, string, object?])[] = [
    ['open-platform:app:view', 'GET', apps],
    ['open-platform:app:view', 'GET', `${apps}/${app.id}`],
    ['open-platform:app:view', 'GET', '/api/v1/admin/open-platform/scopes'],
    ['open-platform:app:create', 'POST', apps, { name: 'x' }],
    ['open-platform:app:update', 'PUT', `${apps}/${app.id}`, { name: 'y' }],
    ['open-platform:app:update', 'POST', `${apps}/${app.id}/disable`, {}],
    ['open-platform:app:update', 'POST', `${apps}/${app.id}/enable`, {}],
    ['open-platform:app:rotate-secret', 'POST', `${apps}/${app.id}/rotate-secret`, {}],
    ['open-platform:usage:view', 'GET', '/api/v1/admin/open-platform/usage'],
    ['open-platform:app:delete', 'DELETE', `${apps}/${app.id}`],
  ]
  const codes = [...new Set(operations.map(([code]) => code))]
  const tokens = new Map<string, string>()
  for (const [index, permission] of codes.entries()) {
    const role = { code: `clerk-${index}`, name: permission, dataScope: 'all', permissions: [permission] }
    const { id } = (await call('POST', '/api/v1/admin/iam/roles', admin, role)).data
    const user = { username: `clerk-${index}`, password: 'secret-1' }
    await call('POST', '/api/v1/admin/iam/users', admin, { ...user, roleIds: [id] })
    tokens.set(permission, await login(user))
  }
  for (const [needed, method, path, body] of operations) {
    for (const [held, token] of tokens) {
      if (held === needed) continue
      const response = await call(method, path, token, body)
      t.hasStrict(response, { code: '403', data: { permission: needed } }, `${method} ${path} with ${held}`)
    }
    t.equal((await call(method, path, undefined, body)).code, '401')
    t.equal(describeOutcome(await call(method, path, tokens.get(needed), body)), '200', `${method} ${path}`)
  }
})
