/** Tests the commands of the upgrade guide on a product with a pending change set. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { programEnvironment } from '@plinth/dev/testing'
import t from 'tap'
import { blocksRunBy } from '../fixtures/document-blocks.ts'

const root = join(import.meta.dirname, '..', '..')
const self = relative(root, import.meta.filename)

const product = `
import databasePlugin, { database } from '@plinth/database'
import { definePlugin, defineProduct } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'
const create = defineChangeSet({
  id: '0001-create-order',
  up: ({ schema, type }) => [schema.createTable('shop_order').addColumn('id', type.id, (c) => c.primaryKey())],
})
const shop = definePlugin({
  id: 'shop', version: '1.0.0', kernel: '^1.0.0', requires: { database }, migrations: [create], setup() {},
})
export default defineProduct({ name: 'shop', plugins: [databasePlugin, shop] })
`

t.test('the commands of the upgrade guide run, and show the pending change set', async (t) => {
  const blocks = blocksRunBy(self)
  t.equal(blocks.length, 1)
  const cwd = t.testdir({ 'plinth.config.ts': product.replace('migrations: [create], ', '') })
  const env = { ...programEnvironment(), PATH: `${join(root, 'node_modules', '.bin')}:${process.env['PATH']}` }
  const run = (text: string) => spawnSync('bash', ['-euc', text], { cwd, env, encoding: 'utf8' })
  t.equal(run('plinth plugins lock').status, 0)
  writeFileSync(join(cwd, 'plinth.config.ts'), product)
  for (const { text } of blocks) {
    const { status, stdout, stderr } = run(text)
    t.equal(status, 0, stdout + stderr)
    t.match(stdout, /^act first +manifest +added +shop +change-sets: 0001-create-order$/m)
    t.match(stdout, /^ +change-sets +pending +shop +0001-create-order$/m)
    t.match(stdout, /"plinth plugins lock"/)
    t.match(stdout, /create table .shop_order./)
  }
})
