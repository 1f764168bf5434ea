import { accounts } from '@plinth/iam'
import {
  definePlugin,
  key,
  type NotificationChannel,
  type NotificationMessage,
  notificationChannel,
  omitUndefined,
  optional,
  type Recipient,
  sendReference,
} from '@plinth/kernel'
import { type SmsMessage, sms } from '@plinth/sms'
import { addressesOf, DriverChoice, driverKeyNames, driverKeys, usersWith } from './driver-choice.ts'
import { variableTexts } from './message-text.ts'

/** Sends text messages, one recipient at a time. */
export default definePlugin({
  id: 'notification-channels.sms',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { sms, accounts: optional(accounts) },
  contributes: [notificationChannel],
  config: {
    'platform.notification.channels.sms.enabled': key.boolean({
      title: { en: 'Channel "sms"', 'zh-CN': '渠道 sms' },
      description: {
        en: 'Sends text messages. The channel is only enabled if the driver in platform.sms.driver is completely configured.',
        'zh-CN': '发送短信；仅当 platform.sms.driver 指定的驱动配置完整时才启用。',
      },
      default: true,
      reload: 'live',
    }),
    'platform.notification.channels.sms.strategy': driverKeys.strategy,
    'platform.notification.channels.sms.drivers-order': driverKeys.order,
    'platform.notification.channels.sms.driver-rest': driverKeys.rest,
  },
  setup({ services, config, clock, contribute }) {
    const { sms, accounts } = services
    const choice = new DriverChoice({
      clock,
      strategy: () => config.get('platform.notification.channels.sms.strategy'),
      order: () => config.get('platform.notification.channels.sms.drivers-order'),
      restMs: () => config.get('platform.notification.channels.sms.driver-rest'),
      ready: () => sms.drivers,
      isFaulty: ({ outcome, errorCode }) => outcome === 'deferred' || configurationProblems.includes(errorCode),
      movesOn: ({ errorCode }) => companyCodes.includes(errorCode),
    })
    /** Returns the number of the first recipient that has one. A user must have an enabled account. */
    const numberOf = async ({ recipients }: NotificationMessage): Promise<string | undefined> => {
      for (const recipient of recipients) {
        if (recipient.kind === 'mobile') return recipient.number
        if (recipient.kind !== 'user') continue
        const account = await accounts?.find(recipient.userId)
        if (account?.enabled === true && account.mobile !== null) return account.mobile
      }
      return undefined
    }
    const channel: NotificationChannel = {
      displayName: { en: 'Text message', 'zh-CN': '短信' },
      recipientKinds: accounts === undefined ? ['mobile'] : ['mobile', 'user'],
      traits: { idempotent: false, recipients: 'each' },
      enabled: () => config.get('platform.notification.channels.sms.enabled') && (sms.isReady || choice.isReady),
      async send(message, { signal, idempotencyKey }) {
        const to = await numberOf(message)
        if (to === undefined) {
          const errorMessage = 'The recipient has no mobile number'
          return { outcome: 'rejected', errorCode: 'sms.number-missing', errorMessage }
        }
        const text = { to, ...textOf(message), reference: sendReference(idempotencyKey) }
        // Uses only the driver that the message specifies.
        if (text.driver !== undefined) return sms.send(text, signal)
        return choice.run(signal, (driver) => sms.send(driver === undefined ? text : { ...text, driver }, signal))
      },
      async ask(message, { signal, ...sent }) {
        const to = await numberOf(message)
        return to === undefined ? undefined : sms.find({ to, ...sent }, signal)
      },
      addresses(recipients) {
        const numberOf = (text: string) => sms.numberOf(text) ?? text
        const ofRecipient = (one: Recipient) => (one.kind === 'mobile' ? numberOf(one.number) : undefined)
        return addressesOf(accounts, recipients, ofRecipient, ({ mobile }) => mobile && numberOf(mobile))
      },
      reachable: (userIds) => usersWith(accounts, userIds, ({ mobile }) => mobile),
      verify: (signal) => choice.verify((driver) => sms.verify(signal, driver)),
      condition: () => choice.condition(driverKeyNames('platform.notification.channels.sms'), sms.needs()),
    }
    contribute(notificationChannel, 'sms', channel)
  },
})

const codes = (...names: readonly string[]) => names.map((name) => `sms.${name}`)

/** Error codes of problems that affect all messages through a driver. */
const configurationProblems = codes(
  'credentials-refused',
  'permission-missing',
  'balance-empty',
  'sender-refused',
  'driver-missing',
)
/**
 * Error codes after which the next driver is tried, because other providers have their own template codes and
 * signatures.
 */
const companyCodes = codes('template-unmapped', 'template-refused', 'signature-refused')

/** Converts a message. Attributes override the template of the message. */
function textOf({
  subject,
  content,
  template,
  variables,
  attributes,
}: NotificationMessage): Omit<SmsMessage, 'to' | 'reference'> {
  const attribute = (name: string) => {
    const value = attributes[`sms.${name}`]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const named = {
    template,
    templateCode: attribute('template-code'),
    signName: attribute('sign-name'),
    driver: attribute('provider'),
  }
  const params = variableTexts(variables)
  return {
    content: content === '' ? subject : content,
    params,
    ...omitUndefined<Partial<SmsMessage>>(named),
  }
}
