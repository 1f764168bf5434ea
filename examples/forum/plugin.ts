import { defineEntity } from '@mikro-orm/core'
import { column, type Database, database } from '@plinth/database'
import { type CleanupPreview, definePlugin, type QuickstartCleanup, quickstartCleanup, service } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'

const Board = defineEntity({
  name: 'ForumBoard',
  tableName: 'forum_board',
  properties: { id: column.primaryKey(), name: column.text(64), demo: column.boolean() },
})
const Post = defineEntity({
  name: 'ForumPost',
  tableName: 'forum_post',
  indexes: [{ properties: ['boardId'] }],
  properties: {
    id: column.primaryKey(),
    boardId: column.id(),
    author: column.text(64),
    title: column.text(200),
    demo: column.boolean(),
  },
})
const Subscription = defineEntity({
  name: 'ForumSubscription',
  tableName: 'forum_subscription',
  indexes: [{ properties: ['boardId'] }],
  properties: { id: column.primaryKey(), boardId: column.id(), subscriber: column.text(64) },
})

const createForum = defineChangeSet({
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

/** Boards with posts, which users can follow. */
export class Forum {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  createBoard(name: string): Promise<number> {
    return this.#db.fork().insert(Board, { id: this.#db.newId(), name, demo: false })
  }

  post(boardId: number, author: string, title: string): Promise<number> {
    return this.#db.fork().insert(Post, { id: this.#db.newId(), boardId, author, title, demo: false })
  }

  subscribe(boardId: number, subscriber: string): Promise<number> {
    return this.#db.fork().insert(Subscription, { id: this.#db.newId(), boardId, subscriber })
  }

  boards() {
    return this.#db.fork().find(Board, {}, { orderBy: { id: 'asc' } })
  }

  /** Titles of a board, the oldest first. */
  async titles(boardId: number): Promise<string[]> {
    const posts = await this.#db.fork().find(Post, { boardId }, { orderBy: { id: 'asc' } })
    return posts.map(({ title }) => title)
  }

  /** Boards and posts that show what a forum looks like. Where there are demo boards already, nothing is added. */
  seedDemo(): Promise<number> {
    return this.#db.transactional(async (em) => {
      if ((await em.count(Board, { demo: true })) > 0) return 0
      for (const [name, titles] of Object.entries(demo)) {
        const boardId = await em.insert(Board, { id: this.#db.newId(), name, demo: true })
        const post = (title: string) => ({ id: this.#db.newId(), boardId, author: 'demo', title, demo: true })
        await em.insertMany(Post, titles.map(post))
      }
      return Object.keys(demo).length
    })
  }
}

export const forum = service<Forum>('example.forum', { from: '@plinth-example/forum' })

const demo = {
  Announcements: ['Welcome to the forum', 'House rules'],
  Questions: ['How do I follow a board?', 'Where do I change my name?', 'Can I write in Chinese?'],
}

/**
 * What an operator may remove. Posts of users on a demo board block it. Whoever follows a demo board is protected by the
 * foreign key alone: the board cannot go, and then its posts come back, because a removal is one transaction.
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

/** A small forum with demo data that an operator can remove. */
export default definePlugin({
  id: 'example.forum',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { database },
  provides: [forum],
  contributes: [quickstartCleanup],
  entities: [Board, Post, Subscription],
  migrations: [createForum],
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
    provide(forum, new Forum(services.database))
    contribute(quickstartCleanup, 'forum', demoCleanup(services.database))
  },
})
