/** Tests that items are collected once, in order, and sent in one message. */
import { manualClock, rejectsWith, until } from '@plinth/dev/testing'
import { onEachDatabase, onSqlite } from '@plinth/dev/testing/database'
import { forumTopicLiked } from '@plinth/events'
import type { NotificationMessage } from '@plinth/kernel'
import { notification } from '@plinth/notification'
import { notificationRules } from '@plinth/notification-rules'
import t from 'tap'
import { root, startDigests } from './fixtures/product.ts'

const [minuteMs, hourMs] = [60_000, 3_600_000]
const dayMs = 24 * hourMs
const ann = 11

/** Returns number and items of the messages. */
const contentsOf = (sent: readonly NotificationMessage[]) =>
  sent.map(({ variables }) => {
    const { count, items } = variables as unknown as { count: number; items: readonly { readonly n: number }[] }
    return { count, items: items.map(({ n }) => n) }
  })

onEachDatabase(
  t,
  'two callers at the same moment on two instances open one digest, and each item counts once',
  async (t, at) => {
    const clock = manualClock(Date.UTC(2027, 2, 1, 9))
    const one = await startDigests(t, at, { clock })
    const two = await startDigests(t, at, { clock })
    await one.define('likes', { itemsShown: 5 })
    const add = ({ digests }: typeof one, n: number, userIds = [ann]) =>
      digests.add({ digest: 'likes', userIds, subjectKey: 'topic 5', itemKey: `like ${n}`, data: { n } })
    await Promise.all([add(one, 1), add(two, 2)])
    for (let n = 3; n <= 7; n++) t.equal(await add(n % 2 === 0 ? one : two, n, [ann, 12]), 'collected')
    // A caller that does not know whether its call succeeded calls again.
    await Promise.all([add(one, 7), add(two, 7), add(one, 3)])
    t.equal((await one.db.query('select id from digest')).length, 2)

    clock.shiftWallClock(hourMs)
    await Promise.all([one.close(), two.close(), one.close()])
    const sent = [...one.mail, ...two.mail]
    t.equal(sent.length, 2, 'one message each, also if two instances close')
    const contentOf = (userId: number) =>
      contentsOf(sent.filter(({ recipients }) => recipients.some((to) => 'userId' in to && to.userId === userId)))[0]
    const { count, items = [] } = contentOf(ann) ?? {}
    t.equal(count, 7, 'the exact number')
    t.same(items.slice(0, 2).toSorted(), [1, 2], 'the first two in any order')
    t.same(items.slice(2), [3, 4, 5], 'no more items than the message shows')
    t.same(contentOf(12), { count: 5, items: [3, 4, 5, 6, 7] })

    await add(one, 3)
    t.equal((await one.db.query("select id from digest where state = 'open'")).length, 0, 'also not in the next digest')
    await add(one, 8)
    clock.shiftWallClock(hourMs)
    await Promise.all([one.close(), two.close()])
    const later = [...one.mail, ...two.mail].filter((message) => !sent.includes(message))
    t.same(contentsOf(later), [{ count: 1, items: [8] }], 'a late item opens the next digest')
  },
)

onEachDatabase(t, 'a rollback removes an item, and a retried close sends one message', async (t, at) => {
  const { digests, define, db, close, closer, mail, bus } = await startDigests(t, at)
  await define('news')
  const undone = db.transactional(async () => {
    await digests.add({ digest: 'news', userIds: [ann], data: { n: 1 } })
    throw new Error('undo')
  })
  await rejectsWith(t, undone, { message: 'undo' })
  t.equal((await db.query('select id from digest')).length, 0)
  await digests.add({ digest: 'news', userIds: [ann], data: { n: 2 } })
  const [{ id } = { id: 0 }] = await db.query<{ id: unknown }>('select id from digest')
  const failed = db.transactional(async () => {
    t.equal(await closer.close(Number(id)), true)
    throw new Error('the process dies before the commit')
  })
  await rejectsWith(t, failed, { message: /dies/ })
  t.same(await Promise.all([closer.close(Number(id)), closer.close(Number(id))]).then((all) => all.toSorted()), [
    false,
    true,
  ])
  await bus.idle()
  await close()
  t.same(contentsOf(mail), [{ count: 1, items: [2] }])
})

onSqlite(t, 'each kind of window has its own end, and quiet hours postpone it', async (t, at) => {
  const clock = manualClock(Date.UTC(2027, 2, 1, 9))
  const { digests, define, prefer, close, mail } = await startDigests(t, at, { clock })
  await define('fixed', { windowSeconds: 600 })
  await define('sliding', { kind: 'sliding', windowSeconds: 600, maxSeconds: 1_500 })
  await define('daily', { kind: 'slots', slots: ['daily 08:00', 'daily 20:00'] })
  const ends: Record<string, number> = {}
  const start = clock.now()
  const isEnded = () => Object.keys(ends).length === 3
  for (let minute = 0; minute <= 24 * 60 && !isEnded(); minute += 5) {
    if (minute < 60)
      for (const digest of minute < 5 ? ['fixed', 'sliding', 'daily'] : ['sliding']) {
        if (ends[digest] === undefined) await digests.add({ digest, userIds: [ann], data: { n: minute } })
      }
    await close()
    for (const { attributes } of mail.splice(0)) ends[String(attributes['digest'])] ??= (clock.now() - start) / minuteMs
    clock.shiftWallClock(5 * minuteMs)
  }
  t.same(ends, { fixed: 10, sliding: 25, daily: 11 * 60 })

  // It is 20:05 now. The person is in Tokyo, where the time is 05:05, and has quiet hours from 22:00 to 09:00.
  await prefer(ann, { timeZone: 'Asia/Tokyo', quiet: [22 * 60, 9 * 60] })
  await define('inbox', { windowSeconds: 600, channels: ['database'] })
  await digests.add({ digest: 'fixed', userIds: [ann], data: { n: 1 } })
  await digests.add({ digest: 'inbox', userIds: [ann], data: { n: 1 } })
  clock.shiftWallClock(2 * hourMs)
  await close()
  t.same(mail, [])
  await digests.add({ digest: 'fixed', userIds: [ann], data: { n: 2 } })
  clock.shiftWallClock(2 * hourMs)
  await close()
  t.same(
    contentsOf(mail.splice(0)),
    [{ count: 2, items: [1, 2] }],
    'after quiet hours, with the items that came meanwhile',
  )
})

onSqlite(t, 'a person who changes the time zone gets each local date once', async (t, at) => {
  const clock = manualClock(Date.UTC(2027, 2, 1, 12))
  const { digests, define, prefer, close, mail } = await startDigests(t, at, { clock })
  await define('daily', { kind: 'slots', slots: ['daily 08:00'] })
  const sent: string[] = []
  const zones = ['Asia/Tokyo', 'America/Los_Angeles', 'Europe/Berlin', 'Pacific/Auckland', 'America/New_York']
  let n = 0
  for (const zone of zones) {
    await prefer(ann, { timeZone: zone })
    for (let hour = 0; hour < 60; hour++) {
      await digests.add({ digest: 'daily', userIds: [ann], data: { n: n++ } })
      clock.shiftWallClock(hourMs)
      await close()
      for (const _ of mail.splice(0))
        sent.push(new Date(clock.now()).toLocaleString('sv', { timeZone: zone }).slice(0, 13))
    }
  }
  const dates = sent.map((local) => local.slice(0, 10))
  t.same(dates, [...new Set(dates)].toSorted(), sent.join())
  // The first digest in Berlin was opened in Los Angeles: its date is over in Berlin, so it is sent immediately.
  t.ok(sent.length >= 10, sent.join())
})

onSqlite(t, 'sixteen likes give one inbox item and one mail; without the digest, each of them does', async (t, at) => {
  const clock = manualClock(Date.UTC(2027, 2, 1, 9))
  const product = await startDigests(t, at, { clock, config: { 'platform.digest.auto-startup': true } })
  const { bus, db, mail, close, login } = product
  await until(
    async () => (await db.query('select id from digest_definition')).length === 3,
    'the declared digests exist',
    5,
  )
  const call = await login()
  const like = (from: number) =>
    bus.publish(forumTopicLiked, {
      topicId: 5,
      topicTitle: 'Tomatoes',
      topicAuthorId: ann,
      userId: from,
      userName: `u${from}`,
    })
  const items = async () => (await db.query('select id from notification_inbox_item')).length
  await like(20)
  await bus.idle()
  t.equal(await items(), 1, 'the digest is off')

  const { data } = await call('GET', `${root}/definitions?keyword=forum.topic.liked`)
  const { id, version } = data.items[0]
  const change = { enabled: true, channels: ['database', 'mail'], windowSeconds: 60, version }
  t.hasStrict(await call('PUT', `${root}/definitions/${id}`, change), { code: '200' })
  for (let from = 100; from < 116; from++) await like(from)
  await bus.idle()
  t.equal(await items(), 1)
  clock.shiftWallClock(minuteMs)
  await close()
  t.equal(await items(), 2)
  const shown = mail.map(({ subject, content, attributes }) => [subject, content, attributes['topicId']])
  t.same(shown, [['Tomatoes was liked', '16 people liked your topic Tomatoes.', 5]])
  const [stored] = await db.query<{ content: string }>(
    'select content from notification_inbox_content order by id desc limit 1',
  )
  t.equal(
    stored?.content,
    'messages.notification-linkage.digest.forum.topic.liked.content',
    'in the language of the reader',
  )
})

onSqlite(t, 'critical items and alerts of a rule with a digest', async (t, at) => {
  const clock = manualClock(Date.UTC(2027, 2, 1, 9))
  const { running, digests, define, db, bus, close, mail, login } = await startDigests(t, at, { clock })
  t.equal(await digests.add({ digest: 'alerts', userIds: [ann] }), 'off', 'an unknown digest')
  await define('alerts', { windowSeconds: 60 })
  const critical = { digest: 'alerts', userIds: [ann], itemKey: 'fire', data: { n: 1 }, priority: 'critical' } as const
  t.same([await digests.add(critical), await digests.add(critical)], ['sent', 'sent'])
  await bus.idle()
  t.same(contentsOf(mail.splice(0)), [{ count: 1, items: [1] }], 'once, immediately')
  t.equal((await db.query('select id from digest')).length, 0)

  const call = await login()
  const { data: me } = await call('GET', '/api/v1/iam/users/me')
  const rule = {
    code: 'queue.job-failed',
    channels: ['mail'],
    recipientUserIds: [me.id],
    digest: 'alerts',
  }
  t.hasStrict(await call('POST', '/api/v1/notification-rules', rule), { code: '200', data: { digest: 'alerts' } })
  const rules = running.service(notificationRules)
  for (let n = 1; n <= 3; n++) await rules.raise({ code: rule.code, dedupeKey: 'mails', variables: { n } })
  await bus.idle()
  t.same(mail, [])
  clock.shiftWallClock(minuteMs)
  await close()
  t.same(contentsOf(mail.splice(0)), [{ count: 3, items: [1, 2, 3] }])
  const large = { dedupeKey: 'mails', variables: { n: 4, text: 'x'.repeat(20_000) } }
  await rules.raise({ code: rule.code, ...large })
  await bus.idle()
  t.same(
    mail.splice(0).map(({ variables }) => variables['n']),
    [4],
    'an alert that is too large for a digest is sent alone',
  )
  t.equal(await digests.add({ digest: 'alerts', userIds: [ann], subjectKey: '🦉'.repeat(200) }), 'collected')
  const body = {
    code: 'long',
    channel: 'all',
    locale: 'en',
    subject: '{{count}}',
    content: '{{#each items}}{{n}}{{/each}}',
  }
  t.hasStrict(await call('POST', '/api/v1/admin/templates', body), { code: '200' })
  await define('long', { template: 'long', itemsShown: 100, windowSeconds: 60 })
  const text = 'x'.repeat(15_000)
  for (let n = 1; n <= 12; n++) await digests.add({ digest: 'long', userIds: [ann], data: { n, text } })
  clock.shiftWallClock(minuteMs)
  await close()
  const long = mail.splice(0).filter(({ template }) => template === 'long')
  t.same(contentsOf(long), [{ count: 12, items: [1, 2, 3, 4, 5, 6] }], 'only items that a template accepts together')
  for (let n = 1; n <= 103; n++)
    await digests.add({ digest: 'alerts', userIds: [ann], subjectKey: 'many', data: { n } })
  const many = await db.query<{ count: unknown }>(
    `select d.item_count as count from digest_item i join digest d on d.id = i.digest_id where d.subject_key = 'many'`,
  )
  t.same([many.length, Number(many[0]?.count)], [100, 103], 'further items without a key are only counted')
  for (const bad of [
    { userIds: [] },
    { userIds: [0] },
    { subjectKey: 'x'.repeat(201) },
    { data: { text: 'x'.repeat(20_000) } },
  ])
    await t.rejects(digests.add({ digest: 'alerts', userIds: [ann], ...bad }), RangeError)
})

onSqlite(t, 'operators define, preview, send and discard', async (t, at) => {
  const clock = manualClock(Date.UTC(2027, 2, 1, 9))
  const { running, digests, mail, db, bus, close, login } = await startDigests(t, at, { clock })
  const call = await login()
  const reasonOf = ({ code, data }: { readonly code: string; readonly data: { readonly reason?: string } }) =>
    data?.reason === undefined ? code : `${code} ${data.reason}`
  const template = { code: 'news', channel: 'all', locale: 'en', subject: '{{count}} news', enabled: true }
  const content = '{{#each items as |item|}}{{item.name}};{{/each}}{{#if more}}and {{more}} more{{/if}}'
  t.equal(reasonOf(await call('POST', '/api/v1/admin/templates', { ...template, content })), '200')
  const bodies = [
    [{ code: 'News' }, '400 platform.validation'],
    [{ code: 'empty' }, '400 digest.text-missing'],
    [{ code: 'slots', template: 'news', kind: 'slots' }, '400 digest.slots-missing'],
    [
      { code: 'long', template: 'news', kind: 'sliding', windowSeconds: 10, maxSeconds: 9 },
      '400 digest.window-too-long',
    ],
    [{ code: 'news', template: 'news', itemsShown: 2, channels: ['mail'] }, '200'],
    [{ code: 'news', template: 'news' }, '409 digest.code-taken'],
  ] as const
  const results = []
  for (const [body] of bodies) results.push(await call('POST', `${root}/definitions`, body))
  t.same(
    results.slice(1).map(reasonOf),
    bodies.slice(1).map(([, outcome]) => outcome),
  )
  t.equal(results[0].code, '400')
  const { id } = results[4].data

  const preview = async (body: object) => (await call('POST', `${root}/definitions/${id}/preview`, body)).data
  t.same(await preview({ items: [{ name: 'Ada' }], itemCount: 16 }), {
    subject: '16 news',
    content: 'Ada;and 15 more',
    html: null,
  })
  t.match(await preview({}), { subject: '3 news' })

  const add = (subjectKey: string) => digests.add({ digest: 'news', userIds: [ann], subjectKey, data: { name: 'Bob' } })
  for (const subject of ['one', 'two', 'three', 'three']) await add(subject)
  const { data: list } = await call('GET', `${root}/messages?state=open`)
  t.same(
    list.items
      .map(({ subjectKey, itemCount }: { subjectKey: string; itemCount: number }) => [subjectKey, itemCount])
      .toSorted(),
    [
      ['one', 1],
      ['three', 2],
      ['two', 1],
    ],
  )
  const idOf = (subject: string) =>
    list.items.find(({ subjectKey }: { subjectKey: string }) => subjectKey === subject).id
  const act = async (subject: string, action: string) =>
    reasonOf(await call('POST', `${root}/messages/${idOf(subject)}/${action}`, {}))
  t.same(
    [
      await act('three', 'send-now'),
      await act('three', 'send-now'),
      await act('two', 'discard'),
      await act('two', 'send-now'),
      reasonOf(await call('DELETE', `${root}/definitions/${id}`)),
    ],
    ['200', '409 digest.not-open', '200', '409 digest.not-open', '409 digest.still-open'],
  )
  await bus.idle()
  t.same(
    mail.splice(0).map(({ subject, content }) => [subject, content]),
    [['2 news', 'Bob;Bob;']],
  )
  await db.execute('update digest_definition set channels = ?', ['["pigeon"]'])
  clock.shiftWallClock(hourMs)
  await close()
  const states = await db.query<{ state: string; failure: string | null }>(
    'select state, failure from digest order by id',
  )
  t.same(
    states.map(({ state, failure }) => [state, failure]),
    [
      ['failed', 'notification.channel-unknown'],
      ['discarded', null],
      ['sent', null],
    ],
  )
  clock.shiftWallClock(31 * dayMs)
  await running.scheduledTasks.find(({ name }) => name === 'digest.purge')?.run(new AbortController().signal)
  t.equal((await db.query('select id from digest')).length + (await db.query('select id from digest_item')).length, 0)
})

onEachDatabase(t, 'a message with a key replaces the inbox item of the earlier one in place', async (t, at) => {
  const clock = manualClock(Date.UTC(2027, 2, 1, 9))
  const { running, db, bus } = await startDigests(t, at, { clock })
  const send = async (content: string, minute: number) => {
    clock.shiftWallClock(minute * minuteMs)
    const draft = { subject: 'Build', content, recipients: [{ kind: 'user' as const, userId: ann }] }
    await running.service(notification).enqueue(draft, { channels: ['database'], replaceKey: 'build 7' })
    await bus.idle()
    await db.execute('update notification_inbox_item set unread = ?', [false])
    const rows = await db.query<{ id: unknown; content: string }>(
      `select i.id, c.content from notification_inbox_item i join notification_inbox_content c on c.id = i.content_id`,
    )
    return rows.map((row) => [Number(row.id), row.content])
  }
  const [[id] = []] = await send('running', 0)
  t.same(await send('failed', 1), [[id, 'failed']])
  t.same(await send('passed', 1), [[id, 'passed']])
})
