/** The entity of a table is the one that an author would write by hand. */
import { defineEntity, type EntityMetadata } from '@mikro-orm/core'
import databasePlugin, { column, createEditColumns } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import { onEachDatabase, runMigrateDraft } from '@plinth/dev/testing/database'
import { definePlugin, defineProduct } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'
import { c, table } from '@plinth/table'
import t from 'tap'
import { Type } from 'typebox'

const title = { one: ['Thing', '物品'], many: ['Things', '物品'] } as const
const Thing = table(
  'acme_app_thing',
  {
    id: c.id(),
    appKey: c.text(32).fixed(),
    ownerUserId: c.user().nullable(),
    description: c.longText(500).nullable(),
    scopes: c.json(Type.Array(Type.String())),
    limit: c.integer({ min: 0 }).nullable(),
    bytes: c.bigint().databaseDefault(5).view(Type.Integer()),
    price: c.amount({ in: 'currency' }),
    currency: c.text(8),
    status: c.choice({ active: ['Active', '启用'], off: ['Off', '停用'] }).default('active'),
    isNew: c.flag().default(true),
    validUntil: c.time().nullable(),
    ...c.edits(),
  },
  {
    title,
    owner: 'ownerUserId',
    erasure: 'removed',
    uniques: [{ columns: ['appKey'], reason: 'taken' }],
    indexes: [['ownerUserId', 'id'], ['status']],
  },
)

const byHand = defineEntity({
  name: 'AcmeAppThing',
  tableName: 'acme_app_thing',
  uniques: [{ properties: ['appKey'] }],
  indexes: [{ properties: ['ownerUserId', 'id'] }, { properties: ['status'] }],
  properties: {
    id: column.primaryKey(),
    appKey: column.text(32),
    ownerUserId: column.id().nullable(),
    description: column.longText().nullable(),
    scopes: column.json<string[]>(),
    limit: column.integer().nullable(),
    bytes: column.bigint().default(5),
    price: column.bigint(),
    currency: column.text(8),
    status: column.text(16),
    isNew: column.boolean(),
    validUntil: column.timestamp().nullable(),
    ...createEditColumns(),
  },
})

const createThing = defineChangeSet({
  id: '0001-create-thing',
  up: ({ schema, type }) => [
    schema
      .createTable('acme_app_thing')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('app_key', type.text(32), (c) => c.notNull())
      .addColumn('owner_user_id', type.id)
      .addColumn('description', type.longText)
      .addColumn('scopes', type.json, (c) => c.notNull())
      .addColumn('limit', type.integer)
      .addColumn('bytes', type.bigint, (c) => c.notNull().defaultTo(5))
      .addColumn('price', type.bigint, (c) => c.notNull())
      .addColumn('currency', type.text(8), (c) => c.notNull())
      .addColumn('status', type.text(16), (c) => c.notNull())
      .addColumn('is_new', type.boolean, (c) => c.notNull())
      .addColumn('valid_until', type.timestamp)
      .addColumn('version', type.integer, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_at', type.timestamp, (c) => c.notNull())
      .addColumn('updated_by', type.text(128)),
    schema.createIndex('acme_app_thing_app_key_unique').on('acme_app_thing').column('app_key').unique(),
    schema.createIndex('acme_app_thing_owner_user_id_id_index').on('acme_app_thing').columns(['owner_user_id', 'id']),
    schema.createIndex('acme_app_thing_status_index').on('acme_app_thing').column('status'),
  ],
})

/** Returns the metadata of an entity, without functions and objects that differ between equal entities. */
function metadataOf(entity: object) {
  const { className, tableName, uniques, indexes, properties }: EntityMetadata = Object(entity).init().meta
  const columns = Object.values(properties).map(({ name, type, length, nullable, primary, customType, ...rest }) => ({
    name,
    type: typeof type === 'function' ? String(type) : type,
    length,
    nullable,
    primary,
    customType: customType?.constructor.name,
    autoincrement: rest.autoincrement,
    unsigned: rest.unsigned,
    default: rest.default,
    kind: rest.kind,
    runtimeType: rest.runtimeType,
  }))
  return { className, tableName, uniques, indexes, columns }
}

t.test('the metadata is that of the entity by hand', async (t) => {
  t.same(metadataOf(Thing.entity), metadataOf(byHand))
  t.equal(metadataOf(Thing.entity).columns.length, 16)
})

t.test('a name of the entity replaces the one from the table', async (t) => {
  const Named = table('acme_named', { id: c.id() }, { title, owner: 'none', entity: 'OtherName' })
  t.equal(metadataOf(Named.entity).className, 'OtherName')
})

onEachDatabase(t, 'a migrated database needs no further change set', async (t, db) => {
  const plugin = definePlugin({
    id: 'acme',
    version: '1.0.0',
    kernel: '^1.0.0',
    entities: [Thing.entity],
    migrations: [createThing],
  })
  const product = defineProduct({ name: 'test', plugins: [databasePlugin, plugin], config: db.config })
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  t.hasStrict(await runMigrateDraft(running), { exitCode: 0, text: 'The database agrees with the entities.' })
})
