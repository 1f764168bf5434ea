/** Tests notification preferences of users: categories, channels and quiet hours. */

import { assertMembers } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { categories, categoryOf, type PreferenceQuery } from '@plinth/inbox'
import fc from 'fast-check'
import t from 'tap'
import { type QuietHours, quietHoursEnd } from '../src/preferences/user-preferences.ts'
import { startInbox } from './fixtures/inbox-product.ts'

const path = 'notifications/preferences'
const names = ['database', 'websocket', 'email', 'sms', ...categories].map((name) => `${name}Enabled`)
const allOn = {
  ...Object.fromEntries(names.map((name) => [name, true])),
  quietHours: null,
  locale: null,
  timeZone: null,
}

onDatabase(t, 'preferences are saved per user', async (t, at) => {
  const { user, db, rows, preferences } = await startInbox(t, at)
  const [ada, bob] = [await user('ada'), await user('bob')]
  const get = async (one: typeof ada) => (await one.call('GET', path)).data

  await t.test('[N-105 N-106] by default everything is enabled', async (t) => {
    t.same(await get(ada), allOn)
    t.equal(await rows('notification_preference'), 0)
  })
  await t.test('[N-104 N-107 N-127] a part is saved; other parts and other users do not change', async (t) => {
    t.same((await ada.call('PUT', path, { forumEnabled: false })).data, { ...allOn, forumEnabled: false })
    const quietHours = { timeZone: 'Asia/Shanghai', start: '22:30', end: '07:00' }
    await ada.call('PUT', path, { emailEnabled: false, quietHours })
    const saved = { ...allOn, forumEnabled: false, emailEnabled: false, quietHours }
    t.same(await get(ada), saved)
    await ada.call('PUT', path, {})
    t.same(await get(ada), saved)
    t.same(await get(bob), allOn)
    t.same(
      (await db.query<{ user_id: unknown }>('select user_id from notification_preference')).map((row) =>
        Number(row.user_id),
      ),
      [ada.id],
    )
    await ada.call('PUT', path, { quietHours: null, forumEnabled: true })
    t.same(await get(ada), { ...allOn, emailEnabled: false })
  })
  await t.test('a user chooses language and time zone of messages', async (t) => {
    await bob.call('PUT', path, { locale: 'zh-CN', timeZone: 'Asia/Shanghai' })
    t.same(await get(bob), { ...allOn, locale: 'zh-CN', timeZone: 'Asia/Shanghai' })
    await bob.call('PUT', path, { timeZone: null })
    const formats = await preferences.readerFormats([ada.id, bob.id])
    t.same(formats, new Map([[bob.id, { locale: 'zh-CN' }]]))
    await bob.call('PUT', path, { locale: null })
    t.same(await get(bob), allOn)
  })
  await t.test('each switch is independent', async (t) => {
    for (const name of names) {
      t.same((await bob.call('PUT', path, { [name]: false })).data, { ...allOn, [name]: false })
      await bob.call('PUT', path, { [name]: true })
    }
  })
  await t.test('invalid input is rejected with its field and changes nothing', async (t) => {
    const hours = { timeZone: 'UTC', start: '22:00', end: '07:00' }
    const before = await get(ada)
    for (const [body, field] of [
      [{ smsEnabled: 'no' }, /smsEnabled/],
      [{ mailEnabled: false }, /"field":"mailEnabled","rule":"additionalProperties"/],
      [{ quietHours: { ...hours, zone: 'UTC' } }, /"field":"quietHours.zone"/],
      [{ quietHours: { ...hours, start: '24:00' } }, /quietHours.start/],
      [{ quietHours: { ...hours, end: '7:00' } }, /quietHours.end/],
      [{ quietHours: { timeZone: 'UTC', start: '22:00' } }, /quietHours.end/],
      [{ smsEnabled: false, quietHours: { ...hours, timeZone: 'Mars/Olympus' } }, /quietHours.timeZone/],
      [{ smsEnabled: false, quietHours: { ...hours, timeZone: '+08:00' } }, /quietHours.timeZone/],
      [{ smsEnabled: false, quietHours: { ...hours, end: '22:00' } }, /quietHours.end/],
      [{ smsEnabled: false, locale: 'xx-klingon-none' }, /"field":"locale"/],
      [{ smsEnabled: false, locale: 'zh_CN' }, /"field":"locale"/],
      [{ smsEnabled: false, timeZone: 'Mars' }, /"field":"timeZone"/],
    ] as const) {
      const response = await ada.call('PUT', path, body)
      t.equal(response.code, '400', JSON.stringify(body))
      t.match(JSON.stringify(response.data), field)
    }
    t.same(await get(ada), before)
    t.match(
      await ada.call('PUT', path, { quietHours: { ...hours, timeZone: 'Mars' } }, { 'accept-language': 'zh-CN' }),
      {
        message: '时区“Mars”不存在。',
      },
    )
  })
})

onDatabase(t, 'the resolver checks channel and category together, for many users at once', async (t, at) => {
  const { user, preferences, db, clock } = await startInbox(t, at)
  const [ada, bob, eve] = [await user('ada'), await user('bob'), await user('eve')]
  await ada.call('PUT', path, { databaseEnabled: false, quietHours: { timeZone: 'UTC', start: '22:00', end: '07:00' } })
  await bob.call('PUT', path, { forumEnabled: false, quietHours: { timeZone: 'UTC', start: '06:00', end: '08:00' } })
  const all = [ada.id, bob.id, eve.id]
  const wanted = async (question: PreferenceQuery) => [...(await preferences.wanted(all, question))]
  t.same(await wanted({ channel: 'database', category: 'forum' }), [eve.id])
  t.same(await wanted({ channel: 'database', category: 'mall' }), [bob.id, eve.id])
  t.same(await wanted({ channel: 'mail', category: 'forum' }), [ada.id, eve.id])
  t.same(
    await wanted({ channel: 'webhook', category: 'forum' }),
    [ada.id, eve.id],
    'without a switch the category counts',
  )
  t.same(await wanted({ channel: 'constructor', category: 'system' }), all)

  const midnight = Date.UTC(2026, 0, 10)
  const end = (hour: number) => midnight + hour * 3_600_000
  t.same(await preferences.quietUntil(all, midnight), new Map([[ada.id, end(7)]]))
  t.same(
    await preferences.quietUntil(all, end(6.5)),
    new Map([
      [ada.id, end(7)],
      [bob.id, end(8)],
    ]),
  )
  t.same(await preferences.quietUntil(all, end(8)), new Map())
  t.same(await preferences.wanted([], { channel: 'database', category: 'mall' }), new Set())

  await t.test('thousands of users need one statement per thousand', async (t) => {
    const many = Array.from({ length: 2_345 }, (_, index) => index + 1).concat(all)
    let statements = 0
    const query = db.query.bind(db)
    t.teardown(() => Object.assign(db, { query }))
    const counted: typeof query = (...given) => {
      statements++
      return query(...given)
    }
    Object.assign(db, { query: counted })
    t.equal((await preferences.wanted(many, { channel: 'database', category: 'forum' })).size, many.length - 2)
    t.equal(statements, 3)
    await preferences.quietUntil(many, clock.now())
    t.equal(statements, 6)
  })
})

onDatabase(t, 'a user who disabled it gets no item, and this is recorded', async (t, at) => {
  const { user, add, metrics, lines, facade, admin, db } = await startInbox(t, at)
  const [ada, bob] = [await user('ada'), await user('bob')]
  const total = async (one: typeof ada) => (await one.inbox()).total
  const skips = () => lines.filter(({ msg }) => msg === 'a message was not stored in some inboxes')

  await t.test(
    '[N-109 N-113] friend and follow items respect databaseEnabled and accountEnabled, also when they are added directly',
    async (t) => {
      const follow = (messageId: string) =>
        add({ messageId, userIds: [ada.id, bob.id], attributes: { event: 'social.user.followed', fromUserId: bob.id } })
      await ada.call('PUT', path, { accountEnabled: false })
      t.same(await follow('f1'), { added: 1, skipped: 1 })
      await ada.call('PUT', path, { accountEnabled: true, databaseEnabled: false })
      t.same(await follow('f2'), { added: 1, skipped: 1 })
      t.equal(await total(ada), 0)
      await ada.call('PUT', path, { databaseEnabled: true })
      t.same(await follow('f3'), { added: 2, skipped: 0 })
      t.same([await total(ada), await total(bob)], [1, 3])
    },
  )
  await t.test(
    '[N-110 N-111] a conversation respects databaseEnabled, chatEnabled and the mute flag of the member',
    async (t) => {
      const chat = (messageId: string, muted: boolean) =>
        add({
          messageId,
          userIds: [ada.id],
          attributes: { event: 'conversation.message.created', conversationId: 1, muted },
        })
      t.same(await chat('c1', true), { added: 0, skipped: 1 })
      t.hasStrict(skips().at(-1), { reason: 'muted', category: 'chat', count: 1 })
      await ada.call('PUT', path, { chatEnabled: false })
      t.same(await chat('c2', false), { added: 0, skipped: 1 })
      await ada.call('PUT', path, { chatEnabled: true, databaseEnabled: false })
      t.same(await chat('c3', false), { added: 0, skipped: 1 })
      await ada.call('PUT', path, { databaseEnabled: true })
      t.same(await chat('c4', false), { added: 1, skipped: 0 })
    },
  )
  await t.test('[N-112] the channel maps the module to its category', async (t) => {
    await ada.call('PUT', path, { forumEnabled: false })
    const before = await total(ada)
    const send = (module: string) =>
      facade.sendTo('database', {
        subject: module,
        attributes: { module },
        recipients: [ada, bob].map(({ id }) => ({ kind: 'user' as const, userId: id })),
      })
    await send('forum')
    t.equal(await total(ada), before)
    await send('mall')
    t.equal(await total(ada), before + 1)
    await ada.call('PUT', path, { mallEnabled: false })
    await send('mall')
    t.equal(await total(ada), before + 1)
    t.match((await bob.inbox('module=mall')).total, 2)
  })
  await t.test('[N-114] every skipped write is a log line and is counted in the metrics', async (t) => {
    const counted = skips().reduce((sum, line) => sum + Number(line['count']), 0)
    t.ok(counted >= 5)
    const values = [
      ...(await metrics()).matchAll(/^platform_notification_inbox_skipped_total\{reason="(\w+)"\} (\d+)$/gm),
    ]
    t.same(values.map(([, reason]) => reason).sort(), ['muted', 'preference'])
    t.equal(
      values.reduce((sum, [, , value]) => sum + Number(value), 0),
      counted,
    )
  })
  await t.test('[N-114] a failed write is a log line and an entry of the send log, and is tried again', async (t) => {
    const before = await total(ada)
    const message = { channels: ['database'], recipientUserIds: [ada.id], subject: 'Lost', content: 'and found' }
    await db.execute('alter table notification_inbox_item rename to notification_inbox_away')
    const failed = await admin.call('POST', 'notifications/send', message)
    await db.execute('alter table notification_inbox_away rename to notification_inbox_item')
    t.equal(failed.code, '200')
    assertMembers(t, failed.data, [
      { success: false, outcome: 'unknown', errorCode: 'inbox-unavailable', queued: true },
    ])
    t.ok(
      lines.some(
        ({ level, msg, err }) => level === 40 && msg === 'messages cannot be stored in inboxes' && err !== undefined,
      ),
    )
    const { items } = (await admin.call('GET', 'notification-send-logs?channel=database&size=1')).data
    assertMembers(t, items, [{ subject: 'Lost', status: 'waiting', errorCode: 'inbox-unavailable' }])
    t.equal(await total(ada), before)
  })
})

t.test('modules have categories; unknown modules belong to the category system', (t) => {
  for (const category of categories) t.equal(categoryOf(category.toUpperCase()), category)
  const others = {
    social: 'account',
    conversation: 'chat',
    approval: 'todo',
    'to-do': 'todo',
    cms: 'blog',
    commerce: 'mall',
  }
  for (const [module, category] of Object.entries(others)) t.equal(categoryOf(` ${module} `), category)
  for (const unknown of ['', 'weather', 'constructor', '__proto__', undefined, 7, {}])
    t.equal(categoryOf(unknown), 'system')
  t.end()
})

const minute = 60_000
const at = (text: string) => Date.parse(text)
const hours = (timeZone: string, start: number, end: number): QuietHours => ({
  timeZone,
  start: start * 60,
  end: end * 60,
})

t.test('quiet hours follow the local time of their zone', (t) => {
  const night = hours('Europe/Berlin', 22, 7)
  const iso = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString())
  t.equal(iso(quietHoursEnd(night, at('2026-01-10T20:59:59.999Z'))), undefined)
  t.equal(iso(quietHoursEnd(night, at('2026-01-10T21:00:00Z'))), '2026-01-11T06:00:00.000Z', 'over midnight')
  t.equal(iso(quietHoursEnd(night, at('2026-01-11T05:59:59.999Z'))), '2026-01-11T06:00:00.000Z')
  t.equal(iso(quietHoursEnd(night, at('2026-01-11T06:00:00Z'))), undefined, 'the end is not quiet')
  t.equal(iso(quietHoursEnd(hours('Asia/Kolkata', 12, 14), at('2026-01-10T06:31:07.123Z'))), '2026-01-10T08:30:00.000Z')
  // 29 March 2026: 02:00 becomes 03:00; 25 October 2026: 03:00 becomes 02:00.
  t.equal(iso(quietHoursEnd(night, at('2026-03-28T22:00:00Z'))), '2026-03-29T05:00:00.000Z', 'a short night')
  t.equal(iso(quietHoursEnd(night, at('2026-10-24T21:00:00Z'))), '2026-10-25T06:00:00.000Z', 'a long night')
  const untilGap = { timeZone: 'Europe/Berlin', start: 60, end: 150 }
  t.equal(iso(quietHoursEnd(untilGap, at('2026-03-29T00:30:00Z'))), '2026-03-29T01:00:00.000Z', 'a skipped end')
  t.equal(iso(quietHoursEnd(untilGap, at('2026-10-25T00:10:00Z'))), '2026-10-25T00:30:00.000Z', 'a repeated end')
  t.equal(iso(quietHoursEnd(untilGap, at('2026-10-25T01:10:00Z'))), '2026-10-25T01:30:00.000Z', 'once more')
  t.equal(iso(quietHoursEnd(hours('Europe/Berlin', 1, 3), at('2026-10-25T00:30:00Z'))), '2026-10-25T02:00:00.000Z')
  t.end()
})

t.test('quiet hours end at the first time that is not quiet', (t) => {
  const zones = [
    'UTC',
    'Europe/Berlin',
    'America/St_Johns',
    'Australia/Lord_Howe',
    'Asia/Kathmandu',
    'Pacific/Apia',
    'America/Sao_Paulo',
  ]
  const formats = new Map(
    zones.map((timeZone) => [
      timeZone,
      new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone }),
    ]),
  )
  const isQuiet = ({ timeZone, start, end }: QuietHours, ms: number) => {
    const [hour = 0, minutes = 0] = String(formats.get(timeZone)?.format(ms)).split(':').map(Number)
    const now = hour * 60 + minutes
    return start < end ? now >= start && now < end : now >= start || now < end
  }
  const minuteOfDay = fc.integer({ min: 0, max: 1439 })
  const anyHours = fc.record({ timeZone: fc.constantFrom(...zones), start: minuteOfDay, end: minuteOfDay })
  // Times in a year with clock changes, and times close to these changes, where errors are likely.
  const moment = fc.integer({ min: at('2026-01-01T00:00:00Z'), max: at('2027-01-01T00:00:00Z') })
  const change = fc.constantFrom('2026-03-08', '2026-03-29', '2026-04-05', '2026-10-04', '2026-10-25', '2026-11-01')
  const nearChange = fc
    .tuple(change, fc.integer({ min: -18 * 60, max: 30 * 60 }))
    .map(([day, by]) => at(`${day}T00:00:00Z`) + by * minute)
  fc.assert(
    fc.property(anyHours, fc.oneof(moment, nearChange), (quiet, now) => {
      fc.pre(quiet.start !== quiet.end)
      const end = quietHoursEnd(quiet, now)
      if (end === undefined) return !isQuiet(quiet, now)
      if (!isQuiet(quiet, now) || isQuiet(quiet, end) || end <= now) return false
      for (let ms = Math.floor(now / minute) * minute + minute; ms < end; ms += minute)
        if (!isQuiet(quiet, ms)) return false
      return true
    }),
    { numRuns: 400 },
  )
  t.end()
})
