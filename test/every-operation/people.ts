import { success } from './clients.ts'
import type { Scene } from './scene.ts'

/** Calls the operations for accounts, roles, sessions, permissions and the caller's own account. */
export async function callUserOperations({ admin, clientOf, publicClient, administrator }: Scene): Promise<void> {
  await success(admin.GET('/api/v1/admin/iam/permissions'))
  await success(admin.GET('/api/v1/admin/iam/roles'))
  const role = { code: 'shop-keeper', name: 'Shop keeper', permissions: ['iam:user:view'] }
  const { id: roleId, version } = await success(admin.POST('/api/v1/admin/iam/roles', { body: role }))
  const rolePath = { path: { id: roleId } }
  await success(admin.GET('/api/v1/admin/iam/roles/{id}', { params: rolePath }))
  const changed = { name: 'Keeper', permissions: [], version }
  await success(admin.PUT('/api/v1/admin/iam/roles/{id}', { params: rolePath, body: changed }))
  await success(admin.DELETE('/api/v1/admin/iam/roles/{id}', { params: rolePath }))

  const password = 'Correct-horse-9'
  const { id: userId } = await success(admin.POST('/api/v1/admin/iam/users', { body: { username: 'bob', password } }))
  const userPath = { path: { id: userId } }
  await success(admin.GET('/api/v1/admin/iam/users'))
  await success(admin.GET('/api/v1/admin/iam/user-figures'))
  await success(admin.GET('/api/v1/admin/iam/users/{id}', { params: userPath }))
  await success(admin.PUT('/api/v1/admin/iam/users/{id}', { params: userPath, body: { email: 'bob@example.org' } }))
  await success(admin.PUT('/api/v1/admin/iam/users/{id}/password', { params: userPath, body: { password } }))
  const signIn = () => success(publicClient.POST('/api/v1/auth/login', { body: { username: 'bob', password } }))
  const bob = clientOf((await signIn()).accessToken ?? '')
  await signIn()
  const sessions = await success(admin.GET('/api/v1/admin/iam/users/{id}/sessions', { params: userPath }))
  const own = await success(bob.GET('/api/v1/iam/users/me/sessions'))
  const other = own.find(({ current }) => !current)
  await success(bob.DELETE('/api/v1/iam/users/me/sessions/{id}', { params: { path: { id: other?.id ?? 0 } } }))
  await success(bob.GET('/api/v1/iam/users/me'))
  await success(bob.PUT('/api/v1/iam/users/me', { body: { mobile: '+8613800138001', currentPassword: password } }))
  await success(bob.DELETE('/api/v1/iam/users/me/sessions'))
  const newPassword = 'Correct-horse-10'
  await success(bob.PUT('/api/v1/iam/users/me/password', { body: { currentPassword: password, newPassword } }))
  await success(bob.POST('/api/v1/auth/logout'))
  const [first] = sessions
  await success(admin.DELETE('/api/v1/admin/iam/sessions/{id}', { params: { path: { id: first?.id ?? 0 } } }))
  await success(admin.DELETE('/api/v1/admin/iam/users/{id}/sessions', { params: userPath }))
  await success(admin.DELETE('/api/v1/admin/iam/users/{id}', { params: userPath }))
  const carol = { username: 'carol', password }
  const { id: carolId } = await success(admin.POST('/api/v1/admin/iam/users', { body: carol }))
  const params = { path: { id: carolId } }
  await success(admin.GET('/api/v1/admin/iam/users/{id}/personal-data', { params }))
  await admin.GET('/api/v1/admin/iam/users/{id}/personal-data/file', { params, parseAs: 'text' })
  await success(admin.POST('/api/v1/admin/iam/users/{id}/erasure', { params, body: { username: 'carol' } }))
  const { items: audits } = await success(admin.GET('/api/v1/admin/iam/audits'))
  const newest = { path: { id: audits[0]?.id ?? 0 } }
  await success(admin.GET('/api/v1/admin/iam/audits/{id}', { params: newest }))
  await success(admin.GET('/api/v1/admin/iam/login-audits'))
  await success(publicClient.POST('/api/v1/auth/login', { body: administrator }))
}
