import { assertMembers, manualClock, until } from '@plinth/dev/testing'
import { onDatabase, onSqlite } from '@plinth/dev/testing/database'
import t from 'tap'
import { acceptSend } from './fixtures/channel.ts'
import { rejectSend, startSendLog } from './fixtures/send-log-product.ts'

const mobile = { kind: 'mobile', number: '13800138000' } as const
type Started = Awaited<ReturnType<typeof startSendLog>>

/** Sends messages that fail, and returns the ids of their rows in order. */
async function failures({ facade, sms, list }: Started, count: number): Promise<number[]> {
  sms.behave = rejectSend
  for (let sent = 0; sent < count; sent++) {
    await facade.send({ subject: `No. ${sent}`, content: 'Hi', recipients: [mobile] }, { channels: ['sms'] })
  }
  sms.sent.length = 0
  const { items } = await list(`channel=sms&retryableOnly=true&sort=id&size=${count}`)
  return items.map(({ id }: { id: number }) => id)
}

onDatabase(t, 'N-122 N-143 B26 a failed message is sent again unchanged, and each retry is a row', async (t, at) => {
  const product = await startSendLog(t, at)
  const { facade, sms, call, list, summary, table, audits } = product
  sms.behave = rejectSend
  const draft = {
    subject: 'Order 漢',
    content: 'Order 42',
    template: 'order.paid',
    variables: { total: 12.5, gift: true, note: null },
    recipients: [mobile, { kind: 'user', userId: 7 }] as const,
    attributes: { module: 'mall', order: { no: 42, tags: ['a'] }, traceId: 'trace-0001', absent: undefined },
    locale: 'zh-CN',
  }
  await facade.send(draft, { channels: ['sms'], idempotencyKey: 'order-42' })
  const first = (await list()).items[0].id
  const failed = await call('POST', `/${first}/retry`)
  t.hasStrict(failed, {
    code: '200',
    data: { id: first, result: { channel: 'sms', success: false, errorCode: 'acme.403' } },
  })
  const second = failed.data.logId
  assertMembers(t, (await list('sort=id')).items, [
    { id: first, status: 'retried', retryable: false, attempt: 1, retryOfId: null },
    {
      id: second,
      status: 'failed',
      retryable: true,
      attempt: 2,
      retryOfId: first,
      subject: 'Order 漢',
      traceId: 'trace-0001',
    },
  ])

  sms.behave = async () => ({ outcome: 'accepted', messageId: 'acme-7' })
  t.hasStrict(await call('POST', `/${second}/retry`), {
    code: '200',
    data: { result: { success: true, messageId: 'acme-7' } },
  })
  assertMembers(t, (await list('size=1')).items, [
    { status: 'success', attempt: 3, retryOfId: second, messageId: 'acme-7' },
  ])
  const none = { retryable: 0, failedLast24h: 0, counted: 'exact', sending: 0, unknown: 0, dead: 0, waiting: 0 }
  t.same(await summary(), { ...none, total: 3, success: 1, failed: 0, retried: 2 })

  const [original, ...again] = sms.sent
  t.equal(again.length, 2)
  for (const { message, context } of again) {
    t.same(message, JSON.parse(JSON.stringify(original?.message)), 'the same message')
    t.equal(context.idempotencyKey, 'order-42')
  }
  t.same(
    sms.sent.map(({ context }) => context.attempt),
    [1, 2, 3],
  )
  t.notMatch(await table(), mobile.number, 'a message that went out is not kept')
  assertMembers(t, audits, [
    { action: 'notification-send-log.retry', subject: first, actor: { userId: 1 } },
    { action: 'notification-send-log.retry', subject: second },
  ])
  t.equal(audits.length, 2)
})

onSqlite(t, 'N-144 B23 a message that did not fail or cannot be restored is rejected', async (t, at) => {
  const product = await startSendLog(t, at)
  const { facade, sms, pager, call, list, summary, audits, request } = product
  const [failed = 0] = await failures(product, 1)
  sms.behave = acceptSend
  await facade.send({ content: 'Hi', recipients: [mobile] }, { channels: ['sms'] })
  const success = (await list('size=1')).items[0].id
  pager.behave = rejectSend
  await facade.send({ content: 'Code 482913', variables: { code: '482913' }, secretVariables: ['code'] })
  const secret = (await list('size=1')).items[0].id
  const before = await summary()
  pager.sent.length = sms.sent.length = 0
  for (const [id, code, reason] of [
    [success, '409', 'send-log-not-failed'],
    [secret, '409', 'send-log-not-restorable'],
    [1, '404', 'send-log-not-found'],
  ] as const) {
    assertMembers(t, await call('POST', `/${id}/retry`), {
      status: 200,
      code,
      data: { reason: `notification.${reason}`, ids: [id] },
    })
  }
  t.hasStrict(await request('POST', '/api/v1/notification-send-logs/none/retry'), { code: '400' })
  t.equal((await call('POST', `/${failed}/retry`)).code, '200')
  t.match(await call('POST', `/${failed}/retry`), { code: /^409$/, message: /already retried/ }, 'once only')
  t.equal(sms.sent.length + pager.sent.length, 1)
  t.equal(audits.length, 1)
  t.same(await summary(), {
    ...before,
    total: before.total + 1,
    success: 2,
    failed: 1,
    retryable: 0,
    retried: 1,
    failedLast24h: 1,
  })
})

onDatabase(t, 'N-145 N-146 N-147 a batch is verified as a whole and then sent one by one', async (t, at) => {
  const product = await startSendLog(t, at)
  const { facade, sms, pager, call, list, summary, audits } = product
  const ids = await failures(product, 3)
  await facade.send({ content: 'Hi' })
  const success = (await list('size=1')).items[0].id
  pager.behave = rejectSend
  await facade.send({ content: 'Hi', attributes: { 'webhook.secret': 's3cr3t' } })
  const secret = (await list('size=1')).items[0].id
  const before = await summary()
  const batch = (body: object) => call('POST', '/retry-batch', body)
  for (const [bad, reason] of [
    [7, 'notification.send-log-not-found'],
    [success, 'notification.send-log-not-failed'],
    [secret, 'notification.send-log-not-restorable'],
  ] as const) {
    for (const requested of [
      [...ids, bad],
      [bad, ...ids],
    ]) {
      assertMembers(t, await batch({ ids: requested }), { code: /40[49]/, data: { reason, ids: [bad] } })
    }
  }
  const tooMany = Array.from({ length: 51 }, (_, index) => index + 1)
  for (const body of [{}, { ids: [] }, { ids: ['1'] }, { ids: [1.5] }, { ids: [0] }, { ids: tooMany }]) {
    t.hasStrict(await batch(body), { code: '400' }, JSON.stringify(body))
  }
  t.equal(sms.sent.length, 0, 'nothing was sent')
  t.same(await summary(), before)
  t.same(audits, [])

  let sending = 0
  let most = 0
  sms.behave = async (message) => {
    most = Math.max(most, ++sending)
    await new Promise(setImmediate)
    sending--
    return message.subject === 'No. 1' ? rejectSend(message, undefined as never) : { outcome: 'accepted' }
  }
  const [a, b, c] = ids as [number, number, number]
  const { code, data } = await batch({ ids: [c, a, b, a, c] })
  t.equal(code, '200')
  assertMembers(t, data, [
    { id: c, result: { success: true } },
    { id: a, result: { success: true } },
    { id: b, result: { success: false, errorCode: 'acme.403' } },
  ])
  t.equal(data.length, 3, 'duplicates count once')
  t.equal(most, 1, 'one after the other')
  t.same(
    sms.sent.map(({ message }) => message.subject),
    ['No. 2', 'No. 0', 'No. 1'],
  )
  const byId = new Map((await list('size=50')).items.map((item: { id: number }) => [item.id, item]))
  for (const { id, logId } of data) t.match(byId.get(logId), { retryOfId: id, attempt: 2 })
  assertMembers(t, audits, [{ action: 'notification-send-log.retry', summary: { ids: [c, a, b] } }])
  t.equal(audits.length, 1)
})

onDatabase(t, 'N-143 N-146 one of several concurrent retries sends', async (t, at) => {
  const product = await startSendLog(t, at)
  const { sms, call, summary } = product
  const ids = await failures(product, 6)
  sms.behave = async () => {
    await new Promise(setImmediate)
    return { outcome: 'accepted' }
  }
  const responses = await Promise.all([
    ...ids.flatMap((id) => [call('POST', `/${id}/retry`), call('POST', `/${id}/retry`)]),
    call('POST', '/retry-batch', { ids }),
    call('POST', '/retry-batch', { ids: ids.toReversed() }),
    call('POST', '/retry-batch', { ids: ids.slice(3) }),
  ])
  for (const { code, data } of responses) {
    if (code !== '200') assertMembers(t, [code, data.reason], ['409', 'notification.send-log-not-failed'])
  }
  const sent = sms.sent.map(({ message }) => message.subject)
  t.same(
    sent.toSorted(),
    ids.map((_, index) => `No. ${index}`),
    'every message once',
  )
  t.match(await summary(), { total: 12, success: 6, failed: 0, retried: 6 })
})

onSqlite(t, 'N-064 B43 a disabled or missing channel sends nothing, and the message stays failed', async (t, at) => {
  const product = await startSendLog(t, at)
  const { sms, call, summary, db, running } = product
  const [id = 0, other = 0] = await failures(product, 2)
  const before = await summary()
  sms.isEnabled = false
  t.hasStrict(await call('POST', `/${id}/retry`), { code: '503', data: { reason: 'notification.channel-disabled' } })
  assertMembers(t, await call('POST', '/retry-batch', { ids: [id, other] }), {
    code: '200',
    data: [
      { id, logId: null, result: { skipped: true, errorCode: 'notification.channel-disabled' } },
      { id: other, logId: null, result: { skipped: true } },
    ],
  })
  const enabled = 'platform.notification.enabled'
  await running.config.apply([{ name: enabled, by: 'key', written: false, place: 'test' }])
  sms.isEnabled = true
  t.hasStrict(await call('POST', `/${id}/retry`), { code: '503', data: { reason: 'notification.disabled' } })
  await running.config.apply([{ name: enabled, by: 'key', written: true, place: 'test' }])
  t.same(await summary(), before)

  await db.execute('update notification_send_log set channel = ? where id = ?', ['pigeon', other])
  t.hasStrict(await call('POST', '/retry-batch', { ids: [id, other] }), {
    code: '400',
    data: { reason: 'notification.channel-unknown', channel: 'pigeon' },
  })
  t.equal(sms.sent.length, 0)
  t.same(await summary(), before)
})

onDatabase(
  t,
  'B26 a retry of a dead process is unknown; messages that it did not reach are failed again',
  async (t, at) => {
    const dying = await startSendLog(t, at)
    const [id = 0, behind = 0] = await failures(dying, 2)
    let response = (_: Awaited<ReturnType<typeof acceptSend>>) => {}
    const begun = Promise.withResolvers<void>()
    dying.sms.behave = () => {
      begun.resolve()
      return new Promise((resolve) => {
        response = resolve
      })
    }
    const hanging = dying.call('POST', '/retry-batch', { ids: [id, behind] })
    await begun.promise

    const clock = manualClock(dying.clock.now())
    const other = await startSendLog(t, at, { clock })
    const run = (name: string) =>
      other.running.scheduledTasks
        .find((task) => task.name === `notification.send-log.${name}`)
        ?.run(new AbortController().signal)
    t.match(await other.summary(), { failed: 0, retried: 2, sending: 1 })
    t.hasStrict(await other.call('POST', `/${id}/retry`), { code: '409' }, 'it may still come to an end')
    await clock.advance(40_001)
    await run('settle')
    const { items } = await other.list('status=unknown')
    assertMembers(t, items, [
      { retryOfId: id, status: 'unknown', outcome: 'unknown', errorCode: 'notification.interrupted' },
    ])
    t.equal(other.sms.sent.length, 0, 'nothing sends it again by itself')
    t.match(await other.list('retryableOnly=true'), { total: 0 })

    await clock.advance(40_000)
    await run('purge')
    assertMembers(
      t,
      await other.list('retryableOnly=true'),
      { total: 1, items: [{ id: behind }] },
      'its turn never came',
    )
    t.match(await other.summary(), { total: 3, failed: 1, retried: 1, unknown: 1 })

    const unknown = items[0].id
    assertMembers(t, await other.call('POST', '/retry-batch', { ids: [behind, unknown] }), {
      code: '409',
      data: { reason: 'notification.send-log-not-failed', ids: [unknown] },
    })
    t.hasStrict(await other.call('POST', `/${unknown}/retry`), { code: '200', data: { result: { success: true } } })
    t.equal(other.sms.sent[0]?.context.idempotencyKey, dying.sms.sent[0]?.context.idempotencyKey)
    t.equal(other.sms.sent[0]?.context.attempt, 3)
    t.match(await other.summary(), { total: 4, success: 1, failed: 1, retried: 2, unknown: 0 })

    dying.sms.behave = acceptSend
    response({ outcome: 'accepted' })
    assertMembers(t, await hanging, {
      code: '409',
      data: { reason: 'notification.send-log-not-failed', ids: [behind] },
    })
    t.equal(dying.sms.sent.length, 1, 'its claim of the second one ran out')
  },
)

onDatabase(
  t,
  'B26 an outcome that arrives after a send counted as lost replaces the unknown outcome',
  async (t, at) => {
    const product = await startSendLog(t, at)
    const { sms, call, list, running, clock, facade, summary } = product
    const [id = 0] = await failures(product, 1)
    sms.behave = async () => {
      clock.shiftWallClock(60_000)
      const signal = new AbortController().signal
      await running.scheduledTasks.find(({ name }) => name === 'notification.send-log.settle')?.run(signal)
      t.match(await list('status=unknown'), { total: 1 })
      return { outcome: 'accepted' }
    }
    t.hasStrict(await call('POST', `/${id}/retry`), { code: '200', data: { result: { success: true } } })
    assertMembers(t, (await list('sort=id')).items, [
      { id, status: 'retried', retryable: false },
      { status: 'success' },
    ])
    assertMembers(t, await facade.send({ content: 'Hi', recipients: [mobile] }, { channels: ['sms'] }), [
      { success: true },
    ])
    t.match(await summary(), { total: 3, success: 2, retried: 1, unknown: 0, sending: 0 })
  },
)

onSqlite(t, 'N-143 a retry whose outcome cannot be recorded immediately is recorded later', async (t, at) => {
  const product = await startSendLog(t, at)
  const { sms, call, db, lines, clock, list } = product
  const [id = 0] = await failures(product, 1)
  sms.behave = async () => {
    await db.execute('alter table notification_send_log rename to gone')
    return { outcome: 'accepted' }
  }
  const { code, data } = await call('POST', `/${id}/retry`)
  assertMembers(t, [code, data], ['200', { id, logId: Number, result: { success: true } }])
  const logs = (text: string, stepMs: number) =>
    until(
      async () => {
        await clock.advance(stepMs)
        return lines.some(({ msg }) => msg === text)
      },
      text,
      0,
    )
  await logs('the send log cannot be written; the write is retried', 1)
  await db.execute('alter table gone rename to notification_send_log')
  assertMembers(t, (await list('status=sending')).items, [{ id: data.logId, retryOfId: id }])
  await logs('the send log can be written again', 250)
  assertMembers(t, (await list()).items, [
    { id: data.logId, status: 'success' },
    { id, status: 'retried' },
  ])
})
