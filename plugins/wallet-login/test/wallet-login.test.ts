import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertMembers } from '@plinth/dev/testing'
import { createDatabase, onDatabase, onSqlite } from '@plinth/dev/testing/database'
import { deploy, skipAnvil, startAnvil } from '@plinth/dev/testing/web3'
import { definePlugin } from '@plinth/kernel'
import { sharedStore } from '@plinth/shared-store'
import { siweMessage } from '@plinth/wallet-login'
import { type PersonalSignature, type VerificationResult, walletVerifier } from '@plinth/web3'
import t from 'tap'
import { privateKeyToAccount } from 'viem/accounts'
import { parseSiweMessage, validateSiweMessage } from 'viem/siwe'
import { administrator, describeOutcome, startWalletLogin, system } from './fixtures/product.ts'

const anna = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const bert = privateKeyToAccount(`0x${'22'.repeat(32)}`)
const annaAddress = anna.address.toLowerCase()
const rejected = '401 wallet-login.challenge-refused'
const me = '/api/v1/iam/users/me'
const unlimited = {
  'platform.wallet-login.rate-limit.address-max-attempts': 0,
  'platform.wallet-login.rate-limit.ip-max-attempts': 0,
}

onDatabase(
  t,
  'W-010 W-014 W-015 W-017 a wallet signs in: the first login creates the account, the next one finds it',
  async (t, db) => {
    const { call, challenge, login, signIn, adminToken, clock } = await startWalletLogin(t, db)
    const admin = await adminToken()
    const requested = await challenge(anna.address)
    t.equal(requested.headers['cache-control'], 'no-store')
    const { challengeId, message, issuedAt, expiresAt } = requested.data
    t.equal(issuedAt, new Date(clock.now()).toISOString())
    t.equal(expiresAt, new Date(clock.now() + 300_000).toISOString())
    const parsed = parseSiweMessage(message)
    t.match(parsed, {
      domain: 'app.example.com',
      address: anna.address,
      uri: 'https://app.example.com/login',
      chainId: 1,
    })
    t.ok(
      validateSiweMessage({
        message: parsed,
        address: anna.address,
        domain: 'app.example.com',
        time: new Date(clock.now()),
      }),
    )
    t.match(parsed.nonce, /^[0-9a-f]{32}$/)

    const opened = await login({ challengeId, address: anna.address, signature: await anna.signMessage({ message }) })
    t.match(opened.data, { accessToken: /^plinth_/, tokenType: 'Bearer', expiresAt: String })
    const own = await call('GET', me, { token: opened.data.accessToken })
    assertMembers(t, own.data, { username: annaAddress, isSuperAdmin: false, roles: [], lastLoginAt: String })
    const again = await signIn(anna)
    t.equal((await call('GET', me, { token: again.data.accessToken })).data.id, own.data.id)
    t.not((await call('GET', me, { token: (await signIn(bert)).data.accessToken })).data.id, own.data.id)

    const logins = await call('GET', `/api/v1/admin/iam/login-audits?userId=${own.data.id}`, { token: admin })
    assertMembers(t, logins.data.items, [
      { method: 'wallet', success: true },
      { method: 'wallet', success: true },
    ])
    const audits = await call('GET', '/api/v1/admin/iam/audits?action=user.create&actor=wallet-login', { token: admin })
    t.equal(audits.data.items.length, 2)
    await call('PUT', `/api/v1/admin/iam/users/${own.data.id}`, { token: admin, body: { enabled: false } })
    t.equal(describeOutcome(await call('GET', me, { token: again.data.accessToken })), '401 iam.token-invalid')
    t.equal(describeOutcome(await signIn(anna)), '403 iam.user-disabled')
    await call('DELETE', `/api/v1/admin/iam/users/${own.data.id}`, { token: admin })
    const anew = await signIn(anna)
    t.not(
      (await call('GET', me, { token: anew.data.accessToken })).data.id,
      own.data.id,
      'an account that was deleted is gone',
    )
  },
)

onDatabase(
  t,
  'W-016 a name that is taken is given to nobody else: the account gets a generated name',
  async (t, db) => {
    const { call, signIn, accounts } = await startWalletLogin(t, db)
    const other = await accounts.create({ username: annaAddress, password: 'correct horse battery' }, system)
    const token = (await signIn(anna)).data.accessToken
    const own = (await call('GET', me, { token })).data
    t.match(own.username, new RegExp(`^wallet_${annaAddress.slice(2, 10)}_[0-9a-f]{8}$`))
    t.not(own.id, other.id)
    t.equal((await call('GET', me, { token: (await signIn(anna)).data.accessToken })).data.id, own.id)
  },
)

onDatabase(
  t,
  'W-011 W-012 W-013 W-025 a challenge is valid for one login of one wallet until it expires; all other proofs get one response, and the audit has the reason',
  async (t, db) => {
    const { call, challenge, login, clock, adminToken } = await startWalletLogin(t, db, { config: unlimited })
    const admin = await adminToken()
    const signed = async (wallet = anna, address = anna.address) => {
      const { challengeId, message } = (await challenge(address)).data
      return { challengeId, address, signature: await wallet.signMessage({ message }) }
    }
    const used = await signed()
    t.equal((await login(used)).code, '200')
    const outcomes: Record<string, object> = { 'challenge-unknown': used }
    outcomes['signature-mismatch'] = await signed(bert)
    outcomes['challenge-of-another-address'] = { ...(await signed(bert, anna.address)), address: bert.address }
    const atOtherHost = { ...unlimited, 'platform.site.url': 'https://other.example' }
    const elsewhere = await startWalletLogin(t, db, { config: atOtherHost, clock })
    const foreign = (await elsewhere.challenge(anna.address)).data
    const signature = await anna.signMessage({ message: foreign.message })
    outcomes['challenge-of-another-host'] = { challengeId: foreign.challengeId, address: anna.address, signature }
    outcomes['signature-malformed'] = { ...(await signed()), signature: '0x12' }
    const responses = new Set<string>()
    for (const body of Object.values(outcomes)) {
      const { code, message, data } = (await login(body)) as never as { code: string; message: string; data: object }
      responses.add(JSON.stringify([code, message, data]))
    }
    const late = await signed()
    await clock.advance(300_000 - 1)
    const inTime = await login(await signed())
    t.equal(inTime.code, '200')
    await clock.advance(1)
    const expired = (await login(late)) as never as { code: string; message: string; data: object }
    responses.add(JSON.stringify([expired.code, expired.message, expired.data]))
    t.equal(responses.size, 1, 'one answer')
    t.equal(describeOutcome(expired), rejected)
    const spoiled = await signed()
    t.equal(describeOutcome(await login({ ...spoiled, signature: '0x12' })), rejected)
    t.equal(describeOutcome(await login(spoiled)), rejected, 'a challenge is used up by a wrong proof too')

    const audits = await call('GET', '/api/v1/admin/iam/login-audits?success=false&size=50', { token: admin })
    const reasons = audits.data.items.map(({ reason }: { reason: string }) => reason)
    for (const reason of Object.keys(outcomes)) t.ok(reasons.includes(`wallet-login.${reason}`), reason)
    t.equal(reasons.filter((reason: string) => reason === 'wallet-login.challenge-expired').length, 1)
    const shown = new Set(audits.data.items.map(({ identifier }: { identifier: string }) => identifier))
    const ends = ({ address }: { address: string }) => `${address.slice(0, 6)}***${address.slice(-4)}`.toLowerCase()
    t.strictSame(shown, new Set([ends(anna), ends(bert)]), 'both ends of the wallets')
    t.equal(describeOutcome(await challenge('0x12')), '400 web3.address-invalid')
    t.equal(describeOutcome(await challenge(`0x${'0'.repeat(40)}`)), '400 wallet-login.address-refused')
    t.equal((await challenge(anna.address, { chainType: 'solana' })).code, '400')
  },
)

onDatabase(
  t,
  'W-011 one signature that is sent to two instances many times concurrently opens one session',
  async (t, db) => {
    const one = await startWalletLogin(t, db, { config: unlimited })
    const other = await startWalletLogin(t, db, { config: unlimited, clock: one.clock })
    for (let round = 0; round < 3; round++) {
      const { challengeId, message } = (await one.challenge(anna.address)).data
      const body = { challengeId, address: anna.address, signature: await anna.signMessage({ message }) }
      const responses = await Promise.all([one, other, one, other, one, other].map((instance) => instance.login(body)))
      t.strictSame(responses.map(describeOutcome).sort(), ['200', ...Array(5).fill(rejected)])
    }
    const firsts = await Promise.all([one, other].map((instance) => instance.signIn(bert)))
    const ids = await Promise.all(
      firsts.map(async ({ data }) => (await one.call('GET', me, { token: data.accessToken })).data.id),
    )
    t.equal(new Set(ids).size, 1, 'two first logins at once make one account')
  },
)

onDatabase(
  t,
  'W-019 W-020 W-021 A3 a user can be renamed to an address only if it is bound to them, by themselves and by an administrator',
  async (t, db) => {
    const { call, signIn, adminToken, accounts } = await startWalletLogin(t, db)
    const admin = await adminToken()
    const token = (await signIn(anna)).data.accessToken
    const { id } = (await call('GET', me, { token })).data
    const renameSelf = (username: string) => call('PUT', me, { token, body: { username } })
    const renameBy = (username: string, user = id) =>
      call('PUT', `/api/v1/admin/iam/users/${user}`, { token: admin, body: { username } })
    const bertAddress = bert.address.toLowerCase()
    const unbound = '403 wallet-login.name-not-bound'
    for (const rename of [renameSelf, renameBy]) {
      t.equal((await rename('anna')).data.username, 'anna')
      t.equal(describeOutcome(await rename(bertAddress)), unbound)
      t.equal(describeOutcome(await rename(bert.address)), unbound)
      t.equal(describeOutcome(await rename(bertAddress.toUpperCase())), unbound)
      const last = bert.address.slice(-1)
      const flipped = last === last.toLowerCase() ? last.toUpperCase() : last.toLowerCase()
      t.equal(
        describeOutcome(await rename(`${bert.address.slice(0, -1)}${flipped}`)),
        unbound,
        'also with a wrong checksum',
      )
      t.equal((await rename(bertAddress.slice(0, -1))).code, '200', 'a digit short: no address')
      t.equal((await rename(bertAddress.slice(2))).code, '200', 'no prefix: no address')
      t.equal((await rename(annaAddress)).data.username, annaAddress, 'the own address')
      t.equal((await rename(anna.address)).data.username, anna.address, 'with its checksum')
    }
    const other = await accounts.create({ username: 'carl', password: 'correct horse battery' }, system)
    t.equal(describeOutcome(await renameBy(annaAddress, other.id)), unbound)
    await accounts.bindExternal(other.id, { provider: 'evm', chainType: 'evm', subject: bertAddress }, system)
    t.equal((await renameBy(bertAddress, other.id)).data.username, bertAddress)
  },
)

t.test('E13 W-014 the cookie session of a wallet is the same as that of a password', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { call, challenge, login, adminToken } = await startWalletLogin(t, db)
  const admin = await adminToken()
  const signed = async () => {
    const { challengeId, message } = (await challenge(anna.address)).data
    return { challengeId, address: anna.address, signature: await anna.signMessage({ message }), session: 'cookie' }
  }
  const proof = await signed()
  const elsewhere: Readonly<Record<string, string>>[] = [
    {},
    { origin: 'https://evil.test' },
    { 'sec-fetch-site': 'same-site' },
  ]
  for (const headers of elsewhere) {
    const rejection = await login(proof, headers)
    t.equal(describeOutcome(rejection), '403 iam.origin-unproven')
    t.equal(rejection.headers['set-cookie'], undefined)
  }
  const ownPage = { 'sec-fetch-site': 'same-origin' }
  const proxied = { ...ownPage, 'x-forwarded-proto': 'https', 'x-forwarded-prefix': '/shop' }
  for (const [headers, name, attributes] of [
    [ownPage, 'plinth-session=', 'Path=/api; HttpOnly; SameSite=Strict'],
    [proxied, '__Host-plinth-session-[0-9a-f]{12}=', 'Path=/; HttpOnly; SameSite=Strict; Secure'],
  ] as const) {
    const byWallet = await login(await signed(), headers)
    t.match(byWallet.data, { accessToken: null, tokenType: 'Bearer' })
    t.match([byWallet.headers['set-cookie']].flat()[0], new RegExp(`^${name}plinth_[^;]+; ${attributes}$`))
    const body = { ...administrator, session: 'cookie' }
    const byPassword = await call('POST', '/api/v1/auth/login', { body, headers })
    const unnamed = (set: unknown) => String(set).replaceAll(/=[\w-]{43,};/g, '')
    t.equal(unnamed(byWallet.headers['set-cookie']), unnamed(byPassword.headers['set-cookie']))
    t.strictSame(Object.keys(byWallet.data), Object.keys(byPassword.data))
  }
  const used = await login(proof, ownPage)
  const cookie = String(used.headers['set-cookie']).split(';', 1)[0] ?? ''
  const own = await call('GET', me, { headers: { cookie } })
  assertMembers(t, own.data, { username: annaAddress, permissions: [] })
  const write = (headers: Readonly<Record<string, string>>) =>
    call('PUT', me, { headers: { cookie, ...headers }, body: { mobile: null } })
  for (const headers of elsewhere) t.equal(describeOutcome(await write(headers)), '403 iam.origin-unproven')
  t.equal(describeOutcome(await write(ownPage)), '200')

  const { id } = own.data
  const sessions = await call('GET', `${me}/sessions`, { headers: { cookie } })
  t.match(sessions.data[0], { method: 'wallet', current: true })
  const logins = await call('GET', `/api/v1/admin/iam/login-audits?userId=${id}`, { token: admin })
  assertMembers(t, logins.data.items, [{ method: 'wallet', success: true, userId: id, clientIp: '127.0.0.1' }, {}, {}])
  t.equal(logins.data.items.length, 3, 'what proves no origin is no attempt')
  const ended = await call('POST', '/api/v1/auth/logout', { headers: { cookie, ...ownPage } })
  t.equal(ended.headers['set-cookie'], 'plinth-session=; Max-Age=0; Path=/api; HttpOnly; SameSite=Strict')
  t.equal(describeOutcome(await call('GET', me, { headers: { cookie } })), '401 iam.token-invalid')
})

t.test('if a chain is required, a wallet on another chain gets its name before it signs', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { challenge } = await startWalletLogin(t, db, {
    config: { 'platform.wallet-login.chain-required': true, 'platform.wallet-login.chain-id': 137 },
  })
  const rejection = await challenge(anna.address, { chainId: 1 })
  t.match(rejection, {
    code: /^400$/,
    message: /chain 137 can log in/,
    data: { reason: /^wallet-login\.chain-refused$/, field: 'chainId', chainId: 137 },
  })
  for (const requested of [{}, { chainId: 137 }])
    t.match(parseSiweMessage((await challenge(anna.address, requested)).data.message), { chainId: 137 })
})

t.test('challenges are limited per network, and the configuration sets domain, chain and statement', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { call, challenge, clock } = await startWalletLogin(t, db, {
    config: {
      'platform.wallet-login.challenge-lifetime': '30s',
      'platform.wallet-login.statement': 'Come in',
      'platform.wallet-login.chain-id': 137,
      'platform.wallet-login.rate-limit.ip-max-attempts': 5,
      'platform.wallet-login.rate-limit.ip-window': '40s',
    },
  })
  const first = await challenge(anna.address)
  t.equal(first.data.expiresAt, new Date(clock.now() + 30_000).toISOString())
  t.match(parseSiweMessage(first.data.message), { statement: 'Come in', chainId: 137 })
  t.match(parseSiweMessage((await challenge(anna.address, { chainId: 10 })).data.message), { chainId: 10 })
  t.equal((await challenge(anna.address)).code, '200')
  const from = (address: string, ip: string) =>
    call('POST', '/api/v1/auth/wallet/challenge', { body: { chainType: 'evm', address }, from: ip })
  t.equal((await from(bert.address, '127.0.0.1')).code, '200')
  t.equal((await from(bert.address, '127.0.0.1')).code, '200')
  const network = await from(`0x${'c'.repeat(40)}`, '127.0.0.1')
  t.equal(describeOutcome(network), '429 rate-limit.exceeded')
  t.ok(Number(network.headers['retry-after']) > 0 && Number(network.headers['retry-after']) <= 40)
  t.equal((await from(bert.address, '203.0.113.7')).code, '200', 'another network')
})

const vectors: readonly {
  readonly id: string
  readonly message: string
  readonly signature: string
  readonly address?: string
  readonly context?: {
    readonly domain: string
    readonly nonce: string
    readonly chainId: number
    readonly address: string
    readonly time: string
    readonly consumed?: boolean
  }
  readonly expected: string
}[] = JSON.parse(readFileSync(new URL('fixtures/siwe-vectors.json', import.meta.url), 'utf8'))

t.test('W-001 W-010 every test vector of Sign-In with Ethereum against the stored message', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { running } = await startWalletLogin(t, db)
  const verifier = running.service(walletVerifier)
  t.equal(vectors.length, 9)
  for (const { id, message, signature, address, context, expected } of vectors) {
    if (context === undefined) {
      const { valid, reason } = verifier.verifyPersonal({ address: address ?? '', message, signature })
      t.equal(valid ? 'valid' : reason, expected, id)
      continue
    }
    const stored = siweMessage({
      domain: context.domain,
      address: context.address,
      chainId: context.chainId,
      nonce: context.nonce,
      statement: 'Sign in to Platform',
      uri: 'https://app.example.com/login',
      issuedAt: new Date('2026-11-21T00:00:00.000Z'),
      expiresAt: new Date('2026-11-21T00:05:00.000Z'),
    })
    const isExpired = Date.parse(context.time) >= Date.parse('2026-11-21T00:05:00.000Z')
    // The signature must match the message of the test vector and the stored message. The store checks expiry and
    // repeated use.
    const valid = [message, stored].every(
      (text) => verifier.verifyPersonal({ address: context.address, message: text, signature }).valid,
    )
    const opens = valid && !isExpired && context.consumed !== true
    t.equal(opens, expected === 'valid', `${id}: ${expected}`)
    if (expected === 'valid') t.equal(stored, message)
  }
})

onSqlite(t, 'W-018 the challenge needs no verifier, and only the verifier decides about a signature', async (t, db) => {
  const requested: PersonalSignature[] = []
  let valid = false
  const verify = (signed: PersonalSignature): VerificationResult => {
    requested.push(signed)
    const { address } = signed
    return valid ? { valid, address, method: 'ecrecover' } : { valid, address, reason: 'signature-mismatch' }
  }
  const notAsked = () => {
    throw new Error('typed data is not signed')
  }
  const verifier = definePlugin({
    id: 'verifier',
    version: '1.0.0',
    kernel: '^1.0.0',
    provides: [walletVerifier],
    setup: ({ provide }) =>
      provide(walletVerifier, {
        backend: 'javascript',
        verifyPersonal: verify,
        verifyPersonalOnChain: async (_, signed) => verify(signed),
        verifyTypedData: notAsked,
        verifyTypedDataOnChain: notAsked,
      }),
  })
  const { challenge, login } = await startWalletLogin(t, db, { verifier, config: unlimited })
  for (const [decision, expected] of [
    [false, rejected],
    [true, '200'],
  ] as const) {
    valid = decision
    requested.length = 0
    const { challengeId, message } = (await challenge(anna.address)).data
    t.equal(parseSiweMessage(message).address, anna.address)
    t.same(requested, [], 'a challenge is made without the verifier')
    // This is not a real signature, because only the replaced verifier decides.
    const signature = `0x${'ab'.repeat(65)}`
    t.equal(describeOutcome(await login({ challengeId, address: anna.address, signature })), expected)
    assertMembers(t, requested, [{ message, signature }])
    t.equal(requested.length, 1)
  }
})

t.test('W-027 W-030 the sources contain no key and sign nothing', async (t) => {
  const root = join(import.meta.dirname, '../src')
  const sources = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  t.ok(sources.length > 5)
  for (const name of sources)
    t.notMatch(readFileSync(join(root, name), 'utf8'), /secp256k1|private_?key|mnemonic|createHmac/i, name)
})

t.test('C-040 a challenge that an earlier release stored is accepted', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { running, login, clock } = await startWalletLogin(t, db)
  const expiresAt = clock.now() + 60_000
  const message = `app.example.com wants you to sign in with your Ethereum account:\n${annaAddress}\n\nNonce: stored-without-chain`
  const stored = JSON.stringify({ message, address: annaAddress, expiresAt })
  await running.service(sharedStore).set('wallet-login:challenge:earlier', stored, 60_000)
  const signature = await anna.signMessage({ message })
  const { data } = await login({ challengeId: 'earlier', address: anna.address, signature })
  t.match(data, { accessToken: /^plinth_/ })
})

t.test(
  'W-015 a contract wallet signs in if its chain allows it, for that chain only',
  { skip: skipAnvil, timeout: 600_000 },
  async (t) => {
    const [chain, db] = [await startAnvil(), await createDatabase('sqlite')]
    t.teardown(() => Promise.all([chain.stop(), db.drop()]))
    const { call, challenge, login, adminToken } = await startWalletLogin(t, db, {
      config: {
        ...unlimited,
        'platform.web3.contract-wallets.chain': 'local',
        'platform.outgoing-http.allow-http': true,
        'platform.outgoing-http.allowed-hosts': [`127.0.0.1:${chain.port}`],
      },
    })
    const admin = await adminToken()
    const body = { name: 'local', chainId: chain.chainId, providers: [{ id: 'node', url: chain.url }] }
    const created = await call('POST', '/api/v1/admin/web3/chains', { token: admin, body })
    t.equal(created.code, '200')
    const address = await deploy(chain, 'Wallet1271', anna.address)
    const signIn = async (signer: typeof anna, requested: object) => {
      const { challengeId, message } = (await challenge(address, requested)).data
      return login({ challengeId, address, signature: await signer.signMessage({ message }) })
    }
    const here = { chainId: chain.chainId }
    const opened = await signIn(anna, here)
    t.match(opened.data, { accessToken: /^plinth_/ })
    t.match((await call('GET', me, { token: opened.data.accessToken })).data, { username: address })
    t.equal(describeOutcome(await signIn(bert, here)), rejected, 'another signer')
    t.equal(describeOutcome(await signIn(anna, {})), rejected, 'a challenge for another chain')
    await chain.stop()
    t.equal(describeOutcome(await signIn(anna, here)), rejected, 'nobody says that the contract agrees')
    const { data } = await call('GET', '/api/v1/admin/iam/login-audits?success=false', { token: admin })
    t.same(
      data.items.map(({ reason }: { reason: string }) => reason).sort(),
      ['contract-unanswered', 'signature-mismatch', 'signature-mismatch'].map((reason) => `wallet-login.${reason}`),
    )
  },
)

t.test('without registration only wallets with an account sign in', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const key = 'platform.wallet-login.registration-enabled'
  const open = await startWalletLogin(t, db, { config: { [key]: true } })
  t.equal((await open.signIn(anna)).code, '200')
  const closed = await startWalletLogin(t, db, { config: { [key]: false } })
  t.equal((await closed.signIn(anna)).code, '200', 'a known wallet')
  t.equal(describeOutcome(await closed.signIn(bert)), '403 wallet-login.registration-closed')
})
