import { Type } from '@plinth/http'
import { omitUndefined } from '@plinth/kernel'
import { permission, readOnlyResource } from '@plinth/resource'
import { Outbound } from './entities.ts'

export const outboundMessages = readOnlyResource(Outbound, {
  area: 'social',
  path: '/api/v1/admin/social/messages',
  list: {
    access: permission('social:message:view', 'View WeChat messages', '查看微信消息记录'),
    scope: 'all',
    summary: 'List messages sent to WeChat with their outcome, newest first',
    range: 'createdAt',
    query: { accountCode: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })) },
    where: omitUndefined,
    filters: ['outcome'],
  },
})
