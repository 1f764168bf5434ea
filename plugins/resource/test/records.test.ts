/** Tests the audit, the personal data and the retention of a resource. */
import { assertMembers } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { personalRecords } from '@plinth/iam'
import { declaredTasks } from '@plinth/kernel/host'
import t, { type Test } from 'tap'
import { path, startContacts } from './fixtures/product.ts'

const audits = '/api/v1/admin/iam/audits'

onDatabase(t, 'writes with a permission are audited', async (t: Test, db) => {
  const { root, ben, ids, createContact } = await startContacts(t, db)
  const contact = await createContact('ben', { about: 'private words', salary: 77777, tags: ['x'] })
  const url = `${path}/${contact.id}`
  await root(
    'PUT',
    url,
    { name: 'new', salary: 88888, about: 'other words', stage: 'lead' },
    { 'x-reason': 'asked%20for' },
  )
  await root('POST', `${url}/disable`, {})
  await root('POST', `${url}/move-stage`, { stage: 'client' })
  await root('DELETE', url)
  const answer = await root('GET', `${audits}?targetType=acme-contact&size=50`, undefined, { 'accept-language': 'en' })
  const entries = [...answer.data.items].reverse()
  t.same(
    entries.map(({ action }) => action),
    ['create', 'update', 'disable', 'move-stage', 'delete'].map((verb) => `acme-contact.${verb}`),
  )
  const [created, updated, disabled, moved, removed] = entries
  assertMembers(t, created, {
    targetId: contact.id,
    summary: { name: 'ben', ownerId: ids['ben'], tags: ['x'], about: '******', salary: '******' },
  })
  t.same(
    updated.summary,
    { name: 'new', nameBefore: 'ben', about: '******', salary: '******' },
    'only what has changed',
  )
  t.same(disabled.summary, { name: 'new', enabled: false, enabledBefore: true })
  t.match(moved.summary, { stage: 'client', stageBefore: 'lead' })
  t.same(removed.summary, { name: 'new' })
  t.strictSame(
    [disabled.actionName, moved.actionName, created.actionName],
    ['Contact: Disable', 'Contact: Move', 'Contact: Create'],
  )
  t.notMatch(answer.text, /private words|other words|77777|88888|prepared/, 'no value that is not audited')

  const before = (await root('GET', audits)).data.total
  await ben('POST', '/api/v1/acme/contacts', { ownerId: ids['ben'], name: 'x', code: 'X' })
  t.equal((await root('GET', audits)).data.total, before, 'own rows are not audited')
  const [owned] = (await ben('GET', '/api/v1/acme/contacts')).data.items
  await root('POST', '/api/v1/admin/acme/calls', { contactId: owned.id, minutes: 3 })
  const calls = (await root('GET', `${audits}?targetType=contact-call`)).data.items
  assertMembers(t, calls, [{ action: 'contact-call.create', summary: { minutes: 3, verb: 'create' } }])
  const [call] = (await root('GET', '/api/v1/admin/acme/calls')).data.items
  t.equal((await ben('POST', `/api/v1/acme/calls/${call.id}/reset`)).data.minutes, 0)
  t.equal((await root('GET', `${audits}?targetType=contact-call`)).data.total, 1, 'no entry for a row of the caller')
})

onDatabase(t, 'the data of a user is exported and erased', async (t: Test, db) => {
  const { running, root, ids, createContact, rows } = await startContacts(t, db)
  const contact = await createContact('ben')
  await createContact('cleo')
  await root('POST', '/api/v1/admin/acme/calls', { contactId: contact.id, minutes: 1 })
  const service = running.service(personalRecords)
  const actor = { name: 'test', clientIp: '', traceId: '', userAgent: '' }
  const user = ids['ben'] ?? 0
  const tables = (await service.summary(user, actor)).filter(({ plugin }) => plugin === 'acme.contacts')
  t.same(
    tables.map(({ table, erasure, rows }) => [table, erasure, rows]),
    [
      ['acme_contact', 'anonymised', 0],
      ['acme_contact', 'removed', 1],
      ['acme_contact_call', 'removed', 1],
      ['acme_board', 'anonymised', 0],
      ['acme_board', 'kept', 0],
      ['acme_badge', 'removed', 0],
      ['acme_topic', 'anonymised', 0],
      ['acme_team', 'anonymised', 0],
    ],
    'each table once, although two resources use it',
  )
  await service.erase(user, { actor, signal: new AbortController().signal })
  assertMembers(t, await rows(), [{ name: 'cleo' }])
})

onDatabase(t, 'old rows are purged after their retention', async (t: Test, db) => {
  const config = { 'platform.acme.contacts.retention': '10m' }
  const { running, clock, createContact, rows } = await startContacts(t, db, { config })
  const [task] = running.service(declaredTasks).scheduledTasks.filter(({ plugin }) => plugin === 'acme.contacts')
  const purge = () => task?.run(new AbortController().signal)
  t.match(task, { name: 'acme.contacts.purge', displayName: { en: 'Remove old contacts', 'zh-CN': '清理旧联系人' } })
  await createContact('ben', { name: 'old' })
  await clock.advance(600_000)
  await purge()
  t.equal((await rows()).length, 1, 'exactly at the limit')
  await createContact('ben', { name: 'fresh' })
  clock.shiftWallClock(1)
  await purge()
  assertMembers(t, await rows(), [{ name: 'fresh' }])
})

onDatabase(t, 'a retention of 0 keeps all rows', async (t: Test, db) => {
  const config = { 'platform.acme.contacts.retention': '0s' }
  const { running, clock, createContact, rows } = await startContacts(t, db, { config })
  const [task] = running.service(declaredTasks).scheduledTasks.filter(({ plugin }) => plugin === 'acme.contacts')
  await createContact('ben')
  clock.shiftWallClock(86_400_000 * 4000)
  await task?.run(new AbortController().signal)
  t.equal((await rows()).length, 1)
})
