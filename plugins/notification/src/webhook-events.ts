import { webhookEventType } from '@plinth/events'
import { Type, text } from '@plinth/http'
import { bilingual } from '@plinth/kernel'
import { permissionCodes } from './declarations.ts'
import { sendFailed, sendSucceeded } from './send-log/end-events.ts'

const send = {
  sendLogId: Type.Integer(),
  notificationId: Type.Optional(Type.Integer()),
  channel: text,
  attempt: Type.Integer(),
}
const permission = permissionCodes.sendLogView
type Ended = { readonly userId?: number; readonly orgId?: number }
const ownerOf = ({ userId, orgId }: Ended) => ({ userId, orgId })

/** Results of sends that other programs can receive. The data contains no recipients and no texts. */
export const webhookEvents = {
  'message.sent': webhookEventType({
    event: sendSucceeded,
    title: bilingual('Message sent', '消息已发送'),
    permission,
    schema: Type.Object(send),
    dataOf: ({ userId: _, orgId: __, errorCode: ___, ...rest }) => rest,
    ownerOf,
  }),
  'message.failed': webhookEventType({
    event: sendFailed,
    title: bilingual('Message failed', '消息发送失败'),
    permission,
    schema: Type.Object({ ...send, errorCode: Type.Optional(text) }),
    dataOf: ({ userId: _, orgId: __, ...rest }) => rest,
    ownerOf,
  }),
}
