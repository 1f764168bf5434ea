import { readFileSync } from 'node:fs'
import { webhookProviderCases } from '@plinth/dev/conformance/webhook'
import t from 'tap'
import acmeAlerts from './plugin.ts'

const cases = webhookProviderCases({
  plugin: acmeAlerts,
  endpoint: 'https://alerts.acme.example/v1/rooms/room-4711',
  secret: 'acme-key-0815-4711',
  attributes: { 'webhook.acme-alerts.severity': 'critical' },
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
for (const { name, run } of cases) t.test(`N-047 ACME alerts: ${name}`, run)

t.test('N-013 the plugin has fewer than 40 lines', async (t) => {
  t.ok(
    readFileSync(new URL('plugin.ts', import.meta.url), 'utf8')
      .trimEnd()
      .split('\n').length < 40,
  )
})
