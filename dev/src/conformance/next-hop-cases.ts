import { redact } from '@plinth/config-schema/reading'
import {
  channelChecks,
  type DeliveryOutcome,
  isChannelError,
  type NotificationMessage,
  type SendContext,
  secretsOf,
} from '@plinth/kernel'
import { type DeliveredMessage, sendContextFor } from './channel-messages.ts'
import {
  type CallTimeouts,
  type CaseBodies,
  expectBothLanguages,
  expectEqual,
  expectNoSecret,
  expectThat,
  waitForLateEffects,
} from './conformance-case.ts'
import type { NextHop, NotificationChannelHarness } from './notification-channel-cases.ts'

/** Functions of the channel kit that these cases need. */
interface Kit<Harness> {
  readonly nextHop: NextHop<Harness>
  readonly secrets: readonly string[]
  readonly patience: CallTimeouts
  frozen(content: string): NotificationMessage
  /** Sends a message and checks the rules that apply to every outcome. */
  send(harness: Harness, message: NotificationMessage, changes?: Partial<SendContext>): Promise<DeliveryOutcome>
  delivered(harness: Harness): Promise<readonly DeliveredMessage[]>
}

/** Maximum characters of a secret that a text may contain. */
const maxPartLength = 7
/**
 * Returns the beginning and the end of a secret. If a text was cut within the secret, it still contains one of them.
 */
const partsOf = (secret: string): readonly string[] =>
  secret.length <= maxPartLength + 1 ? [] : [secret.slice(0, maxPartLength + 1), secret.slice(-maxPartLength - 1)]

/** Returns the deadline of a send. It is long enough to connect to a server, and short enough for a test. */
const deadline = () => AbortSignal.timeout(150)

/** Returns test cases in which the next hop is unavailable, or accepts messages and does not respond. */
export function nextHopCases<Harness extends NotificationChannelHarness>(kit: Kit<Harness>): CaseBodies<Harness> {
  const { nextHop, secrets, patience, frozen, send, delivered } = kit
  const times = async (harness: Harness, { content }: NotificationMessage) =>
    (await delivered(harness)).filter((one) => one.content === content).length
  /** Waits up to 1.2 s until the next hop has received the message. On a busy machine, the delivery takes time. */
  const reached = async (harness: Harness, message: NotificationMessage) => {
    for (let round = 0; round < 5 && (await times(harness, message)) === 0; round++) await waitForLateEffects()
    await waitForLateEffects()
  }
  const verifySettles = ({ channel }: Harness, signal: AbortSignal) => patience.settle(() => channel.verify?.(signal))

  return {
    'a next hop that is down can be tried again': [
      'Answer `deferred` when nothing was sent and `unknown` when you cannot know; `rejected` is for what can never be sent.',
      async (harness) => {
        await nextHop.fail(harness)
        const { outcome } = await send(harness, frozen('lost {code}'))
        const known = ['deferred', 'unknown'].includes(outcome)
        expectThat('A next hop that is down is `deferred` or `unknown`', known, 'deferred, unknown', outcome)
      },
    ],

    'a failed message can be sent again': [
      'Remember an idempotency key only when the next hop has taken the message, and no failure beyond its own call.',
      async (harness) => {
        const message = frozen('failed, then sent')
        await nextHop.fail(harness)
        const { outcome } = await send(harness, message)
        await nextHop.recover(harness)
        if (outcome === 'deferred' || harness.channel.traits.idempotent) {
          const again = await send(harness, message, { attempt: 2 })
          expectEqual('When the next hop is back the same key is sent', again.outcome, 'accepted')
          expectThat('and arrives', (await times(harness, message)) > 0, 'in the next hop', await delivered(harness))
        }
        await waitForLateEffects()
        const each = await times(harness, message)
        const next = frozen('sent after the failure')
        expectEqual('A failure does not last', (await send(harness, next)).outcome, 'accepted')
        const rule = 'What failed once arrives as often as what did not'
        if (outcome === 'deferred' || harness.channel.traits.idempotent)
          expectEqual(rule, each, await times(harness, next))
      },
    ],

    'a next hop that repeats secrets': [
      'Return texts of the next hop whole: the facade masks them, and half a secret is not recognised. Or mask them before you cut them.',
      async (harness) => {
        if (nextHop.echo === undefined) return
        await nextHop.echo(harness)
        const message = frozen('repeated {code}')
        const settled = await patience.settle(() => harness.channel.send(message, sendContextFor(message)))
        const hidden = [...secrets, ...secretsOf(message)]
        const mask = (value: unknown) => (typeof value === 'string' ? redact(value, hidden) : value)
        const shown = Object.values('value' in settled ? settled.value : {}).map(mask)
        expectNoSecret('a result of the facade', shown, hidden.flatMap(partsOf))
      },
    ],

    'verify throws when the next hop fails': [
      'Let verify throw with a reason that holds no secret, and ask the next hop anew at each call.',
      async (harness) => {
        if (harness.channel.verify === undefined) return
        await nextHop.fail(harness)
        const settled = await verifySettles(harness, new AbortController().signal)
        expectNoSecret('the reason that verify gives', settled, secrets)
        const rule = 'verify throws with a reason when the next hop cannot be reached'
        expectThat(rule, 'thrown' in settled, 'an exception', settled)
        const { thrown } = settled
        expectThat(rule, thrown instanceof Error && thrown.message !== '', 'an Error with a message', thrown)
        if (isChannelError(thrown)) {
          const { check, checked } = thrown
          expectBothLanguages('A ChannelError has its reason in both languages', thrown.reason)
          const isReported = channelChecks.includes(check) && !checked.includes(check)
          expectThat('It names what failed, and what held before', isReported, channelChecks.join(', '), {
            check,
            checked,
          })
        }
        await nextHop.recover(harness)
        const again = await verifySettles(harness, new AbortController().signal)
        expectThat('verify resolves when the next hop is back', 'value' in again, 'no exception', again)
      },
    ],

    'gives up when the signal aborts': [
      'Pass the signal to every call that waits. What was sent without an answer is `unknown`.',
      async (harness) => {
        const message = frozen('hanging {code}')
        await nextHop.hang(harness)
        const controller = new AbortController()
        const sent = send(harness, message, { signal: controller.signal })
        await reached(harness, message)
        controller.abort(new Error('The case has waited long enough'))
        const { outcome } = await sent
        const rule = 'A message that the next hop took without an answer is `unknown`: trying again might send it twice'
        expectEqual(rule, outcome, 'unknown')
        const before = await times(harness, message)
        await nextHop.recover(harness)
        await waitForLateEffects()
        expectEqual('A send that gave up sends nothing later', await times(harness, message), before)
        if (!harness.channel.traits.idempotent) return
        expectEqual('It can be tried again', (await send(harness, message, { attempt: 2 })).outcome, 'accepted')
        const next = frozen('not hanging')
        await send(harness, next)
        expectEqual('and arrives once', await times(harness, message), await times(harness, next))
      },
    ],

    'a message that hangs holds up no other': [
      'Do not let one message wait for another: no queue, lock or single connection without its own end.',
      async (harness) => {
        await nextHop.hang(harness)
        const controller = new AbortController()
        const hanging = Array.from({ length: 20 }, (_, index) =>
          send(harness, frozen(`hanging ${index}`), { signal: controller.signal }),
        )
        // The results are checked at the end of the case. Until then, rejections must not be reported as unhandled.
        const ended = Promise.allSettled(hanging)
        try {
          await send(harness, frozen('meanwhile'), { signal: deadline() })
          await nextHop.recover(harness)
          const { outcome } = await send(harness, frozen('afterwards'))
          expectEqual('A message is sent while earlier ones still wait for their answers', outcome, 'accepted')
        } finally {
          controller.abort(new Error('The deadline passed'))
          await ended
        }
        await Promise.all(hanging)
      },
    ],

    'verify gives up when its signal aborts': [
      'Pass the signal to every call of verify, and throw when it aborts.',
      async (harness) => {
        if (harness.channel.verify === undefined) return
        await nextHop.hang(harness)
        const settled = await verifySettles(harness, deadline())
        expectNoSecret('the reason that verify gives', settled, secrets)
        expectThat('verify throws when its signal aborts', 'thrown' in settled, 'an exception', settled)
      },
    ],
  }
}
