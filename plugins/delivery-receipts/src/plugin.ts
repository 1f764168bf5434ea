import { backOffice } from '@plinth/admin'
import { database, type WithDatabase } from '@plinth/database'
import { events } from '@plinth/events'
import { http, metrics } from '@plinth/http'
import { identity } from '@plinth/iam'
import { auditTexts, definePlugin, healthCheck, kernel, optional, personalData } from '@plinth/kernel'
import { mail } from '@plinth/mail'
import { sendDeliveries } from '@plinth/notification'
import { outgoingHttp } from '@plinth/outgoing-http'
import { sms, smsReceipt } from '@plinth/sms'
import { configCentre, PluginEncryptionKey } from '@plinth/system-config'
import { needsAttention, pages, timelines } from './admin-pages.ts'
import { keys, returnPathKeyName } from './config.ts'
import { confirmations } from './confirmations.ts'
import { type ReceiptSource, receiptSource } from './contract.ts'
import { businessError, messages, permissions } from './declarations.ts'
import { receiptEndpoint, receiptLimit } from './endpoint.ts'
import { Confirmation, StoredReceipt } from './entities.ts'
import { ReceiptIntake, receiptStored } from './intake.ts'
import { createReceipts } from './migrations/0001-create-receipts.ts'
import { receiptTables } from './personal-data.ts'
import { receipts } from './receipts.ts'
import { ReceiptCounts } from './rejections.ts'
import { returnPathOf } from './return-path.ts'
import { receiptOfSms } from './sms-receipts.ts'
import { createMailgunSource } from './sources/mailgun.ts'
import { createPostmarkSource } from './sources/postmark.ts'
import { createResendSource } from './sources/resend.ts'
import { createReturnedMailSource } from './sources/returned-mail.ts'
import { createSesSource } from './sources/ses.ts'
import { createAliyunSource, createTencentSource } from './sources/sms-pushes.ts'
import { purgeReceipts } from './tasks.ts'

/** Receives what providers report about mails and text messages, and writes it to the send log. */
export default definePlugin({
  id: 'delivery-receipts',
  title: { en: 'Delivery receipts', 'zh-CN': '投递回执' },
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: {
    kernel,
    http,
    database,
    identity,
    events,
    outgoingHttp,
    configCentre,
    sendDeliveries,
    mail: optional(mail),
    sms: optional(sms),
    metrics: optional(metrics),
  },
  extensionPoints: [receiptSource],
  contributes: [
    receiptSource,
    healthCheck,
    auditTexts.of(confirmations.audited),
    personalData.of(({ database }: WithDatabase) => ({ 'delivery-receipts': receiptTables(database) })),
    ...backOffice({ pages, attention: needsAttention, timelines }),
  ],
  config: keys,
  configGroups: { 'delivery-receipts': { en: 'Delivery receipts', 'zh-CN': '投递回执' } },
  permissions,
  migrations: [createReceipts],
  entities: [StoredReceipt.entity, Confirmation.entity],
  messages,
  scheduledTasks: [purgeReceipts],
  setup({ plugin: { id: plugin }, services, config, log, redact, contribute, contributions, onStop }) {
    const { database: db, http, events, outgoingHttp, configCentre, sendDeliveries, mail, sms, metrics } = services
    const { clock } = db
    const sources: ReadonlyMap<string, ReceiptSource> = contributions(receiptSource)
    const stored = () => config.get(returnPathKeyName)
    const key = new PluginEncryptionKey({ plugin, name: returnPathKeyName, centre: configCentre, stored })
    const own = {
      ses: createSesSource({
        topicArns: () => config.get('platform.delivery-receipts.ses.topic-arns'),
        allowsVersion1: () => config.get('platform.delivery-receipts.ses.allow-signature-version-1'),
        http: outgoingHttp,
        clock,
      }),
      mailgun: createMailgunSource({
        signingKey: () => config.get('platform.delivery-receipts.mailgun.secret'),
        clock,
      }),
      postmark: createPostmarkSource(() => config.get('platform.delivery-receipts.postmark.secret')),
      resend: createResendSource(() => config.get('platform.delivery-receipts.resend.secret')),
      aliyun: createAliyunSource(() => config.get('platform.delivery-receipts.aliyun.secret')),
      tencent: createTencentSource(() => config.get('platform.delivery-receipts.tencent.secret')),
      'returned-mail': createReturnedMailSource({
        secret: () => config.get('platform.delivery-receipts.returned-mail.secret'),
        key: () => key.find(),
      }),
    }
    for (const [name, source] of Object.entries(own)) contribute(receiptSource, name, source)
    const configured = () => [...sources.values()].filter((source) => source.isConfigured())
    sendDeliveries.expect(() => [
      ...configured().flatMap(({ reports }) => reports),
      ...(sms?.reportingDrivers ?? []).map((provider) => ({ channel: 'sms', provider })),
    ])
    mail?.annotate(async (reference) => {
      const address = config.get('platform.delivery-receipts.bounce-address')
      const headers = Object.assign({}, ...configured().map((source) => source.mailHeaders?.(reference) ?? {}))
      return address === '' ? { headers } : { headers, returnPath: returnPathOf(address, await key.get(), reference) }
    })

    const intake = new ReceiptIntake({ db, events, deliveries: sendDeliveries, redact })
    const counts = new ReceiptCounts({ clock, registry: metrics })
    events.on(receiptStored, 'delivery-receipts.apply', ({ payload }) => intake.apply(payload.receiptId), {
      transaction: true,
    })
    events.on(
      smsReceipt,
      'delivery-receipts.sms',
      ({ payload }) => intake.store(payload.driver, { receipts: [receiptOfSms(payload)] }, JSON.stringify(payload)),
      { transaction: true },
    )
    contribute(healthCheck, 'delivery-receipts', () => ({ warnings: counts.warnings }))
    http.register(receiptEndpoint({ sources, intake, counts, log }), 'public', [receiptLimit])
    http.addRoutes(receipts.routes, { services, parts: undefined })
    http.addRoutes(confirmations.routes, { services, parts: { http: outgoingHttp } })
    onStop(() => counts.stop())
  },
})
