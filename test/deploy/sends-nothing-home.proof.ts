/** Tests that a product connects only to the hosts in its configuration. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { freePort, until } from '@plinth/dev/testing'
import { createDatabase, everyDialect } from '@plinth/dev/testing/database'
import { createRedisNamespace, skipRedis } from '@plinth/dev/testing/shared-store'
import t, { type Test } from 'tap'
import { dataDirectory, quickstart, startProcess } from '../fixtures/product-process.ts'

const watch = pathToFileURL(join(import.meta.dirname, '..', 'fixtures', 'outgoing-watch.mjs')).href
const pages = ['/', '/install/', '/admin/', '/docs/', '/docs/openapi.json', '/health/ready', '/api/v1/unknown']

/**
 * Starts a product, opens its public pages, waits until its scheduled tasks have run, and stops it.
 * @returns the distinct connections and name look-ups
 */
async function outgoingOf(
  t: Test,
  product: string,
  settings: Readonly<Record<string, string>>,
  isDone: (metrics: string) => boolean,
): Promise<readonly string[]> {
  const directory = await dataDirectory(t.teardown)
  const file = join(directory, 'outgoing.txt')
  const { url, end } = await startProcess(t, product, settings, {
    environment: { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import=${watch}`, PLINTH_TEST_OUTGOING: file },
  })
  for (const page of pages) await (await fetch(url + page)).arrayBuffer()
  await until(async () => isDone(await (await fetch(`${url}/metrics`)).text()), 'the tasks have run', 100)
  t.same(await end('SIGTERM'), [0, null])
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
  return [...new Set(lines)].sort()
}

/** Starts the quickstart with its data in a directory of the test. */
async function quickstartOutgoing(t: Test, settings: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const directory = await dataDirectory(t.teardown)
  const files = {
    'platform.database.sqlite.file': join(directory, 'plinth.sqlite'),
    'platform.storage.root': join(directory, 'storage'),
    'platform.system-config.master-key-file': join(directory, 'master.key'),
  }
  return outgoingOf(t, quickstart, { ...files, ...settings }, tasksHaveRun)
}

const tasksHaveRun = (metrics: string) => (metrics.match(/^scheduler_task_runs_total\{/gm) ?? []).length >= 15

t.test('the quickstart with default settings connects to no host and looks up no name', async (t) => {
  t.same(await quickstartOutgoing(t, {}), [])
})

const skip = everyDialect.find(({ dialect }) => dialect === 'postgresql')?.skip || skipRedis
t.test('the quickstart with PostgreSQL and Redis connects to these only', { skip }, async (t) => {
  const db = await createDatabase('postgresql')
  t.teardown(() => db.drop())
  const redis = createRedisNamespace()
  t.teardown(() => redis.drop())
  const config = { ...db.config, ...redis.config, 'platform.scheduler.engine': 'bullmq' }
  const settings = Object.fromEntries(Object.entries(config).map(([key, value]) => [key, String(value)]))
  const expected = ['connect 127.0.0.1:5432', 'connect 127.0.0.1:6379']
  t.same(await quickstartOutgoing(t, settings), expected)
})

t.test('the watch detects connections, datagrams and names', async (t) => {
  const port = await freePort()
  const folder = t.testdir({
    'plinth.config.ts': `
      import { createSocket } from 'node:dgram'
      import { lookup } from 'node:dns/promises'
      import http from '@plinth/http'
      import { definePlugin, defineProduct } from '@plinth/kernel'
      const home = definePlugin({
        id: 'home', version: '1.0.0', kernel: '^1.0.0',
        async setup() {
          await fetch('http://127.0.0.1:${port}/').catch(() => {})
          await lookup('localhost')
          const socket = createSocket('udp4')
          socket.send('hello', ${port}, '127.0.0.1', () => socket.close())
        },
      })
      export default defineProduct({ name: 'home', plugins: [http, home] })`,
  })
  const found = await outgoingOf(t, join(folder, 'plinth.config.ts'), {}, () => true)
  for (const line of [`connect 127.0.0.1:${port}`, 'name localhost', /^datagram hello,\d+,127\.0\.0\.1$/])
    t.ok(
      found.some((one) => (typeof line === 'string' ? one === line : line.test(one))),
      `${line} in ${found}`,
    )
})
