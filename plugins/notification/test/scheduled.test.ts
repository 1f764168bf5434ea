/** Tests messages that operators schedule and cancel, and the number of recipients that they see before sending. */

import { assertMembers, until } from '@plinth/dev/testing'
import { onDatabase, onSqlite } from '@plinth/dev/testing/database'
import t from 'tap'
import { acceptSend, channel } from './fixtures/channel.ts'
import { startQueue, users } from './fixtures/queue-product.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const admin = '/api/v1/admin/notification'

onDatabase(t, 'N-001 a scheduled message is listed until it is sent, and can be cancelled', async (t, at) => {
  const { clock, db, audits, mail, pass, request, messages, list } = await startQueue(t, at)
  const schedule = async (subject: string, hours: number) => {
    const notBefore = new Date(clock.now() + hours * hourMs).toISOString()
    const body = { channels: ['mail'], recipientUserIds: [1], subject, content: 'Hi', notBefore }
    assertMembers(t, await request('POST', '/api/v1/notifications/send', body), {
      code: '200',
      data: [{ queued: true }],
    })
    return notBefore
  }
  const scheduled = async () => (await request('GET', `${admin}/scheduled-messages`)).data.items
  await schedule('Later', 3)
  const soon = await schedule('Soon', 1)
  await schedule('Never', 2)
  const [first, second, third] = await scheduled()
  t.hasStrict(first, { subject: 'Soon', state: 'queued', notBefore: soon, senderName: 'operator', recipientCount: 1 })
  t.strictSame([second.subject, third.subject], ['Never', 'Later'])

  const cancel = (id: number) => request('POST', `${admin}/messages/${id}/cancel`)
  t.hasStrict(await cancel(second.id), { code: '200', data: { state: 'cancelled', subject: 'Never' } })
  t.hasStrict(await cancel(second.id), { code: '409', data: { reason: 'notification.message-begun', id: second.id } })
  t.hasStrict(await cancel(1), { code: '404', data: { reason: 'notification.message-not-found', id: 1 } })
  const cancelled = await request('GET', `/api/v1/notifications/${second.id}`)
  t.hasStrict(cancelled, { data: { state: 'cancelled', finishedAt: new Date(clock.now()).toISOString() } })
  const found = audits.filter(({ action }) => action === 'notification-message.cancel')
  assertMembers(t, found, [{ subject: second.id, actor: { userId: 1 } }])
  t.equal(found.length, 1)
  const [stored] = await db.query('select payload from notification_message where id = ?', [second.id])
  t.strictSame(stored, { payload: null }, 'the content is deleted')

  await pass(hourMs - minuteMs)
  t.strictSame(mail.sent, [], 'nothing is sent before its time')
  await pass(minuteMs)
  t.strictSame(
    mail.sent.map(({ message }) => message.subject),
    ['Soon'],
  )
  await pass(2 * hourMs)
  t.strictSame(
    mail.sent.map(({ message }) => message.subject),
    ['Soon', 'Later'],
  )
  t.strictSame(await scheduled(), [])
  t.hasStrict(await cancel(first.id), { code: '409', data: { reason: 'notification.message-begun' } })
  assertMembers(t, await messages('state=cancelled'), { total: 1, items: [{ subject: 'Never' }] })
  t.hasStrict(await list(), { total: 2 })
})

onDatabase(t, 'N-001 a scheduled message survives a restart, and two instances send it once', async (t, at) => {
  const first = await startQueue(t, at)
  const { clock } = first
  const notBefore = clock.now() + hourMs
  await first.facade.enqueue({ content: 'Hi', recipients: users(3) }, { channels: ['mail'], notBefore })
  await first.running.stop('restart')
  const instances = [await startQueue(t, at, { clock }), await startQueue(t, at, { clock })] as const
  t.hasStrict((await instances[0].request('GET', `${admin}/scheduled-messages`)).data, { total: 1 })
  await instances[0].pass(hourMs, [instances[1]])
  const finished = async () => (await instances[1].messages('state=finished')).total === 1
  await until(finished, 'the message is sent')
  t.equal(first.mail.sent.length, 0)
  t.equal(instances.flatMap(({ mail }) => mail.sent).length, 1, 'one of the instances sends it')
})

onDatabase(t, 'N-001 a message that is cancelled while a worker prepares it is not sent', async (t, at) => {
  const { door, facade, idle, list, mail, messages, preparing, request } = await startQueue(t, at)
  const opens = Promise.withResolvers<void>()
  door.opens = opens.promise
  await facade.enqueue({ content: 'Hi', recipients: users(1) }, { channels: ['mail'] })
  await until(async () => preparing() > 0, 'a worker prepares the message')
  const { items } = await messages()
  t.hasStrict(await request('POST', `${admin}/messages/${items[0].id}/cancel`), { code: '200' })
  opens.resolve()
  await idle()
  t.strictSame(mail.sent, [])
  t.hasStrict(await list(), { total: 0 })
  assertMembers(t, await messages(), { items: [{ state: 'cancelled' }] })
})

onSqlite(t, 'N-001 the cleanup keeps a message until it is sent, however long it waits', async (t, at) => {
  const { clock, facade, messages, pass, running } = await startQueue(t, at)
  const purge = () =>
    running.scheduledTasks.find(({ name }) => name === 'notification.send-log.purge')?.run(new AbortController().signal)
  await facade.enqueue({ content: 'Old', recipients: users(1) }, { channels: ['mail'] })
  const notBefore = clock.now() + 200 * dayMs
  await facade.enqueue({ content: 'Later', recipients: users(1) }, { channels: ['mail'], notBefore })
  await pass(100 * dayMs)
  await purge()
  assertMembers(t, await messages(), { total: 1, items: [{ state: 'queued' }] })
  await pass(191 * dayMs)
  await purge()
  t.hasStrict(await messages(), { total: 0 })
})

onSqlite(t, 'N-001 before a send, the operator sees who gets the message on each channel', async (t, at) => {
  const post = channel('post', ['user'], {}, { reachable: async (ids) => new Set(ids.filter((id) => id < 4)) })
  const groups = channel('groups', ['websocket-group'])
  const plugins = [post.plugin, groups.plugin]
  const { mail, quiet, request, unwanted, clock } = await startQueue(t, at, { plugins })
  unwanted.add(2)
  quiet.set(1, clock.now() + hourMs)
  mail.isEnabled = false
  const channels = ['Post', 'mail', 'hook', 'groups']
  const answer = await request('POST', `${admin}/audience`, { channels, recipientUserIds: [1, 2, 3, 4, 5, 5] })
  const nobody = { reached: 0, withoutAddress: 0, withoutAddressIds: [], unwanted: 0, quiet: 0 }
  const users = { enabled: true, audience: 'users', withoutAddress: 0, withoutAddressIds: [] }
  t.strictSame(answer.data, [
    { ...users, channel: 'post', reached: 2, withoutAddress: 2, withoutAddressIds: [4, 5], unwanted: 1, quiet: 0 },
    { ...users, channel: 'mail', enabled: false, reached: 4, unwanted: 1, quiet: 1 },
    { ...nobody, channel: 'hook', enabled: true, audience: 'fixed' },
    { ...nobody, channel: 'groups', enabled: true, audience: 'none' },
  ])
  const many = Array.from({ length: 60 }, (_, index) => index + 4)
  const [post60] = (await request('POST', `${admin}/audience`, { channels: ['post'], recipientUserIds: many })).data
  t.equal(post60.withoutAddress, 60)
  t.strictSame(post60.withoutAddressIds, many.slice(0, 50), 'only the first users are listed')
  const ofAccount = { channels: ['mail'], recipientUserIds: [1, 2, 3], module: 'iam' }
  assertMembers(t, (await request('POST', `${admin}/audience`, ofAccount)).data, [{ reached: 3, unwanted: 0 }])
  const unknown = await request('POST', `${admin}/audience`, { channels: ['pigeons'] })
  t.hasStrict(unknown, { code: '400', data: { reason: 'notification.channel-unknown', field: 'channels' } })
})

onDatabase(
  t,
  'N-001 B26 a deferred message of an operator is sent later, also if its event was lost',
  async (t, at) => {
    const { request, hook, db, running, idle, pass, summary } = await startQueue(t, at)
    hook.behave = async () => ({
      outcome: 'deferred',
      errorCode: 'acme.busy',
      errorMessage: 'Busy',
      isAttempted: false,
      // The retry must not be due before its event is lost.
      retryAfterMs: 60_000,
    })
    const send = (body: object) => request('POST', '/api/v1/notifications/send', { content: 'Hi', ...body })
    const sent = await send({ channels: ['hook'] })
    t.hasStrict(sent, { code: '200' })
    assertMembers(t, sent.data, [{ outcome: 'deferred', success: false, queued: true }])
    t.hasStrict(await summary(), { waiting: 1, failed: 0 })
    hook.behave = acceptSend
    await db.execute(`delete from outbox_event where type = 'notification.retry'`)
    await pass(12 * 60_000)
    t.equal(hook.sent.length, 1)
    const settle = running.scheduledTasks.find(({ name }) => name === 'notification.send-log.settle')
    await settle?.run(new AbortController().signal)
    await idle()
    t.hasStrict(await summary(), { total: 1, success: 1, waiting: 0 }, 'a wait for a rate limit is no attempt')
    t.equal(hook.sent[1]?.context.attempt, 1)

    const recipientUserIds = Array.from({ length: 51 }, (_, index) => index + 1)
    const many = await send({ channels: ['mail'], recipientUserIds })
    assertMembers(t, many.data, [{ outcome: 'accepted', queued: true }], 'many recipients go to the queue')
  },
)
