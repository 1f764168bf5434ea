/** Tests `plinth migrate draft`, which writes the change set from the migrated database to the entities. */
import { defineEntity } from '@mikro-orm/core'
import { column, database } from '@plinth/database'
import { assertMembers, startForTest } from '@plinth/dev/testing'
import { runMigrateDraft } from '@plinth/dev/testing/database'
import { definePlugin, type Plugin } from '@plinth/kernel'
import { type ChangeSet, defineChangeSet, type SchemaContext, type Statement } from '@plinth/migrations'
import t from 'tap'
import { onEachDatabase, productOn, type TestDatabase } from './fixtures/databases.ts'

const id = column.primaryKey()

const first = {
  name: 'Draft',
  tableName: 'draft',
  properties: { id, code: column.text(64), gone: column.integer().nullable() },
} as const
const Before = defineEntity({ ...first, indexes: [{ properties: ['gone'] }] })
const After = defineEntity({
  name: 'Draft',
  tableName: 'draft',
  uniques: [{ properties: ['code'] }],
  indexes: [{ properties: ['payer', 'total'] }],
  properties: {
    id,
    code: column.text(64),
    payer: column.text(128).nullable(),
    total: column.bigint().default(0),
    note: column.longText(),
    at: column.timestamp().nullable(),
  },
})
const Link = defineEntity({
  name: 'DraftLink',
  tableName: 'draft_link',
  indexes: [{ properties: ['weight'] }],
  properties: {
    draftId: column.id().primary().autoincrement(false).unsigned(false),
    kind: column.text(16).primary(),
    weight: column.integer().default(1),
    isOpen: column.boolean(),
    facts: column.json<object>().nullable(),
    picture: column.binary().nullable(),
  },
})

const createDraft = defineChangeSet({
  id: '0001-create-draft',
  up: ({ schema, type }) => [
    schema
      .createTable('draft')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('code', type.text(64), (c) => c.notNull())
      .addColumn('gone', type.integer),
    schema.createIndex('draft_index_of_another_name').on('draft').column('gone'),
  ],
})

const plugin = (entities: readonly object[], migrations: readonly ChangeSet[]) =>
  definePlugin({ id: 'drafted', version: '1.0.0', kernel: '^1.0.0', entities, migrations })

async function draftOn(db: TestDatabase, drafted: Plugin, { migrates = false } = {}) {
  const running = await startForTest(productOn(db, drafted), { roles: ['cli'] })
  try {
    if (migrates) await running.service(database).migrate()
    return await runMigrateDraft(running)
  } finally {
    await running.stop('drafted')
  }
}

const expected = `// drafted: migrations/0002-change-tables.ts
import { defineChangeSet } from '@plinth/migrations'

export const changeTables = defineChangeSet({
  id: '0002-change-tables',
  up: ({ schema, type }) => [
    schema.alterTable('draft').addColumn('payer', type.text(128)),
    schema.alterTable('draft').addColumn('total', type.bigint, (c) => c.notNull().defaultTo(0)),
    schema.alterTable('draft').addColumn('note', type.longText, (c) => c.notNull()), // needs .defaultTo(...) for the rows that exist
    schema.alterTable('draft').addColumn('at', type.timestamp),
    schema.createIndex('draft_payer_total_index').on('draft').columns(['payer', 'total']),
    schema.createIndex('draft_code_unique').unique().on('draft').column('code'),
    // draft.gone has no property. Drop it in a later version, with \`breaking\`.
    // No entity declares the index draft_index_of_another_name.
    schema.createTable('draft_link')
      .addColumn('draft_id', type.id, (c) => c.notNull())
      .addColumn('kind', type.text(16), (c) => c.notNull())
      .addColumn('weight', type.integer, (c) => c.notNull().defaultTo(1))
      .addColumn('is_open', type.boolean, (c) => c.notNull())
      .addColumn('facts', type.json)
      .addColumn('picture', type.binary)
      .addPrimaryKeyConstraint('draft_link_pkey', ['draft_id', 'kind']),
    schema.createIndex('draft_link_weight_index').on('draft_link').column('weight'),
  ],
})`

/** Evaluates the statements of a draft. Where a column needs a default, an empty text is inserted. */
function statementsOf(text: string): (context: SchemaContext) => readonly Statement[] {
  const [, list = ''] = /up: \(\{ schema, type \}\) => (\[[\s\S]*\]),\n\}\)$/.exec(text) ?? []
  const filled = list.replace(/\.notNull\(\)\), \/\/ needs.*/, ".notNull().defaultTo('')),")
  const evaluate = new Function('{ schema, type }', `return ${filled}`)
  return (context) => evaluate(context)
}

onEachDatabase(t, 'plinth migrate draft prints the missing tables, columns and indexes', async (t, db) => {
  const pending = await draftOn(db, plugin([Before], [createDraft]))
  t.equal(pending.exitCode, 1, 'the tables of pending change sets would be drafted again')
  assertMembers(t, pending.value, { drafts: [] })
  const same = await draftOn(db, plugin([Before], [createDraft]), { migrates: true })
  t.same(same, { exitCode: 0, value: { pending: [], drafts: [] }, text: 'The database agrees with the entities.' })
  const drafted = await draftOn(db, plugin([After, Link], [createDraft]))
  t.equal(drafted.exitCode, 0)
  t.equal(drafted.text, expected)

  if (db.dialect === 'mariadb') return
  const corrected = defineChangeSet({ id: '0002-change-tables', up: statementsOf(drafted.text) })
  const applied = await draftOn(db, plugin([After, Link], [createDraft, corrected]), { migrates: true })
  t.notMatch(applied.text, /addColumn|createTable|createIndex/, 'what was drafted makes the difference go away')
})
