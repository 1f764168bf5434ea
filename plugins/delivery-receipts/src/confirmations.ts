import { isOutgoingHttpError, type OutgoingHttp } from '@plinth/outgoing-http'
import { pluginWith } from '@plinth/resource'
import { businessError, confirmSubscriptions, viewReceipts } from './declarations.ts'
import { Confirmation } from './entities.ts'

const deadlineMs = 10_000
const maxResponseBytes = 16_384

/** Subscriptions whose confirmation a provider asks for. An operator confirms them by one call to the provider. */
export const confirmations = pluginWith<{ readonly http: Pick<OutgoingHttp, 'request'> }>().resource(Confirmation, {
  area: 'delivery-receipts',
  path: '/api/v1/admin/delivery-receipts/subscriptions',
  notFound: 'confirmation-unknown',
  errors: businessError,
  list: { access: viewReceipts, scope: 'all', filters: ['source', 'status'], range: 'createdAt' },
  get: { access: viewReceipts, scope: 'all' },
  actions: {
    confirm: {
      access: confirmSubscriptions,
      scope: 'all',
      title: ['Confirm', '确认'],
      confirm: [
        'The subscription {{subject}} is confirmed at the provider, which then sends receipts.',
        '将向服务商确认订阅 {{subject}}，之后服务商开始发送回执。',
      ],
      throws: ['delivery-receipts.confirmation-failed'],
      when: { status: ['waiting'] },
      async set({ row: { url }, parts: { http } }) {
        const request = { url, method: 'GET', deadlineMs, maxResponseBytes } as const
        const response = await http.request(request).catch((error: unknown) => {
          if (!isOutgoingHttpError(error)) throw error
          return undefined
        })
        if (response?.status !== 200) throw businessError('confirmation-failed')
        return { status: 'confirmed' as const }
      },
    },
  },
  page: { group: 'messages', order: 26 },
})
