/** Tests that a wallet proves the identity of a signed-in user again, and which challenges and wallets do not. */
import { onDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { privateKeyToAccount } from 'viem/accounts'
import { describeOutcome, startWalletLogin } from './fixtures/product.ts'

const anna = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const bert = privateKeyToAccount(`0x${'22'.repeat(32)}`)
const sessions = '/api/v1/iam/users/me/sessions'
const proof = '/api/v1/auth/wallet/proof'
const refused = '401 wallet-login.challenge-refused'

onDatabase(t, 'a user who has only a wallet proves the identity with it', async (t, db) => {
  const { call, challenge, login, signIn, clock, adminToken } = await startWalletLogin(t, db, {
    config: { 'platform.iam.fresh-proof.enabled': true, 'platform.wallet-login.rate-limit.address-max-attempts': 100 },
  })
  const admin = await adminToken()
  const token = (await signIn(anna)).data.accessToken
  const other = (await signIn(anna)).data.accessToken
  await signIn(bert)
  const end = (as = token) => call('DELETE', sessions, { token: as })
  t.equal((await call('GET', sessions, { token })).code, '200')
  await clock.advance(6 * 60_000)
  const rejected = await end()
  t.equal(describeOutcome(rejected), '401 iam.proof-required')
  t.strictSame(rejected.data.methods, ['wallet'], 'the account has no password')

  const requested = async (as: string, wallet = anna) =>
    (await call('POST', `${proof}/challenge`, { token: as, body: { chainType: 'evm', address: wallet.address } })).data
  const prove = (as: string, body: object) => call('POST', proof, { token: as, body })
  const signed = async ({ challengeId, message }: { challengeId: string; message: string }, wallet = anna) => ({
    challengeId,
    address: wallet.address,
    signature: await wallet.signMessage({ message }),
  })
  const own = await requested(token)
  t.match(own.message, /Prove your identity to continue\./)

  const cases: readonly (readonly [string, object, string])[] = [
    ['challenge-of-another-session', await signed((await challenge(anna.address)).data), token],
    ['challenge-of-another-session', await signed(await requested(other)), token],
    ['address-of-another-user', await signed(await requested(token, bert), bert), token],
    ['signature-mismatch', { ...(await signed(await requested(token), bert)), address: anna.address }, token],
  ]
  for (const [reason, body, as] of cases) t.equal(describeOutcome(await prove(as, body)), refused, reason)
  t.equal(describeOutcome(await login(await signed(await requested(token)))), refused, 'a proof is not a login')
  const audit = await call('GET', '/api/v1/admin/iam/login-audits?success=false', { token: admin })
  t.strictSame(
    audit.data.items.map(({ method, reason }: { method: string; reason: string }) => `${method} ${reason}`).reverse(),
    [
      ...cases.map(([reason]) => `wallet-proof wallet-login.${reason}`),
      'wallet wallet-login.challenge-of-another-session',
    ],
  )
  t.equal(describeOutcome(await end()), '401 iam.proof-required', 'nothing of that was a proof')

  const body = await signed(own)
  const { code, data } = await prove(token, body)
  t.equal(code, '200')
  t.equal(describeOutcome(await prove(data.accessToken, body)), refused, 'a challenge is valid once')
  t.equal(describeOutcome(await end()), '401 iam.token-invalid')
  t.match(await end(data.accessToken), { code: /^200$/, data: { affected: 1 } })
  t.equal(describeOutcome(await call('GET', sessions, { token: other })), '401 iam.token-invalid')
})
