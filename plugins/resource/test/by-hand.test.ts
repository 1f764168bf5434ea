/** Tests resources whose JSON, data scope, errors and parameters are written by hand. */
import { database } from '@plinth/database'
import { assertMembers } from '@plinth/dev/testing'
import { onDatabase, watchStatements } from '@plinth/dev/testing/database'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { identity } from '@plinth/iam'
import { kernel } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { Team, teams } from './fixtures/contacts.ts'
import { outcomeOf, startContacts } from './fixtures/product.ts'

const path = '/api/v1/acme/teams'

/** Starts a product with a team of anna and ben, and a team of cleo. */
async function startTeams(t: Test, db: Parameters<typeof startContacts>[1]) {
  const product = await startContacts(t, db)
  const { root, ids } = product
  const { anna = 0, ben = 0, cleo = 0 } = ids
  const red = { label: 'red', members: { ids: [anna, ben] }, rest: 5 }
  const blue = { label: 'blue', members: { ids: [cleo] }, rest: 9 }
  const created = [await root('POST', path, red), await root('POST', path, blue)].map(({ data }) => data)
  return { ...product, red: { ...red, id: created[0].id }, blue: { ...blue, id: created[1].id }, created }
}

onDatabase(t, 'requests and responses have the JSON of the shape', async (t: Test, db) => {
  const { root, db: service, red, created } = await startTeams(t, db)
  t.same(created[0], { ...red, version: 1, updatedBy: 'root' })
  t.same((await root('GET', `${path}/${red.id}`)).data, created[0])
  const stored = async () => service.fork().findOneOrFail(Team.entity, { id: red.id })
  t.match(await stored(), { memberIds: red.members.ids, restMs: 5000, story: null })
  const { id: _, ...body } = red
  t.equal(outcomeOf(await root('PUT', `${path}/${red.id}`, body)), '400 http.invalid-input', 'the version is needed')
  t.match((await root('PUT', `${path}/${red.id}`, { ...body, rest: 7, version: 1 })).data, { rest: 7, version: 2 })
  t.match(await stored(), { restMs: 7000, version: 2 })
  t.match((await root('POST', `${path}/${red.id}/rename`, {})).data, { label: 'renamed', members: red.members })
})

onDatabase(t, 'the condition of `rows` restricts each operation', async (t: Test, db) => {
  const { root, ben, cleo, red, blue } = await startTeams(t, db)
  const seen = async (call: typeof root, query = '') => {
    const { items, total } = (await call('GET', `${path}${query}`)).data
    return [items.map(({ label }: { label: string }) => label), total]
  }
  t.same(await seen(root), [['blue', 'red'], 2])
  t.same(await seen(ben), [['red'], 1])
  t.same(await seen(cleo), [['blue'], 1])
  const { id: _, ...body } = blue
  for (const [method, url, sent] of [
    ['GET', '', undefined],
    ['PUT', '', { ...body, version: 1 }],
    ['POST', '/rename', {}],
    ['DELETE', '', undefined],
  ] as const) {
    const foreign = await ben(method, `${path}/${blue.id}${url}`, sent)
    t.equal(outcomeOf(foreign), '404 acme-teams.not-found', `${method} ${url}`)
    t.same(foreign.message, 'No such team.')
  }
  t.match((await ben('GET', `${path}/${red.id}`)).data, { updatedBy: 'root' }, 'the rows are not those of the product')
  t.match((await cleo('GET', `${path}/${blue.id}`)).data, { label: 'blue', version: 1 })
})

onDatabase(t, 'the errors are those of the plugin', async (t: Test, db) => {
  const { root, red, blue } = await startTeams(t, db)
  const { id: _, ...body } = red
  const taken = await root('POST', path, body)
  t.same([outcomeOf(taken), taken.message], ['409 acme-teams.label-taken', 'The label red is in use.'])
  t.equal(taken.data.field, 'label')
  const stale = await root('PUT', `${path}/${blue.id}`, { ...body, version: 3 })
  t.same([outcomeOf(stale), stale.message], ['409 acme-teams.version-conflict', 'Too late.'])
  t.match(stale.data, { currentVersion: 1, updatedBy: 'root' })
})

onDatabase(t, 'parameters of the list have their own schema and condition', async (t: Test, db) => {
  const { root, ben } = await startTeams(t, db)
  const labels = async (call: typeof root, query: string) =>
    (await call('GET', `${path}?${query}`)).data.items.map(({ label }: { label: string }) => label)
  t.same(await labels(root, 'atLeast=6'), ['blue'])
  t.same(await labels(root, 'atLeast=1&keyword=RE'), ['red'], 'together with the others')
  t.same(await labels(ben, 'atLeast=6'), [], 'and with the data scope')
  for (const query of ['atLeast=0', 'keyword=toolong'])
    t.equal(outcomeOf(await root('GET', `${path}?${query}`)), '400 http.invalid-input', query)
})

onDatabase(t, 'a list does not read long texts that it does not show', async (t: Test, db) => {
  const { root, db: service } = await startTeams(t, db)
  const { statements } = watchStatements(service, 'acme_team')
  const { items } = (await root('GET', '/api/v1/acme/team-labels')).data
  t.same(
    items.map((item: object) => Object.keys(item)),
    [
      ['id', 'label'],
      ['id', 'label'],
    ],
  )
  const texts = [...statements.keys()]
  t.ok(texts.some((text) => text.includes('label')))
  t.notOk(texts.some((text) => text.includes('story')))
})

onDatabase(t, 'the store reads and removes several rows in the data scope', async (t: Test, db) => {
  const { running, root, ids, red, blue } = await startTeams(t, db)
  const services = {
    database: running.service(database),
    identity: running.service(identity),
    kernel: running.service(kernel),
  }
  const principal = await services.identity.principalOf(ids['ben'] ?? 0)
  if (principal === undefined) throw new Error('ben does not exist')
  const parts = { database: services.database, events: running.service(events) }
  const store = teams.store({ services, parts }, { principal, clientIp: '127.0.0.1', traceId: 'test' })
  const rows = await store.getAll([red.id, blue.id, 4711])
  t.same(
    rows.map(({ label }) => label),
    ['red'],
  )
  await root('POST', `${path}/${red.id}/rename`, {})
  t.equal(await store.removeAll(rows), 0, 'another user has changed the row')
  t.equal(await store.removeAll(await store.getAll([red.id, blue.id])), 1)
  assertMembers(t, (await root('GET', path)).data, { total: 1, items: [{ label: 'blue' }] })
  const { items } = (await root('GET', '/api/v1/admin/iam/audits?targetType=acme-team&size=1')).data
  assertMembers(t, items, [{ action: 'acme-team.delete', summary: { label: 'renamed' } }])
})

onDatabase(t, 'an operation replaces members of its route', async (t: Test, db) => {
  const { running, root, red } = await startTeams(t, db)
  const { post } = (await running.service(http).openapi()).paths[path] ?? {}
  t.match(post, { description: /^A team starts at once\./ })
  t.notMatch(JSON.stringify(post?.parameters ?? []), /Idempotency-Key/)
  const { id: _, ...body } = red
  const sent = (label: string) => root('POST', path, { ...body, label }, { 'idempotency-key': 'once' })
  const both = [await sent('one'), await sent('two')]
  t.same(
    both.map(({ data }) => data.label),
    ['one', 'two'],
  )
})
