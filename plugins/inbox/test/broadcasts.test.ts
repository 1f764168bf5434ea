/** Tests messages to all users: recipients, events, receipts, data scope, instances and the cost. */

import { assertMembers, manualClock, rejectsWith } from '@plinth/dev/testing'
import { onEachDatabase, onSqlite, watchStatements } from '@plinth/dev/testing/database'
import { events } from '@plinth/events'
import { broadcastCreated } from '@plinth/inbox'
import { definePlugin, notificationChannel } from '@plinth/kernel'
import t from 'tap'
import { startInbox } from './fixtures/inbox-product.ts'

const path = 'notifications/inbox'

/** Returns a plugin that records events of broadcasts. */
function listener() {
  const heard: { readonly itemId: number; readonly userIdLimit: number }[] = []
  const plugin = definePlugin({
    id: 'test.broadcasts',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { events },
    setup: ({ services }) =>
      void services.events.on(broadcastCreated, 'test.broadcast', ({ payload }) => void heard.push(payload)),
  })
  return { heard, plugin }
}

/** A channel that sends to each user alone. */
const post = definePlugin({
  id: 'test.post',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [notificationChannel],
  setup: ({ contribute }) =>
    contribute(notificationChannel, 'post', {
      displayName: 'Post',
      recipientKinds: ['user'],
      traits: { idempotent: false },
      send: async () => ({ outcome: 'accepted' }),
    }),
})

const message = (messageId: string, more: object = {}) => ({ messageId, subject: 'Hello', content: 'To all', ...more })

onEachDatabase(t, 'an administrator sends a message to all users', async (t, at) => {
  const { heard, plugin } = listener()
  const { user, admin, rows, inbox, add, settled, created, read } = await startInbox(t, at, { plugins: [plugin] })
  const [ada, bob] = [await user('ada'), await user('bob')]
  const body = { allUsers: true, subject: 'Maintenance', content: 'Tonight from 22:00' }
  const ids = async (one: typeof ada) => (await one.inbox()).items.map(({ id }: { id: number }) => id) as number[]

  await t.test('it costs one row, and each user who exists has the item under the same id', async (t) => {
    assertMembers(t, await admin.call('POST', 'notifications/send', body), {
      code: '200',
      data: [{ channel: 'database', success: true }],
    })
    const late = await user('late')
    t.same(
      await Promise.all(['item', 'content', 'mark'].map((table) => rows(`notification_inbox_${table}`))),
      [0, 1, 0],
    )
    t.same(await ids(ada), await ids(bob))
    t.same(await ids(late), [])
    assertMembers(t, (await ada.inbox()).items, [
      { subject: 'Maintenance', unread: true, readAt: null, module: 'system' },
    ])
    const [id = 0] = await ids(ada)
    for (const [method, end] of [
      ['PUT', '/read'],
      ['PUT', '/unread'],
      ['DELETE', ''],
    ] as const) {
      t.hasStrict(await late.call(method, `${path}/${id}${end}`), { code: '404' })
    }
    await settled()
    t.same(created, [], 'no event lists users')
    assertMembers(t, heard, [{ itemId: id, content: { subject: 'Maintenance' }, userIdLimit: bob.id }])
  })

  await t.test('a reader changes only the own state', async (t) => {
    const [id = 0] = await ids(ada)
    t.same((await ada.call('PUT', `${path}/read-batch`, { ids: [id, id + 1] })).data, {
      affected: 1,
      results: [
        { id, outcome: 'done' },
        { id: id + 1, outcome: 'unknown' },
      ],
    })
    await settled()
    assertMembers(t, read.at(-1), { userId: ada.id, all: false, items: [{ id, unread: false, module: 'system' }] })
    t.same((await bob.call('GET', `${path}/unread-count`)).data, { count: 1, capped: false })
    t.same((await bob.call('DELETE', `${path}?ids=${id}`)).data.affected, 1)
    t.same((await bob.call('DELETE', `${path}/${id}`)).code, '404')
    t.same([await ids(ada), await ids(bob)], [[id], []])
  })

  await t.test('receipts list all recipients of a message, and their readers among all messages', async (t) => {
    const [{ messageId }] = (await ada.inbox()).items
    const receipts = async (query: string) => (await admin.call('GET', `notification-read-receipts?${query}`)).data
    const first = await receipts(`messageId=${messageId}&size=2`)
    t.equal(first.total, 3)
    const rest = await receipts(`messageId=${messageId}&size=2&cursor=${first.next}`)
    t.same(
      [...first.items, ...rest.items].map(({ userId, readAt }) => [userId === ada.id, readAt === null]),
      [
        [false, true],
        [true, false],
        [false, true],
      ],
    )
    await add({ messageId: 'one', userIds: [bob.id] })
    const all = await receipts('')
    t.same([all.total, all.items.map(({ userId }: { userId: number }) => userId)], [3, [bob.id, bob.id, ada.id]])
  })

  await t.test('the id of a message belongs to all users or to some', async (t) => {
    t.equal(await inbox.addForAll(message('both')), true)
    t.equal(await inbox.addForAll(message('both', { subject: 'other' })), false)
    const invalid = { reason: 'notification-inbox.message-invalid', data: { field: 'messageId' } }
    await rejectsWith(t, add({ messageId: 'both', userIds: [ada.id] }), invalid)
    await rejectsWith(t, inbox.addForAll(message('one')), invalid)
    t.equal(await inbox.addForAll(message('muted', { attributes: { muted: true } })), false)
    await rejectsWith(t, inbox.addForAll(message('late'), { signal: AbortSignal.abort(new Error('enough')) }), {
      message: 'enough',
    })
  })
})

onSqlite(t, 'who may send to all users, and who sees the receipts', async (t, at) => {
  const { user, admin, rows, facade, settled, inbox } = await startInbox(t, at, { plugins: [post] })
  const role = await admin.call('POST', 'admin/iam/roles', {
    code: 'clerk',
    name: 'Clerk',
    dataScope: 'org',
    permissions: ['notification:message:send', 'notification:receipt:view', 'notification:attachment:view'],
  })
  const clerk = await user('clerk', { orgId: 5, roleIds: [role.data.id] })
  const ada = await user('ada', { orgId: 5 })
  await user('bob', { orgId: 6 })
  const text = { subject: 'Hi', content: 'All' }
  const attachments = [{ name: 'a', contentType: 'text/plain', size: 1, url: 'https://cdn.example/a' }]
  for (const [caller, body, expected] of [
    [clerk, { allUsers: true }, { code: '403', data: { reason: 'iam.out-of-scope', field: 'allUsers' } }],
    [
      admin,
      { allUsers: true, recipientUserIds: [ada.id] },
      { code: '400', data: { reason: 'notification.all-users-alone', field: 'recipientUserIds' } },
    ],
    [
      admin,
      { allUsers: true, channels: ['database', 'post'] },
      { code: '400', data: { reason: 'notification.not-for-all', field: 'channels', channel: 'post' } },
    ],
  ] as const) {
    t.hasStrict(await caller.call('POST', 'notifications/send', { ...text, ...body }), expected)
  }
  t.equal(await rows('notification_inbox_content'), 0)
  const draft = { subject: 'Queued', content: '', recipients: [{ kind: 'all-users' } as const] }
  await facade.enqueue(draft, { channels: ['database'] })
  await settled()
  t.same(
    [(await ada.inbox()).items[0].subject, await rows('notification_inbox_item')],
    ['Queued', 0],
    'a stored message is one part and one row',
  )
  await inbox.addForAll(message('m', { attributes: { attachments } }))
  const receipts = (await clerk.call('GET', 'notification-read-receipts?messageId=m')).data
  t.same(
    [receipts.total, receipts.items.map(({ userId }: { userId: number }) => userId)],
    [2, [clerk.id, ada.id]],
    'only users of the organisation',
  )
  t.equal((await clerk.call('GET', 'notification-message-attachments?messageId=m')).data.total, 1)
  t.equal((await ada.inbox()).items[0].attachments.length, 1)
  await ada.call('PUT', `${path}/read-all`)
  t.equal((await clerk.call('GET', 'notification-read-receipts')).data.total, 2)
  const { data } = await admin.call('GET', `admin/iam/users/${ada.id}`)
  t.equal((await admin.call('DELETE', `admin/iam/users/${ada.id}?version=${data.version}`)).code, '200')
  await settled()
  t.equal(await rows('notification_inbox_mark'), 0, 'the marks of a deleted user are removed')
})

onEachDatabase(t, 'a message to all users follows the matrix like a message to each of them', async (t, at) => {
  const { user, admin, rows, inbox, add, preferences } = await startInbox(t, at)
  const [ada, bob, eve] = [await user('ada'), await user('bob'), await user('eve')]
  const readers = { ada, bob, eve }
  const userIds = [ada.id, bob.id, eve.id]
  const setDefault = async (module: string, enabled: boolean, locked: boolean) => {
    const url = `admin/notifications/preference-defaults/database/${module}`
    t.equal((await admin.call('PUT', url, { enabled, locked })).code, '200', url)
  }
  const setCell = async (one: typeof ada, module: string, enabled: boolean) => {
    const url = `notifications/preferences/cells/database/${module}`
    t.equal((await one.call('PUT', url, { enabled })).code, '200', url)
  }
  const readersOf = async (messageId: string) => {
    const found: string[] = []
    for (const [name, one] of Object.entries(readers))
      if ((await one.inbox()).items.some((item: { messageId: string }) => item.messageId === messageId))
        found.push(name)
    return found
  }
  const wanting = async (category: string) => {
    const wanted = await preferences.wanted(userIds, { channel: 'database', category })
    return Object.entries(readers).flatMap(([name, { id }]) => (wanted.has(id) ? [name] : []))
  }

  await setDefault('mall', false, false)
  await setCell(bob, 'forum', false)
  for (const one of [bob, eve]) await setCell(one, 'mall', true)
  await setCell(ada, 'chat', false)
  await setDefault('chat', true, true)
  await setDefault('blog', false, true)
  await eve.call('PUT', 'notifications/preferences', { databaseEnabled: false, systemEnabled: false })

  const expected = {
    'own cell off': ['forum', true, ['ada']],
    'off by default, own cell on': ['mall', true, ['bob']],
    'locked on': ['chat', true, ['ada', 'bob', 'eve']],
    'locked off': ['blog', false, []],
    required: ['security', true, ['ada', 'bob', 'eve']],
    'inbox off': ['system', true, ['ada', 'bob']],
  } as const
  for (const [name, [module, isSent, names]] of Object.entries(expected)) {
    const attributes = { module }
    t.equal(await inbox.addForAll(message(`all-${module}`, { attributes })), isSent, name)
    await add({ messageId: `each-${module}`, attributes, userIds })
    const seen = await Promise.all([readersOf(`all-${module}`), readersOf(`each-${module}`), wanting(module)])
    t.same(seen, [names, names, names], name)
  }
  t.equal(await rows(`notification_inbox_content where audience = 'all'`), 4)

  // Later changes apply to later messages only.
  await setDefault('forum', false, false)
  await setCell(bob, 'forum', true)
  await setDefault('chat', false, true)
  for (const [module] of Object.values(expected))
    t.equal(await inbox.addForAll(message(`all-${module}`, { attributes: { module } })), false, `${module} again`)
  await eve.call('PUT', 'notifications/preferences', { databaseEnabled: true })
  for (const [module, , names] of Object.values(expected)) t.same(await readersOf(`all-${module}`), names, module)
})

onEachDatabase(t, 'the order of users, preferences and messages is exact although clocks differ', async (t, at) => {
  const now = Date.now()
  const slow = await startInbox(t, at, { clock: manualClock(now) })
  const fast = await startInbox(t, at, { isSecond: true, clock: manualClock(now + 5_000) })
  const shown = async (one: Awaited<ReturnType<typeof slow.user>>) =>
    (await one.inbox()).items.map(({ messageId }: { messageId: string }) => messageId) as string[]
  const before = await fast.user('before')
  await slow.inbox.addForAll(message('first'))
  const between = await slow.user('between')
  await fast.inbox.addForAll(message('second'))
  const after = await slow.user('after')
  t.same(await Promise.all([before, between, after].map(shown)), [['second', 'first'], ['second'], []])
  await between.call('PUT', 'notifications/preferences', { systemEnabled: false })
  await slow.inbox.addForAll(message('third'))
  await between.call('PUT', 'notifications/preferences', { systemEnabled: true })
  await fast.inbox.addForAll(message('fourth'))
  t.same(await shown(between), ['fourth', 'second'])
  // A deleted user with the largest id does not lower the limit for later users.
  const last = await fast.user('last')
  await slow.inbox.addForAll(message('fifth'))
  const { data } = await slow.admin.call('GET', `admin/iam/users/${last.id}`)
  t.equal((await slow.admin.call('DELETE', `admin/iam/users/${last.id}?version=${data.version}`)).code, '200')
  t.same(await shown(await slow.user('next')), [])
})

onEachDatabase(t, 'two instances create users, send and read at once', async (t, at) => {
  const one = await startInbox(t, at)
  const other = await startInbox(t, at, { isSecond: true, clock: one.clock })
  let moment = 0
  const timed = async <T>(work: () => Promise<T>) => {
    const begun = ++moment
    const value = await work()
    return { value, begun, ended: ++moment }
  }
  const both = [one, other]
  const at10 = Array.from({ length: 10 }, (_, index) => index)
  const [users, sends] = await Promise.all([
    Promise.all(at10.map((index) => timed(() => (both[index % 2] ?? one).user(`u${index}`)))),
    Promise.all(
      at10.map(async (index) => {
        await new Promise((resolve) => setTimeout(resolve, index * 20))
        const instance = both[index % 2] ?? one
        return { messageId: `m${index}`, ...(await timed(() => instance.inbox.addForAll(message(`m${index}`)))) }
      }),
    ),
  ])
  const seenBy = new Map<number, Set<string>>()
  for (const { value: user, begun, ended } of users) {
    const items = (await user.inbox('size=200')).items as { messageId: string }[]
    const seen = new Set(items.map(({ messageId }) => messageId))
    seenBy.set(user.id, seen)
    for (const send of sends) {
      // If creation and send overlap, either order is right.
      if (ended < send.begun) t.ok(seen.has(send.messageId), 'created before the send')
      if (begun > send.ended) t.notOk(seen.has(send.messageId), 'created after the send')
    }
  }
  const counts = await Promise.all(
    users.map(async ({ value: user }) => {
      const here = one.loginAs(`u${users.findIndex(({ value }) => value === user)}`)
      const there = other.loginAs(`u${users.findIndex(({ value }) => value === user)}`)
      const reads = await Promise.all([here, there].map(async (on) => (await on).call('PUT', `${path}/read-all`)))
      const affected = reads.reduce((sum, { data }) => sum + data.affected, 0)
      return [affected === seenBy.get(user.id)?.size, (await user.call('GET', `${path}/unread-count`)).data.count]
    }),
  )
  t.same(
    counts,
    users.map(() => [true, 0]),
    'each message is read once',
  )
})

onEachDatabase(t, 'reading stays fast with many messages', async (t, at) => {
  const { user, db, inbox, purge, rows } = await startInbox(t, at)
  const ada = await user('ada')
  for (let index = 0; index < 5; index++) await inbox.addForAll(message(`m${index}`))
  const columns = `id, message_id, subject, content, variables, jump, attachments, created_at,
    audience, user_id_limit, module, category`
  const place = `(${columns.replace(/[a-z_]+/g, '?')})`
  let first = db.newId() - 50_000
  const insert = async (count: number, audience: readonly (string | number | null)[]) => {
    for (let index = 0; index < count; index += 500) {
      const values = Array.from({ length: 500 }, () => {
        const id = first++
        return [id, `old-${id}`, 'S', 'C', '{}', '{}', 0, new Date(), ...audience]
      })
      const list = values.map(() => place).join(', ')
      await db.execute(`insert into notification_inbox_content (${columns}) values ${list}`, values.flat())
    }
  }
  const ofAll = ['all', ada.id, 'system', 'system']
  await insert(10_000, [null, null, null, null])
  await insert(1_000, ofAll)
  const { plansOf } = watchStatements(db, 'notification_inbox_content')
  for (const call of [
    `${path}?count=none`,
    `${path}?count=none&unreadOnly=true&module=system`,
    `${path}/unread-count`,
  ]) {
    const plans = (await plansOf(() => ada.call('GET', call))).filter(({ sql }) => sql.includes('audience ='))
    t.ok(plans.length > 0, call)
    for (const { sql, indexes, sorts, scans } of plans) {
      t.match(indexes.join(), /_audience_id_index/, sql)
      t.same([sorts, scans], [false, []], sql)
    }
  }
  t.same((await ada.call('GET', `${path}/unread-count`)).data, { count: 1_000, capped: true })
  await insert(4_500, ofAll)
  await purge()
  t.equal(await rows(`notification_inbox_content where audience = 'all'`), 5_000, 'the oldest are removed')
})
