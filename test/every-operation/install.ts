import { assertSuccess, recordingClient } from './clients.ts'
import type { Scene } from './scene.ts'

export const installToken = 'correct-horse-battery-staple-4711'
const form = {
  site: {
    name: 'Acme',
    title: 'Acme shop',
    url: 'https://shop.example.com',
    defaultLocale: 'en',
    timeZone: 'Asia/Shanghai',
  },
  administrator: {
    username: 'founder',
    email: 'founder@example.com',
    mobile: '+8613800000000',
    password: 'Adm1n-secret-word',
    confirmPassword: 'Adm1n-secret-word',
  },
  database: { type: 'h2', host: '', port: null, database: 'test', username: '', password: '' },
  cache: { enabled: false },
  storage: { publicDisk: 'public', localDisk: 'local' },
}

/** Calls the operations of the installer on a product that is not installed. */
export async function callInstaller({ url, successes }: Scene): Promise<void> {
  const installer = recordingClient(url, successes, { 'x-install-token': installToken })
  await assertSuccess(installer.GET('/api/v1/install/status'))
  await assertSuccess(installer.GET('/api/v1/install/steps'))
  await assertSuccess(installer.GET('/api/v1/install/entries'))
  await assertSuccess(installer.POST('/api/v1/install/token/verify', { body: { token: installToken } }))
  await assertSuccess(installer.POST('/api/v1/install/preflight'))
  await assertSuccess(installer.GET('/api/v1/install/config/schema'))
  await assertSuccess(installer.GET('/api/v1/install/config/defaults'))
  await assertSuccess(installer.POST('/api/v1/install/config/validate', { body: form }))
  await assertSuccess(installer.POST('/api/v1/install/config/plan', { body: form }))
  await assertSuccess(installer.POST('/api/v1/install/config/write', { body: form }))
  await assertSuccess(installer.POST('/api/v1/install/migrate'))
  await assertSuccess(installer.POST('/api/v1/install/administrator', { body: form.administrator }))
  const { sessionId } = await assertSuccess(installer.POST('/api/v1/install/execute', { body: form }))
  await assertSuccess(installer.GET('/api/v1/install/execution-logs'))
  await assertSuccess(
    installer.GET('/api/v1/install/sessions/{sessionId}', { params: { path: { sessionId: sessionId ?? '' } } }),
  )
}

/** Calls the operations about the installation of an installed product. */
export async function callInstallation({ admin, mark }: Scene): Promise<void> {
  await assertSuccess(admin.GET('/api/v1/admin/install/status'))
  await assertSuccess(admin.GET('/api/v1/admin/install/steps'))
  await assertSuccess(admin.GET('/api/v1/admin/install/execution-logs'))
  await assertSuccess(admin.GET('/api/v1/admin/install/diagnostics'))
  await admin.GET('/api/v1/admin/install/diagnostics/export')
  await assertSuccess(admin.GET('/api/v1/admin/install/sessions'))
  const params = { path: { sessionId: mark } }
  await assertSuccess(admin.GET('/api/v1/admin/install/sessions/{sessionId}', { params }))
  await admin.GET('/api/v1/admin/install/sessions/{sessionId}/export', { params })
  await assertSuccess(admin.POST('/api/v1/admin/install/migrate'))
  const cleanups = await assertSuccess(admin.GET('/api/v1/admin/install/quickstart-cleanups'))
  const [module] = cleanups.modules
  const path = { moduleCode: module?.moduleCode ?? '' }
  const one = await assertSuccess(
    admin.GET('/api/v1/admin/install/quickstart-cleanups/{moduleCode}', { params: { path } }),
  )
  await assertSuccess(
    admin.POST('/api/v1/admin/install/quickstart-cleanups/{moduleCode}', {
      params: { path },
      body: one.confirmation,
    }),
  )
  const all = { confirmation: cleanups.confirmation }
  await assertSuccess(admin.POST('/api/v1/admin/install/quickstart-cleanups', { body: all }))
  const reset = { confirmation: 'RESET-INSTALL', reason: 'test' }
  await assertSuccess(admin.POST('/api/v1/admin/install/state/reset', { body: reset }))
  const close = { confirmation: 'MARK-INSTALLED', reason: 'test' }
  await assertSuccess(admin.POST('/api/v1/admin/install/state/mark-installed', { body: close }))
  const { items } = await assertSuccess(admin.GET('/api/v1/admin/install/audit-logs'))
  const entry = { path: { id: items[0]?.id ?? 0 } }
  await assertSuccess(admin.GET('/api/v1/admin/install/audit-logs/{id}', { params: entry }))
}
