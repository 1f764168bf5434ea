/** Tests the effect of each configuration key of push messages. */
import { applyLiveValues, assertKeyEffect, type KeyValues } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import type { JsonValue } from '@plinth/kernel'
import t from 'tap'
import { outcomeOf, startPush } from './fixtures/product.ts'
import { serviceAccountOf, startPushService } from './fixtures/push-service.ts'

async function start(config: KeyValues = {}) {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const service = await startPushService(t)
  const all = config as Readonly<Record<string, JsonValue>>
  return { service, ...(await startPush(t, at, { service, config: all })) }
}

t.test('live keys change how devices are registered and messages are sent', async (t) => {
  // Live values are reset to those at the start, so the key must not be generated later.
  const secretKey = Buffer.alloc(32, 7).toString('base64')
  const product = await start({ 'platform.push.secret-key': secretKey })
  const { running, anna, ids, send, browse } = product
  await anna('POST', 'push/devices/fcm', { token: 'a-token-of-firebase' })
  const { subscription } = await browse(anna, 'laptop')
  const using =
    <T>(observe: (key: string) => Promise<T>) =>
    async (values: KeyValues, key: string) => {
      await applyLiveValues(running, values)
      return observe(key)
    }
  const sent = await assertKeyEffect(t, 'platform.notification.channels.{web-push,fcm}.enabled', {
    changed: false,
    observe: using(async (key) => (await send(key.split('.')[3] as string, ids.anna))?.errorCode),
  })
  for (const { before, after } of sent) t.same([before, after], [null, 'notification.channel-disabled'])
  const [registered] = await assertKeyEffect(t, 'platform.push.web-push.hosts', {
    changed: ['fcm.googleapis.com'],
    observe: using(async () => outcomeOf(await anna('POST', 'push/devices/web-push', subscription))),
  })
  t.same([registered?.before, registered?.after], ['200', '400 push.endpoint-rejected'])
  const [counts] = await assertKeyEffect(t, 'platform.push.max-devices', {
    changed: 1,
    observe: using(async () => {
      await browse(anna, 'next')
      return (await anna('GET', 'push/devices')).data.items.length
    }),
  })
  t.same([counts?.before, counts?.after], [3, 1])
})

t.test('the address of the FCM API decides where messages are sent', async (t) => {
  const service = await startPushService(t)
  const [paths] = await assertKeyEffect(t, 'platform.push.fcm.endpoint', {
    compared: `${service.url}/`,
    changed: `${service.url}/proxy`,
    observe: async (config) => {
      const at = await createDatabase('sqlite')
      t.teardown(() => at.drop())
      const { anna, ids, send } = await startPush(t, at, {
        service,
        config: config as Readonly<Record<string, JsonValue>>,
      })
      await anna('POST', 'push/devices/fcm', { token: 'a-token-of-firebase' })
      await send('fcm', ids.anna)
      return service.received.at(-1)?.path
    },
  })
  const path = '/v1/projects/shop-1/messages:send'
  t.same([paths?.before, paths?.after], [path, `/proxy${path}`])
})

t.test('the service account decides the project', async (t) => {
  const account = serviceAccountOf({ url: 'https://127.0.0.1' })
  const [states] = await assertKeyEffect(t, 'platform.push.fcm.service-account', {
    compared: account,
    changed: { ...account, private_key: `-----BEGIN PRIVATE KEY-----\nno key\n-----END PRIVATE KEY-----\n` },
    observe: async (config) => {
      const { channel } = await start(config)
      return [channel('fcm').enabled?.(), channel('fcm').condition?.().missingKeys]
    },
  })
  t.same(
    [states?.before, states?.after],
    [
      [true, []],
      [false, ['platform.push.fcm.service-account']],
    ],
  )
})

t.test('the secret key determines the public key for browsers', async (t) => {
  const [keys] = await assertKeyEffect(t, 'platform.push.secret-key', {
    compared: Buffer.alloc(32, 7).toString('base64'),
    changed: Buffer.alloc(32, 8).toString('base64'),
    observe: async (config) => (await (await start(config)).anna('GET', 'push/web-push/public-key')).data.publicKey,
  })
  t.match(keys?.before, /^B[\w-]{86}$/)
})

t.test('a device that was not registered again expires', async (t) => {
  const [states] = await assertKeyEffect(t, 'platform.push.device-expiry', {
    changed: '1d',
    observe: async (config) => {
      const { anna, browse, clock, running, devices } = await start(config)
      await browse(anna, 'laptop')
      clock.shiftWallClock(10 * 86_400_000)
      const purge = running.scheduledTasks.find(({ name }) => name === 'push.purge')
      await purge?.run(new AbortController().signal)
      return (await devices())[0]?.status
    },
  })
  t.same([states?.before, states?.after], ['active', 'expired'])
})
