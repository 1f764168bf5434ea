import { Secret, TOTP } from 'otpauth'
import { assertSuccess } from './clients.ts'
import type { Scene } from './scene.ts'

/** Sets up one-time passwords, signs in with them, proves the identity again, and removes them. */
export async function callFactors({ admin, clientOf, publicClient }: Scene): Promise<void> {
  const credentials = { username: 'fred', password: 'Correct-horse-9' }
  const { id } = await assertSuccess(admin.POST('/api/v1/admin/iam/users', { body: credentials }))
  const params = { path: { id } }
  const first = await assertSuccess(publicClient.POST('/api/v1/auth/login', { body: credentials }))
  const signedIn = clientOf(first.accessToken ?? '')
  const { setUpId, secret } = await assertSuccess(signedIn.POST('/api/v1/auth/totp/options'))
  const totp = new TOTP({ secret: Secret.fromBase32(secret) })
  const begun = Date.now()
  // Each code is accepted once. The codes of three steps are valid at the same time.
  const codeAt = (steps: number) => totp.generate({ timestamp: begun + steps * 30_000 })
  const setUp = await assertSuccess(signedIn.POST('/api/v1/auth/totp', { body: { setUpId, code: codeAt(-1) } }))
  await assertSuccess(signedIn.GET('/api/v1/auth/authenticators'))
  await assertSuccess(admin.GET('/api/v1/admin/iam/users/{id}/authenticators', { params }))

  const pendingTokenOf = async () => {
    const { data } = await publicClient.POST('/api/v1/auth/login', { body: credentials })
    return String((data?.data as { readonly pendingToken?: string } | null)?.pendingToken)
  }
  const byCode = { pendingToken: await pendingTokenOf(), code: codeAt(0) }
  const second = await assertSuccess(publicClient.POST('/api/v1/auth/second-factor/totp', { body: byCode }))
  const recovery = { pendingToken: await pendingTokenOf(), code: setUp.recoveryCodes?.[0] ?? '' }
  await assertSuccess(publicClient.POST('/api/v1/auth/second-factor/recovery-code', { body: recovery }))
  const proof = clientOf(second.accessToken ?? '').POST('/api/v1/auth/proof/totp', { body: { code: codeAt(1) } })
  const proven = clientOf((await assertSuccess(proof)).accessToken ?? '')
  await assertSuccess(proven.POST('/api/v1/auth/recovery-codes'))
  await assertSuccess(admin.POST('/api/v1/admin/iam/users/{id}/authenticators/reset', { params }))

  const third = await assertSuccess(publicClient.POST('/api/v1/auth/login', { body: credentials }))
  const again = clientOf(third.accessToken ?? '')
  const other = await assertSuccess(again.POST('/api/v1/auth/totp/options'))
  const code = new TOTP({ secret: Secret.fromBase32(other.secret) }).generate()
  await assertSuccess(again.POST('/api/v1/auth/totp', { body: { setUpId: other.setUpId, code } }))
  await assertSuccess(again.DELETE('/api/v1/auth/totp'))
  await assertSuccess(admin.DELETE('/api/v1/admin/iam/users/{id}', { params }))
}
