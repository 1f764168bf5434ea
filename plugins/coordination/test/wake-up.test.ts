import { type InstanceMessages, WakeUpSignal } from '@plinth/coordination'
import { assertMembers, manualClock } from '@plinth/dev/testing'
import { pino } from 'pino'
import t from 'tap'

/** Creates two instances that share one channel. If `isDown` is true, publishing fails. */
function instances() {
  const clock = manualClock()
  const lines: { msg: string; failures?: number }[] = []
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) })
  const listeners = new Set<() => void>()
  const world = { clock, lines, messages: 0, isDown: false, woken: [0, 0] }
  const messages: InstanceMessages = {
    async publish() {
      world.messages += 1
      if (world.isDown) throw new Error('no Redis')
      for (const listener of listeners) listener()
    },
    async subscribe(_, listener) {
      const own = () => listener('')
      listeners.add(own)
      return async () => void listeners.delete(own)
    },
  }
  const wakeUps = [0, 1].map((index) => {
    const wake = () => {
      world.woken[index] = (world.woken[index] ?? 0) + 1
    }
    return new WakeUpSignal({ messages, channel: 'test', subject: 'things', wake, clock, log })
  }) as [WakeUpSignal, WakeUpSignal]
  return { world, wakeUps }
}

t.test(
  'many changes are combined into few messages, including the last one; a failure is logged in one line',
  async (t) => {
    const { world, wakeUps } = instances()
    const { clock, lines } = world
    const [first] = wakeUps
    for (let n = 0; n < 1_000; n++) first.send()
    t.equal(world.messages, 1)
    t.same(world.woken, [1_000, 0], 'this process is woken at once, each time')
    await clock.advance(100)
    t.equal(world.messages, 2, 'for what happened meanwhile')
    await clock.advance(1_000)
    t.equal(world.messages, 2)
    world.isDown = true
    for (let n = 0; n < 5; n++) {
      first.send()
      await clock.advance(100)
    }
    t.equal(lines.length, 1)
    assertMembers(t, lines, [{ channel: 'test', reason: 'no Redis' }])
    world.isDown = false
    first.send()
    await clock.advance(100)
    assertMembers(t, lines, [{}, { failures: 5 }])
    await first.stop()
    first.send()
    await clock.advance(100)
    t.equal(world.messages, 8)
  },
)

t.test('a listener is woken by other instances until it stops; messages sent before a stop still arrive', async (t) => {
  const { world, wakeUps } = instances()
  const [first, second] = wakeUps
  await second.listen()
  first.send()
  t.same(world.woken, [1, 1])
  first.send()
  t.same(world.woken, [2, 1], 'the second message waits for its time')
  await first.stop()
  t.same(world.woken, [2, 2], 'or for the stop')
  await second.stop()
  await second.stop()
  t.equal(world.clock.sleepers, 0)
})

t.test('a product of one process wakes itself', async (t) => {
  const clock = manualClock()
  const log = pino({ level: 'silent' })
  let woken = 0
  const wake = () => {
    woken += 1
  }
  const alone = new WakeUpSignal({ messages: undefined, channel: 'test', subject: 'things', wake, clock, log })
  await alone.listen()
  alone.send()
  await alone.stop()
  t.equal(woken, 1)
})

t.test('a process can wake the others without polling itself', async (t) => {
  const { world, wakeUps } = instances()
  const [first, second] = wakeUps
  await second.listen()
  first.tellOthers()
  t.same(world.woken, [0, 1])
  await first.stop()
  await second.stop()
})
