import type { Events } from '@plinth/events'
import { categories, categoryOf, notificationCreated, notificationRead } from '@plinth/inbox'
import type { FanOut } from './fan-out.ts'

/** Turns what happens to inboxes into events of clients (N-171), on all instances. */
export function followInboxes(events: Events, fanOut: FanOut, enabled: () => boolean): void {
  events.on(notificationCreated, 'notification-channels.websocket.created', async ({ payload }) => {
    if (!enabled()) return
    const { content, userIds, itemIds } = payload
    const categories = [categoryOf(content.module)]
    const event = 'notification.created'
    await fanOut.sendQuietly({ event, targets: { userIds }, categories, content, itemIds })
  })
  events.on(notificationRead, 'notification-channels.websocket.read', async ({ payload }) => {
    if (!enabled()) return
    const { userId, readAt, all, items } = payload
    await fanOut.sendQuietly({
      event: 'notification.read',
      targets: { userIds: [userId] },
      // That all was read is said to whoever wants anything.
      categories: all ? categories : [...new Set(items.map(({ module }) => categoryOf(module)))],
      data: all ? [{ all: true, readAt }] : items,
    })
  })
}
