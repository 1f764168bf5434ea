import { webhookProviderCases } from '@plinth/notification-channels/webhook-conformance'
import t from 'tap'
import { samples } from './fixtures/samples.ts'

for (const [code, options] of Object.entries(samples)) {
  t.test(`N-050 N-051 N-053 N-054 N-055 N-056 N-057 ${code} keeps the contract of providers`, async (t) => {
    for (const { name, run } of webhookProviderCases(options)) t.test(name, run)
  })
}
