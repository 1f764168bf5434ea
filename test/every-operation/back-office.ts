import { assertSuccess } from './clients.ts'
import type { Scene } from './scene.ts'

/** Calls the operations for pages, charts, health and live updates of the back office. */
export async function callConsole({ admin }: Scene): Promise<void> {
  const { items } = await assertSuccess(admin.GET('/api/v1/admin/console/attention'))
  const mark = { params: { path: { id: String(items[0]?.['id']) } }, body: { doneCount: 1 } }
  await assertSuccess(admin.PUT('/api/v1/admin/console/attention/{id}', mark))
  const roles = await assertSuccess(admin.GET('/api/v1/admin/iam/roles', { params: { query: { size: 1 } } }))
  const view = { page: 'iam.users', roleId: roles.items[0]?.id ?? 0, name: 'Monday', search: 'q=a', isDefault: false }
  const { id } = await assertSuccess(admin.PUT('/api/v1/admin/console/views', { body: view }))
  await assertSuccess(admin.DELETE('/api/v1/admin/console/views/{id}', { params: { path: { id } } }))
  const charts = await assertSuccess(admin.GET('/api/v1/admin/console/charts'))
  const measured = charts.items.find((chart) => String(chart['path']).endsWith('/points'))
  const path = { id: String(measured?.['id']) }
  await assertSuccess(admin.GET('/api/v1/admin/console/charts/{id}/points', { params: { path } }))
  await assertSuccess(admin.GET('/api/v1/admin/console/database'))
  await assertSuccess(admin.GET('/api/v1/admin/console/health'))
  await assertSuccess(admin.GET('/api/v1/admin/console/labels', { params: { query: { kind: 'scheduler.task' } } }))
  await assertSuccess(admin.GET('/api/v1/admin/console/lookups'))
  const pages = await assertSuccess(admin.GET('/api/v1/admin/console/pages'))
  await assertSuccess(
    admin.GET('/api/v1/admin/console/pages/{id}', { params: { path: { id: pages.groups[0]?.pages[0]?.id ?? '' } } }),
  )
  const list = { path: { id: 'iam.users' } }
  await admin.GET('/api/v1/admin/console/pages/{id}/export', { params: list, parseAs: 'text' })
  await assertSuccess(admin.GET('/api/v1/admin/console/plugins'))
  const { response } = await admin.GET('/api/v1/admin/console/events', { parseAs: 'stream' })
  await response.body?.cancel()
}

export async function callConfiguration(scene: Scene): Promise<void> {
  const { admin } = scene
  const key = 'platform.site.name'
  const changes = [{ key, action: 'set' as const, value: 'Shop' }]
  await assertSuccess(admin.GET('/api/v1/admin/system-config/keys'))
  await assertSuccess(admin.GET('/api/v1/admin/system-config/keys/{key}', { params: { path: { key } } }))
  await assertSuccess(admin.POST('/api/v1/admin/system-config/changes/preview', { body: { changes } }))
  const { version } = await assertSuccess(
    admin.POST('/api/v1/admin/system-config/changes', { body: { changes, reason: 'test' } }),
  )
  const again = [{ key, action: 'set' as const, value: 'Store' }]
  await assertSuccess(admin.POST('/api/v1/admin/system-config/changes', { body: { changes: again, reason: 'test' } }))
  const history = await assertSuccess(admin.GET('/api/v1/admin/system-config/history'))
  const path = { id: history.items[0]?.id ?? '' }
  await assertSuccess(admin.GET('/api/v1/admin/system-config/history/{id}', { params: { path } }))
  await assertSuccess(
    admin.POST('/api/v1/admin/system-config/rollback', { body: { toVersion: version, reason: 'test' } }),
  )
  await assertSuccess(admin.GET('/api/v1/admin/system-config/instances'))
  await assertSuccess(admin.POST('/api/v1/admin/system-config/verifications', { body: { key, value: 'Shop' } }))
  const document = { format: 'plinth-config/1' as const, values: { [key]: 'Bazaar' } }
  await assertSuccess(admin.POST('/api/v1/admin/system-config/import', { body: { document, reason: 'test' } }))
  await admin.GET('/api/v1/admin/system-config/export')
  await callApprovalOperations(scene, key)
}

export async function callTemplates({ admin }: Scene): Promise<void> {
  const text = { subject: 'Hi {{name}}', content: 'Hello {{name}}' }
  const body = { code: 'welcome', channel: 'inbox', locale: 'en', ...text }
  const { id, version } = await assertSuccess(admin.POST('/api/v1/admin/templates', { body }))
  const params = { path: { id } }
  await assertSuccess(admin.GET('/api/v1/admin/templates'))
  await assertSuccess(admin.GET('/api/v1/admin/templates/{id}', { params }))
  await assertSuccess(admin.PUT('/api/v1/admin/templates/{id}', { params, body: { ...text, version } }))
  const preview = { ...text, variables: { name: 'Ann' } }
  await assertSuccess(admin.POST('/api/v1/admin/templates/preview', { body: preview }))
  await callTemplateVersions({ admin }, params)
  await assertSuccess(admin.DELETE('/api/v1/admin/templates/{id}', { params }))
}

async function callTemplateVersions(
  { admin }: Pick<Scene, 'admin'>,
  params: { readonly path: { readonly id: number } },
): Promise<void> {
  const draft = { subject: 'Hi', content: 'Good day {{name}}', baseVersion: 2 }
  await assertSuccess(admin.GET('/api/v1/admin/templates/{id}/draft', { params }))
  await assertSuccess(admin.PUT('/api/v1/admin/templates/{id}/draft', { params, body: { ...draft, version: 0 } }))
  await assertSuccess(admin.DELETE('/api/v1/admin/templates/{id}/draft', { params }))
  const content = Buffer.from('%PDF-1.7').toString('base64')
  const file = await assertSuccess(admin.POST('/api/v1/admin/storage/uploads', { body: { name: 'a.pdf', content } }))
  const attachment = { file: file.id, name: 'a.pdf', version: 0 }
  await assertSuccess(admin.POST('/api/v1/admin/templates/{id}/draft/attachments', { params, body: attachment }))
  const removed = { name: 'a.pdf', version: 1 }
  await assertSuccess(admin.POST('/api/v1/admin/templates/{id}/draft/attachments/remove', { params, body: removed }))
  await assertSuccess(admin.PUT('/api/v1/admin/templates/{id}/draft', { params, body: { ...draft, version: 2 } }))
  await assertSuccess(admin.GET('/api/v1/admin/templates/{id}/draft/comparison', { params }))
  await assertSuccess(admin.GET('/api/v1/admin/templates/{id}/uses', { params }))
  const test = { templateId: params.path.id, text: 'draft' as const, channel: 'database' }
  await assertSuccess(admin.POST('/api/v1/admin/notification/template-tests', { body: test }))
  await assertSuccess(admin.POST('/api/v1/admin/templates/{id}/draft/publish', { params, body: { version: 3 } }))
  const query = { templateId: params.path.id }
  const { items } = await assertSuccess(admin.GET('/api/v1/admin/template-versions', { params: { query } }))
  const path = { id: items.at(-1)?.id ?? 0 }
  await assertSuccess(admin.GET('/api/v1/admin/template-versions/{id}', { params: { path } }))
  await assertSuccess(admin.GET('/api/v1/admin/template-versions/{id}/comparison', { params: { path } }))
  await assertSuccess(admin.POST('/api/v1/admin/template-versions/{id}/take-back', { params: { path }, body: {} }))
}

export async function callScheduler({ admin }: Scene): Promise<void> {
  await assertSuccess(admin.GET('/api/v1/admin/scheduler/clock'))
  await assertSuccess(admin.GET('/api/v1/admin/scheduler/runs'))
  const tasks = await assertSuccess(admin.GET('/api/v1/admin/scheduler/tasks'))
  const params = { path: { name: tasks[0]?.name ?? '' } }
  await assertSuccess(admin.GET('/api/v1/admin/scheduler/tasks/{name}', { params }))
  await assertSuccess(admin.GET('/api/v1/admin/scheduler/tasks/{name}/runs', { params }))
  await assertSuccess(admin.POST('/api/v1/admin/scheduler/tasks/{name}/pause', { params }))
  await assertSuccess(admin.POST('/api/v1/admin/scheduler/tasks/{name}/resume', { params }))
  await assertSuccess(admin.POST('/api/v1/admin/scheduler/tasks/{name}/run-now', { params }))
}

/** Calls the operations for events, limits, disks, channels, WeChat messages and approvals. */
export async function callOperations({ admin, idOf, execute }: Scene): Promise<void> {
  const id = idOf('OutboxEvent')
  const params = { path: { id } }
  const fail = () => execute("update outbox_event set status = 'failed' where id = ?", [id])
  await assertSuccess(admin.GET('/api/v1/admin/events/outbox'))
  await assertSuccess(admin.GET('/api/v1/admin/events/outbox/{id}', { params }))
  await assertSuccess(admin.GET('/api/v1/admin/events/outbox/backlog'))
  await fail()
  await assertSuccess(admin.POST('/api/v1/admin/events/outbox/{id}/replay', { params }))
  await fail()
  await assertSuccess(admin.POST('/api/v1/admin/events/outbox/replay', { body: { ids: [id] } }))
  await fail()
  await assertSuccess(admin.POST('/api/v1/admin/events/outbox/{id}/skip', { params }))
  await assertSuccess(admin.GET('/api/v1/admin/rate-limit/operations'))
  await assertSuccess(admin.GET('/api/v1/admin/storage/disks'))
  await assertSuccess(admin.GET('/api/v1/admin/backups'))
  await assertSuccess(admin.GET('/api/v1/admin/backups/warnings'))
  await assertSuccess(admin.GET('/api/v1/admin/storage/disks/{name}', { params: { path: { name: 'local' } } }))
  await assertSuccess(admin.POST('/api/v1/admin/storage/uploads', { body: { name: 'a.txt', content: 'YQ==' } }))
  await assertSuccess(admin.GET('/api/v1/admin/social/messages'))
  await assertSuccess(admin.GET('/api/v1/admin/approvals'))
  await assertSuccess(admin.GET('/api/v1/admin/notification/channels'))
  const channel = { path: { code: 'log' } }
  await assertSuccess(admin.GET('/api/v1/admin/notification/channels/{code}', { params: channel }))
  await assertSuccess(admin.POST('/api/v1/admin/notification/channels/{code}/verify', { params: channel }))
  await assertSuccess(admin.POST('/api/v1/admin/notification/channels/{code}/test', { params: channel, body: {} }))
}

/** Changes of a key that another operator approves, rejects, and that its author withdraws. */
async function callApprovalOperations({ admin, publicClient, clientOf }: Scene, key: string): Promise<void> {
  const roles = await assertSuccess(admin.GET('/api/v1/admin/iam/roles'))
  const roleIds = roles.items.filter(({ code }) => code === 'super-admin').map(({ id }) => id)
  const approverLogin = { username: 'approver', password: 'Correct-horse-11' }
  await assertSuccess(admin.POST('/api/v1/admin/iam/users', { body: { ...approverLogin, roleIds } }))
  const { accessToken } = await assertSuccess(publicClient.POST('/api/v1/auth/login', { body: approverLogin }))
  const approver = clientOf(accessToken ?? '')
  const listKey = 'platform.system-config.approval.keys'
  const save = async (name: string, value: unknown) => {
    const changes = [{ key: name, action: 'set' as const, value }]
    const { requestId = 0 } = await assertSuccess(
      admin.POST('/api/v1/admin/system-config/changes', { body: { changes, reason: 'test' } }),
    )
    return { params: { path: { id: requestId } }, body: {} }
  }
  await save(listKey, [key])
  const [approved, rejected, withdrawn] = [await save(key, 'One'), await save(key, 'Two'), await save(key, 'Three')]
  await assertSuccess(admin.GET('/api/v1/admin/system-config/requests'))
  await assertSuccess(admin.GET('/api/v1/admin/system-config/requests/{id}', { params: approved.params }))
  await assertSuccess(approver.POST('/api/v1/admin/system-config/requests/{id}/approve', approved))
  await assertSuccess(approver.POST('/api/v1/admin/system-config/requests/{id}/reject', rejected))
  await assertSuccess(admin.POST('/api/v1/admin/system-config/requests/{id}/withdraw', withdrawn))
  await assertSuccess(approver.POST('/api/v1/admin/system-config/requests/{id}/approve', await save(listKey, [])))
}
