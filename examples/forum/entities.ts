import { defineEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'

export const Board = defineEntity({
  name: 'ForumBoard',
  tableName: 'forum_board',
  properties: { id: column.primaryKey(), name: column.text(64), demo: column.boolean() },
})

/** A topic. Demo topics have no user. */
export const Post = defineEntity({
  name: 'ForumPost',
  tableName: 'forum_post',
  indexes: [{ properties: ['boardId'] }],
  properties: {
    id: column.primaryKey(),
    boardId: column.id(),
    author: column.text(64),
    authorId: column.id().nullable(),
    title: column.text(200),
    demo: column.boolean(),
  },
})

export const Subscription = defineEntity({
  name: 'ForumSubscription',
  tableName: 'forum_subscription',
  indexes: [{ properties: ['boardId'] }],
  properties: { id: column.primaryKey(), boardId: column.id(), subscriber: column.text(64) },
})

export const Reply = defineEntity({
  name: 'ForumReply',
  tableName: 'forum_reply',
  indexes: [{ properties: ['topicId', 'id'] }],
  properties: { id: column.primaryKey(), topicId: column.id(), authorId: column.id(), body: column.text(500) },
})

/** A like or a favorite. A user has at most one of each kind per target. */
export const Mark = defineEntity({
  name: 'ForumMark',
  tableName: 'forum_mark',
  uniques: [{ properties: ['markKey'] }],
  properties: { id: column.primaryKey(), markKey: column.text(64) },
})

export const Report = defineEntity({
  name: 'ForumReport',
  tableName: 'forum_report',
  indexes: [{ properties: ['topicId', 'id'] }],
  properties: {
    id: column.primaryKey(),
    topicId: column.id(),
    reporterId: column.id(),
    status: column.text(16).$type<'pending' | 'accepted' | 'declined'>(),
  },
})
