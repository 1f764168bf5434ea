import { inspect } from 'node:util'
import type {
  DeliveryOutcome,
  NotificationChannel,
  NotificationMessage,
  Recipient,
  SendContext,
} from '../contracts/notification-channel.ts'
import { type ConformanceCase, casesOver, expectEqual, expectNamed, expectThat, settle } from './conformance-case.ts'

type Awaitable<T> = T | Promise<T>

export interface NotificationChannelHarness {
  readonly channel: NotificationChannel
  /** Content of every message that reached the next hop, in order, decoded to what the sender wrote. */
  delivered(): Awaitable<readonly string[]>
  stop?(): Awaitable<void>
}

export interface NotificationChannelCaseOptions<Harness extends NotificationChannelHarness> {
  /** Recipients and attributes that the channel needs to deliver. */
  readonly recipients?: readonly Recipient[]
  readonly attributes?: Readonly<Record<string, unknown>>
  /** Secrets that the channel was given: keys, tokens, endpoints with a token. None may show in an outcome. */
  readonly secrets?: readonly string[]
  /** Makes the next hop fail at once. Absent only for a channel that has no next hop. */
  readonly disconnect?: (harness: Harness) => Awaitable<void>
  /** Makes the next hop take the message and never answer. Absent only for a channel that waits for nothing. */
  readonly hang?: (harness: Harness) => Awaitable<void>
}

/** Contents that formats, templates and line protocols trip over. */
const awkwardContents = [
  'plain',
  'two\nlines\r\nand\ttabs',
  '"quotes" \'single\' `back` \\ backslash',
  '{"json":true} <b>markup</b> & {{placeholder}} #{expression} %s %d',
  '中文 العربية 🔑 e\u0301',
  'x'.repeat(2000),
]

const recipientKinds: Readonly<Record<Recipient['kind'], true>> = {
  user: true,
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
 * The contract of `NotificationChannel` as cases.
 *
 * @param create makes a channel that is switched on and whose next hop is reachable and has received nothing
 */
export function notificationChannelCases<Harness extends NotificationChannelHarness>(
  create: () => Awaitable<Harness>,
  options: NotificationChannelCaseOptions<Harness> = {},
): ConformanceCase[] {
  const { recipients = [], attributes = {}, secrets = [], disconnect, hang } = options
  let created = 0
  const message = (content: string): NotificationMessage => {
    created += 1
    return { id: `message-${created}`, subject: 'Subject', content, variables: { name: 'Ada' }, recipients, attributes }
  }
  const context = (of: NotificationMessage, changes: Partial<SendContext> = {}): SendContext => ({
    signal: new AbortController().signal,
    idempotencyKey: of.id,
    attempt: 1,
    ...changes,
  })
  const send = ({ channel }: Harness, content: string) => {
    const one = message(content)
    return channel.send(one, context(one))
  }
  const expectAccepted = (outcome: DeliveryOutcome) =>
    expectEqual('A message that the next hop took is `accepted`', outcome.outcome, 'accepted')

  const expectNoSecret = (where: string, text: string) => {
    // The error must not repeat the secret either.
    const told = secrets
      .filter((secret) => text.includes(secret))
      .map(({ length }) => `a secret of ${length} characters`)
    expectEqual(`No secret is in ${where}`, told, [])
  }

  const cases: Record<string, (harness: Harness) => Awaitable<void>> = {
    'describes itself': ({ channel }) => {
      expectNamed('displayName is not empty in any language', channel.displayName)
      const kinds = channel.recipientKinds ?? ['absent']
      const known = kinds.every((kind) => kind in recipientKinds) && new Set(kinds).size === kinds.length
      expectThat('recipientKinds lists known kinds, each once', known, Object.keys(recipientKinds).join(', '), kinds)
      expectEqual('traits.idempotent is a boolean', typeof channel.traits?.idempotent, 'boolean')
      const enabled = channel.enabled?.() ?? true
      expectEqual('enabled(), when there, answers true while the channel is on', enabled, true)
    },

    'hands a message on once': async (harness) => {
      const outcome = await send(harness, 'Hello')
      expectAccepted(outcome)
      const id = outcome.outcome === 'accepted' ? outcome.messageId : undefined
      expectThat('messageId, when there, is not empty', id === undefined || id.length > 0, 'text', id)
      expectEqual('An accepted message reaches the next hop exactly once', await harness.delivered(), ['Hello'])
    },

    'delivers contents unchanged': async (harness) => {
      for (const content of awkwardContents) expectAccepted(await send(harness, content))
      expectEqual('The content arrives as it was written', await harness.delivered(), awkwardContents)
    },

    'parallel messages do not mix': async (harness) => {
      const contents = Array.from({ length: 20 }, (_, index) => `parallel ${String(index).padStart(2, '0')}`)
      const outcomes = await Promise.all(contents.map((content) => send(harness, content)))
      for (const outcome of outcomes) expectAccepted(outcome)
      expectEqual('Each of 20 parallel messages arrives once', [...(await harness.delivered())].sort(), contents)
    },

    'an idempotency key is honoured as declared': async (harness) => {
      const { channel } = harness
      const first = message('first')
      const again = () => channel.send(first, context(first))
      for (const outcome of [await again(), ...(await Promise.all([again(), again()]))]) expectAccepted(outcome)
      const second = message('second')
      expectAccepted(await channel.send(second, context(second)))
      const delivered = await harness.delivered()
      const times = (content: string) => delivered.filter((text) => text === content).length
      expectEqual('Another idempotency key is another message', times('second'), 1)
      if (channel.traits.idempotent) expectEqual('An idempotent channel sends the same key once', times('first'), 1)
    },

    'leaves the message as it is': async ({ channel }) => {
      const one = { ...message('Hello'), variables: { name: 'Ada' }, attributes: structuredClone(attributes) }
      const before = structuredClone(one)
      await channel.send(one, context(one))
      expectEqual('send changes nothing in the message: other channels get the same one', one, before)
    },

    'an aborted send sends nothing': async (harness) => {
      const one = message('too late')
      const signal = AbortSignal.abort(new Error('The deadline passed'))
      const answer = await settle(() => harness.channel.send(one, context(one, { signal })))
      const held = 'value' in answer && answer.value.outcome !== 'accepted'
      expectThat('With an aborted signal the outcome is not `accepted`, and no exception', held, 'an outcome', answer)
      expectEqual('With an aborted signal nothing is sent', await harness.delivered(), [])
    },

    'verify sends nothing': async (harness) => {
      await harness.channel.verify?.(new AbortController().signal)
      expectEqual('verify sends nothing', await harness.delivered(), [])
    },
  }

  if (disconnect !== undefined) {
    cases['a next hop that fails is an outcome'] = async (harness) => {
      await disconnect(harness)
      const answer = await settle(() => send(harness, 'lost'))
      expectThat('A delivery failure is an outcome, not an exception', 'value' in answer, 'an outcome', answer)
      if (!('value' in answer)) return
      const outcome = answer.value
      const failed = ['rejected', 'deferred', 'unknown'].includes(outcome.outcome)
      expectThat('A failure is `rejected`, `deferred` or `unknown`', failed, 'one of these', outcome)
      if (outcome.outcome === 'accepted') return
      expectThat('A failure has an errorCode', Boolean(outcome.errorCode), 'text', outcome.errorCode)
      expectThat('A failure has an errorMessage', Boolean(outcome.errorMessage), 'text', outcome.errorMessage)
      expectNoSecret('an outcome', JSON.stringify(outcome))
    }
    cases['verify throws when the next hop fails'] = async (harness) => {
      const { channel } = harness
      if (channel.verify === undefined) return
      await disconnect(harness)
      const answer = await settle(() => channel.verify?.(new AbortController().signal))
      expectThat(
        'verify throws with a reason when the next hop cannot be reached',
        'thrown' in answer,
        'an exception',
        answer,
      )
      expectNoSecret('the reason that verify gives', inspect(answer))
    }
  }

  if (hang !== undefined) {
    cases['gives up when the signal aborts'] = async (harness) => {
      await hang(harness)
      const one = message('hanging')
      const answer = await settle(() => harness.channel.send(one, context(one, { signal: AbortSignal.timeout(100) })))
      expectThat('A send settles when its signal aborts', 'value' in answer, 'an outcome', answer)
      if (!('value' in answer)) return
      const rule = 'A message that the next hop took without an answer is `unknown`: trying again might send it twice'
      expectEqual(rule, answer.value.outcome, 'unknown')
    }
  }

  return casesOver(create, cases)
}
