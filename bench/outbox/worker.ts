/**
 * Program of a process that delivers events. Its argument is the configuration as JSON. It sends `started`, and
 * responds to each message with the name of a measurement with the result.
 */
import { performance } from 'node:perf_hooks'
import { database } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import { events } from '@plinth/events'
import { nothing, outboxProduct } from './product.ts'

const singles = 300

let handled = () => {}
const running = await startForTest(
  outboxProduct(JSON.parse(process.argv[2] ?? ''), () => handled()),
  {
    roles: ['worker'],
  },
)
const db = running.service(database)
const bus = running.service(events)

/** Returns the milliseconds between the commit of an event and the call of its handler. */
async function waitOfOne(n: number): Promise<number> {
  let committedAt = 0
  const arrived = new Promise<number>((resolve) => {
    handled = () => resolve(performance.now())
  })
  await db.transactional(async () => {
    db.afterCommit(() => {
      committedAt = performance.now()
    })
    await bus.publish(nothing, { n })
  })
  return (await arrived) - committedAt
}

async function waits(): Promise<readonly number[]> {
  const found: number[] = []
  for (let n = 0; n < singles; n++) {
    found.push(await waitOfOne(n))
    await bus.idle()
  }
  return found
}

let before = process.cpuUsage()
process.on('message', async (call: 'mark' | 'deliver' | 'cpu' | 'waits') => {
  if (call === 'mark') before = process.cpuUsage()
  if (call === 'deliver') void bus.idle()
  const used = process.cpuUsage(before)
  process.send?.(call === 'waits' ? await waits() : (used.user + used.system) / 1_000_000)
})
process.once('disconnect', () => void running.stop('done'))
process.send?.('started')
