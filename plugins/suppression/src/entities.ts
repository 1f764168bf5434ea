import { Type } from '@plinth/http'
import { c, type RowOf, table } from '@plinth/table'
import { allCategories, reasons } from './policy.ts'

const reasonChoices = Object.fromEntries(Object.entries(reasons).map(([name, { title }]) => [name, title])) as {
  readonly [Name in keyof typeof reasons]: (typeof reasons)[Name]['title']
}

/** An address that gets no messages of one category, or of all of them. */
export const SuppressedAddress = table(
  'suppression',
  {
    id: c.id(),
    channel: c
      .choice({ mail: ['E-mail', '邮件'], sms: ['Text message', '短信'] })
      .default('mail')
      .fixed()
      .title('Channel', '渠道'),
    address: c
      .text(254, { min: 3 })
      .fixed()
      .title('Address', '地址')
      .describe('Mail address, or number in E.164 format.', 'The masked address. The full address is not stored.'),
    /** Keyed hash of the normalised address, see addresses.ts. */
    addressKey: c.text(64).internal(),
    category: c
      .text(64, { pattern: '^[a-z][a-z0-9-]*$' })
      .default(allCategories)
      .fixed()
      .title('Category', '类别')
      .describe('`all`, or the category of the messages that are not sent.'),
    reason: c.choice(reasonChoices).default('manual').fixed().title('Reason', '原因'),
    note: c.text(200).nullable().fixed().title('Note', '备注'),
    since: c.time().readOnly().title('Since', '起始时间'),
    endsAt: c
      .time()
      .nullable()
      .fixed()
      .title('Until', '截止时间')
      .describe('Empty: until an operator releases the address.'),
    source: c
      .choice({
        report: ['Delivery report', '投递报告'],
        link: ['Link in a mail', '邮件链接'],
        operator: ['Operator', '操作员'],
      })
      .default('operator')
      .readOnly()
      .title('Source', '来源'),
    userId: c.user().nullable().readOnly().title('User', '用户'),
    sendLogId: c.reference('notification.send-log').nullable().readOnly().title('Send', '发送记录'),
  },
  {
    title: { one: ['Suppressed address', '禁发地址'], many: ['Suppressed addresses', '禁发地址'] },
    owner: 'userId',
    erasure: {
      anonymised: { userId: null, address: '', note: null },
      reason: [
        'The hash of the address stays, so that the address gets no messages after the account is deleted.',
        '保留地址的哈希值，以便账号删除后仍不向该地址发送消息。',
      ],
    },
    unexported: ['addressKey'],
    uniques: [{ columns: ['addressKey', 'channel', 'category'], reason: 'listed' }],
    indexes: [['channel', 'id'], ['reason', 'id'], ['category', 'id'], ['userId', 'id'], ['since', 'id'], ['endsAt']],
  },
)
export type SuppressedAddress = RowOf<typeof SuppressedAddress.columns>

/** Recent soft bounces of an address, which decide whether it is suppressed. Contains no address. */
export const SoftBounces = table(
  'suppression_soft_bounce',
  {
    id: c.id(),
    addressKey: c.text(64).readOnly(),
    /** Times of the bounces, milliseconds since the epoch. */
    times: c.json(Type.Array(Type.Integer())).readOnly(),
    /** Time of the last delivery after a bounce. Older bounces do not count. */
    deliveredAt: c.time().nullable().readOnly(),
    updatedAt: c.time().readOnly(),
  },
  {
    title: { one: ['Soft bounces of an address', '地址的软退回'], many: ['Soft bounces', '软退回'] },
    owner: 'none',
    uniques: [{ columns: ['addressKey'] }],
    indexes: [['updatedAt']],
  },
)
