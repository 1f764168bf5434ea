/** Attacks on one-time passwords and recovery codes: replay, guessing, odd texts, and locking out the owner. */
import { isProof, rejectsWith } from '@plinth/dev/testing'
import { onDatabase, onEachDatabase } from '@plinth/dev/testing/database'
import { identity } from '@plinth/iam'
import { dataCheck } from '@plinth/kernel'
import t from 'tap'
import { auth, factor, outcomeOf, type Product, password, startAuthenticators, system } from './fixtures/product.ts'

const invalid = '401 authenticators.totp-invalid'
const blocked = '429 authenticators.totp-blocked'

/** Number of codes that an attacker tries. */
const guesses = isProof ? 1_000 : 100

/** Returns a function that tries a code as the second factor of a new sign-in. */
const triesOf =
  ({ post, pendingOf }: Product, username: string) =>
  async (code: unknown, from?: string) => {
    const body = { pendingToken: await pendingOf(username), code }
    return outcomeOf(await post(`${factor}/totp`, body, from === undefined ? {} : { from }))
  }

onEachDatabase(t, 'a code is accepted once, in all routes together', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { post, createUser, addTotp, pendingOf, clock } = product
  const user = await createUser()
  const { data } = await post(`${auth}/totp/options`, {}, { token: user.token })
  const code = product.codesOf(data.secret)
  await post(`${auth}/totp`, { setUpId: data.setUpId, code: code() }, { token: user.token })
  const attempt = triesOf(product, user.username)
  t.equal(await attempt(code()), invalid, 'the code of the setup')
  await clock.advance(30_000)

  const tokens = await Promise.all([pendingOf(user.username), pendingOf(user.username), pendingOf(user.username)])
  const current = code()
  const outcomes = await Promise.all([
    ...tokens.map((pendingToken) => post(`${factor}/totp`, { pendingToken, code: current })),
    post(`${auth}/proof/totp`, { code: current }, { token: user.token }),
  ])
  t.strictSame(outcomes.map(outcomeOf).sort(), ['200', invalid, invalid, invalid], 'in parallel, in two routes')
  const proven = outcomes[3]?.code === '200' ? outcomes[3].data.accessToken : user.token
  t.equal(await attempt(current), invalid, 'again')
  t.equal(await attempt(code(-1)), invalid, 'one step older than the last')
  await clock.advance(30_000)
  t.equal(outcomeOf(await post(`${auth}/proof/totp`, { code: code() }, { token: proven })), '200')
  t.equal(await attempt(code()), invalid, 'the code of a proof')
  await clock.advance(30_000)
  t.equal(await attempt(code(2)), invalid, 'two steps ahead')
  t.equal(await attempt(code(-2)), invalid, 'two steps behind')
  t.equal(await attempt(code(1)), '200', 'one step ahead')
  t.equal(await attempt(code()), invalid, 'the step before an accepted one')
  const audit = (await product.loginAudit()).filter((entry) => entry.includes('code-used'))
  t.ok(audit.length > 0, 'the audit distinguishes a used code from a wrong one')
  const bert = await createUser()
  await addTotp(bert.token)
  await clock.advance(60_000)
  t.equal(await triesOf(product, bert.username)(code()), invalid, 'the code of another user')
})

onDatabase(t, 'other forms of a code are normalised or rejected', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { createUser, addTotp, clock } = product
  const user = await createUser()
  const { code } = await addTotp(user.token)
  const attempt = triesOf(product, user.username)
  const fullWidth = (text: string) => text.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit)))
  const accepted: Record<string, string> = {}
  for (const [name, form] of Object.entries({
    spaces: (text: string) => ` ${text.slice(0, 3)} ${text.slice(3)} `,
    'no-break space': (text: string) => `${text.slice(0, 3)}\u00a0${text.slice(3)}`,
    hyphen: (text: string) => `${text.slice(0, 3)}-${text.slice(3)}`,
    'full width': fullWidth,
  })) {
    accepted[name] = await attempt(form(code()))
    await clock.advance(30_000)
  }
  t.strictSame(accepted, Object.fromEntries(Object.keys(accepted).map((name) => [name, '200'])))
  const odd: readonly unknown[] = [null, 123456, '', [], {}, 'x'.repeat(65)]
  for (const value of odd) t.equal(await attempt(value), '400 http.invalid-input', JSON.stringify(value))
  const wrong = ['12345', '1234567', '12345a', '١٢٣٤٥٦', '𝟏𝟐𝟑', '+12345', '1e5', '-12345', '\u0000123456']
  const seen: Record<string, string> = {}
  for (const value of wrong) {
    seen[value] = await attempt(value)
  }
  t.strictSame(seen, Object.fromEntries(wrong.map((value) => [value, invalid])))
})

onDatabase(t, 'many wrong codes from many networks do not lock out the owner', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { post, createUser, addPasskey, addTotp, pendingOf, assertion, clock, settled, mailbox } = product
  const user = await createUser()
  const { device, added } = await addPasskey(user.token)
  const { code } = await addTotp(user.token)
  const attempt = triesOf(product, user.username)
  const home = '203.0.113.7'
  t.equal(await attempt(code(), home), '200', 'the owner signed in from home before')
  await clock.advance(30_000)
  const wrong = () => (code() === '000000' ? '111111' : '000000')
  // The attacker knows the password. Its hash would take most of the time of this test.
  const origin = { ...system, method: 'password', identifier: user.username, setHeader: () => {} }
  const pending = () =>
    product.running
      .service(identity)
      .openSession(user.id, origin)
      .then(
        () => '',
        ({ data }) => String(data.pendingToken),
      )
  const guess = async (from: string) =>
    outcomeOf(await post(`${factor}/totp`, { pendingToken: await pending(), code: wrong() }, { from }))
  const seen = new Map<string, number>()
  for (let at = 0; at < guesses; at += 10) {
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, more) => guess(`198.51.${(at + more) >> 8}.${(at + more) & 255}`)),
    )
    for (const outcome of outcomes) seen.set(outcome, (seen.get(outcome) ?? 0) + 1)
  }
  t.strictSame(Object.fromEntries(seen), { [invalid]: 10, [blocked]: guesses - 10 })
  await settled()
  t.equal(mailbox.sent.filter(({ subject }) => subject === 'Shop: wrong codes for your account').length, 1)

  t.equal(await attempt(code(), '198.51.100.1'), blocked, 'also the right code, from an unknown network')
  const passkey = await pendingOf(user.username)
  const body = await assertion(`${factor}/passkey`, device, { pendingToken: passkey }, { from: '198.51.100.2' })
  t.equal(
    outcomeOf(
      await post(
        `${factor}/passkey`,
        { pendingToken: passkey, challengeId: body.challengeId, response: body.response },
        { from: '198.51.100.2' },
      ),
    ),
    '200',
    'a passkey from anywhere',
  )
  const recovery = { pendingToken: await pendingOf(user.username), code: added.data.recoveryCodes[0] }
  t.equal(outcomeOf(await post(`${factor}/recovery-code`, recovery, { from: '198.51.100.3' })), '200')
  t.equal(await attempt(code(), home), '200', 'the code from a known network')
  await clock.advance(30_000)
  t.equal(await attempt(wrong(), '198.51.100.4'), invalid, 'a success ends the block')
})

onDatabase(
  t,
  'a known network has a limit too, and guesses in sessions count with those in sign-ins',
  async (t, db) => {
    const product = await startAuthenticators(t, db)
    const { post, createUser, addTotp, clock } = product
    const user = await createUser()
    const { code } = await addTotp(user.token)
    const attempt = triesOf(product, user.username)
    const wrong = () => (code() === '000000' ? '111111' : '000000')
    const prove = async (from: string) =>
      outcomeOf(await post(`${auth}/proof/totp`, { code: wrong() }, { token: user.token, from }))
    const sessions = []
    for (let at = 0; at < 6; at++) sessions.push(await prove(`192.0.2.${at}`), await attempt(wrong(), `192.0.2.${at}`))
    t.strictSame(sessions, [...Array(10).fill(invalid), blocked, blocked])
    const [row] = await product.db.query<{ failures: number }>('select failures from authenticator_totp')
    t.equal(row?.failures, 10)

    await product.settled()
    const notices = () => product.mailbox.sent.filter(({ subject }) => subject === 'Shop: wrong codes for your account')
    t.equal(notices().length, 1)
    // A parallel attempt has already told the owner.
    await product.db.execute('update authenticator_totp set failures = 9')
    t.equal(await attempt(wrong(), '192.0.2.99'), invalid)
    await product.settled()
    t.equal(notices().length, 1, 'once')

    await product.db.execute('update authenticator_totp set failures = 0')
    const office = '203.0.113.9'
    t.equal(await attempt(code(), office), '200')
    await clock.advance(30_000)
    await product.db.execute('update authenticator_network set failures = 99')
    t.strictSame([await attempt(wrong(), office), await attempt(code(), office)], [invalid, blocked])
  },
)

onDatabase(t, 'a notice of a block that could not be stored is stored with the next attempt', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { createUser, addTotp, settled, mailbox } = product
  const user = await createUser()
  await addTotp(user.token)
  const attempt = triesOf(product, user.username)
  const notices = async () => {
    await settled()
    return mailbox.sent.filter(({ subject }) => subject === 'Shop: wrong codes for your account').length
  }
  for (let at = 0; at < 9; at++) t.equal(await attempt('x', `198.51.100.${at}`), invalid)
  await settled()
  await product.db.execute('alter table iam_audit rename to iam_audit_away')
  t.equal(await attempt('x', '198.51.100.9'), '500', 'the tenth failure')
  await product.db.execute('alter table iam_audit_away rename to iam_audit')
  t.equal(await notices(), 0)
  t.strictSame([await attempt('x', '198.51.100.10'), await attempt('x', '198.51.100.11')], [blocked, blocked])
  t.equal(await notices(), 1)
  t.strictSame(
    await product.db.query("select count(*) as n from iam_audit where action = 'user.block-totp'"),
    [{ n: 1 }],
    'recorded once',
  )
})

onDatabase(t, 'failures are limited per network, and per account and network', async (t, db) => {
  const product = await startAuthenticators(t, db, {
    config: {
      'platform.authenticators.rate-limit.account-max-attempts': 3,
      'platform.authenticators.rate-limit.ip-max-attempts': 5,
    },
  })
  const { createUser, addTotp, post, clock } = product
  const limited = '429 rate-limit.exceeded'
  const anna = await createUser()
  const bert = await createUser()
  const { code } = await addTotp(anna.token)
  await addTotp(bert.token)
  const tryAnna = triesOf(product, anna.username)
  const tryBert = triesOf(product, bert.username)
  const from = '192.0.2.1'
  const outcomes = [
    await tryAnna('x', from),
    await tryAnna('x', from),
    await tryAnna('x', from),
    await tryAnna('x', from),
    await tryBert('x', from),
    await tryBert('x', from),
    await tryBert('x', from),
  ]
  t.strictSame(outcomes, [invalid, invalid, invalid, limited, invalid, invalid, limited])
  t.equal(await tryAnna(code(), '192.0.2.2'), '200', 'the owner on another network')
  await clock.advance(300_000)
  const withoutPending = []
  for (let at = 0; at < 8; at++) {
    const body = { pendingToken: `plinthpending_${'A'.repeat(43)}`, code: 'x' }
    withoutPending.push(outcomeOf(await post(`${factor}/totp`, body, { from: '192.0.2.3' })))
  }
  t.strictSame(
    withoutPending,
    Array(8).fill('401 iam.pending-sign-in-invalid'),
    'nothing counts without a first factor',
  )
})

onDatabase(t, 'strangers do not block the first code of an owner', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { post, createUser, codesOf, clock } = product
  const user = await createUser()
  const office = { token: user.token, from: '203.0.113.9' }
  const { data } = await post(`${auth}/totp/options`, {}, office)
  const code = codesOf(data.secret)
  t.equal(outcomeOf(await post(`${auth}/totp`, { setUpId: data.setUpId, code: code() }, office)), '200')
  await clock.advance(30_000)
  const attempt = triesOf(product, user.username)
  for (let at = 0; at < 10; at++) t.equal(await attempt('x', `198.51.100.${at}`), invalid)
  t.equal(await attempt(code(), '198.51.100.1'), blocked)
  t.equal(await attempt(code(), office.from), '200', 'the network in which the app was set up is known')
})

onDatabase(t, 'a caller without a first factor uses up no limit of users on the same network', async (t, db) => {
  const limits = { 'platform.authenticators.rate-limit.ip-max-attempts': 3 }
  const product = await startAuthenticators(t, db, { config: limits })
  const { post, createUser, addPasskey, addTotp, pendingOf, assertion } = product
  const user = await createUser()
  const { device } = await addPasskey(user.token)
  const { code } = await addTotp(user.token)
  const from = '203.0.113.9'
  const limited = '429 rate-limit.exceeded'
  const { data: stranger } = await post(`${auth}/passkey/options`, {}, { from })
  const response = device.get(stranger.options, { isBogusSignature: true })
  const seen = []
  for (let at = 0; at < 4; at++) {
    seen.push(outcomeOf(await post(`${auth}/passkey/login`, { challengeId: stranger.challengeId, response }, { from })))
  }
  for (let at = 0; at < 3; at++) seen.push(outcomeOf(await post(`${auth}/passkey/options`, {}, { from })))
  const refused = '401 authenticators.passkey-refused'
  t.strictSame(seen, [refused, refused, refused, limited, '200', '200', limited])
  const pendingToken = await pendingOf(user.username)
  const answer = await assertion(`${factor}/passkey`, device, { pendingToken }, { from })
  const { challengeId } = answer
  const completed = await post(`${factor}/passkey`, { pendingToken, challengeId, response: answer.response }, { from })
  t.equal(outcomeOf(completed), '200', 'a passkey')
  t.equal(await triesOf(product, user.username)(code(), from), '200', 'a code')
  const proof = () => post(`${auth}/proof/passkey/options`, {}, { token: completed.data.accessToken, from })
  t.strictSame(
    [outcomeOf(await proof()), outcomeOf(await proof()), outcomeOf(await proof())],
    ['200', '200', limited],
    'one user has a limit too',
  )
})

onDatabase(t, 'a setup belongs to its user and session, and expires', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { post, createUser, login, codesOf, clock } = product
  const anna = await createUser()
  const bert = await createUser()
  const other = (await login(anna.username)).data.accessToken
  let token = anna.token
  const begin = async () => (await post(`${auth}/totp/options`, {}, { token })).data
  const confirm = async (token: string, { setUpId, secret }: { setUpId: string; secret: string }) =>
    outcomeOf(await post(`${auth}/totp`, { setUpId, code: codesOf(secret)() }, { token }))
  const invalidSetUp = '400 authenticators.set-up-invalid'
  const first = await begin()
  t.strictSame([await confirm(bert.token, first), await confirm(other, first)], [invalidSetUp, invalidSetUp])
  await clock.advance(600_000)
  // The session stays the same, and has a new token.
  token = (await post(`${auth}/proof`, { method: 'password', password }, { token })).data.accessToken
  t.equal(await confirm(token, first), invalidSetUp, 'expired')
  const second = await begin()
  const third = await begin()
  t.strictSame(
    [await confirm(token, second), await confirm(token, second), await confirm(token, third)],
    ['200', invalidSetUp, '200'],
    'each setup once; the last one replaces the one before',
  )
  const stored = await product.db.query<{ secret_enc: string }>('select secret_enc from authenticator_totp')
  t.equal(stored.length, 1)
  t.notOk(JSON.stringify(stored).includes(third.secret), 'the secret is encrypted')
})

onDatabase(t, 'an unreadable secret rejects the code without counting it', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { createUser, addTotp } = product
  const anna = await createUser()
  const bert = await createUser()
  const { code } = await addTotp(anna.token)
  await addTotp(bert.token)
  const [ofBert] = await product.db.query<{ secret_enc: string }>(
    'select secret_enc from authenticator_totp where user_id = ?',
    [bert.id],
  )
  await product.db.execute('update authenticator_totp set secret_enc = ? where user_id = ?', [
    ofBert?.secret_enc ?? '',
    anna.id,
  ])
  t.equal(await triesOf(product, anna.username)(code()), '503 authenticators.secret-key-unusable')
  const check = product.running.contributions(dataCheck).get('authenticators.secrets')
  const { signal } = new AbortController()
  const failure = Promise.resolve(check?.({ signal, progress: () => {} }))
  await rejectsWith(t, failure, { message: /^The secrets of authenticator app \d+ cannot be decrypted\.$/ })
  const [row] = await product.db.query<{ failures: number }>(
    'select failures from authenticator_totp where user_id = ?',
    [anna.id],
  )
  t.equal(row?.failures, 0)
})

onEachDatabase(t, 'a recovery code is used once, and its owner is told', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { call, post, createUser, addPasskey, pendingOf, settled, mailbox } = product
  const user = await createUser()
  const other = await createUser()
  const { added } = await addPasskey(user.token)
  await addPasskey(other.token)
  const codes: string[] = added.data.recoveryCodes
  const use = async (code: unknown, username = user.username) =>
    outcomeOf(await post(`${factor}/recovery-code`, { pendingToken: await pendingOf(username), code }))
  const rejected = '401 authenticators.recovery-code-invalid'
  const [first = '', second = '', third = ''] = codes
  const parallel = await Promise.all([use(first), use(first), use(first)])
  t.strictSame(parallel.sort(), ['200', rejected, rejected])
  t.strictSame(
    {
      again: await use(first),
      otherUser: await use(second, other.username),
      shortened: await use(second.slice(0, -1)),
      digits: await use('123456'),
      pattern: await use('%'),
      lowerCase: await use(second.toLowerCase()),
      withoutHyphens: await use(third.replaceAll('-', ' ')),
    },
    {
      again: rejected,
      otherUser: rejected,
      shortened: rejected,
      digits: rejected,
      pattern: rejected,
      lowerCase: '200',
      withoutHyphens: '200',
    },
  )
  await settled()
  t.equal(mailbox.sent.filter(({ subject }) => subject === 'Shop: a recovery code was used').length, 3)
  const asProof = await post(`${auth}/proof/totp`, { code: codes[4] }, { token: user.token })
  t.equal(outcomeOf(asProof), invalid, 'a code is no fresh proof')
  const asFirst = await post(`${auth}/login`, { username: user.username, password: codes[4] })
  t.equal(outcomeOf(asFirst), '401 iam.login-failed', 'nor a first factor')
  const replaced = await post(`${auth}/recovery-codes`, {}, { token: user.token })
  t.equal(new Set(replaced.data.codes).size, 10)
  t.strictSame(
    [await use(codes[4]), await use(replaced.data.codes[0])],
    [rejected, '200'],
    'a new set replaces the old',
  )
  const stored = await product.db.query<{ code_hash: string }>('select code_hash from authenticator_recovery_code')
  t.ok(stored.every(({ code_hash }) => /^[0-9a-f]{64}$/.test(code_hash)))
  const view = (await call('GET', `${auth}/authenticators`, { token: user.token })).data
  t.equal(view.recoveryCodes.left, 9)
  t.notOk(JSON.stringify(view).includes(codes[5] ?? ''))
})
