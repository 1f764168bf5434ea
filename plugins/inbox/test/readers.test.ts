/** Tests that each person gets a message in their own language and time zone. */
import { randomUUID } from 'node:crypto'
import { onDatabase } from '@plinth/dev/testing/database'
import { events } from '@plinth/events'
import { definePlugin, type NotificationMessage, notificationChannel } from '@plinth/kernel'
import type { MessageDraft } from '@plinth/notification'
import memory, { sentNotifications } from '@plinth/notification-channels/memory'
import template from '@plinth/template'
import t from 'tap'
import { startInbox } from './fixtures/inbox-product.ts'

const letters: NotificationMessage[] = []
/** A channel that reaches users and addresses. */
const post = definePlugin({
  id: 'test.post',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [notificationChannel],
  setup: ({ contribute }) =>
    contribute(notificationChannel, 'post', {
      displayName: 'Post',
      recipientKinds: ['user', 'email'],
      traits: { idempotent: false },
      async send(message) {
        letters.push(message)
        return { outcome: 'accepted' }
      },
    }),
})

onDatabase(t, 'each person gets a message in their own language and time zone', async (t, at) => {
  const { user, admin, db, facade, running } = await startInbox(t, at, { plugins: [template, memory, post] })
  const texts = {
    en: 'Due {{dateTime at "short"}}: {{plural n one="# order" other="# orders"}}',
    'zh-CN': '{{dateTime at "short"}} 到期，{{plural n other="# 个订单"}}',
  }
  for (const [locale, content] of Object.entries(texts))
    await admin.call('POST', 'admin/templates', { code: 'due', channel: 'all', locale, subject: 's', content })
  const reader = async (name: string, preferences: object) => {
    const { id, call } = await user(name)
    await call('PUT', 'notifications/preferences', preferences)
    return id
  }
  const ada = await reader('ada', {})
  const bob = await reader('bob', { locale: 'en-GB', timeZone: 'Europe/Berlin' })
  const chen = await reader('chen', { locale: 'zh-CN', timeZone: 'Asia/Shanghai' })
  const dora = await reader('dora', { locale: 'zh-TW' })
  const draft: MessageDraft & Required<Pick<MessageDraft, 'recipients'>> = {
    template: 'due',
    variables: { at: '2027-01-15T23:30:00Z', n: 1 },
    recipients: [ada, bob, chen, dora].map((userId) => ({ kind: 'user', userId })),
  }
  const expected = [
    [ada, 'Due 1/15/27, 11:30 PM: 1 order'],
    [bob, 'Due 16/01/2027, 00:30: 1 order'],
    [chen, '2027/1/16 07:30 到期，1 个订单'],
    // No template has her script, so she gets the default language.
    [dora, 'Due 1/15/27, 11:30 PM: 1 order'],
  ]
  // `Intl` uses several kinds of spaces, which change with its data.
  const plain = (text: string) => text.replace(/\s/g, ' ')
  const inboxes = async () => {
    const rows = await db.query<{ user_id: unknown; content: string }>(
      `select i.user_id, c.content from notification_inbox_item i
       join notification_inbox_content c on c.id = i.content_id order by i.user_id`,
    )
    await db.execute('delete from notification_inbox_item')
    return rows.map(({ user_id, content }) => [Number(user_id), plain(content)])
  }

  await t.test('in a direct send', async (t) => {
    const results = await facade.send(draft, { channels: ['database', 'post', 'memory'] })
    t.same(
      results.map(({ success }) => success),
      [true, true, true],
    )
    t.same(await inboxes(), expected)
    const sent = letters.flatMap(({ recipients, content }) =>
      recipients.map((one) => ['userId' in one ? one.userId : 0, plain(content)] as const),
    )
    t.same(
      sent.sort(([one], [other]) => one - other),
      expected,
    )
    t.equal(running.service(sentNotifications).messages.length, 1, 'a channel without recipients gets the message once')
  })

  await t.test('recipients whom the channel does not reach, or who switched it off, are left out', async (t) => {
    letters.length = 0
    const mixed = [...draft.recipients, { kind: 'mobile', number: '13800138000' } as const]
    const [result] = await facade.send({ ...draft, recipients: mixed }, { channels: ['post'] })
    t.hasStrict(result, { success: true, errorCode: null })
    t.equal(letters.length, 4, 'no group of recipients without an address')
    letters.length = 0
    const eva = await reader('eva', { locale: 'fr', system: false })
    const users = [ada, eva].map((userId) => ({ kind: 'user', userId }) as const)
    const [left] = await facade.send({ ...draft, recipients: users }, { channels: ['post'] })
    t.hasStrict(left, { success: true, errorCode: null })
    t.equal(letters.length, 1)
  })

  await t.test('in a queued message, once each', async (t) => {
    const idempotencyKey = randomUUID()
    const ids: string[] = []
    for (const _ of [1, 2])
      ids.push((await facade.enqueue(draft, { channels: ['database'], idempotencyKey })).messageId)
    await running.service(events).idle()
    const { data } = await admin.call('GET', `notification-read-receipts?messageId=${ids[0]}&size=3`)
    const rest = await admin.call('GET', `notification-read-receipts?messageId=${ids[0]}&size=3&cursor=${data.next}`)
    t.same(
      [...data.items, ...rest.data.items].map(({ userId }) => userId),
      expected.map(([userId]) => userId),
      'the id of the message finds the readers of all groups',
    )
    t.same(await inboxes(), expected)
  })

  await t.test('a message that specifies its language is the same for all', async (t) => {
    await facade.send({ ...draft, locale: 'zh' }, { channels: ['database'] })
    t.same([...new Set((await inboxes()).map(([, text]) => text))], ['2027/1/15 23:30 到期，1 个订单'])
  })
})
