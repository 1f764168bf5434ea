import { type Database, erasedName, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { Mark, Post, Reply, Report, Subscription } from './entities.ts'

/**
 * Personal data in the tables of the forum. When a user is erased, topics stay for their readers, without the author.
 */
export const forumTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, Mark, {
    title: bilingual('Likes and favorites', '点赞和收藏'),
    owner: {
      columns: ['mark_key'],
      where: (userId) => ({ sql: 'mark_key like ?', parameters: [`%:${userId}`] }),
    },
    erasure: 'removed',
  }),
  personalTable(db, Reply, { title: bilingual('Replies', '回复'), owner: 'author_id', erasure: 'removed' }),
  personalTable(db, Report, { title: bilingual('Reports', '举报'), owner: 'reporter_id', erasure: 'removed' }),
  personalTable(db, Subscription, {
    title: bilingual('Subscriptions', '订阅'),
    owner: { username: 'subscriber' },
    erasure: 'removed',
  }),
  personalTable(db, Post, {
    title: bilingual('Topics', '主题'),
    owner: 'author_id',
    erasure: 'anonymised',
    set: { author: erasedName, authorId: null },
    reason: bilingual('Other members have replied to the topic.', '其他会员已回复该主题。'),
  }),
]
