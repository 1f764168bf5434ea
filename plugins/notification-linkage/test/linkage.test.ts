/** Tests notifications about events of other plugins: recipients, content and channel. */
import { join } from 'node:path'
import asyncTaskPlugin from '@plinth/async-task'
import databasePlugin from '@plinth/database'
import { assertKeyEffect, assertMembers, startForTest } from '@plinth/dev/testing'
import { onSqlite, type TestDatabase } from '@plinth/dev/testing/database'
import eventsPlugin, * as facts from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin, { i18n } from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import { definePlugin, defineProduct, type NotificationMessage, notificationChannel, type Plugin } from '@plinth/kernel'
import notificationPlugin from '@plinth/notification'
import linkage from '@plinth/notification-linkage'
import rulesPlugin from '@plinth/notification-rules'
import storagePlugin from '@plinth/storage'
import t, { type Test } from 'tap'

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const administrator = { username: 'root', password: 'correct horse battery staple' }
const forumKey = 'platform.forum.notifications.enabled'

/** Returns a channel that records its messages. */
function keeping(code: string) {
  const sent: NotificationMessage[] = []
  const plugin = definePlugin({
    id: `test.${code}`,
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [notificationChannel],
    setup: ({ contribute }) =>
      contribute(notificationChannel, code, {
        displayName: code,
        recipientKinds: ['user'],
        traits: { idempotent: false, texts: 'as-written' },
        async send(message) {
          sent.push(message)
          return { outcome: 'accepted' }
        },
      }),
  })
  return { sent, plugin }
}

async function start(
  t: Test,
  at: TestDatabase,
  channels: readonly string[] = ['database', 'mail'],
  more: readonly Plugin[] = [],
) {
  const kept = new Map(channels.map((code) => [code, keeping(code)]))
  const product = defineProduct({
    name: 'linkage',
    plugins: [
      databasePlugin,
      eventsPlugin,
      httpPlugin,
      i18nPlugin,
      iamPlugin,
      storagePlugin,
      asyncTaskPlugin,
      notificationPlugin,
      rulesPlugin,
      linkage,
      ...[...kept.values()].map(({ plugin }) => plugin),
      ...more,
    ],
    config: {
      ...at.config,
      'platform.http.port': 0,
      'platform.storage.root': join(at.directory, 'storage'),
      'platform.notification.default-channel': channels.at(-1) ?? '',
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
    },
  })
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  const bus = running.service(facts.events)
  await running.service(accounts).createAdministrator(administrator, origin)
  const server = running.service(http)
  const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: administrator })
  const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
  /** Returns the messages since the last call, by channel. */
  const sent = async (code = 'database') => {
    await bus.idle()
    return kept.get(code)?.sent.splice(0) ?? []
  }
  return {
    running,
    bus,
    sent,
    /** Publishes an event and returns the messages to users that it causes. */
    async reported<T>(ref: facts.EventRef<T>, fact: T) {
      await bus.publish(ref, fact)
      return sent()
    },
    async rule(code: string, members: object = {}) {
      const url = '/api/v1/notification-rules'
      const response = (await server.inject({ method: 'POST', url, headers, payload: { code, ...members } })).json()
      t.equal(response.code, '200', response.message)
    },
    user: async (username: string) => (await running.service(accounts).create({ username }, origin)).id,
    set: (written: boolean, name = forumKey) => running.config.apply([{ name, by: 'key', written, place: 'test' }]),
  }
}

const [ann, bob] = [11, 12]
const topic = { topicId: 5, topicTitle: 'Tomatoes', topicAuthorId: ann, userId: bob, userName: 'bob' }
const reply = { ...topic, replyId: 6, preview: 'Under glass' }
const likedReply = { topicId: 5, topicTitle: 'Tomatoes', replyId: 6, replyAuthorId: bob, userId: ann }
const report = { reportId: 9, reporterId: bob, status: 'accepted', userId: ann }
const between = { fromUserId: bob, fromUserName: 'Bob', toUserId: ann }
const message = {
  conversationId: 77,
  conversationType: 'group',
  recipientId: ann,
  muted: false,
  senderId: bob,
  senderName: 'Bob',
  preview: 'Hello',
}

onSqlite(
  t,
  'N-096..N-099 N-162 N-170 N-176 the user concerned is told about each event, in the inbox',
  async (t, at) => {
    const { reported, sent } = await start(t, at)
    const expected = async <T>(ref: facts.EventRef<T>, fact: T, userId: number, requested: object) => {
      const [notice, ...others] = await reported(ref, fact)
      assertMembers(t, notice, {
        subject: `messages.notification-linkage.${ref.id}.subject`,
        content: `messages.notification-linkage.${ref.id}.content`,
        recipients: [{ kind: 'user', userId }],
        attributes: { event: ref.id, ...requested },
      })
      t.same(others, [], `${ref.id}: one message`)
    }
    await t.test('N-096 an item about a relationship links to the other person', async (t) => {
      for (const ref of [facts.friendRequested, facts.friendAccepted, facts.friendRejected, facts.userFollowed]) {
        await expected(ref, between, ann, { module: 'social', targetUserId: bob })
      }
      assertMembers(t, await reported(facts.userFollowed, { fromUserId: bob, toUserId: ann }), [
        { variables: { name: '#12' } },
      ])
    })
    await t.test('N-097 a message of a conversation contains its name, its beginning and its sender', async () => {
      await expected(facts.conversationMessageCreated, message, ann, {
        module: 'conversation',
        conversationId: 77,
        conversationType: 'group',
        messagePreview: 'Hello',
        sender: { userId: bob, name: 'Bob' },
      })
    })
    await t.test('N-098 N-170 forum: the author and the reporter are notified', async () => {
      await expected(facts.forumReplyCreated, reply, ann, { module: 'forum', topicId: 5, sourceId: '6' })
      await expected(facts.forumTopicLiked, topic, ann, { module: 'forum', topicId: 5 })
      await expected(facts.forumTopicFavorited, topic, ann, { module: 'forum', topicId: 5 })
      await expected(facts.forumReplyLiked, likedReply, bob, { module: 'forum', topicId: 5 })
      await expected(facts.forumReportStatusChanged, report, bob, { module: 'forum', reportId: 9 })
    })
    await t.test('N-099 N-176 mall: the buyer is notified', async () => {
      const order = { orderNo: 'A1', userId: ann, status: 'shipped' }
      await expected(facts.orderStatusChanged, order, ann, { module: 'mall', orderNo: 'A1' })
      const afterSales = { ...order, afterSalesNo: 'S1' }
      await expected(facts.afterSalesStatusChanged, afterSales, ann, { module: 'mall', afterSalesNo: 'S1' })
    })
    t.same(await sent('mail'), [], 'through no other channel')

    await t.test('N-170 the user who acted is never notified', async (t) => {
      t.same(await reported(facts.forumReplyCreated, { ...reply, userId: ann }), [])
      t.same(await reported(facts.forumTopicLiked, { ...topic, userId: ann }), [])
      t.same(await reported(facts.forumReplyLiked, { ...likedReply, userId: bob }), [])
      t.same(await reported(facts.forumReportStatusChanged, { ...report, userId: bob }), [])
      t.same(await reported(facts.userFollowed, { fromUserId: ann, toUserId: ann }), [])
      t.same(await reported(facts.conversationMessageCreated, { ...message, senderId: ann }), [])
    })
    t.same(
      await reported(facts.conversationMessageCreated, { ...message, muted: true }),
      [],
      'nor who muted the conversation',
    )
    t.same(
      await reported(facts.forumReportStatusChanged, { ...report, status: 'pending' }),
      [],
      'N-167 nor of a pending report',
    )
  },
)

onSqlite(t, 'N-167 N-169 N-178 the switch of the forum stops notices but no alert', async (t, at) => {
  const { reported, rule, user, set } = await start(t, at)
  const moderator = await user('moderator')
  for (const { id } of [facts.forumReplyCreated, facts.forumReportStatusChanged]) {
    await rule(id, { recipientUserIds: [moderator] })
  }
  const receivers = (sent: readonly NotificationMessage[]) =>
    sent.map(({ recipients: [first] }) => (first?.kind === 'user' ? first.userId : 0)).sort((a, b) => a - b)
  t.same(receivers(await reported(facts.forumReportStatusChanged, report)), [bob, moderator])
  t.same(receivers(await reported(facts.forumReportStatusChanged, { ...report, status: 'pending' })), [], 'N-167')
  const [notified] = await assertKeyEffect(t, 'platform.forum.notifications.enabled', {
    changed: false,
    async observe(values) {
      await set(values[forumKey] !== false)
      return receivers(await reported(facts.forumReplyCreated, reply))
    },
  })
  assertMembers(
    t,
    notified,
    { before: [ann, moderator], after: [moderator] },
    'N-178 the moderator is notified in any case',
  )
  t.same(receivers(await reported(facts.forumTopicLiked, topic)), [])
  t.same(receivers(await reported(facts.userFollowed, between)), [ann], 'other notices are sent')
  await set(true)
  t.same(receivers(await reported(facts.forumTopicLiked, topic)), [ann])
})

onSqlite(t, 'N-014 the switch of conversations stops only their notices', async (t, at) => {
  const { reported, set } = await start(t, at)
  await assertKeyEffect(t, 'platform.conversation.enabled', {
    changed: false,
    async observe(values) {
      await set(values['platform.conversation.enabled'] !== false, 'platform.conversation.enabled')
      return (await reported(facts.conversationMessageCreated, message)).length
    },
  })
  t.equal((await reported(facts.userFollowed, between)).length, 1, 'other notices are sent')
  await set(true, 'platform.conversation.enabled')
  t.equal((await reported(facts.conversationMessageCreated, message)).length, 1)
})

const [reason, name] = ['no answer', 'Acme']
/** One event for each alert that the requirements list. */
const endpoint = { endpointId: 1, endpointName: 'ERP', ownerId: 1, failedAttempts: 12 }
const alerts: readonly (readonly [ref: facts.EventRef, fact: object])[] = [
  [facts.openBalanceLow, { appId: 1, appName: name, balance: 5 }],
  [facts.openPackageExhausted, { appId: 1, appName: name, package: 'small' }],
  [facts.openKeyAbnormal, { appId: 1, appName: name, reason }],
  [facts.openProviderProblem, { provider: 'sms', reason }],
  [facts.openRateLimited, { appId: 1, appName: name, route: '/api/v1/open/orders' }],
  [facts.abuseSuspected, { area: 'sms-codes', subject: '+252', count: 400, limit: 500 }],
  [facts.queueJobFailed, { queue: 'mail', job: 'send', reason }],
  [facts.outboxDeliveryFailed, { eventId: 1, type: 'shop.paid', attempts: 10, reason }],
  [facts.compensationFailed, { command: 'refund', reason }],
  [facts.settlementFailed, { chain: 'polygon', reason }],
  [
    facts.scheduledTaskFailed,
    { task: 'iam.purge', error: reason, startedAt: '2026-11-22T10:00:00Z', consecutiveFailures: 2 },
  ],
  [
    facts.asyncTaskFailed,
    { taskId: 1, type: 'shop.report', ownerId: 1, reason: 'async-task.lost', error: reason, attempts: 3 },
  ],
  [facts.contentReviewPending, { reviewId: 1, contentType: 'topic', title: 'Tomatoes' }],
  [facts.contentReviewRejected, { reviewId: 1, contentType: 'topic', title: 'Tomatoes' }],
  [
    facts.InstallCompletedEvent,
    { sessionId: 's', completedAt: '2026-11-22', restartSuggested: false, logCount: 1, message: 'ok' },
  ],
  [
    facts.InstallExecutionFailedEvent,
    {
      sessionId: 's',
      failedAt: 'x',
      failedStepCode: 'administrator',
      stepMessage: reason,
      failedStepCount: 1,
      logCount: 1,
      message: 'x',
    },
  ],
  [facts.virtualStockLow, { sku: 'V1', name: 'Key', stock: 3 }],
  [facts.virtualStockOut, { sku: 'V1', name: 'Key', stock: 0 }],
  [facts.afterSalesPendingReview, { afterSalesNo: 'S1', orderNo: 'A1' }],
  [facts.orderPendingFulfilment, { orderNo: 'A1' }],
  [facts.articlePublished, { articleId: 1, title: 'Spring', authorId: 1 }],
  [facts.contentRejected, { contentId: 1, title: 'Spring', authorId: 1, reason }],
  [facts.forumReplyCreated, { topicId: 5, topicTitle: 'Tomatoes', topicAuthorId: 1, replyId: 6, userId: 1 }],
  [facts.riskLinkVisited, { linkId: 1, linkCode: 'x7', reason }],
  [facts.liveCodeFallbackUsed, { liveCodeId: 1, name: 'Door' }],
  [facts.forumTopicLiked, { topicId: 5, topicTitle: 'Tomatoes', topicAuthorId: 1, userId: 1 }],
  [facts.forumTopicFavorited, { topicId: 5, topicTitle: 'Tomatoes', topicAuthorId: 1, userId: 1 }],
  [facts.forumReplyLiked, { topicId: 5, topicTitle: 'Tomatoes', replyId: 6, replyAuthorId: 1, userId: 1 }],
  [facts.forumReportStatusChanged, { reportId: 9, reporterId: 1, status: 'accepted', userId: 1 }],
  [facts.webhookEndpointFailing, endpoint],
  [facts.webhookEndpointSuspended, { ...endpoint, reason: 'gone' }],
  [facts.backupCompleted, { backupId: '2026-11-30T02-30-00-000Z', rows: 100, files: 2, bytes: 10_000, seconds: 3 }],
  [facts.backupFailed, { code: 'PLINTH_BACKUP_TOOL', error: reason }],
]

onSqlite(
  t,
  'N-163 N-168 N-177 N-179 every subject is an alert for the recipients of its rule, and every placeholder is filled',
  async (t, at) => {
    const { reported, rule, user, sent, running } = await start(t, at)
    const operator = await user('operator')
    t.equal(alerts.length, 24 + 9)
    const { translate } = running.service(i18n)
    for (const [ref, fact] of alerts) {
      t.same(await reported(ref, fact), [], `${ref.id}: without a rule nobody is told`)
    }
    // Modules whose alerts go to other channels, as their rule templates recommend.
    const either = ['install.', 'cms.', 'short-link.', 'live-code.']
    for (const [ref, fact] of alerts) {
      const isEither = either.some((module) => ref.id.startsWith(module))
      await rule(ref.id, { recipientUserIds: [operator], channels: isEither ? ['database', 'mail'] : [] })
      const [alert, ...others] = await reported(ref, fact)
      assertMembers(t, alert, {
        recipients: [{ kind: 'user', userId: operator }],
        attributes: { event: ref.id, module: ref.id.split('.')[0], ruleCode: ref.id },
      })
      t.same(others, [])
      t.equal((await sent('mail')).length, isEither ? 1 : 0, `${ref.id}: mail as its rule says`)
      for (const locale of ['en', 'zh-CN']) {
        for (const text of [alert?.subject, alert?.content]) {
          const shown = translate(locale, text ?? '', alert?.variables as Record<string, string>)
          t.notMatch(shown, /\{\{|^messages\.|undefined/, `${ref.id} in ${locale}: ${shown}`)
          t.ok(shown !== undefined && shown !== '')
        }
      }
    }
    const [failed] = alerts.filter(([ref]) => ref === facts.outboxDeliveryFailed)
    const ofNotification = { ...failed?.[1], type: 'notification.part' }
    t.same(await reported(facts.outboxDeliveryFailed, ofNotification as never), [], 'no alert about alerts that fail')
  },
)

onSqlite(t, 'an event that is delivered again causes one message and one count', async (t, at) => {
  let failures = 0
  const restless = definePlugin({
    id: 'test.restless',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { events: facts.events },
    setup: ({ services }) =>
      services.events.on(facts.forumReplyCreated, 'test.restless', () => {
        if (++failures <= 2) throw new Error('not yet')
      }),
  })
  const { bus, rule, user, sent } = await start(t, at, ['database'], [restless])
  const moderator = await user('moderator')
  await rule('forum.reply.created', { recipientUserIds: [moderator], thresholdCount: 2 })
  await bus.publish(facts.forumReplyCreated, reply)
  t.equal((await sent()).length, 1, 'the author; one event is below the threshold')
  t.ok(failures >= 1, 'the event comes again')
  await bus.publish(facts.forumReplyCreated, { ...reply, replyId: 7 })
  t.equal((await sent()).length, 2, 'the author again, and the moderator')
})

onSqlite(t, 'without inboxes notices go to the default channel', async (t, at) => {
  const { bus, sent } = await start(t, at, ['mail'])
  await bus.publish(facts.forumTopicLiked, topic)
  assertMembers(t, await sent('mail'), [{ recipients: [{ kind: 'user', userId: ann }] }])
})
