import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rateLimitStoreCases } from '@plinth/dev/conformance'
import { startForTest } from '@plinth/dev/testing'
import { definePlugin, defineProduct, rateLimitStore } from '@plinth/kernel'
import sampleNamePlugin, { createSampleNameStore } from '../src/plugin.ts'

const cases = rateLimitStoreCases((clock) => {
  const store = createSampleNameStore(clock)
  return { store, entries: store.size }
})
for (const { name, run } of cases) test(name, () => run())

test('the plugin contributes the store', async () => {
  const owner = definePlugin({ id: 'owner', version: '1.0.0', kernel: '^1.0.0', extensionPoints: [rateLimitStore] })
  const running = await startForTest(defineProduct({ name: 'test', plugins: [owner, sampleNamePlugin] }))
  try {
    assert.deepEqual([...running.contributions(rateLimitStore).keys()], ['sample-name'])
  } finally {
    await running.stop('test ended')
  }
})
