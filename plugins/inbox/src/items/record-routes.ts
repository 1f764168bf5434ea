import {
  id,
  instant,
  line,
  listPage,
  listQuery,
  listResponse,
  newestFirst,
  nullable,
  routesWith,
  Type,
  text,
} from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import { attachmentView } from '../contract.ts'
import { businessError, permissionCodes } from '../declarations.ts'
import type { ContentReader } from './content-reader.ts'
import type { InboxReader } from './inbox-reader.ts'

interface RecordRouteDependencies {
  readonly reader: InboxReader
  readonly contents: ContentReader
}

const messageId = Type.Optional(line(200, { minLength: 1, description: 'Id of the message that its sender received.' }))
const subject = Type.String({
  description: 'Subject in the language of the request. Empty if the message was deleted.',
})
const query = Type.Object({ ...listQuery.properties, messageId })

/** Sort order of the index, so that the database need not sort. */
const byUser = [{ property: 'userId', direction: 'asc' }] as const

const { route } = routesWith<RecordRouteDependencies>()

/** Routes for operators (document 2 of the specification, "Endpoints"). */
export const recordRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/notification-message-attachments',
    compress: false,
    legacyPath: true,
    summary: 'List attachments of messages',
    description:
      'The URL is computed from the current configuration of the disk, and file contents are not stored. Callers without the ' +
      'scope `all` must specify a message that has a recipient in their data scope.',
    access: { permission: permissionCodes.attachmentView, scope: 'caller' },
    request: { query },
    response: listPage(Type.Object({ id, ...attachmentView.properties })),
    reasons: ['notification-inbox.message-needed'],
    async handler(request, { reader, contents }) {
      const principal = requirePrincipal(request)
      const { messageId } = request.query
      if (messageId === undefined && principal.dataScope !== 'all') {
        throw businessError('message-needed', { data: { field: 'messageId' } })
      }
      const found = messageId === undefined ? undefined : await contents.idsOf(messageId)
      const isSeen = found === undefined || (await reader.isInScope(principal, found))
      const where = found === undefined ? {} : { contentId: { $in: isSeen ? [...found] : [0] } }
      return listResponse(request.query, newestFirst, (window) => contents.attachments(where, window))
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/notification-read-receipts',
    legacyPath: true,
    summary: 'List recipients of messages with the time of reading',
    description: 'Returns recipients in the data scope of the caller. `readAt` is null while the message is unread.',
    access: { permission: permissionCodes.receiptView, scope: 'caller' },
    request: { query },
    response: listPage(
      Type.Object({ id, messageId: text, displaySubject: subject, userId: id, readAt: nullable(instant) }),
    ),
    reasons: [],
    handler(request, { reader }) {
      const { messageId } = request.query
      return listResponse(request.query, messageId === undefined ? newestFirst : byUser, (window) =>
        reader.receipts(requirePrincipal(request), messageId, window, request.locale),
      )
    },
  }),
]
