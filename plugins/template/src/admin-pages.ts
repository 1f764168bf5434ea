import { adminDetail, adminForm, adminList, adminLivePreview, type Operations, type Row } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

const channel = { labels: 'notification.channel', optional: true }
const everyChannel = { all: text('All channels without their own template', '没有专用模板的所有渠道') }
const language = { labels: 'console.language' }
const tones = { html: 'quiet', mjml: 'info' } as const
const content = ['subject', 'content', 'htmlFormat', 'html', 'enabled'] as const

const previewed = {
  takes: ['subject', 'content', 'htmlFormat', 'html'],
  samples: { into: 'variables', of: 'variables' },
  answer: (it: Row<Operations['postAdminTemplatesPreview']['data']>) => [
    it.text('subject'),
    it.text('content'),
    it.html('html'),
  ],
} as const

const templates = adminList('getAdminTemplates', (row) => ({
  id: 'template.templates',
  title: text('Message templates', '消息模板'),
  lead: text('Texts of messages by channel and language.', '各渠道和语言的消息内容。'),
  place: { group: 'rules', order: 10 },
  key: 'id',
  detail: 'template.template',
  live: ['message_template'],
  columns: [
    row.text('code', { link: true, mono: true }),
    row.reference('channel', channel, { labels: everyChannel }),
    row.reference('locale', language),
    row.text('subject'),
    row.flag('enabled'),
    row.time('updatedAt'),
    row.text('updatedBy'),
    row.chips('variables', undefined, { hidden: true }),
    row.status('htmlFormat', tones, { hidden: true }),
    row.time('createdAt', { hidden: true }),
  ],
  search: 'keyword',
  filters: ['channel', 'locale', 'enabled'],
  create: adminForm('postAdminTemplates', {
    title: text('New template', '新建模板'),
    fields: ['code', 'channel', 'locale', ...content],
    sections: [
      { title: text('Text', '文本'), fields: ['subject', 'content'] },
      { title: text('HTML for mail', '邮件 HTML'), fields: ['htmlFormat', 'html'] },
    ],
    options: {
      channel: {
        labels: 'notification.channel',
        title: text('Channel', '渠道'),
        more: everyChannel,
        optional: true,
      },
      locale: { labels: 'console.language', free: true },
    },
    long: ['content', 'html'],
    livePreview: adminLivePreview('postAdminTemplatesPreview', { ...previewed, takes: [...previewed.takes, 'locale'] }),
  }),
  empty: text(
    'No templates yet. Messages use the text that they are sent with.',
    '尚无模板，消息使用发送时给定的内容。',
  ),
}))

const template = adminDetail('getAdminTemplatesById', (it) => ({
  id: 'template.template',
  title: text('Message template', '消息模板'),
  name: 'code',
  param: 'id',
  live: ['message_template'],
  sections: [
    {
      columns: [
        it.text('code', { mono: true }),
        it.reference('channel', channel, { labels: everyChannel }),
        it.reference('locale', language),
        it.flag('enabled'),
        it.chips('variables'),
        it.status('htmlFormat', tones),
        it.time('createdAt'),
        it.time('updatedAt'),
        it.text('updatedBy'),
      ],
    },
    { title: text('Content', '内容'), columns: [it.text('subject'), it.json('content'), it.json('html')] },
  ],
  form: it.form('putAdminTemplatesById', {
    title: text('Change', '修改'),
    params: { id: 'id' },
    fields: [...content],
    long: ['content', 'html'],
    whole: true,
    livePreview: it.livePreview('postAdminTemplatesPreview', { ...previewed, body: { locale: 'locale' } }),
    version: 'version',
  }),
  actions: [
    it.action('postAdminTemplates', {
      label: text('Copy to another language', '复制到其他语言'),
      params: {},
      ask: ['locale'],
      options: { locale: { labels: 'console.language', free: true } },
      body: {
        code: 'code',
        channel: 'channel',
        subject: 'subject',
        content: 'content',
        htmlFormat: 'htmlFormat',
        html: 'html',
        enabled: { value: false },
      },
      confirm: text(
        'The copy of {{code}} is disabled, so that no message uses it before it is translated.',
        '{{code}} 的副本处于停用状态，翻译完成前不会用于消息。',
      ),
    }),
    it.action('deleteAdminTemplatesById', {
      label: text('Delete', '删除'),
      params: { id: 'id' },
      query: { version: 'version' },
      confirm: text(
        'This deletes the template {{code}} for {{channel}} in {{locale}}. You cannot undo this.',
        '模板 {{code}}（{{channel}}，{{locale}}）将被删除，无法恢复。',
      ),
      tone: 'danger',
    }),
  ],
  related: [
    {
      page: 'template.templates',
      title: text('Same template in other languages and channels', '同一模板的其他语言和渠道'),
      filter: { code: 'code' },
    },
  ],
}))

export const pages = [templates, template]
