import { line, Type } from '@plinth/http'
import type { NotificationCategories } from '@plinth/inbox'
import { pluginWith } from '@plinth/resource'
import type { Sms } from '@plinth/sms'
import { maskAddress, normalizeAddress } from './addresses.ts'
import { businessError, manageEntries, viewEntries } from './declarations.ts'
import { SoftBounces, SuppressedAddress } from './entities.ts'
import { allCategories, reasons } from './policy.ts'
import type { SuppressionList } from './suppression-list.ts'

interface EntryServices {
  readonly list: Pick<SuppressionList, 'keyOf' | 'isListed'>
  readonly sms: Pick<Sms, 'numberOf'> | undefined
  /** Undefined without inboxes. Then every category is accepted. */
  readonly categories: Pick<NotificationCategories, 'all'> | undefined
}

const address = (channel: string, text: string, { sms }: EntryServices) =>
  normalizeAddress(channel, text, (number) => sms?.numberOf(number))

/**
 * The list for operators. Rows of users are in the data scope of their user. Only operators with the data scope `all` see
 * and add addresses without an account, because one mailbox may belong to users of several organisations.
 */
export const entries = pluginWith<EntryServices>().resource(SuppressedAddress, {
  area: 'suppression',
  path: '/api/v1/admin/suppressions',
  notFound: 'entry-unknown',
  errors: businessError,
  list: {
    access: viewEntries,
    filters: ['address', 'channel', 'category', 'reason'],
    range: 'since',
    query: {
      address: Type.Optional(
        line(254, { description: 'The full address. Parts of it are not found, because only hashes are stored.' }),
      ),
    },
    async where({ address: text }, parts) {
      if (text === undefined) return {}
      const channels = ['mail', 'sms'] as const
      const keys = channels.map((channel) => parts.list.keyOf(channel, address(channel, text, parts) ?? text))
      return { address: undefined, addressKey: { $in: await Promise.all(keys) } }
    },
  },
  get: { access: viewEntries },
  create: {
    access: manageEntries,
    scope: 'all',
    import: true,
    throws: [
      'suppression.address-invalid',
      'suppression.category-unexpected',
      'suppression.category-unknown',
      'suppression.end-passed',
    ],
    async prepare({ input, now, parts }) {
      const { channel = 'mail', category = allCategories, reason = 'manual', endsAt } = input
      const normalized = address(channel, input.address, parts)
      if (normalized === undefined)
        throw businessError('address-invalid', { params: { address: input.address }, data: { field: 'address' } })
      if (category !== allCategories) {
        if (!reasons[reason].hasCategory) throw businessError('category-unexpected', { data: { field: 'category' } })
        const known = parts.categories?.all().map(({ code }) => code)
        if (known?.includes(category) === false) {
          const params = { category, known: known.join(', ') }
          throw businessError('category-unknown', { params, data: { field: 'category' } })
        }
      }
      if (endsAt != null && Date.parse(endsAt) <= now.getTime())
        throw businessError('end-passed', { data: { field: 'endsAt' } })
      const addressKey = await parts.list.keyOf(channel, normalized)
      if (await parts.list.isListed({ addressKey, channel, category }))
        throw businessError('listed', { data: { field: 'address' } })
      return { address: maskAddress(normalized), addressKey, since: now }
    },
  },
  remove: {
    access: manageEntries,
    title: ['Release', '解除'],
    confirm: [
      'Messages are sent to {{address}} again. Your mail or SMS provider may have a list of its own and still block the address: release it there too.',
      '将恢复向 {{address}} 发送消息。邮件或短信服务商可能另有自己的名单并继续拦截该地址，请同时在服务商处解除。',
    ],
    inTransaction: ({ em, row: { addressKey } }) => em.nativeDelete(SoftBounces.entity, { addressKey }),
  },
  page: { group: 'messages', order: 27 },
})
