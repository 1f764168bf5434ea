import { c, table } from '@plinth/table'

/** The result of one message at WeChat. It contains no token and no complete open ID. */
export const Outbound = table(
  'social_outbound',
  {
    id: c.id(),
    accountCode: c.text(64),
    messageType: c.text(32),
    toUser: c.text(16).describe('Last four characters of the open ID.'),
    templateId: c.text(128).nullable(),
    clientMessageId: c.text(200),
    outcome: c.choice({
      accepted: ['Accepted', '已接收'],
      rejected: ['Rejected', '已拒绝'],
      deferred: ['Deferred', '已推迟'],
      unknown: ['Unknown', '未知'],
    }),
    /** Id that WeChat assigned. Stored as text, because it may exceed 2^53. */
    providerMessageId: c.text(64).nullable(),
    providerCode: c.text(64).nullable(),
    providerMessage: c.text(500).nullable(),
    createdAt: c.createdAt(),
  },
  {
    title: { one: ['WeChat message', '微信消息'], many: ['WeChat messages', '微信消息'] },
    owner: 'none',
    indexes: [
      ['accountCode', 'id'],
      ['outcome', 'id'],
      ['accountCode', 'outcome', 'id'],
      ['createdAt', 'id'],
    ],
  },
)
