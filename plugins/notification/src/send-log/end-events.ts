import { event } from '@plinth/events'
import { Type } from '@plinth/http'

const endedSend = Type.Object({
  sendLogId: Type.Integer({ minimum: 1 }),
  notificationId: Type.Optional(Type.Integer({ minimum: 1 })),
  channel: Type.String(),
  attempt: Type.Integer({ minimum: 1 }),
  errorCode: Type.Optional(Type.String()),
  userId: Type.Optional(Type.Integer({ minimum: 1 })),
  orgId: Type.Optional(Type.Integer({ minimum: 1 })),
})
/** Event: a provider accepted a message. Published with the row of the send log if the product has a handler. */
export const sendSucceeded = event('notification.send-succeeded', endedSend)
/** Event: a message failed and is not sent again automatically. Published like `sendSucceeded`. */
export const sendFailed = event('notification.send-failed', endedSend)
