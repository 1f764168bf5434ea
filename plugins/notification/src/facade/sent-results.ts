import type { Database } from '@plinth/database'
import type { SendResult } from '../contract.ts'
import { NotificationRow, SendLogRow } from '../entities.ts'
import { interruption } from '../send-log/send-log-writer.ts'
import type { AdministratorsResult } from './administrators-send.ts'
import { combineSendResults, failedSendResult } from './results.ts'

export const queuedResult = (channel: string, messageId: string): AdministratorsResult => ({
  channel,
  success: true,
  outcome: 'accepted',
  messageId,
  errorCode: null,
  errorMessage: null,
  queued: true,
})

const loggedFields = [
  'status',
  'channel',
  'outcome',
  'messageId',
  'recipientCount',
  'provider',
  'errorCode',
  'errorMessage',
  'providerCode',
  'providerMessage',
  'hint',
] as const
type LoggedSend = Pick<SendLogRow, (typeof loggedFields)[number]>

/** Returns a hint for operators in the language of the site. */
export type HintText = (hint: string) => string

/** A message in the list of messages. */
export type KeptMessage = Pick<NotificationRow, 'id' | 'messageId'>

/**
 * Returns the message of a call whose response was lost, and its results. A channel without a stored outcome is `unknown`.
 * Returns undefined if the message was not stored. Then it was not sent either.
 */
export async function readSentResults(
  db: Database,
  claimId: number,
  channels: readonly string[],
  hintText: HintText,
): Promise<{ readonly message: KeptMessage; readonly results: readonly AdministratorsResult[] } | undefined> {
  const em = db.fork()
  const message = await em.findOne(NotificationRow, { claimId })
  if (message === null) return undefined
  if (message.parts > 0 || message.payload != null) {
    return { message, results: channels.map((channel) => queuedResult(channel, message.messageId)) }
  }
  const first = { notificationId: message.id, retryOfId: null }
  const rows: readonly LoggedSend[] = await em.find(SendLogRow, first, { fields: loggedFields, orderBy: { id: 'asc' } })
  const results = channels.map((channel) =>
    resultOf(
      channel,
      message,
      rows.filter((row) => row.channel === channel),
      hintText,
    ),
  )
  return { message, results }
}

function resultOf(
  channel: string,
  message: NotificationRow,
  rows: readonly LoggedSend[],
  hintText: HintText,
): SendResult {
  const { messageId, state, recipientCount } = message
  const results = rows.map((row) => resultOfRow(row, messageId, hintText))
  // The process may have died before it sent to all recipients.
  const logged = rows.reduce((sum, row) => sum + row.recipientCount, 0)
  const isComplete = rows.length > 0 && (state === 'finished' || logged >= recipientCount)
  return combineSendResults(messageId, isComplete ? results : [...results, unknownResult(channel, messageId)])
}

function resultOfRow(row: LoggedSend, sentId: string, hintText: HintText): SendResult {
  const { channel, status, messageId, errorCode, errorMessage, provider, providerCode, providerMessage, hint } = row
  const isWaiting = status === 'waiting'
  const outcome = row.outcome ?? (isWaiting ? 'deferred' : null)
  if (outcome === null) return unknownResult(channel, sentId)
  return {
    channel,
    success: outcome === 'accepted',
    outcome,
    ...(isWaiting ? { queued: true } : {}),
    messageId,
    errorCode: errorCode ?? null,
    errorMessage: errorMessage ?? null,
    ...(provider == null ? {} : { provider }),
    ...(providerCode == null ? {} : { providerCode }),
    ...(providerMessage == null ? {} : { providerMessage }),
    ...(hint == null ? {} : { hint: hintText(hint) }),
  }
}

const unknownResult = (channel: string, id: string) =>
  failedSendResult(channel, { id }, interruption.errorCode, interruption.errorMessage, { outcome: 'unknown' })
