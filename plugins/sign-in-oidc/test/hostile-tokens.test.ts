/** Tests ID tokens that a provider, or an attacker between it and the product, must not get accepted. */
import { onDatabase } from '@plinth/dev/testing/database'
import { type CryptoKey, exportSPKI, importJWK, SignJWT } from 'jose'
import t from 'tap'
import { describeOutcome, rejected, startWithProvider } from './fixtures/product.ts'
import { claimsOf, clientSecret, encoded, newSigningKey, sign, type TestProvider } from './fixtures/provider.ts'

type Change = (provider: TestProvider) => void

const nowSeconds = () => Math.floor(Date.now() / 1000)
const claims = (change: (claims: Record<string, unknown>) => object): Change => {
  return (provider) => provider.changeClaims((old) => ({ ...old, ...change(old) }))
}
const token = (change: (token: string, provider: TestProvider) => string | Promise<string>): Change => {
  return (provider) => provider.changeToken((old) => change(old, provider))
}
const parts = (text: string) => text.split('.') as [string, string, string]

async function signedWith(secret: Uint8Array, old: string) {
  return new SignJWT(claimsOf(old) as never).setProtectedHeader({ alg: 'HS256' }).sign(secret)
}

async function publicPem({ key }: TestProvider) {
  const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...open } = key.jwk
  return exportSPKI((await importJWK(open, 'RS256', { extractable: true })) as CryptoKey)
}

const none = encoded({ alg: 'none', typ: 'JWT' })

/** Each case changes the response of the token endpoint. The reason is only in the audit. */
const cases: readonly (readonly [name: string, change: Change, reason: string])[] = [
  [
    'changed sub, old signature',
    token((old) => {
      const [header, , signature] = parts(old)
      return `${header}.${encoded({ ...claimsOf(old), sub: 'victim' })}.${signature}`
    }),
    'response-invalid',
  ],
  ['algorithm none', token((old) => `${none}.${parts(old)[1]}.`), 'response-invalid'],
  [
    'algorithm none, with the old signature',
    token((old) => `${none}.${parts(old)[1]}.${parts(old)[2]}`),
    'response-invalid',
  ],
  ['no signature', token((old) => `${parts(old)[0]}.${parts(old)[1]}.`), 'response-invalid'],
  [
    'HS256 with the public key',
    token(async (old, provider) => signedWith(new TextEncoder().encode(await publicPem(provider)), old)),
    'response-invalid',
  ],
  [
    'HS256 with the client secret',
    token((old) => signedWith(new TextEncoder().encode(clientSecret), old)),
    'response-invalid',
  ],
  ['unknown kid', token(async (old) => sign(claimsOf(old), await newSigningKey('unknown'))), 'key-unknown'],
  [
    'known kid, key of an attacker',
    token(async (old) => sign(claimsOf(old), await newSigningKey('first'))),
    'response-invalid',
  ],
  ['another audience', claims(() => ({ aud: 'another-client' })), 'claim-mismatch'],
  ['two audiences without azp', claims(() => ({ aud: ['plinth', 'another-client'] })), 'claim-mismatch'],
  [
    'azp of another client',
    claims(() => ({ aud: ['plinth', 'another-client'], azp: 'another-client' })),
    'claim-mismatch',
  ],
  ['another issuer', claims(() => ({ iss: 'http://127.0.0.1:1' })), 'claim-mismatch'],
  ['swapped nonce', claims(() => ({ nonce: 'of-another-transaction' })), 'claim-mismatch'],
  ['no nonce', claims(() => ({ nonce: undefined })), 'response-invalid'],
  ['expired 40 s ago', claims(() => ({ exp: nowSeconds() - 40 })), 'token-expired'],
  ['valid only later', claims(() => ({ nbf: nowSeconds() + 60 })), 'token-expired'],
  ['issued one day ahead', claims(() => ({ iat: nowSeconds() + 86_400 })), 'issued-in-the-future'],
  ['empty sub', claims(() => ({ sub: '' })), 'subject-invalid'],
  ['sub of 256 characters', claims(() => ({ sub: 'a'.repeat(256) })), 'subject-invalid'],
  ['sub that is a number', claims(() => ({ sub: 17 })), 'response-invalid'],
  ['sub with a space at the end', claims(() => ({ sub: 'anna ' })), 'subject-invalid'],
  ['sub with characters that look like others', claims(() => ({ sub: 'аnna' })), 'subject-invalid'],
  [
    'no ID token',
    (provider) =>
      provider.rewrite.set('/token', (body) => JSON.stringify({ ...JSON.parse(body), id_token: undefined })),
    'response-invalid',
  ],
  ['a text that is not a token', token(() => 'not-a-token'), 'response-invalid'],
]

onDatabase(t, 'ID tokens that are not valid open no session', async (t, db) => {
  const product = await startWithProvider(t, db)
  const { provider } = product
  // The provider lists the algorithms, as some do. They are rejected all the same.
  provider.rewrite.set('/.well-known/openid-configuration', (body) =>
    JSON.stringify({ ...JSON.parse(body), id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'] }),
  )
  await product.adminToken()
  const before = await product.sessions()
  const results: string[] = []
  for (const [name, change] of cases) {
    change(provider)
    results.push(`${name}: ${describeOutcome(await product.signIn('kc', 'anna'))}`)
    provider.rewrite.delete('/token')
  }
  t.strictSame(
    results,
    cases.map(([name]) => `${name}: ${rejected}`),
  )
  t.equal(await product.sessions(), before, 'no session')
  t.strictSame(
    await product.rejections(),
    cases.map(([, , reason]) => `sign-in-oidc.${reason}`),
    'the audit has the reasons',
  )
  t.equal(await product.accounts.findByUsername('anna'), undefined, 'no account')
})

onDatabase(t, 'ID tokens within the tolerance of the clocks are accepted', async (t, db) => {
  const product = await startWithProvider(t, db)
  const accepted: readonly Change[] = [
    claims(() => ({ exp: nowSeconds() - 20 })),
    claims(() => ({ iat: nowSeconds() + 20 })),
    claims(() => ({ sub: '!'.repeat(255) })),
    claims(() => ({ aud: ['plinth', 'another-client'], azp: 'plinth' })),
  ]
  const outcomes: string[] = []
  for (const change of accepted) {
    change(product.provider)
    outcomes.push(describeOutcome(await product.signIn('kc', 'anna')))
  }
  t.strictSame(outcomes, ['200', '200', '200', '200'])
})

onDatabase(t, 'rotated keys are accepted after a minute, and removed keys are rejected', async (t, db) => {
  const product = await startWithProvider(t, db)
  const realNow = Date.now
  let offsetMs = -1_000_000
  // openid-client reads the age of its keys with this function. The past is used, so that no token is issued in the future.
  Date.now = () => realNow() + offsetMs
  t.teardown(() => {
    Date.now = realNow
  })
  const { provider } = product
  const outcome = async (name: string) => describeOutcome(await product.signIn('kc', name))
  t.equal(await outcome('anna'), '200')
  const removed = provider.key
  await provider.rotate('second')
  t.equal(await outcome('anna'), rejected, 'the keys were just read')
  offsetMs += 61_000
  t.equal(await outcome('anna'), '200', 'new key, 61 s after the keys were read')
  provider.changeClaims(
    (old) => old,
    () => removed,
  )
  offsetMs += 301_000
  t.equal(await outcome('anna'), rejected, 'removed key')
  t.strictSame(await product.rejections(), ['sign-in-oidc.key-unknown', 'sign-in-oidc.key-unknown'])
})
