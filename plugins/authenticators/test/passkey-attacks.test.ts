/** Attacks on passkeys: each is a response that differs in one part from a valid one, and each must be rejected. */
import { onDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { auth, factor, outcomeOf, startAuthenticators } from './fixtures/product.ts'
import { flag, type Tampering } from './fixtures/software-authenticator.ts'

const refused = '401 authenticators.passkey-refused'
const invalid = '400 authenticators.passkey-invalid'
const loginPath = `${auth}/passkey`

onDatabase(t, 'a sign-in with a changed response is rejected, and the audit has the reason', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { post, createUser, addPasskey, deviceOf, pendingOf } = product
  const anna = await createUser()
  const bert = await createUser()
  const { device } = await addPasskey(anna.token)
  const { device: other } = await addPasskey(bert.token)
  const stranger = deviceOf()
  const [own] = device.credentials
  const [ofBert] = other.credentials
  const handle = own?.userHandle
  const tampered = (change: Tampering) => async () => {
    const { data } = await post(`${loginPath}/options`, {})
    return { challengeId: data.challengeId, response: device.get(data.options, { ...change }) }
  }
  const optionsOf = async (path: string, body: object = {}, more: object = {}) =>
    (await post(`${path}/options`, body, more)).data
  const attacks: Readonly<Record<string, readonly [reason: string, body: () => Promise<object>]>> = {
    'other origin': ['response-invalid', tampered({ origin: 'https://evil.example' })],
    'origin of a subdomain': ['response-invalid', tampered({ origin: 'https://evil.app.example.com' })],
    'origin with another port': ['response-invalid', tampered({ origin: 'https://app.example.com:8443' })],
    'origin without HTTPS': ['response-invalid', tampered({ origin: 'http://app.example.com' })],
    'other RP id': ['response-invalid', tampered({ rpId: 'evil.example' })],
    'parent domain as RP id': ['response-invalid', tampered({ rpId: 'example.com' })],
    'response of a creation': ['response-invalid', tampered({ type: 'webauthn.create' })],
    'UV cleared': ['response-invalid', tampered({ flags: flag.up })],
    'UP cleared': ['response-invalid', tampered({ flags: flag.uv })],
    'bogus signature': ['signature-mismatch', tampered({ isBogusSignature: true })],
    'flipped BE': ['backup-eligibility-changed', tampered({ flags: flag.up | flag.uv | flag.be })],
    'in a frame of another site': ['cross-origin', tampered({ crossOrigin: true })],
    'in a frame with a top origin': [
      'response-invalid',
      tampered({ crossOrigin: true, topOrigin: 'https://evil.example' }),
    ],
    'challenge that the attacker chose': ['response-invalid', tampered({ challenge: 'AAAAAAAAAAAAAAAAAAAAAA' })],
    'no user handle': ['user-handle-mismatch', tampered({ userHandle: undefined })],
    'credential with the handle of another user': [
      'user-handle-mismatch',
      async () => {
        const { options, challengeId } = await optionsOf(loginPath)
        return { challengeId, response: other.get(options, { userHandle: handle }) }
      },
    ],
    'id of another credential': [
      'signature-mismatch',
      async () => {
        const { options, challengeId } = await optionsOf(loginPath)
        const id = ofBert?.id ?? ''
        const response = device.get(options, { userHandle: ofBert?.userHandle })
        return { challengeId, response: { ...response, id, rawId: id } }
      },
    ],
    'unknown credential': [
      'passkey-unknown',
      async () => {
        const { options, challengeId } = await optionsOf(loginPath)
        const creation = await optionsOf(`${auth}/passkeys`, {}, { token: anna.token })
        stranger.create(creation.options)
        return { challengeId, response: stranger.get(options) }
      },
    ],
    'challenge of a fresh proof': [
      'challenge-invalid',
      async () => {
        const { options, challengeId } = await optionsOf(`${auth}/proof/passkey`, {}, { token: anna.token })
        return { challengeId, response: device.get(options) }
      },
    ],
    'challenge of a second factor': [
      'challenge-invalid',
      async () => {
        const pendingToken = await pendingOf(anna.username)
        const { options, challengeId } = await optionsOf(`${factor}/passkey`, { pendingToken })
        return { challengeId, response: device.get(options) }
      },
    ],
    'challenge of a creation': [
      'challenge-invalid',
      async () => {
        const { options, challengeId } = await optionsOf(`${auth}/passkeys`, {}, { token: anna.token })
        return { challengeId, response: device.get({ ...options, rpId: options.rp.id }) }
      },
    ],
    'response to another challenge': [
      'response-invalid',
      async () => {
        const first = await optionsOf(loginPath)
        const second = await optionsOf(loginPath)
        return { challengeId: second.challengeId, response: device.get(first.options) }
      },
    ],
    'old challenge': [
      'challenge-invalid',
      async () => {
        const { options, challengeId } = await optionsOf(loginPath)
        await product.clock.advance(300_000)
        return { challengeId, response: device.get(options) }
      },
    ],
  }
  const seen: Record<string, string> = {}
  for (const [name, [, body]] of Object.entries(attacks)) {
    seen[name] = outcomeOf(await post(`${loginPath}/login`, await body()))
  }
  t.strictSame(seen, Object.fromEntries(Object.keys(attacks).map((name) => [name, refused])))
  const audited = (await product.loginAudit()).filter((entry) => entry.startsWith('passkey authenticators'))
  t.strictSame(
    audited,
    Object.values(attacks).map(([reason]) => `passkey authenticators.${reason}`),
  )
  await product.settled()
  t.strictSame(
    product.mailbox.sent.filter(({ subject }) => subject.includes('copied')),
    [],
    'a forged response does not look like a copied passkey',
  )
  const valid = await tampered({})()
  t.equal(outcomeOf(await post(`${loginPath}/login`, valid)), '200')
  t.equal(outcomeOf(await post(`${loginPath}/login`, valid)), refused, 'a replayed response')
})

onDatabase(t, 'a second factor and a proof accept only passkeys of their user and challenge', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { post, createUser, addPasskey, pendingOf, assertion } = product
  const anna = await createUser()
  const bert = await createUser()
  const { device } = await addPasskey(anna.token)
  const { device: other } = await addPasskey(bert.token)
  const second = async (pendingToken: string, body: object) =>
    outcomeOf(await post(`${factor}/passkey`, { pendingToken, ...body }))
  const prove = async (token: string, body: object) => outcomeOf(await post(`${auth}/proof/passkey`, body, { token }))
  const pendingToken = await pendingOf(anna.username)
  const [ofBert] = other.credentials

  const options = (await post(`${factor}/passkey/options`, { pendingToken })).data
  t.strictSame(
    options.options.allowCredentials.map(({ id }: { id: string }) => id),
    device.credentials.map(({ id }) => id),
  )
  const { options: login, challengeId: loginId } = (await post(`${loginPath}/options`, {})).data
  t.equal(login.allowCredentials, undefined, 'before the first factor, the options reveal nothing')
  t.strictSame(
    {
      otherUser: await second(pendingToken, {
        challengeId: options.challengeId,
        response: other.get(options.options, ofBert && { credential: ofBert }),
      }),
      loginChallenge: await second(pendingToken, { challengeId: loginId, response: device.get(login) }),
      otherSignIn: await second(
        pendingToken,
        await assertion(`${factor}/passkey`, device, { pendingToken: await pendingOf(anna.username) }).then(
          ({ challengeId, response }) => ({ challengeId, response }),
        ),
      ),
      proofOfOtherSession: await prove(
        anna.token,
        await assertion(`${auth}/proof/passkey`, other, {}, { token: bert.token }).then(
          ({ challengeId, response }) => ({ challengeId, response }),
        ),
      ),
    },
    { otherUser: refused, loginChallenge: refused, otherSignIn: refused, proofOfOtherSession: refused },
  )
  const { challengeId, response } = await assertion(`${factor}/passkey`, device, { pendingToken })
  const { userHandle: _, ...withoutHandle } = response.response
  t.equal(
    await second(pendingToken, { challengeId, response: { ...response, response: withoutHandle } }),
    '200',
    'a known user needs no handle',
  )
})

onDatabase(t, 'a counter that does not grow is rejected and told to the owner', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { post, createUser, addPasskey, deviceOf, settled, mailbox } = product
  const anna = await createUser()
  const { device } = await addPasskey(anna.token)
  const use = async (change: Tampering, of = device) => {
    const { options, challengeId } = (await post(`${loginPath}/options`, {})).data
    return outcomeOf(await post(`${loginPath}/login`, { challengeId, response: of.get(options, change) }))
  }
  t.strictSame(
    [await use({ counter: 7 }), await use({ counter: 7 }), await use({ counter: 6 }), await use({ counter: 0 })],
    ['200', refused, refused, refused],
  )
  t.equal(await use({ counter: 8 }), '200', 'the passkey is not deleted')
  await settled()
  t.equal(mailbox.sent.filter(({ subject }) => subject === 'Shop: a passkey was possibly copied').length, 3)
  const audited = await product.db.query<{ action: string }>(
    "select action from iam_audit where action = 'user.suspect-passkey'",
  )
  t.equal(audited.length, 3)

  const two = await Promise.all([
    (async () => (await post(`${loginPath}/options`, {})).data)(),
    (async () => (await post(`${loginPath}/options`, {})).data)(),
  ])
  const answers = two.map(({ options, challengeId }, at) => ({
    challengeId,
    response: device.get(options, { counter: 10 + at }),
  }))
  const outcomes = await Promise.all(answers.map((body) => post(`${loginPath}/login`, body)))
  t.ok(outcomes.some(({ code }) => code === '200'))
  const [{ counter } = { counter: 0 }] = await product.db.query<{ counter: number }>(
    'select counter from authenticator_passkey',
  )
  t.equal(Number(counter), 11, 'the largest counter is stored')

  const bert = await createUser()
  const synced = deviceOf({ counts: false, flags: flag.up | flag.uv | flag.be | flag.bs })
  await addPasskey(bert.token, synced)
  t.strictSame([await use({}, synced), await use({}, synced)], ['200', '200'], 'synced passkeys always send 0')
  const { options, challengeId } = (await post(`${loginPath}/options`, {})).data
  const once = { challengeId, response: synced.get(options) }
  t.strictSame(
    [outcomeOf(await post(`${loginPath}/login`, once)), outcomeOf(await post(`${loginPath}/login`, once))],
    ['200', refused],
    'the same response twice, with the counter 0',
  )
})

onDatabase(t, 'passkeys of deleted rows and disabled users sign nobody in', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { call, post, createUser, addPasskey, administrator, assertion } = product
  const admin = await administrator()
  const anna = await createUser()
  const bert = await createUser()
  const first = await addPasskey(anna.token)
  const { device } = await addPasskey(bert.token)
  const use = async (of: typeof device) => {
    const { challengeId, response } = await assertion(loginPath, of)
    return outcomeOf(await post(`${loginPath}/login`, { challengeId, response }))
  }
  t.equal(outcomeOf(await call('DELETE', `${auth}/passkeys/${first.added.data.id}`, { token: anna.token })), '200')
  t.equal(await use(first.device), refused)
  await call('PUT', `/api/v1/admin/iam/users/${bert.id}`, { token: admin.token, body: { enabled: false } })
  t.equal(await use(device), '403 iam.user-disabled')
})

onDatabase(t, 'a new passkey is checked at the server', async (t, db) => {
  const product = await startAuthenticators(t, db, { config: { 'platform.iam.fresh-proof.enabled': true } })
  const { post, createUser, addPasskey, deviceOf, clock } = product
  const anna = await createUser()
  const bert = await createUser()
  const carol = await createUser()
  const { device } = await addPasskey(anna.token)
  const [own] = device.credentials
  const attempt = async (change: Tampering, more: { challengeOf?: string; token?: string } = {}) => {
    const { data } = await post(`${auth}/passkeys/options`, {}, { token: more.challengeOf ?? bert.token })
    const body = { challengeId: data.challengeId, response: deviceOf().create(data.options, change) }
    return outcomeOf(await post(`${auth}/passkeys`, body, { token: more.token ?? bert.token }))
  }
  t.strictSame(
    {
      origin: await attempt({ origin: 'https://evil.example' }),
      rpId: await attempt({ rpId: 'evil.example' }),
      type: await attempt({ type: 'webauthn.get' }),
      uv: await attempt({ flags: flag.up }),
      up: await attempt({ flags: flag.uv }),
      frame: await attempt({ crossOrigin: true }),
      mlDsa: await attempt({ algorithm: -48 }),
      hmac: await attempt({ algorithm: 5 }),
      otherSession: await attempt({}, { challengeOf: carol.token }),
      taken: await attempt({ id: own?.id ?? '' }),
    },
    {
      origin: invalid,
      rpId: invalid,
      type: invalid,
      uv: invalid,
      up: invalid,
      frame: invalid,
      mlDsa: invalid,
      hmac: invalid,
      otherSession: invalid,
      taken: '409 authenticators.passkey-taken',
    },
  )
  const login = (await post(`${loginPath}/options`, {})).data
  const { data: options } = await post(`${auth}/passkeys/options`, {}, { token: bert.token })
  const response = deviceOf().create({ ...options.options, challenge: login.options.challenge })
  const body = { challengeId: login.challengeId, response }
  t.equal(outcomeOf(await post(`${auth}/passkeys`, body, { token: bert.token })), invalid, 'challenge of a sign-in')
  await clock.advance(300_001)
  const stale = await post(`${auth}/passkeys/options`, {}, { token: bert.token })
  t.equal(outcomeOf(stale), '401 iam.proof-required', 'without a fresh proof')
  t.equal((await post(`${auth}/passkeys`, body)).code, '401', 'without a session')
})

onDatabase(t, 'the user handle is random, stable and says nothing about the account', async (t, db) => {
  const { post, createUser } = await startAuthenticators(t, db)
  const anna = await createUser()
  const handleOf = async () => (await post(`${auth}/passkeys/options`, {}, { token: anna.token })).data.options.user.id
  const handles = await Promise.all([handleOf(), handleOf(), handleOf()])
  t.equal(new Set(handles).size, 1)
  t.equal(Buffer.from(handles[0], 'base64url').length, 32)
})

onDatabase(t, 'another address of the site makes passkeys unusable, and other factors work', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { call, post, createUser, addPasskey, addTotp, login, set, assertion, deviceOf } = product
  const anna = await createUser()
  const bert = await createUser()
  const { device } = await addPasskey(anna.token)
  const { code } = await addTotp(anna.token)
  const bertAdded = await addPasskey(bert.token)
  await set('platform.site.url', 'https://new.example.com')
  const view = (await call('GET', `${auth}/authenticators`, { token: anna.token })).data
  t.strictSame(
    view.passkeys.map(({ usable }: { usable: boolean }) => usable),
    [false],
  )
  const waiting = await login(anna.username)
  t.strictSame(waiting.data.methods, ['totp', 'recovery-code'])
  t.equal((await post(`${factor}/totp`, { pendingToken: waiting.data.pendingToken, code: code() })).code, '200')
  const { challengeId, response } = await assertion(loginPath, device)
  t.equal(outcomeOf(await post(`${loginPath}/login`, { challengeId, response })), refused)
  const moved = deviceOf({ origin: 'https://new.example.com' })
  moved.credentials.push(...device.credentials)
  const forged = await assertion(loginPath, moved)
  const body = { challengeId: forged.challengeId, response: forged.response }
  t.equal(outcomeOf(await post(`${loginPath}/login`, body)), refused, 'a key that answers for the new address')
  t.match((await product.loginAudit()).at(-1), /passkey-of-another-address$/)
  t.strictSame((await login(bert.username)).data.methods, ['recovery-code'], 'the second factor is not skipped')
  for (const used of bertAdded.added.data.recoveryCodes) {
    const { pendingToken } = (await login(bert.username)).data
    await post(`${factor}/recovery-code`, { pendingToken, code: used })
  }
  t.equal(outcomeOf(await login(bert.username)), '503 iam.second-factor-unavailable', 'nor without codes')

  for (const [url, expected] of [
    ['https://192.0.2.1', '409 authenticators.passkeys-unavailable'],
    ['https://[2001:db8::1]', '409 authenticators.passkeys-unavailable'],
    ['http://app.example.com', '409 authenticators.passkeys-unavailable'],
    ['http://localhost:3000', '200'],
  ] as const) {
    await set('platform.site.url', url)
    const hostile = { host: 'app.example.com', 'x-forwarded-host': 'app.example.com' }
    t.equal(outcomeOf(await post(`${loginPath}/options`, {}, { headers: hostile })), expected, url)
  }
})
