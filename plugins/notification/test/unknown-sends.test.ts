/** A send with an unknown outcome is resolved by asking the provider, never by sending again. */
import { onEachDatabase } from '@plinth/dev/testing/database'
import { type NotificationChannel, type ProviderReport, sendReference } from '@plinth/kernel'
import { sendDeliveries } from '@plinth/notification'
import t from 'tap'
import { channel } from './fixtures/channel.ts'
import { startSendLog } from './fixtures/send-log-product.ts'

const mobile = { kind: 'mobile', number: '13800138000' } as const
const minuteMs = 60_000

onEachDatabase(t, 'a provider is asked about sends with an unknown outcome', async (t, at) => {
  const asked: string[] = []
  let answer: () => Promise<ProviderReport | undefined> = async () => undefined
  const ask: NotificationChannel['ask'] = (message, { reference, sentAt, signal }) => {
    const [recipient] = message.recipients
    t.same(recipient, mobile, 'the channel gets the original recipient')
    t.ok(sentAt <= clock.now() && !signal.aborted)
    asked.push(reference)
    return answer()
  }
  const telegraph = channel('telegraph', ['mobile'], {}, { ask })
  telegraph.behave = async () => ({ outcome: 'unknown', errorCode: 'telegraph.lost', errorMessage: 'Lost' })
  const { running, clock, facade, list, summary, lines, sms } = await startSendLog(t, at, {
    plugins: [telegraph.plugin],
  })
  const send = (idempotencyKey: string) =>
    facade.send({ content: 'Hello', recipients: [mobile] }, { channels: ['telegraph'], idempotencyKey })
  const settle = running.scheduledTasks.find(({ name }) => name === 'notification.send-log.settle')
  const run = async () => {
    const before = asked.length
    // The list waits until the outcomes of the sends are stored.
    await list()
    await settle?.run(new AbortController().signal)
    return asked.slice(before)
  }
  const stateOf = async () => {
    const { items } = await list('channel=telegraph&sort=id')
    return items.map(({ status, deliveryState }: Record<string, string>) => `${status} ${deliveryState}`)
  }
  await send('order-1')
  t.same(await stateOf(), ['unknown null'])
  const reference = sendReference('order-1')

  t.same(await run(), [reference])
  t.same(await stateOf(), ['unknown null'], 'the provider does not know the message yet')
  t.same(await run(), [], 'it is asked again after a pause')
  answer = () => Promise.reject(new Error('down'))
  clock.shiftWallClock(6 * minuteMs)
  t.same(await run(), [reference])
  t.same(await stateOf(), ['unknown null'])
  t.ok(lines.some(({ msg }) => msg === 'a provider could not be asked about a message'))
  clock.shiftWallClock(5 * minuteMs)
  t.same(await run(), [], 'the pause grows with the age')
  answer = async () => ({ provider: 'acme', state: 'delivered', detail: 'DELIVERED' })
  clock.shiftWallClock(20 * minuteMs)
  t.same(await run(), [reference])
  t.same(await stateOf(), ['success delivered'])
  t.hasStrict((await list('channel=telegraph')).items[0], {
    outcome: 'accepted',
    errorCode: null,
    deliveryDetail: 'DELIVERED',
  })
  t.equal((await summary()).unknown, 0)
  clock.shiftWallClock(60 * minuteMs)
  t.same(await run(), [], 'what is known is not asked again')

  answer = async () => ({ provider: 'acme', state: 'bounced' })
  for (const order of ['order-2', 'order-4']) await send(order)
  t.same(await run(), ['order-2', 'order-4'].map(sendReference), 'each of several sends')
  t.same(await stateOf(), ['success delivered', 'success bounced', 'success bounced'])
  sms.behave = telegraph.behave
  await facade.send({ content: 'Hello', recipients: [mobile] }, { channels: ['sms'] })
  t.same(await run(), [], 'a channel that cannot ask')
  answer = async () => undefined
  await send('order-3')
  clock.shiftWallClock(8 * 24 * 60 * minuteMs)
  t.same(await run(), [], 'the provider has no results of last week')
  t.equal(telegraph.sent.length, 4, 'nothing was sent again')
})

onEachDatabase(t, 'a report that arrives before the outcome of its send resolves the outcome', async (t, at) => {
  const { running, facade, list, summary, sms, clock } = await startSendLog(t, at)
  sms.behave = async () => {
    const report = { channel: 'sms', reference: sendReference('order-1'), state: 'delivered' } as const
    t.type(await running.service(sendDeliveries).apply({ ...report, at: clock.now() }), 'number')
    return { outcome: 'unknown', errorCode: 'sms.lost', errorMessage: 'Lost' }
  }
  await facade.send({ content: 'Hello', recipients: [mobile] }, { channels: ['sms'], idempotencyKey: 'order-1' })
  t.hasStrict((await list()).items[0], {
    status: 'success',
    outcome: 'accepted',
    errorCode: null,
    deliveryState: 'delivered',
  })
  t.hasStrict(await summary(), { success: 1, unknown: 0 })
})
