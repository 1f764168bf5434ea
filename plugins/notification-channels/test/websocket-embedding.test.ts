/** Tests realtime connections of embedded inboxes. */
import { until } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { inboxEmbedding } from '@plinth/inbox'
import t from 'tap'
import { type ConnectOptions, key, RefusedHandshakeError, startWebsocket } from './fixtures/websocket-product.ts'

const shop = 'https://shop.example'

onDatabase(t, 'the token of an embedded inbox opens a connection that ends with the token', async (t, at) => {
  const product = await startWebsocket(t, at, {
    config: { 'platform.notification.inbox.embed.origins': [shop], [`${key}.heartbeat`]: '10m' },
  })
  const { user, running, connect, url, clock, inbox, settled, presence } = product
  const ada = await user('ada')
  const issue = async () => (await ada.call('POST', 'notifications/inbox-tokens')).data.token as string
  const token = await issue()
  const rejected = async (options: ConnectOptions) => {
    try {
      await connect(options)
      return 'connected'
    } catch (error) {
      return error instanceof RefusedHandshakeError ? error.body.data.reason : String(error)
    }
  }
  const protocols = ['bearer', token]
  t.same(
    await Promise.all([
      rejected({ query: `?token=${token}` }),
      rejected({ protocols, origin: 'https://elsewhere.example' }),
      rejected({ protocols: ['bearer', `${token.slice(0, -1)}x`], origin: shop }),
      rejected({ protocols, origin: url }),
    ]),
    ['iam.api-token-misplaced', 'notification-websocket.origin-unproven', 'iam.api-token-invalid', 'connected'],
  )
  const client = await connect({ protocols, origin: shop })
  t.match(client.hello, { userId: ada.id, sessionId: /^inbox-/ })
  client.translate({ type: 'subscribe', group: 'readers' })
  t.hasStrict(await client.next(), { type: 'error', code: 'group-forbidden' })
  await inbox.add({ messageId: 'm1', subject: 'Hello', content: '', userIds: [ada.id] })
  await settled()
  t.match(await client.next(), { event: 'notification.created', data: { messageId: 'm1', unread: true } })

  const later = await connect({
    protocols: ['bearer', (await running.service(inboxEmbedding).issueToken(ada.id)).token],
  })
  await ada.call('POST', 'auth/logout')
  await clock.advance(10_000)
  t.same(await client.closed, [4401, 'session-ended'], 'after the sign-out')
  t.equal(later.ws.readyState, later.ws.OPEN, 'a token without a session stays')
  for (let minute = 0; minute < 15; minute++) {
    await later.settled()
    await clock.advance(60_000)
  }
  t.same(await later.closed, [4401, 'session-ended'], 'after 15 minutes')
  await until(() => presence.sockets === 0, 'no connection is left')
})
