import { Type } from '@plinth/http'
import { shape } from '@plinth/kernel'
import { c, type RowOf, table } from '@plinth/table'
import { slotPattern } from './slots.ts'

export const maxSeconds = 31 * 86_400
/** Maximum number of items whose data is stored and shown. Further items are counted. */
export const maxShownItems = 100

const duration = () => c.integer({ min: 1, max: maxSeconds })

/** Which items are collected, for how long, and how their message is sent. */
export const Definition = table(
  'digest_definition',
  {
    id: c.id(),
    code: c
      .text(128, { min: 1, pattern: String(shape.dotted.pattern) })
      .fixed()
      .title('Code', '编码'),
    enabled: c.flag().default(true).title('Enabled', '启用'),
    kind: c
      .choice({
        fixed: ['A time after the first item', '首个项目后一段时间'],
        sliding: ['A time after the last item', '最后一个项目后一段时间'],
        slots: ['At times of day', '每天定时'],
      })
      .default('fixed')
      .title('Sent', '发送时机'),
    windowSeconds: duration().default(3_600).title('Window in seconds', '窗口（秒）'),
    maxSeconds: duration()
      .default(86_400)
      .title('Maximum after the first item, in seconds', '距首个项目最长时间（秒）')
      .describe('Only for `sliding`.'),
    slots: c
      .json(Type.Array(Type.String({ maxLength: 11, pattern: slotPattern }), { maxItems: 24, uniqueItems: true }))
      .default([])
      .title('Times of day', '发送时刻')
      .describe('For `slots`: times such as `daily 08:00` or `mon 18:30`, in the time zone of the recipient.'),
    itemsShown: c.integer({ min: 1, max: maxShownItems }).default(10).title('Items in the message', '消息中的项目数'),
    channels: c
      .json(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 20, uniqueItems: true }))
      .default([])
      .title('Channels', '渠道')
      .describe('Codes of channels. Empty: the default channel.'),
    template: c.text(128).nullable().title('Template', '模板').describe('Code of a message template.'),
    subject: c
      .text(500)
      .nullable()
      .title('Subject', '主题')
      .describe('Used if no template fits: a text or a message key.'),
    content: c
      .longText(10_000)
      .nullable()
      .title('Content', '内容')
      .describe('Used if no template fits: a text or a message key.'),
    ...c.edits(),
  },
  {
    title: { one: ['Digest', '摘要'], many: ['Digests', '摘要'] },
    owner: 'none',
    uniques: [{ columns: ['code'], reason: 'code-taken' }],
    indexes: [
      ['enabled', 'id'],
      ['createdAt', 'id'],
    ],
  },
)
export type Definition = RowOf<typeof Definition.columns>

/**
 * The items of a user about a subject that one message contains. `generation` is 0 while the digest is open, and the id of
 * the row after that. The unique index therefore allows one open digest per user and subject.
 */
export const Digest = table(
  'digest',
  {
    id: c.id(),
    definitionId: c.reference('digest.definition').readOnly().title('Digest', '摘要'),
    userId: c.reference('iam.user').readOnly().title('User', '用户'),
    subjectKey: c.text(200).readOnly().title('Subject key', '主题键'),
    generation: c.bigint().internal(),
    state: c
      .choice({
        open: { title: ['Collecting', '收集中'], tone: 'info' },
        sent: { title: ['Sent', '已发送'], tone: 'good' },
        discarded: { title: ['Discarded', '已丢弃'], tone: 'quiet' },
        failed: { title: ['Failed', '失败'], tone: 'bad' },
      })
      .default('open')
      .readOnly()
      .title('State', '状态')
      .describe('`sent`: the message was enqueued. `failed`: it could not be enqueued, see `failure`.'),
    itemCount: c.integer().readOnly().title('Items', '项目数'),
    openedAt: c.createdAt().title('First item', '首个项目'),
    lastItemAt: c.time().readOnly().title('Last item', '最后项目'),
    closesAt: c.time().readOnly().title('Sent at', '发送时间'),
    /** Latest end of a sliding window. */
    latestAt: c.time().internal(),
    /** Local date and time of the slot, see slots.ts. Null without slots, and if an operator has sent the digest. */
    slot: c.text(16).nullable().internal(),
    closedAt: c.time().nullable().readOnly().title('Closed', '结束时间'),
    notificationId: c.reference('notification.message').nullable().readOnly().title('Message', '消息'),
    failure: c.text(128).nullable().readOnly().title('Failure', '失败原因'),
    /** Of the last item. */
    data: c.json(Type.Record(Type.String(), Type.Unknown())).internal(),
    attributes: c.json(Type.Record(Type.String(), Type.Unknown())).internal(),
  },
  {
    title: { one: ['Collected message', '收集的消息'], many: ['Collected messages', '收集的消息'] },
    owner: 'userId',
    erasure: 'removed',
    // Items are about other users, for example those who liked a topic.
    unexported: ['data', 'attributes'],
    uniques: [{ columns: ['definitionId', 'userId', 'subjectKey', 'generation'] }],
    indexes: [
      ['generation', 'closesAt', 'id'],
      ['definitionId', 'id'],
      ['userId', 'id'],
      ['state', 'id'],
      ['openedAt', 'id'],
      ['closedAt', 'id'],
    ],
  },
)
export type Digest = RowOf<typeof Digest.columns>

export const Item = table(
  'digest_item',
  {
    id: c.id(),
    digestId: c.reference(Digest),
    /** 1 for the first item of the digest. */
    position: c.integer(),
    /** SHA-256 of definition, user, subject and item key. Null if the caller gave no key. */
    itemHash: c.text(64).nullable(),
    /** Null for items after the first `maxShownItems`. */
    data: c.json(Type.Record(Type.String(), Type.Unknown())).nullable(),
    createdAt: c.createdAt(),
  },
  {
    title: { one: ['Digest item', '摘要项目'], many: ['Digest items', '摘要项目'] },
    owner: { column: 'digestId', through: Digest },
    erasure: 'removed',
    unexported: ['data', 'itemHash'],
    uniques: [{ columns: ['digestId', 'position'] }, { columns: ['itemHash'] }],
    indexes: [['createdAt', 'id']],
  },
)
