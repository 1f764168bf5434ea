/** Tests when a start checks the pages of the back office. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkPagesAtStart } from '../src/admin/page-check.ts'

t.test('production checks the pages again only if the lock file or a plugin has changed', async (t) => {
  const root = t.testdir({ cache: {} })
  const cacheDirectory = join(root, 'cache')
  let checks = 0
  let problems: readonly string[] = []
  const start = async (version = '1.0.0', options: { isProduction?: boolean; cacheDirectory?: undefined } = {}) => {
    const before = checks
    const kernel = { product: { root }, plugins: [{ id: 'acme.shop', version }] }
    const found = await checkPagesAtStart({ isProduction: true, cacheDirectory, kernel, ...options }, async () => {
      checks++
      return problems
    })
    return [checks - before, found]
  }
  problems = ['a page is wrong']
  t.same(await start(), [1, problems])
  t.same(await start(), [1, problems], 'a check with problems is repeated')
  problems = []
  t.same(await start(), [1, []])
  t.same(await start(), [0, []])
  t.same(await start('1.1.0'), [1, []])
  writeFileSync(join(root, 'plinth.lock.json'), '{}')
  t.same(await start('1.1.0'), [1, []])
  t.same(await start('1.1.0'), [0, []])

  t.same(await start('1.1.0', { isProduction: false }), [1, []], 'development always checks')
  t.same(await start('1.2.0', { cacheDirectory: undefined }), [0, []], 'without a cache')
  rmSync(cacheDirectory, { recursive: true })
  t.same(await start('1.2.0'), [0, []], 'without the directory of the cache')
})
