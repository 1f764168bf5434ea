import { createHash } from 'node:crypto'
import { inbox } from '@plinth/inbox'
import {
  type DeliveryOutcome,
  definePlugin,
  isBusinessError,
  key,
  type NotificationMessage,
  notificationChannel,
  secretsOf,
} from '@plinth/kernel'
import { hasNoText, missingTextError } from './message-text.ts'

/**
 * Returns the id by which the inbox detects duplicates. A message to many users is sent in parts, whose idempotency
 * keys start with the message id. All parts of a group of readers use the same id, so that they share one stored
 * content. The id of a group begins with the id of the message, by which the inbox finds all of its contents. Messages that
 * replace each other have the same id.
 */
function messageIdOf({ id, readerGroup, replacement }: NotificationMessage, idempotencyKey: string): string {
  if (replacement !== undefined) return `replaced/${replacement.key}`
  const messageId = idempotencyKey.startsWith(`${id}/`) ? id : idempotencyKey
  if (readerGroup === undefined) return messageId
  const hash = createHash('sha256').update(`${messageId} ${readerGroup}`).digest('hex')
  return `${messageId.slice(0, maxMessageIdLength - readerHashLength - 1)}/${hash.slice(0, readerHashLength)}`
}

/** Longest id that the inbox accepts. */
const maxMessageIdLength = 200
const readerHashLength = 32

/** Adds messages to inboxes. A message that is added twice appears once. */
export default definePlugin({
  id: 'notification-channels.database',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { inbox },
  contributes: [notificationChannel],
  config: {
    'platform.notification.channels.database.enabled': key.boolean({
      title: { en: 'Channel "database"', 'zh-CN': '渠道 database' },
      description: { en: 'Adds messages to the inboxes of users.', 'zh-CN': '把消息放入用户的站内信。' },
      default: true,
      reload: 'live',
    }),
  },
  setup({ services, config, log, contribute }) {
    contribute(notificationChannel, 'database', {
      displayName: { en: 'Inbox', 'zh-CN': '站内信' },
      recipientKinds: ['user', 'all-users'],
      traits: { idempotent: true, texts: 'as-written' },
      enabled: () => config.get('platform.notification.channels.database.enabled'),
      async send(message, { signal, idempotencyKey, isWanted = false }): Promise<DeliveryOutcome> {
        if (signal.aborted)
          return { outcome: 'deferred', errorCode: 'aborted', errorMessage: 'Cancelled before sending' }
        const userIds = message.recipients.flatMap((recipient) => (recipient.kind === 'user' ? [recipient.userId] : []))
        const isForAll = message.recipients.some(({ kind }) => kind === 'all-users')
        if (userIds.length === 0 && !isForAll)
          return { outcome: 'rejected', errorCode: 'recipient-missing', errorMessage: 'The message is for no user' }
        const { subject, content, secretVariables = [], attributes, replacement } = message
        const open = Object.entries(message.variables).filter(([name]) => !secretVariables.includes(name))
        const messageId = messageIdOf(message, idempotencyKey)
        if (hasNoText(message)) return { outcome: 'rejected', ...missingTextError }
        try {
          const variables = Object.fromEntries(open)
          const stored = { messageId, subject, content, variables, attributes }
          if (isForAll) await services.inbox.addForAll(stored, { signal })
          else
            await services.inbox.add(
              { ...stored, userIds },
              { signal, isWanted, ...(replacement && { replacedAt: replacement.at }) },
            )
          return { outcome: 'accepted', messageId }
        } catch (error) {
          if (isBusinessError(error) && error.code === '400') {
            return { outcome: 'rejected', errorCode: error.reason ?? 'message-invalid', errorMessage: error.message }
          }
          // The outcome is `unknown`, because some recipients may already have the message. A retry is harmless,
          // because inboxes skip duplicates.
          const why = secretsOf(message).length === 0 ? { err: error } : {}
          log.warn({ ...why, messageId: message.id }, 'messages cannot be stored in inboxes')
          return {
            outcome: 'unknown',
            errorCode: 'inbox-unavailable',
            errorMessage: 'The inboxes could not be written',
          }
        }
      },
    })
  },
})
