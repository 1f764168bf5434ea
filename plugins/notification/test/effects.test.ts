import { assertKeyEffect, type KeyValues, manualClock } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import eventsPlugin, { events } from '@plinth/events'
import t from 'tap'
import { channel } from './fixtures/channel.ts'
import { startSendLog } from './fixtures/send-log-product.ts'

const retry = 'platform.notification.retry'

t.test('a busy channel is called again as configured for retries', async (t) => {
  // With this random number, each retry takes place after its full delay. Other numbers would reduce the delay by up to
  // 50 %.
  t.intercept(Math, 'random', { value: () => 1 - Number.EPSILON })
  /** Returns the time of each attempt to send the message, in seconds. Observes the first 150 seconds. */
  const sendsWith = (config: Readonly<Record<string, string | number | boolean>>) => async (values: KeyValues) => {
    const at = await createDatabase('sqlite')
    t.teardown(() => at.drop())
    const [mail, clock] = [channel('mail', ['user']), manualClock()]
    const seconds: number[] = []
    mail.behave = async () => {
      seconds.push(clock.monotonic() / 1_000)
      return { outcome: 'deferred', errorCode: 'acme.busy', errorMessage: 'Busy' }
    }
    const { facade, list, running } = await startSendLog(t, at, {
      clock,
      plugins: [eventsPlugin, mail.plugin],
      config: { ...config, ...(values as typeof config) },
    })
    await facade.enqueue({ content: 'Hi', recipients: [{ kind: 'user', userId: 1 }] }, { channels: ['mail'] })
    await running.service(events).idle()
    while (clock.monotonic() < 150_000) {
      // The delay of a retry starts when the result is in the send log. `list` waits for that.
      await list()
      await clock.advance(10_000)
      await running.service(events).idle()
    }
    return seconds
  }
  const isQuick = { [`${retry}.first-delay`]: '10s' }
  const [enabled] = await assertKeyEffect(t, 'platform.notification.retry.enabled', {
    changed: false,
    observe: sendsWith(isQuick),
  })
  t.same([enabled?.before, enabled?.after], [[0, 10, 30, 70, 150], [0]])
  const [attempts] = await assertKeyEffect(t, 'platform.notification.retry.max-attempts', {
    changed: 2,
    observe: sendsWith(isQuick),
  })
  t.same(attempts?.after, [0, 10])
  const [factor] = await assertKeyEffect(t, 'platform.notification.retry.factor', {
    changed: 10,
    observe: sendsWith(isQuick),
  })
  t.same(factor?.after, [0, 10, 110])
  const [longest] = await assertKeyEffect(t, 'platform.notification.retry.longest-delay', {
    changed: '10s',
    observe: sendsWith({ ...isQuick, [`${retry}.factor`]: 10 }),
  })
  t.same([longest?.before, longest?.after], [[0, 10, 110], Array.from({ length: 12 }, (_, attempt) => attempt * 10)])
  const [first] = await assertKeyEffect(t, 'platform.notification.retry.first-delay', {
    changed: '10s',
    observe: sendsWith({}),
  })
  t.same(
    [first?.before, first?.after],
    [
      [0, 30, 90],
      [0, 10, 30, 70, 150],
    ],
  )
})
