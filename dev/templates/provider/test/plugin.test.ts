import { test } from 'node:test'
import { webhookProviderCases } from '@plinth/dev/conformance/webhook'
import sampleNamePlugin from '../src/plugin.ts'

// Replace the samples with responses of your service.
const cases = webhookProviderCases({
  plugin: sampleNamePlugin,
  endpoint: 'https://sample-name.example.com/v1/rooms/room-4711',
  secret: 'key-0815-4711',
  attributes: { 'webhook.sample-name.severity': 'critical' },
  success: { body: { state: 'accepted', alert: 'a-17' } },
  failures: [
    {
      status: 401,
      body: { error: { code: 'key-unknown', message: 'no such key' } },
      outcome: 'rejected',
      code: 'key-unknown',
      hint: 'token-invalid',
    },
    { body: { error: { code: 'too-fast', message: 'slow down' } }, outcome: 'deferred', hint: 'rate-limited' },
  ],
})
for (const { name, run } of cases) test(name, () => run())
