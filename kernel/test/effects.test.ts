/** What keys of the kernel do that no other test is about. */
import { manualClock, startForTest } from '@plinth/kernel/testing'
import t from 'tap'
import { plugin, productOf } from './sample-plugin.ts'

t.test('how long a plugin may take to drain and to stop', async (t) => {
  const clock = manualClock()
  const never = () => new Promise<void>(() => {})
  let stopsAt = 0
  const stuck = plugin('stuck', {
    setup({ onDrain, onStop }) {
      onDrain(never)
      onStop(() => {
        stopsAt = clock.monotonic()
        return never()
      })
    },
  })
  const set = { 'platform.kernel.drain-deadline': '3s', 'platform.kernel.stop-deadline': '7s' }
  const running = await startForTest(productOf([stuck]), { clock, set })
  const stopped = running.stop('test ended').catch((error: unknown) => error)
  await clock.advance(3000)
  t.equal(stopsAt, 3000, 'effect of platform.kernel.drain-deadline')
  await clock.advance(7000)
  t.match(
    await stopped,
    { code: 'PLINTH_STOP_FAILED', message: /stop within 7000 ms/ },
    'effect of platform.kernel.stop-deadline',
  )
})
