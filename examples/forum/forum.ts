import { type Database, insertMissingRows } from '@plinth/database'
import {
  type EventRef,
  type Events,
  forumReplyCreated,
  forumReplyLiked,
  forumReportStatusChanged,
  forumTopicFavorited,
  forumTopicLiked,
} from '@plinth/events'
import { BusinessError, fitTextToColumn, service } from '@plinth/kernel'
import { Board, Mark, Post, Reply, Report, Subscription } from './entities.ts'

/** The acting user. */
export interface Member {
  readonly userId: number
  readonly name: string
}

interface Topic {
  readonly topicId: number
  readonly topicTitle: string
  readonly topicAuthorId: number
}

const maxPreviewLength = 200
const demo = {
  Announcements: ['Welcome to the forum', 'House rules'],
  Questions: ['How do I follow a board?', 'Where do I change my name?', 'Can I write in Chinese?'],
}

/**
 * Boards with topics. Users can follow boards, and reply to, like, save and report topics. Each event is published in
 * the transaction of its change. The forum does not depend on the plugins that handle its events.
 */
export class Forum {
  readonly #db: Database
  readonly #events: Events

  constructor(db: Database, events: Events) {
    this.#db = db
    this.#events = events
  }

  createBoard(name: string): Promise<number> {
    return this.#db.fork().insert(Board, { id: this.#db.newId(), name, demo: false })
  }

  post(boardId: number, { userId: authorId, name: author }: Member, title: string): Promise<number> {
    return this.#db.fork().insert(Post, { id: this.#db.newId(), boardId, author, authorId, title, demo: false })
  }

  subscribe(boardId: number, subscriber: string): Promise<number> {
    return this.#db.fork().insert(Subscription, { id: this.#db.newId(), boardId, subscriber })
  }

  reply(topicId: number, { userId, name: userName }: Member, body: string): Promise<number> {
    return this.#db.transactional(async (em) => {
      const topic = await this.#topic(topicId)
      const replyId = await em.insert(Reply, { id: this.#db.newId(), topicId, authorId: userId, body })
      const preview = fitTextToColumn(body, maxPreviewLength)
      await this.#publish(forumReplyCreated, { ...topic, replyId, preview, userId, userName }, topicId)
      return replyId
    })
  }

  /** Likes a topic. If the user already likes it, the call has no effect. */
  like(topicId: number, { userId, name: userName }: Member): Promise<void> {
    return this.#mark(`topic-like:${topicId}:${userId}`, async () =>
      this.#publish(forumTopicLiked, { ...(await this.#topic(topicId)), userId, userName }, topicId),
    )
  }

  favorite(topicId: number, { userId, name: userName }: Member): Promise<void> {
    return this.#mark(`favorite:${topicId}:${userId}`, async () =>
      this.#publish(forumTopicFavorited, { ...(await this.#topic(topicId)), userId, userName }, topicId),
    )
  }

  likeReply(replyId: number, { userId, name: userName }: Member): Promise<void> {
    return this.#mark(`reply-like:${replyId}:${userId}`, async () => {
      const reply = await this.#db.fork().findOne(Reply, replyId)
      if (reply === null) throw new BusinessError('404', 'There is no such reply.', { reason: 'forum.reply-unknown' })
      const { topicId, topicTitle } = await this.#topic(reply.topicId)
      const about = { topicId, topicTitle, replyId, replyAuthorId: reply.authorId, userId, userName }
      await this.#publish(forumReplyLiked, about, topicId)
    })
  }

  report(topicId: number, { userId: reporterId }: Member): Promise<number> {
    return this.#db.transactional(async (em) => {
      const { topicTitle } = await this.#topic(topicId)
      const status = 'pending'
      const reportId = await em.insert(Report, { id: this.#db.newId(), topicId, reporterId, status })
      const fact = { reportId, reporterId, status, subject: topicTitle, userId: reporterId }
      await this.#publish(forumReportStatusChanged, fact, topicId)
      return reportId
    })
  }

  /**
   * Closes a report.
   * @throws BusinessError "409" if the report is already closed
   */
  closeReport(reportId: number, status: 'accepted' | 'declined', { userId }: Member): Promise<void> {
    return this.#db.transactional(async (em) => {
      const closed = await em.nativeUpdate(Report, { id: reportId, status: 'pending' }, { status })
      if (closed === 0)
        throw new BusinessError('409', 'The report is closed already.', { reason: 'forum.report-closed' })
      const { reporterId, topicId } = await em.findOneOrFail(Report, reportId)
      const { topicTitle } = await this.#topic(topicId)
      const fact = { reportId, reporterId, status, subject: topicTitle, userId }
      await this.#publish(forumReportStatusChanged, fact, topicId)
    })
  }

  boards() {
    return this.#db.fork().find(Board, {}, { orderBy: { id: 'asc' } })
  }

  /** Returns the titles of a board, the oldest first. */
  async titles(boardId: number): Promise<string[]> {
    const posts = await this.#db.fork().find(Post, { boardId }, { orderBy: { id: 'asc' } })
    return posts.map(({ title }) => title)
  }

  /** Adds demo boards and posts, unless there are demo boards. */
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

  /** Returns a topic that a user has created. Demo topics have no user, so they count as unknown here. */
  async #topic(id: number): Promise<Topic> {
    const topic = await this.#db.fork().findOne(Post, id)
    if (topic?.authorId == null) {
      throw new BusinessError('404', 'There is no such topic.', { reason: 'forum.topic-unknown' })
    }
    return { topicId: id, topicTitle: topic.title, topicAuthorId: topic.authorId }
  }

  /** Creates a mark and runs the work in the same transaction. If the mark already exists, nothing is done. */
  #mark(markKey: string, work: () => Promise<void>): Promise<void> {
    return this.#db.transactional(async (em) => {
      const id = this.#db.newId()
      await insertMissingRows(this.#db, Mark, 'markKey', [{ id, markKey }])
      const made = await em.findOneOrFail(Mark, { markKey })
      if (made.id === id) await work()
    })
  }

  /** Publishes an event about a topic. Events of one topic are delivered in order. */
  async #publish<Fact>(ref: EventRef<Fact>, fact: Fact, topicId: number): Promise<void> {
    await this.#events.publish(ref, fact, { key: `forum.topic:${topicId}` })
  }
}

export const forum = service<Forum>('example.forum', { from: '@plinth-example/forum' })
