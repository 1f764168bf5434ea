/** Tests a send that is repeated with the same idempotency key after its response was lost. */

import { until } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import { type CurrentCall, idempotency } from '@plinth/idempotency'
import { definePlugin } from '@plinth/kernel'
import t from 'tap'
import { acceptSend, channel } from './fixtures/channel.ts'
import { rejectSend, startSendLog } from './fixtures/send-log-product.ts'

onEachDatabase(
  t,
  'a repeated send returns the stored outcomes, and sends only what nobody can get twice',
  async (t, at) => {
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
    const box = channel('box', [], { idempotent: true })
    const { request, pager } = await startSendLog(t, at, { plugins: [calls, mail.plugin, box.plugin] })
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
    t.same(sent(), [2, 3])

    const accepted = ['accepted', null]
    t.same(await outcomes(4), [accepted, accepted], 'a call that was interrupted before its message was stored')
    t.same(await outcomes(4), [accepted, accepted])
    t.same(sent(), [3, 4], 'it is sent once')

    const held = Promise.withResolvers<void>()
    box.behave = async () => {
      await held.promise
      return { outcome: 'accepted' }
    }
    const lost = send(5, false, ['box', 'mail'])
    await until(() => box.sent.length === 1, 'the interrupted send')
    box.behave = acceptSend
    const repeated = (await send(5, true, ['box', 'mail'])).data
    t.strictSame(
      repeated.map((one: { outcome: string }) => one.outcome),
      ['accepted', 'accepted'],
      'a channel that skips recipients who have the message gets it again',
    )
    const keys = box.sent.map(({ message, context }) => [message.id, context.idempotencyKey])
    t.strictSame(keys, [keys[0], keys[0]], 'with the same keys')
    held.resolve()
    await lost
    t.same(sent(), [3, 5])
  },
)
