import databasePlugin, { database } from '@plinth/database'
import { type ManualClock, manualClock } from '@plinth/dev/testing'
import { startMigrated, type TestDatabase } from '@plinth/dev/testing/database'
import eventsPlugin, { events } from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import inboxPlugin, { notificationPreferences } from '@plinth/inbox'
import { defineProduct, type JsonValue, omitUndefined, type Recipient } from '@plinth/kernel'
import { declaredTasks } from '@plinth/kernel/host'
import mailPlugin from '@plinth/mail'
import notificationPlugin, { type DeliveryReport, notification, sendDeliveries } from '@plinth/notification'
import mailChannel from '@plinth/notification-channels/mail'
import smsChannel from '@plinth/notification-channels/sms'
import outgoingHttpPlugin from '@plinth/outgoing-http'
import sharedStorePlugin from '@plinth/shared-store'
import sitePlugin from '@plinth/site'
import smsPlugin from '@plinth/sms'
import storagePlugin from '@plinth/storage'
import suppressionPlugin, { suppressions } from '@plinth/suppression'
import systemConfigPlugin from '@plinth/system-config'
import type { Test } from 'tap'
import { startMailServer } from '../../mail/test/fixtures/mail-server.ts'
import { startProviderStub } from '../../sms/test/fixtures/company.ts'

const system = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const password = 'correct horse battery staple'

interface Settings {
  readonly config?: Readonly<Record<string, JsonValue>>
  readonly clock?: ManualClock
  /** False for a product without the suppression list. */
  readonly isLoaded?: boolean
}

/** Starts a product with mails, text messages and the suppression list, and three users with addresses. */
export async function startSuppression(t: Test, at: TestDatabase, settings: Settings = {}) {
  const { config = {}, clock = manualClock(Date.now()), isLoaded = true } = settings
  const [mails, company] = [await startMailServer(t), await startProviderStub(t)]
  let sent = 0
  company.reply = () => ({ status: 201, body: JSON.stringify({ sid: `SM${++sent}`, status: 'queued' }) })
  const product = defineProduct({
    name: 'suppression',
    plugins: [
      databasePlugin,
      httpPlugin,
      sitePlugin,
      i18nPlugin,
      iamPlugin,
      eventsPlugin,
      storagePlugin,
      sharedStorePlugin,
      systemConfigPlugin,
      outgoingHttpPlugin,
      mailPlugin,
      smsPlugin,
      inboxPlugin,
      notificationPlugin,
      mailChannel,
      smsChannel,
      ...(isLoaded ? [suppressionPlugin] : []),
    ],
    config: {
      ...at.config,
      ...mails.config,
      'platform.mail.smtp.username': 'shop',
      'platform.mail.smtp.password': 'planted-password-4711',
      'platform.outgoing-http.allowed-hosts': [company.host],
      'platform.outgoing-http.allow-http': true,
      'platform.sms.driver': 'twilio',
      'platform.sms.country-code': '44',
      'platform.sms.twilio.endpoint': company.url,
      'platform.sms.twilio.account-sid': 'AC1',
      'platform.sms.twilio.auth-token': 'planted-token-4711',
      'platform.sms.twilio.from': '+15005550006',
      'platform.http.port': 0,
      'platform.http.response-check': true,
      'platform.storage.root': at.directory,
      'platform.site.url': 'https://shop.example',
      'platform.system-config.master-key-file': `${at.directory}/master.key`,
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
      'platform.notification.default-channel': 'mail',
      ...config,
    },
  })
  const running = await startMigrated(product, { clock })
  t.teardown(() => running.stop('test ended'))
  const [server, db, facade] = [running.service(http), running.service(database), running.service(notification)]
  const userNamed = async (username: string, mobile: string) =>
    (await running.service(accounts).create({ username, password, email: `${username}@example.com`, mobile }, system))
      .id
  await running.service(accounts).createAdministrator({ username: 'root', password }, system)
  const users = {
    ada: await userNamed('ada', '+447911123451'),
    bob: await userNamed('bob', '+447911123452'),
  }
  const createUser = async (username: string, roleIds: readonly number[]) =>
    (await running.service(accounts).create({ username, password, roleIds }, system)).id
  /** Signs in and returns a function that calls operations. */
  const signIn = async (username: string) => {
    const payload = { username, password }
    const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload })
    const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
    return async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) =>
      (await server.inject(omitUndefined({ method, url: `/api/v1/${url}`, payload, headers }))).json()
  }
  const admin = await signIn('root')
  const add = (address: string, more: object = {}) => admin('POST', 'admin/suppressions', { address, ...more })
  /** Returns the recipients of all mails and text messages so far, in alphabetical order, and forgets them. */
  const received = () => {
    const numbers = company.asked.splice(0).map(({ body }) => new URLSearchParams(body).get('To') ?? '')
    return [...mails.received.splice(0).flatMap(({ to }) => to), ...numbers].sort()
  }
  const send = (channel: 'mail' | 'sms', recipients: readonly Recipient[], more: object = {}) =>
    facade.send({ subject: 'Order', content: 'Paid', recipients, ...more }, { channels: [channel] })
  const idle = () => running.service(events).idle()
  /** Applies a delivery state to the last send to an address. */
  const report = async (state: DeliveryReport['state'], more: Partial<DeliveryReport> = {}) => {
    await admin('GET', 'notification-send-logs?size=1')
    const [row] = await db.query<{ reference: string }>(
      `select reference from notification_send_log where channel = 'mail' order by id desc limit 1`,
    )
    const about = { channel: 'mail', reference: row?.reference, state, at: clock.now(), ...more }
    return running.service(sendDeliveries).apply(about)
  }
  return {
    running,
    server,
    db,
    clock,
    mails,
    facade,
    users,
    signIn,
    createUser,
    admin,
    add,
    send,
    received,
    idle,
    report,
    list: isLoaded ? running.service(suppressions) : undefined,
    preferences: running.service(notificationPreferences),
    purge: () =>
      running
        .service(declaredTasks)
        .scheduledTasks.find(({ name }) => name === 'suppression.purge')
        ?.run(new AbortController().signal),
  }
}

export const mailTo = (address: string): Recipient => ({ kind: 'email', address })
export const user = (userId: number): Recipient => ({ kind: 'user', userId })
