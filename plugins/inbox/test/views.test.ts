/** Tests the content and the link of an inbox item. */

import { assertMembers } from '@plinth/dev/testing'
import { onDatabase, onSqlite } from '@plinth/dev/testing/database'
import type { InboxItemView } from '@plinth/inbox'
import t from 'tap'
import { jumpTargetOf } from '../src/items/jump-target.ts'
import { startInbox } from './fixtures/inbox-product.ts'

onDatabase(t, 'an item shows texts in the language of its reader', async (t, at) => {
  const { user, add } = await startInbox(t, at)
  const ada = await user('ada')
  const variables = { orderNo: 'N-7' }
  await add({
    messageId: 'braced',
    subject: '{messages.shop.title}',
    content: 'messages.shop.paid',
    variables,
    userIds: [ada.id],
  })
  await add({ messageId: 'missing', subject: 'messages.shop.gone', content: '{messages.shop.gone}', userIds: [ada.id] })
  await add({
    messageId: 'plain',
    subject: 'messages in a bottle',
    content: '{{orderNo}} $& 中文 🔑',
    variables,
    userIds: [ada.id],
  })
  const list = async (language: string) =>
    (await ada.call('GET', 'notifications/inbox', undefined, { 'accept-language': language })).data
      .items as InboxItemView[]

  const [plain, missing, braced] = (await list('zh-CN')) as [InboxItemView, InboxItemView, InboxItemView]
  await t.test(
    '[N-089 N-017 N-090] a message key is resolved with its variables, and the original is kept',
    async (t) => {
      t.match(braced, { subject: '{messages.shop.title}', displaySubject: '您的订单' })
      t.match(braced, { content: 'messages.shop.paid', displayContent: '订单 N-7 已支付' })
      const [, , english] = await list('en')
      t.match(english, { displaySubject: 'Your order', displayContent: 'Order N-7 is paid' })
    },
  )
  await t.test('[N-091] without a translation the original text is shown', async (t) => {
    t.match(missing, { displaySubject: 'messages.shop.gone', displayContent: '{messages.shop.gone}' })
    t.match(plain, { displaySubject: 'messages in a bottle', displayContent: '{{orderNo}} $& 中文 🔑' })
  })
})

onDatabase(t, 'an item has a link target', async (t, at) => {
  const { user, add, rows, db } = await startInbox(t, at)
  const ada = await user('ada')
  await add({
    messageId: 'reply-12',
    userIds: [ada.id],
    attributes: {
      module: 'forum',
      event: 'reply.created',
      sourceType: 'reply',
      sourceId: 12,
      topicId: 4711,
      dedupeKey: 'forum:reply:12',
      'webhook.secret': 'correct-horse-battery',
      note: { deep: true },
    },
  })
  await t.test('[N-092 N-094 N-095] the link fields are members of the item, with a semantic route', async (t) => {
    const [item] = (await ada.inbox()).items
    t.match(item, {
      module: 'forum',
      event: 'reply.created',
      eventType: 'reply.created',
      sourceType: 'reply',
      sourceId: '12',
      targetType: 'topic',
      targetId: '4711',
      targetRoute: '/forum/topics/4711',
      targetUserId: null,
      dedupeKey: 'forum:reply:12',
    })
    t.notOk('attributes' in item)
  })
  await t.test('of the attributes only the link fields are stored', async (t) => {
    const stored = JSON.stringify(
      await db.query('select subject, content, jump, variables from notification_inbox_content'),
    )
    t.notMatch(stored, /correct-horse-battery|deep/)
    t.equal(await rows('notification_inbox_content'), 1)
  })
})

t.test('[N-096] friend request, accept, reject and follow open the profile of the other person', async (t) => {
  for (const event of ['friend.requested', 'friend.accepted', 'friend.rejected', 'user.followed']) {
    const expected = { module: 'social', targetType: 'user', targetId: '7', targetUserId: 7, targetRoute: '/users/7' }
    t.match(jumpTargetOf({ event: `social.${event}`, fromUserId: 7 }), expected, event)
    t.match(jumpTargetOf({ module: 'social', event, targetUserId: 7 }), expected, event)
  }
})

t.test('[N-097] a message of a conversation opens the conversation', async (t) => {
  const target = jumpTargetOf({
    event: 'conversation.message.created',
    conversationId: 31,
    conversationType: 'group',
    messagePreview: 'x'.repeat(500),
    sender: { userId: 7, name: 'Bob', avatar: 'https://a.example/b.png', role: 'admin' },
  })
  t.match(target, {
    module: 'conversation',
    targetType: 'conversation',
    targetId: '31',
    targetRoute: '/chat/conversations/31',
    conversationType: 'group',
  })
  t.same(target.sender, { userId: 7, name: 'Bob', avatar: 'https://a.example/b.png' })
  t.equal(target.messagePreview?.length, 200)
})

t.test(
  '[N-098 N-099] forum notices open the topic or the report, mall notices the order or the after-sales record',
  (t) => {
    const cases: readonly (readonly [string, object, string, string])[] = [
      ['forum.reply.created', { topicId: 4 }, 'topic', '/forum/topics/4'],
      ['forum.topic.liked', { topicId: 4 }, 'topic', '/forum/topics/4'],
      ['forum.reply.liked', { topicId: 4 }, 'topic', '/forum/topics/4'],
      ['forum.topic.favorited', { topicId: 4 }, 'topic', '/forum/topics/4'],
      ['forum.report.status-changed', { reportId: 5 }, 'report', '/forum/reports/5'],
      ['mall.order.status-changed', { orderNo: 'A/1' }, 'order', '/mall/orders/A%2F1'],
      ['mall.after-sales.status-changed', { afterSalesNo: 'S1', orderNo: 'A1' }, 'after-sales', '/mall/after-sales/S1'],
    ]
    for (const [event, ids, targetType, targetRoute] of cases) {
      t.match(jumpTargetOf({ event, ...ids }), { event, targetType, targetRoute }, event)
      const [module, ...rest] = event.split('.')
      t.match(jumpTargetOf({ module, event: rest.join('.'), ...ids }), { module, targetType, targetRoute }, event)
    }
    t.end()
  },
)

t.test('values of the sender are used unless they are malformed, in which case they are omitted', (t) => {
  const named = { targetRoute: '/own/place', targetType: 'thing', targetId: '9' }
  t.match(jumpTargetOf({ event: 'forum.topic.liked', topicId: 4, ...named }), named)
  for (const targetRoute of [
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    '/a b',
    7,
    '/\u0000',
  ]) {
    t.equal(jumpTargetOf({ targetRoute }).targetRoute, null, String(targetRoute))
  }
  for (const targetUserId of [0, -1, 1.5, '1e3', {}, 2 ** 60])
    t.equal(jumpTargetOf({ targetUserId }).targetUserId, null)
  for (const event of ['constructor', '__proto__', 'toString'])
    t.match(jumpTargetOf({ event }), { targetRoute: null, event })
  t.match(jumpTargetOf({}), { module: 'system', event: null, sender: null })
  t.match(jumpTargetOf({ module: 'Forum', sender: 'Bob' }), { module: 'forum', sender: null })
  t.end()
})

onDatabase(t, 'attachments', async (t, at) => {
  const { user, add, admin, db } = await startInbox(t, at)
  const ada = await user('ada')
  const report = { name: 'report.pdf', contentType: 'application/pdf', size: 1024 }
  await add({
    messageId: 'with-files',
    userIds: [ada.id],
    attributes: {
      attachments: [
        { ...report, disk: 'public', path: 'reports/1 a.pdf' },
        { ...report, name: 'private.pdf', disk: 'local', path: 'reports/2.pdf' },
        { ...report, name: 'elsewhere.pdf', url: 'https://cdn.example/3.pdf' },
        { ...report, name: 'lost.pdf', disk: 'gone', path: '4.pdf', url: 'https://cdn.example/4.pdf' },
        { ...report, name: 'nowhere.pdf', disk: 'gone', path: '5.pdf' },
      ],
    },
  })
  await add({ messageId: 'without', userIds: [ada.id] })
  const list = async (query = '') => (await admin.call('GET', `notification-message-attachments?${query}`)).data

  await t.test(
    '[N-137 N-100 N-102 N-103] the metadata is listed, with an address of the current configuration',
    async (t) => {
      const { items, total } = await list('messageId=with-files')
      t.equal(total, 5)
      const byName = new Map(items.map((item: { name: string }) => [item.name, item]))
      const { id } = byName.get('report.pdf') as { readonly id: number }
      t.ok(Number.isSafeInteger(id))
      t.same(byName.get('report.pdf'), {
        id,
        ...report,
        messageId: 'with-files',
        disk: 'public',
        path: 'reports/1 a.pdf',
        url: 'https://files.example.com/storage/reports/1%20a.pdf',
      })
      t.match(byName.get('private.pdf'), { url: /^https:\/\/files\.example\.com\/.*reports\/2\.pdf\?.*signature=/ })
      t.match(byName.get('elsewhere.pdf'), { disk: null, path: null, url: 'https://cdn.example/3.pdf' })
      t.match(byName.get('lost.pdf'), { disk: 'gone', url: 'https://cdn.example/4.pdf' }, 'the fallback')
      t.match(byName.get('nowhere.pdf'), { url: null })
      t.equal((await list()).total, 5)
      t.equal((await list('messageId=without')).total, 0)
      t.equal((await list('messageId=unknown')).total, 0)
    },
  )
  await t.test('the item has the attachments too, in their order', async (t) => {
    const [without, item] = (await ada.inbox()).items
    t.same(without.attachments, [])
    t.equal(item.attachments.length, 5)
    t.match(item.attachments[0], { name: 'report.pdf', url: /^https:\/\/files/ })
  })
  await t.test('[N-101] the table contains neither file contents nor a reference to a file record', async (t) => {
    const { properties } = db.fork().getMetadata().getByClassName('InboxAttachment')
    t.same(Object.keys(properties).sort(), [
      'contentId',
      'contentType',
      'disk',
      'id',
      'messageId',
      'name',
      'path',
      'size',
      'url',
    ])
  })
  await t.test('[N-137] the permission is required', async (t) => {
    t.hasStrict(await ada.call('GET', 'notification-message-attachments'), { code: '403' })
  })
})

onSqlite(t, '[N-102] the address follows the configuration of the disk', async (t, at) => {
  const config = { 'platform.storage.disks.public.base-url': 'https://cdn.example.net/files' }
  const { user, add } = await startInbox(t, at, { config })
  const ada = await user('ada')
  const attachments = [{ name: 'a', contentType: 'text/plain', size: 1, disk: 'public', path: 'a.txt' }]
  await add({ messageId: 'm', userIds: [ada.id], attributes: { attachments } })
  t.equal((await ada.inbox()).items[0].attachments[0].url, 'https://cdn.example.net/files/a.txt')
})

onDatabase(t, 'read receipts', async (t, at) => {
  const { user, add, admin } = await startInbox(t, at)
  const [ada, bob] = [await user('ada'), await user('bob')]
  await add({ messageId: 'm1', subject: 'Tea has arrived', userIds: [ada.id, bob.id] })
  await add({ messageId: 'm2', userIds: [ada.id] })
  const receipts = async (query: string) => (await admin.call('GET', `notification-read-receipts?${query}`)).data
  const withoutIds = async (query: string) =>
    (await receipts(query)).items.map(({ id, ...receipt }: { readonly id: number }) =>
      Number.isSafeInteger(id) ? receipt : 'no id',
    )
  const [, first] = (await ada.inbox()).items
  await t.test('[N-138] a receipt has the time of reading, and none after the item is marked unread', async (t) => {
    const expected = (readAt: unknown) => [
      { messageId: 'm1', displaySubject: 'Tea has arrived', userId: ada.id, readAt },
      { messageId: 'm1', displaySubject: 'Tea has arrived', userId: bob.id, readAt: null },
    ]
    t.same(await withoutIds('messageId=m1'), expected(null))
    await ada.call('PUT', `notifications/inbox/${first.id}/read`)
    t.match(await withoutIds('messageId=m1'), expected(/^\d{4}-.*Z$/))
    await ada.call('PUT', `notifications/inbox/${first.id}/unread`)
    t.same(await withoutIds('messageId=m1'), expected(null))
  })
  await t.test('[N-138] pages, all messages, an unknown message, and a caller without the permission', async (t) => {
    const page = await receipts('messageId=m1&size=1')
    assertMembers(t, page, { items: [{ userId: ada.id }], total: 2 })
    assertMembers(t, await receipts(`messageId=m1&size=1&cursor=${page.next}`), { items: [{ userId: bob.id }] })
    t.equal((await receipts('')).total, 3)
    t.equal((await receipts('messageId=none')).total, 0)
    t.hasStrict(await ada.call('GET', 'notification-read-receipts'), { code: '403' })
  })
})

onSqlite(t, 'operators with a data scope see receipts and attachments only of their users', async (t, at) => {
  const { user, add, admin } = await startInbox(t, at)
  const permissions = ['notification:receipt:view', 'notification:attachment:view']
  const role = await admin.call('POST', 'admin/iam/roles', {
    code: 'clerk',
    name: 'Clerk',
    dataScope: 'org',
    permissions,
  })
  t.equal(role.code, '200')
  const roleIds = [role.data.id]
  const [clerk, ada, bob] = [
    await user('clerk', { orgId: 5, roleIds }),
    await user('ada', { orgId: 5 }),
    await user('bob', { orgId: 6 }),
  ]
  const attachments = [{ name: 'a', contentType: 'text/plain', size: 1, url: 'https://cdn.example/a' }]
  await add({ messageId: 'both', userIds: [ada.id, bob.id], attributes: { attachments } })
  await add({ messageId: 'bob', userIds: [bob.id], attributes: { attachments } })
  assertMembers(t, (await clerk.call('GET', 'notification-read-receipts')).data, {
    total: 1,
    items: [{ userId: ada.id }],
  })
  t.match((await clerk.call('GET', 'notification-read-receipts?messageId=bob')).data, { total: 0 })
  t.equal((await clerk.call('GET', 'notification-message-attachments?messageId=both')).data.total, 1)
  t.equal((await clerk.call('GET', 'notification-message-attachments?messageId=bob')).data.total, 0)
  t.hasStrict(await clerk.call('GET', 'notification-message-attachments'), {
    code: '400',
    data: { reason: 'notification-inbox.message-needed', field: 'messageId' },
  })
})
