import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { lockFileText, type Manifest, manifestOf } from '@plinth/kernel/host'
import { startForTest } from '@plinth/kernel/testing'
import t from 'tap'
import product from '../examples/quickstart/plinth.config.ts'

t.test('the lock file of the quickstart records routes, tables and outgoing hosts of its plugins', async (t) => {
  const running = await startForTest(product, { roles: ['cli'] })
  t.teardown(() => running.stop('test ended'))
  const recorded = readFileSync(join(import.meta.dirname, '../examples/quickstart/plinth.lock.json'), 'utf8')
  t.equal(lockFileText(manifestOf(product.plugins, running)), recorded, 'run node scripts/generate.ts')

  const { plugins } = JSON.parse(recorded) as Manifest
  const entriesOf = (plugin: string, kind: string) => plugins[plugin]?.entries[kind] ?? []
  t.ok(entriesOf('iam', 'routes').includes('POST /api/v1/auth/login public'))
  t.ok(entriesOf('iam', 'routes').includes('GET /api/v1/admin/iam/users iam:user:view'))
  t.ok(entriesOf('iam', 'tables').includes('iam_user'))
  t.strictSame(entriesOf('social', 'outgoing-hosts'), ['*'])
  t.strictSame(entriesOf('iam', 'outgoing-hosts'), [], 'it sends nothing itself')
})
