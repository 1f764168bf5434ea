import { id, Type } from '@plinth/http'
import { omitUndefined } from '@plinth/kernel'
import { pluginWith } from '@plinth/resource'
import { businessError, viewReceipts } from './declarations.ts'
import { StoredReceipt } from './entities.ts'

/** The list of receipts. It concerns all users, so it needs the data scope `all`. */
export const receipts = pluginWith().resource(StoredReceipt, {
  area: 'delivery-receipts',
  path: '/api/v1/admin/delivery-receipts/receipts',
  notFound: 'receipt-unknown',
  errors: businessError,
  list: {
    access: viewReceipts,
    scope: 'all',
    summary: 'List delivery receipts, newest first',
    filters: ['source', 'status', 'state'],
    range: 'createdAt',
    query: { sendLogId: Type.Optional(id) },
    where: ({ sendLogId }) => omitUndefined<{ sendLogId?: number }>({ sendLogId }),
  },
  get: { access: viewReceipts, scope: 'all' },
  page: { group: 'messages', order: 25 },
})
