import { c, table } from '@plinth/table'

/** A report of a provider. It contains no address and no number of a recipient. */
export const StoredReceipt = table(
  'delivery_receipt',
  {
    id: c.id(),
    source: c.text(64).readOnly().title('Source', '来源'),
    receiptId: c.text(200).readOnly().title('ID of the receipt', '回执编号'),
    /** SHA-256 of the request. */
    fingerprint: c.text(64).internal(),
    status: c
      .choice({
        waiting: { title: ['Waiting for its send', '等待匹配'], tone: 'info' },
        applied: { title: ['Applied', '已应用'], tone: 'good' },
        unknown: { title: ['Unknown ID', '未知编号'], tone: 'warn' },
      })
      .default('waiting')
      .readOnly()
      .title('Status', '状态')
      .describe('`waiting`: the send log has no send with these ids yet. `unknown`: it had none for 24 hours.'),
    state: c
      .choice({
        queued: { title: ['Queued', '排队中'], tone: 'info' },
        sent: { title: ['Sent', '已发出'], tone: 'info' },
        delayed: { title: ['Delayed', '延迟'], tone: 'warn' },
        delivered: { title: ['Delivered', '已送达'], tone: 'good' },
        failed: { title: ['Not attempted', '未投递'], tone: 'bad' },
        bounced: { title: ['Bounced', '被退回'], tone: 'bad' },
        complained: { title: ['Complaint', '被投诉'], tone: 'bad' },
      })
      .readOnly()
      .title('Delivery', '投递状态'),
    bounce: c
      .choice({ hard: ['Hard: the address is wrong', '硬退回：地址无效'], soft: ['Soft', '软退回'] })
      .nullable()
      .readOnly()
      .title('Kind of bounce', '退回类型'),
    channel: c.text(64).readOnly().title('Channel', '渠道'),
    provider: c.text(64).nullable().readOnly().title('Provider', '服务商'),
    messageId: c.text(200).nullable().readOnly().title('Message ID', '消息编号'),
    reference: c.text(64).nullable().readOnly().title('Own reference', '自有编号'),
    detail: c.text(255).nullable().readOnly().title('Report of the provider', '服务商报告'),
    occurredAt: c.time().readOnly().title('Time of the state', '状态时间'),
    sendLogId: c.reference('notification.send-log').nullable().readOnly().title('Send', '发送记录'),
    appliedAt: c.time().nullable().readOnly().title('Applied at', '应用时间'),
    createdAt: c.createdAt().title('Received', '接收时间'),
  },
  {
    title: { one: ['Delivery receipt', '投递回执'], many: ['Delivery receipts', '投递回执'] },
    owner: 'none',
    uniques: [{ columns: ['source', 'receiptId'] }],
    indexes: [
      ['source', 'id'],
      ['status', 'id'],
      ['state', 'id'],
      ['sendLogId', 'id'],
      ['createdAt', 'id'],
    ],
  },
)

/** A subscription that an operator must confirm. */
export const Confirmation = table(
  'delivery_receipt_confirmation',
  {
    id: c.id(),
    source: c.text(64).readOnly().title('Source', '来源'),
    subject: c.text(400).readOnly().title('Subscription', '订阅'),
    /** Address that confirms the subscription. It contains a token, so no response contains it. */
    url: c.longText(2_000).internal(),
    /** SHA-256 of the address. */
    urlHash: c.text(64).internal(),
    status: c
      .choice({
        waiting: { title: ['Waiting', '待确认'], tone: 'warn' },
        confirmed: { title: ['Confirmed', '已确认'], tone: 'good' },
      })
      .default('waiting')
      .readOnly()
      .title('Status', '状态'),
    ...c.edits(),
  },
  {
    title: { one: ['Receipt subscription', '回执订阅'], many: ['Receipt subscriptions', '回执订阅'] },
    owner: 'none',
    uniques: [{ columns: ['urlHash'] }],
    indexes: [
      ['source', 'id'],
      ['status', 'id'],
      ['createdAt', 'id'],
    ],
  },
)
