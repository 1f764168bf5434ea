/** Tests messages to many recipients, repeated messages, two instances, and the cost with large tables. */

import { notificationChannelCases } from '@plinth/dev/conformance'
import { applyLiveValues, assertKeyEffect, assertMembers, type KeyValues, rejectsWith } from '@plinth/dev/testing'
import { onDatabase, onSqlite, watchStatements } from '@plinth/dev/testing/database'
import { type InboxMessage, inbox } from '@plinth/inbox'
import { notificationChannel } from '@plinth/kernel'
import t from 'tap'
import { startInbox } from './fixtures/inbox-product.ts'

const path = 'notifications/inbox'
const dayMs = 86_400_000

onDatabase(t, '[N-006] the channel obeys its contract', async (t, at) => {
  const { running, db } = await startInbox(t, at)
  const channel = running.contributions(notificationChannel).get('database')
  if (channel === undefined) throw new Error('no channel')
  const create = async () => {
    for (const table of ['item', 'content', 'attachment']) await db.execute(`delete from notification_inbox_${table}`)
    return {
      channel,
      async delivered() {
        const rows = await db.query<{ subject: string; content: string; user_id: unknown }>(
          `select c.subject, c.content, i.user_id from notification_inbox_item i
           join notification_inbox_content c on c.id = i.content_id order by i.id`,
        )
        return rows.map(({ user_id, ...texts }) => ({
          ...texts,
          recipients: [{ kind: 'user' as const, userId: Number(user_id) }],
        }))
      },
    }
  }
  const recipients = [7, 8].map((userId) => ({ kind: 'user' as const, userId }))
  // This channel only writes to the database of the product, so the cases about errors of a provider are not used.
  // Tests of the database cover its errors.
  for (const { name, run } of notificationChannelCases(create, { nextHop: 'none', recipients })) await t.test(name, run)
})

onDatabase(t, 'the channel in the notification service', async (t, at) => {
  const { user, facade, running, rows, db } = await startInbox(t, at)
  const ada = await user('ada')
  const recipients = [{ kind: 'user' as const, userId: ada.id }]
  await t.test('[N-131] the same idempotency key adds one item', async (t) => {
    const send = (subject: string) => facade.sendTo('database', { subject, recipients }, { idempotencyKey: 'order:1' })
    const [first, second] = [await send('first'), await send('second')]
    t.equal(first.messageId, second.messageId)
    assertMembers(t, await ada.inbox(), { total: 1, items: [{ subject: 'first' }] })
  })
  await t.test('a message that no inbox can store is rejected with its field, and nothing is written', async (t) => {
    const before = await rows('notification_inbox_content')
    const attachment = { name: 'a', contentType: 'text/plain', size: 1, url: 'https://a.example' }
    const cases: readonly (readonly [object, RegExp])[] = [
      [{ content: 'x'.repeat(65_537) }, /content must be at most 65536/],
      [{ attributes: { attachments: 'x' } }, /attachments must be a list/],
      [{ attributes: { attachments: Array(21).fill(attachment) } }, /attachments must be a list/],
      [{ attributes: { attachments: [{ ...attachment, url: 'javascript:alert(1)' }] } }, /attachments\[0\]\.url/],
      [{ attributes: { attachments: [{ ...attachment, url: undefined }] } }, /attachments\[0\]\.url/],
      [
        { attributes: { attachments: [{ ...attachment, disk: 'public', path: '../secret' }] } },
        /attachments\[0\]\.path/,
      ],
      [{ attributes: { attachments: [{ ...attachment, disk: 'public' }] } }, /attachments\[0\]\.path/],
      [{ attributes: { attachments: [{ ...attachment, size: -1 }] } }, /attachments\[0\]\.size/],
      [{ attributes: { attachments: [{ ...attachment, name: 'a\nb' }] } }, /attachments\[0\]\.name/],
      [{ attributes: { attachments: [{ ...attachment, contentType: 'text' }] } }, /attachments\[0\]\.contentType/],
      [{ content: 'messages.a', variables: { text: 'x'.repeat(20_000) } }, /variables must be at most/],
    ]
    for (const [draft, message] of cases) {
      const [result] = await facade.send({ subject: 'bad', recipients, ...draft }, { channels: ['database'] })
      t.hasStrict(result, { success: false, outcome: 'rejected', errorCode: 'notification-inbox.message-invalid' })
      t.match(result?.errorMessage, message)
    }
    for (const userIds of [[0], [1.5], [-1], [Number.NaN]]) {
      await rejectsWith(t, running.service(inbox).add({ messageId: 'm', subject: '', content: '', userIds }), {
        code: '400',
      })
    }
    t.equal(await rows('notification_inbox_content'), before)
  })
  await t.test('a disabled channel or category is skipped', async (t) => {
    const off = await startInbox(t, at, {
      isSecond: true,
      config: { 'platform.notification.channels.database.enabled': false },
    })
    assertMembers(t, await off.facade.send({ subject: 'off', recipients }, { channels: ['database'] }), [
      { skipped: true },
    ])
  })
  await t.test('secret variables are not stored beside the text that contains them', async (t) => {
    const draft = {
      content: 'messages.shop.paid',
      variables: { orderNo: 'N-1', code: 's3cr3t-482913' },
      secretVariables: ['code'],
    }
    await facade.sendTo('database', { ...draft, recipients })
    const stored = await db.query<{ variables: unknown }>('select variables from notification_inbox_content')
    t.notMatch(JSON.stringify(stored), /s3cr3t/)
    t.match(JSON.stringify(stored), /N-1/)
  })
})

onDatabase(t, 'a message to many users', async (t, at) => {
  const { add, created, rows, settled, running, db } = await startInbox(t, at)
  const userIds = Array.from({ length: 2_500 }, (_, index) => index + 1)
  const events = () => created.splice(0) as { readonly userIds: number[]; readonly itemIds: number[] }[]

  await t.test('is published in few events, each recipient once', async (t) => {
    const outbox = await rows('outbox_event')
    t.same(await add({ messageId: 'all', userIds: [...userIds, ...userIds] }), { added: 2_500, skipped: 0 })
    await settled()
    const received = events()
    t.same(
      received.map(({ userIds }) => userIds.length),
      [1_000, 1_000, 500],
    )
    t.same(
      received.flatMap(({ userIds }) => userIds),
      userIds,
    )
    t.equal(new Set(received.flatMap(({ itemIds }) => itemIds)).size, 2_500)
    t.equal(await rows('outbox_event'), outbox, 'none of them is a row of the outbox')
    t.equal(await rows('notification_inbox_content'), 1)
  })
  await t.test('interrupted work is completed, and only new items are announced', async (t) => {
    t.same(await add({ messageId: 'all', userIds }), { added: 0, skipped: 0 })
    t.same(await add({ messageId: 'all', subject: 'other', userIds: [...userIds, 9_001, 9_002] }), {
      added: 2,
      skipped: 0,
    })
    await settled()
    assertMembers(
      t,
      events(),
      [{ userIds: [9_001, 9_002], content: { subject: 'Subject' } }],
      'the first content stands',
    )
    const ended = AbortSignal.abort(new Error('enough'))
    const message: InboxMessage = { messageId: 'never', subject: '', content: '', userIds }
    await rejectsWith(t, running.service(inbox).add(message, { signal: ended }), { message: 'enough' })
  })
  await t.test('in the transaction of the caller: all or nothing, and no event before the commit', async (t) => {
    const before = await rows('notification_inbox_item')
    const failed = db.transactional(async () => {
      await add({ messageId: 'rolled-back', userIds })
      throw new Error('the caller fails')
    })
    await rejectsWith(t, failed, { message: 'the caller fails' })
    await settled()
    t.same(events(), [])
    t.equal(await rows('notification_inbox_item'), before)
    await db.transactional(async () => {
      await add({ messageId: 'committed', userIds: [1, 2] })
      t.same(created, [])
    })
    await settled()
    t.equal(events().length, 1)
  })
})

onDatabase(t, 'two instances', async (t, at) => {
  const one = await startInbox(t, at)
  const other = await startInbox(t, at, { isSecond: true, clock: one.clock })
  const ada = await one.user('ada')
  const there = await other.loginAs('ada')

  await t.test('two instances write the same message at once: one item each, announced once', async (t) => {
    const userIds = Array.from({ length: 300 }, (_, index) => 10_000 + index)
    const both = await Promise.all(
      [one, other].map(({ add }) => add({ messageId: 'both', userIds: [...userIds, ada.id] })),
    )
    t.equal(
      both.reduce((sum, { added }) => sum + added, 0),
      301,
    )
    await Promise.all([one.settled(), other.settled()])
    const received = [...one.created, ...other.created].flatMap((event) => (event as { userIds: number[] }).userIds)
    t.equal(received.length, 301)
    t.equal(new Set(received).size, 301)
  })
  await t.test('two instances see the same inbox and the same preferences immediately', async (t) => {
    const [item] = (await there.inbox()).items
    await there.call('PUT', `${path}/${item.id}/read`)
    t.same((await ada.call('GET', `${path}/unread-count`)).data, { count: 0, capped: false })
    await there.call('PUT', 'notifications/preferences', { forumEnabled: false })
    t.equal((await one.preferences.wanted([ada.id], { channel: 'database', category: 'forum' })).size, 0)
  })
})

onDatabase(t, 'lists are range scans of an index, with keyword and cursor', async (t, at) => {
  const { user, add, db, admin, purge } = await startInbox(t, at)
  const [ada, bob] = [await user('ada'), await user('bob')]
  for (let index = 0; index < 60; index++) {
    const attributes = { module: index % 3 === 0 ? 'mall' : 'forum' }
    const texts = { subject: `Notice ${index}`, content: index % 10 === 0 ? 'About GRÜNE apples' : 'About pears' }
    await add({ messageId: `m${index}`, userIds: [ada.id, bob.id], attributes, ...texts })
  }
  const subjects = async (query: string) =>
    (await ada.inbox(query)).items.map(({ subject }: { subject: string }) => subject)
  await t.test('[N-125] filters and pages', async (t) => {
    t.match(await ada.inbox('module=MALL'), { total: 20 })
    t.match(await ada.inbox('module=mall&unreadOnly=true&size=5'), { total: 20, next: /./ })
    t.same(
      await subjects('keyword=apples'),
      [50, 40, 30, 20, 10, 0].map((n) => `Notice ${n}`),
    )
    t.same(await subjects('keyword=notice 59'), ['Notice 59'])
    t.same(await subjects('keyword=apples&module=mall'), ['Notice 30', 'Notice 0'])
    assertMembers(t, await ada.inbox('keyword=quinces'), { items: [], total: 0, next: null })
    const walked: string[] = []
    let cursor = ''
    do {
      const page = await ada.inbox(`size=25&module=forum${cursor}`)
      walked.push(...page.items.map(({ subject }: { subject: string }) => subject))
      cursor = page.next === null ? '' : `&cursor=${page.next}`
    } while (cursor !== '' && walked.length < 200)
    t.equal(new Set(walked).size, 40)
    for (const query of ['page=0', 'size=201', 'module=', 'unreadOnly=perhaps', 'cursor=x', 'count=all']) {
      t.hasStrict(await ada.call('GET', `${path}?${query}`), { code: '400' }, query)
    }
    for (const [method, url, body] of [
      ['PUT', `${path}/0/read`, undefined],
      ['PUT', `${path}/abc/read`, undefined],
      ['PUT', `${path}/read-batch`, {}],
      ['PUT', `${path}/read-batch`, { ids: [] }],
      ['PUT', `${path}/unread-batch`, { ids: ['1'] }],
      ['PUT', `${path}/read-batch`, { ids: Array.from({ length: 201 }, (_, index) => index + 1) }],
    ] as const) {
      t.hasStrict(await ada.call(method, url, body), { code: '400' }, `${url} ${JSON.stringify(body)?.slice(0, 40)}`)
    }
  })
  await t.test('no statement scans or sorts a whole table', async (t) => {
    // Makes most items read, and a third of them belong to the module `mall`. With these statistics, the database
    // chooses the index that matches the filter of each call.
    await ada.call('PUT', `${path}/read-all`)
    const read = Array.from({ length: 2_000 }, (_, index) => index + 1)
    const columns = 'id, content_id, user_id, owner_id, module, unread'
    const values = read.flatMap((id) => [
      id,
      id,
      id,
      id % 20 === 0 ? ada.id : 500_000 + (id % 20),
      id % 3 === 0 ? 'mall' : 'forum',
      id % 60 === 0,
    ])
    await db.execute(
      `insert into notification_inbox_item (${columns}) values ${read.map(() => '(?, ?, ?, ?, ?, ?)').join(', ')}`,
      values,
    )
    const { plansOf } = watchStatements(db, 'notification_inbox_item')
    // The table is small, so MariaDB may use any index that returns the items sorted by id.
    const mallOfMariadb = /_owner_id_(?:module_|unread_)+id_index/
    const calls: readonly (readonly [string, RegExp])[] = [
      [`${path}?count=none`, /_owner_id_id_index/],
      [`${path}?count=none&unreadOnly=true`, /_owner_id_unread_id_index/],
      [`${path}?count=none&module=mall`, /_owner_id_module_id_index/],
      [
        `${path}?count=none&module=mall&unreadOnly=true`,
        at.dialect === 'mariadb' ? mallOfMariadb : /_owner_id_module_unread_id_index/,
      ],
      [`${path}/unread-count`, /_owner_id_unread_id_index/],
    ]
    for (const [call, index] of calls) {
      const plans = await plansOf(() => ada.call('GET', call))
      t.ok(plans.length > 0, call)
      for (const { sql, indexes, sorts, scans } of plans) {
        t.match(indexes.join(), index, sql)
        t.same([sorts, scans], [false, []], sql)
      }
    }
    const others = await plansOf(async () => {
      await admin.call('GET', 'notification-read-receipts?messageId=m1&count=none')
      await ada.call('GET', `${path}?count=none&keyword=apples`)
      await ada.call('PUT', `${path}/read-all`)
      await add({ messageId: 'm1', userIds: [ada.id, bob.id, 77] })
      await purge()
    })
    t.ok(others.length >= 9)
    // An insert has no query plan, and a purge may scan the contents, because this test has only few.
    for (const { sql, scans } of others.filter(({ sql }) => !sql.startsWith('insert'))) {
      t.same(
        scans.filter((name) => name !== 'notification_inbox_content'),
        [],
        sql,
      )
    }
  })
  await t.test('[N-120] the count of unread items stops at a thousand', async (t) => {
    await db.execute('delete from notification_inbox_item')
    const ids = Array.from({ length: 1_001 }, (_, index) => index + 1)
    const places = ids.map(() => '(?, ?, ?, ?, ?, ?)').join(', ')
    const values = ids.flatMap((id) => [id, id, bob.id, bob.id, 'system', true])
    const columns = 'id, content_id, user_id, owner_id, module, unread'
    await db.execute(`insert into notification_inbox_item (${columns}) values ${places}`, values)
    const count = async () => (await bob.call('GET', `${path}/unread-count`)).data
    t.same(await count(), { count: 1_000, capped: true })
    await db.execute('delete from notification_inbox_item where id = 1')
    t.same(await count(), { count: 1_000, capped: false })
    t.same((await bob.call('PUT', `${path}/read-all`)).data, { affected: 1_000 })
    t.same(await count(), { count: 0, capped: false })
  })
})

onDatabase(t, 'old items are removed, and the content with the last of them', async (t, at) => {
  const { user, add, rows, purge, clock } = await startInbox(t, at, {
    config: { 'platform.notification.inbox.retention': '10d', 'platform.notification.inbox.unread-retention': '30d' },
  })
  const [ada, bob] = [await user('ada'), await user('bob')]
  const attachments = [{ name: 'a', contentType: 'text/plain', size: 1, url: 'https://cdn.example/a' }]
  await add({ messageId: 'shared', userIds: [ada.id, bob.id], attributes: { attachments } })
  await add({ messageId: 'own', userIds: [ada.id], attributes: { attachments } })
  const tables = async () =>
    Promise.all(['item', 'content', 'attachment'].map((table) => rows(`notification_inbox_${table}`)))
  const [own, shared] = (await ada.inbox()).items
  await ada.call('PUT', `${path}/${shared.id}/read`)
  await ada.call('DELETE', `${path}/${own.id}`)
  await purge()
  t.same(await tables(), [3, 2, 2], 'young')
  const wait = (days: number) => clock.shiftWallClock(days * dayMs)
  wait(11)
  await purge()
  t.same(await tables(), [1, 1, 1], 'read and deleted ones are gone; what another has not read stays')
  wait(20)
  await purge()
  t.same(await tables(), [0, 0, 0], 'at last also what nobody read')
})

onSqlite(t, 'items are added and stored as configured', async (t, at) => {
  const { running, user, add, purge, clock, facade, db } = await startInbox(t, at)
  const ada = await user('ada')
  const [results] = await assertKeyEffect(t, 'platform.notification.channels.database.enabled', {
    changed: false,
    async observe(values) {
      await applyLiveValues(running, values)
      const draft = { subject: 'Hi', recipients: [{ kind: 'user' as const, userId: ada.id }] }
      return (await facade.send(draft, { channels: ['database'] })).map(({ success }) => success)
    },
  })
  assertMembers(t, results, { before: [true], after: [false] })

  let users = 0
  /** Returns the items that remain after 11 days. */
  const observe = async (values: KeyValues) => {
    await applyLiveValues(running, values)
    const { id, call, inbox } = await user(`user-${++users}`)
    for (const messageId of ['read', 'unread']) await add({ messageId: `${messageId} ${id}`, userIds: [id] })
    const [, first] = (await inbox()).items
    await call('PUT', `${path}/${first.id}/read`)
    clock.shiftWallClock(11 * dayMs)
    await purge()
    const rows = await db.query<{ unread: unknown }>(
      'select unread from notification_inbox_item where owner_id = ? order by id',
      [id],
    )
    return rows.map(({ unread }) => (Number(unread) === 1 ? 'unread' : 'read'))
  }
  const [read] = await assertKeyEffect(t, 'platform.notification.inbox.retention', { changed: '10d', observe })
  assertMembers(t, read, { before: ['read', 'unread'], after: ['unread'] })
  const [unread] = await assertKeyEffect(t, 'platform.notification.inbox.unread-retention', { changed: '10d', observe })
  assertMembers(t, unread, { before: ['read', 'unread'], after: [] })
})

onSqlite(t, 'the inbox and the preferences of a user are deleted with the user', async (t, at) => {
  const { user, add, admin, rows, settled, running } = await startInbox(t, at)
  const [ada, bob] = [await user('ada'), await user('bob')]
  await add({ messageId: 'm', userIds: [ada.id, bob.id] })
  await ada.call('PUT', 'notifications/preferences', { mallEnabled: false })
  const { data } = await admin.call('GET', `admin/iam/users/${ada.id}`)
  t.equal((await admin.call('DELETE', `admin/iam/users/${ada.id}?version=${data.version}`)).code, '200')
  await settled()
  t.same([await rows('notification_inbox_item'), await rows('notification_preference')], [1, 0])
  t.equal(running.state, 'ready')
})
