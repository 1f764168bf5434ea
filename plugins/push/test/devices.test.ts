/** Tests registration, limits, expiry, removal and visibility of devices. */
import { assertMembers } from '@plinth/dev/testing'
import { createDatabase, onEachDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { outcomeOf, startPush, status } from './fixtures/product.ts'
import { startPushService } from './fixtures/push-service.ts'

const dayMs = 86_400_000

onEachDatabase(
  t,
  'a device is registered once, moves to the user who registers it, and can be removed',
  async (t, at) => {
    const service = await startPushService(t)
    const { anna, ben, ids, browse, devices, clock, db, root } = await startPush(t, at, { service })
    const { publicKey } = (await anna('GET', 'push/web-push/public-key')).data
    t.match(publicKey, /^B[\w-]{86}$/)
    t.equal((await ben('GET', 'push/web-push/public-key')).data.publicKey, publicKey, 'all browsers get the same key')
    const browser = await browse(anna, 'laptop', 'Firefox')
    clock.shiftWallClock(1_000)
    const again = await anna('POST', 'push/devices/web-push', { ...browser.subscription, label: 'Firefox 2' })
    t.equal(again.data.id, browser.id)
    const own = (await anna('GET', 'push/devices')).data.items
    t.same(Object.keys(own[0]), ['id', 'channel', 'label', 'service', 'registeredAt', 'lastSuccessAt', 'createdAt'])
    assertMembers(t, own, [
      { id: browser.id, channel: 'web-push', label: 'Firefox 2', service: service.host, lastSuccessAt: null },
    ])
    t.ok(Date.parse(own[0].registeredAt) > Date.parse(own[0].createdAt))
    const [stored] = await devices()
    t.notMatch(JSON.stringify(stored), new RegExp(`${browser.path}|${browser.keys.auth}`), 'the address is encrypted')

    t.equal((await ben('POST', 'push/devices/web-push', browser.subscription)).data.id, browser.id)
    t.same((await anna('GET', 'push/devices')).data.items, [])
    t.equal((await devices())[0]?.userId, ids.ben)
    t.equal(outcomeOf(await anna('DELETE', `push/devices/${browser.id}`)), '404 push.device-unknown')
    t.equal(outcomeOf(await ben('DELETE', `push/devices/${browser.id}`)), '200')
    t.same(await devices(), [])

    const tokens = await Promise.all(
      Array.from({ length: 5 }, () => anna('POST', 'push/devices/fcm', { token: 'one-token-registered-at-once' })),
    )
    t.equal(new Set(tokens.map(({ data }) => data.id)).size, 1, 'concurrent registrations are one device')
    t.equal((await db.query('select id from push_device')).length, 1)
    t.equal((await anna('POST', 'push/devices/fcm', { token: 'with blank' })).code, '400')
    t.equal(outcomeOf(await root('DELETE', `admin/push/devices/${tokens[0]?.data.id}`)), '200')
  },
)

t.test('the device with the oldest registration ends when a user has too many', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const service = await startPushService(t)
  const config = { 'platform.push.max-devices': 2 }
  const { anna, ben, ids, browse, devices, clock, root } = await startPush(t, at, { service, config })
  const [first, second] = [await browse(anna, 'first'), await browse(anna, 'second')]
  await browse(ben, 'other')
  clock.shiftWallClock(1_000)
  await anna('POST', 'push/devices/web-push', first.subscription)
  const third = (await anna('POST', 'push/devices/fcm', { token: 'a-token-of-firebase' })).data
  const active = (await anna('GET', 'push/devices')).data.items.map(({ id }: { id: number }) => id)
  t.same(active.sort(), [first.id, third.id].sort())
  const ended = (await devices()).filter(({ status }) => status !== 'active')
  assertMembers(t, ended, [{ id: second.id, status: 'replaced', target: '' }])
  t.equal((await root('GET', 'admin/push/devices?status=replaced')).data.total, 1, 'operators see the number')
  await anna('POST', 'push/devices/web-push', second.subscription)
  const again = (await devices()).find(({ id }) => id === second.id)
  t.same([again?.status, again?.endedAt], ['active', null])
  for (let n = 1; n <= 5; n++) await anna('POST', 'push/devices/fcm', { token: `invented-${n}` })
  const states = (await devices()).flatMap(({ userId, status }) => (userId === ids.anna ? [status] : []))
  t.same(states.toSorted(), ['active', 'active', 'replaced', 'replaced'], 'as many ended devices are kept')
})

onEachDatabase(
  t,
  'a device that is not registered again expires, and ended devices are removed later',
  async (t, at) => {
    const service = await startPushService(t)
    const { anna, ids, browse, devices, clock, send, db, running, login } = await startPush(t, at, { service })
    const [kept, old] = [await browse(anna, 'kept'), await browse(anna, 'old')]
    await send('web-push', ids.anna)
    const purge = async (days: number) => {
      clock.shiftWallClock(days * dayMs)
      await running.scheduledTasks.find(({ name }) => name === 'push.purge')?.run(new AbortController().signal)
      return (await devices()).map(({ id, status, target }) => [id, status, target !== ''])
    }
    const acceptances = async () => (await db.query('select id from push_acceptance')).length
    t.same(await purge(40), [
      [kept.id, 'active', true],
      [old.id, 'active', true],
    ])
    t.equal(await acceptances(), 2)
    const annaLater = await login('anna')
    await annaLater('POST', 'push/devices/web-push', kept.subscription)
    t.same(await purge(21), [
      [kept.id, 'active', true],
      [old.id, 'expired', false],
    ])
    t.equal(await acceptances(), 0)
    t.equal((await send('web-push', ids.anna))?.providerMessage, undefined, 'only one device is left')
    t.same(await purge(61), [[kept.id, 'expired', false]])
    t.same(await purge(61), [])
  },
)

t.test('operators see devices of users in their data scope, without addresses', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const service = await startPushService(t)
  const { root, anna, ben, ids, browse, send } = await startPush(t, at, { service })
  const browser = await browse(anna, 'laptop')
  await browse(ben, 'phone')
  service.behaviours.set(browser.path, status(410))
  await send('web-push', ids.anna)
  const { items, total } = (await root('GET', `admin/push/devices?userId=${ids.anna}&status=gone`)).data
  t.equal(total, 1)
  assertMembers(t, items, [{ id: browser.id, userId: ids.anna, status: 'gone' }])
  t.notOk('target' in items[0] || 'targetHash' in items[0])
  t.equal((await root('GET', 'admin/push/devices')).data.total, 2)
  t.equal((await anna('GET', 'admin/push/devices')).code, '403')
})

t.test('a user without an enabled account, or who does not want the category, gets no message', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const service = await startPushService(t)
  const { root, anna, ids, browse, send, channel } = await startPush(t, at, { service })
  await browse(anna, 'laptop')
  const attributes = { module: 'mall' }
  t.hasStrict(await send('web-push', ids.anna, { attributes }), { outcome: 'accepted' })
  t.equal((await anna('PUT', 'notifications/preferences', { mallEnabled: false })).code, '200')
  t.hasStrict(await send('web-push', ids.anna, { attributes }), { skipped: true, errorCode: 'notification.unwanted' })
  t.equal((await root('PUT', `admin/iam/users/${ids.anna}`, { enabled: false, version: 1 })).code, '200')
  t.hasStrict(await send('web-push', ids.anna), { outcome: 'rejected', errorCode: 'push.device-missing' })
  t.same(await channel('web-push').reachable?.([ids.anna]), new Set())
  t.equal(service.received.length, 1)
})
