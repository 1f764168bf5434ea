/** What keys of the installation do that no other test is about. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDatabase } from '@plinth/database/testing'
import sharedStorePlugin from '@plinth/shared-store'
import t from 'tap'
import { startInstall } from './fixtures/product.ts'

t.test('effects of platform.install.{config-file,execution-log-file}: the files that it writes', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const config = {
    'platform.install.config-file': 'shop.env',
    'platform.install.execution-log-file': 'data/own/run.log',
  }
  const { install, form, root } = await startInstall(t, db, { plugins: [sharedStorePlugin], config })
  const body = { ...form, site: { ...form.site, defaultLocale: 'zh-CN' } }
  t.match((await install('execute', { body })).data, { passed: true })
  t.match(readFileSync(join(root, 'shop.env'), 'utf8'), /zh-CN/)
  t.notOk(existsSync(join(root, '.env')))
  t.match(readFileSync(join(root, 'data/own/run.log'), 'utf8'), /config-write/)
  t.notOk(existsSync(join(root, 'data/storage/install/execution.log')))
})
