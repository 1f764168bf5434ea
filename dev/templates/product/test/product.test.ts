import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startForTest } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import product from '../../presets/standard/plinth.config.ts'

test('the product starts and is healthy', async () => {
  const running = await startForTest(product, {
    set: { 'platform.http.port': '0', 'platform.database.sqlite.file': ':memory:' },
  })
  try {
    const { statusCode } = await running.service(http).inject('/health/live')
    assert.equal(statusCode, 200)
  } finally {
    await running.stop('test ended')
  }
})
