import { columnText, type LocalizedText } from '@plinth/kernel'
import type { ChannelInfo } from '../contract.ts'
import { refusal } from '../failures.ts'
import { secretAttributeName } from '../masking.ts'

/** Kinds of messages of the channel `social` (document 2, "Attributes of the `social` channel"). */
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
  /** Message types that must have it, on top of `required`; it may then come from elsewhere, see the document. */
  readonly requiredFor: readonly string[]
  /** True: never shown in a list or log, and not kept by a form. */
  readonly sensitive: boolean
  /** Message types that it has an effect on. */
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

/** Attributes of a message for the channel `social`. */
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

/** Where a click leads and what it is about; the inbox stores them. */
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
/** What a page may choose of a channel. Endpoints, secrets and whole payloads come from configuration only. */
const ofChannels = ['webhook.provider', 'webhook.message-type', 'sms.template-code', 'sms.sign-name', 'sms.provider']

/**
 * Names of attributes that an administrator may give a message whatever channels are loaded. `social.to-user` is the one that is sensitive: no record keeps
 * it (decision D.59).
 */
const always: readonly string[] = [
  ...jump,
  ...[...ofChannels, ...socialFields.map(({ name }) => name)].filter(
    (name) => name === 'social.to-user' || !secretAttributeName.test(name),
  ),
]

/** Names of attributes that an administrator may give a message: also those of the providers that are not sensitive. */
export const sentAttributes = (channels: readonly ChannelInfo[]): ReadonlySet<string> => {
  const own = channels.flatMap(({ providers }) => providers.flatMap(({ attributes }) => attributes))
  const open = own.filter(({ name, sensitive }) => !sensitive && !secretAttributeName.test(name))
  return new Set([...always, ...open.map(({ name }) => name)])
}

/** Throws `BusinessError` `400` with reason `notification.attribute-refused` and the name in `data.attribute`. */
export function requireSentAttributes(
  attributes: Readonly<Record<string, unknown>>,
  channels: () => readonly ChannelInfo[],
): void {
  const names = Object.keys(attributes)
  if (names.every((name) => always.includes(name))) return
  const allowed = sentAttributes(channels())
  const other = names.find((name) => !allowed.has(name))
  if (other === undefined) return
  const attribute = columnText(other, 128)
  throw refusal('attribute-refused', { params: { attribute }, data: { attribute, field: 'attributes' } })
}
