import type { Translator } from '@plinth/i18n'
import {
  type AuditEntry,
  type ChannelCheck,
  type Clock,
  channelChecks,
  errorReason,
  fillText,
  fitTextToColumn,
  isChannelError,
  type Kernel,
  type Logger,
  localize,
  type TextParams,
  writeAuditEntry,
} from '@plinth/kernel'
import { ChannelCalls, timedOut } from '../facade/channel-calls.ts'
import en from '../messages/en.json' with { type: 'json' }
import type { ChannelDirectory, ChannelEntry } from './channel-entries.ts'

type TextName = keyof (typeof en)['channel-page']

/** Texts about channels in the operator's language, or in English if the product has no translations. */
export class ChannelTexts {
  readonly #translator: Pick<Translator, 'translate'> | undefined

  constructor({ translator }: { readonly translator: Pick<Translator, 'translate'> | undefined }) {
    this.#translator = translator
  }

  translate(locale: string, name: TextName, params: TextParams = {}): string {
    const own = en['channel-page'][name]
    return this.#translator?.translate(locale, `messages.channel-page.${name}`, params) ?? fillText(own, params)
  }
}

export const verifyDeadlineMs = 10_000
const maxReasonLength = 500

interface VerifierDependencies {
  readonly entries: ChannelDirectory
  readonly texts: ChannelTexts
  readonly kernel: Kernel
  readonly clock: Clock
  readonly log: Logger
  readonly redact: (text: string, more?: Iterable<unknown>) => string
}

interface ChannelVerification {
  readonly code: string
  readonly verified: boolean
  /** Checks in the order in which they ran. */
  readonly checked: readonly ChannelCheck[]
  /** The check that failed. Null on success, or if the channel does not report it. */
  readonly failedCheck: ChannelCheck | null
  /** Reason of the failure in the caller's language. */
  readonly reason: string | null
  /** Original text of the mail server or provider. */
  readonly detail: string | null
}

type Caller = Omit<AuditEntry, 'action' | 'subject' | 'summary'>

/** Verifies channels without sending a message. */
export class ChannelVerifier {
  readonly #parts: VerifierDependencies
  readonly #calls: ChannelCalls

  constructor(parts: VerifierDependencies) {
    this.#parts = parts
    this.#calls = new ChannelCalls(parts.clock)
  }

  /** @throws BusinessError "404" `notification.channel-not-found` */
  async verify(code: string, locale: string, caller: Caller): Promise<ChannelVerification> {
    const { entries, kernel } = this.#parts
    const result = await this.#ask(entries.find(code), locale)
    const { verified, checked, failedCheck } = result
    const summary = { verified, checked, failedCheck }
    await writeAuditEntry(kernel, { ...caller, action: 'notification-channel.verify', subject: code, summary })
    return result
  }

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
      return no('configuration', texts.translate(locale, 'keys-missing', { keys: missingKeys.join(', ') }))
    }
    const { verify } = channel
    if (verify === undefined) return yes(code, ['configuration'])
    try {
      const checked = await this.#calls.run(verifyDeadlineMs, undefined, (signal) =>
        Promise.resolve(channel.verify?.(signal, provider?.code)),
      )
      if (checked === timedOut) {
        const seconds = verifyDeadlineMs / 1000
        return no('connection', texts.translate(locale, 'no-answer', { seconds }), { checked: ['configuration'] })
      }
      return yes(code, known(checked ?? ['configuration', 'connection']))
    } catch (error) {
      const said = this.#shown(errorReason(error))
      this.#parts.log.warn({ channel: code, reason: said }, 'a notification channel cannot send')
      if (!isChannelError(error)) return no(null, said)
      const detail = error.detail === '' ? null : this.#shown(error.detail)
      const [failed = null] = known([error.check])
      return no(failed, localize(error.reason, locale), { checked: known(error.checked), detail })
    }
  }

  #shown(text: string): string {
    return fitTextToColumn(this.#parts.redact(text), maxReasonLength)
  }
}

/** Returns the names of checks that the product knows, and leaves out other names. */
const known = (checks: readonly ChannelCheck[]) => channelChecks.filter((check) => checks.includes(check))

const yes = (code: string, checked: readonly ChannelCheck[]): ChannelVerification => ({
  code,
  verified: true,
  checked,
  failedCheck: null,
  reason: null,
  detail: null,
})
