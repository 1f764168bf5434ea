import { resolve } from 'node:path'
import { definePlugin, optional } from '@plinth/kernel'
import { storage } from '@plinth/storage'
import { keys, readAttachmentLimits } from './config.ts'
import { mail, mailDriver } from './contract.ts'
import { createFileDriver, createLogDriver } from './drivers/local.ts'
import { createSmtpDriver } from './drivers/smtp/smtp.ts'
import { readSmtpSettings, smtpKeys } from './drivers/smtp/smtp-session.ts'
import { MailService } from './mail-service.ts'

/** Sends mails. The driver is an SMTP server, files, the log, or a driver of another plugin. */
export default definePlugin({
  id: 'mail',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { storage: optional(storage) },
  provides: [mail],
  extensionPoints: [mailDriver],
  contributes: [mailDriver],
  config: keys,
  configGroups: { mail: { en: 'Mail', 'zh-CN': '邮件' } },
  setup({ services, config, clock, log, redact, root, provide, contribute, contributions, onDrain, onStop }) {
    const server = createSmtpDriver({ settings: () => readSmtpSettings(config), mask: (text) => redact(text) })
    for (const name of smtpKeys) config.onChange(name, () => server.renew())
    contribute(mailDriver, 'smtp', server)
    contribute(
      mailDriver,
      'file',
      createFileDriver(resolve(root, config.get('platform.mail.file.directory')), clock, log),
    )
    contribute(mailDriver, 'log', createLogDriver(log))

    const drivers = contributions(mailDriver)
    const service = new MailService({
      drivers,
      clock,
      log,
      storage: services.storage,
      settings: () => {
        const domainName = config.get('platform.mail.dkim.domain')
        const keySelector = config.get('platform.mail.dkim.selector')
        const privateKey = config.get('platform.mail.dkim.private-key')
        return {
          driver: config.get('platform.mail.driver'),
          from: config.get('platform.mail.from'),
          sendDeadlineMs: config.get('platform.mail.send-deadline'),
          dkim: domainName === '' ? undefined : { domainName, keySelector, privateKey },
          attachments: readAttachmentLimits(config),
        }
      },
    })
    if (config.get('platform.mail.driver') !== '' && !service.isReady) {
      const driver = config.get('platform.mail.driver')
      log.warn(
        { driver, drivers: [...drivers.keys()] },
        'mails are not sent: the driver or the sender is not configured',
      )
    }
    provide(mail, service)
    onDrain(() => service.drain())
    onStop(() => {
      service.stop()
      server.close()
    })
  },
})
