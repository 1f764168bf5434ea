/** Tests the permissions and the data scope of each operation, with each kind of owner. */

import { assertMembers } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
import { outcomeOf, path, startContacts } from './fixtures/product.ts'

onDatabase(t, 'each operation reaches only rows in the data scope', async (t: Test, db) => {
  const { root, anna, ben, cleo, ids, createContact, rows } = await startContacts(t, db)
  const ofBen = await createContact('ben')
  const ofAnna = await createContact('anna')
  const ofCleo = await createContact('cleo')

  await t.test('the list', async (t) => {
    const seen = async (call: typeof root) =>
      (await call('GET', path)).data.items.map(({ id }: { id: number }) => id).sort()
    const all = [ofBen.id, ofAnna.id, ofCleo.id].sort()
    t.same(await seen(root), all)
    t.same(await seen(anna), [ofBen.id, ofAnna.id].sort())
    t.same(await seen(ben), [ofBen.id])
    t.same(await seen(cleo), [ofCleo.id])
    t.equal((await anna('GET', `${path}?ownerId=${ids['cleo']}`)).data.total, 0, 'a filter widens nothing')
    t.equal((await anna('GET', `${path}?keyword=cleo`)).data.total, 0)
    for (const filter of [`ownerId:in:${ids['cleo']}`, `id:gte:${ofCleo.id}`, `id:in:${ofCleo.id}`, 'name:in:cleo'])
      assertMembers(
        t,
        (await anna('GET', `${path}?filter=${filter}`)).data.items.filter(({ id }: { id: number }) => id === ofCleo.id),
        [],
      )
    for (const filter of ['hint:in:a', 'updatedBy:in:root', '__proto__:in:a'])
      t.equal(outcomeOf(await root('GET', `${path}?filter=${filter}`)), '400 http.invalid-input', `${filter} is hidden`)
  })

  await t.test('an unknown row and a row outside the data scope have the same response', async (t) => {
    const unknown = 4711
    const attempts = (id: number) =>
      [
        ['GET', `${path}/${id}`],
        ['PUT', `${path}/${id}`, { name: 'stolen' }],
        ['POST', `${path}/${id}/disable`, {}],
        ['POST', `${path}/${id}/move-stage`, { stage: 'client' }],
        ['DELETE', `${path}/${id}`],
      ] as const
    const expected = attempts(unknown)
    for (const [index, [method, url, body]] of attempts(ofCleo.id).entries()) {
      const foreign = await ben(method, url, body)
      const [, unknownUrl] = expected[index] ?? ['GET', '']
      const missing = await ben(method, unknownUrl, body)
      t.equal(outcomeOf(foreign), '404 acme-contacts.not-found', `${method} ${url}`)
      t.same(foreign.message, missing.message.replace(String(unknown), String(ofCleo.id)))
      t.same(foreign.data, missing.data)
    }
    assertMembers(t, await rows(), [
      { name: 'ben' },
      { name: 'anna' },
      { name: 'cleo', enabled: true, stage: 'lead', version: 1 },
    ])
  })

  await t.test('a batch skips foreign and unknown rows', async (t) => {
    const { id } = await createContact('cleo')
    const batch = [ofBen.id, id, 4711]
    t.same((await cleo('POST', `${path}/delete-batch`, { ids: batch })).data.affected, 1)
    t.same((await cleo('POST', `${path}/delete-batch`, { ids: [ofBen.id, ofAnna.id] })).data, {
      affected: 0,
      results: [ofBen, ofAnna].map(({ id }) => ({ id, outcome: 'unknown' })),
    })
    t.equal((await rows()).length, 3)
  })

  await t.test('a chosen owner must be in the data scope', async (t) => {
    const body = { ownerId: ids['cleo'], name: 'x', code: 'X' }
    const rejected = await anna('POST', path, body)
    t.equal(outcomeOf(rejected), '403 iam.out-of-scope')
    t.equal(rejected.data.field, 'ownerId')
    t.equal(outcomeOf(await anna('PUT', `${path}/${ofBen.id}`, { ownerId: ids['cleo'] })), '403 iam.out-of-scope')
    t.equal(outcomeOf(await root('POST', path, { ...body, ownerId: 4711 })), '403 iam.out-of-scope', 'no such user')
    t.equal((await rows()).length, 3)
    t.equal((await anna('PUT', `${path}/${ofBen.id}`, { ownerId: ids['anna'] })).code, '200')
    t.equal((await anna('PUT', `${path}/${ofBen.id}`, { ownerId: ids['ben'] })).code, '200')
  })

  await t.test('rows of users without a permission', async (t) => {
    const own = '/api/v1/acme/contacts'
    t.same(
      (await ben('GET', own)).data.items.map(({ id }: { id: number }) => id),
      [ofBen.id],
    )
    const [mine] = (await anna('GET', own)).data.items
    t.same(mine.id, ofAnna.id, 'the scope of an operator does not count')
    t.equal(outcomeOf(await root('GET', `${own}/${ofBen.id}`)), '404 acme-contacts.not-found')
    t.equal(outcomeOf(await root('DELETE', `${own}/${ofBen.id}`)), '404 acme-contacts.not-found')
    const foreign = { name: 'x', code: 'Y', ownerId: ids['ben'] }
    t.equal(outcomeOf(await root('POST', own, foreign)), '403 iam.out-of-scope', 'a row of another user')
    const { data } = await ben('POST', own, { name: 'x', code: 'Y', ownerId: ids['ben'] })
    t.same(Object.keys(data), ['id'])
    t.equal((await ben('PUT', `${own}/${data.id}`, { name: 'y' })).data.name, 'y')
    t.equal((await ben('DELETE', `${own}/${data.id}`)).code, '200')
  })
})

onDatabase(t, 'each kind of owner restricts rows', async (t: Test, db) => {
  const { root, anna, ben, cleo, ids, createContact } = await startContacts(t, db)
  const [ofBen, ofCleo] = [await createContact('ben'), await createContact('cleo')]
  const kinds = [
    {
      url: 'calls',
      mine: { contactId: ofBen.id, minutes: 1 },
      foreign: { contactId: ofCleo.id, minutes: 1 },
      reason: 'acme-calls.not-found',
    },
    { url: 'boards', mine: { userId: ids['ben'] }, foreign: { userId: ids['cleo'] }, reason: 'acme-boards.unknown' },
    {
      url: 'badges',
      mine: { ownerType: 'user', ownerId: String(ids['ben']), label: 'a' },
      foreign: { ownerType: 'user', ownerId: String(ids['cleo']), label: 'a' },
      reason: 'acme-badges.not-found',
    },
  ]
  for (const { url, mine, foreign, reason } of kinds) {
    await t.test(url, async (t) => {
      const list = `/api/v1/admin/acme/${url}`
      t.equal(outcomeOf(await ben('POST', list, foreign)), '403 iam.out-of-scope', 'a row for another user')
      const own = (await ben('POST', list, mine)).data
      const other = (await root('POST', list, foreign)).data
      t.same(
        (await ben('GET', list)).data.items.map(({ id }: { id: number }) => id),
        [own.id],
      )
      t.same(
        (await anna('GET', list)).data.items.map(({ id }: { id: number }) => id),
        [own.id],
      )
      t.same(
        (await cleo('GET', list)).data.items.map(({ id }: { id: number }) => id),
        [other.id],
      )
      t.equal((await root('GET', list)).data.total, 2)
      for (const [method, body] of [['GET'], ['PUT', {}], ['DELETE']] as const)
        t.equal(outcomeOf(await ben(method, `${list}/${other.id}`, body)), `404 ${reason}`, method)
      t.equal(outcomeOf(await ben('PUT', `${list}/${own.id}`, foreign)), '403 iam.out-of-scope', 'gives the row away')
      t.equal((await ben('GET', `${list}/${own.id}`)).code, '200', 'and keeps it')
      t.equal((await ben('DELETE', `${list}/${own.id}`)).code, '200')
    })
  }

  await t.test('rows of an organisation', async (t) => {
    const list = '/api/v1/admin/acme/boards'
    const shared = (await root('POST', list, { orgId: 1 })).data
    t.equal((await anna('GET', `${list}/${shared.id}`)).code, '200')
    t.equal(outcomeOf(await cleo('GET', `${list}/${shared.id}`)), '404 acme-boards.unknown')
    t.equal(outcomeOf(await ben('GET', `${list}/${shared.id}`)), '404 acme-boards.unknown', 'scope self')
    t.equal(outcomeOf(await ben('POST', list, {})), '403 iam.out-of-scope', 'a row of nobody')
    t.equal(outcomeOf(await anna('PUT', `${list}/${shared.id}`, { orgId: 2 })), '403 iam.out-of-scope')
  })
})

onDatabase(t, 'operations need their access', async (t: Test, db) => {
  const { root, dora, nobody, ben, createContact } = await startContacts(t, db)
  const { id } = await createContact('dora')
  const operations = [
    ['GET', path],
    ['GET', `${path}/${id}`],
    ['POST', path, {}],
    ['PUT', `${path}/${id}`, {}],
    ['POST', `${path}/${id}/disable`, {}],
    ['POST', `${path}/delete-batch`, { ids: [id] }],
    ['DELETE', `${path}/${id}`],
  ] as const
  for (const [method, url, body] of operations) {
    t.equal((await nobody(method, url, body)).code, '401', `${method} ${url}`)
    t.equal(outcomeOf(await dora(method, url, body)), '403 iam.permission-denied', `${method} ${url}`)
  }
  t.equal((await nobody('GET', '/api/v1/acme/contacts')).code, '401')
  t.equal((await dora('GET', '/api/v1/acme/contacts')).data.total, 1)
  t.equal((await root('DELETE', '/api/v1/admin/acme/topics/1')).code, '405', 'an operation that is not declared')
  const { data: topic } = await root('POST', '/api/v1/admin/acme/topics', { label: 'a' })
  t.equal(topic.updatedBy, 'root')
  const [shared] = (await ben('GET', '/api/v1/admin/acme/topics')).data.items
  t.equal(shared.updatedBy, null, 'rows of the product do not show operators outside the data scope')
  t.equal(outcomeOf(await ben('POST', '/api/v1/admin/acme/topics', { label: 'b' })), '403 iam.scope-all-required')
  t.same((await nobody('GET', '/api/v1/acme/by-hand')).data, true)
})
