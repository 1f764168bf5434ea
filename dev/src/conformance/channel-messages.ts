import {
  type DeliveryOutcome,
  type NotificationMessage,
  type Recipient,
  type SendContext,
  secretsOf,
} from '@plinth/kernel'
import { expectEqual, expectNoSecret, expectThat } from './conformance-case.ts'

/** A message that the next hop received, decoded to the text that the sender wrote. */
export interface DeliveredMessage {
  readonly content: string
  /** Absent only for a channel without subjects (option `carriesSubject: false`). */
  readonly subject?: string
  /** The recipients of the message. Absent only for a channel without `recipientKinds`. */
  readonly recipients?: readonly Recipient[]
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze)
  return value
}

/** Returns a function that creates a new message at each call. */
export function createMessageFactory(recipients: readonly Recipient[], attributes: Readonly<Record<string, unknown>>) {
  let made = 0
  const thawed = (content: string, changes: Partial<NotificationMessage> = {}): NotificationMessage => {
    made += 1
    const code = `Kx7-${made}-secret-variable`
    return structuredClone({
      id: `message-${made}`,
      subject: `Subject ${made} of "Ada" <中文> & 50 %`,
      content: content.replace('{code}', code),
      variables: { name: 'Ada', code },
      secretVariables: ['code'],
      recipients,
      attributes,
      ...changes,
    })
  }
  const frozen = (content: string, changes?: Partial<NotificationMessage>) => deepFreeze(thawed(content, changes))
  return { thawed, frozen }
}

export const sendContextFor = ({ id }: NotificationMessage, changes: Partial<SendContext> = {}): SendContext => ({
  signal: new AbortController().signal,
  idempotencyKey: `key-of-${id}`,
  attempt: 1,
  ...changes,
})

const isText = (value: unknown) => typeof value === 'string' && value.trim() !== ''

/** Checks the rules that apply to every outcome of a send. */
export function expectValidOutcome(
  outcome: DeliveryOutcome,
  message: NotificationMessage,
  secrets: readonly string[],
): void {
  expectNoSecret('an outcome', outcome, [...secrets, ...secretsOf(message)])
  const known = ['accepted', 'rejected', 'deferred', 'unknown']
  expectThat('An outcome is one of the four', known.includes(outcome?.outcome), known.join(', '), outcome)
  const { provider, providerCode, providerMessage, hint } = outcome
  for (const [name, value] of Object.entries({ provider, providerCode, providerMessage, hint })) {
    expectThat(`${name}, when there, is a text`, value === undefined || typeof value === 'string', 'a text', value)
  }
  if (outcome.outcome === 'accepted') {
    const { messageId } = outcome
    expectThat('messageId, when there, is not empty', messageId === undefined || isText(messageId), 'text', messageId)
    return
  }
  expectThat('A failure has an errorCode', isText(outcome.errorCode), 'text', outcome.errorCode)
  expectThat('A failure has an errorMessage', isText(outcome.errorMessage), 'text', outcome.errorMessage)
  if (outcome.outcome !== 'deferred' || outcome.retryAfterMs === undefined) return
  const ms = outcome.retryAfterMs
  const rule = 'retryAfterMs, when there, is a whole number of milliseconds'
  expectThat(rule, Number.isSafeInteger(ms) && ms >= 0, '>= 0', ms)
}

/**
 * One delivery to one recipient. A channel may deliver to several recipients at once, so deliveries are split before
 * the comparison.
 */
interface Arrival {
  readonly content: string
  readonly subject: string | undefined
  readonly recipient: Recipient | undefined
}

const sorted = (arrivals: readonly Arrival[]) =>
  arrivals.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
const arrivalsOf = (messages: readonly DeliveredMessage[]): Arrival[] =>
  messages.flatMap(({ content, subject, recipients = [] }) =>
    (recipients.length === 0 ? [undefined] : recipients).map((recipient) => ({ content, subject, recipient })),
  )

/**
 * Checks that exactly these messages arrived, once for each recipient, in any order.
 *
 * @throws ConformanceError if a message is missing or other messages arrived
 */
export function expectDelivered(
  delivered: readonly DeliveredMessage[],
  messages: readonly NotificationMessage[],
  carriesSubject: boolean,
): void {
  const [actual, expected] = [sorted(arrivalsOf(delivered)), sorted(arrivalsOf(messages))]
  const only = <K extends keyof Arrival>(name: K, of: readonly Arrival[]) =>
    of.map((one) => [one.content, one[name]] as const)
  const contents = (of: readonly Arrival[]) => of.map(({ content }) => content)
  expectEqual(
    'An accepted message reaches each recipient exactly once, unchanged',
    contents(actual),
    contents(expected),
  )
  if (carriesSubject) {
    expectEqual('The subject arrives as it was written', only('subject', actual), only('subject', expected))
  }
  if (messages.every(({ recipients }) => recipients.length === 0)) return
  expectEqual(
    'A message reaches its recipients and nobody else',
    only('recipient', actual),
    only('recipient', expected),
  )
}
