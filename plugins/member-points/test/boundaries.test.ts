/**
 * Tests that the plugin member-points itself stores no balances, sells nothing, draws no lottery, and publishes no events
 * unless another plugin of the product handles them.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { manualClock } from '@plinth/dev/testing'
import { onDatabase, onSqlite, type StatementPlan, watchStatements } from '@plinth/dev/testing/database'
import { events } from '@plinth/events'
import { definePlugin } from '@plinth/kernel'
import memberPoints from '@plinth/member-points'
import t from 'tap'
import { pointsMoved } from '../src/contract.ts'
import { entities } from '../src/entities.ts'
import { day, startPoints } from './fixtures/product.ts'

const root = join(import.meta.dirname, '../../..')
const own = globSync('plugins/member-points/src/**/*.ts', { cwd: root }).map((file) => ({
  file,
  text: readFileSync(join(root, file), 'utf8'),
}))

onDatabase(t, 'C-014 P-001 P-009 P-042 P-058 tables match the entities, and contain no balance', async (t, at) => {
  const { db } = await startPoints(t, at)
  const em = db.fork()
  const generator = em.config.getExtension('@mikro-orm/schema-generator') as {
    getUpdateSchemaSQL(options: object): Promise<string>
  }
  t.equal((await generator.getUpdateSchemaSQL({ dropTables: false, safe: false, wrap: false })).trim(), '')
  const columns = new Map(
    entities.map((entity) => {
      const { tableName, properties } = em.getMetadata().get(entity as never)
      return [
        tableName,
        Object.values(properties as Record<string, { fieldNames: string[] }>).flatMap((one) => one.fieldNames),
      ]
    }),
  )
  for (const [table, names] of columns) {
    t.match(table, /^points_/)
    const balances = names.filter((name) => /balance|available|frozen/.test(name))
    t.same(balances, [], `P-001 ${table}`)
    t.same(
      names.filter((name) => /prize|pool|winner|draw/.test(name)),
      [],
      `P-009 ${table}`,
    )
  }
  const source = columns.get('points_source') ?? []
  for (const name of ['source_type', 'source_id', 'remaining', 'expires_at', 'status'])
    t.ok(source.includes(name), `P-042 ${name}`)
  t.ok(columns.get('points_expire_batch')?.includes('status'))
})

t.test('P-005 P-008 the plugin with the facts publishes them and does not know points', async (t) => {
  const others = globSync('{plugins,examples}/*/{*,src/**/*}.ts', { cwd: root }).filter(
    (file) => !/plugins\/(member-points|presets)|examples\/(quickstart|lite)|\.test\.ts$/.test(file),
  )
  t.ok(others.length > 100)
  const importing = others.filter((file) => readFileSync(join(root, file), 'utf8').includes('@plinth/member-points'))
  t.same(importing, [], 'the shop least of all')
})

onSqlite(t, 'P-006 no task can be claimed', async (t, at) => {
  const { server } = await startPoints(t, at)
  const paths = server.routes
    .filter(({ plugin }) => plugin === 'member-points')
    .map(({ method, path }) => `${method} ${path}`)
  t.same(paths.sort(), [
    'GET /api/v1/admin/member-points/accounts',
    'GET /api/v1/admin/member-points/days',
    'GET /api/v1/admin/member-points/expire-batches',
    'GET /api/v1/admin/member-points/figures',
    'GET /api/v1/admin/member-points/ledgers',
    'GET /api/v1/admin/member-points/order-reversals',
    'GET /api/v1/admin/member-points/order-rewards',
    'GET /api/v1/admin/member-points/rules',
    'GET /api/v1/admin/member-points/rules/:id',
    'GET /api/v1/admin/member-points/sources',
    'GET /api/v1/member-points/tasks',
    'GET /api/v1/member-points/users/me/check-ins',
    'GET /api/v1/member-points/users/me/ledgers',
    'GET /api/v1/member-points/users/me/overview',
    'POST /api/v1/admin/member-points/expire-batches/run',
    'POST /api/v1/admin/member-points/manual-adjustments',
    'POST /api/v1/admin/member-points/manual-adjustments/preview',
    'POST /api/v1/admin/member-points/rules',
    'POST /api/v1/member-points/users/me/check-in',
  ])
})

onSqlite(t, 'P-060 the plugin publishes no event, unless another plugin handles it', async (t, at) => {
  const listener = definePlugin({
    id: 'listener',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { events },
    setup: ({ services }) => services.events.on(pointsMoved, 'listener', () => undefined),
  })
  for (const plugins of [[], [listener]]) {
    const { db, member, running } = await startPoints(t, at, { plugins })
    const { call } = await member(`member-${plugins.length}`)
    t.hasStrict(await call('POST', 'member-points/users/me/check-in'), { code: '200' })
    const sql = `select type from outbox_event where type like 'member-points.%'`
    t.equal((await db.query(sql)).length, plugins.length)
    await running.stop('next product')
  }
})

t.test('P-061 P-056 the plugin has its own permissions and errors', async (t) => {
  const codes = (memberPoints.permissions ?? []).map(({ code }) => code)
  t.same(codes, [
    'member-points:account:view',
    'member-points:ledger:view',
    'member-points:rule:view',
    'member-points:rule:save',
    'member-points:adjust',
    'member-points:expire:run',
  ])
  const { default: en } = await import('../src/messages/en.json', { with: { type: 'json' } })
  const declarations = own.find(({ file }) => file.endsWith('/declarations.ts'))?.text ?? ''
  const names = [...declarations.matchAll(/^ {2}'([a-z-]+)': '\d{3}',$/gm)].map(([, name = '']) => name)
  t.ok(names.length >= 3, `${names.length} business errors`)
  for (const name of names) {
    t.ok((en['member-points'] as Record<string, unknown>)[name], `member-points.${name}`)
  }
})

onDatabase(t, 'P-043 P-038 every statement on sources is a range scan of an index', async (t, at) => {
  const clock = manualClock(Date.UTC(2026, 5, 1))
  const product = await startPoints(t, at, { clock })
  const { db, ledger, ref, points, member } = product
  await product.administrator()
  const ada = await member('ada')
  const grant = (userId: number, name: string, expiresAt: number) => {
    const lots = { source: { id: db.newId(), type: 'test', key: `${userId} ${name}` }, expiresAt }
    return ledger.credit({ ...ref(userId), amount: 2, key: `${userId} ${name}`, kind: 'test.grant', lots })
  }
  await db.transactional(async () => {
    for (let one = 0; one < 120; one++) await grant(1 + (one % 20), `${one}`, clock.now() + (1 + (one % 50)) * day)
    for (let one = 0; one < 20; one++) await grant(ada.id, `${one}`, clock.now() + (10 + one) * day)
  })
  clock.shiftWallClock(2 * day)
  // All login sessions have expired by now, so the users log in again.
  const [again, root] = [await product.loginAs('ada'), await product.loginAs('root')]
  const answered = async (call: Promise<{ readonly code: string }>) => t.hasStrict(await call, { code: '200' })
  const overview = () => answered(again.call('GET', 'member-points/users/me/overview'))
  const works: Readonly<Record<string, () => Promise<unknown>>> = {
    overview,
    spend: () => points.spend({ userId: ada.id, points: 7, key: 'plan' }),
    tasks: () => answered(again.call('GET', 'member-points/tasks')),
    hold: async () => {
      const { holdId } = await ledger.hold({ ...ref(ada.id), amount: 5, key: 'plan hold', kind: 'test.hold' })
      await ledger.release({ holdId, key: 'plan release' })
    },
    scan: () => points.expire(),
  }
  const { accountId } = await ledger.balance(ref(ada.id))
  const balance = () => answered(root.call('GET', `admin/money/accounts/${accountId}/explain`))
  const days = () => answered(root.call('GET', 'admin/member-points/days?count=none'))
  for (const table of ['money_entry', 'money_account', 'points_day']) {
    const { plansOf } = watchStatements(db, table)
    const plans: StatementPlan[] = []
    for (const work of [overview, balance, () => points.countDays(), days]) plans.push(...(await plansOf(work)))
    const read = plans.filter(({ sql }) => !sql.startsWith('insert'))
    t.ok(read.length > 0, `${table} is asked`)
    for (const { sql, scans, sorts } of read) {
      t.same(scans, [], sql)
      t.notOk(sorts, sql)
    }
  }
  const { plansOf } = watchStatements(db, 'points_source')
  for (const [name, work] of Object.entries({ ...works, balance })) {
    for (const { sql, scans, sorts } of await plansOf(work)) {
      if (sql.startsWith('insert into points_source (')) continue
      // MariaDB scans the table of uses here, because this test contains only few holds.
      if (sql.includes('points_source_use held')) continue
      t.same(scans, [], `${name}: ${sql}`)
      t.notOk(sorts, `${name}: ${sql}`)
    }
  }
})
