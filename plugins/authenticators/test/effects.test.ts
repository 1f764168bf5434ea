/** Tests the effect of each configuration key of second factors. */
import { assertKeyEffect, type KeyValues, manualClock } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { auth, factor, outcomeOf, startAuthenticators } from './fixtures/product.ts'

async function sqlite() {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return db
}

/** Returns the outcomes of wrong codes from one network, for a user or for a new user each time. */
async function guesses(config: KeyValues, count: number, { users = 1, pauseMs = 0 } = {}) {
  const product = await startAuthenticators(t, await sqlite(), { config })
  const names = []
  for (let at = 0; at < users; at++) {
    const user = await product.createUser()
    // Each network can begin few setups.
    await product.addTotp(user.token, { from: `192.0.2.${at}` })
    names.push(user.username)
  }
  const outcomes = []
  for (let at = 0; at < count; at++) {
    const pendingToken = await product.pendingOf(names[at % users] ?? '')
    outcomes.push((await product.post(`${factor}/totp`, { pendingToken, code: 'x' })).code)
    await product.clock.advance(pauseMs)
  }
  return outcomes.join(' ')
}

t.test('apps and dialogs show the configured name', async (t) => {
  const [names] = await assertKeyEffect(t, 'platform.authenticators.issuer', {
    changed: 'Shop: staff',
    observe: async (config) => {
      const { post, createUser } = await startAuthenticators(t, await sqlite(), { config })
      const { token } = await createUser()
      const { uri } = (await post(`${auth}/totp/options`, {}, { token })).data
      const { options } = (await post(`${auth}/passkeys/options`, {}, { token })).data
      return [new URL(uri).searchParams.get('issuer'), options.rp.name]
    },
  })
  t.strictSame(
    [names?.before, names?.after],
    [
      ['Shop', 'Shop'],
      ['Shop  staff', 'Shop: staff'],
    ],
  )
})

t.test('failures are limited', async (t) => {
  const [account] = await assertKeyEffect(t, 'platform.authenticators.rate-limit.account-max-attempts', {
    compared: 3,
    changed: 2,
    observe: (config) => guesses(config, 3),
  })
  t.strictSame([account?.before, account?.after], ['401 401 401', '401 401 429'])
  const [network] = await assertKeyEffect(t, 'platform.authenticators.rate-limit.ip-max-attempts', {
    compared: 3,
    changed: 2,
    observe: (config) => guesses(config, 3, { users: 3 }),
  })
  t.strictSame([network?.before, network?.after], ['401 401 401', '401 401 429'])
  const [window] = await assertKeyEffect(t, 'platform.authenticators.rate-limit.window', {
    changed: '1s',
    observe: (config) =>
      guesses({ 'platform.authenticators.rate-limit.account-max-attempts': 1, ...config }, 2, { pauseMs: 2_000 }),
  })
  t.strictSame([window?.before, window?.after], ['401 429', '401 401'])
})

t.test('secrets of authenticator apps are encrypted with the key', async (t) => {
  const key = 'platform.authenticators.secret-key'
  const [one = '', other = ''] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'))
  const [found] = await assertKeyEffect(t, 'platform.authenticators.secret-key', {
    compared: one,
    changed: other,
    observe: async (config) => {
      const [db, clock] = [await sqlite(), manualClock()]
      const first = await startAuthenticators(t, db, { clock, config: { [key]: one } })
      const user = await first.createUser()
      const { code } = await first.addTotp(user.token)
      await first.running.stop('another instance takes over')
      const second = await startAuthenticators(t, db, { clock, config })
      const pendingToken = await second.pendingOf(user.username)
      return outcomeOf(await second.post(`${factor}/totp`, { pendingToken, code: code() }))
    },
  })
  t.strictSame([found?.before, found?.after], ['200', '503 authenticators.secret-key-unusable'])
})
