import { adminList } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'
import { titlesOfChoices } from '@plinth/table'
import { Outbound } from './entities.ts'

const messages = adminList('getAdminSocialMessages', (row) => ({
  id: 'social.messages',
  title: text('WeChat messages', '微信消息记录'),
  empty: text('No WeChat messages yet.', '尚无微信消息。'),
  lead: text('Outcome of each WeChat message.', '每条微信消息的发送结果。'),
  key: 'id',
  live: ['social_outbound'],
  columns: [
    row.time('createdAt'),
    row.status(
      'outcome',
      { accepted: 'good', rejected: 'bad', deferred: 'info', unknown: 'warn' },
      { labels: titlesOfChoices(Outbound.columns.outcome.description) },
    ),
    row.text('accountCode', { mono: true }),
    row.text('messageType', { mono: true }),
    row.text('toUser', { mono: true }),
    row.text('providerMessage'),
    row.text('providerCode', { mono: true }),
    row.text('templateId', { mono: true, hidden: true }),
    row.text('clientMessageId', { mono: true, hidden: true }),
    row.text('providerMessageId', { mono: true, hidden: true }),
  ],
  filters: ['outcome', 'accountCode'],
}))

export const pages = [messages]
