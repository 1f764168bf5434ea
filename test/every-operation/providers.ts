import { assertSuccess } from './clients.ts'
import type { Scene } from './scene.ts'

/** Id of the provider in the configuration of the scene. It is disabled, so nobody can sign in with it. */
const provider = 'shop'

/** Linked identities, claim rules, and the status of a provider. */
export async function callProviders({ admin, clientOf, publicClient, administrator }: Scene): Promise<void> {
  await assertSuccess(publicClient.GET('/api/v1/auth/oidc/providers'))
  const { items } = await assertSuccess(admin.GET('/api/v1/admin/oidc/providers'))
  const params = { path: { id: items[0]?.id ?? '' } }
  await assertSuccess(admin.POST('/api/v1/admin/oidc/providers/{id}/test', { params }))
  const role = { code: 'by-claim', name: 'By claim', dataScope: 'self' as const, permissions: [] }
  const { id: roleId } = await assertSuccess(admin.POST('/api/v1/admin/iam/roles', { body: role }))
  const rule = { provider, claim: 'groups', value: 'staff', roleId }
  const created = await assertSuccess(admin.POST('/api/v1/admin/oidc/rules', { body: rule }))
  await assertSuccess(admin.GET('/api/v1/admin/oidc/rules'))
  const claims = JSON.stringify({ sub: 'anna', groups: ['staff'] })
  await assertSuccess(admin.POST('/api/v1/admin/oidc/preview', { body: { provider, claims } }))
  await assertSuccess(admin.DELETE('/api/v1/admin/oidc/rules/{id}', { params: { path: { id: created.id } } }))
  await assertSuccess(admin.GET('/api/v1/admin/oidc/identities'))
  const session = await assertSuccess(publicClient.POST('/api/v1/auth/login', { body: administrator }))
  const root = clientOf(session.accessToken ?? '')
  await assertSuccess(root.GET('/api/v1/auth/oidc/identities'))
  await assertSuccess(root.POST('/api/v1/auth/oidc/logout'))
}
