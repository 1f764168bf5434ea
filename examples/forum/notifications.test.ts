/** Follows a reply from the outbox to the inbox of the author, through plugins that do not depend on each other. */
import { join } from 'node:path'
import asyncTaskPlugin from '@plinth/async-task'
import databasePlugin from '@plinth/database'
import { assertMembers, rejectsWith, startForTest } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import eventsPlugin, { events } from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import inboxPlugin from '@plinth/inbox'
import { defineProduct } from '@plinth/kernel'
import notificationPlugin from '@plinth/notification'
import databaseChannel from '@plinth/notification-channels/database'
import logChannel from '@plinth/notification-channels/log'
import linkagePlugin from '@plinth/notification-linkage'
import rulesPlugin from '@plinth/notification-rules'
import storagePlugin from '@plinth/storage'
import t from 'tap'
import forumPlugin, { forum } from './plugin.ts'

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const password = 'correct horse battery staple'

onDatabase(t, 'N-098 N-162 N-170 a reply reaches the inbox of the author once', async (t, db) => {
  const product = defineProduct({
    name: 'community',
    plugins: [
      databasePlugin,
      eventsPlugin,
      httpPlugin,
      i18nPlugin,
      iamPlugin,
      storagePlugin,
      asyncTaskPlugin,
      notificationPlugin,
      inboxPlugin,
      rulesPlugin,
      databaseChannel,
      logChannel,
      linkagePlugin,
      forumPlugin,
    ],
    config: {
      ...db.config,
      'platform.http.port': 0,
      'platform.storage.root': join(db.directory, 'storage'),
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
    },
  })
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)
  const member = async (name: string) => {
    const { id: userId } = await running.service(accounts).create({ username: name, password }, origin)
    const login = await server.inject({
      method: 'POST',
      url: '/api/v1/auth/login',
      payload: { username: name, password },
    })
    const authorization = `Bearer ${login.json().data.accessToken}`
    const inbox = async (language = 'en') => {
      await running.service(events).idle()
      const headers = { authorization, 'accept-language': language }
      const response = await server.inject({ url: '/api/v1/notifications/inbox', headers })
      return response.json().data.items
    }
    return { userId, name, inbox }
  }
  const [ann, bob] = [await member('ann'), await member('bob')]
  const talk = running.service(forum)
  const topic = await talk.post(await talk.createBoard('Garden'), ann, 'Tomatoes in November')

  const replyId = await talk.reply(topic, bob, 'Under glass they do.')
  assertMembers(t, await ann.inbox(), [
    {
      displaySubject: 'New reply to Tomatoes in November',
      displayContent: 'Your topic Tomatoes in November has a new reply: Under glass they do.',
      module: 'forum',
      event: 'forum.reply.created',
      sourceType: 'reply',
      sourceId: String(replyId),
      targetType: 'topic',
      targetId: String(topic),
      targetRoute: `/forum/topics/${topic}`,
    },
  ])
  t.match((await ann.inbox('zh-CN'))[0], { displaySubject: '《Tomatoes in November》有新回复' })
  t.same(await bob.inbox(), [], 'who wrote it is not told')

  await talk.reply(topic, ann, 'Thank you.')
  t.equal((await ann.inbox()).length, 1, 'nor is an author who answers herself')

  await talk.like(topic, bob)
  await talk.like(topic, bob)
  await talk.favorite(topic, bob)
  await talk.likeReply(replyId, ann)
  const report = await talk.report(topic, bob)
  const received = (await ann.inbox()).map(({ event }: { event: string }) => event)
  // The product delivers messages concurrently, so their order is not defined.
  t.same(
    received.toSorted(),
    ['forum.reply.created', 'forum.topic.favorited', 'forum.topic.liked'],
    'liking twice is liking once',
  )
  await talk.closeReport(report, 'accepted', ann)
  assertMembers(t, await bob.inbox(), [
    { event: 'forum.report.status-changed', targetType: 'report', targetRoute: `/forum/reports/${report}` },
    { event: 'forum.reply.liked', targetRoute: `/forum/topics/${topic}` },
  ])
  await rejectsWith(t, talk.closeReport(report, 'declined', ann), { code: '409' })

  await t.test('a reply that is rolled back notifies nobody', async (t) => {
    await rejectsWith(t, talk.reply(4711, bob, 'Into the void'), { message: 'There is no such topic.' })
    t.equal((await ann.inbox()).length, 3)
  })
})
