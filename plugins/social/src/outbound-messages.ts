import {
  id,
  instant,
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  newestFirst,
  nullable,
  rangeQuery,
  routesWith,
  Type,
  text,
} from '@plinth/http'
import { type OutboundRow, outboundOutcomes } from './entities.ts'
import type { OutboundLog } from './outbound-log.ts'

export const viewMessages = 'social:message:view'

const textOrNull = nullable(text)
const outcome = Type.Enum(outboundOutcomes)

const outboundView = Type.Object({
  id,
  accountCode: text,
  messageType: text,
  toUser: Type.String({ description: 'Last four characters of the open ID.' }),
  templateId: textOrNull,
  clientMessageId: text,
  outcome,
  providerMessageId: textOrNull,
  providerCode: textOrNull,
  providerMessage: textOrNull,
  createdAt: instant,
})

const viewOf = (row: OutboundRow) => ({
  id: row.id,
  accountCode: row.accountCode,
  messageType: row.messageType,
  toUser: row.toUser,
  templateId: row.templateId ?? null,
  clientMessageId: row.clientMessageId,
  outcome: row.outcome,
  providerMessageId: row.providerMessageId ?? null,
  providerCode: row.providerCode ?? null,
  providerMessage: row.providerMessage ?? null,
  createdAt: row.createdAt.toISOString(),
})

const range = rangeQuery('createdAt', 'id')

const { route } = routesWith<{ readonly outbound: OutboundLog }>()

export const outboundRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/admin/social/messages',
    summary: 'List messages sent to WeChat with their outcome, newest first',
    access: { permission: viewMessages, scope: 'all' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...range.properties,
        accountCode: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
        outcome: Type.Optional(outcome),
      }),
    },
    response: listPage(outboundView),
    reasons: [],
    handler: ({ query }, { outbound }) =>
      listResponse(
        query,
        newestFirst,
        async (window) => mapListRows(await outbound.list(query, window), viewOf),
        range,
      ),
  }),
]
