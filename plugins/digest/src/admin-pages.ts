import {
  adminAttention,
  adminDetail,
  type DetailPageDeclaration,
  type ListPageDeclaration,
  type PageColumn,
} from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'
import { collectedMessages } from './collected-messages.ts'
import { definitions } from './definitions.ts'

type Page = ListPageDeclaration | DetailPageDeclaration

const channels = { labels: 'notification.channel' }
const pickers = { channels: { ...channels, title: text('Channels', '渠道') } }
const language = { locale: { labels: 'console.language', free: true } }

/** Columns that a list shows only if the user chooses them. */
const rare = 'maxSeconds slots itemsShown subject content createdAt'.split(' ')

const withChannels = (column: PageColumn): PageColumn => {
  const { field, title } = column
  return field === 'channels' ? { field, ...(title && { title }), as: 'reference', of: channels } : column
}

const preview = adminDetail('getAdminDigestsDefinitionsById', (it) => ({
  id: 'digest.preview',
  title: text('Preview', '预览'),
  name: 'code',
  param: 'id',
  sections: [],
  actions: [
    it.action('postAdminDigestsDefinitionsByIdPreview', {
      label: text('Preview', '预览'),
      confirm: text('Shows the message with sample items. Nothing is sent.', '用示例项目显示消息，不会发送。'),
      params: { id: 'id' },
      ask: ['itemCount', 'locale'],
      options: language,
      answer: (answer) => [answer.text('subject'), answer.text('content'), answer.html('html')],
    }),
  ],
})).actions

/** Adds the channels by name, and the preview. */
function withPreview(page: Page): Page {
  const withPicker = <F extends { readonly options?: object }>(form: F) => ({
    ...form,
    options: { ...form.options, ...pickers },
  })
  if (page.kind === 'detail') {
    const related = [
      {
        page: 'digest.collected-messages',
        title: text('Collected messages', '收集的消息'),
        filter: { definitionId: { field: 'id' } },
      },
    ]
    return {
      ...page,
      sections: (page.sections ?? []).map((one) => ({ ...one, columns: one.columns.map(withChannels) })),
      ...(page.form && { form: withPicker(page.form) }),
      actions: [...(preview ?? []), ...(page.actions ?? [])],
      related,
    }
  }
  const shown = (column: PageColumn) => (rare.includes(column.field) ? { ...column, hidden: true } : column)
  return {
    ...page,
    lead: text('Many events for a person are sent in one message.', '将同一用户的多个事件合并为一条消息。'),
    columns: page.columns.map(withChannels).map(shown),
    ...(page.create && { create: withPicker(page.create) }),
    ...(page.edit && { edit: withPicker(page.edit) }),
  }
}

/** Adds the outcomes of the actions, and the lead of the list. */
function withOutcomes(page: Page): Page {
  const actions = (page.actions ?? []).map((action) => {
    const good = action.operation.endsWith('Discard') ? 'discarded' : 'sent'
    return { ...action, outcome: { field: 'state', good: [good] } }
  })
  const lead = text('Items that are collected for a person and a subject.', '为用户和主题收集的项目。')
  return page.kind === 'list' ? { ...page, actions, lead, live: ['digest'] } : { ...page, actions }
}

export const pages = [...definitions.pages.map(withPreview), ...collectedMessages.pages.map(withOutcomes)]

export const needsAttention = [
  adminAttention('getAdminDigestsMessages', {
    id: 'digest.failed',
    title: text('Digests that could not be sent', '发送失败的摘要'),
    tone: 'warn',
    unattended: text('Their recipients do not get the collected items.', '接收人收不到已收集的内容。'),
    query: { state: 'failed', size: 1, count: 'capped' },
    count: 'total',
    page: { id: 'digest.collected-messages', filter: { state: 'failed' } },
  }),
]
