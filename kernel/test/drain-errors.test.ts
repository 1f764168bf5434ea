/** Tests what the product reports if a drain does not end in time. */

import { assertMembers, startForTest } from '@plinth/dev/testing'
import { definePlugin, defineProduct } from '@plinth/kernel'
import { StopFailedError } from '@plinth/kernel/host'
import t from 'tap'

t.test('K-009 the error of a late drain contains what the plugin still waits for', async (t) => {
  const slow = definePlugin({
    id: 'acme.slow',
    version: '1.0.0',
    kernel: '^1.0.0',
    setup({ onDrain }) {
      onDrain(
        (signal) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(new Error('The import "orders" still runs.')))
          }),
      )
    },
  })
  const product = defineProduct({
    name: 'test',
    plugins: [slow],
    config: { 'platform.kernel.drain-deadline': '1s' },
  })
  const running = await startForTest(product)
  const error = await running.stop('test ended').catch((thrown: unknown) => thrown)
  t.type(error, StopFailedError)
  const code = /^PLINTH_DEADLINE_PASSED$/
  const message = /^Plugin "acme\.slow" did not finish drain within \d+ ms\. The import "orders" still runs\.$/
  assertMembers(t, (error as StopFailedError).errors, [{ code, message }])
})
