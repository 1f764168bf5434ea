import { defineChangeSet } from '@plinth/migrations'

export const createForum = defineChangeSet({
  id: '0001-create-forum',
  up: ({ schema, type }) => [
    schema
      .createTable('forum_board')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('name', type.text(64), (c) => c.notNull())
      .addColumn('demo', type.boolean, (c) => c.notNull()),
    schema
      .createTable('forum_post')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('board_id', type.id, (c) => c.notNull())
      .addColumn('author', type.text(64), (c) => c.notNull())
      .addColumn('title', type.text(200), (c) => c.notNull())
      .addColumn('demo', type.boolean, (c) => c.notNull())
      .addForeignKeyConstraint('forum_post_board_id_foreign', ['board_id'], 'forum_board', ['id']),
    schema.createIndex('forum_post_board_id_index').on('forum_post').column('board_id'),
    schema
      .createTable('forum_subscription')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('board_id', type.id, (c) => c.notNull())
      .addColumn('subscriber', type.text(64), (c) => c.notNull())
      .addForeignKeyConstraint('forum_subscription_board_id_foreign', ['board_id'], 'forum_board', ['id']),
    schema.createIndex('forum_subscription_board_id_index').on('forum_subscription').column('board_id'),
  ],
})

export const addTopics = defineChangeSet({
  id: '0002-talk-about-topics',
  up: ({ schema, type }) => [
    schema.alterTable('forum_post').addColumn('author_id', type.id),
    schema
      .createTable('forum_reply')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('topic_id', type.id, (c) => c.notNull())
      .addColumn('author_id', type.id, (c) => c.notNull())
      .addColumn('body', type.text(500), (c) => c.notNull()),
    schema.createIndex('forum_reply_topic_id_id_index').on('forum_reply').columns(['topic_id', 'id']),
    schema
      .createTable('forum_mark')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('mark_key', type.text(64), (c) => c.notNull()),
    schema.createIndex('forum_mark_mark_key_unique').unique().on('forum_mark').column('mark_key'),
    schema
      .createTable('forum_report')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('topic_id', type.id, (c) => c.notNull())
      .addColumn('reporter_id', type.id, (c) => c.notNull())
      .addColumn('status', type.text(16), (c) => c.notNull()),
    schema.createIndex('forum_report_topic_id_id_index').on('forum_report').columns(['topic_id', 'id']),
  ],
})
