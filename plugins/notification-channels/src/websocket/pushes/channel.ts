import { jumpTargetOf } from '@plinth/inbox'
import {
  type Clock,
  type DeliveryOutcome,
  errorReason,
  type Logger,
  type NotificationChannel,
  type NotificationMessage,
  redact,
  type SendContext,
  secretsOf,
} from '@plinth/kernel'
import { hasNoText, missingTextError } from '../../message-text.ts'
import type { Targets } from '../connections/socket-table.ts'
import type { CreatedPush, Deliverer } from './deliverer.ts'
import type { CategoryOf, FanOut } from './fan-out.ts'

const maxSubjectLength = 500
const maxContentLength = 65_536
/** Maximum length of the variables as JSON, in characters. */
const largestVariables = 16_384

interface ChannelDependencies {
  readonly deliverer: Deliverer
  readonly fanOut: FanOut
  readonly categoryOf: CategoryOf
  /**
   * True if a database table stores the messages between instances for some time. Messages with secrets are then not
   * sent to other instances.
   */
  readonly isStoredOnTheWay: boolean
  readonly enabled: () => boolean
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
}

/**
 * Sends pushes to open connections. A push is only a fast hint, and the inbox stores the messages (document 2 of the
 * specification, "Boundaries"). A push is `accepted` when sent to connections or other instances, even if no recipient
 * is online.
 */
export class WebsocketChannel implements NotificationChannel {
  readonly displayName = { en: 'Realtime push', 'zh-CN': '实时推送' }
  readonly recipientKinds = [
    'user',
    'websocket-user',
    'websocket-session',
    'websocket-group',
    'websocket-guest',
  ] as const
  readonly traits = { idempotent: false }
  readonly #parts: ChannelDependencies

  constructor(parts: ChannelDependencies) {
    this.#parts = parts
  }

  enabled(): boolean {
    return this.#parts.enabled()
  }

  async send(message: NotificationMessage, { signal, idempotencyKey }: SendContext): Promise<DeliveryOutcome> {
    if (signal.aborted) return deferred
    const problem = this.#problemOf(message)
    if (problem !== undefined) return { outcome: 'rejected', ...problem }
    const { deliverer, fanOut, categoryOf, clock } = this.#parts
    const push = pushOf(message, idempotencyKey, clock.now(), categoryOf)
    let hasBegun = false
    const onBegin = () => {
      hasBegun = true
    }
    let handed = 0
    try {
      handed = await deliverer.deliver(push, { signal, onBegin })
      if (signal.aborted && handed === 0) return deferred
    } catch (error) {
      this.#warn(message, error, 'a message could not be pushed to connections of this instance')
      return hasBegun ? unknown : deferred
    }
    try {
      await untilAborted(fanOut.publish(push), signal)
    } catch (error) {
      this.#warn(message, error, 'a message could not be pushed to other instances')
      if (handed === 0) return unknown
    }
    const providerMessage = `Handed to ${handed} connections of this instance`
    return { outcome: 'accepted', messageId: idempotencyKey, providerMessage }
  }

  #problemOf(message: NotificationMessage) {
    const { subject, content } = message
    const problem = (errorCode: string, errorMessage: string) => ({ errorCode, errorMessage })
    if (!hasTargets(targetsOf(message)))
      return problem('recipient-missing', 'The message is for nobody who can be online')
    if (hasNoText(message)) return missingTextError
    if (subject.length > maxSubjectLength)
      return problem('subject-too-long', `The subject has more than ${maxSubjectLength} characters`)
    if (content.length > maxContentLength)
      return problem('content-too-long', `The content has more than ${maxContentLength} characters`)
    if (JSON.stringify(openVariables(message)).length > largestVariables)
      return problem('variables-too-large', `The variables have more than ${largestVariables} characters`)
    const holdsSecret = secretsOf(message).some((secret) => subject.includes(secret) || content.includes(secret))
    if (holdsSecret && this.#parts.isStoredOnTheWay)
      return problem('secret-needs-redis', 'A text with a secret goes to other instances through Redis only')
    return undefined
  }

  #warn(message: NotificationMessage, error: unknown, text: string): void {
    const reason = redact(errorReason(error), secretsOf(message))
    this.#parts.log.warn({ messageId: message.id, reason }, text)
  }
}

const deferred = { outcome: 'deferred', errorCode: 'aborted', errorMessage: 'Cancelled before sending' } as const
const unknown = {
  outcome: 'unknown',
  errorCode: 'instances-unreachable',
  errorMessage: 'Whether other instances have it is not known',
} as const

function targetsOf({ recipients }: NotificationMessage) {
  return {
    userIds: recipients.flatMap((one) => (one.kind === 'user' || one.kind === 'websocket-user' ? [one.userId] : [])),
    sessionIds: recipients.flatMap((one) => (one.kind === 'websocket-session' ? [one.sessionId] : [])),
    groups: recipients.flatMap((one) => (one.kind === 'websocket-group' ? [one.group] : [])),
    guests: recipients.some(({ kind }) => kind === 'websocket-guest'),
  }
}

const hasTargets = ({ userIds, sessionIds, groups, guests }: Required<Omit<Targets, 'usersUpTo'>>) =>
  guests || userIds.length + sessionIds.length + groups.length > 0

/** Returns the variables of a message without those that are secret. */
function openVariables({ variables, secretVariables = [] }: NotificationMessage): Record<string, string | number> {
  const open = Object.entries(variables).filter(([name, value]) => value !== null && !secretVariables.includes(name))
  return Object.fromEntries(open.map(([name, value]) => [name, typeof value === 'number' ? value : String(value)]))
}

function pushOf(message: NotificationMessage, messageId: string, nowMs: number, categoryOf: CategoryOf): CreatedPush {
  const { subject, content, attributes } = message
  const jump = jumpTargetOf(attributes)
  return {
    event: 'notification.created',
    targets: targetsOf(message),
    categories: [categoryOf(jump.module)],
    itemIds: [],
    content: {
      messageId,
      subject,
      content,
      variables: openVariables(message),
      ...jump,
      attachments: [],
      createdAt: new Date(nowMs).toISOString(),
    },
  }
}

/** Returns the result of the work. Rejects if the signal aborts first. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const settled = new AbortController()
  const aborted = new Promise<never>((_, reject) => {
    const give = () => reject(signal.reason)
    if (signal.aborted) give()
    else signal.addEventListener('abort', give, { signal: settled.signal })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    settled.abort()
  }
}
