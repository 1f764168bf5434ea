import type { Database } from '@plinth/database'
import type { PersonalTable } from '@plinth/kernel'
import { c, type RowOf, table } from '@plinth/table'

/** A browser or an app that receives push messages. The owner registers it. */
export const Device = table(
  'push_device',
  {
    id: c.id(),
    userId: c.caller().title('User', '用户'),
    channel: c
      .choice({ 'web-push': ['Browser (Web Push)', '浏览器（Web Push）'], fcm: ['App (FCM)', '应用（FCM）'] })
      .readOnly()
      .title('Kind', '类型'),
    label: c.text(100).nullable().readOnly().title('Name', '名称'),
    service: c
      .text(255)
      .readOnly()
      .title('Push service', '推送服务')
      .describe('Host of the push service; `fcm` for apps.'),
    status: c
      .choice({
        active: { title: ['Active', '有效'], tone: 'good' },
        gone: { title: ['Unsubscribed', '已退订'], tone: 'quiet' },
        expired: { title: ['Expired', '已过期'], tone: 'quiet' },
        replaced: { title: ['Replaced', '已替换'], tone: 'quiet' },
      })
      .default('active')
      .readOnly()
      .title('Status', '状态')
      .describe(
        '`gone`: the push service reported the end. `expired`: not registered again in time. `replaced`: the user registered more devices than allowed.',
      ),
    /** SHA-256 of the address at the push service. */
    targetHash: c.text(64).internal(),
    /** Encrypted address and keys. Empty after the end. */
    target: c.longText(8_000).internal(),
    registeredAt: c.time().readOnly().title('Last registration', '最近注册时间'),
    lastSuccessAt: c.time().nullable().readOnly().title('Last accepted message', '最近送出时间'),
    endedAt: c.time().nullable().readOnly().title('Ended', '结束时间'),
    createdAt: c.createdAt().title('Created', '创建时间'),
  },
  {
    title: { one: ['Push device', '推送设备'], many: ['Push devices', '推送设备'] },
    owner: 'userId',
    erasure: 'removed',
    unexported: ['target', 'targetHash'],
    uniques: [{ columns: ['targetHash'] }],
    indexes: [
      ['userId', 'channel', 'status'],
      ['channel', 'id'],
      ['status', 'id'],
      ['status', 'registeredAt'],
      ['endedAt'],
    ],
  },
)
export type Device = RowOf<typeof Device.columns>
export type PushChannelCode = Device['channel']

/** The push service of a device accepted a send, so that a retry of the send leaves the device out. */
export const Acceptance = table(
  'push_acceptance',
  {
    id: c.id(),
    /** SHA-256 of the idempotency key of the send. */
    sendHash: c.text(64).internal(),
    deviceId: c.reference(Device).internal(),
    createdAt: c.createdAt(),
  },
  {
    title: { one: ['Accepted push message', '已接收的推送'], many: ['Accepted push messages', '已接收的推送'] },
    owner: { column: 'deviceId', through: Device },
    erasure: 'removed',
    uniques: [{ columns: ['sendHash', 'deviceId'] }],
    indexes: [['deviceId'], ['createdAt']],
  },
)

/** Acceptances find their user through the device, so they precede it. */
export const tables = [Acceptance, Device]
export const pushTables = (db: Database): readonly PersonalTable[] => tables.flatMap((one) => one.personalTables(db))
