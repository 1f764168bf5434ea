import { resolve } from 'node:path'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { definePlugin, optional } from '@plinth/kernel'
import { outgoingHttp } from '@plinth/outgoing-http'
import { keys } from './config.ts'
import { sms, smsDriver } from './contract.ts'
import { createAliyunDriver } from './drivers/aliyun.ts'
import { createFileDriver, createLogDriver } from './drivers/local.ts'
import { createTencentDriver } from './drivers/tencent.ts'
import { createTwilioDriver } from './drivers/twilio.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }
import { twilioReceipts } from './receipts.ts'
import { SmsService } from './sms-service.ts'

/** Sends text messages. The driver is Aliyun, Tencent Cloud, Twilio, files, the log, or a driver of another plugin. */
export default definePlugin({
  id: 'sms',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { outgoingHttp, http: optional(http), events: optional(events) },
  provides: [sms],
  extensionPoints: [smsDriver],
  contributes: [smsDriver],
  config: keys,
  configGroups: { sms: { en: 'Text messages', 'zh-CN': '短信' } },
  messages: { en, 'zh-CN': zhCN },
  setup({ services, config, clock, log, root, provide, contribute, contributions }) {
    const parts = { config, http: services.outgoingHttp, clock }
    contribute(smsDriver, 'aliyun', createAliyunDriver(parts))
    contribute(smsDriver, 'tencent', createTencentDriver(parts))
    contribute(smsDriver, 'twilio', createTwilioDriver(parts))
    contribute(smsDriver, 'file', createFileDriver(resolve(root, config.get('platform.sms.file.directory'))))
    contribute(smsDriver, 'log', createLogDriver(log))
    provide(
      sms,
      new SmsService({
        clock,
        log,
        drivers: contributions(smsDriver),
        driver: () => config.get('platform.sms.driver'),
        countryCode: () => config.get('platform.sms.country-code'),
        templates: () => config.get('platform.sms.templates'),
        signNames: () => config.get('platform.sms.sign-names'),
      }),
    )
    services.http?.register(twilioReceipts(config, services.events, log), 'public')
  },
})
