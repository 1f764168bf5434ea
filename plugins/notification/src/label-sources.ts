import { createStaticLabelSource, type Label, type LabelSource, maxLabels } from '@plinth/admin'
import { type Database, findPage } from '@plinth/database'
import type { HttpRequest } from '@plinth/http'
import { callerRows } from '@plinth/iam'
import { localize } from '@plinth/kernel'
import { permissionCodes } from './declarations.ts'
import { NotificationRow, SendLogRow } from './entities.ts'
import type { ChannelNotification } from './facade/channel-notification.ts'
import { recipientOwner } from './recipients.ts'

const window = { orderBy: [{ property: 'id', direction: 'desc' }], size: maxLabels, offset: 0, count: 'none' } as const
const numbers = (ids: readonly string[]) => ids.map(Number).filter(Number.isSafeInteger)

/** Labels of channels. The id of a label is the code of the channel. */
export const channelLabels = (notification: Pick<ChannelNotification, 'channels'>): LabelSource =>
  createStaticLabelSource(
    (locale) =>
      notification.channels().map(({ code, displayName }) => ({ id: code, name: localize(displayName, locale) })),
    permissionCodes.sendLogView,
  )

const messageLabel = ({ id, subject, messageId }: Pick<NotificationRow, 'id' | 'subject' | 'messageId'>): Label => ({
  id,
  name: subject === '' ? messageId : subject,
})
const sendLabel = ({ id, channel, subject }: Pick<SendLogRow, 'id' | 'channel' | 'subject'>): Label => ({
  id,
  name: `${channel}: ${subject === '' ? id : subject}`,
})

/** Labels of messages and sends. A search only finds ids, because no index contains the texts. */
export function messageLabels(db: Database): Readonly<Record<string, LabelSource>> {
  return {
    'notification.message': {
      permission: permissionCodes.messageView,
      scope: 'caller',
      byIds: async (ids, request) =>
        (await db.fork().find(NotificationRow, among(numbers(ids), request))).map(messageLabel),
      search: async (text, request) =>
        (await findPage<NotificationRow>(db.fork(), NotificationRow, byId(text, request), window)).items.map(
          messageLabel,
        ),
    },
    'notification.send-log': {
      permission: permissionCodes.sendLogView,
      scope: 'caller',
      byIds: async (ids, request) => (await db.fork().find(SendLogRow, among(numbers(ids), request))).map(sendLabel),
      search: async (text, request) =>
        (await findPage<SendLogRow>(db.fork(), SendLogRow, byId(text, request), window)).items.map(sendLabel),
    },
  }
}

const among = (ids: readonly number[], request: HttpRequest) => ({
  $and: [{ id: { $in: [...ids] } }, callerRows(request, recipientOwner)],
})
const byId = (text: string, request: HttpRequest) =>
  /^\d{1,15}$/.test(text) ? among([Number(text)], request) : callerRows(request, recipientOwner)
