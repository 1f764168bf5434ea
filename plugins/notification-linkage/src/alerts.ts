import {
  abuseSuspected,
  afterSalesPendingReview,
  articlePublished,
  asyncTaskFailed,
  backupCompleted,
  backupFailed,
  compensationFailed,
  contentRejected,
  contentReviewPending,
  contentReviewRejected,
  type EventRef,
  forumReplyCreated,
  forumReplyLiked,
  forumReportStatusChanged,
  forumTopicFavorited,
  forumTopicLiked,
  InstallCompletedEvent,
  InstallExecutionFailedEvent,
  liveCodeFallbackUsed,
  openBalanceLow,
  openKeyAbnormal,
  openPackageExhausted,
  openProviderProblem,
  openRateLimited,
  orderPendingFulfilment,
  outboxDeliveryFailed,
  queueJobFailed,
  riskLinkVisited,
  scheduledTaskFailed,
  settlementFailed,
  virtualStockLow,
  virtualStockOut,
  webhookEndpointFailing,
  webhookEndpointSuspended,
} from '@plinth/events'
import { fitTextToColumn } from '@plinth/kernel'
import type { RaisedEvent } from '@plinth/notification-rules'
import { isProcessed } from './notices.ts'

/** A kind of event that can be an alert. The id of the event is also the code of the notification rule. */
interface AlertKind {
  readonly ref: EventRef
  /** Returns undefined if the event is not an alert. */
  alertOf(payload: unknown): RaisedEvent | undefined
}

/**
 * @param keyOf returns the key of an event. Events with the same key are one alert. There must be few distinct keys,
 * because each needs a row in the database.
 * @param isAlert selects the events that are alerts
 */
const kind = <T extends object>(
  ref: EventRef<T>,
  keyOf: (payload: T) => string | number,
  isAlert: (payload: T) => boolean = () => true,
): AlertKind => ({
  ref,
  alertOf(fact: T) {
    if (!isAlert(fact)) return undefined
    return {
      code: ref.id,
      dedupeKey: dedupeKeyOf(ref.id, keyOf(fact)),
      variables: scalarsOf(fact),
      attributes: idsOf(fact),
    }
  },
})

const maxKeyLength = 200

/** Replaces control characters, because dedupe keys must not contain them. The key may contain names of users. */
const dedupeKeyOf = (code: string, key: string | number) =>
  fitTextToColumn(`${code}:${String(key).replace(/\p{Cc}+/gu, ' ')}`, maxKeyLength)

/** Default values for optional payload fields that are inserted into texts. */
const defaultVariables = { preview: '' }

const scalarsOf = (payload: object): Readonly<Record<string, string | number | boolean>> =>
  Object.fromEntries([
    ...Object.entries(defaultVariables),
    ...Object.entries(payload).filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value)),
  ])

/**
 * Payload fields that identify the object which opens when the user selects an inbox item. The inbox reads them from
 * the attributes of a message.
 */
const jumpIds = ['topicId', 'reportId', 'orderNo', 'afterSalesNo']
const idsOf = (payload: object) =>
  Object.fromEntries(Object.entries(payload).filter(([name]) => jumpIds.includes(name)))

/**
 * False for events about notifications. Otherwise a failed alert would raise another alert. The failure is in the log.
 */
const isNoNotification = ({ type }: { readonly type: string }) => !type.startsWith('notification.')

/**
 * Events on which notification rules can alert (document 2 of the specification, "Rule-based alerts are served for").
 */
export const alertKinds: readonly AlertKind[] = [
  kind(openBalanceLow, ({ appId }) => appId),
  kind(openPackageExhausted, ({ appId }) => appId),
  kind(openKeyAbnormal, ({ appId }) => appId),
  kind(openProviderProblem, ({ provider }) => provider),
  kind(openRateLimited, ({ appId }) => appId),
  kind(webhookEndpointFailing, ({ endpointId }) => endpointId),
  kind(webhookEndpointSuspended, ({ endpointId }) => endpointId),
  kind(abuseSuspected, ({ area, subject }) => `${area}:${subject}`),
  kind(queueJobFailed, ({ queue }) => queue),
  kind(outboxDeliveryFailed, ({ type }) => type, isNoNotification),
  kind(compensationFailed, ({ command }) => command),
  kind(settlementFailed, ({ chain }) => chain),
  kind(scheduledTaskFailed, ({ task }) => task),
  kind(asyncTaskFailed, ({ type }) => type),
  kind(backupCompleted, () => 'completed'),
  kind(backupFailed, ({ code }) => code),
  kind(contentReviewPending, ({ contentType }) => contentType),
  kind(contentReviewRejected, ({ contentType }) => contentType),
  kind(InstallCompletedEvent, ({ sessionId }) => sessionId),
  kind(InstallExecutionFailedEvent, ({ failedStepCode }) => failedStepCode),
  kind(virtualStockLow, ({ sku }) => sku),
  kind(virtualStockOut, ({ sku }) => sku),
  kind(afterSalesPendingReview, ({ afterSalesNo }) => afterSalesNo),
  kind(orderPendingFulfilment, ({ orderNo }) => orderNo),
  kind(articlePublished, ({ articleId }) => articleId),
  kind(contentRejected, ({ contentId }) => contentId),
  kind(riskLinkVisited, ({ linkId }) => linkId),
  kind(liveCodeFallbackUsed, ({ liveCodeId }) => liveCodeId),
  kind(forumReplyCreated, ({ topicId }) => topicId),
  kind(forumTopicLiked, ({ topicId }) => topicId),
  kind(forumTopicFavorited, ({ topicId }) => topicId),
  kind(forumReplyLiked, ({ topicId }) => topicId),
  kind(forumReportStatusChanged, ({ reportId }) => reportId, isProcessed),
]
