import { manualClock } from '@plinth/dev/testing'
import { RepeatedFailureLog } from '@plinth/kernel'
import t from 'tap'

function logOf(quiet?: ConstructorParameters<typeof RepeatedFailureLog>[2]) {
  const lines: [object, string][] = []
  const write = (fields: object, text: string) => void lines.push([fields, text])
  const log = new RepeatedFailureLog(
    { error: write, info: write } as never,
    { failing: 'no', over: 'yes again' },
    quiet,
  )
  return { log, lines }
}

t.test('a failure is logged when it begins, and with the number of failures when it is over', async (t) => {
  const { log, lines } = logOf()
  const [first, second] = [new Error('first'), new Error('second')]
  log.succeeded()
  for (const error of [first, second, second]) log.failed(error)
  log.succeeded()
  log.succeeded()
  log.failed(second)
  t.same(lines, [
    [{ reason: 'first' }, 'no'],
    [{ failures: 3 }, 'yes again'],
    [{ reason: 'second' }, 'no'],
  ])
})

t.test('failures that go on for some time are told from single ones', async (t) => {
  const clock = manualClock()
  const { log } = logOf({ clock, ms: 5_000 })
  t.equal(log.lastErrorAfter(0), undefined)
  const [first, last] = [new Error('first'), new Error('last')]
  log.failed(first)
  t.equal(log.lastErrorAfter(0), first)
  await clock.advance(10_000)
  log.succeeded()
  log.failed(first)
  await clock.advance(10_000)
  t.equal(log.lastErrorAfter(10_000), undefined, 'the time of one failure is not its pause')
  log.failed(last)
  t.equal(log.lastErrorAfter(10_000), last)
  t.equal(log.lastErrorAfter(10_001), undefined)
  await clock.advance(10_001)
  t.equal(log.lastErrorAfter(10_000), undefined, 'they are past')
  log.failed(last)
  t.equal(log.lastErrorAfter(1), undefined, 'and a later one begins again')
})

t.test('a success between failures does not end the series of failures', async (t) => {
  const clock = manualClock()
  const { log, lines } = logOf({ clock, ms: 60_000 })
  for (let round = 0; round < 100; round++) {
    log.failed(new Error('x'))
    await clock.advance(59_999)
    log.succeeded()
  }
  t.equal(lines.length, 1)
  await clock.advance(1)
  log.succeeded()
  t.same(lines.slice(1), [[{ failures: 100 }, 'yes again']])
})
