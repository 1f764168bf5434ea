import type { DataOf } from '@plinth/client'
import type { Operation, OwnPageView } from '../../api/page-types.ts'

/** Ids of the operations of the page. */
export const operationIds = {
  metadata: 'getNotificationsSendMetadata',
  preview: 'postNotificationsTemplatePreview',
  audience: 'postAdminNotificationAudience',
  send: 'postNotificationsSend',
} as const

export type Channel = DataOf<typeof operationIds.metadata>['channels'][number]

/** The message on one channel. `templateLocale` is null if no template fits. */
export type Preview = DataOf<typeof operationIds.preview>
export type Variables = Preview['variables']

/** Numbers of users who get a message on one channel, and who do not. */
export type Audience = DataOf<typeof operationIds.audience>[number]

export type SendResult = DataOf<typeof operationIds.send>[number]

/** Returns an operation of the page. The page checks `allowed` before it calls one. */
export const operationOf = (page: OwnPageView, id: keyof typeof operationIds) =>
  page.operations[operationIds[id]] as Operation

/** Codes of the channels that the message uses. Without a choice it is the inbox, or else the default channel. */
export function channelCodes(chosen: unknown, channels: readonly Channel[]): readonly string[] {
  if (Array.isArray(chosen) && chosen.length > 0) return chosen.map(String)
  const standard = channels.find(({ code }) => code === 'database') ?? channels.find(({ isDefault }) => isDefault)
  return standard === undefined ? [] : [standard.code]
}
