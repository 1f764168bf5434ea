/** Tests immediate updates of an open page. */
import { setImmediate as nextTick } from 'node:timers/promises'
import { assertMembers } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { sharedStore } from '@plinth/shared-store'
import t from 'tap'
import { startWebsocket } from './fixtures/websocket-product.ts'

t.test('events reach users who are online', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const { user, connect, inbox, facade, settled, presence, channel, running } = await startWebsocket(t, at)
  const [ada, bob] = [await user('ada'), await user('bob')]
  const page = await connect({ token: ada.token, headers: { 'accept-language': 'zh-CN' } })
  const phone = await connect({ token: ada.token, query: '?locale=en' })
  const other = await connect({ token: bob.token })
  const order = {
    messageId: 'm1',
    subject: 'Your order',
    content: 'messages.shop.paid',
    variables: { orderNo: 'A7' },
    attributes: { module: 'mall', event: 'order.status-changed', orderNo: 'A7' },
  }

  await t.test(
    '[N-007 N-093 N-171] an inbox item is pushed with its link fields, in the language of each recipient',
    async (t) => {
      await inbox.add({ ...order, userIds: [ada.id] })
      await settled()
      const [shown, onPhone] = [await page.next(), await phone.next()]
      const [item] = (await ada.call('GET', 'notifications/inbox')).data.items
      const { displayContent, displaySubject, ...stored } = item
      t.match(shown, { event: 'notification.created', data: stored })
      t.match(shown.data, {
        id: item.id,
        unread: true,
        readAt: null,
        module: 'mall',
        event: 'order.status-changed',
        targetType: 'order',
        targetId: 'A7',
        targetRoute: '/mall/orders/A7',
        displayContent: '订单 A7 已支付',
      })
      t.match(onPhone, { event: 'notification.created', data: { id: item.id, displayContent: 'Order A7 is paid' } })
      await other.settled()
      t.same(other.received.slice(1), [], 'nobody else')
    },
  )

  await t.test('[N-093 N-171] an item that is read on one device is read on the others', async (t) => {
    const [{ id }] = (await ada.call('GET', 'notifications/inbox')).data.items
    await ada.call('PUT', `notifications/inbox/${id}/read`)
    await settled()
    const read = { event: 'notification.read', data: { id, unread: false, targetRoute: '/mall/orders/A7' } }
    t.match(await page.next(), read)
    t.match(await phone.next(), read)
    await inbox.add({ messageId: 'm2', subject: 's', content: 'c', userIds: [ada.id] })
    await settled()
    await page.next()
    await ada.call('PUT', 'notifications/inbox/read-all')
    await settled()
    t.match(await page.next(), { event: 'notification.read', data: { all: true, readAt: /Z$/ } })
  })

  await t.test(
    '[N-015] a push is not stored: if no user is online it is no failure, and the inbox has the item',
    async (t) => {
      const eve = await user('eve')
      const draft = { subject: 'Hi', content: 'there', recipients: [{ kind: 'user', userId: eve.id } as const] }
      const results = await facade.send(draft, { channels: ['websocket', 'database'] })
      assertMembers(t, results, [
        { channel: 'websocket', outcome: 'accepted' },
        { channel: 'database', outcome: 'accepted' },
      ])
      t.equal((await eve.call('GET', 'notifications/inbox')).data.total, 1)
      const late = await connect({ token: eve.token })
      await late.settled()
      t.same(late.received.slice(1), [], 'what was pushed before is not pushed again')
    },
  )

  await t.test('[N-108] with websocketEnabled off nothing is pushed, and the inbox item is written', async (t) => {
    await other.settled()
    const before = other.received.length
    await bob.call('PUT', 'notifications/preferences', { websocketEnabled: false })
    await inbox.add({ ...order, messageId: 'm3', userIds: [bob.id] })
    await settled()
    for (const recipient of [
      { kind: 'user', userId: bob.id },
      { kind: 'websocket-user', userId: bob.id },
      { kind: 'websocket-session', sessionId: other.hello.sessionId },
    ] as const) {
      await facade.send({ subject: 's', content: 'c', recipients: [recipient] }, { channels: ['websocket'] })
    }
    await other.settled()
    t.equal(other.received.length, before)
    t.equal((await bob.call('GET', 'notifications/inbox')).data.total, 1)
    await bob.call('PUT', 'notifications/preferences', { websocketEnabled: true, mallEnabled: false })
    await facade.send(
      {
        subject: 's',
        content: 'c',
        attributes: { module: 'mall' },
        recipients: [{ kind: 'websocket-user', userId: bob.id }],
      },
      { channels: ['websocket'] },
    )
    await other.settled()
    t.equal(other.received.length, before, 'nor what is of a category that is off')
  })
  await t.test('a message to all users is pushed to those who want it, with the id of the inbox', async (t) => {
    const before = other.received.length
    for (const off of ['databaseEnabled', 'mallEnabled', 'websocketEnabled']) {
      const preferences = { databaseEnabled: true, mallEnabled: true, websocketEnabled: true, [off]: false }
      await bob.call('PUT', 'notifications/preferences', preferences)
      await inbox.addForAll({ ...order, messageId: `all-${off}` })
      await settled()
      const [{ id }] = (await ada.call('GET', 'notifications/inbox')).data.items
      const pushed = { event: 'notification.created', data: { id, unread: true, targetRoute: '/mall/orders/A7' } }
      for (const client of [page, phone]) {
        await client.settled()
        t.match(client.received.at(-1), pushed)
      }
    }
    await other.settled()
    t.equal(other.received.length, before)
    const late = await user('late')
    t.equal((await late.call('GET', 'notifications/inbox')).data.total, 0)
  })
  await t.test('a push belongs to the category that a plugin has declared for its module', async (t) => {
    await bob.call('PUT', 'notifications/preferences', { websocketEnabled: true, systemEnabled: false })
    const notice = { subject: 'Notice', content: 'c', attributes: { module: 'security' } }
    await inbox.add({ ...notice, messageId: 'required', userIds: [bob.id] })
    await inbox.addForAll({ ...notice, messageId: 'required-for-all' })
    await settled()
    const recipients = [{ kind: 'websocket-user', userId: bob.id } as const]
    await facade.send({ ...notice, recipients }, { channels: ['websocket'] })
    await other.settled()
    const modules = other.received.slice(-3).map(({ data }) => data.module)
    t.same(modules, ['security', 'security', 'security'], 'the switch of another category does not count')
  })
  await t.test('a push is not continued if its time expires while it is passed to the shared store', async (t) => {
    const late = new AbortController()
    t.capture(running.service(sharedStore), 'publish', () => {
      late.abort(new Error('The time is over'))
      return nextTick()
    })
    const recipients = [{ kind: 'websocket-group', group: 'nobody' } as const]
    const message = { id: 'm4', subject: 's', content: 'c', variables: {}, attributes: {}, recipients }
    const result = await channel.send(message, { signal: late.signal, idempotencyKey: 'k4', attempt: 1 })
    t.hasStrict(result, { outcome: 'unknown', errorCode: 'instances-unreachable' })
  })
  t.match(presence, { sockets: 4, guests: 0, users: 3 })
  t.equal(presence.ofUser(ada.id), 2)
})
