import type { Recipient } from '@plinth/kernel'
import { refusal } from '../failures.ts'
import type { ChannelEntry } from './channel-entries.ts'

/** What somebody has to name for a test message: a member of its request, or nothing. */
export const testFields = ['nothing', 'email', 'mobile', 'userId', 'openId', 'receiver'] as const
type TestField = (typeof testFields)[number]

/** Whom a test message is for. */
export interface TestRecipient {
  readonly email?: string | undefined
  readonly mobile?: string | undefined
  readonly userId?: number | undefined
  /** At the account `accountCode`. */
  readonly openId?: string | undefined
  readonly accountCode?: string | undefined
  /** Value of the attribute without which a service reaches nobody. */
  readonly receiver?: string | undefined
}

/** The channel of WeChat takes its recipient as an attribute (document 2, "Attributes of the `social` channel"). */
const social = 'social'

export function testFieldOf({ channelCode, channel, provider }: ChannelEntry): TestField {
  if (channelCode === social) return 'openId'
  if (provider?.receiver !== undefined) return 'receiver'
  const { recipientKinds: kinds } = channel
  if (kinds.includes('email')) return 'email'
  if (kinds.includes('mobile')) return 'mobile'
  return kinds.includes('user') || kinds.includes('websocket-user') ? 'userId' : 'nothing'
}

/** Recipients and attributes of a test message. @throws BusinessError `400` `notification.test-recipient-missing` */
export function testTargetOf(entry: ChannelEntry, asked: TestRecipient) {
  const { channelCode, channel, provider } = entry
  const needed = <T>(field: keyof TestRecipient, value: T | undefined): T => {
    if (value !== undefined && value !== '') return value
    throw refusal('test-recipient-missing', { data: { field } })
  }
  const attributes: Record<string, string> =
    provider === undefined ? {} : { [`${channelCode}.provider`]: provider.code }
  const to = (recipient?: Recipient) => ({ recipients: recipient === undefined ? [] : [recipient], attributes })
  switch (testFieldOf(entry)) {
    case 'email':
      return to({ kind: 'email', address: needed('email', asked.email) })
    case 'mobile':
      return to({ kind: 'mobile', number: needed('mobile', asked.mobile) })
    case 'userId': {
      const userId = needed('userId', asked.userId)
      return to({ kind: channel.recipientKinds.includes('user') ? 'user' : 'websocket-user', userId })
    }
    case 'openId':
      attributes['social.account-code'] = needed('accountCode', asked.accountCode)
      attributes['social.message-type'] = 'official-kefu-text'
      return to({ kind: 'social-openid', openId: needed('openId', asked.openId) })
    case 'receiver':
      attributes[provider?.receiver ?? ''] = needed('receiver', asked.receiver)
      return to()
    case 'nothing':
      return to()
  }
}
