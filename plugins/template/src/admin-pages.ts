import { adminDetail, adminForm, adminList, adminLivePreview, type Operations, type Row } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

const channel = { labels: 'notification.channel', optional: true }
const everyChannel = { all: text('All channels without their own template', '没有专用模板的所有渠道') }
const language = { labels: 'console.language' }
const tones = { html: 'quiet', mjml: 'info' } as const
const texts = ['subject', 'content', 'htmlFormat', 'html', 'testValues'] as const
const content = [...texts, 'enabled'] as const
const changeTones = { added: 'good', removed: 'bad', same: 'quiet', skipped: 'quiet' } as const

const previewed = {
  takes: ['subject', 'content', 'htmlFormat', 'html', 'testValues'],
  samples: { into: 'variables', of: 'variables' },
  answer: (it: Row<Operations['postAdminTemplatesPreview']['data']>) => [
    it.text('subject'),
    it.text('content'),
    it.html('html'),
  ],
} as const

/** Options of the action that sends the template with its test values to the operator. */
const testMessage = {
  label: text('Send test to me', '给我发送测试'),
  optional: true,
  params: {},
  ask: ['channel'],
  options: { channel: { labels: 'notification.channel', optional: true } },
  outcome: {
    field: 'outcome',
    good: ['accepted'],
    reason: 'errorMessage',
    labels: {
      rejected: text('Rejected', '已拒绝'),
      deferred: text('Deferred', '已推迟'),
      unknown: text('Unknown', '未知'),
    },
  },
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
        it.reference('id', { labels: 'template.draft', page: 'template.draft' }, { title: text('Draft', '草稿') }),
      ],
    },
    {
      title: text('Content', '内容'),
      columns: [
        it.text('subject'),
        it.json('content'),
        it.json('html'),
        it.chips('attachments', 'name'),
        it.json('testValues'),
      ],
    },
  ],
  form: it.form('putAdminTemplatesById', {
    title: text('Change', '修改'),
    lead: text(
      'The change is published at once. To prepare it first, edit the draft.',
      '修改会立即发布；如需先准备，请编辑草稿。',
    ),
    params: { id: 'id' },
    fields: [...content],
    long: ['content', 'html'],
    whole: true,
    livePreview: it.livePreview('postAdminTemplatesPreview', { ...previewed, body: { locale: 'locale' } }),
    version: 'version',
  }),
  actions: [
    it.action('postAdminNotificationTemplateTests', {
      ...testMessage,
      body: { templateId: 'id', text: { value: 'published' } },
    }),
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
    { page: 'template.versions', title: text('Versions', '版本'), filter: { templateId: 'id' } },
    { page: 'template.uses', title: text('Used by', '被使用于'), filter: { id: 'id' } },
    {
      page: 'template.templates',
      title: text('Same template in other languages and channels', '同一模板的其他语言和渠道'),
      filter: { code: 'code' },
    },
  ],
}))

const draft = adminDetail('getAdminTemplatesByIdDraft', (it) => ({
  id: 'template.draft',
  title: text('Draft', '草稿'),
  name: 'code',
  param: 'id',
  live: ['message_template_draft', 'message_template'],
  sections: [
    {
      columns: [
        it.reference(
          'id',
          { labels: 'template.template', page: 'template.template' },
          { title: text('Template', '模板') },
        ),
        it.text('code', { mono: true }),
        it.reference('channel', channel, { labels: everyChannel }),
        it.reference('locale', language),
        it.flag('exists'),
        it.count('baseVersion'),
        it.count('publishedVersion'),
        it.time('updatedAt'),
        it.text('updatedBy'),
      ],
    },
    {
      title: text('Content', '内容'),
      columns: [
        it.text('subject'),
        it.json('content'),
        it.json('html'),
        it.rows('attachments', (row) => [row.text('name'), row.text('contentId', { mono: true })]),
        it.json('testValues'),
      ],
    },
  ],
  form: it.form('putAdminTemplatesByIdDraft', {
    title: text('Edit draft', '编辑草稿'),
    lead: text('Messages use the published version until you publish the draft.', '发布草稿前，消息仍使用已发布版本。'),
    params: { id: 'id' },
    body: { baseVersion: 'publishedVersion' },
    fields: [...texts],
    long: ['content', 'html'],
    whole: true,
    livePreview: it.livePreview('postAdminTemplatesPreview', { ...previewed, body: { locale: 'locale' } }),
    version: 'version',
  }),
  actions: [
    it.action('postAdminTemplatesByIdDraftPublish', {
      label: text('Publish', '发布'),
      params: { id: 'id' },
      body: { version: 'version' },
      ask: ['note'],
      when: { exists: [true] },
      confirm: text('Messages then use the draft of {{code}}.', '此后的消息将使用 {{code}} 的草稿。'),
    }),
    it.action('postAdminNotificationTemplateTests', {
      ...testMessage,
      body: { templateId: 'id', text: { value: 'draft' } },
    }),
    it.action('postAdminTemplatesByIdDraftAttachments', {
      label: text('Add file', '添加文件'),
      params: { id: 'id' },
      body: { version: 'version' },
      ask: ['file', 'name', 'contentId'],
    }),
    it.action('postAdminTemplatesByIdDraftAttachmentsRemove', {
      label: text('Remove file', '移除文件'),
      params: { id: 'id' },
      body: { version: 'version' },
      ask: ['name'],
    }),
    it.action('deleteAdminTemplatesByIdDraft', {
      label: text('Discard', '丢弃'),
      params: { id: 'id' },
      query: { version: 'version' },
      when: { exists: [true] },
      confirm: text(
        'The draft of {{code}} is deleted. You cannot undo this.',
        '将删除 {{code}} 的草稿，此操作无法撤销。',
      ),
      tone: 'danger',
    }),
  ],
  related: [
    {
      page: 'template.draft-comparison',
      title: text('Changes since the published version', '与已发布版本的差异'),
      filter: { id: 'id' },
    },
  ],
}))

const versions = adminList('getAdminTemplateVersions', (row) => ({
  id: 'template.versions',
  title: text('Template versions', '模板版本'),
  key: 'id',
  detail: 'template.version',
  live: ['message_template_version'],
  columns: [
    row.count('number'),
    row.text('subject', { link: true }),
    row.text('note'),
    row.time('createdAt'),
    row.text('createdBy'),
    row.time('supersededAt'),
    row.text('code', { mono: true, hidden: true }),
    row.reference('channel', channel, { labels: everyChannel, hidden: true }),
    row.reference('locale', language, { hidden: true }),
    row.status('htmlFormat', tones, { hidden: true }),
    row.chips('variables', undefined, { hidden: true }),
  ],
  filters: ['templateId'],
  empty: text('No versions yet.', '尚无版本。'),
}))

const version = adminDetail('getAdminTemplateVersionsById', (it) => ({
  id: 'template.version',
  title: text('Template version', '模板版本'),
  name: 'code',
  param: 'id',
  live: ['message_template_version'],
  sections: [
    {
      columns: [
        it.reference('templateId', { labels: 'template.template', page: 'template.template' }),
        it.text('code', { mono: true }),
        it.count('number'),
        it.reference('channel', channel, { labels: everyChannel }),
        it.reference('locale', language),
        it.text('note'),
        it.time('createdAt'),
        it.text('createdBy'),
        it.time('supersededAt'),
        it.status('htmlFormat', tones),
        it.chips('variables'),
      ],
    },
    {
      title: text('Content', '内容'),
      columns: [
        it.text('subject'),
        it.json('content'),
        it.json('html'),
        it.chips('attachments', 'name'),
        it.json('testValues'),
      ],
    },
  ],
  actions: [
    it.action('postAdminTemplateVersionsByIdTakeBack', {
      label: text('Publish again', '重新发布'),
      params: { id: 'id' },
      ask: ['note'],
      confirm: text(
        'Version {{number}} of {{code}} becomes the next version. The versions in between stay in the history.',
        '{{code}} 的版本 {{number}} 将成为下一个版本，其间的版本保留在历史中。',
      ),
    }),
  ],
  related: [
    {
      page: 'template.comparison',
      title: text('Changes since the version before', '与上一版本的差异'),
      filter: { id: 'id', against: { value: 'previous' } },
    },
    {
      page: 'template.comparison',
      title: text('Compared with the published version', '与已发布版本比较'),
      filter: { id: 'id', against: { value: 'published' } },
    },
  ],
}))

type Comparison = Operations['getAdminTemplatesByIdDraftComparison']['data']

const comparisonOf = (it: Row<Comparison>) => ({
  title: text('Comparison', '比较'),
  sections: [
    {
      columns: [
        it.rows('fields', (row) => [row.text('field', { labels: comparedFields }), row.difference('before', 'after')]),
        it.rows('lines', (row) => [
          row.text('field', { labels: comparedFields }),
          row.status('change', changeTones, { labels: changeNames }),
          row.text('text'),
        ]),
      ],
    },
  ],
})
const comparedFields = {
  subject: text('Subject', '主题'),
  content: text('Text', '正文'),
  html: text('HTML text', 'HTML 正文'),
  htmlFormat: text('Format of the HTML', 'HTML 格式'),
  attachments: text('Attachments', '附件'),
  testValues: text('Test values', '测试值'),
}
const changeNames = {
  added: text('Added', '新增'),
  removed: text('Removed', '删除'),
  same: text('Unchanged', '未变'),
  skipped: text('Lines left out', '省略的行'),
}

const draftComparison = adminDetail('getAdminTemplatesByIdDraftComparison', (it) => ({
  id: 'template.draft-comparison',
  param: 'id',
  ...comparisonOf(it),
}))
const comparison = adminDetail('getAdminTemplateVersionsByIdComparison', (it) => ({
  id: 'template.comparison',
  param: 'id',
  ...comparisonOf(it),
}))

const uses = adminDetail('getAdminTemplatesByIdUses', (it) => ({
  id: 'template.uses',
  title: text('Used by', '被使用于'),
  param: 'id',
  sections: [{ columns: [it.rows('uses', (row) => [row.text('kind'), row.described('use')])] }],
}))

export const pages = [templates, template, draft, versions, version, draftComparison, comparison, uses]
