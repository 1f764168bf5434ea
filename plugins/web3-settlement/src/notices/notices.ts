import type { Delivery, Events } from '@plinth/events'
import { isBusinessError, type Logger, type Recipient } from '@plinth/kernel'
import type { Notification } from '@plinth/notification'
import type { Chain } from '@plinth/web3'
import { settlementAtRisk, settlementNotExecuted, settlementSucceeded } from '../contract.ts'

/**
 * Returns the URL of the page that shows a transaction; null if the chain has no explorer. Replaces `{hash}`, or
 * appends the hash.
 */
export function explorerUrlOf(
  chain: Pick<Chain, 'explorerTransactionUrl'> | undefined,
  transactionHash: string | null,
): string | null {
  const address = chain?.explorerTransactionUrl
  if (address == null || address === '' || transactionHash === null) return null
  if (address.includes('{hash}')) return address.replaceAll('{hash}', transactionHash)
  return `${address.replace(/\/$/, '')}/${transactionHash}`
}

interface NoticeRules {
  readonly enabled: boolean
  readonly channels: readonly string[]
  readonly subject: string
  readonly recipient?: { readonly type: string; readonly value: string }
}

interface NoticeDependencies {
  readonly events: Pick<Events, 'on'>
  readonly notification: Notification
  readonly log: Pick<Logger, 'warn'>
  readonly failures: () => NoticeRules
  readonly risks: () => NoticeRules
}

interface Payment {
  readonly outTradeNo: string
  readonly chainName: string | null
  readonly transactionHash: string | null
  readonly explorerUrl: string | null
}

interface Notice {
  readonly channels?: readonly string[]
  readonly subject: string
  readonly content: string
  readonly variables: Readonly<Record<string, string>>
  readonly recipient?: NoticeRules['recipient']
}

const texts = 'messages.web3-settlement'

/**
 * Sends notices about settlements. The outbox delivers one event for each committed change. A repeated delivery sends
 * no second notice, because the event id identifies the notice. Notices contain only order, chain, hash, explorer link
 * and reasons (document 3 of the specification, "Events" 4).
 */
export function addNotices({ events, notification, log, failures, risks }: NoticeDependencies): void {
  const tell = async ({ id, type }: Delivery, notice: Notice) => {
    const { channels, subject, content, variables, recipient } = notice
    const recipients = recipientsOf(recipient)
    const options = {
      idempotencyKey: `${type}:${id}`,
      ...(channels === undefined || channels.length === 0 ? {} : { channels }),
    }
    try {
      await notification.enqueue({ subject, content, variables, recipients }, options)
    } catch (error) {
      // For example, the configured channel is not loaded. Another attempt would fail too, so the error is only logged.
      if (!isBusinessError(error)) throw error
      log.warn({ reason: error.reason, event: type }, 'a notification about a settlement could not be sent')
    }
  }
  const inTransaction = { transaction: true }

  events.on(
    settlementSucceeded,
    'web3-settlement.notice',
    (delivery) =>
      tell(delivery, {
        subject: `${texts}.settled.subject`,
        content: `${texts}.settled.content`,
        variables: variablesOf(delivery.payload),
      }),
    inTransaction,
  )
  events.on(
    settlementNotExecuted,
    'web3-settlement.notice',
    async (delivery) => {
      const { enabled, ...rules } = failures()
      const { outcome, reasons } = delivery.payload
      const variables = { ...variablesOf(delivery.payload), outcome, reasons: reasons.join(', ') }
      if (enabled) await tell(delivery, { ...rules, content: `${texts}.failed.content`, variables })
    },
    inTransaction,
  )
  events.on(
    settlementAtRisk,
    'web3-settlement.notice',
    async (delivery) => {
      const { enabled, ...rules } = risks()
      const { riskLevel: level, riskReasons } = delivery.payload
      const variables = { ...variablesOf(delivery.payload), level, reasons: riskReasons.join(', ') }
      if (enabled) await tell(delivery, { ...rules, content: `${texts}.risk.content`, variables })
    },
    inTransaction,
  )
}

const variablesOf = ({ outTradeNo, chainName, transactionHash, explorerUrl }: Payment) => ({
  outTradeNo,
  chain: chainName ?? '-',
  transaction: transactionHash ?? '-',
  link: explorerUrl ?? '',
})

/**
 * Returns the recipients of a notice. Without a valid recipient the list is empty, so only channels that need no
 * recipient can send.
 */
function recipientsOf(recipient: NoticeRules['recipient']): readonly Recipient[] {
  if (recipient === undefined || recipient.type === '' || recipient.value === '') return []
  const { type, value } = recipient
  const userId = Number(value)
  const isUser = Number.isSafeInteger(userId) && userId > 0
  switch (type) {
    case 'user':
      return isUser ? [{ kind: 'user', userId }] : []
    case 'websocket-user':
      return isUser ? [{ kind: 'websocket-user', userId }] : []
    case 'websocket-group':
      return [{ kind: 'websocket-group', group: value }]
    case 'email':
      return [{ kind: 'email', address: value }]
    case 'mobile':
      return [{ kind: 'mobile', number: value }]
    default:
      return [{ kind: 'topic', topic: value }]
  }
}
