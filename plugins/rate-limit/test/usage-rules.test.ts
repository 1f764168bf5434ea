import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertMembers, startForTest } from '@plinth/dev/testing'
import { defineProduct } from '@plinth/kernel'
import rateLimitPlugin, { rateLimiter } from '@plinth/rate-limit'
import memoryStore from '@plinth/rate-limit-stores/memory'
import t from 'tap'

const stores = ['local-token-bucket', 'memory', 'shared-bucket', 'shared-window']

t.test('R-059 the limiter and its stores load no code of identity or the open platform', async (t) => {
  const script = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context) } })
    for (const name of ${JSON.stringify(['@plinth/rate-limit', ...stores.map((store) => `@plinth/rate-limit-stores/${store}`)])}) await import(name)
    console.log(JSON.stringify(loaded))`
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script]
  const loaded: string[] = JSON.parse(
    execFileSync(process.execPath, args, { cwd: import.meta.dirname, encoding: 'utf8', timeout: 300_000 }),
  )
  const plugins = new Set(loaded.flatMap((url) => /\/plugins\/([^/]+)\//.exec(url)?.[1] ?? []))
  t.ok(plugins.has('rate-limit') && plugins.has('rate-limit-stores'), 'the limiter itself was loaded')
  for (const plugin of ['iam', 'open-platform']) t.notOk(plugins.has(plugin), `loads ${plugin}`)
})

t.test('R-059 the limiter works in a product without identity and open platform', async (t) => {
  const product = defineProduct({ name: 'test', plugins: [memoryStore, rateLimitPlugin] })
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  const take = () => running.service(rateLimiter).consume({ key: 'a', maxAttempts: 1 })
  assertMembers(t, [await take(), await take()], [{ allowed: true }, { allowed: false }])
})

t.test('R-002 its page says that it does not replace the limiter of a gateway', (t) => {
  t.match(
    readFileSync(join(import.meta.dirname, '../README.md'), 'utf8'),
    /does not replace the limiter of a\s+gateway/,
  )
  t.end()
})
