import type { Translator } from '@plinth/i18n'
import {
  type AuditEntry,
  audit,
  type ChannelCheck,
  type Clock,
  channelChecks,
  columnText,
  fillText,
  isChannelFault,
  type Kernel,
  type Logger,
  localize,
  reasonOf,
  type TextParams,
} from '@plinth/kernel'
import { ChannelCalls, late } from '../facade/channel-calls.ts'
import en from '../messages/en.json' with { type: 'json' }
import type { ChannelEntries, ChannelEntry } from './channel-entries.ts'

type TextName = keyof (typeof en)['channel-page']

/** What operators read when they check a channel, in their language; English in a product without languages. */
export class ChannelTexts {
  readonly #translator: Pick<Translator, 'translate'> | undefined

  constructor({ translator }: { readonly translator: Pick<Translator, 'translate'> | undefined }) {
    this.#translator = translator
  }

  say(locale: string, name: TextName, params: TextParams = {}): string {
    const own = en['channel-page'][name]
    return this.#translator?.translate(locale, `messages.channel-page.${name}`, params) ?? fillText(own, params)
  }
}

/** Milliseconds that a channel has to say whether it could send. */
export const verifyDeadlineMs = 10_000
/** Characters of a reason. */
const longestReason = 500

interface VerifierParts {
  readonly entries: ChannelEntries
  readonly texts: ChannelTexts
  readonly kernel: Kernel
  readonly clock: Clock
  readonly log: Logger
  /** Masks what the configuration knows as secrets. */
  readonly redact: (text: string, more?: Iterable<unknown>) => string
}

/** What is known of a channel after it was asked. */
interface ChannelVerification {
  readonly code: string
  readonly verified: boolean
  /** What held, in the order in which it was looked at. */
  readonly checked: readonly ChannelCheck[]
  /** What did not; null when all did, or when nobody knows. */
  readonly failedCheck: ChannelCheck | null
  /** In the language of who asked. */
  readonly reason: string | null
  /** What the next hop said in its own words. */
  readonly detail: string | null
}

type Caller = Omit<AuditEntry, 'action' | 'subject' | 'summary'>

/** Asks channels whether they could send, without sending. */
export class ChannelVerifier {
  readonly #parts: VerifierParts
  readonly #calls: ChannelCalls

  constructor(parts: VerifierParts) {
    this.#parts = parts
    this.#calls = new ChannelCalls(parts.clock)
  }

  /** @throws BusinessError `404` `notification.channel-not-found` */
  async verify(code: string, locale: string, caller: Caller): Promise<ChannelVerification> {
    const { entries, kernel } = this.#parts
    const result = await this.#ask(entries.find(code), locale)
    const { verified, checked, failedCheck } = result
    const summary = { verified, checked, failedCheck }
    await audit(kernel, { ...caller, action: 'notification-channel.verify', subject: code, summary })
    return result
  }

  /** Makes channels that are being asked give up. */
  stop(): void {
    this.#calls.giveUp()
  }

  async #ask(entry: ChannelEntry, locale: string): Promise<ChannelVerification> {
    const { entries, texts } = this.#parts
    const { code, channel, provider } = entry
    const no = (failedCheck: ChannelCheck | null, reason: string, more: Partial<ChannelVerification> = {}) => ({
      code,
      verified: false,
      checked: [],
      failedCheck,
      reason: this.#shown(reason),
      detail: null,
      ...more,
    })
    const { missingKeys } = entries.conditionOf(entry)
    if (missingKeys.length > 0) {
      return no('configuration', texts.say(locale, 'keys-missing', { keys: missingKeys.join(', ') }))
    }
    const { verify } = channel
    if (verify === undefined) return yes(code, ['configuration'])
    try {
      const checked = await this.#calls.run(verifyDeadlineMs, undefined, (signal) =>
        Promise.resolve(channel.verify?.(signal, provider?.code)),
      )
      if (checked === late) {
        const seconds = verifyDeadlineMs / 1000
        return no('connection', texts.say(locale, 'no-answer', { seconds }), { checked: ['configuration'] })
      }
      return yes(code, known(checked ?? ['configuration', 'connection']))
    } catch (error) {
      const said = this.#shown(reasonOf(error))
      this.#parts.log.warn({ channel: code, reason: said }, 'a notification channel cannot send')
      if (!isChannelFault(error)) return no(null, said)
      const detail = error.detail === '' ? null : this.#shown(error.detail)
      const [failed = null] = known([error.check])
      return no(failed, localize(error.reason, locale), { checked: known(error.checked), detail })
    }
  }

  #shown(text: string): string {
    return columnText(this.#parts.redact(text), longestReason)
  }
}

/** Of what a channel says that it checked, what there is. */
const known = (checks: readonly ChannelCheck[]) => channelChecks.filter((check) => checks.includes(check))

const yes = (code: string, checked: readonly ChannelCheck[]): ChannelVerification => ({
  code,
  verified: true,
  checked,
  failedCheck: null,
  reason: null,
  detail: null,
})
