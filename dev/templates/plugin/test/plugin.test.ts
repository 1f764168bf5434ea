import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startForTest } from '@plinth/dev/testing'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import { defineProduct } from '@plinth/kernel'
import sampleNamePlugin from '../src/plugin.ts'

test('the configured greeting is returned', async () => {
  const product = defineProduct({
    name: 'test',
    plugins: [httpPlugin, i18nPlugin, sampleNamePlugin],
    config: { 'platform.http.port': 0, 'platform.sample-name.greeting': 'Good morning' },
  })
  const running = await startForTest(product)
  try {
    const response = await running.service(http).inject('/api/v1/sample-name/greeting')
    assert.deepEqual(response.json().data, { greeting: 'Good morning' })
  } finally {
    await running.stop('test ended')
  }
})
