/** Tests the effect of each configuration key of the recovery. */
import { assertKeyEffect, type KeyValues } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { adminPassword } from './fixtures/product.ts'
import { recoveryPath, startRecovery } from './fixtures/recovery.ts'
import { createSkippingClock } from './fixtures/verification.ts'

const db = await createDatabase('sqlite')
t.teardown(() => db.drop())
const clock = createSkippingClock()
const shop = await startRecovery(t, db, { clock })
await shop.administrator()
const renewed = 'another horse battery staple'
const minuteMs = 60_000

/** Sets live keys. A day has passed, so no limit counts earlier requests. */
async function reset(values: KeyValues): Promise<void> {
  await shop.settled()
  shop.mailbox.sent.length = 0
  await shop.set(values)
  clock.skip(86_400_000)
}

t.test('the function can be turned off', async (t) => {
  const [found] = await assertKeyEffect(t, 'platform.iam.recovery.enabled', {
    changed: false,
    observe: async (config) => {
      await reset(config)
      return (await shop.call('GET', recoveryPath)).data
    },
  })
  t.same([found?.before, found?.after], [{ available: true }, { available: false }])
})

t.test('links open the configured page', async (t) => {
  const [found] = await assertKeyEffect(t, 'platform.iam.recovery.page', {
    changed: '/account/new-password',
    observe: async (config) => {
      await reset(config)
      await shop.tokenFor((await shop.createUser()).username)
      return shop.mailbox.sent[0]?.link.split('#')[0]
    },
  })
  t.same(
    [found?.before, found?.after],
    ['https://shop.example/admin/recovery', 'https://shop.example/account/new-password'],
  )
})

t.test('links are valid for their lifetime', async (t) => {
  const after = async (passedMs: number, token: string) => {
    clock.skip(passedMs)
    return (await shop.complete(token, renewed)).code
  }
  const [link] = await assertKeyEffect(t, 'platform.iam.recovery.token-lifetime', {
    changed: '10m',
    observe: async (config) => {
      await reset(config)
      return after(15 * minuteMs, await shop.tokenFor((await shop.createUser()).username))
    },
  })
  t.same([link?.before, link?.after], ['200', '400'])
  let guests = 0
  const [invitation] = await assertKeyEffect(t, 'platform.iam.recovery.invitation-lifetime', {
    changed: '1h',
    observe: async (config) => {
      await reset(config)
      const token = await shop.login('admin', adminPassword)
      const username = `guest${++guests}`
      await shop.post('/api/v1/admin/iam/invitations', { username, email: `${username}@example.com` }, { token })
      await shop.settled()
      return after(90 * minuteMs, shop.mailbox.sent[0]?.token ?? '')
    },
  })
  t.same([invitation?.before, invitation?.after], ['200', '400'])
})

const off = {
  'platform.iam.recovery.account-max-mails': 0,
  'platform.iam.recovery.identifier-max-attempts': 0,
  'platform.iam.recovery.ip-max-attempts': 0,
}

t.test('mails of one account are limited', async (t) => {
  const [found] = await assertKeyEffect(t, 'platform.iam.recovery.account-max-mails', {
    compared: 5,
    changed: 2,
    observe: async (config) => {
      await reset({ ...off, ...config })
      const { username } = await shop.createUser()
      for (let count = 0; count < 7; count++) await shop.request(username)
      await shop.settled()
      return shop.mailbox.sent.length
    },
  })
  t.same([found?.before, found?.after], [5, 2])
})

/** Repeats requests until one is rejected, at most 25 times. Returns the number of accepted ones and the wait. */
async function limitOf(config: KeyValues, key: string) {
  await reset({ ...off, ...config })
  const isPerName = key.includes('identifier')
  for (let count = 0; count < 25; count++) {
    const { code, data } = await shop.request(isPerName ? 'nobody' : `nobody${count}`)
    if (code === '429') return { count, retryAfter: data.retryAfter }
  }
  return 'unlimited'
}

t.test('requests are limited per name and per network', async (t) => {
  const [perName] = await assertKeyEffect(t, 'platform.iam.recovery.identifier-max-attempts', {
    compared: 3,
    changed: 1,
    observe: limitOf,
  })
  t.same(perName && [perName.before, perName.after], [
    { count: 3, retryAfter: 900 },
    { count: 1, retryAfter: 900 },
  ])
  const [perNetwork] = await assertKeyEffect(t, 'platform.iam.recovery.ip-max-attempts', {
    compared: 20,
    changed: 2,
    observe: limitOf,
  })
  t.same(perNetwork && [perNetwork.before, perNetwork.after], [
    { count: 20, retryAfter: 3600 },
    { count: 2, retryAfter: 3600 },
  ])
  const windows = await assertKeyEffect(t, 'platform.iam.recovery.{identifier,ip}-window', {
    changed: '7m',
    observe: (config, key) => limitOf({ [key.replace(/window$/, 'max-attempts')]: 2, ...config }, key),
  })
  t.same(
    windows.map(({ before, after }) => [before, after]),
    [
      [
        { count: 2, retryAfter: 900 },
        { count: 2, retryAfter: 420 },
      ],
      [
        { count: 2, retryAfter: 3600 },
        { count: 2, retryAfter: 420 },
      ],
    ],
  )
})
