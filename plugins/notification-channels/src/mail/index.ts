import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { moduleOf, notificationCategories, notificationPreferences, preferenceLinks } from '@plinth/inbox'
import {
  type DeliveryOutcome,
  definePlugin,
  errorReason,
  key,
  type NotificationChannel,
  type NotificationMessage,
  notificationChannel,
  omitUndefined,
  optional,
  type Recipient,
  redact,
  secretsOf,
} from '@plinth/kernel'
import { type MailAttachment, type MailDelivery, mail } from '@plinth/mail'
import { site } from '@plinth/site'
import { suppressions } from '@plinth/suppression'
import { configCentre, declarePluginKey, PluginEncryptionKey } from '@plinth/system-config'
import { addressesOf, DriverChoice, driverKeyNames, driverKeys, usersWith } from '../driver-choice.ts'
import { lineControls } from '../message-text.ts'
import { UnsubscribeLinks, unsubscribeLimit, unsubscribeRoutes } from './unsubscribe.ts'

const keyName = 'platform.notification.channels.mail.unsubscribe-key'
const channelKeys = driverKeyNames('platform.notification.channels.mail')
const ownKeyName = 'platform.notification.channels.mail.unsubscribe-secret'

/** Sends mails, one recipient at a time. */
export default definePlugin({
  id: 'notification-channels.mail',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: {
    mail,
    accounts: optional(accounts),
    http: optional(http),
    site: optional(site),
    preferences: optional(notificationPreferences),
    categories: optional(notificationCategories),
    preferenceLinks: optional(preferenceLinks),
    suppressions: optional(suppressions),
    configCentre: optional(configCentre),
  },
  contributes: [notificationChannel],
  config: {
    'platform.notification.channels.mail.enabled': key.boolean({
      title: { en: 'Channel "mail"', 'zh-CN': '渠道 mail' },
      description: {
        en: 'Sends e-mails. The channel is only enabled if the driver in platform.mail.driver is completely configured.',
        'zh-CN': '发送邮件；仅当 platform.mail.driver 指定的驱动配置完整时才启用。',
      },
      default: true,
      reload: 'live',
    }),
    'platform.notification.channels.mail.strategy': driverKeys.strategy,
    'platform.notification.channels.mail.drivers-order': driverKeys.order,
    'platform.notification.channels.mail.driver-rest': driverKeys.rest,
    [keyName]: key.string({
      title: { en: 'Signing key of unsubscribe links', 'zh-CN': '退订链接签名密钥' },
      description: {
        en: 'At least 32 random characters. You can enter several keys, separated by commas: the first key signs, all keys verify. Empty: the product creates a key if the plugin system-config is loaded. E-mails only contain the link if platform.site.url is an https URL.',
        'zh-CN':
          '至少 32 个随机字符。可用逗号分隔多个：第一个用于签名，全部可用于验证。留空时，若产品含 system-config 插件则自动生成。platform.site.url 不是 https 时，邮件不含退订链接。',
      },
      default: '',
      pattern: '^(?:[^,\\s]{32,}(?:,[^,\\s]{32,})*)?$',
      rule: {
        en: 'be empty or keys of at least 32 characters without spaces, separated by commas',
        'zh-CN': '为空，或是以逗号分隔的密钥：每个至少 32 个字符，不含空白',
      },
      sensitive: true,
      scope: 'process',
    }),
    [ownKeyName]: declarePluginKey({
      title: { en: 'Generated signing key of unsubscribe links', 'zh-CN': '自动生成的退订链接签名密钥' },
      description: {
        en: 'Created automatically with the first unsubscribe link and stored encrypted. Do not set it manually.',
        'zh-CN': '首次生成退订链接时自动创建并加密存储，无需人工设置。',
      },
    }),
  },
  setup({ plugin: { id: plugin }, services, config, clock, log, contribute }) {
    const { mail, accounts, http, site, preferences, categories, preferenceLinks, suppressions } = services
    const own =
      services.configCentre &&
      new PluginEncryptionKey({
        plugin,
        name: ownKeyName,
        centre: services.configCentre,
        stored: () => config.get(ownKeyName),
      })
    const configured = () => config.get(keyName).split(',').filter(Boolean)
    const links = new UnsubscribeLinks({ configured, own, siteUrl: () => site?.url ?? '' })
    if (http !== undefined && preferences !== undefined && categories !== undefined) {
      const parts = { links, preferences, categories, suppressions, log }
      http.register(unsubscribeRoutes(parts), 'public', [unsubscribeLimit])
    }

    const choice = new DriverChoice({
      clock,
      strategy: () => config.get('platform.notification.channels.mail.strategy'),
      order: () => config.get('platform.notification.channels.mail.drivers-order'),
      restMs: () => config.get('platform.notification.channels.mail.driver-rest'),
      ready: () => mail.drivers,
      // `mail.deferred` is a problem of the recipient, such as a full mailbox, so it does not count against the driver.
      isFaulty: ({ outcome, errorCode }) =>
        outcome === 'deferred' && errorCode !== 'mail.deferred' && !errorCode?.startsWith('mail.attachment-'),
    })

    /** Returns the first recipient with an address. A user must have an enabled account. */
    const targetOf = async ({ recipients }: NotificationMessage): Promise<Target | undefined> => {
      for (const recipient of recipients) {
        if (recipient.kind === 'email') return { address: recipient.address }
        if (recipient.kind !== 'user') continue
        const account = await accounts?.find(recipient.userId)
        if (account?.enabled === true && account.email !== null) return { address: account.email, userId: account.id }
      }
      return undefined
    }
    /**
     * Returns the links of a mail that the recipient can switch off: one that ends the mails of its category, and for a user
     * one to all preferences. Without an account, the plugin `suppression` stores that an address gets no more mails.
     */
    const linksFor = async ({ userId, address }: Target, message: NotificationMessage) => {
      const { attributes, secretVariables = [], id: messageId } = message
      const { code: category, isRequired } = categories?.of(moduleOf(attributes)) ?? { code: '', isRequired: true }
      if (isRequired || secretVariables.length > 0) return {}
      try {
        if (await categories?.isFixed('mail', category)) return {}
        const addressKey = userId === undefined ? await suppressions?.keyOf('mail', address) : undefined
        const subscriber = userId !== undefined ? { userId } : addressKey !== undefined ? { addressKey } : undefined
        if (subscriber === undefined) return {}
        return {
          unsubscribeUrl: await links.linkFor({ subscriber, category }),
          preferencesUrl: userId === undefined ? undefined : await preferenceLinks?.urlFor(userId),
        }
      } catch (error) {
        // The mail is sent without the links. An operator must fix the key.
        log.error({ reason: errorReason(error), messageId }, 'a mail has no unsubscribe link')
        return {}
      }
    }

    const channel: NotificationChannel = {
      displayName: { en: 'E-mail', 'zh-CN': '邮件' },
      recipientKinds: accounts === undefined ? ['email'] : ['email', 'user'],
      traits: { idempotent: false, recipients: 'each' },
      enabled: () => config.get('platform.notification.channels.mail.enabled') && (mail.isReady || choice.isReady),
      async send(message, { signal, idempotencyKey }) {
        const target = await targetOf(message)
        if (target === undefined) {
          return {
            outcome: 'rejected',
            errorCode: 'mail.address-missing',
            errorMessage: 'The recipient has no mail address',
          }
        }
        const { subject, content: text, html, locale, attributes, files = [] } = message
        const letter = {
          to: [target.address],
          subject: subject.replace(lineControls, ' '),
          text,
          html,
          locale: tagOf(locale),
          ...(await linksFor(target, message)),
          attachments: [...files, ...storedFiles(attributes['attachments'])],
        }
        return choice.run(signal, async (requested) => {
          const { driver, messageId, deliveries } = await mail.send(letter, {
            idempotencyKey,
            driver: requested,
            signal,
          })
          return outcomeOf(deliveries[0], { provider: driver, messageId, secrets: secretsOf(message) })
        })
      },
      addresses(recipients) {
        const ofRecipient = (one: Recipient) => (one.kind === 'email' ? one.address : undefined)
        return addressesOf(accounts, recipients, ofRecipient, ({ email }) => email)
      },
      reachable: (userIds) => usersWith(accounts, userIds, ({ email }) => email),
      verify: (signal) => choice.verify((driver) => mail.verify(signal, driver)),
      condition: () => choice.condition(channelKeys, mail.needs()),
    }
    contribute(notificationChannel, 'mail', channel)
  },
})

interface Target {
  readonly address: string
  /** Absent if the address belongs to no account. */
  readonly userId?: number
}

/**
 * Returns the attachments that are files of the product. Others are only links, for the inbox, and a mail never fetches
 * them. The mail service checks the members.
 */
const storedFiles = (attachments: unknown) =>
  (Array.isArray(attachments) ? attachments : []).filter((one): one is MailAttachment => Object(one).disk !== undefined)

/** An invalid tag is left out, so that the mail can still be sent. */
const tagOf = (locale: string | undefined) => (/^[A-Za-z0-9-]{2,35}$/.test(locale ?? '') ? locale : undefined)

function outcomeOf(
  delivery: MailDelivery | undefined,
  { provider, messageId, secrets }: { provider: string; messageId: string; secrets: readonly string[] },
): DeliveryOutcome {
  if (delivery === undefined) {
    return {
      outcome: 'unknown',
      errorCode: 'mail.no-answer',
      errorMessage: 'The mail service did not respond',
      provider,
    }
  }
  const { outcome, errorCode = 'mail.failed', errorMessage = 'The mail was not sent', replyCode, reply } = delivery
  if (outcome === 'accepted') return { outcome, messageId, provider }
  return omitUndefined({
    outcome,
    errorCode,
    errorMessage,
    provider,
    providerCode: replyCode,
    // The server may repeat the text of the request.
    providerMessage: reply === undefined ? undefined : redact(reply, secrets),
  })
}
