import { database } from '@plinth/database'
import { assertMembers, rejectsWith, startForTest } from '@plinth/dev/testing'
import { type CommandInvocation, definePlugin } from '@plinth/kernel'
import type { StartOptions } from '@plinth/kernel/host'
import { type ChangeSet, defineChangeSet, type WayBackPlan } from '@plinth/migrations'
import t from 'tap'
import type { DatabaseService } from '../src/database-service.ts'
import { onEachDatabase, productOn, type TestDatabase } from './fixtures/databases.ts'

const createEntry = (name: string) =>
  defineChangeSet({
    id: '0001-create-entry',
    up: ({ schema, type }) => [
      schema
        .createTable('voucher_entry')
        .addColumn('id', type.id, (c) => c.primaryKey())
        .addColumn(name, type.text(80), (c) => c.notNull().defaultTo('')),
      schema.createIndex('voucher_entry_name').on('voucher_entry').column(name),
    ],
  })
const addNote = (length: number) =>
  defineChangeSet({
    id: '0002-add-note',
    up: ({ schema, type }) => [
      schema.alterTable('voucher_entry').addColumn('note', type.text(length)),
      schema.createIndex('voucher_entry_note').unique().on('voucher_entry').column('note'),
    ],
  })

interface Printed {
  readonly value: WayBackPlan & { readonly isDone: boolean }
  readonly text: string
}

/** A product that runs with these change sets. */
interface VoucherProduct {
  readonly db: DatabaseService
  /** Runs `plinth migrate back`. */
  back(changeSet: string, options?: CommandInvocation['options']): Promise<Printed>
}

/** Starts the product as `plinth dev` does, and stops it after the work. */
async function withProduct(
  db: TestDatabase,
  changeSets: readonly ChangeSet[],
  work: (product: VoucherProduct) => Promise<unknown> = async () => {},
  options: StartOptions = { isDev: true },
): Promise<void> {
  const plugin = definePlugin({ id: 'voucher', version: '1.0.0', kernel: '^1.0.0', migrations: changeSets })
  const running = await startForTest(productOn(db, plugin), options)
  const back: VoucherProduct['back'] = async (changeSet, options = {}) => {
    let printed: Printed | undefined
    const output = {
      json: false,
      result: (value: unknown, text: string) => {
        printed = { value: value as Printed['value'], text }
      },
      table: () => {},
      progress: () => {},
    }
    const { commands = [] } = running.plugins.find(({ id }) => id === 'database') ?? {}
    const { signal } = new AbortController()
    const invocation = { args: [changeSet], options, output, signal, examine: async () => [] }
    await commands.find(({ name }) => name === 'migrate back')?.run(running.runtimeOf('database') as never, invocation)
    return printed as Printed
  }
  try {
    await work({ db: running.service(database) as DatabaseService, back })
  } finally {
    await running.stop('test ended')
  }
}

const inCommand: StartOptions = { roles: ['cli'] }
const [first, second] = ['voucher/0001-create-entry', 'voucher/0002-add-note']
const columns = async (db: DatabaseService) => {
  const rows = await db.query<{ name: string }>(
    db.dialect === 'sqlite'
      ? "select name from pragma_table_info('voucher_entry')"
      : "select column_name as name from information_schema.columns where table_name = 'voucher_entry' and table_schema = " +
          (db.dialect === 'postgresql' ? 'current_schema()' : 'database()'),
  )
  return rows.map(({ name }) => name).sort()
}

onEachDatabase(
  t,
  'in development, an edited change set is taken back with the later ones and applied again',
  async (t, db) => {
    await withProduct(db, [createEntry('name'), addNote(20)], async ({ db }) => {
      await db.execute("insert into voucher_entry (id, name, note) values (1, 'a', 'b')")
    })
    const edited = [createEntry('label'), addNote(20)]
    const error: unknown = await withProduct(db, edited).catch((error: unknown) => error)
    const fix =
      'Restore the change set as it was applied, and put the change into a new change set. Or take it back, because ' +
      `\`plinth dev\` applied it: \`plinth migrate back ${first} --yes\` drops voucher_entry (rows: 1), and the next start applies it again.`
    const remedy = {
      question: `Take back ${second}, ${first} and apply the new version? This drops voucher_entry (rows: 1).`,
      words: ['migrate', 'back', first, '--yes'],
    }
    t.hasStrict(error, { code: 'PLINTH_START_FAILED', fix, cause: { code: 'PLINTH_MIGRATION_CHECKSUM', remedy } })
    await withProduct(
      db,
      edited,
      async ({ db, back }) => {
        const { value, text } = await back(first)
        assertMembers(t, value, {
          changeSets: [
            { plugin: 'voucher', id: '0002-add-note' },
            { plugin: 'voucher', id: '0001-create-entry' },
          ],
          isDone: false,
        })
        t.match(
          text,
          /^-- take back [^\n]+\ndrop index [^\n]+\nalter table [^\n]+\ndrop table if exists [^\n]+\n-- rows of voucher_entry: 1\n/,
        )
        t.same(await columns(db), ['id', 'name', 'note'], 'without --yes nothing changes')
        assertMembers(t, (await back(first, { yes: true })).value, {
          tables: [{ table: 'voucher_entry', rows: 1 }],
          isDone: true,
        })
        t.same(await columns(db), [])
        const { applied, pending } = await db.migrationStatus()
        t.same(
          [applied, pending].map((list) => list.filter(({ plugin }) => plugin === 'voucher').length),
          [0, 2],
        )
      },
      inCommand,
    )
    await withProduct(db, edited, async ({ db }) => t.same(await columns(db), ['id', 'label', 'note']))
  },
)

onEachDatabase(t, 'taking back a change set that adds a column keeps the rows of the table', async (t, db) => {
  await withProduct(db, [createEntry('name'), addNote(20)], async ({ db }) => {
    await db.execute("insert into voucher_entry (id, name, note) values (1, 'a', 'b')")
  })
  await withProduct(db, [createEntry('name'), addNote(30)], ({ back }) => back(second, { yes: true }), inCommand)
  await withProduct(db, [createEntry('name'), addNote(30)], async ({ db }) => {
    t.same(await db.query('select id, name, note from voucher_entry'), [{ id: 1, name: 'a', note: null }])
  })
})

onEachDatabase(
  t,
  'a change set that something else applied, or that runs in production, has no way back',
  async (t, db) => {
    const rejected = (changeSet: string, reason: string) =>
      withProduct(
        db,
        [createEntry('name'), addNote(20)],
        ({ back }) =>
          rejectsWith(t, back(changeSet, { yes: true }), {
            code: 'PLINTH_MIGRATION_NO_WAY_BACK',
            message: `Change set ${changeSet} cannot be taken back: ${reason}. Nothing was changed.`,
          }),
        inCommand,
      )
    await rejected(first, 'it is not applied')
    await withProduct(db, [createEntry('name')], undefined, {})
    await withProduct(db, [createEntry('name'), addNote(20)])
    await rejected(first, '`plinth dev` was not the first to apply it in this project')
    await rejected('voucher/0009-other', 'it is not applied')
    process.env['NODE_ENV'] = 'production'
    t.teardown(() => delete process.env['NODE_ENV'])
    await rejected(second, 'the product runs in production')
    const error: unknown = await withProduct(db, [createEntry('name'), addNote(30)]).catch((error: unknown) => error)
    const fix = 'Restore the change set as it was applied, and put the change into a new change set.'
    assertMembers(t, error, { fix, cause: { code: 'PLINTH_MIGRATION_CHECKSUM', remedy: undefined } })
  },
)

onEachDatabase(t, 'a change set that was edited while half applied can be taken back', async (t, db) => {
  const half = (name: string, table: string) =>
    defineChangeSet({
      id: '0001-create-entry',
      up: ({ schema, type }) => [
        schema.createTable('voucher_entry').addColumn(name, type.text(80)),
        schema.createIndex('voucher_entry_name').on(table).column(name),
      ],
    })
  await t.rejects(withProduct(db, [half('name', 'missing')]))
  const edited = [half('label', 'voucher_entry')]
  const error: unknown = await withProduct(db, edited).catch((error: unknown) => error)
  if (db.dialect === 'mariadb') {
    t.hasStrict(error, { cause: { code: 'PLINTH_MIGRATION_CHECKSUM' } })
    t.match(error, { fix: `\`plinth migrate back ${first} --yes\`` })
    await withProduct(db, edited, ({ back }) => back(first, { yes: true }), inCommand)
    await withProduct(db, edited)
  } else t.equal(error, undefined, 'a failed change set leaves nothing')
  await withProduct(db, edited, async ({ db }) => t.same(await columns(db), ['label']))
})
