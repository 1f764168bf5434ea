/** Rows of users in a table: export and erasure by the kind of owner. */
import databasePlugin, { type Database, database, insertRow } from '@plinth/database'
import { assertMembers, startForTest } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { definePlugin, defineProduct, type PersonalTable } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'
import { c, table } from '@plinth/table'
import t, { type Test } from 'tap'

const title = { one: ['Thing', '物品'], many: ['Things', '物品'] } as const
const Account = table(
  'acme_account',
  { id: c.id(), ownerType: c.text(8), ownerId: c.text(20), userId: c.user().nullable(), orgId: c.user().nullable() },
  { title, owner: { type: 'ownerType', id: 'ownerId' }, erasure: { kept: ['Bookkeeping.', '记账。'] } },
)
const Entry = table(
  'acme_entry',
  { id: c.id(), accountId: c.reference(Account), note: c.text(20).nullable() },
  {
    title,
    owner: { column: 'accountId', through: Account },
    erasure: { anonymised: { note: null }, reason: ['Sums stay.', '合计保留。'] },
  },
)
const Note = table(
  'acme_note',
  { id: c.id(), ownerId: c.user().nullable(), body: c.text(20), hidden: c.text(20), ...c.edits() },
  { title, owner: 'ownerId', erasure: 'removed', unexported: ['hidden'], personalTitle: ['Own things', '自己的物品'] },
)
const Shared = table('acme_shared', { id: c.id(), body: c.text(20), ...c.edits() }, { title, owner: 'none' })

const createTables = defineChangeSet({
  id: '0001-create-tables',
  up: ({ schema, type }) => [
    schema
      .createTable('acme_account')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('owner_type', type.text(8), (c) => c.notNull())
      .addColumn('owner_id', type.text(20), (c) => c.notNull())
      .addColumn('user_id', type.id)
      .addColumn('org_id', type.id),
    schema
      .createTable('acme_entry')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('account_id', type.id, (c) => c.notNull())
      .addColumn('note', type.text(20)),
    schema
      .createTable('acme_note')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('owner_id', type.id)
      .addColumn('body', type.text(20), (c) => c.notNull())
      .addColumn('hidden', type.text(20), (c) => c.notNull())
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_by', type.text(128)),
    schema
      .createTable('acme_shared')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('body', type.text(20), (c) => c.notNull())
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_by', type.text(128)),
  ],
})

const anna = { userId: 11, username: 'anna' }
const edits = (updatedBy: string | null) => ({ version: 1, createdAt: new Date(0), updatedAt: new Date(0), updatedBy })

async function start(t: Test, config: object) {
  const plugin = definePlugin({
    id: 'acme',
    version: '1.0.0',
    kernel: '^1.0.0',
    entities: [Account.entity, Entry.entity, Note.entity, Shared.entity],
    migrations: [createTables],
  })
  const running = await startForTest(
    defineProduct({ name: 'test', plugins: [databasePlugin, plugin], config: { ...config } }),
  )
  t.teardown(() => running.stop('test ended'))
  const db = running.service(database)
  for (const id of [1, 2]) {
    const ownerId = String(id === 1 ? anna.userId : 99)
    await insertRow(db, Account.entity, { id, ownerType: 'user', ownerId, userId: null, orgId: null })
    await insertRow(db, Entry.entity, { id, accountId: id, note: 'private' })
  }
  await insertRow(db, Note.entity, { id: 1, ownerId: anna.userId, body: 'own', hidden: 'x', ...edits('ben') })
  await insertRow(db, Note.entity, { id: 2, ownerId: 99, body: 'edited', hidden: 'x', ...edits('anna') })
  await insertRow(db, Shared.entity, { id: 1, body: 'edited', ...edits('anna') })
  return db
}

async function exported({ read }: PersonalTable): Promise<readonly object[]> {
  const rows: object[] = []
  for await (const row of read(anna)) rows.push(row)
  return rows
}
const erase = ({ erase }: PersonalTable) => erase(anna, new AbortController().signal)
const only = (tables: readonly PersonalTable[], index = 0) => tables[index] as PersonalTable
const all = (db: Database, entity: typeof Note.entity) => db.fork().find(entity, {}, { orderBy: { id: 'asc' } })

onDatabase(t, 'rows of a user are exported and erased', async (t: Test, db) => {
  const service = await start(t, db.config)

  await t.test('kept, by type and id', async (t) => {
    const [accounts] = Account.personalTables(service)
    t.match(accounts, {
      table: 'acme_account',
      erasure: 'kept',
      reason: { en: 'Bookkeeping.' },
      title: { en: 'Things of the user' },
    })
    assertMembers(t, await exported(only(Account.personalTables(service))), [{ id: 1, ownerId: '11' }])
    t.equal(await erase(only(Account.personalTables(service))), 0)
  })

  await t.test('anonymised, through another table', async (t) => {
    const entries = only(Entry.personalTables(service))
    t.same(await exported(entries), [{ id: 1, accountId: 1, note: 'private' }])
    t.equal(await erase(entries), 1)
    const rows = await service.fork().find(Entry.entity, {}, { orderBy: { id: 'asc' } })
    t.same(
      rows.map(({ note }) => note),
      [null, 'private'],
    )
  })

  await t.test('removed, and the name of the last editor', async (t) => {
    const [edited, owned] = [only(Note.personalTables(service), 0), only(Note.personalTables(service), 1)]
    t.match(edited.title, { en: 'Things that the user changed last', 'zh-CN': '用户最后修改的物品' })
    t.match(owned.title, { en: 'Own things', 'zh-CN': '自己的物品' })
    const [row] = await exported(owned)
    t.match(row, { id: 1, body: 'own' })
    t.notOk(Object.hasOwn(Object(row), 'hidden'), 'a column that is not exported')
    t.notOk(Object.hasOwn(Object(row), 'updatedBy'), 'the name of another user')
    const [other] = await exported(edited)
    t.match(other, { id: 2, updatedBy: 'anna' })
    t.notOk(Object.hasOwn(Object(other), 'ownerId'), 'the id of another user')
    t.equal(await erase(edited), 1)
    t.equal(await erase(owned), 1)
    const left = await all(service, Note.entity)
    assertMembers(t, left, [{ id: 2, ownerId: 99, updatedBy: null }])
  })

  await t.test('a table without an owner has only the name of its last editor', async (t) => {
    const tables = Shared.personalTables(service)
    t.equal(tables.length, 1)
    t.equal(await erase(only(tables)), 1)
    assertMembers(t, await service.fork().find(Shared.entity, {}), [{ id: 1, updatedBy: null }])
  })
})

t.test('an owner through a table without an owner is rejected', async (t) => {
  t.throws(
    () =>
      table(
        'acme_x',
        { id: c.id(), sharedId: c.reference(Shared) },
        {
          title,
          owner: { column: 'sharedId', through: Shared },
          erasure: 'removed',
        },
      ),
    /acme_x: the rows of acme_shared have no owner/,
  )
})
