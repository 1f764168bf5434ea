/** Runs the conformance cases of channels with both channels. */
import { notificationChannelCases } from '@plinth/dev/conformance'
import { createDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { startPush } from './fixtures/product.ts'
import { privateKeyPem, type ReceivedPush, startPushService } from './fixtures/push-service.ts'

t.test('both channels obey their contract', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const service = await startPushService(t)
  const product = await startPush(t, at, { service })
  const { anna, ben, ids, browse, channel } = product
  const browsers = [await browse(anna, 'anna'), await browse(ben, 'ben')]
  await anna('POST', 'push/devices/fcm', { token: 'token-of-anna-0123456789' })
  await ben('POST', 'push/devices/fcm', { token: 'token-of-ben-0123456789' })
  const userOf = ({ path, message }: ReceivedPush) =>
    path === browsers[0]?.path || message.message?.token === 'token-of-anna-0123456789' ? ids.anna : ids.ben
  const delivered = () =>
    service.received
      .filter(({ status }) => status !== 503)
      .map((push) => {
        const { title, body } = push.message.notification ?? push.message.message.notification
        return { subject: title, content: body, recipients: [{ kind: 'user' as const, userId: userOf(push) }] }
      })
  const down = { status: 503 }
  const secrets = [
    privateKeyPem.slice(60, 120),
    'token-of-anna-0123456789',
    ...browsers.flatMap(({ path, keys }) => [path, keys.auth, keys.p256dh]),
  ]
  for (const code of ['web-push', 'fcm']) {
    const create = async () => {
      Object.assign(service, { received: [], behaviour: { status: 201 }, tokenBehaviour: undefined })
      return { channel: channel(code), delivered }
    }
    const cases = notificationChannelCases(create, {
      secrets,
      recipients: [
        { kind: 'user', userId: ids.anna },
        { kind: 'user', userId: ids.ben },
      ],
      recipientsAs: 'each',
      nextHop: {
        fail: () => void Object.assign(service, { behaviour: down, tokenBehaviour: down }),
        hang: () => void Object.assign(service, { behaviour: 'hang', tokenBehaviour: 'hang' }),
        recover: () => void Object.assign(service, { behaviour: { status: 201 }, tokenBehaviour: undefined }),
        echo: () => {
          const body = JSON.stringify({ reason: secrets.join(' '), error: { message: secrets.join(' ') } })
          service.behaviour = { status: 400, body }
        },
      },
    })
    for (const { name, run } of cases) await t.test(`${code}: ${name}`, run)
  }
})
