/** Tests sign-ins with a second factor: which ways need it, what a half-finished sign-in is worth, and what ends it. */
import { onEachDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { auth, factor, outcomeOf, startAuthenticators } from './fixtures/product.ts'

const me = '/api/v1/iam/users/me'
const required = '401 iam.second-factor-required'

onEachDatabase(t, 'a user with a second factor completes the sign-in with each of the factors', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { call, post, createUser, addPasskey, addTotp, pendingOf, assertion, login } = product
  const { username, token } = await createUser()
  const { device, added } = await addPasskey(token)
  t.equal(added.code, '200')
  const codes: string[] = added.data.recoveryCodes
  t.equal(new Set(codes).size, 10)
  t.ok(codes.every((code) => /^([A-Z2-7]{6}-){3}[A-Z2-7]{6}$/.test(code)))
  const { code, added: addedTotp } = await addTotp(token)
  t.strictSame(addedTotp.data, { recoveryCodes: null }, 'only the first factor returns codes')

  const waiting = await login(username)
  t.equal(outcomeOf(waiting), required)
  const { pendingToken, expiresAt, ...rest } = waiting.data
  t.match(pendingToken, /^plinthpending_[\w-]{43}$/)
  t.equal(Date.parse(expiresAt) - product.clock.now(), 300_000)
  t.strictSame(rest, {
    methods: ['passkey', 'totp', 'recovery-code'],
    setUp: false,
    reason: 'iam.second-factor-required',
  })

  const passkey = await pendingOf(username)
  const { challengeId, response } = await assertion(`${factor}/passkey`, device, { pendingToken: passkey })
  const opened = [
    await post(`${factor}/passkey`, { pendingToken: passkey, challengeId, response }),
    await post(`${factor}/totp`, { pendingToken: await pendingOf(username), code: code() }),
    await post(`${factor}/recovery-code`, { pendingToken: await pendingOf(username), code: codes[0] }),
  ]
  for (const one of opened) {
    t.equal(one.code, '200')
    t.equal((await call('GET', me, { token: one.data.accessToken })).code, '200')
  }
  const login1 = await assertion(`${auth}/passkey`, device)
  const whole = await post(`${auth}/passkey/login`, { challengeId: login1.challengeId, response: login1.response })
  t.equal(whole.code, '200', 'a passkey is both factors')
  const sessions = await product.db.query<Record<string, unknown>>(
    'select method, second_factor as factor, proven_by as proof from iam_token order by id',
  )
  t.strictSame(
    sessions.map(({ method, factor, proof }) => [method, factor, proof].join(' ')),
    [
      'password  password',
      'password passkey passkey',
      'password totp totp',
      'password recovery-code recovery-code',
      'passkey passkey passkey',
    ],
  )
  const view = (await call('GET', `${auth}/authenticators`, { token: whole.data.accessToken })).data
  const [{ name, usable, synced }] = view.passkeys
  t.strictSame(
    { ...view, passkeys: [{ name, usable, synced }], totp: view.totp !== null, recoveryCodes: view.recoveryCodes.left },
    {
      passkeys: [{ name: 'Passkey', usable: true, synced: false }],
      totp: true,
      recoveryCodes: 9,
      required: false,
      requiredFrom: null,
      passkeysAvailable: true,
      passkeysUnavailableReason: null,
    },
  )
})
