/** Creating several rows at once: the checks of each row, nothing half done, data scope, audit and idempotency. */

import { onDatabase } from '@plinth/dev/testing/database'
import { BusinessError } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { hooks } from './fixtures/contacts.ts'
import { outcomeOf, path, startContacts } from './fixtures/product.ts'

const url = `${path}/import`
const problemsOf = (data: {
  problems: { row: number; reason: string | null; errors: { field: string; rule: string }[] }[]
}) => data.problems.map(({ row, reason, errors }) => [row, errors[0]?.rule ?? reason, errors[0]?.field])

onDatabase(t, 'each row is checked as the creation of one row checks it', async (t: Test, db) => {
  const { root, ids, createContact, rows } = await startContacts(t, db)
  await createContact('ben', { code: 'USED', email: 'used@example.com' })
  const row = { ownerId: ids['ben'], name: 'x' }
  const body = {
    rows: [
      { ...row, code: 'A' },
      { ...row, code: 'B', name: '' },
      { ...row, code: 'C', ownerId: 4711 },
      { ...row, code: 'D', email: 'used@example.com' },
      { ...row, code: 'A' },
      { ...row, code: 'E', name: 'busy' },
      { ...row, code: 'F', nope: 1 },
      { ...row, code: 'G', email: 'own@example.com', meetsAt: '2026-01-02T03:04:05Z' },
    ],
  }
  const wrong = [
    [1, 'minLength', 'name'],
    [2, 'iam.out-of-scope', 'ownerId'],
    [3, 'acme-contacts.email-taken', 'email'],
    [4, 'acme-contacts.code-taken', 'code'],
    [5, 'acme.busy', undefined],
    [6, 'additionalProperties', 'nope'],
  ]
  const checked = await root('POST', url, { ...body, mode: 'check' }, { 'accept-language': 'zh-CN' })
  t.hasStrict(checked.data, { outcome: 'checked', valid: 2, created: 0 })
  t.same(problemsOf(checked.data), wrong)
  t.equal(checked.data.problems[3].message, '另一个联系人的“编号”与此相同。')
  const rejected = await root('POST', url, body)
  t.hasStrict(rejected.data, { outcome: 'rejected', created: 0 }, 'by default, all or none')
  t.same(problemsOf(rejected.data), wrong)
  t.equal((await rows()).length, 1)
  const { data } = await root('POST', url, { ...body, mode: 'valid' })
  t.hasStrict(data, { outcome: 'imported', valid: 2, created: 2 })
  t.same((await rows()).map(({ code, hint }) => [code, hint]).slice(1), [
    ['A', 'prepared'],
    ['G', 'prepared'],
  ])
  t.equal((await rows())[2]?.meetsAt?.toISOString(), '2026-01-02T03:04:05.000Z')
  for (const faulty of [{ rows: [] }, { rows: Array(1_001).fill({}) }, { rows: [1] }, { rows: [{}], mode: 'some' }])
    t.equal(outcomeOf(await root('POST', url, faulty)), '400 http.invalid-input')
})

onDatabase(t, 'rows with many errors give other requests a turn, and list some of the errors', async (t: Test, db) => {
  const { root } = await startContacts(t, db)
  const row = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`unknown${at}`, 1]))
  let turns = 0
  const timer = setInterval(() => turns++)
  const { data } = await root('POST', url, { rows: Array(400).fill(row), mode: 'check' })
  clearInterval(timer)
  t.equal(data.problems.length, 400)
  t.equal(data.problems[0].errors.length, 20)
  t.ok(data.problems[0].message.length < 1_000)
  t.ok(turns >= 20, `${turns} turns`)
})

onDatabase(t, 'an error in the transaction leaves no row, and names its own', async (t: Test, db) => {
  const { root, ids, rows } = await startContacts(t, db)
  t.teardown(() => delete hooks.inTransaction)
  hooks.inTransaction = ({ row }) => {
    if (row.name === 'last') throw new BusinessError('422', 'refused', { reason: 'acme.refused' })
  }
  const many = Array.from({ length: 120 }, (_, at) => ({ ownerId: ids['ben'], name: 'x', code: `R${at}` }))
  const body = { rows: [...many, { ownerId: ids['ben'], name: 'last', code: 'Z' }], mode: 'valid' }
  const { data } = await root('POST', url, body)
  t.hasStrict(data, { outcome: 'rejected', valid: 120, created: 0 })
  t.same(problemsOf(data), [[120, 'acme.refused', undefined]])
  t.equal((await rows()).length, 0)
  hooks.inTransaction = () => {
    throw new Error('broken')
  }
  t.equal((await root('POST', url, body)).code, '500', 'an unexpected error is not the fault of a row')
  t.equal((await rows()).length, 0)
  delete hooks.inTransaction
  const key = { 'idempotency-key': 'once' }
  const twice = [await root('POST', url, body, key), await root('POST', url, body, key)]
  t.equal(twice[1]?.text, twice[0]?.text)
  t.equal((await rows()).length, 121, 'a repeated call creates nothing')
  const audits = await root('GET', '/api/v1/admin/iam/audits?targetType=acme-contact')
  t.equal(audits.data.total, 121, 'one audit entry for each created row, and none for those that were rolled back')
})

onDatabase(t, 'two imports of the same rows at the same time create them once', async (t: Test, db) => {
  const { root, ids, rows } = await startContacts(t, db)
  const body = { rows: Array.from({ length: 30 }, (_, at) => ({ ownerId: ids['ben'], name: 'x', code: `R${at}` })) }
  const both = await Promise.all([root('POST', url, body), root('POST', url, body)])
  t.same(both.map(({ data }) => data?.outcome).sort(), ['imported', 'rejected'])
  t.equal((await rows()).length, 30)
})

onDatabase(t, 'the permission and the data scope of the creation apply', async (t: Test, db) => {
  const { anna, ben, dora, nobody, ids, rows } = await startContacts(t, db)
  const body = {
    rows: ['anna', 'ben', 'cleo'].map((name) => ({ ownerId: ids[name], name, code: name })),
    mode: 'valid',
  }
  t.equal((await nobody('POST', url, body)).code, '401')
  t.equal((await dora('POST', url, body)).code, '403')
  t.same(problemsOf((await ben('POST', url, { ...body, mode: 'check' })).data), [
    [0, 'iam.out-of-scope', 'ownerId'],
    [2, 'iam.out-of-scope', 'ownerId'],
  ])
  t.match((await anna('POST', url, body)).data, { created: 2 })
  t.same(
    (await rows()).map(({ name }) => name),
    ['anna', 'ben'],
  )
})
