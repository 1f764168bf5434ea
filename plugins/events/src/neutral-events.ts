import { Type } from '@plinth/http'
import { event } from './contract.ts'

/*
 * Events that several plugins share without depending on each other (decision A9; document 1 of the specification,
 * "Neutral task event kinds"; document 2, "Events"). Only publish an event that has really happened. Amounts are in
 * minor units. Times are in milliseconds since the epoch. Publish all events of an order under the key
 * `order:{orderNo}`. Texts must be cut to their maximum length and must not contain secrets.
 */

const userId = Type.Integer({ minimum: 1 })
const amount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const number = Type.String({ minLength: 1, maxLength: 64 })
const id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const title = Type.String({ maxLength: 200 })
const name = Type.String({ maxLength: 128 })
const status = Type.String({ minLength: 1, maxLength: 64 })
const reason = Type.String({ maxLength: 500 })

/** `cashAmount` is the amount paid in money, without points and coupons. */
export const orderPaid = event(
  'commerce.order.paid',
  Type.Object({
    orderNo: number,
    userId,
    cashAmount: amount,
    currency: Type.String({ pattern: '^[A-Z]{3,8}$' }),
    paidAt: Type.Integer({ minimum: 0 }),
  }),
)

/** One refund of an order. `orderCashAmount` is the amount that was paid in money for the order. */
export const orderRefunded = event(
  'commerce.order.refunded',
  Type.Object({ refundNo: number, orderNo: number, userId, refundAmount: amount, orderCashAmount: amount }),
)

export const profileCompletion = event('profile-completion', Type.Object({ userId }))

/** A user paid for an order for the first time. */
export const firstOrder = event('first-order', Type.Object({ userId, orderNo: number }))

/** A review that deserves a reward. */
export const reviewReward = event('review-reward', Type.Object({ userId, reviewId: number }))

const topic = { topicId: id, topicTitle: title }
const acting = { userId, userName: Type.Optional(name) }

/** `userId` replied to the topic of `topicAuthorId`. */
export const forumReplyCreated = event(
  'forum.reply.created',
  Type.Object({ ...topic, topicAuthorId: userId, replyId: id, preview: Type.Optional(title), ...acting }),
)

/** `userId` liked the topic of `topicAuthorId`. */
export const forumTopicLiked = event('forum.topic.liked', Type.Object({ ...topic, topicAuthorId: userId, ...acting }))

/** `userId` added the topic of `topicAuthorId` to the favorites. */
export const forumTopicFavorited = event(
  'forum.topic.favorited',
  Type.Object({ ...topic, topicAuthorId: userId, ...acting }),
)

/** `userId` liked the reply of `replyAuthorId`. */
export const forumReplyLiked = event(
  'forum.reply.liked',
  Type.Object({ ...topic, replyId: id, replyAuthorId: userId, ...acting }),
)

/** `userId` set the status of a report. `pending` is the initial status. */
export const forumReportStatusChanged = event(
  'forum.report.status-changed',
  Type.Object({
    reportId: id,
    reporterId: userId,
    status,
    subject: Type.Optional(title),
    userId: Type.Optional(userId),
  }),
)

const between = Type.Object({ fromUserId: userId, fromUserName: Type.Optional(name), toUserId: userId })

/** `fromUserId` sent a friend request to `toUserId`. */
export const friendRequested = event('social.friend.requested', between)
/** `fromUserId` accepted the friend request of `toUserId`. */
export const friendAccepted = event('social.friend.accepted', between)
/** `fromUserId` rejected the friend request of `toUserId`. */
export const friendRejected = event('social.friend.rejected', between)
/** `fromUserId` follows `toUserId`. */
export const userFollowed = event('social.user.followed', between)

/** A member of a conversation received a message (decision A20). `muted`: this member wants no notification. */
export const conversationMessageCreated = event(
  'conversation.message.created',
  Type.Object({
    conversationId: id,
    conversationType: Type.String({ minLength: 1, maxLength: 32 }),
    recipientId: userId,
    muted: Type.Boolean(),
    senderId: Type.Optional(userId),
    senderName: name,
    preview: title,
  }),
)

export const orderStatusChanged = event('mall.order.status-changed', Type.Object({ orderNo: number, userId, status }))
export const afterSalesStatusChanged = event(
  'mall.after-sales.status-changed',
  Type.Object({ afterSalesNo: number, orderNo: number, userId, status }),
)

const stock = Type.Object({ sku: number, name: title, stock: Type.Integer({ minimum: 0 }) })

/** The stock of goods that are not shipped, such as codes, is low. */
export const virtualStockLow = event('mall.virtual-delivery.low-stock', stock)
export const virtualStockOut = event('mall.virtual-delivery.out-of-stock', stock)
export const afterSalesPendingReview = event(
  'mall.after-sales.pending-review',
  Type.Object({ afterSalesNo: number, orderNo: number }),
)
export const orderPendingFulfilment = event('mall.order.pending-fulfilment', Type.Object({ orderNo: number }))

export const articlePublished = event('blog.article.published', Type.Object({ articleId: id, title, authorId: userId }))
export const contentRejected = event(
  'cms.review.rejected',
  Type.Object({ contentId: id, title, authorId: userId, reason }),
)
/** A visitor opened a short link that shows a warning. */
export const riskLinkVisited = event('short-link.risk-visit', Type.Object({ linkId: id, linkCode: number, reason }))
/** A dynamic QR code showed its fallback, because no other target was available. */
export const liveCodeFallbackUsed = event('live-code.fallback-used', Type.Object({ liveCodeId: id, name: title }))

const review = Type.Object({ reviewId: id, contentType: number, title })

export const contentReviewPending = event('content-safety.review.pending', review)
export const contentReviewRejected = event('content-safety.review.rejected', review)

const application = { appId: id, appName: name }

export const openBalanceLow = event('open-platform.balance-low', Type.Object({ ...application, balance: amount }))
export const openPackageExhausted = event(
  'open-platform.package-exhausted',
  Type.Object({ ...application, package: name }),
)
export const openKeyAbnormal = event('open-platform.key-abnormal', Type.Object({ ...application, reason }))
export const openProviderProblem = event('open-platform.provider-fault', Type.Object({ provider: name, reason }))
export const openRateLimited = event('open-platform.rate-limited', Type.Object({ ...application, route: title }))

const endpoint = {
  endpointId: id,
  endpointName: name,
  ownerId: userId,
  failedAttempts: Type.Integer({ minimum: 0 }),
}
/** Every attempt to send webhooks to an endpoint failed for 24 hours. Published once until the next success. */
export const webhookEndpointFailing = event('webhooks.endpoint.failing', Type.Object(endpoint))
/** The product suspended a webhook endpoint. `reason`: `failing`, `gone` or `no-rights`. */
export const webhookEndpointSuspended = event('webhooks.endpoint.suspended', Type.Object({ ...endpoint, reason }))

/**
 * A public operation is called so often that abuse is likely. Published once per window of the limit. `area` is a
 * stable code, for example `sms-codes`. `subject` is a part of the area, for example a calling code.
 */
export const abuseSuspected = event(
  'security.abuse-suspected',
  Type.Object({ area: name, subject: name, count: Type.Integer(), limit: Type.Integer() }),
)

/** A backup is complete and proven. */
export const backupCompleted = event(
  'backup.completed',
  Type.Object({
    backupId: number,
    rows: amount,
    files: amount,
    bytes: amount,
    seconds: Type.Number({ minimum: 0, description: 'Seconds from the beginning to the proof.' }),
  }),
)

/** A backup failed, and nothing of it is left. */
export const backupFailed = event(
  'backup.failed',
  Type.Object({
    code: name,
    error: Type.String({ description: 'Message for operators with masked secrets, at most 500 characters.' }),
  }),
)

/** A queue job failed after its last attempt. */
export const queueJobFailed = event('queue.job.failed', Type.Object({ queue: name, job: name, reason }))
export const compensationFailed = event('compensation.command.failed', Type.Object({ command: name, reason }))
/** A chain scan or the settlement of its results failed. */
export const settlementFailed = event('web3.settlement.failed', Type.Object({ chain: name, reason }))

/** A task failed. Published in the transaction that records the failure, for alerts and rules. */
export const asyncTaskFailed = event(
  'async-task.failed',
  Type.Object({
    taskId: Type.Integer(),
    type: Type.String(),
    ownerId: Type.Integer(),
    reason: Type.String({ description: 'Stable dotted code.' }),
    error: Type.String({ description: 'Message for operators with masked secrets, at most 500 characters.' }),
    attempts: Type.Integer(),
  }),
)

/**
 * A run of a scheduled task failed. Published in the transaction that records the run, for alerts and rules. Aborted
 * and lost runs are not failures.
 */
export const scheduledTaskFailed = event(
  'scheduler.task.failed',
  Type.Object({
    task: Type.String(),
    error: Type.String({
      description: 'Message of the error of the task with masked secrets, at most 500 characters.',
    }),
    startedAt: Type.String({ format: 'date-time' }),
    consecutiveFailures: Type.Integer({
      minimum: 1,
      description:
        'Number of failed runs since the last successful one, including this run, as far as the run history reaches.',
    }),
  }),
)

/** An installation succeeded. Used by the notification rule `install.execution.completed`. */
export const InstallCompletedEvent = event(
  'install.execution.completed',
  Type.Object({
    sessionId: Type.String(),
    completedAt: Type.String(),
    restartSuggested: Type.Boolean(),
    logCount: Type.Integer(),
    message: Type.String(),
  }),
)

/** An installation failed. Used by the notification rule `install.execution.failed`. */
export const InstallExecutionFailedEvent = event(
  'install.execution.failed',
  Type.Object({
    sessionId: Type.String(),
    failedAt: Type.String(),
    failedStepCode: Type.String(),
    stepMessage: Type.String(),
    failedStepCount: Type.Integer(),
    logCount: Type.Integer(),
    message: Type.String(),
  }),
)
