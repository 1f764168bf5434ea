import {
  definePlugin,
  key,
  type NotificationChannel,
  type NotificationMessage,
  notificationChannel,
  omitUndefined,
} from '@plinth/kernel'
import { type SocialMessage, type SocialMessageType, social } from '@plinth/social'
import { variableTexts } from './message-text.ts'

/** Sends messages of WeChat official accounts and mini programs. */
export default definePlugin({
  id: 'notification-channels.social',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { social },
  contributes: [notificationChannel],
  config: {
    'platform.notification.channels.social.enabled': key.boolean({
      title: { en: 'Channel "social"', 'zh-CN': '渠道 social' },
      description: { en: 'Sends messages through WeChat accounts.', 'zh-CN': '通过微信账号发送消息。' },
      default: false,
      reload: 'live',
    }),
  },
  setup({ services: { social }, config, contribute }) {
    const channel: NotificationChannel = {
      displayName: { en: 'WeChat', 'zh-CN': '微信' },
      // The list is empty, because the recipient is in an attribute, or is the first recipient who follows the account.
      recipientKinds: [],
      traits: { idempotent: false },
      enabled: () => config.get('platform.notification.channels.social.enabled'),
      async send(message, { signal }) {
        const missing = (['account-code', 'message-type'] as const).find(
          (name) => attributeOf(message, name) === undefined,
        )
        if (missing !== undefined) {
          const errorMessage = `The attribute social.${missing} is needed`
          return { outcome: 'rejected', errorCode: `social.${missing}-missing`, errorMessage }
        }
        return social.send(socialMessage(message), signal)
      },
      verify: (signal) => social.verify(signal),
      condition: () => {
        const { keys, missingKeys } = social.needs()
        return { keys: [...keys, 'platform.notification.channels.social.enabled'], missingKeys }
      },
    }
    contribute(notificationChannel, 'social', channel)
  },
})

/** Returns an attribute of the message (document 2 of the specification, "Attributes of the `social` channel"). */
function attributeOf({ attributes }: NotificationMessage, name: string): string | undefined {
  const value = attributes[`social.${name}`]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function socialMessage(message: NotificationMessage): SocialMessage {
  const attribute = (name: string) => attributeOf(message, name)
  const follower = message.recipients.find((recipient) => recipient.kind === 'social-openid')
  const optional = {
    templateId: attribute('template-id') ?? message.template,
    url: attribute('url'),
    kfAccount: attribute('kf-account'),
    page: attribute('page'),
    miniprogramState: attribute('miniprogram-state'),
    lang: attribute('lang') ?? message.locale,
  }
  return {
    accountCode: attribute('account-code') ?? '',
    // Not checked here, because the service `social` rejects unknown types and lists the valid ones.
    messageType: attribute('message-type') as SocialMessageType,
    toUser: attribute('to-user') ?? follower?.openId ?? '',
    content: message.content === '' ? message.subject : message.content,
    data: variableTexts(message.variables),
    clientMessageId: attribute('client-message-id') ?? message.id,
    ...omitUndefined<Partial<SocialMessage>>(optional),
  }
}
