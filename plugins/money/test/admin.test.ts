/** Tests the operations of operators over HTTP and on the command line. */
import asyncTask, { asyncTasks } from '@plinth/async-task'
import databasePlugin, { database } from '@plinth/database'
import { assertMembers, manualClock, until } from '@plinth/dev/testing'
import { onDatabase, onSqlite, startMigrated, type TestDatabase, watchStatements } from '@plinth/dev/testing/database'
import events from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18n from '@plinth/i18n'
import iam, { accounts } from '@plinth/iam'
import idempotency from '@plinth/idempotency'
import { defineProduct, omitUndefined, systemClock } from '@plinth/kernel'
import { declaredTasks } from '@plinth/kernel/host'
import money, { ledger } from '@plinth/money'
import rateLimit from '@plinth/rate-limit'
import sharedWindow from '@plinth/rate-limit-stores/shared-window'
import sharedStore from '@plinth/shared-store'
import storage from '@plinth/storage'
import systemConfig from '@plinth/system-config'
import t, { type Test } from 'tap'
import type { reconciliations } from '../src/reconcile/reconciler.ts'
import { reconcileLedger, releaseExpiredHolds } from '../src/tasks.ts'
import { lotTables, TestLots } from './fixtures/lot-repository.ts'
import { asset, assetsPlugin, of, reasonOf, startLedger } from './fixtures/product.ts'

const kind = 'test.posting'
const root = '/api/v1/admin/money'
const administrator = { username: 'admin', password: 'correct horse battery staple' }
const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }

async function start(t: Test, at: TestDatabase) {
  const lots = new TestLots()
  const product = defineProduct({
    name: 'test',
    plugins: [
      asyncTask,
      databasePlugin,
      events,
      httpPlugin,
      i18n,
      iam,
      idempotency,
      money,
      rateLimit,
      sharedWindow,
      sharedStore,
      storage,
      systemConfig,
      lotTables,
      assetsPlugin({ lots }),
    ],
    config: {
      ...at.config,
      'platform.http.port': 0,
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
      'platform.rate-limit.default-store': 'shared-window',
      'platform.storage.root': `${at.directory}/storage`,
      'platform.system-config.master-key-file': `${at.directory}/master.key`,
    },
  })
  const running = await startMigrated(product, { clock: systemClock })
  t.teardown(() => running.stop('test ended'))
  lots.db = running.service(database)
  const base = running.service(http).url ?? ''
  const call = async (method: string, path: string, token?: string, body?: object) => {
    const response = await fetch(
      `${base}${path}`,
      omitUndefined({
        method,
        headers: omitUndefined({
          authorization: token === undefined ? undefined : `Bearer ${token}`,
          'content-type': body === undefined ? undefined : 'application/json',
        }),
        body: body === undefined ? undefined : JSON.stringify(body),
      }),
    )
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of all shapes
    return (await response.json()) as { code: string; data: any }
  }
  await running.service(accounts).createAdministrator(administrator, origin)
  const login = async (who: object) => (await call('POST', '/api/v1/auth/login', undefined, who)).data.accessToken
  const books = running.service(ledger)
  return { running, call, login, books, db: running.service(database), tasks: running.service(asyncTasks) }
}

onDatabase(t, 'K-014 administration of the ledger', async (t, at) => {
  const { running, call, login, books, db, tasks } = await start(t, at)
  const admin = await login(administrator)
  const get = async (path: string, token = admin) => call('GET', `${root}/${path}`, token)
  const ids: number[] = []
  for (let index = 0; index < 5; index++) {
    ids.push((await books.credit({ ...of(index), amount: 100 + index, key: `grant:${index}`, kind })).accountId)
  }
  const { holdId } = await books.hold({ ...of(0), amount: 30, key: 'hold', kind, expiresAt: Date.UTC(2090, 0) })
  const spent = await books.debit({
    ...of(0),
    amount: 20,
    key: 'spend',
    kind: 'test.spend',
    actor: 'user:7',
    reason: 'why not',
    reference: { type: 'order', id: '4711' },
  })

  await t.test('accounts, entries, journals and holds', async (t) => {
    const { data } = await get(`accounts?asset=${asset}&size=2`)
    t.equal(data.total, 5, 'without those of the system')
    const system = (await get('accounts?role=system')).data
    assertMembers(t, system.items, Array(2).fill({ role: 'system', available: null, frozen: null, version: null }))
    t.match((await get(`accounts/${system.items[0].id}`)).data, { available: null, frozen: null })
    t.equal((await get('entries')).data.total, 7, 'of owners')
    t.equal((await get('entries?role=system')).data.total, 6)
    const ofSystem = (await get(`entries?accountId=${system.items[0].id}`)).data.items
    t.same(
      ofSystem.map(({ available, availableAfter }: Record<string, unknown>) => [available, availableAfter]),
      [[20, null]],
    )
    const whole = await get(`accounts?ownerType=user&ownerId=0`)
    assertMembers(t, whole.data.items, [
      { id: ids[0], available: 50, frozen: 30, version: 3, status: 'open', role: 'owner' },
    ])
    t.match((await get(`accounts/${ids[1]}`)).data, { available: 101, owner: { type: 'user', id: '1' }, asset })
    t.hasStrict(await get('accounts?ownerType=user'), {
      code: '400',
      data: { reason: 'money.owner-incomplete', field: 'ownerId' },
    })
    t.hasStrict(await get('accounts?ownerId=7'), { data: { reason: 'money.owner-incomplete', field: 'ownerType' } })
    t.hasStrict(await get('accounts/1'), { code: '404', data: { reason: 'money.account-unknown' } })

    const entries = (await get(`entries?accountId=${ids[0]}`)).data
    assertMembers(t, entries.items, [
      { sequence: 3, available: -20, availableAfter: 50, actor: 'user:7', reason: 'why not', key: 'spend' },
      { sequence: 2, available: -30, frozen: 30 },
      { sequence: 1, available: 100, owner: { id: '0' } },
    ])
    t.equal((await get(`entries?asset=${asset}`)).data.total, 7, 'of owners alone')
    const journal = (await get(`journals/${spent.journalId}`)).data
    t.match(journal, { action: 'debit', kind: 'test.spend', reference: { type: 'order', id: '4711' } })
    t.same(
      journal.entries.map((entry: { available: number }) => entry.available),
      [-20, 20],
    )
    t.hasStrict(await get('journals/1'), { code: '404', data: { reason: 'money.journal-unknown' } })
    assertMembers(t, (await get('holds')).data.items, [
      { id: holdId, state: 'open', expiresAt: '2090-01-01T00:00:00.000Z' },
    ])
    assertMembers(t, (await get(`holds?accountId=${ids[0]}&state=captured`)).data.items, [])
  })

  await t.test('a balance is explained by its lots and holds', async (t) => {
    await books.credit({ ...of(0), amount: 5, key: 'more', kind })
    const first = (await get(`accounts/${ids[0]}/explain?size=1`)).data
    assertMembers(t, first, { account: { available: 55 }, holds: [{ id: holdId, amount: 30 }] })
    assertMembers(t, first.lots.items, [{ granted: 100, remaining: 50, held: 30, expiresAt: null }])
    const second = (await get(`accounts/${ids[0]}/explain?after=${first.lots.next}`)).data
    assertMembers(t, second.lots, { items: [{ granted: 5, remaining: 5 }], next: null })
    const yuan = await books.credit({ ...of(0), asset: 'cny', amount: 5, key: 'cny', kind })
    t.match((await get(`accounts/${yuan.accountId}/explain`)).data, { lots: null })
  })

  await t.test('a reconciliation is a task, and reports discrepancies', async (t) => {
    await db.execute('update money_account set available = available + 1 where id = ?', [ids[4] ?? 0])
    const { code, data } = await call('POST', `${root}/reconciliations`, admin, { asset })
    t.equal(code, '200')
    t.match(data, { state: /^queued$/, requestedBy: 'admin', asset, taskId: Number })
    await until(async () => (await tasks.get(data.taskId)).status === 'succeeded', 'the task ends', 0)
    t.hasStrict((await get(`reconciliations/${data.id}`)).data, { state: 'completed', accounts: 5, findings: 3 })
    assertMembers(t, (await get(`reconciliations/${data.id}/findings`)).data.items, [
      { rule: 'lots-remaining', accountId: ids[4], expected: 105, found: 104 },
      { rule: 'last-entry' },
      { rule: 'entries-available' },
    ])
    t.equal((await get('reconciliations')).data.total, 1)
    t.hasStrict(await get('reconciliations/1'), { code: '404', data: { reason: 'money.reconciliation-unknown' } })
    t.hasStrict(await call('POST', `${root}/reconciliations`, admin, { asset: 'gold' }), {
      code: '400',
      data: { reason: 'money.asset-unknown', field: 'asset' },
    })
  })

  await t.test('each operation requires its permission', async (t) => {
    const nobody = { username: 'nobody', password: 'correct horse battery staple' }
    await running.service(accounts).create(nobody, origin)
    const token = await login(nobody)
    for (const path of ['accounts', `accounts/${ids[0]}`, `accounts/${ids[0]}/explain`, 'entries', 'holds']) {
      t.equal((await get(path, token)).code, '403', path)
    }
    for (const path of ['journals/1', 'reconciliations', 'reconciliations/1', 'reconciliations/1/findings']) {
      t.equal((await get(path, token)).code, '403', path)
    }
    t.equal((await call('POST', `${root}/reconciliations`, token, {})).code, '403')
  })

  await t.test('every page of a list is a range scan of an index', async (t) => {
    for (const [table, paths] of Object.entries({
      money_account: ['accounts', `accounts?asset=${asset}`, 'accounts?ownerType=user&ownerId=1'],
      money_entry: ['entries', `entries?asset=${asset}`, `entries?accountId=${ids[0]}`],
      money_hold: ['holds', `holds?accountId=${ids[0]}`, 'holds?state=captured'],
      money_reconciliation: ['reconciliations'],
    })) {
      for (const path of paths) {
        const requested = `${path}${path.includes('?') ? '&' : '?'}count=none&size=2`
        for (const { sql, sorts, scans } of await watchStatements(db, table).plansOf(() => get(requested))) {
          if (!/ order by /.test(sql)) continue
          // An owner has one account per asset, so sorting these few rows is cheap.
          t.notOk(sorts && !path.includes('owner'), `${path} sorts: ${sql}`)
          t.notOk(scans.length > 0 && path.includes('='), `${path} scans ${scans}: ${sql}`)
        }
      }
    }
  })
})

onDatabase(
  t,
  'month totals and balances are range scans of an index, however many entries there are',
  async (t, at) => {
    const { ledger, db } = await startLedger(t, at)
    const ids: number[] = []
    for (let index = 0; index < 60; index++) {
      const at = Date.UTC(2026, index % 3, 1)
      ids.push((await ledger.credit({ ...of(index % 4), amount: 1, key: `slice:${index}`, kind, at })).accountId)
    }
    const { plansOf } = watchStatements(db, 'money_entry')
    const plans = await plansOf(() => ledger.monthTotals(ids[1] ?? 0, 202601))
    t.equal(plans.length, 1)
    for (const { sql, indexes, scans, sorts } of plans) {
      t.same([indexes, scans], [['money_entry_account_id_month_key_kind_index'], []], sql)
      t.notOk(sorts, sql)
    }
    const looks = await watchStatements(db, 'money_account').plansOf(() => ledger.balance(of(1)))
    t.same(
      looks.map(({ indexes }) => indexes),
      [['money_account_owner_type_owner_id_asset_unique']],
    )
  },
)

onSqlite(t, 'tasks of the ledger', async (t, at) => {
  const clock = manualClock()
  const { ledger, running, db } = await startLedger(t, at, { clock })
  const runtime = (extra: object) =>
    ({
      services: { database: db },
      clock,
      signal: new AbortController().signal,
      log: { warn: () => {}, error: (about: object) => errors.push(about) },
      own: (ref: typeof reconciliations) => running.service(ref),
      ...extra,
    }) as never
  const errors: object[] = []

  await t.test('an expired hold is released, by the task or by the next caller that needs it', async (t) => {
    await ledger.credit({ ...of('h'), amount: 100, key: 'h:grant', kind })
    const expiresAt = clock.now() + 60_000
    const hold = (name: string) => ledger.hold({ ...of('h'), amount: 40, key: `h:${name}`, kind, expiresAt })
    const [one, two] = [await hold('one'), await hold('two')]
    await clock.advance(59_999)
    t.equal(
      await reasonOf(ledger.debit({ ...of('h'), amount: 30, key: 'h:early', kind })),
      '409 money.balance-insufficient',
    )
    await clock.advance(1)
    const late = ledger.capture({ holdId: one.holdId, key: 'h:late', kind })
    t.equal(await reasonOf(late), '409 money.hold-closed', 'past its expiry')
    t.match(await ledger.debit({ ...of('h'), amount: 30, key: 'h:now', kind }), { available: 70, frozen: 0 })
    t.equal(await reasonOf(ledger.release({ holdId: two.holdId, key: 'h:two:release' })), '409 money.hold-closed')

    const third = await ledger.hold({ ...of('h'), amount: 50, key: 'h:three', kind, expiresAt: clock.now() + 1 })
    await clock.advance(1)
    await releaseExpiredHolds.run(runtime({}))
    t.same(await ledger.balance(of('h')), { accountId: third.accountId, available: 70, frozen: 0 })
    await releaseExpiredHolds.run(runtime({}))
  })

  await t.test('a scheduled reconciliation logs discrepancies', async (t) => {
    await reconcileLedger.run(runtime({}))
    t.same(errors, [])
    await db.execute("update money_account set frozen = frozen + 1 where role = 'owner'", [])
    await reconcileLedger.run(runtime({}))
    assertMembers(t, errors, [{ accounts: 1, findings: 3 }])
  })

  await t.test('old reconciliations are removed with their findings', async (t) => {
    const names = running.service(declaredTasks).scheduledTasks.map(({ name }) => name)
    t.ok(names.includes('money.purge'))
    const purge = running.service(declaredTasks).scheduledTasks.find(({ name }) => name === 'money.purge')
    const count = async () => (await db.query('select id from money_finding')).length
    await purge?.run(new AbortController().signal)
    t.equal(await count(), 3)
    await clock.advance(401 * 86_400_000)
    await purge?.run(new AbortController().signal)
    t.equal(await count(), 0)
    t.same(await db.query('select id from money_reconciliation'), [])
  })
})
