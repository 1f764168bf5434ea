import { rateLimitStoreCases } from '@plinth/dev/conformance'
import { startForTest } from '@plinth/dev/testing'
import { definePlugin, defineProduct, rateLimitStore } from '@plinth/kernel'
import t from 'tap'
import acmeSlidingWindow, { slidingWindowStore } from './plugin.ts'

const cases = rateLimitStoreCases((clock) => {
  const store = slidingWindowStore(clock)
  return { store, entries: store.size }
})
for (const { name, run } of cases) t.test(`ACME sliding window: ${name}`, run)

t.test('the plugin contributes the store', async (t) => {
  const owner = definePlugin({ id: 'owner', version: '1.0.0', kernel: '^1.0.0', extensionPoints: [rateLimitStore] })
  const product = await startForTest(defineProduct({ name: 'acme', plugins: [owner, acmeSlidingWindow] }))
  t.teardown(() => product.stop('test ended'))
  t.same([...product.contributions(rateLimitStore).keys()], ['acme-sliding-window'])
})
