/** Tests messages that are cancelled or replaced by a key, for each race. */
import { assertMembers, rejectsWith, until } from '@plinth/dev/testing'
import { onDatabase, onEachDatabase } from '@plinth/dev/testing/database'
import type { DeliveryOutcome } from '@plinth/kernel'
import t from 'tap'
import { startQueue, users } from './fixtures/queue-product.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const unknown = { code: '404', reason: 'notification.key-unknown' }
const draft = (content: string, count = 1) => ({ content, recipients: users(count) })
const contents = (sent: readonly { readonly message: { readonly content: string } }[]) =>
  sent.map(({ message }) => message.content)

onEachDatabase(t, 'a key cancels what has not begun, and is not remembered', async (t, at) => {
  const { facade, mail, quiet, pass, idle, clock, messages, db } = await startQueue(t, at)
  const send = (content: string, options: object = {}) =>
    facade.enqueue(draft(content), { channels: ['mail'], cancelKey: 'order-7', ...options })
  const later = () => ({ notBefore: clock.now() + hourMs })

  await rejectsWith(t, facade.cancel('order-7'), unknown)
  await send('after an unknown key')
  await idle()
  t.same(contents(mail.sent.splice(0)), ['after an unknown key'], 'cancel before enqueue: no effect')

  const first = await send('waiting', later())
  quiet.set(9, clock.now() + hourMs)
  const recipients = [{ kind: 'user' as const, userId: 9 }]
  await facade.enqueue({ content: 'in quiet hours', recipients }, { channels: ['mail'], cancelKey: 'order-7' })
  await idle()
  await send('also waiting', later())
  await send('other key', { ...later(), cancelKey: 'order-8' })
  const result = await facade.cancel('order-7')
  t.equal(result.cancelled, 3)
  t.equal(result.tooLate.length, 1, 'the message that was sent is too late')
  t.same(await facade.cancel('order-7'), result, 'cancel twice: the same result')
  const undone = db.transactional(async () => {
    await facade.cancel('order-8')
    throw new Error('undo')
  })
  await rejectsWith(t, undone, { message: 'undo' })
  await pass(2 * hourMs)
  t.same(contents(mail.sent.splice(0)), ['other key'], 'a rollback, like a kill before the commit: as if not called')
  assertMembers(t, (await messages('state=cancelled')).items.at(-1), { id: first.id, outcomes: { accepted: 0 } })

  await rejectsWith(t, facade.cancel('order-9', { before: true }), { reason: 'notification.cancel-expiry-invalid' })
  const expiresAt = clock.now() + 31 * dayMs
  await rejectsWith(t, facade.cancel('order-9', { before: true, expiresAt }), { code: '400' })
  const remembered = { before: true, expiresAt: clock.now() + hourMs }
  t.same(await facade.cancel('order-9', remembered), { cancelled: 0, tooLate: [] })
  await send('before the expiry', { cancelKey: 'order-9' })
  t.same(await facade.cancel('order-9'), { cancelled: 1, tooLate: [] })
  await pass(2 * hourMs)
  await send('after the expiry', { cancelKey: 'order-9' })
  await idle()
  t.same(contents(mail.sent), ['after the expiry'])
})

onEachDatabase(t, 'a cancellation waits for a message that another transaction enqueues', async (t, at) => {
  const { facade, db, mail, pass, clock } = await startQueue(t, at)
  const options = { channels: ['mail'], cancelKey: 'order-7', notBefore: clock.now() + hourMs }
  const [isEnqueued, isCancelled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow = db.transactional(async () => {
    await facade.enqueue(draft('Hi'), options)
    isEnqueued.resolve()
    await Promise.race([isCancelled.promise, new Promise((resolve) => setTimeout(resolve, 500))])
  })
  await isEnqueued.promise
  const result = await facade.cancel('order-7').catch(({ reason }) => reason)
  isCancelled.resolve()
  await slow
  t.same(result, { cancelled: 1, tooLate: [] })
  await pass(2 * hourMs)
  t.same(mail.sent, [])
})

onEachDatabase(t, 'a part that has begun ends, and later parts do not begin', async (t, at) => {
  const { facade, mail, quiet, pass, idle, clock, messages } = await startQueue(t, at)
  const gate = Promise.withResolvers<DeliveryOutcome>()
  mail.behave = () => gate.promise
  quiet.set(2, clock.now() + hourMs)
  const { id, messageId } = await facade.enqueue(draft('Hi', 2), { channels: ['mail'], cancelKey: 'order-7' })
  await until(() => mail.sent.length === 1, 'the first part is sent', 5)
  const result = await facade.cancel('order-7')
  t.same(result, { cancelled: 0, tooLate: [{ id, messageId }] })
  gate.resolve({ outcome: 'accepted' })
  await idle()
  quiet.clear()
  await pass(2 * hourMs)
  t.same(
    mail.sent.map(({ message }) => message.recipients),
    [users(1)],
  )
  t.same(await facade.cancel('order-7'), result)
  assertMembers(t, (await messages()).items, [{ state: 'cancelled', outcomes: { accepted: 1 } }])
})

onEachDatabase(t, 'of several replacements the last commit is sent, once', async (t, at) => {
  const { facade, db, mail, pass, idle, clock, messages } = await startQueue(t, at)
  const replace = (content: string, options: object = {}) =>
    facade.enqueue(draft(content), { channels: ['mail'], replaceKey: 'order-7', ...options })
  const later = { notBefore: clock.now() + hourMs }
  await replace('first', later)
  await Promise.all(Array.from({ length: 8 }, (_, index) => replace(`together ${index}`, later)))
  // The later commit: the transaction that waits for the key of another one.
  const isOpen = Promise.withResolvers<void>()
  const slow = db.transactional(async () => {
    await replace('earlier commit', later)
    isOpen.resolve()
    await new Promise((resolve) => setTimeout(resolve, 50))
  })
  await isOpen.promise
  await Promise.all([slow, replace('later commit', later)])
  await facade.enqueue(draft('other user', 1), { channels: ['mail'], ...later, replaceKey: 'order-8' })
  t.match(await messages('state=queued'), { total: 2 })
  await pass(2 * hourMs)
  t.same(contents(mail.sent).sort(), ['later commit', 'other user'])

  await replace('after the send began')
  await idle()
  t.equal(contents(mail.sent).at(-1), 'after the send began', 'a mail that was sent is not replaced')
  const once = { idempotencyKey: 'event-1' }
  await replace('one call', once)
  await replace('one call', once)
  await idle()
  t.equal(mail.sent.length, 4)
  for (const options of [{ replaceKey: '' }, { cancelKey: 'x'.repeat(201) }])
    await t.rejects(facade.enqueue(draft('Hi'), options), RangeError)
  await t.rejects(facade.enqueue(draft('Hi', 2), { replaceKey: 'order-7' }), RangeError)
  const forAll = { content: 'Hi', recipients: [{ kind: 'all-users' as const }] }
  await t.rejects(facade.enqueue(forAll, { replaceKey: 'order-7' }), RangeError)
})

onDatabase(
  t,
  'a mail that waits for its next attempt is not sent after its cancellation or replacement',
  async (t, at) => {
    const { facade, mail, pass, idle, list } = await startQueue(t, at, {
      config: { 'platform.notification.retry.max-attempts': 3, 'platform.notification.retry.first-delay': '10s' },
    })
    const accept = mail.behave
    const defer: typeof mail.behave = async () => ({
      outcome: 'deferred',
      errorCode: 'acme.busy',
      errorMessage: 'Busy',
    })
    const send = async (content: string, behave: typeof mail.behave, options: object) => {
      mail.behave = behave
      await facade.enqueue(draft(content), { channels: ['mail'], ...options })
      await idle()
    }
    await send('cancelled', defer, { cancelKey: 'order-7' })
    await send('replaced', defer, { replaceKey: 'order-8' })
    t.match(await list('status=waiting'), { total: 2 })
    t.equal((await facade.cancel('order-7')).tooLate.length, 1)
    await send('replacement', accept, { replaceKey: 'order-8' })
    mail.sent.splice(0)
    await pass(hourMs)
    t.same(mail.sent, [])
    t.match(await list('status=failed'), { total: 2 })
  },
)

onDatabase(t, 'an operator cancels by key, and the audit records it', async (t, at) => {
  const { facade, request, clock, audits } = await startQueue(t, at)
  const cancel = (body: object) => request('POST', '/api/v1/admin/notification/messages/cancel', body)
  const later = { notBefore: clock.now() + hourMs }
  await facade.enqueue(draft('Hi'), { channels: ['mail'], cancelKey: 'order-7', ...later })
  assertMembers(t, await cancel({ key: 'order-7' }), { code: '200', data: { cancelled: 1, tooLate: [] } })
  t.hasStrict(await cancel({ key: 'order-8' }), { code: '404', data: { reason: 'notification.key-unknown' } })
  const expiresAt = new Date(clock.now() + hourMs).toISOString()
  t.hasStrict(await cancel({ key: 'order-8', before: true, expiresAt }), { code: '200' })
  t.hasStrict(await cancel({ key: 'order-8', before: true }), { code: '400', data: { field: 'expiresAt' } })
  t.same(
    audits.map(({ action, summary }) => [action, summary]),
    [
      ['notification-message.cancel-key', { key: 'order-7', cancelled: 1, tooLate: 0 }],
      ['notification-message.cancel-key', { key: 'order-8', cancelled: 0, tooLate: 0 }],
    ],
  )
})
