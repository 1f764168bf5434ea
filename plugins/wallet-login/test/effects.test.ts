/** Tests the effect of each configuration key of wallet login. */

import { assertKeyEffect, type KeyValues } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import eventsPlugin, { abuseSuspected, events } from '@plinth/events'
import { definePlugin } from '@plinth/kernel'
import t from 'tap'
import { privateKeyToAccount } from 'viem/accounts'
import { parseSiweMessage } from 'viem/siwe'
import { describeOutcome, startWalletLogin } from './fixtures/product.ts'

const anna = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const exceeded = '429 rate-limit.exceeded'

async function startOnSqlite(config: KeyValues, settings: Parameters<typeof startWalletLogin>[2] = {}) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return startWalletLogin(t, db, { ...settings, config })
}

t.test('a challenge has the configured lifetime, statement and chain', async (t) => {
  const messageOf = async (config: KeyValues) => {
    const { challenge } = await startOnSqlite(config)
    const { statement, chainId } = parseSiweMessage((await challenge(anna.address)).data.message)
    return { statement, chainId }
  }
  const [statements] = await assertKeyEffect(t, 'platform.wallet-login.statement', {
    changed: 'Come in',
    observe: messageOf,
  })
  t.equal(statements?.after.statement, 'Come in')
  const [chains] = await assertKeyEffect(t, 'platform.wallet-login.chain-id', { changed: 137, observe: messageOf })
  t.same([chains?.before.chainId, chains?.after.chainId], [1, 137])
  const [required] = await assertKeyEffect(t, 'platform.wallet-login.chain-required', {
    changed: true,
    observe: async (config) =>
      describeOutcome(await (await startOnSqlite(config)).challenge(anna.address, { chainId: 10 })),
  })
  t.same([required?.before, required?.after], ['200', '400 wallet-login.chain-refused'])
  const [logins] = await assertKeyEffect(t, 'platform.wallet-login.challenge-lifetime', {
    changed: '30s',
    observe: async (config) => {
      const { challenge, login, clock } = await startOnSqlite(config)
      const { challengeId, message } = (await challenge(anna.address)).data
      await clock.advance(30_000)
      const signature = await anna.signMessage({ message })
      return describeOutcome(await login({ challengeId, address: anna.address, signature }))
    },
  })
  t.same([logins?.before, logins?.after], ['200', '401 wallet-login.challenge-refused'])
})

t.test('a wallet without an account signs in only where registration is enabled', async (t) => {
  const [logins] = await assertKeyEffect(t, 'platform.wallet-login.registration-enabled', {
    changed: false,
    observe: async (config) => describeOutcome(await (await startOnSqlite(config)).signIn(anna)),
  })
  t.same([logins?.before, logins?.after], ['200', '403 wallet-login.registration-closed'])
})

/**
 * Repeats an action until it is rejected, at most forty times. Returns the number of accepted actions, and the waiting
 * time in seconds.
 */
async function limitOf(attempt: () => ReturnType<Awaited<ReturnType<typeof startWalletLogin>>['call']>) {
  for (let count = 0; count < 40; count++) {
    const result = await attempt()
    if (describeOutcome(result) === exceeded) return { count, retryAfter: Number(result.headers['retry-after']) }
  }
  return { count: 40, retryAfter: 0 }
}

t.test('challenges are limited per network', async (t) => {
  const observe = async (config: KeyValues) => {
    const { challenge } = await startOnSqlite(config)
    return limitOf(() => challenge(anna.address))
  }
  const few = { 'platform.wallet-login.rate-limit.ip-max-attempts': 5 }
  const [counts] = await assertKeyEffect(t, 'platform.wallet-login.rate-limit.ip-max-attempts', { changed: 5, observe })
  t.equal(counts?.after.count, 5)
  const [windows] = await assertKeyEffect(t, 'platform.wallet-login.rate-limit.ip-window', {
    changed: '40s',
    observe: (config) => observe({ ...few, ...config }),
  })
  t.same(
    [windows?.before, windows?.after],
    [
      { count: 5, retryAfter: 300 },
      { count: 5, retryAfter: 40 },
    ],
  )
})

t.test('failed proofs are limited per wallet', async (t) => {
  const observe = async (config: KeyValues) => {
    const { login } = await startOnSqlite(config)
    return limitOf(() => login({ challengeId: 'none', address: anna.address, signature: `0x${'11'.repeat(65)}` }))
  }
  const few = { 'platform.wallet-login.rate-limit.address-max-attempts': 3 }
  const [counts] = await assertKeyEffect(t, 'platform.wallet-login.rate-limit.address-max-attempts', {
    changed: 3,
    observe,
  })
  t.equal(counts?.after.count, 3)
  const [windows] = await assertKeyEffect(t, 'platform.wallet-login.rate-limit.address-window', {
    changed: '20s',
    observe: (config) => observe({ ...few, ...config }),
  })
  t.same(
    [windows?.before, windows?.after],
    [
      { count: 3, retryAfter: 300 },
      { count: 3, retryAfter: 20 },
    ],
  )
})

t.test('operators are alerted above a number of attempts', async (t) => {
  const [alerts] = await assertKeyEffect(t, 'platform.wallet-login.rate-limit.alert-attempts', {
    changed: 5,
    observe: async (config) => {
      const published: unknown[] = []
      const listener = definePlugin({
        id: 'test.listener',
        version: '1.0.0',
        kernel: '^1.0.0',
        requires: { events },
        setup: ({ services }) =>
          services.events.on(abuseSuspected, 'test.alerts', ({ payload }) => void published.push(payload)),
      })
      const { call, running } = await startOnSqlite(config, { plugins: [eventsPlugin, listener] })
      for (let n = 1; n <= 8; n++) {
        const body = { chainType: 'evm', address: anna.address }
        await call('POST', '/api/v1/auth/wallet/challenge', { body, from: `203.0.113.${n}` })
      }
      await running.service(events).idle()
      return published
    },
  })
  t.same([alerts?.before, alerts?.after], [[], [{ area: 'wallet-login', subject: 'challenge', count: 6, limit: 5 }]])
})
