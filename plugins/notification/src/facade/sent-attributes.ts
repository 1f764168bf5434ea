import { fitTextToColumn, type LocalizedText } from '@plinth/kernel'
import type { ChannelInfo } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { secretAttributeName } from '../masking.ts'

/** Types of messages (document 2 of the specification, "Attributes of the `social` channel"). */
export const socialMessageTypes: readonly { readonly code: string; readonly displayName: LocalizedText }[] = [
  { code: 'official-template', displayName: { en: 'Official-account template message', 'zh-CN': '公众号模板消息' } },
  {
    code: 'official-kefu-text',
    displayName: { en: 'Official-account customer-service text message', 'zh-CN': '公众号客服文本消息' },
  },
  { code: 'miniapp-subscribe', displayName: { en: 'Mini-program subscribe message', 'zh-CN': '小程序订阅消息' } },
]

interface SocialField {
  readonly name: string
  readonly displayName: LocalizedText
  readonly required: boolean
  /** Message types that require the attribute. With `required`, all types require it. */
  readonly requiredFor: readonly string[]
  /** True if lists and logs must not show the value, and forms must not store it. */
  readonly sensitive: boolean
  readonly messageTypes: readonly string[]
}

const every = socialMessageTypes.map(({ code }) => code)
const field = (name: string, en: string, zh: string, more: Partial<SocialField> = {}): SocialField => ({
  name: `social.${name}`,
  displayName: { en, 'zh-CN': zh },
  required: false,
  requiredFor: [],
  sensitive: false,
  messageTypes: every,
  ...more,
})

export const socialFields: readonly SocialField[] = [
  field('account-code', 'Account code', '账号编码', { required: true }),
  field('message-type', 'Message type', '消息类型', { required: true }),
  field('to-user', 'Open ID of the recipient', '接收者 Open ID', { sensitive: true }),
  field('template-id', 'Template ID', '模板 ID', {
    requiredFor: ['official-template', 'miniapp-subscribe'],
    messageTypes: ['official-template', 'miniapp-subscribe'],
  }),
  field('url', 'Jump URL', '跳转链接', { messageTypes: ['official-template'] }),
  field('client-message-id', 'Client message ID', '客户端消息 ID'),
  field('kf-account', 'Customer-service account', '客服账号', { messageTypes: ['official-kefu-text'] }),
  field('page', 'Jump page', '跳转页面', { messageTypes: ['miniapp-subscribe'] }),
  field('miniprogram-state', 'Mini-program state', '小程序状态', { messageTypes: ['miniapp-subscribe'] }),
  field('lang', 'Language', '语言', { messageTypes: ['miniapp-subscribe'] }),
]

/** Names of attributes with the subject and the jump target of a message, for the inbox. */
const jump = [
  'module',
  'event',
  'eventType',
  'sourceType',
  'sourceId',
  'targetType',
  'targetId',
  'targetRoute',
  'targetUserId',
  'dedupeKey',
]
/**
 * Attributes of channels. Attributes for endpoints, secrets and payloads are missing, because these must come from the
 * configuration.
 */
const ofChannels = [
  'webhook.provider',
  'webhook.message-type',
  'sms.template-code',
  'sms.sign-name',
  'sms.provider',
  'push.collapse-key',
  'push.ttl',
  'push.urgency',
]

/**
 * Attributes that administrators may set for any channel. `social.to-user` is the only sensitive one. It is never
 * stored.
 */
const always: readonly string[] = [
  ...jump,
  ...[...ofChannels, ...socialFields.map(({ name }) => name)].filter(
    (name) => name === 'social.to-user' || !secretAttributeName.test(name),
  ),
]

/** Returns the attributes that administrators may set. Sensitive attributes of providers are left out. */
export const sentAttributes = (channels: readonly ChannelInfo[]): ReadonlySet<string> => {
  const own = channels.flatMap(({ providers }) => providers.flatMap(({ attributes }) => attributes))
  const settable = own.filter(({ name, sensitive }) => !sensitive && !secretAttributeName.test(name))
  return new Set([...always, ...settable.map(({ name }) => name)])
}

/** @throws BusinessError "400" `notification.attribute-refused` with `data.attribute` */
export function requireSentAttributes(
  attributes: Readonly<Record<string, unknown>>,
  channels: () => readonly ChannelInfo[],
): void {
  const names = Object.keys(attributes)
  if (names.every((name) => always.includes(name))) return
  const allowed = sentAttributes(channels())
  const other = names.find((name) => !allowed.has(name))
  if (other === undefined) return
  const attribute = fitTextToColumn(other, 128)
  throw businessError('attribute-refused', { params: { attribute }, data: { attribute, field: 'attributes' } })
}
