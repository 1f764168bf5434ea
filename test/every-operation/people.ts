import { assertSuccess } from './clients.ts'
import type { Scene } from './scene.ts'

/** Calls the operations for accounts, roles, sessions, permissions and the caller's own account. */
export async function callUserOperations({ admin, clientOf, publicClient, administrator }: Scene): Promise<void> {
  await assertSuccess(admin.GET('/api/v1/admin/iam/permissions'))
  await assertSuccess(admin.GET('/api/v1/admin/iam/roles'))
  const role = { code: 'shop-keeper', name: 'Shop keeper', permissions: ['iam:user:view'] }
  const { id: roleId, version } = await assertSuccess(admin.POST('/api/v1/admin/iam/roles', { body: role }))
  const rolePath = { path: { id: roleId } }
  await assertSuccess(admin.GET('/api/v1/admin/iam/roles/{id}', { params: rolePath }))
  const changed = { name: 'Keeper', permissions: [], version }
  await assertSuccess(admin.PUT('/api/v1/admin/iam/roles/{id}', { params: rolePath, body: changed }))
  const rules = {
    secondFactorFrom: null,
    sessionLifetime: 3_600,
    sessionIdleTimeout: null,
    version: changed.version + 1,
  }
  await assertSuccess(admin.PUT('/api/v1/admin/iam/roles/{id}/sign-in-policy', { params: rolePath, body: rules }))
  await assertSuccess(admin.DELETE('/api/v1/admin/iam/roles/{id}', { params: rolePath }))

  const password = 'Correct-horse-9'
  const { id: userId } = await assertSuccess(
    admin.POST('/api/v1/admin/iam/users', { body: { username: 'bob', password } }),
  )
  const userPath = { path: { id: userId } }
  await assertSuccess(admin.GET('/api/v1/admin/iam/users'))
  await assertSuccess(admin.GET('/api/v1/admin/iam/user-figures'))
  await assertSuccess(admin.GET('/api/v1/admin/iam/users/{id}', { params: userPath }))
  await assertSuccess(
    admin.PUT('/api/v1/admin/iam/users/{id}', { params: userPath, body: { email: 'bob@example.org' } }),
  )
  await assertSuccess(admin.PUT('/api/v1/admin/iam/users/{id}/password', { params: userPath, body: { password } }))
  const signIn = () => assertSuccess(publicClient.POST('/api/v1/auth/login', { body: { username: 'bob', password } }))
  const begun = clientOf((await signIn()).accessToken ?? '')
  await assertSuccess(begun.GET('/api/v1/auth/proof'))
  const proven = await assertSuccess(begun.POST('/api/v1/auth/proof', { body: { method: 'password', password } }))
  const bob = clientOf(proven.accessToken ?? '')
  await signIn()
  const sessions = await assertSuccess(admin.GET('/api/v1/admin/iam/users/{id}/sessions', { params: userPath }))
  const own = await assertSuccess(bob.GET('/api/v1/iam/users/me/sessions'))
  const other = own.find(({ current }) => !current)
  const otherPath = { path: { id: other?.id ?? 0 } }
  await assertSuccess(bob.PUT('/api/v1/iam/users/me/sessions/{id}', { params: otherPath, body: { name: 'Desk' } }))
  await assertSuccess(bob.DELETE('/api/v1/iam/users/me/sessions/{id}', { params: { path: { id: other?.id ?? 0 } } }))
  await assertSuccess(bob.GET('/api/v1/iam/users/me'))
  await assertSuccess(
    bob.PUT('/api/v1/iam/users/me', { body: { mobile: '+8613800138001', currentPassword: password } }),
  )
  await assertSuccess(bob.DELETE('/api/v1/iam/users/me/sessions'))
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
  const script = { name: 'script', expiresAt }
  const { id: tokenId, token } = await assertSuccess(bob.POST('/api/v1/iam/users/me/api-tokens', { body: script }))
  await assertSuccess(clientOf(token).GET('/api/v1/iam/users/me'))
  await assertSuccess(bob.GET('/api/v1/iam/users/me/api-tokens'))
  await assertSuccess(bob.DELETE('/api/v1/iam/users/me/api-tokens/{id}', { params: { path: { id: tokenId } } }))
  const second = await assertSuccess(bob.POST('/api/v1/iam/users/me/api-tokens', { body: script }))
  await assertSuccess(admin.GET('/api/v1/admin/iam/api-tokens'))
  await assertSuccess(admin.DELETE('/api/v1/admin/iam/api-tokens/{id}', { params: { path: { id: second.id } } }))
  const newPassword = 'Correct-horse-10'
  await assertSuccess(bob.PUT('/api/v1/iam/users/me/password', { body: { currentPassword: password, newPassword } }))
  await assertSuccess(bob.POST('/api/v1/auth/logout'))
  const [first] = sessions
  await assertSuccess(admin.DELETE('/api/v1/admin/iam/sessions/{id}', { params: { path: { id: first?.id ?? 0 } } }))
  await assertSuccess(admin.DELETE('/api/v1/admin/iam/users/{id}/sessions', { params: userPath }))
  await assertSuccess(admin.DELETE('/api/v1/admin/iam/users/{id}', { params: userPath }))
  const carol = { username: 'carol', password }
  const { id: carolId } = await assertSuccess(admin.POST('/api/v1/admin/iam/users', { body: carol }))
  const params = { path: { id: carolId } }
  await assertSuccess(admin.GET('/api/v1/admin/iam/users/{id}/personal-data', { params }))
  await admin.GET('/api/v1/admin/iam/users/{id}/personal-data/file', { params, parseAs: 'text' })
  await assertSuccess(admin.POST('/api/v1/admin/iam/users/{id}/erasure', { params, body: { username: 'carol' } }))
  const { items: audits } = await assertSuccess(admin.GET('/api/v1/admin/iam/audits'))
  const newest = { path: { id: audits[0]?.id ?? 0 } }
  await assertSuccess(admin.GET('/api/v1/admin/iam/audits/{id}', { params: newest }))
  await assertSuccess(admin.GET('/api/v1/admin/iam/login-audits'))
  await assertSuccess(publicClient.POST('/api/v1/auth/login', { body: administrator }))
}

/** Recovers an account, invites a user, and replaces an e-mail address. */
export async function callRecovery({ admin, clientOf, publicClient, sentLink }: Scene): Promise<void> {
  await assertSuccess(publicClient.GET('/api/v1/auth/recovery'))
  const [email, password] = ['dora@example.org', 'Correct-horse-11']
  const dora = { username: 'dora', email, password: 'Correct-horse-9' }
  const { id } = await assertSuccess(admin.POST('/api/v1/admin/iam/users', { body: dora }))
  await assertSuccess(publicClient.POST('/api/v1/auth/recovery', { body: { identifier: 'dora' } }))
  const token = await sentLink(email, 'reset')
  await assertSuccess(publicClient.POST('/api/v1/auth/recovery/complete', { body: { token, password } }))
  const session = await assertSuccess(publicClient.POST('/api/v1/auth/login', { body: { username: 'dora', password } }))
  const next = { email: 'dora@example.net', currentPassword: password }
  await assertSuccess(clientOf(session.accessToken ?? '').POST('/api/v1/iam/users/me/email-change', { body: next }))
  const confirmation = { token: await sentLink(next.email, 'email-change') }
  await assertSuccess(publicClient.POST('/api/v1/auth/recovery/email', { body: confirmation }))
  await assertSuccess(admin.POST('/api/v1/admin/iam/users/{id}/recovery', { params: { path: { id } } }))
  const emil = { username: 'emil', email: 'emil@example.org' }
  const invited = await assertSuccess(admin.POST('/api/v1/admin/iam/invitations', { body: emil }))
  await assertSuccess(admin.POST('/api/v1/admin/iam/users/{id}/invitation', { params: { path: { id: invited.id } } }))
}
