/** Versions, unique values, and the order of a write: hooks, events, audit and idempotency in one transaction. */

import { assertMembers } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { events } from '@plinth/events'
import { BusinessError, definePlugin } from '@plinth/kernel'
import { auditTrail } from '@plinth/kernel/host'
import t, { type Test } from 'tap'
import contactsPlugin, { delivered, hooks } from './fixtures/contacts.ts'
import { outcomeOf, path, startContacts } from './fixtures/product.ts'

/** Sets the hooks for one test. */
function hooksFor(t: Test, wanted: typeof hooks): void {
  Object.assign(hooks, wanted)
  t.teardown(() => {
    for (const name of Object.keys(hooks) as (keyof typeof hooks)[]) delete hooks[name]
  })
}

onDatabase(t, 'a change is rejected after another change', async (t: Test, db) => {
  const { root, createContact } = await startContacts(t, db)
  const { id, updatedAt } = await createContact('ben')
  const url = `${path}/${id}`
  t.match((await root('PUT', url, { name: 'a', version: 1 })).data, { name: 'a', version: 2, stage: 'lead' })
  const attempts = [
    ['PUT', url, { name: 'b', version: 1 }],
    ['POST', `${url}/disable`, { version: 1 }],
    ['POST', `${url}/move-stage`, { stage: 'client', version: 1 }],
    ['DELETE', `${url}?version=1`],
  ] as const
  for (const [method, target, body] of attempts) {
    const rejected = await root(method, target, body)
    t.equal(outcomeOf(rejected), '409 acme-contacts.version-conflict', `${method} ${target}`)
    t.match(rejected.data, { currentVersion: 2, updatedBy: 'root', updatedAt })
  }
  t.equal((await root('PUT', url, { name: 'c' })).data.version, 3, 'without a version')
  const raced = await Promise.all(
    Array.from({ length: 6 }, (_, at) => root('PUT', url, { name: `n${at}`, version: 3 })),
  )
  t.equal(raced.filter(({ code }) => code === '200').length, 1, 'one of several changes at the same time wins')
  const outcomes = await Promise.all([root('PUT', url, { name: 'd', version: 4 }), root('DELETE', `${url}?version=4`)])
  t.equal(outcomes.filter(({ code }) => code === '200').length, 1, 'a change against a deletion')
})

onDatabase(t, 'a unique value that another row has is rejected with its reason', async (t: Test, db) => {
  const { root, ids, createContact, rows } = await startContacts(t, db)
  const first = await createContact('ben', { email: 'a@example.com', code: 'A' })
  const body = { ownerId: ids['ben'], name: 'x' }
  const byEmail = await root('POST', path, { ...body, code: 'B', email: 'a@example.com' })
  t.equal(outcomeOf(byEmail), '409 acme-contacts.email-taken')
  t.equal(byEmail.data.field, 'email')
  t.equal(byEmail.message, 'Another contact has the same value of "E-mail".')
  t.equal(outcomeOf(await root('POST', path, { ...body, code: 'A' })), '409 acme-contacts.code-taken')
  t.equal((await root('POST', path, { ...body, code: 'C', email: null })).code, '200')
  const { data: other } = await root('POST', path, { ...body, code: 'D', email: null })
  t.equal(other.email, null, 'null is not a value')
  t.equal(
    outcomeOf(await root('PUT', `${path}/${other.id}`, { email: 'a@example.com' })),
    '409 acme-contacts.email-taken',
  )
  t.equal((await root('PUT', `${path}/${first.id}`, { email: 'a@example.com' })).code, '200', 'its own value')
  const raced = await Promise.all(
    Array.from({ length: 5 }, () => root('POST', path, { ...body, code: 'E', email: 'e@example.com' })),
  )
  t.equal(raced.filter(({ code }) => code === '200').length, 1, raced.map(outcomeOf).join())
  for (const answer of raced.filter(({ code }) => code !== '200')) t.match(outcomeOf(answer), /^409 acme-contacts\./)
  t.equal((await rows()).length, 4)
})

onDatabase(t, 'a write, its hook, its event and its audit are one transaction', async (t: Test, db) => {
  const faults: { audit?: Error } = {}
  const trail = definePlugin({
    id: 'trail',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [auditTrail],
    setup: ({ contribute }) =>
      contribute(auditTrail, 'trail', {
        async record() {
          if (faults.audit) throw faults.audit
        },
      }),
  })
  const { running, root, ids, createContact, rows } = await startContacts(t, db, { plugins: [trail, contactsPlugin] })
  const audits = async () => (await root('GET', '/api/v1/admin/iam/audits?targetType=acme-contact')).data.total
  delivered.length = 0
  const contact = await createContact('ben')
  await running.service(events).idle()
  t.same(delivered.splice(0), [contact.id], 'the event is delivered')
  t.equal(await audits(), 1)
  const fail = () => {
    throw new BusinessError('422', 'refused', { reason: 'acme.refused' })
  }
  let committed = 0
  const afterCommit = () => {
    committed++
  }
  const cases: readonly (readonly [string, typeof hooks & { readonly audit?: Error }])[] = [
    ['prepare', { prepare: fail, afterCommit }],
    ['inTransaction', { inTransaction: fail, afterCommit }],
    ['audit', { audit: new Error('no space'), afterCommit }],
  ]
  for (const [name, { audit, ...wanted }] of cases) {
    await t.test(`an error in ${name}`, async (t) => {
      hooksFor(t, wanted)
      Object.assign(faults, { audit })
      const expected = audit === undefined ? '422 acme.refused' : '500'
      const outcomes = [
        await root('POST', path, { ownerId: ids['ben'], name: 'x', code: 'X' }),
        await root('PUT', `${path}/${contact.id}`, { name: 'x' }),
      ]
      for (const answer of outcomes) t.equal(outcomeOf(answer).slice(0, expected.length), expected)
      faults.audit = undefined as never
      delete faults.audit
      assertMembers(t, await rows(), [{ name: 'ben', version: 1 }])
      await running.service(events).idle()
      t.same(delivered, [], 'no event')
      t.equal(await audits(), 1, 'no entry')
      t.equal(committed, 0, 'no call after the commit')
    })
  }

  await t.test('hooks receive the input and the row before and after', async (t) => {
    const seen: object[] = []
    hooksFor(t, {
      prepare: ({ input, before }) => void seen.push({ hook: 'prepare', input, before: before?.name }),
      inTransaction: ({ row }) => void seen.push({ hook: 'inTransaction', name: row.name }),
      afterCommit: ({ row }) => void seen.push({ hook: 'afterCommit', name: row.name }),
    })
    t.equal((await root('PUT', `${path}/${contact.id}`, { name: 'after' })).code, '200')
    t.same(seen, [
      { hook: 'prepare', input: { name: 'after' }, before: 'ben' },
      { hook: 'inTransaction', name: 'after' },
      { hook: 'afterCommit', name: 'after' },
    ])
  })

  await t.test('columns that prepare returns are written, and only code sees them', async (t) => {
    const answer = await root('POST', path, { ownerId: ids['ben'], name: 'y', code: 'Y' })
    t.notOk(answer.text.includes('prepared'))
    t.equal((await rows()).at(-1)?.hint, 'prepared')
    t.equal(outcomeOf(await root('POST', path, { ownerId: ids['ben'], name: 'busy', code: 'Z' })), '409 acme.busy')
  })

  await t.test('a conflict repeats the hook, and afterCommit runs once', async (t) => {
    let tries = 0
    committed = 0
    hooksFor(t, {
      inTransaction: () => {
        if (++tries === 1) throw Object.assign(new Error('busy'), { code: 'SQLITE_BUSY' })
      },
      afterCommit,
    })
    t.equal((await root('PUT', `${path}/${contact.id}`, { name: 'again' })).code, '200')
    t.same([tries, committed], [2, 1])
    t.equal((await rows())[0]?.version, 3)
  })

  await t.test('an error after the commit is logged, and the write stays', async (t) => {
    hooksFor(t, { afterCommit: fail })
    t.equal((await root('PUT', `${path}/${contact.id}`, { name: 'kept' })).code, '200')
    t.equal((await rows())[0]?.name, 'kept')
  })
})

onDatabase(t, 'a repeated call with its key is executed once', async (t: Test, db) => {
  const { root, ids, rows } = await startContacts(t, db)
  const body = { ownerId: ids['ben'], name: 'once', code: 'O' }
  const key = { 'idempotency-key': 'create-1' }
  const first = await root('POST', path, body, key)
  const second = await root('POST', path, body, key)
  t.equal(second.text, first.text)
  t.equal(second.headers['idempotency-replayed'], 'true')
  t.equal((await rows()).length, 1)
  t.equal(outcomeOf(await root('POST', path, { ...body, name: 'other' }, key)), '422 idempotency.key-reused')
  const failed = { 'idempotency-key': 'create-2' }
  t.equal(outcomeOf(await root('POST', path, body, failed)), '409 acme-contacts.code-taken')
  t.equal(
    (await root('POST', path, { ...body, code: 'P' }, failed)).code,
    '200',
    'a failed call does not use up its key',
  )
  const moved = { 'idempotency-key': 'move-1' }
  const target = `${path}/${first.data.id}/move-stage`
  const twice = [
    await root('POST', target, { stage: 'client' }, moved),
    await root('POST', target, { stage: 'client' }, moved),
  ]
  t.equal(twice[1]?.text, twice[0]?.text)
  t.equal(twice[0]?.data.version, 2)
  const batch = { 'idempotency-key': 'batch-1' }
  t.same((await root('POST', `${path}/delete-batch`, { ids: [4711] }, batch)).data.affected, 0)
})

onDatabase(t, 'actions and batches', async (t: Test, db) => {
  const { root, createContact, rows } = await startContacts(t, db)
  const [one, two] = [await createContact('ben'), await createContact('ben')]
  t.match((await root('POST', `${path}/${one.id}/move-stage`, { stage: 'client', note: 'signed' })).data, {
    stage: 'client',
    about: 'signed',
    version: 2,
    updatedBy: 'root',
  })
  t.equal(outcomeOf(await root('POST', `${path}/${one.id}/move-stage`, { stage: 'client' })), '409 acme.busy')
  t.equal(outcomeOf(await root('POST', `${path}/${one.id}/move-stage`, { stage: 'nope' })), '400 http.invalid-input')
  for (const { id } of [one, two]) t.equal((await root('POST', `${path}/${id}/disable`, {})).code, '200')
  t.same(
    (await rows()).map(({ enabled, version }) => [enabled, version]),
    [
      [false, 3],
      [false, 2],
    ],
  )
  for (const ids of [[], [one.id, one.id], Array.from({ length: 201 }, (_, at) => at + 1), ['a']])
    t.equal((await root('POST', `${path}/delete-batch`, { ids })).code, '400', JSON.stringify(ids).slice(0, 20))

  await t.test('an error in a batch changes nothing', async (t) => {
    hooksFor(t, {
      inTransaction: ({ row }) => {
        if (row.name === 'last') throw new BusinessError('422', 'refused', { reason: 'acme.refused' })
      },
    })
    t.equal((await root('PUT', `${path}/${two.id}`, { name: 'kept' })).code, '200')
    const { id } = await createContact('ben', { name: 'last' }).catch(() => ({ id: 0 }))
    t.equal(id, 0)
    delete hooks.inTransaction
    const last = await createContact('ben', { name: 'last' })
    hooks.inTransaction = ({ row }) => {
      if (row.name === 'last') throw new BusinessError('422', 'refused', { reason: 'acme.refused' })
    }
    t.equal(
      outcomeOf(await root('POST', `${path}/delete-batch`, { ids: [one.id, two.id, last.id] })),
      '422 acme.refused',
    )
    t.equal((await rows()).length, 3)
    delete hooks.inTransaction
    t.same((await root('POST', `${path}/delete-batch`, { ids: [one.id, 4711, two.id, last.id] })).data, {
      affected: 3,
      results: [one.id, 4711, two.id, last.id].map((id) => ({ id, outcome: id === 4711 ? 'unknown' : 'done' })),
    })
    t.equal((await rows()).length, 0)
  })
})

onDatabase(t, 'unknown members and columns that only code sets are rejected', async (t: Test, db) => {
  const { root, ids, createContact, rows } = await startContacts(t, db)
  const { id } = await createContact('ben')
  const body = { ownerId: ids['ben'], name: 'x', code: 'X' }
  const wrong: readonly object[] = [
    { name: 'x', code: 'X' },
    { ...body, nope: 1 },
    { ...body, hint: 'x' },
    { ...body, version: 7 },
    { ...body, name: '\ud800' },
    { ...body, salary: -1 },
    { ...body, salary: 2 ** 31 },
    { ...body, ownerId: 2 ** 53 },
    { ...body, meetsAt: '9999-12-31T23:59:59Z' },
    { ...body, tags: ['x', 'y', 'z', 'w'] },
    { ...body, stage: null },
  ]
  for (const input of wrong)
    t.equal(outcomeOf(await root('POST', path, input)), '400 http.invalid-input', JSON.stringify(input))
  for (const input of [{ code: 'Y' }, { hint: 'x' }, { name: null }])
    t.equal(outcomeOf(await root('PUT', `${path}/${id}`, input)), '400 http.invalid-input', JSON.stringify(input))
  t.equal((await rows()).length, 1)
  const filled = { about: 'a\nb', salary: 2 ** 31 - 1, meetsAt: '2030-01-01T00:00:00.000Z', tags: ['漢'], email: 'x' }
  const { data } = await root('POST', path, { ...body, ...filled })
  t.match(data, { ...filled, stage: 'lead', enabled: true, length: 1 })
  t.match((await root('GET', `${path}/${data.id}`)).data, data, 'the response shows what is stored')
  const emptied = { about: null, salary: null, meetsAt: null, email: null }
  assertMembers(t, (await root('PUT', `${path}/${data.id}`, emptied)).data, { ...emptied, tags: ['漢'], name: 'x' })
})

onDatabase(t, 'a row that changes between its reading and its writing is not written', async (t: Test, db) => {
  const { root, db: service, createContact, rows } = await startContacts(t, db)
  const { id } = await createContact('ben')
  hooksFor(t, {
    prepare: () => service.execute(`update acme_contact set name = 'other', version = version + 1 where id = ?`, [id]),
  })
  const rejected = await root('PUT', `${path}/${id}`, { name: 'lost' })
  t.equal(outcomeOf(rejected), '409 acme-contacts.version-conflict')
  t.equal(rejected.data.currentVersion, 2)
  assertMembers(t, await rows(), [{ name: 'other', version: 2 }])
})

onDatabase(t, 'a row that changes its owner meanwhile is not written', async (t: Test, db) => {
  const { anna, root, db: service, createContact } = await startContacts(t, db)
  const [ofBen, ofCleo] = [await createContact('ben'), await createContact('cleo')]
  const calls = '/api/v1/admin/acme/calls'
  const { data } = await root('POST', calls, { contactId: ofBen.id, minutes: 1 })
  hooksFor(t, {
    beforeCall: () => service.execute('update acme_contact_call set contact_id = ? where id = ?', [ofCleo.id, data.id]),
  })
  t.equal(outcomeOf(await anna('PUT', `${calls}/${data.id}`, { minutes: 9 })), '404 acme-calls.not-found')
  assertMembers(t, (await root('GET', calls)).data.items, [{ contactId: ofCleo.id, minutes: 1 }])
})
