/** Tests that work is measured in processor time, so that other programs do not change the result. */
import t from 'tap'
import { measureWork } from '../src/verify/process-watch.ts'

/** Uses the processor for this time. On a busy machine, it takes longer on the clock. */
function compute(ms: number): void {
  const begun = process.threadCpuUsage()
  for (;;) {
    const { user, system } = process.threadCpuUsage(begun)
    if ((user + system) / 1000 >= ms) return
  }
}

t.test('a blocked event loop is measured in processor time', async (t) => {
  const { lagMs, durationMs } = await measureWork(async () => compute(300))
  t.ok(lagMs >= 300, `${lagMs} ms`)
  t.ok(durationMs >= 300, `${durationMs} ms`)
})

t.test('a wait counts as duration and blocks nothing', async (t) => {
  const { result, lagMs, durationMs } = await measureWork(
    () => new Promise((resolve) => setTimeout(resolve, 300, 'done')),
  )
  t.equal(result, 'done')
  t.ok(durationMs >= 250, `${durationMs} ms`)
  t.ok(lagMs < 250, `${lagMs} ms`)
})

t.test('time in which another program has the processor does not count', async (t) => {
  // A synchronous wait looks like a thread that is ready and does not run.
  const { lagMs, durationMs } = await measureWork(async () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500)
  })
  t.ok(lagMs < 1000, `${lagMs} ms`)
  t.ok(durationMs < 1000, `${durationMs} ms`)
})
