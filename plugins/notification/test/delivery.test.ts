import type { Database } from '@plinth/database'
import { assertMembers, manualClock, rejectsWith, until } from '@plinth/dev/testing'
import { onDatabase, onSqlite, watchStatements } from '@plinth/dev/testing/database'
import { metrics } from '@plinth/http'
import { definePlugin, type NotificationMessage } from '@plinth/kernel'
import { MessageBuilder } from '@plinth/notification'
import t from 'tap'
import { retryDue } from '../src/send-log/send-log-writer.ts'
import { acceptSend, channel, type Send } from './fixtures/channel.ts'
import { startQueue, users } from './fixtures/queue-product.ts'

const hourMs = 3_600_000
const busy: Send = async () => ({ outcome: 'deferred', errorCode: 'acme.busy', errorMessage: 'Busy' })

/** Counts the rows that a retry has claimed but not yet sent. */
const claimed = async (db: Database) =>
  (await db.query("select id from notification_send_log where status = 'retried' and claimed_until is not null")).length

const recipientsOf = (sent: readonly { readonly message: NotificationMessage }[]) =>
  sent.map(({ message }) => message.recipients.length)

onDatabase(t, 'N-001 N-124 a queued message is sent in parts, and the list counts the outcomes', async (t, at) => {
  const product = await startQueue(t, at, { config: { 'platform.notification.retry.enabled': false } })
  const { facade, db, idle, messages, pigeon, mail, hook, list, summary, clock } = product
  const recipients = [...users(1_203), { kind: 'email' as const, address: 'ada@example.com' }]
  const draft = { subject: 'To many', content: 'Hi', recipients, attributes: { traceId: 'trace-0001' } }
  pigeon.behave = async (message) =>
    message.recipients.some((one) => 'userId' in one && one.userId === 7)
      ? busy(message, undefined as never)
      : { outcome: 'accepted' }
  hook.behave = async () => ({ outcome: 'rejected', errorCode: 'acme.403', errorMessage: 'No' })
  const { messageId } = await facade.enqueue(draft, { channels: ['Mail', 'pigeon', 'hook', 'mail'] })
  await idle()
  t.same(recipientsOf(mail.sent).sort(), [1_000, 203])
  t.equal(pigeon.sent.length, 1_203)
  t.ok(
    recipientsOf(pigeon.sent).every((count) => count === 1),
    'one recipient per send',
  )
  t.equal(new Set(pigeon.sent.map(({ context }) => context.idempotencyKey)).size, 1_203)
  t.same(recipientsOf(hook.sent), [1_000], 'a channel that needs no recipient gets it once')
  const { items } = await messages()
  assertMembers(t, items, [
    {
      messageId,
      subject: 'To many',
      channels: ['mail', 'pigeon', 'hook'],
      recipientCount: 1_204,
      state: 'finished',
      outcomes: { accepted: 1_204, rejected: 1, deferred: 1, unknown: 0, skipped: 0 },
      senderUserId: null,
      senderName: null,
      template: null,
      priority: 'normal',
      notBefore: null,
      traceId: 'trace-0001',
      createdAt: new Date(clock.now()).toISOString(),
      finishedAt: new Date(clock.now()).toISOString(),
    },
  ])
  t.match(await summary(), { total: 1_206, success: 1_204, failed: 2, retryable: 2, sending: 0 })
  const deliveries = await list(`notificationId=${items[0].id}&size=200&status=failed`)
  t.match(
    deliveries.items,
    [{ notificationId: items[0].id, recipientCount: 1 }, { channel: 'hook' }].toReversed().toSorted(),
  )

  const failed = (await list('channel=pigeon&retryableOnly=true')).items[0]
  pigeon.sent.length = 0
  pigeon.behave = acceptSend
  t.hasStrict(await product.call('POST', `/${failed.id}/retry`), { code: '200', data: { result: { success: true } } })
  assertMembers(t, pigeon.sent[0]?.message, { content: 'Hi', recipients: [{ kind: 'user', userId: 7 }], id: messageId })
  assertMembers(
    t,
    (await messages()).items,
    [{ outcomes: { accepted: 1_205, rejected: 1, deferred: 0 } }],
    'the newest try counts',
  )

  await clock.advance(1)
  await facade.enqueue({ content: 'Nobody' }, { channels: ['mail'] })
  await idle()
  assertMembers(t, (await list('size=1')).items, [{ channel: 'mail', errorCode: 'notification.recipient-missing' }])
  assertMembers(t, await messages('size=1'), { total: 2, items: [{ state: 'finished', outcomes: { rejected: 1 } }] })
  t.match(await messages('state=queued'), { total: 0 })
  const { plansOf } = watchStatements(db, 'notification_message')
  for (const query of ['size=1&count=none', 'size=1&count=none&state=finished', 'size=1&count=none&sort=id']) {
    for (const { sql, sorts } of await plansOf(() => messages(query))) t.notOk(sorts, `${query} sorts: ${sql}`)
  }
})

onDatabase(t, 'N-001 a message is queued in the surrounding transaction, and once per key', async (t, at) => {
  const { facade, db, idle, messages, mail, lines } = await startQueue(t, at)
  const draft = { content: 'Hi', recipients: users(1) }
  const options = { channels: ['mail'], idempotencyKey: 'order-42' }
  const undone = db.transactional(async () => {
    await facade.enqueue(draft, options)
    throw new Error('undo')
  })
  await rejectsWith(t, undone, { message: 'undo' })
  await idle()
  t.equal(mail.sent.length, 0)
  t.match(await messages(), { total: 0 })
  const [first, second] = [await facade.enqueue(draft, options), await facade.enqueue(draft, options)]
  const together = await Promise.all(Array.from({ length: 5 }, () => facade.enqueue(draft, options)))
  for (const { messageId } of [second, ...together]) t.equal(messageId, first.messageId)
  const reused = () => lines.filter(({ msg }) => /an idempotency key was used for two different/.test(String(msg)))
  t.same(reused(), [])
  for (const other of [
    { ...draft, content: 'Bye' },
    { ...draft, recipients: users(2) },
  ])
    t.equal((await facade.enqueue(other, options)).messageId, first.messageId)
  assertMembers(t, reused(), [{ messageId: first.messageId }, { messageId: first.messageId }])
  await facade.enqueue(draft, { ...options, idempotencyKey: 'order-43' })
  await idle()
  t.equal(mail.sent.length, 2)
})

onSqlite(t, 'N-019 K-016 messages that cannot be stored, and options out of range, are rejected', async (t, at) => {
  const { facade, messages, clock, table } = await startQueue(t, at)
  const draft = { content: 'Code 4829137', recipients: users(1) }
  for (const bad of [
    { ...draft, variables: { code: '4829137' }, secretVariables: ['code'] },
    { ...draft, attributes: { 'webhook.secret': 'x' } },
    { ...draft, recipients: [{ kind: 'social-openid' as const, openId: 'oXy' }] },
    { ...draft, attributes: { at: new Date(0) } },
    { ...draft, content: 'x'.repeat(1_100_000) },
  ]) {
    await rejectsWith(t, facade.enqueue(bad), { code: '400', reason: 'notification.not-durable' })
  }
  for (const [recipient, message] of [
    [5, /^recipients\[0\]\.kind must be one of user, /],
    [{ kind: 'pigeon' }, /^recipients\[0\]\.kind must be one of user, /],
    [{ kind: 'user' }, 'recipients[0].userId must be a whole number'],
    [{ kind: 'user', userId: '7' }, 'recipients[0].userId must be a whole number'],
    [{ kind: 'email', address: '' }, 'recipients[0].address must be a text'],
    [{ kind: 'social-openid' }, 'recipients[0].openId must be a text'],
  ] as const) {
    await rejectsWith(t, facade.enqueue({ ...draft, recipients: [recipient as never] }), { name: 'TypeError', message })
  }
  await rejectsWith(t, facade.enqueue(draft, { channels: ['telepathy'] }), {
    code: '400',
    reason: 'notification.channel-unknown',
  })
  await rejectsWith(t, facade.enqueue({ subject: ' ' }), { code: '400', reason: 'notification.message-empty' })
  const length = 'idempotencyKey must have 1 to 200 characters'
  for (const [options, message] of [
    [{ idempotencyKey: '' }, length],
    [{ idempotencyKey: 'x'.repeat(201) }, length],
    [{ notBefore: 1.5 }, 'notBefore must be whole milliseconds since the epoch'],
    [{ priority: 'urgent' as never }, 'priority must be normal or critical'],
  ] as const) {
    await rejectsWith(t, facade.enqueue(draft, options), { name: 'RangeError', message })
  }
  const latest = clock.now() + 366 * 24 * hourMs
  await rejectsWith(t, facade.enqueue(draft, { notBefore: latest + 1 }), {
    code: '400',
    reason: 'notification.not-before-too-far',
    message: /366 days/,
    data: { field: 'notBefore' },
  })
  t.match(await messages(), { total: 0 })
  t.notMatch(await table(), '4829137')
  const guests = { content: 'Hi', recipients: [{ kind: 'websocket-guest' as const }] }
  await facade.enqueue(guests, { notBefore: latest, idempotencyKey: 'x'.repeat(200), priority: 'critical' })
  assertMembers(t, await messages(), {
    total: 1,
    items: [{ priority: 'critical', notBefore: new Date(latest).toISOString() }],
  })
})

onDatabase(
  t,
  'N-001 quiet hours and a planned time delay a message; a critical message is sent immediately',
  async (t, at) => {
    const { facade, pass, idle, messages, mail, safe, quiet, clock } = await startQueue(t, at)
    const draft = { content: 'Hi', recipients: users(3) }
    quiet.set(2, clock.now() + 2 * hourMs)
    await facade.enqueue(draft, { channels: ['mail', 'safe'] })
    await idle()
    t.same(
      mail.sent.map(({ message }) => message.recipients),
      [[...users(1), ...users(1, 3)]],
    )
    t.same(recipientsOf(safe.sent), [3], 'what does not disturb is sent')
    assertMembers(t, (await messages()).items, [{ state: 'sending', outcomes: { accepted: 2, skipped: 0 } }])
    await facade.enqueue(draft, { channels: ['mail'], priority: 'critical' })
    await idle()
    t.same(recipientsOf(mail.sent), [2, 3])
    await pass(2 * hourMs + 60_000)
    quiet.clear()
    await pass(1)
    t.same(recipientsOf(mail.sent), [2, 3, 1], 'put off, not dropped')
    t.same(mail.sent.at(-1)?.message.recipients, users(1, 2))
    assertMembers(t, (await messages('sort=id')).items, [
      { state: 'finished', outcomes: { accepted: 3 } },
      { state: 'finished' },
    ])
  },
)

onSqlite(t, 'N-001 a push message waits for the end of quiet hours', async (t, at) => {
  const pushes = ['web-push', 'fcm'].map((code) => channel(code, ['user']))
  const { facade, pass, idle, quiet, clock } = await startQueue(t, at, { plugins: pushes.map(({ plugin }) => plugin) })
  quiet.set(1, clock.now() + hourMs)
  await facade.enqueue({ content: 'Hi', recipients: users(1) }, { channels: ['web-push', 'fcm'] })
  await idle()
  t.same(
    pushes.map(({ sent }) => sent.length),
    [0, 0],
  )
  quiet.clear()
  await pass(hourMs + 60_000)
  t.same(
    pushes.map(({ sent }) => sent.length),
    [1, 1],
  )
})

onDatabase(t, 'N-001 a message is not sent before its time', async (t, at) => {
  const { facade, pass, idle, messages, mail, clock } = await startQueue(t, at)
  const draft = { content: 'Hi', recipients: users(3) }
  await facade.enqueue(draft, { channels: ['mail'], notBefore: clock.now() + hourMs })
  await idle()
  t.equal(mail.sent.length, 0)
  assertMembers(t, (await messages('size=1')).items, [
    { state: 'queued', notBefore: new Date(clock.now() + hourMs).toISOString() },
  ])
  await pass(hourMs + 1)
  t.equal(mail.sent.length, 1)
})

onSqlite(
  t,
  'N-129 a message of an administrator is queued if it has a time, many recipients, or a recipient in quiet hours',
  async (t, at) => {
    const { request, pass, idle, messages, mail, safe, quiet, clock } = await startQueue(t, at)
    const send = (body: object) => request('POST', '/api/v1/notifications/send', { content: 'Hi', ...body })
    const queuedOn = (...channels: string[]) => ({
      code: '200',
      data: channels.map((channel) => ({ channel, success: true, outcome: 'accepted', queued: true })),
    })
    const toAll = { channels: ['mail', 'safe'], recipientUserIds: [1, 2, 3] }
    const atOnce = await send(toAll)
    assertMembers(t, atOnce, { code: '200', data: [{ channel: 'mail', success: true }, { channel: 'safe' }] })
    t.notOk('queued' in atOnce.data[0], 'at once when nobody sleeps')
    t.same([mail.sent.splice(0).length, safe.sent.splice(0).length], [1, 1])

    const notBefore = new Date(clock.now() + hourMs).toISOString()
    t.match(await send({ channels: ['mail'], recipientUserIds: [1], notBefore }), queuedOn('mail'))
    await idle()
    t.equal(mail.sent.length, 0)
    assertMembers(t, (await messages('size=1')).items, [{ state: 'queued', notBefore, senderUserId: 1 }])
    await pass(hourMs + 1)
    t.equal(mail.sent.splice(0).length, 1)

    quiet.set(2, clock.now() + 2 * hourMs)
    t.match(await send(toAll), queuedOn('mail', 'safe'))
    await idle()
    t.same(
      mail.sent.splice(0).map(({ message }) => message.recipients),
      [[...users(1), ...users(1, 3)]],
    )
    t.same(recipientsOf(safe.sent.splice(0)), [3], 'what does not disturb goes to all')
    const silent = await send({ ...toAll, channels: ['safe'] })
    t.notOk('queued' in silent.data[0], 'nor is it kept then')
    const critical = await send({ ...toAll, priority: 'critical' })
    t.notOk('queued' in critical.data[0])
    t.same(recipientsOf(mail.sent.splice(0)), [3], 'a critical one wakes')
    await pass(2 * hourMs + 60_000)
    t.same(
      mail.sent.splice(0).map(({ message }) => message.recipients),
      [users(1, 2)],
      'put off, not dropped',
    )

    quiet.clear()
    const many = Array.from({ length: 1_001 }, (_, index) => index + 1)
    t.match(await send({ channels: ['mail'], recipientUserIds: many }), queuedOn('mail'))
    await idle()
    t.same(recipientsOf(mail.sent).sort(), [1, 1_000])

    for (const [body, reason] of [
      [{ notBefore: new Date(clock.now() + 367 * 24 * hourMs).toISOString() }, 'notification.not-before-too-far'],
      [{ notBefore: 'soon' }, 'http.invalid-input'],
      [{ notBefore, attributes: { 'social.to-user': 'oXy' } }, 'notification.not-durable'],
      [{ notBefore, channels: ['telepathy'] }, 'notification.channel-unknown'],
    ] as const) {
      t.hasStrict(await send({ channels: ['mail'], recipientUserIds: [1], ...body }), { code: '400', data: { reason } })
    }
  },
)

onSqlite(t, 'N-032 N-109 recipients who disabled a channel are left out', async (t, at) => {
  const { facade, idle, messages, mail, pigeon, unwanted, list } = await startQueue(t, at)
  unwanted.add(2).add(3)
  assertMembers(t, await facade.send({ content: 'Hi', recipients: users(3) }, { channels: ['mail'] }), [
    { success: true },
  ])
  t.same(mail.sent.at(-1)?.message.recipients, users(1))
  assertMembers(t, await list('size=1'), { items: [{ recipientCount: 1 }] })
  const [left] = await facade.send({ content: 'Hi', recipients: users(2, 2) }, { channels: ['mail'] })
  t.hasStrict(left, { success: false, skipped: true, outcome: 'deferred', errorCode: 'notification.unwanted' })
  await rejectsWith(t, facade.sendTo('mail', { content: 'Hi', recipients: users(1, 2) }), {
    code: '503',
    reason: 'notification.unwanted',
  })
  const account = { content: 'Hi', recipients: users(2, 2), attributes: { module: 'account' } }
  assertMembers(t, await facade.send(account, { channels: ['mail'] }), [{ success: true }], 'judged by category')
  await facade.enqueue({ content: 'Hi', recipients: users(5) }, { channels: ['pigeon', 'mail'] })
  await idle()
  t.equal(pigeon.sent.length, 3)
  assertMembers(t, (await messages()).items, [{ state: 'finished', outcomes: { accepted: 4, skipped: 2 } }])
  t.match(await list('status=sending'), { total: 0 })
})

onDatabase(
  t,
  'B26 a message that a channel cannot send now is retried automatically if enabled, and finally given up',
  async (t, at) => {
    const { facade, pass, mail, safe, list, summary, call, idle, messages } = await startQueue(t, at, {
      config: {
        'platform.notification.retry.max-attempts': 3,
        'platform.notification.retry.first-delay': '10s',
        'platform.notification.retry.factor': 3,
        'platform.notification.retry.longest-delay': '20s',
      },
    })
    mail.behave = async () => ({
      outcome: 'deferred',
      errorCode: 'acme.busy',
      errorMessage: 'Busy',
      retryAfterMs: 15_000,
    })
    const draft = { content: 'Hi', recipients: users(1) }
    const enqueue = async (channels: readonly string[]) => {
      await facade.enqueue(draft, { channels })
      await idle()
    }
    await enqueue(['mail'])
    t.hasStrict(await summary(), { waiting: 1, failed: 0, retryable: 0, failedLast24h: 0 }, 'waiting is no failure')
    const [waiting] = (await list()).items
    t.hasStrict(waiting, { status: 'waiting', outcome: 'deferred', retryable: false })
    t.ok(waiting.nextAttemptAt, 'with its next attempt')
    t.hasStrict(await call('POST', `/${waiting.id}/retry`), {
      code: '409',
      data: { reason: 'notification.send-log-not-failed' },
    })
    await pass(14_000)
    t.equal(mail.sent.length, 1, 'not before the provider wants it')
    await pass(1_001)
    t.equal(mail.sent.length, 2)
    await list()
    await pass(20_001)
    t.equal(mail.sent.length, 3)
    await list()
    await pass(10 * hourMs)
    t.equal(mail.sent.length, 3, 'given up')
    t.match(await summary(), { total: 3, dead: 0, retried: 2, failed: 1, failedLast24h: 1, waiting: 0 })
    const [last] = (await list('status=failed')).items
    t.hasStrict(last, { attempt: 3, outcome: 'deferred', retryable: true })
    assertMembers(t, (await messages()).items, [{ state: 'finished', outcomes: { deferred: 1 } }])
    mail.behave = acceptSend
    t.hasStrict(await call('POST', `/${last.id}/retry`), { code: '200', data: { result: { success: true } } })

    const lost: Send = async () => ({ outcome: 'unknown', errorCode: 'acme.timeout', errorMessage: 'No answer' })
    mail.behave = safe.behave = lost
    mail.sent.length = safe.sent.length = 0
    await enqueue(['mail', 'safe'])
    mail.behave = safe.behave = async () => ({ outcome: 'rejected', errorCode: 'acme.403', errorMessage: 'No' })
    await enqueue(['safe'])
    mail.behave = safe.behave = busy
    const directly = await facade.send(draft, { channels: ['mail'] })
    assertMembers(t, directly, [{ outcome: 'deferred' }])
    t.notOk(directly[0]?.queued, 'the caller decides')
    await list()
    safe.behave = acceptSend
    await pass(10 * hourMs)
    t.equal(mail.sent.length, 2, 'what may have been sent is not sent again')
    t.equal(safe.sent.length, 3, 'unless the channel is idempotent; and what was rejected never is')
    t.equal(safe.sent[2]?.context.idempotencyKey, safe.sent[0]?.context.idempotencyKey)
    t.match(await summary(), { unknown: 1, failed: 2, sending: 0, waiting: 0 })
  },
)

onDatabase(t, 'B26 a process that was suspended between claim and send may not send', async (t, at) => {
  const still = await startQueue(t, at)
  still.mail.behave = async () => ({ outcome: 'rejected', errorCode: 'acme.403', errorMessage: 'No' })
  await still.facade.send({ content: 'Hi', recipients: users(1) }, { channels: ['mail'] })
  const id = (await still.list()).items[0].id
  const statusOf = async () => (await still.call('GET', `/${id}`)).data.status
  still.mail.behave = acceptSend
  const awakes = Promise.withResolvers<void>()
  still.door.opens = awakes.promise
  const first = still.call('POST', `/${id}/retry`)
  await until(async () => (await statusOf()) === 'retried', 'claimed by the one that stands still')

  const other = await startQueue(t, at, { clock: manualClock(still.clock.now() + hourMs) })
  const goesOn = Promise.withResolvers<void>()
  other.door.opens = goesOn.promise
  const second = other.call('POST', `/${id}/retry`)
  const claims = 'select claimed_until from notification_send_log where claimed_until > ?'
  const isTaken = async () => (await other.db.query(claims, [new Date(other.clock.now())])).length === 1
  await until(isTaken, 'claimed by the other one, because the first claim ran out')

  still.unwanted.add(1)
  awakes.resolve()
  t.hasStrict(await first, { code: '503', data: { reason: 'notification.unwanted' } })
  t.equal(await statusOf(), 'retried', 'what somebody else has claimed is not given back')
  still.unwanted.delete(1)

  const sleeps = Promise.withResolvers<void>()
  other.door.opens = sleeps.promise
  goesOn.resolve()
  t.hasStrict(await second, { code: '200', data: { result: { success: true } } })
  t.equal(other.mail.sent.length, 1)

  // Repeats the same steps with a claim whose message is then sent.
  still.mail.behave = async () => ({ outcome: 'rejected', errorCode: 'acme.403', errorMessage: 'No' })
  await still.facade.send({ content: 'Hi', recipients: users(1) }, { channels: ['mail'] })
  const next = (await still.list('retryableOnly=true')).items[0].id
  still.mail.behave = acceptSend
  const awakesAgain = Promise.withResolvers<void>()
  still.door.opens = awakesAgain.promise
  const late = still.call('POST', `/${next}/retry`)
  await until(async () => (await still.call('GET', `/${next}`)).data.status === 'retried', 'claimed')
  sleeps.resolve()
  other.door.opens = Promise.resolve()
  t.hasStrict(await other.call('POST', `/${next}/retry`), { code: '200', data: { result: { success: true } } })
  awakesAgain.resolve()
  assertMembers(t, await late, { code: '409', data: { reason: 'notification.send-log-not-failed', ids: [next] } })
  t.equal(still.mail.sent.length, 2, 'sent once by each that had the turn')
  t.equal(other.mail.sent.length, 2)
  t.match(await other.summary(), { total: 4, success: 2, retried: 2, failed: 0 })
})

onDatabase(t, 'B26 an expired claim does not change the row', async (t, at) => {
  const retry = { 'platform.notification.retry.enabled': true, 'platform.notification.retry.max-attempts': 2 }
  const dying = await startQueue(t, at, { config: retry })
  const { facade, mail, safe, pass, list, call, idle } = dying
  mail.behave = async () => ({ outcome: 'unknown', errorCode: 'acme.timeout', errorMessage: 'No answer' })
  safe.behave = busy
  await facade.enqueue({ content: 'Hi', recipients: users(1) }, { channels: ['mail', 'safe'] })
  await idle()
  await pass(10 * hourMs)
  t.match(await dying.summary(), { unknown: 1, failed: 1 })
  const ids = (await list()).items
    .filter(({ status }: { status: string }) => status !== 'retried')
    .map(({ id }: { id: number }) => id)
  const ends = Promise.withResolvers<void>()
  dying.door.opens = ends.promise
  const retries = ids.map((id: number) => call('POST', `/${id}/retry`))
  await until(async () => (await claimed(dying.db)) === 2, 'both are claimed')

  const other = await startQueue(t, at, { config: retry, clock: manualClock(dying.clock.now() + hourMs) })
  const purge = other.running.scheduledTasks.find(({ name }) => name === 'notification.send-log.purge')
  await purge?.run(new AbortController().signal)
  t.match(await other.summary(), { failed: 1, retryable: 1, unknown: 1, retried: 1 })
  t.hasStrict(
    await other.call('POST', '/retry-batch', { ids }),
    { code: '409' },
    'what may have been sent is in no batch',
  )
  ends.resolve()
  await Promise.all(retries)
})

onDatabase(t, 'B26 an automatic retry is not lost with the process that claimed it', async (t, at) => {
  const config = { 'platform.notification.retry.enabled': true, 'platform.notification.retry.first-delay': '10s' }
  const dying = await startQueue(t, at, { config })
  dying.mail.behave = busy
  await dying.facade.enqueue({ content: 'Hi', recipients: users(1) }, { channels: ['mail'] })
  await dying.idle()
  const ends = Promise.withResolvers<void>()
  dying.door.opens = ends.promise
  const passing = dying.pass(10_001)
  await until(async () => (await claimed(dying.db)) === 1, 'claimed')

  const other = await startQueue(t, at, { config, clock: manualClock(dying.clock.now()) })
  await other.db.execute(`update outbox_event set lease_token = null, next_at = ? where status = 'pending'`, [
    new Date(0),
  ])
  await other.idle()
  t.equal(other.mail.sent.length, 0, 'it may still be sent by the one that claimed it')
  await other.pass(2 * 60_000)
  t.equal(other.mail.sent.length, 1)
  t.match(await other.summary(), { total: 2, success: 1, retried: 1 })
  ends.resolve()
  await passing
  t.equal(dying.mail.sent.length, 1)
})

onSqlite(t, 'B26 an automatic retry is not lost with a process that claims the row at the same time', async (t, at) => {
  const config = { 'platform.notification.retry.enabled': true, 'platform.notification.retry.first-delay': '10s' }
  const { facade, mail, door, pass, list, bus, idle, db, summary } = await startQueue(t, at, { config })
  mail.behave = busy
  await facade.enqueue({ content: 'Hi', recipients: users(1) }, { channels: ['mail'] })
  await idle()
  const { id } = (await list()).items[0]
  mail.behave = acceptSend
  const ends = Promise.withResolvers<void>()
  door.opens = ends.promise
  const { transactional } = db
  // The automatic retry has read the row as waiting and begins the transaction in which it claims it.
  db.transactional = async (...parts) => {
    db.transactional = transactional
    await bus.publish(retryDue, { logId: id })
    await until(async () => (await claimed(db)) === 1, 'claimed by the retry that dies')
    door.opens = Promise.resolve()
    return db.transactional(...parts)
  }
  const passing = pass(10_001)
  await until(async () => (await claimed(db)) === 1 && door.opens !== ends.promise, 'the other attempt has ended')
  t.equal(mail.sent.length, 1)
  const later = pass(2 * 60_000)
  await until(() => mail.sent.length === 2, 'sent after the claim')
  t.equal(mail.sent.length, 2)
  t.match(await summary(), { total: 2, success: 1, retried: 1 })
  ends.resolve()
  await Promise.all([passing, later])
  t.equal(mail.sent.length, 2)
})

onSqlite(t, 'B26 an automatic retry is not lost with a response of the database', async (t, at) => {
  const config = { 'platform.notification.retry.enabled': true, 'platform.notification.retry.first-delay': '10s' }
  const { facade, mail, pass, idle, db, summary } = await startQueue(t, at, { config })
  mail.behave = busy
  await facade.enqueue({ content: 'Hi', recipients: users(1) }, { channels: ['mail'] })
  await idle()
  mail.behave = acceptSend
  const { transactional } = db
  let failures = 0
  db.transactional = async () => {
    failures++
    db.transactional = transactional
    throw new Error('The connection is gone')
  }
  await pass(10_001)
  t.equal(failures, 1)
  await pass(60_000)
  t.match(await summary(), { success: 1, retried: 1 })
})

onSqlite(t, 'N-001 a message that cannot be retried automatically is not stored for it', async (t, at) => {
  const { facade, pass, mail, list, db } = await startQueue(t, at)
  mail.behave = busy
  await facade.send({ content: 'Hi', recipients: users(1) }, { channels: ['mail'] })
  await list()
  await pass(100 * hourMs)
  t.equal(mail.sent.length, 1, 'off by default')
  t.same(await db.query('select id from outbox_event'), [])
})

onDatabase(t, 'N-032 a part of a dead process is continued where it stopped', async (t, at) => {
  const { facade, db, idle, mail, safe, list, messages } = await startQueue(t, at)
  const gate = Promise.withResolvers<void>()
  const begun: string[] = []
  const hang =
    (code: string): Send =>
    async () => {
      begun.push(code)
      await gate.promise
      return { outcome: 'accepted' }
    }
  mail.behave = hang('mail')
  safe.behave = hang('safe')
  const { messageId } = await facade.enqueue({ content: 'Hi', recipients: users(2) }, { channels: ['mail', 'safe'] })
  await until(() => begun.length >= 2, 'the calls have begun', 0)
  t.match(await list('status=sending'), { total: 2 }, 'recorded before it leaves')

  // In production, another process takes over only the events of a dead process. Here both processes are alive.
  const other = await startQueue(t, at)
  await db.execute('update outbox_event set lease_token = null, next_at = ?', [new Date(0)])
  await other.idle()
  t.equal(other.mail.sent.length, 0)
  assertMembers(t, other.safe.sent, [{ message: { id: messageId }, context: { attempt: 1 } }])
  t.equal(other.safe.sent[0]?.context.idempotencyKey, safe.sent[0]?.context.idempotencyKey)
  assertMembers(t, await other.list('status=unknown'), { total: 1, items: [{ channel: 'mail' }] })
  assertMembers(t, (await other.messages()).items, [{ state: 'finished', outcomes: { accepted: 1, unknown: 1 } }])

  gate.resolve()
  await idle()
  t.match(await list('status=success'), { total: 2 }, 'and what is known in the end counts')
  assertMembers(t, (await messages()).items, [{ outcomes: { accepted: 2, unknown: 0 } }])
})

onSqlite(
  t,
  'N-017 catalogue texts are in the language of the message, unless the channel translates them',
  async (t, at) => {
    const later = channel('later', [], { texts: 'as-written' })
    const shop = definePlugin({
      id: 'test.shop',
      version: '1.0.0',
      kernel: '^1.0.0',
      messages: {
        en: { shop: { paid: 'Order {{order}} is paid', title: 'Paid' } },
        'zh-CN': { shop: { paid: '订单 {{order}} 已支付', title: '已支付' } },
      },
    })
    const { facade, hook, idle, list, running } = await startQueue(t, at, { plugins: [later.plugin, shop] })
    const draft = { subject: 'messages.shop.title', content: '{messages.shop.paid}', variables: { order: 42 } }
    const channels = ['hook', 'later']
    await facade.send({ ...draft, locale: 'zh-CN' }, { channels })
    t.match(hook.last(), { subject: '已支付', content: '订单 42 已支付' })
    t.match(later.last(), { subject: draft.subject, content: draft.content })
    assertMembers(t, (await list('channel=hook')).items, [{ subject: '已支付' }])
    await facade.enqueue({ ...draft, locale: 'en' }, { channels })
    await idle()
    t.match(hook.last(), { subject: 'Paid', content: 'Order 42 is paid' })
    await facade.send({ subject: 'messages.shop.nothing', content: 'messages.shop.paid is a key' }, { channels })
    t.match(hook.last(), { subject: 'messages.shop.nothing', content: 'messages.shop.paid is a key' })

    const text = await running.service(metrics).metrics()
    t.match(text, /platform_notification_sends_total\{channel="hook",outcome="accepted"\} 3/)
    t.match(text, /platform_notification_send_seconds_count\{channel="later"\} 3/)
    t.match(text, /platform_notification_sends_open\{channel="hook"\} 0/)
  },
)

t.test('N-016 N-018 N-027 N-028 N-029 a message is built step by step, with recipients of every kind', async (t) => {
  const draft = new MessageBuilder()
    .subject('Paid')
    .content('Order {{order}}')
    .html('<p>Order</p>')
    .template('order.paid')
    .locale('zh-CN')
    .variable('order', 42)
    .variables({ total: 12.5, big: 10n ** 20n, gift: true, note: null, at: new Date(0) })
    .variable('order', '43')
    .secretVariable('code', 482913)
    .attribute('module', 'mall')
    .attributes({ orderNo: 43 })
    .toUser(7, 8)
    .toEmail('ada@example.com')
    .toMobile('13800138000')
    .toWebsocketUser(7)
    .toWebsocketSession('s-1')
    .toWebsocketGroup('staff')
    .toWebsocketGuests()
    .toSocialOpenid('oXy')
    .toTopic('news')
    .draft()
  t.same(draft, {
    subject: 'Paid',
    content: 'Order {{order}}',
    html: '<p>Order</p>',
    template: 'order.paid',
    locale: 'zh-CN',
    variables: {
      order: '43',
      total: '12.5',
      big: '100000000000000000000',
      gift: 'true',
      note: null,
      at: '1970-01-01T00:00:00.000Z',
      code: '482913',
    },
    secretVariables: ['code'],
    attributes: { module: 'mall', orderNo: 43 },
    recipients: [
      { kind: 'user', userId: 7 },
      { kind: 'user', userId: 8 },
      { kind: 'email', address: 'ada@example.com' },
      { kind: 'mobile', number: '13800138000' },
      { kind: 'websocket-user', userId: 7 },
      { kind: 'websocket-session', sessionId: 's-1' },
      { kind: 'websocket-group', group: 'staff' },
      { kind: 'websocket-guest' },
      { kind: 'social-openid', openId: 'oXy' },
      { kind: 'topic', topic: 'news' },
    ],
  })
})
