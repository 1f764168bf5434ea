/** Tests the result of a send that is repeated with the same idempotency key after its response was lost. */

import { until } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import { type CurrentCall, idempotency } from '@plinth/idempotency'
import { definePlugin } from '@plinth/kernel'
import t from 'tap'
import { channel } from './fixtures/channel.ts'
import { rejectSend, startSendLog } from './fixtures/send-log-product.ts'

onEachDatabase(t, 'a repeated send returns the stored outcomes and sends nothing', async (t, at) => {
  let current: CurrentCall | undefined
  const calls = definePlugin({
    id: 'test.calls',
    version: '1.0.0',
    kernel: '^1.0.0',
    provides: [idempotency],
    setup: ({ provide }) =>
      provide(idempotency, {
        run: () => Promise.reject(new Error('not used')),
        get current() {
          return current
        },
      }),
  })
  const mail = channel('mail')
  const { request, pager } = await startSendLog(t, at, { plugins: [calls, mail.plugin] })
  const send = async (id: number, isRepeated = false, channels: readonly string[] = ['pager', 'mail']) => {
    current = { id, isRepeated }
    return request('POST', '/api/v1/notifications/send', { channels, content: 'Hello' })
  }
  const sent = () => [pager.sent.length, mail.sent.length]
  const outcomes = async (id: number) =>
    (await send(id, true)).data.map((one: { outcome: string; errorCode: string | null }) => [
      one.outcome,
      one.errorCode,
    ])

  mail.behave = rejectSend
  const first = await send(1)
  t.same((await send(1, true)).data, first.data, 'the same results, with the texts of the provider')
  const rejected = await send(2, false, ['mail'])
  t.strictSame([rejected.code, rejected.data.reason], ['503', 'notification.delivery-failed'])
  t.equal((await send(2, true, ['mail'])).data.reason, rejected.data.reason)
  t.same(sent(), [1, 2])

  const gate = Promise.withResolvers<void>()
  mail.behave = async () => {
    await gate.promise
    return { outcome: 'accepted' }
  }
  const running = send(3)
  await until(() => mail.sent.length === 3, 'the interrupted send')
  const interrupted = ['unknown', 'notification.interrupted']
  await until(async () => (await outcomes(3))[0][0] === 'accepted', 'the stored outcome')
  t.same(await outcomes(3), [['accepted', null], interrupted])
  gate.resolve()
  await running
  t.same(await outcomes(4), [interrupted, interrupted], 'a claim without a message')
  t.same(sent(), [2, 3])
})
