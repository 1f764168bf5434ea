/** Tests that other callers cannot use up the limits of the owner of a wallet. */

import { until } from '@plinth/dev/testing'
import { createDatabase, onDatabase } from '@plinth/dev/testing/database'
import eventsPlugin, { abuseSuspected, events } from '@plinth/events'
import { definePlugin } from '@plinth/kernel'
import t from 'tap'
import { privateKeyToAccount } from 'viem/accounts'
import { describeOutcome, startWalletLogin } from './fixtures/product.ts'

const anna = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const garbage = `0x${'11'.repeat(65)}`
const rejected = '401 wallet-login.challenge-refused'
const exceeded = '429 rate-limit.exceeded'

onDatabase(t, 'callers of other networks cannot keep a wallet from signing in', async (t, db) => {
  const { call, signIn } = await startWalletLogin(t, db)
  const ask = (from: string) =>
    call('POST', '/api/v1/auth/wallet/challenge', { body: { chainType: 'evm', address: anna.address }, from })
  for (let n = 1; n <= 30; n++) {
    const from = `203.0.113.${n}`
    const requested = await ask(from)
    t.equal(describeOutcome(requested), '200', `challenge ${n}`)
    const body = { challengeId: requested.data.challengeId, address: anna.address, signature: garbage }
    t.equal(
      describeOutcome(await call('POST', '/api/v1/auth/wallet/login', { body, from })),
      rejected,
      `forged login ${n}`,
    )
  }
  t.equal((await signIn(anna)).code, '200', 'the owner signs in from another network')
})

t.test('failed proofs are limited by network and wallet together, and a valid proof resets the count', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { call, signIn, challenge, clock } = await startWalletLogin(t, db, {
    config: {
      'platform.wallet-login.rate-limit.address-max-attempts': 3,
      'platform.wallet-login.rate-limit.address-window': '20s',
    },
  })
  const forge = async (address: string, from: string) =>
    describeOutcome(
      await call('POST', '/api/v1/auth/wallet/login', {
        body: { challengeId: 'none', address, signature: garbage },
        from,
      }),
    )
  const [here, there] = ['127.0.0.1', '203.0.113.9']
  for (let n = 0; n < 2; n++) t.equal(await forge(anna.address, here), rejected)
  t.equal((await signIn(anna)).code, '200')
  for (let n = 0; n < 3; n++) t.equal(await forge(anna.address, here), rejected, 'a new count')
  t.equal(await forge(anna.address, here), exceeded)
  t.equal(describeOutcome(await signIn(anna)), exceeded, 'also for the owner on this network')
  t.equal(await forge(anna.address, there), rejected, 'another network has a count of its own')
  t.equal(await forge(`0x${'b'.repeat(40)}`, here), rejected, 'and so has another wallet')
  for (let n = 0; n < 10; n++)
    t.equal((await challenge(anna.address)).code, '200', 'challenges are not counted per wallet')
  await clock.advance(20_000)
  t.equal((await signIn(anna)).code, '200')
})

t.test('many attempts from many networks raise an alert and are not rejected', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const alerts: unknown[] = []
  const listener = definePlugin({
    id: 'test.listener',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { events },
    setup: ({ services }) =>
      services.events.on(abuseSuspected, 'test.alerts', ({ payload }) => void alerts.push(payload)),
  })
  const { call, running, signIn } = await startWalletLogin(t, db, {
    plugins: [eventsPlugin, listener],
    config: { 'platform.wallet-login.rate-limit.alert-attempts': 5 },
  })
  const ask = (from: string) =>
    call('POST', '/api/v1/auth/wallet/challenge', { body: { chainType: 'evm', address: anna.address }, from })
  for (let n = 1; n <= 5; n++) t.equal((await ask(`203.0.113.${n}`)).code, '200')
  await running.service(events).idle()
  t.strictSame(alerts, [])
  for (let n = 6; n <= 20; n++) t.equal((await ask(`203.0.113.${n}`)).code, '200')
  await until(() => alerts.length > 0, 'operators are alerted')
  await running.service(events).idle()
  t.strictSame(alerts, [{ area: 'wallet-login', subject: 'challenge', count: 6, limit: 5 }], 'one alert per window')
  t.equal((await signIn(anna)).code, '200')
})
