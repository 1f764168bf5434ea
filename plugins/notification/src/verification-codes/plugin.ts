import { site } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { verificationCodeSender } from '@plinth/iam'
import { definePlugin, optional } from '@plinth/kernel'
import { notification } from '../contract.ts'
import { messages, notificationSender } from './sender.ts'

/**
 * Sends the verification codes of `@plinth/iam/verification` through the channels `sms` and `mail`. A plugin of its own,
 * because notifications need no accounts and codes need no notifications.
 */
export default definePlugin({
  id: 'notification.verification-codes',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { notification, i18n: optional(i18n), site: optional(site) },
  contributes: [verificationCodeSender],
  messages,
  setup({ services, contribute }) {
    contribute(
      verificationCodeSender,
      'notification',
      notificationSender(services.notification, services.i18n, services.site),
    )
  },
})
