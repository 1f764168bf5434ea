/** Inbox operations of users. */

import { assertMembers } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { startInbox } from './fixtures/inbox-product.ts'

const path = 'notifications/inbox'

onEachDatabase(t, 'a message of an administrator reaches the inboxes of its recipients', async (t, at) => {
  const { user, admin, rows, created, settled } = await startInbox(t, at)
  const [ada, bob, eve] = [await user('ada'), await user('bob'), await user('eve')]

  await t.test('[N-006 N-131 N-125 N-089] each recipient has one item, and no other user has it', async (t) => {
    const sent = await admin.call('POST', 'notifications/send', {
      channels: ['database'],
      recipientUserIds: [ada.id, bob.id, ada.id],
      subject: 'Maintenance',
      content: 'Tonight from 22:00',
    })
    assertMembers(t, sent, { code: '200', data: [{ channel: 'database', success: true }] })
    for (const one of [ada, bob]) {
      assertMembers(t, await one.inbox(), {
        total: 1,
        items: [
          {
            messageId: sent.data[0].messageId,
            subject: 'Maintenance',
            content: 'Tonight from 22:00',
            displaySubject: 'Maintenance',
            displayContent: 'Tonight from 22:00',
            unread: true,
            readAt: null,
            module: 'system',
            event: null,
            targetRoute: null,
            attachments: [],
          },
        ],
      })
    }
    assertMembers(t, await eve.inbox(), { items: [], total: 0 })
    t.equal(await rows('notification_inbox_content'), 1, 'the content is stored once')
    await settled()
    assertMembers(t, created, [{ content: { subject: 'Maintenance' }, userIds: [ada.id, bob.id] }])
  })

  await t.test('a message without text is rejected and reaches no inbox', async (t) => {
    const before = await rows('notification_inbox_item')
    const empty = { channels: ['database'], recipientUserIds: [ada.id], template: 'nobody.has-it' }
    t.hasStrict(await admin.call('POST', 'notifications/send', empty), {
      code: '503',
      data: { result: { outcome: 'rejected', errorCode: 'text-missing' } },
    })
    t.equal(await rows('notification_inbox_item'), before)
  })

  await t.test(
    '[N-015] offline users find the item later, because it is in the table and not only in a push',
    async (t) => {
      t.equal((await (await bob).inbox()).items.length, 1)
    },
  )
})

onEachDatabase(t, 'read state', async (t, at) => {
  const { user, add, read, settled } = await startInbox(t, at)
  const [ada, bob] = [await user('ada'), await user('bob')]
  for (const messageId of ['m1', 'm2', 'm3']) await add({ messageId, userIds: [ada.id, bob.id] })
  const ids = async (one: typeof ada) => (await one.inbox()).items.map(({ id }: { id: number }) => id) as number[]
  const unread = async (one: typeof ada) => (await one.call('GET', `${path}/unread-count`)).data
  const [third, second, first] = (await ids(ada)) as [number, number, number]
  const foreign = (await ids(bob)) as [number, number, number]

  await t.test('[N-115 N-120 N-126] reading an item reduces the count by one', async (t) => {
    t.same(await unread(ada), { count: 3, capped: false })
    t.same((await ada.call('PUT', `${path}/${first}/read`)).data, { affected: 1 })
    t.same((await ada.call('PUT', `${path}/${first}/read`)).data, { affected: 0 }, 'once more has no effect')
    t.same(await unread(ada), { count: 2, capped: false })
    const [item] = (await ada.inbox('unreadOnly=false')).items.slice(-1)
    t.match(item, { id: first, unread: false, readAt: /Z$/ })
    t.same(
      (await ada.inbox('unreadOnly=true')).items.map(({ id }: { id: number }) => id),
      [third, second],
    )
    await settled()
    assertMembers(t, read, [
      { userId: ada.id, all: false, items: [{ id: first, messageId: 'm1', unread: false, module: 'system' }] },
    ])
  })

  await t.test('[N-116 N-120] and marking it unread increases the count', async (t) => {
    t.same((await ada.call('PUT', `${path}/${first}/unread`)).data, { affected: 1 })
    t.same(await unread(ada), { count: 3, capped: false })
    t.match((await ada.inbox()).items[2], { id: first, unread: true, readAt: null })
  })

  await t.test('[N-117] a batch changes only the own items', async (t) => {
    const response = await ada.call('PUT', `${path}/read-batch`, { ids: [first, second, ...foreign] })
    t.equal(response.data.affected, 2)
    t.same(await unread(ada), { count: 1, capped: false })
    t.same(await unread(bob), { count: 3, capped: false })
    await bob.call('PUT', `${path}/read-batch`, { ids: foreign })
    t.same((await ada.call('PUT', `${path}/unread-batch`, { ids: [first, second, ...foreign] })).data.affected, 2)
    t.same(
      [await unread(ada), await unread(bob)],
      [
        { count: 3, capped: false },
        { count: 0, capped: false },
      ],
    )
    await bob.call('PUT', `${path}/unread-batch`, { ids: foreign })
  })

  await t.test('[N-119 N-135] an item of another user is treated as missing, and does not change', async (t) => {
    for (const [method, end] of [
      ['PUT', '/read'],
      ['PUT', '/unread'],
      ['DELETE', ''],
    ] as const) {
      t.hasStrict(await ada.call(method, `${path}/${foreign[0]}${end}`), {
        code: '404',
        data: { reason: 'notification-inbox.item-unknown' },
      })
    }
    t.same(await unread(bob), { count: 3, capped: false })
  })

  await t.test('[N-118] read-all with "before" leaves items unread that arrived later', async (t) => {
    const shown = (await ada.inbox()).items as { id: number; unread: boolean }[]
    const seen = shown[1]?.id ?? 0
    t.same((await ada.call('PUT', `${path}/read-all`, { before: seen })).data, { affected: 2 })
    await settled()
    assertMembers(t, read.at(-1), { userId: ada.id, all: false, items: [{ id: Number }, { id: seen }] })
    const left = (await ada.inbox('unreadOnly=true')).items as { id: number }[]
    t.same(
      left.map(({ id }) => id),
      [shown[0]?.id],
    )
    t.same((await ada.call('PUT', `${path}/read-all`, { before: seen })).data, { affected: 0 })
    assertMembers(t, await ada.call('PUT', `${path}/read-all`, { befor: seen }), {
      code: '400',
      data: { errors: [{ field: 'befor' }] },
    })
    await ada.call('PUT', `${path}/unread-batch`, { ids: shown.map(({ id }) => id) })
  })

  await t.test('[N-118 N-120] read-all reads only the own inbox', async (t) => {
    t.same((await ada.call('PUT', `${path}/read-all`)).data, { affected: 3 })
    t.same(
      [await unread(ada), await unread(bob)],
      [
        { count: 0, capped: false },
        { count: 3, capped: false },
      ],
    )
    await settled()
    assertMembers(t, read.at(-1), { userId: ada.id, all: true, items: [] })
  })

  await t.test('[N-135 N-136] only own items are deleted, with ids in the body or in the query', async (t) => {
    t.same((await ada.call('DELETE', `${path}/${first}`)).data, { affected: 1 })
    t.hasStrict(await ada.call('DELETE', `${path}/${first}`), { code: '404' })
    t.same((await ada.call('DELETE', path, { ids: [second, first, foreign[0]] })).data.affected, 1)
    t.same(
      (await ada.call('DELETE', `${path}?ids=9007199254740992`)).data,
      { affected: 0, results: [] },
      'no id is so large',
    )
    t.same((await ada.call('DELETE', `${path}?ids=${third},${foreign[1]}`)).data.affected, 1)
    t.equal((await ada.inbox()).total, 0)
    t.equal((await bob.inbox()).total, 3)
    for (const [payload, query] of [
      [undefined, ''],
      [{}, ''],
      [{ ids: [] }, ''],
      [undefined, '?ids='],
      [undefined, '?ids=1,x'],
    ] as const) {
      t.hasStrict(
        await bob.call('DELETE', `${path}${query}`, payload),
        { code: '400' },
        JSON.stringify([payload, query]),
      )
    }
    t.equal((await bob.inbox()).total, 3, 'nothing named, nothing deleted')
  })

  await t.test('an item that was delivered and deleted is not delivered again', async (t) => {
    t.same(await add({ messageId: 'm1', userIds: [ada.id, bob.id] }), { added: 0, skipped: 0 })
    t.equal((await ada.inbox()).total, 0)
  })
})
