import { type Database, database } from '@plinth/database'
import {
  events,
  forumReplyCreated,
  forumReplyLiked,
  forumReportStatusChanged,
  forumTopicFavorited,
  forumTopicLiked,
} from '@plinth/events'
import {
  type CleanupPreview,
  definePlugin,
  personalData,
  type QuickstartCleanup,
  quickstartCleanup,
} from '@plinth/kernel'
import { Board, Mark, Post, Reply, Report, Subscription } from './entities.ts'
import { Forum, forum } from './forum.ts'
import { addTopics, createForum } from './migrations.ts'
import { forumTables } from './personal-data.ts'

export { Forum, forum, type Member } from './forum.ts'

/**
 * Returns the demo data that an operator may remove. A post of a user on a demo board blocks the removal. If a user
 * follows a demo board, only a foreign key protects it: the board cannot be deleted, and the transaction restores its
 * posts.
 */
function demoCleanup(db: Database): QuickstartCleanup {
  const isOnDemoBoard = async () => ({ $in: (await db.fork().find(Board, { demo: true })).map(({ id }) => id) })
  return {
    displayName: { en: 'Forum', 'zh-CN': '论坛' },
    dataType: 'demo-boards',
    async preview(): Promise<CleanupPreview> {
      const em = db.fork()
      const [boards, posts, realPosts] = [
        await em.count(Board, { demo: true }),
        await em.count(Post, { demo: true }),
        await em.count(Post, { demo: false, boardId: await isOnDemoBoard() }),
      ]
      return {
        targets: [
          { type: 'boards', displayName: { en: 'Demo boards', 'zh-CN': '演示版块' }, count: boards },
          { type: 'posts', displayName: { en: 'Demo posts', 'zh-CN': '演示帖子' }, count: posts },
        ],
        blockers: [
          {
            code: 'real-posts',
            message: {
              en: 'Users have posted on demo boards. Move or delete these posts first.',
              'zh-CN': '用户在演示版块中发过帖，请先移动或删除这些帖子。',
            },
            count: realPosts,
          },
        ],
      }
    },
    async execute(signal) {
      const em = db.fork()
      const posts = await em.nativeDelete(Post, { demo: true })
      signal.throwIfAborted()
      return { posts, boards: await em.nativeDelete(Board, { demo: true }) }
    },
  }
}

/** Plugin with a small forum that publishes its events. An operator can remove its demo data. */
export default definePlugin({
  id: 'example.forum',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { database, events },
  provides: [forum],
  contributes: [personalData, quickstartCleanup],
  entities: [Board, Post, Subscription, Reply, Mark, Report],
  migrations: [createForum, addTopics],
  commands: [
    {
      name: 'forum seed-demo',
      summary: 'Add demo boards with posts to the forum',
      async run({ own }, { output }) {
        const boards = await own(forum).seedDemo()
        output.result({ boards }, boards === 0 ? 'There are demo boards already.' : `Added ${boards} demo boards.`)
      },
    },
  ],
  setup({ services, provide, contribute }) {
    services.events.declarePublished(
      forumReplyCreated,
      forumReplyLiked,
      forumTopicLiked,
      forumTopicFavorited,
      forumReportStatusChanged,
    )
    provide(forum, new Forum(services.database, services.events))
    contribute(personalData, 'example.forum', forumTables(services.database))
    contribute(quickstartCleanup, 'forum', demoCleanup(services.database))
  },
})
