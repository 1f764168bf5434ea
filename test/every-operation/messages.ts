import { assertSuccess } from './clients.ts'
import type { Scene } from './scene.ts'

export async function callRules({ admin, userId }: Scene): Promise<void> {
  const rule = (code: string) => ({ code, channels: ['database'], recipientUserIds: [userId] })
  const { id } = await assertSuccess(admin.POST('/api/v1/notification-rules', { body: rule('shop.low-stock') }))
  const second = await assertSuccess(admin.POST('/api/v1/notification-rules', { body: rule('shop.no-stock') }))
  const params = { path: { id } }
  await assertSuccess(admin.GET('/api/v1/notification-rules'))
  await assertSuccess(admin.GET('/api/v1/notification-rules/{id}', { params }))
  await assertSuccess(admin.PUT('/api/v1/notification-rules/{id}', { params, body: { thresholdCount: 3 } }))
  await assertSuccess(admin.POST('/api/v1/notification-rules/{id}/disable', { params, body: {} }))
  await assertSuccess(admin.POST('/api/v1/notification-rules/{id}/enable', { params, body: {} }))
  await assertSuccess(admin.GET('/api/v1/notification-rules/ops-summary'))
  await assertSuccess(admin.GET('/api/v1/notification-rules/templates'))
  await assertSuccess(admin.DELETE('/api/v1/notification-rules/{id}', { params }))
  await assertSuccess(admin.DELETE('/api/v1/notification-rules', { body: { ids: [second.id] } }))
}

/** Exports rules as a background task and downloads its file as the owner. */
export async function callTasks({ admin, publicClient, until }: Scene): Promise<void> {
  const { id: taskId } = await assertSuccess(admin.POST('/api/v1/notification-rules/export', { body: {} }))
  const params = { path: { id: taskId } }
  const task = () => assertSuccess(admin.GET('/api/v1/async-tasks/{id}', { params }))
  await until(async () => (await task()).status === 'succeeded', 'the export')
  await assertSuccess(admin.GET('/api/v1/async-tasks'))
  await admin.GET('/api/v1/async-tasks/{id}/artifact', { params, parseAs: 'text' })
  const { url } = await assertSuccess(admin.GET('/api/v1/async-tasks/{id}/download-url', { params }))
  const { pathname, searchParams } = new URL(url, 'http://127.0.0.1')
  const [, disk = '', wildcard = ''] = /\/storage\/files\/([^/]+)\/(.*)$/.exec(pathname) ?? []
  const value = (name: string) => searchParams.get(name) ?? ''
  const query = {
    expires: Number(value('expires')),
    signature: value('signature'),
    grant: value('grant'),
    name: value('name'),
  }
  await publicClient.GET('/api/v1/storage/files/{disk}/{wildcard}', {
    params: { path: { disk, wildcard }, query },
    pathSerializer: (path) => path.replace('{disk}', disk).replace('{wildcard}', wildcard),
    parseAs: 'text',
  })
  const other = await assertSuccess(admin.POST('/api/v1/notification-rules/export', { body: {} }))
  await assertSuccess(admin.POST('/api/v1/async-tasks/{id}/cancel', { params: { path: { id: other.id } } }))
}

export async function callMessages({ admin, user, userId, idOf }: Scene): Promise<void> {
  const text = { subject: 'Hello', content: 'Your order is on its way.' }
  await assertSuccess(user.PUT('/api/v1/notifications/preferences', { body: { quietHours: null } }))
  await assertSuccess(admin.GET('/api/v1/notifications/send-metadata'))
  await assertSuccess(admin.POST('/api/v1/notifications/template-preview', { body: { channel: 'database', ...text } }))
  const send = { channels: ['database'], recipientUserIds: [userId], ...text }
  await assertSuccess(admin.POST('/api/v1/notifications/send', { body: send }))
  await assertSuccess(admin.POST('/api/v1/notifications/send', { body: send }))
  const receivers = { channels: ['database'], recipientUserIds: [userId] }
  await assertSuccess(admin.POST('/api/v1/admin/notification/audience', { body: receivers }))
  const notBefore = new Date(Date.now() + 3_600_000).toISOString()
  await assertSuccess(admin.POST('/api/v1/notifications/send', { body: { ...send, notBefore } }))
  const scheduled = await assertSuccess(admin.GET('/api/v1/admin/notification/scheduled-messages'))
  const waiting = { path: { id: scheduled.items[0]?.id ?? 0 } }
  await assertSuccess(admin.POST('/api/v1/admin/notification/messages/{id}/cancel', { params: waiting }))
  const remembered = { key: 'order-7', before: true, expiresAt: notBefore }
  await assertSuccess(admin.POST('/api/v1/admin/notification/messages/cancel', { body: remembered }))
  await assertSuccess(admin.GET('/api/v1/notifications'))
  await assertSuccess(admin.GET('/api/v1/notifications/{id}', { params: { path: { id: idOf('NotificationRow') } } }))
  await assertSuccess(admin.GET('/api/v1/notification-read-receipts'))
  await assertSuccess(admin.GET('/api/v1/notification-message-attachments'))

  const inbox = await assertSuccess(user.GET('/api/v1/notifications/inbox'))
  const ids = inbox.items.map(({ id }) => id)
  const params = { path: { id: ids[0] ?? 0 } }
  await assertSuccess(user.GET('/api/v1/notifications/inbox/unread-count'))
  await assertSuccess(user.POST('/api/v1/notifications/inbox-tokens', {}))
  await assertSuccess(user.PUT('/api/v1/notifications/inbox/{id}/read', { params }))
  await assertSuccess(user.PUT('/api/v1/notifications/inbox/{id}/unread', { params }))
  await assertSuccess(user.PUT('/api/v1/notifications/inbox/read-batch', { body: { ids } }))
  await assertSuccess(user.PUT('/api/v1/notifications/inbox/unread-batch', { body: { ids } }))
  await assertSuccess(user.PUT('/api/v1/notifications/inbox/read-all', { body: {} }))
  await assertSuccess(user.DELETE('/api/v1/notifications/inbox/{id}', { params }))
  await assertSuccess(user.DELETE('/api/v1/notifications/inbox', { body: { ids } }))
  await assertSuccess(user.GET('/api/v1/notifications/preferences'))
  await assertSuccess(user.PUT('/api/v1/notifications/preferences', { body: { emailEnabled: false } }))
  const cell = { path: { channel: 'mail', category: 'forum' } }
  await assertSuccess(user.GET('/api/v1/notifications/preferences/cells'))
  await assertSuccess(
    user.PUT('/api/v1/notifications/preferences/cells/{channel}/{category}', {
      params: cell,
      body: { enabled: false },
    }),
  )
  await assertSuccess(admin.GET('/api/v1/admin/notifications/preference-defaults'))
  await assertSuccess(
    admin.PUT('/api/v1/admin/notifications/preference-defaults/{channel}/{category}', {
      params: cell,
      body: { enabled: true, locked: false },
    }),
  )
  const suppressed = await assertSuccess(
    admin.POST('/api/v1/admin/suppressions', { body: { address: 'nobody@example.com' } }),
  )
  const entry = { path: { id: suppressed.id } }
  await assertSuccess(admin.GET('/api/v1/admin/suppressions'))
  await assertSuccess(admin.GET('/api/v1/admin/suppressions/{id}', { params: entry }))
  await assertSuccess(
    admin.POST('/api/v1/admin/suppressions/import', { body: { rows: [{ address: 'n@example.com' }], mode: 'check' } }),
  )
  await assertSuccess(admin.DELETE('/api/v1/admin/suppressions/{id}', { params: entry }))

  const log = { path: { id: idOf('SendLog') } }
  await assertSuccess(admin.GET('/api/v1/notification-send-logs'))
  await assertSuccess(admin.GET('/api/v1/notification-send-logs/summary'))
  await assertSuccess(admin.GET('/api/v1/admin/notification/send-figures'))
  await assertSuccess(admin.GET('/api/v1/notification-send-logs/{id}', { params: log }))
}

/** Calls the operations on digests. */
export async function callDigests({ admin }: Scene): Promise<void> {
  const path = '/api/v1/admin/digests/definitions'
  const body = { code: 'orders', content: '{{count}} orders' }
  const { id } = await assertSuccess(admin.POST(path, { body }))
  const params = { path: { id } }
  await assertSuccess(admin.GET(path))
  await assertSuccess(admin.GET(`${path}/{id}`, { params }))
  await assertSuccess(admin.PUT(`${path}/{id}`, { params, body: { itemsShown: 5 } }))
  await assertSuccess(admin.POST(`${path}/{id}/preview`, { params, body: { itemCount: 16 } }))
  await assertSuccess(admin.POST(`${path}/{id}/disable`, { params, body: {} }))
  await assertSuccess(admin.POST(`${path}/{id}/enable`, { params, body: {} }))
  await assertSuccess(admin.DELETE(`${path}/{id}`, { params }))
  await assertSuccess(admin.GET('/api/v1/admin/digests/messages'))
}
