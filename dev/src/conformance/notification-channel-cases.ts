import {
  channelChecks,
  type NotificationChannel,
  type NotificationMessage,
  type Recipient,
  type SendContext,
  secretsOf,
} from '@plinth/kernel'
import {
  createMessageFactory,
  type DeliveredMessage,
  expectDelivered,
  expectValidOutcome,
  sendContextFor,
} from './channel-messages.ts'
import {
  type CaseBodies,
  type ConformanceCase,
  ConformanceError,
  type ConformanceLimits,
  createCallTimeouts,
  createCases,
  expectBothLanguages,
  expectEqual,
  expectNoSecret,
  expectThat,
  waitForLateEffects,
} from './conformance-case.ts'
import { nextHopCases } from './next-hop-cases.ts'

type Awaitable<T> = T | Promise<T>

export interface NotificationChannelHarness {
  readonly channel: NotificationChannel
  /** Returns all messages that the next hop received, decoded to the text that the sender wrote. */
  delivered(): Awaitable<readonly DeliveredMessage[]>
  stop?(): Awaitable<void>
}

/**
 * Simulates failures of the next hop. That is the server, provider or file that receives the messages of the channel.
 */
export interface NextHop<Harness> {
  /** Makes the next hop fail immediately: it accepts no connection, or responds that it is unavailable. */
  fail(harness: Harness): Awaitable<void>
  /** Makes the next hop accept messages without ever responding. */
  hang(harness: Harness): Awaitable<void>
  /** Makes the next hop work again for new messages. */
  recover(harness: Harness): Awaitable<void>
  /**
   * Makes the next hop reject messages with a response that contains the whole request, including credentials. Omit it
   * if the next hop cannot do this.
   */
  echo?(harness: Harness): Awaitable<void>
}

export interface NotificationChannelCaseOptions<Harness extends NotificationChannelHarness> extends ConformanceLimits {
  /** The next hop. `none` only for a channel without one, for example a channel that stores messages in memory. */
  readonly nextHop: NextHop<Harness> | 'none'
  /** At least two recipients, with each kind that the channel supports. Empty if messages need no recipient. */
  readonly recipients?: readonly Recipient[]
  /** Attributes that each message needs. */
  readonly attributes?: Readonly<Record<string, unknown>>
  /** Secrets of the channel: keys, tokens, URLs with a token. They must not occur in outcomes. */
  readonly secrets?: readonly string[]
  /** How the channel receives recipients, see `NotificationChannel.traits`. `each`: one recipient for each send. */
  readonly recipientsAs?: 'together' | 'each'
  /** False for a channel whose messages have no subject, such as SMS. */
  readonly carriesSubject?: boolean
  /**
   * `crlf` for a format whose lines end with CRLF, such as mail (RFC 2045, section 6.8). Default: line ends stay
   * unchanged.
   */
  readonly lineEnds?: 'as-written' | 'crlf'
  /** Maximum characters that the next hop accepts. The channel must reject a longer content. It must not cut it. */
  readonly maxContentLength?: number
}

/** Contents that templates, formats and line-based protocols often corrupt. */
const awkwardContents = [
  'plain',
  'two\nlines\r\nand\ttabs',
  ' blanks at both ends ',
  '"quotes" \'single\' `back` \\ backslash',
  '{"json":true} <b>markup</b> & {{placeholder}} #{expression} %s %d $& $1',
  '.\n..\n.',
  '中文 العربية 🔑 e\u0301',
  'x'.repeat(2000),
]

const recipientKinds: Readonly<Record<Recipient['kind'], true>> = {
  user: true,
  'all-users': true,
  email: true,
  mobile: true,
  'websocket-user': true,
  'websocket-session': true,
  'websocket-group': true,
  'websocket-guest': true,
  'social-openid': true,
  topic: true,
}

/**
 * Returns test cases for the contract of `NotificationChannel`.
 *
 * @param create returns an enabled channel, and a next hop that is reachable and has received nothing
 */
export function notificationChannelCases<Harness extends NotificationChannelHarness>(
  create: () => Awaitable<Harness>,
  options: NotificationChannelCaseOptions<Harness>,
): ConformanceCase[] {
  const { recipients = [], attributes = {}, secrets = [], carriesSubject = true } = options
  const { recipientsAs = 'together', maxContentLength = Number.POSITIVE_INFINITY, lineEnds = 'as-written' } = options
  const { settle, answer } = createCallTimeouts(options)
  const { thawed, frozen } = createMessageFactory(
    recipientsAs === 'each' ? recipients.slice(0, 1) : recipients,
    attributes,
  )

  const arriving = (message: NotificationMessage): NotificationMessage =>
    lineEnds === 'crlf' ? { ...message, content: message.content.replace(/\r\n|\r|\n/g, '\r\n') } : message

  const fits = ({ content }: NotificationMessage) => content.length <= maxContentLength

  /** Sends a message and checks the rules that apply to every outcome. */
  const send = async ({ channel }: Harness, message: NotificationMessage, changes: Partial<SendContext> = {}) => {
    const settled = await settle(() => channel.send(message, sendContextFor(message, changes)))
    if ('thrown' in settled) expectNoSecret('an exception', settled.thrown, [...secrets, ...secretsOf(message)])
    expectThat('send answers, whatever happens; a failure is an outcome', 'value' in settled, 'an outcome', settled)
    const { value } = settled
    expectValidOutcome(value, message, secrets)
    return value
  }
  const expectAccepted = async (harness: Harness, message: NotificationMessage, changes?: Partial<SendContext>) => {
    const outcome = await send(harness, message, changes)
    expectEqual('A message that the next hop took is `accepted`', outcome.outcome, 'accepted')
    return outcome
  }
  const delivered = (harness: Harness) => answer('delivered() of the harness', () => harness.delivered())
  const expectOnly = async (harness: Harness, messages: readonly NotificationMessage[]) =>
    expectDelivered(await delivered(harness), messages.map(arriving), carriesSubject)

  const cases: CaseBodies<Harness> = {
    'describes itself': [
      'Give displayName in English and Chinese, list recipientKinds once each, set traits.idempotent to true or false, and traits.recipients, when there, to together or each.',
      ({ channel }) => {
        expectBothLanguages('displayName is not empty in any language', channel.displayName)
        const kinds = channel.recipientKinds ?? ['absent']
        const known = kinds.every((kind) => kind in recipientKinds) && new Set(kinds).size === kinds.length
        expectThat('recipientKinds lists known kinds, each once', known, Object.keys(recipientKinds).join(', '), kinds)
        expectEqual('traits.idempotent is a boolean', typeof channel.traits?.idempotent, 'boolean')
        const trait = channel.traits?.recipients ?? 'together'
        expectEqual('traits.recipients, together when absent, is that of options.recipientsAs', trait, recipientsAs)
        const enabled = channel.enabled?.() ?? true
        expectEqual('enabled(), when there, answers true while the channel is on', enabled, true)
        const given: readonly string[] = recipients.map(({ kind }) => kind)
        // A message to all users lists nobody, so the cases cannot compare its recipients.
        const listed: readonly string[] = kinds.filter((kind) => kind !== 'all-users')
        const all = listed.every((kind) => given.includes(kind)) && given.every((kind) => listed.includes(kind))
        const rule = 'options.recipients has every kind of recipientKinds, and two recipients where there is any'
        if (listed.length > 0 && !(all && given.length > 1)) {
          const advice = `Pass options.recipients with at least two recipients, and one or more of each kind: ${listed.join(', ')}.`
          throw new ConformanceError(rule, listed.join(', '), given, advice)
        }
      },
    ],

    'hands a message on once': [
      'Hand subject, content and all recipients of the message on, once, and answer `accepted` when the next hop took it.',
      async (harness) => {
        const message = frozen('Hello')
        await expectAccepted(harness, message)
        await expectOnly(harness, [message])
        await waitForLateEffects()
        await expectOnly(harness, [message])
      },
    ],

    'delivers contents unchanged': [
      'Escape the content for the format of the next hop; do not trim, normalise, cut, format or fill it in.',
      async (harness) => {
        const messages = awkwardContents.map((content) => frozen(content))
        const [fitting, tooLong] = [messages.filter(fits), messages.filter((message) => !fits(message))]
        for (const message of fitting) await expectAccepted(harness, message)
        for (const message of tooLong)
          expectEqual('Content that is too long is rejected', (await send(harness, message)).outcome, 'rejected')
        await expectOnly(harness, fitting)
      },
    ],

    'parallel messages do not mix': [
      'Keep what belongs to one message in variables of that call, never in the channel.',
      async (harness) => {
        const messages = Array.from({ length: 20 }, (_, index) => {
          const one = recipients[index % Math.max(1, recipients.length)]
          return frozen(`parallel ${index}`, one === undefined ? {} : { recipients: [one] })
        })
        const outcomes = await Promise.all(messages.map((message) => expectAccepted(harness, message)))
        await expectOnly(harness, messages)
        const ids = outcomes.flatMap((one) =>
          'messageId' in one && one.messageId !== undefined ? [one.messageId] : [],
        )
        expectEqual('messageId tells messages apart', new Set(ids).size, ids.length)
      },
    ],

    'an idempotency key is honoured as declared': [
      'Pass idempotencyKey to the next hop, or remember it; the attempt and the content have no part in it. Where neither is possible declare traits.idempotent: false.',
      async (harness) => {
        const [first, second] = [frozen('the same content'), frozen('the same content')]
        const calls = [() => expectAccepted(harness, first), () => expectAccepted(harness, first, { attempt: 2 })]
        for (const call of calls) await call()
        await Promise.all(calls.map((call) => call()))
        await expectAccepted(harness, second)
        const arrived = (await delivered(harness)).filter(({ content }) => content === first.content).length
        const each = (await deliveriesOfOne()) ?? 1
        if (harness.channel.traits.idempotent) {
          expectEqual('An idempotent channel sends each key once, whatever the attempt', arrived, 2 * each)
        } else {
          expectThat('Another idempotency key is another message', arrived >= 2 * each, `at least ${2 * each}`, arrived)
        }
      },
    ],

    'leaves the message as it is': [
      'Copy what you change: other channels get the same message.',
      async (harness) => {
        const message = thawed('Hello')
        const before = structuredClone(message)
        await send(harness, message)
        expectEqual('send changes nothing in the message', message, before)
      },
    ],

    'secret variables stay in the message': [
      'Take nothing of the message into the outcome; where its text must be quoted use redact(text, secretsOf(message)).',
      async (harness) => void (await send(harness, frozen('Your code is {code}, {code}'))),
    ],

    'an aborted send sends nothing': [
      'Look at signal.aborted before anything else and answer `deferred`; pass the signal to every call that waits.',
      async (harness) => {
        const signal = AbortSignal.abort(new Error('The deadline passed'))
        const { outcome } = await send(harness, frozen('too late {code}'), { signal })
        const retried = ['deferred', 'unknown'].includes(outcome)
        expectThat('With an aborted signal the outcome is one that may be tried again', retried, 'deferred', outcome)
        await waitForLateEffects()
        expectEqual('With an aborted signal nothing is sent, now or later', await delivered(harness), [])
      },
    ],

    'an abort while sending does not change the truth': [
      'Answer `accepted` only for what was sent, `deferred` only for what was not, `unknown` when you cannot know.',
      async (harness) => {
        const moments: ((abort: () => void) => void)[] = [
          (abort) => abort(),
          queueMicrotask,
          process.nextTick,
          setImmediate,
          (abort) => setTimeout(abort, 2),
        ]
        const reported = await Promise.all(
          moments.map(async (moment, index) => {
            const controller = new AbortController()
            const message = frozen(`aborted ${index}`)
            const answered = send(harness, message, { signal: controller.signal })
            moment(() => controller.abort(new Error('The deadline passed')))
            return { message, outcome: (await answered).outcome }
          }),
        )
        await waitForLateEffects()
        const contents = (await delivered(harness)).map(({ content }) => content)
        for (const { message, outcome } of reported) {
          const arrived = contents.includes(message.content)
          const rule = 'An aborted send says what became of the message'
          expectThat(rule, outcome !== 'rejected', '`rejected` would lose a message that could be tried again', outcome)
          if (outcome !== 'unknown') expectEqual(`${rule} (${outcome})`, arrived, outcome === 'accepted')
        }
      },
    ],

    'names the keys that it needs': [
      'Let condition, when there, name keys of the configuration without their values, and among them those that are missing.',
      ({ channel }) => {
        if (channel.condition === undefined) return
        const condition = channel.condition()
        expectNoSecret('what condition says', condition, secrets)
        const { keys, missingKeys, restsForMs = 0, limitedForMs = 0 } = condition
        const isName = (key: string) => /^platform(?:\.[a-z0-9-]+)+$/.test(key)
        const named = keys.every(isName) && new Set(keys).size === keys.length
        expectThat('keys are names of configuration keys, each once', named, 'platform.acme.token', keys)
        expectEqual('A channel that works misses no key', missingKeys, [])
        const waits = [restsForMs, limitedForMs]
        expectThat(
          'It tells waits in milliseconds from 0',
          waits.every((ms) => ms >= 0),
          '0 or more',
          waits,
        )
      },
    ],

    'verify sends nothing': [
      'Let verify ask for something that has no effect; it resolves while the next hop can be reached.',
      async (harness) => {
        const { channel } = harness
        const checked = (await answer('verify', () => channel.verify?.(new AbortController().signal))) ?? []
        const known = [...checked].every((check) => channelChecks.includes(check))
        const isReported = known && new Set(checked).size === checked.length
        expectThat('verify answers what it checked, or nothing', isReported, channelChecks.join(', '), checked)
        await waitForLateEffects()
        expectEqual('verify sends nothing', await delivered(harness), [])
      },
    ],
  }

  /** Returns the number of deliveries for one message: one in total, or one for each recipient. */
  const deliveriesOfOne = async () => {
    const harness = await create()
    try {
      await expectAccepted(harness, frozen('in how many pieces'))
      return (await delivered(harness)).length
    } finally {
      await harness.stop?.()
    }
  }

  const withRecipients: CaseBodies<Harness> = {
    'a message without recipients is rejected': [
      'Answer `rejected` when the message has no recipient of your recipientKinds.',
      async (harness) => {
        const { outcome } = await send(harness, frozen('to nobody', { recipients: [] }))
        expectEqual('A channel with recipientKinds rejects a message to nobody', outcome, 'rejected')
        expectEqual('and sends nothing', await delivered(harness), [])
      },
    ],
  }
  const { nextHop } = options
  const hops =
    nextHop === 'none' ? {} : nextHopCases({ nextHop, frozen, send, delivered, patience: { settle, answer }, secrets })
  return createCases(create, { ...cases, ...(recipients.length === 0 ? {} : withRecipients), ...hops }, options)
}
