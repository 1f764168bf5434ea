/** Tests that the scheduled tasks, login guards and pages of the quickstart's plugins pass their conformance kits. */
import { join } from 'node:path'
import { adminPages } from '@plinth/admin'
import { type ConformanceCase, scheduledTaskCases } from '@plinth/dev/conformance'
import { adminPageCases } from '@plinth/dev/conformance/admin'
import { loginGuardCases } from '@plinth/dev/conformance/iam'
import { startForTest } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import { accounts, loginGuard } from '@plinth/iam'
import { defineProduct } from '@plinth/kernel'
import { manifestEntries } from '@plinth/kernel/host'
import t, { type Test } from 'tap'
import { snapshotOf } from '../dev/src/verify/database-snapshot.ts'
import quickstart from '../examples/quickstart/plinth.config.ts'

t.setTimeout(900_000)

const administrator = { username: 'admin', password: 'correct horse battery staple' }
const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'test' }
/** Long time limits, because a host that runs many tests at the same time is slow. */
const limits = { patienceMs: 60_000 }

async function startQuickstart(t: Test) {
  const directory = t.testdir({})
  const config = {
    ...quickstart.config,
    'platform.http.port': 0,
    'platform.database.sqlite.file': ':memory:',
    'platform.storage.root': join(directory, 'storage'),
    'platform.system-config.master-key-file': join(directory, 'master.key'),
    'platform.install.installed': true,
    'platform.iam.password.hash.memory': '1MiB',
    'platform.iam.password.hash.passes': 1,
  }
  const running = await startForTest(defineProduct({ name: 'kits', plugins: quickstart.plugins, config }), {
    // Starts no worker, because a worker would run the scheduled tasks too.
    roles: ['web'],
  })
  t.teardown(() => running.stop('test ended'))
  return running
}

async function runAll(t: Test, cases: readonly ConformanceCase[]): Promise<void> {
  for (const { name, run } of cases) {
    const error: unknown = await run().catch((error: unknown) => error)
    t.equal(error, undefined, `${name}${error === undefined ? '' : `: ${String(error).slice(0, 500)}`}`)
  }
}

t.test('all scheduled tasks of the quickstart pass their kit', async (t) => {
  const running = await startQuickstart(t)
  t.ok(running.scheduledTasks.length > 10)
  const owned = running.contributions(manifestEntries).get('tables')?.() ?? new Map<string, readonly string[]>()
  for (const task of running.scheduledTasks) {
    const tables = owned.get(task.plugin) ?? []
    const snapshot = async () => {
      const all = await snapshotOf(running)
      return tables.map((table) => [table, [...(all.get(table) ?? [])].sort()])
    }
    await t.test(task.name, (t) =>
      runAll(
        t,
        scheduledTaskCases(() => ({ task, snapshot }), { dependency: 'none', ...limits }),
      ),
    )
  }
})

t.test('all pages of the quickstart pass their kit', async (t) => {
  const running = await startQuickstart(t)
  const server = running.service(http)
  const users = running.service(accounts)
  await users.createAdministrator(administrator, origin)
  const headersOf = async (payload: object) => {
    const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload })
    return { authorization: `Bearer ${login.json().data.accessToken}` }
  }
  const headers = await headersOf(administrator)
  const stranger = { username: 'stranger', password: administrator.password }
  const created = await server.inject({
    method: 'POST',
    url: '/api/v1/admin/iam/users',
    headers,
    payload: stranger,
  })
  t.equal(created.json().code, '200', created.body)
  const pages = running.contributions(adminPages)
  t.ok(pages.size > 40)
  const harness = { pages, server: server as never, administrator: headers, stranger: await headersOf(stranger) }
  await t.test('all pages, with or without rows', (t) =>
    runAll(
      t,
      adminPageCases(() => harness, { hasRows: false, ...limits }),
    ),
  )
  const own = new Map([...pages].filter(([id]) => /^iam\.users?$/.test(id)))
  t.ok(own.size > 0, [...pages.keys()].join(' '))
  await t.test('the pages of users, with rows', (t) =>
    runAll(
      t,
      adminPageCases(() => ({ ...harness, pages: own }), limits),
    ),
  )
})

t.test('all login guards of the quickstart pass their kit', async (t) => {
  const running = await startQuickstart(t)
  const guards = running.contributions(loginGuard)
  t.ok(guards.size > 0)
  for (const [name, guard] of guards)
    await t.test(name, (t) =>
      runAll(
        t,
        loginGuardCases(() => ({ guard }), { method: 'password', limit: 'none', ...limits }),
      ),
    )
})
