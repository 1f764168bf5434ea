import { declaredDigests, digests } from '@plinth/digest'
import { type Delivery, events } from '@plinth/events'
import { definePlugin, optional } from '@plinth/kernel'
import { notification } from '@plinth/notification'
import { notificationRules } from '@plinth/notification-rules'
import { alertKinds } from './alerts.ts'
import { keys } from './config.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }
import { collectedEvents, type Notice, noticeKinds } from './notices.ts'

/**
 * Channel of notices (document 2 of the specification, "Events"). In a product without it, the default channel is used.
 */
const inboxChannel = 'database'

/** Digests of the notices that can be collected. An operator enables them. */
const collectedDigests = Object.fromEntries(
  collectedEvents.map(({ id }) => {
    const root = `messages.notification-linkage.digest.${id}`
    return [id, { subject: `${root}.subject`, content: `${root}.content`, channels: [inboxChannel] }]
  }),
)

/** Names of the handlers. They must not change, because stored events refer to them. */
const noticeHandler = 'notification-linkage.notice'
const alertHandler = 'notification-linkage.alert'

/**
 * Plugin that turns events of other plugins into notices to users and alerts by rules. Those plugins then need not
 * depend on notifications.
 */
export default definePlugin({
  id: 'notification-linkage',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { events, notification, rules: optional(notificationRules), digests: optional(digests) },
  contributes: [optional(declaredDigests.of(collectedDigests))],
  config: keys,
  configGroups: { forum: { en: 'Forum', 'zh-CN': '论坛' }, conversation: { en: 'Conversations', 'zh-CN': '会话' } },
  messages: { en, 'zh-CN': zhCN },
  setup({ services, config, log }) {
    const { events, notification, rules, digests } = services

    /** Returns false if the notice is sent alone. */
    const collect = async ({ id, type }: Delivery, { userId, variables, attributes, collected }: Notice) => {
      if (digests === undefined || collected === undefined) return false
      const { subjectKey, data } = collected
      const about = { data: { ...variables, ...data }, attributes: { ...attributes, event: type } }
      const item = { digest: type, userIds: [userId], subjectKey, ...about }
      return (await digests.add(id === 0 ? item : { ...item, itemKey: `event:${id}` })) !== 'off'
    }

    const tell = async ({ id, type }: Delivery, { userId, variables, attributes }: Notice) => {
      const root = `messages.notification-linkage.${type}`
      const draft = {
        subject: `${root}.subject`,
        content: `${root}.content`,
        variables,
        recipients: [{ kind: 'user' as const, userId }],
        attributes: { ...attributes, event: type },
      }
      const channels = notification.channels().some(({ code }) => code === inboxChannel) ? [inboxChannel] : []
      // The key prevents a second message when an event is delivered again.
      const once = id === 0 ? {} : { idempotencyKey: `notification-linkage:${id}` }
      await notification.enqueue(draft, { channels, ...once })
    }

    for (const { ref, switchedBy, noticeOf } of noticeKinds) {
      const handle = async (delivery: Delivery) => {
        if (switchedBy !== undefined && !config.get(switchedBy)) return
        const notice = noticeOf(delivery.payload)
        if (notice === undefined || notice.userId === notice.actorId) {
          log.debug({ type: delivery.type, event: delivery.id }, 'an event has no recipients')
          return
        }
        if (!(await collect(delivery, notice))) await tell(delivery, notice)
      }
      events.on(ref, noticeHandler, handle, { transaction: true })
    }
    if (rules === undefined) return
    for (const { ref, alertOf } of alertKinds) {
      const handle = async ({ payload, publishedAt }: Delivery) => {
        const alert = alertOf(payload)
        if (alert !== undefined) await rules.raise({ ...alert, occurredAt: publishedAt })
      }
      events.on(ref, alertHandler, handle, { transaction: true })
    }
  },
})
