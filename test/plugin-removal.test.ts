/** Tests that `plinth plugins remove` lists all stored data of a plugin, and deletes exactly this data. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import asyncTaskPlugin, { asyncTasks, taskType } from '@plinth/async-task'
import databasePlugin, { database } from '@plinth/database'
import { programEnvironment, startForTest } from '@plinth/dev/testing'
import { onDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import eventsPlugin, { event, events } from '@plinth/events'
import http, { Type } from '@plinth/http'
import i18n from '@plinth/i18n'
import iam from '@plinth/iam'
import { definePlugin, defineProduct, key, type Plugin } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'
import scheduler from '@plinth/scheduler'
import storage from '@plinth/storage'
import systemConfig, { configCentre } from '@plinth/system-config'
import t from 'tap'
import { runProgram } from '../kernel/src/cli/program.ts'

const title = (text: string) => ({ en: text, 'zh-CN': text })
const changeSets = [
  defineChangeSet({
    id: '0001-create-shelf',
    up: ({ schema, type }) => [
      schema.createTable('acme_shelf').addColumn('id', type.id, (c) => c.primaryKey()),
      schema
        .createTable('acme_book')
        .addColumn('id', type.id, (c) => c.primaryKey())
        .addColumn('shelf_id', type.id, (c) => c.notNull().references('acme_shelf.id')),
    ],
  }),
]
const dusted = event('acme.dusted', Type.Object({}))
const counting = taskType('acme.count', { displayName: title('Count'), params: Type.Object({}) })
/** A plugin with tables, permissions, values, a scheduled task, asynchronous tasks and events. */
const acme = definePlugin({
  id: 'acme',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { asyncTasks, database, events },
  migrations: changeSets,
  permissions: [
    { code: 'acme:view', displayName: title('View') },
    { code: 'acme:edit', displayName: title('Edit') },
  ],
  config: { 'platform.acme.size': key.integer({ title: 'Size', default: 1 }) },
  scheduledTasks: [
    { name: 'acme.dust', displayName: title('Dust'), fixedDelay: 3_600_000, autoStartup: false, run: async () => {} },
  ],
  setup({ services }) {
    services.asyncTasks.handle(counting, async () => {})
    services.events.on(dusted, 'acme.note', async () => {})
  },
})
/** Another plugin. Its data must not be deleted. */
const other = definePlugin({
  id: 'other',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { database },
  permissions: [{ code: 'other:view', displayName: title('View') }],
  config: { 'platform.other.size': key.integer({ title: 'Size', default: 1 }) },
  setup() {},
})
const common: readonly Plugin[] = [
  databasePlugin,
  systemConfig,
  http,
  i18n,
  iam,
  scheduler,
  eventsPlugin,
  storage,
  asyncTaskPlugin,
  other,
]
const withAcme = defineProduct({ name: 'removal', plugins: [...common, acme] })
const withoutAcme = defineProduct({ name: 'removal', plugins: [...common] })

/**
 * Writes a product file that exports the product of this test. Returns a function that runs `plinth plugins remove` on
 * it. The function passes the values of the database keys with `--set`.
 */
function commandOn({ directory, config }: TestDatabase) {
  const folder = join(directory, 'product')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'plinth.config.js')
  const source = JSON.stringify(import.meta.url)
  writeFileSync(file, `export { product as default } from ${source}\n`)
  const set = Object.entries(config).flatMap(([name, value]) => ['--set', `${name}=${value}`])
  return async (...words: string[]) => {
    let stdout = ''
    const code = await runProgram(['--product', file, ...set, '--json', 'plugins', 'remove', ...words], {
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: () => {} },
      environment: programEnvironment(),
      directory: folder,
    })
    return { code, ...JSON.parse(stdout) }
  }
}
export const product = withAcme

type Report = { readonly data: readonly { kind: string; name: string; rows: number; action: string }[] }
/** Returns the entries of a report as text, without the actions that remove them. */
const lines = ({ data }: Report) => data.map(({ kind, name, rows }) => `${kind} ${name}: ${rows}`)

/** Starts the product without serving it, and returns the number of rows of each table. */
async function countsOf(
  set: Readonly<Record<string, string>>,
  tables: readonly string[],
): Promise<Record<string, number>> {
  const running = await startForTest(withoutAcme, { set, roles: ['cli'] })
  try {
    const counts = tables.map(async (table) => {
      const rows = await running.service(database).query<{ n: unknown }>(`select count(*) as n from ${table}`)
      return [table, Number(rows[0]?.n)] as const
    })
    return Object.fromEntries(await Promise.all(counts))
  } finally {
    await running.stop('counted')
  }
}

onDatabase(t, 'remove lists tables, permissions, values and tasks of a plugin, and deletes them', async (t, db) => {
  const set = Object.fromEntries([
    ...Object.entries(db.config).map(([name, value]) => [name, String(value)]),
    ['platform.http.port', '0'],
  ]) as Readonly<Record<string, string>>
  const running = await startForTest(withAcme, { set })
  const stored = running.service(database)
  const now = new Date()
  await stored.execute('insert into acme_shelf (id) values (1)')
  await stored.execute('insert into acme_book (id, shelf_id) values (1, 1), (2, 1)')
  await stored.execute(
    `insert into iam_role (id, code, name, built_in, data_scope, version, created_at, updated_at)
     values (1, 'keeper', 'Keeper', ?, 'all', 1, ?, ?)`,
    [false, now, now],
  )
  await stored.execute(
    "insert into iam_role_permission (id, role_id, permission_code) values (1, 1, 'acme:view'), (2, 1, 'other:view')",
  )
  await stored.execute(
    `insert into scheduler_run (id, task, cause, instance, started_at)
     values (1, 'acme.dust', 'schedule', 'test', ?), (2, 'other.dust', 'schedule', 'test', ?)`,
    [now, now],
  )
  const changes = ['acme', 'other'].map((plugin) => {
    return { key: `platform.${plugin}.size`, action: 'set' as const, value: 7 }
  })
  await running.service(configCentre).save(changes, { actor: { name: 'test' } })
  await running.service(asyncTasks).submit(counting, {}, { ownerId: 1 })
  await running.service(events).publish(dusted, {})
  const remove = commandOn(db)
  t.hasStrict(await remove('acme', '--yes'), { code: 1, error: { code: 'PLINTH_PLUGIN_IN_USE' } }, 'an instance runs')
  t.equal((await stored.query('select id from acme_book')).length, 2, 'nothing was deleted')
  t.equal((await remove('acme', '--dry-run')).code, 0, 'the dry run works beside an instance')
  await running.stop('prepared')

  t.hasStrict(await remove('acme'), { code: 2, error: { code: 'PLINTH_CLI_USAGE' } }, 'neither --dry-run nor --yes')
  t.match(await remove('acne', '--dry-run'), { code: 2, error: { message: /Did you mean "acme"/ } })
  t.hasStrict(await remove('database', '--yes'), { code: 1, error: { code: 'PLINTH_PLUGIN_REQUIRED' } })

  const deleted = [
    'table acme_shelf: 1',
    'table acme_book: 2',
    'change-sets schema_changelog: 1',
    'stored value platform.acme.size: 1',
    'permission acme:edit: 1',
    'permission acme:view: 1',
    'permission of roles acme:view: 1',
    'scheduled task acme.dust: 1',
    'runs of scheduled task acme.dust: 1',
    'asynchronous tasks acme.count: 1',
  ]
  const kept = ['history of value platform.acme.size: 1', 'events acme.dusted: 1']
  const announced = await remove('acme', '--dry-run')
  t.equal(announced.code, 0)
  t.strictSame(lines(announced).toSorted(), [...deleted, ...kept].toSorted())
  t.strictSame((await remove('acme', '--dry-run')).data, announced.data, 'the dry run deleted nothing')

  const tables = [
    'iam_permission',
    'iam_role_permission',
    'scheduler_run',
    'sys_config',
    'schema_changelog',
    'iam_role',
    'async_task',
    'outbox_event',
  ]
  const before = await countsOf(set, tables)
  const done = await remove('acme', '--yes')
  t.equal(done.code, 0)
  t.strictSame(lines(done), lines(announced))
  t.strictSame(new Set((done as Report).data.map(({ action }) => action)), new Set(['deleted', 'kept']))
  t.strictSame(lines(await remove('acme', '--dry-run')).toSorted(), [
    'events acme.dusted: 1',
    'history of value platform.acme.size: 2',
  ])
  const fewer: Record<string, number> = {
    iam_permission: 2,
    iam_role_permission: 1,
    scheduler_run: 1,
    sys_config: 1,
    schema_changelog: 1,
    iam_role: 0,
    async_task: 1,
    outbox_event: 0,
  }
  const expected = Object.entries(before).map(([table, rows]) => [table, rows - (fewer[table] ?? 0)])
  t.strictSame(await countsOf(set, tables), Object.fromEntries(expected))
  await t.rejects(countsOf(set, ['acme_book']))
  t.equal((await remove('acme', '--yes')).code, 0, 'a second call has nothing to do')

  const again = await startForTest(withoutAcme, { set })
  const orphans = (await again.service(configCentre).list('')).filter(({ declaration }) => declaration === undefined)
  t.strictSame(orphans, [], 'the product without the plugin has no orphaned value')
  await again.stop('checked')
})
