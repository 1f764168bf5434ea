import perfHooks from 'node:perf_hooks'
import t from 'tap'
import { startHttp } from './start-http.ts'

t.test('a process is measured once, however many products it starts', async (t) => {
  const { monitorEventLoopDelay } = perfHooks
  t.teardown(() => Object.assign(perfHooks, { monitorEventLoopDelay }))
  let monitors = 0
  const counted: typeof monitorEventLoopDelay = (options) => {
    monitors++
    return monitorEventLoopDelay(options)
  }
  Object.assign(perfHooks, { monitorEventLoopDelay: counted })
  for (const name of ['first', 'second', 'third']) {
    const { call, running } = await startHttp(t)
    const { text } = await call('/metrics')
    t.match(text, /^nodejs_eventloop_lag_p99_seconds \S+$/m, name)
    t.match(text, /^process_cpu_user_seconds_total [\d.]+$/m, name)
    await running.stop('enough')
  }
  t.equal(monitors, 1)
})
