/**
 * Tests a whole product whose database stops responding while all connections stay open, as after the loss of a host.
 */
import { join } from 'node:path'
import { until } from '@plinth/dev/testing'
import { onEachDatabase, startHalfOpenProxy, type TestDatabase } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
import { startProcess } from './fixtures/product-process.ts'

const product = join(import.meta.dirname, 'fixtures', 'instances.config.ts')
const ports = { sqlite: 0, postgresql: 5432, mariadb: 3306 } as const

/** Time limit in milliseconds. It is ten times the deadlines of the product, because the host may be busy. */
const patienceMs = 100_000

async function startBehindProxy(t: Test, db: TestDatabase) {
  const proxy = await startHalfOpenProxy({ port: ports[db.dialect] })
  t.teardown(() => proxy.close())
  const config = {
    ...db.config,
    'platform.database.port': proxy.port,
    // These timeouts are long enough to start on a busy host.
    'platform.database.connect-timeout': '6s',
    'platform.database.query-timeout': '6s',
    'platform.http.readiness-deadline': '2s',
    'platform.kernel.drain-deadline': '10s',
    'platform.kernel.stop-deadline': '5s',
    'platform.http.metrics.allowed-clients': '127.0.0.0/8',
    'platform.system-config.master-key-file': join(db.directory, 'master.key'),
  }
  const settings = Object.fromEntries(Object.entries(config).map(([key, value]) => [key, String(value)]))
  const running = await startProcess(t, product, settings)
  const publish = async () => {
    const response = await fetch(`${running.url}/api/v1/probe/events/one`, {
      method: 'POST',
      signal: AbortSignal.timeout(patienceMs),
    })
    const { code } = (await response.json()) as { code: string }
    return `${response.status} ${code}`
  }
  return { proxy, running, publish }
}

// The tests wait for deadlines in real time, so they run concurrently. They are subtests of one test, so that only
// these tests run concurrently.
t.test('a whole product', { jobs: 2, timeout: 600_000 }, async (t) => {
  onEachDatabase(t, 'a database that becomes silent', fallsSilent)
})

async function fallsSilent(t: Test, db: TestDatabase) {
  // SQLite needs no network, so its connection cannot fall silent.
  if (db.dialect === 'sqlite') return
  const { proxy, running, publish } = await startBehindProxy(t, db)
  t.equal(await publish(), '200 200')

  proxy.fallSilent()
  const responses = await Promise.all(Array.from({ length: 40 }, publish))
  t.same([...new Set(responses)], ['503 503'], 'every request is answered, with 503')
  t.equal((await fetch(`${running.url}/health/live`)).status, 200, 'the process is alive')
  t.equal((await fetch(`${running.url}/health/ready`)).status, 503, 'and not ready')
  const measured = async () => {
    const text = await (await fetch(`${running.url}/metrics`)).text()
    return Number(/^plinth_database_longest_wait_seconds (\S+)$/m.exec(text)?.[1])
  }
  const waiting = publish()
  await until(async () => (await measured()) > 0, 'somebody waits')
  t.equal(await waiting, '503 503', 'the metric tells that somebody waits')
  const reported = () =>
    running
      .output()
      .split('\n')
      .filter((line) => line.includes('database is not available')).length
  await until(() => reported() > 0, 'the log tells it')
  t.equal(reported(), 1, 'once')

  proxy.recover()
  await until(async () => (await publish()) === '200 200', 'the database answers again', 50)
  t.equal((await fetch(`${running.url}/health/ready`)).status, 200, 'it goes on by itself')

  await Promise.all(Array.from({ length: 10 }, publish))
  proxy.fallSilent()
  running.child.kill('SIGTERM')
  // Both exit codes are allowed. The exit code is 1 if a plugin could not write its last data.
  t.match((await running.ended()).join(' '), /^[01] $/, 'a stop ends by itself')
}
