import { createHash } from 'node:crypto'
import {
  type Clock,
  type DeliveryOutcome,
  errorReason,
  fitTextToColumn,
  type Logger,
  localize,
  type NotificationMessage,
  omitUndefined,
  RepeatedFailureLog,
  secretsOf,
} from '@plinth/kernel'
import { isOutgoingHttpError, type OutgoingHttp, type OutgoingHttpError } from '@plinth/outgoing-http'
import type { RateLimiter } from '@plinth/rate-limit'
import { type CommonAttributes, sensitiveValues } from './attributes.ts'
import type { WebhookHint, WebhookProvider, WebhookRequest, WebhookResponse, WebhookVerdict } from './contract.ts'
import { clampWaitMs, hintKey, hintOfFailure, isRejected, responseOf } from './judgement.ts'
import { maskPatterns, secretPartsOfUrl } from './masking.ts'
import { buildRequest, requestBodyText } from './requests.ts'
import {
  limitedAddressOf,
  type ProviderDirectory,
  type Route,
  type RoutingSettings,
  routeOf,
  WebhookRouteError,
} from './routing.ts'

/**
 * Applies rate limits of providers across all instances. Without a working limiter, messages are still sent, and the
 * provider rejects those that exceed its limits.
 */
export class EndpointLimits {
  readonly #limiter: RateLimiter | undefined
  readonly #failures: RepeatedFailureLog
  readonly #clock: Pick<Clock, 'monotonic'>
  /** Monotonic time in milliseconds until which the limit is reached, by provider code. */
  readonly #limitedUntil = new Map<string, number>()

  constructor(limiter: RateLimiter | undefined, log: Logger, clock: Pick<Clock, 'monotonic'>) {
    this.#limiter = limiter
    this.#clock = clock
    this.#failures = new RepeatedFailureLog(log, {
      failing: 'webhooks are sent without their rate limits, because the limiter fails',
      over: 'the rate limits of webhooks hold again',
    })
  }

  /** Milliseconds until all endpoints of a provider accept messages. */
  limitedFor(code: string): number {
    return Math.max(0, (this.#limitedUntil.get(code) ?? 0) - this.#clock.monotonic())
  }

  /**
   * Counts one request against the limits of a provider.
   *
   * @param receiver returns the URL or the chat to which the limits apply
   * @returns milliseconds to wait if the limit is reached
   */
  async take({ code, rateLimits = [] }: WebhookProvider, receiver: () => string): Promise<number | undefined> {
    if (this.#limiter === undefined || rateLimits.length === 0) return undefined
    const hash = createHash('sha256').update(receiver()).digest('hex').slice(0, 32)
    const requests = rateLimits.map(({ max, windowMs }) => ({
      key: `webhook:${code}:${hash}:${windowMs}`,
      maxAttempts: max,
      windowMs,
      failurePolicy: 'open' as const,
    }))
    try {
      const { allowed, results } = await this.#limiter.consumeAll(requests)
      this.#failures.succeeded()
      if (allowed) return undefined
      const waitMs = Math.max(1, ...results.map(({ retryAfter }) => Math.ceil(retryAfter)))
      this.#limitedUntil.set(code, this.#clock.monotonic() + waitMs)
      return waitMs
    } catch (error) {
      this.#failures.failed(error)
      return undefined
    }
  }
}

export interface AttemptSettings extends RoutingSettings {
  readonly limited: boolean
  readonly deadlineMs: number
}

export interface AttemptDependencies {
  readonly directory: ProviderDirectory
  readonly limits: EndpointLimits
  readonly http: OutgoingHttp
  readonly clock: Clock
  readonly log: Logger
  /** Masks secrets of the configuration and the given values. */
  readonly redact: (text: string, more: Iterable<unknown>) => string
}

const maxReplyLength = 300
const codePattern = /^[\w.:-]{1,64}$/

/** Parts of a secret to mask, because a service may repeat only a part of `user:password`. */
const loginParts = (secret: string) => [secret, ...secret.split(/[:@]/).filter((part) => part.length >= 6)]

type Failure = Exclude<DeliveryOutcome, { outcome: 'accepted' }>
type Refused = Extract<WebhookVerdict, { delivered: false }>

/** One attempt through one provider. It masks all secrets that it uses. */
export class Attempt {
  readonly #parts: AttemptDependencies
  readonly #message: NotificationMessage
  readonly #asked: CommonAttributes
  readonly #settings: AttemptSettings
  /** Route of the message. It is stored only to mask a failure. */
  #route: Route | undefined
  #request: Pick<WebhookRequest, 'url' | 'headers'> | undefined
  #sent = false

  constructor(
    parts: AttemptDependencies,
    settings: AttemptSettings,
    message: NotificationMessage,
    requested: CommonAttributes,
  ) {
    this.#parts = parts
    this.#settings = settings
    this.#message = message
    this.#asked = requested
  }

  /** Sends the message through a provider. Logs a failure and never throws. */
  async through(name: string, signal: AbortSignal): Promise<DeliveryOutcome> {
    let outcome: DeliveryOutcome
    try {
      const configured = this.#parts.directory.require(name)
      this.#route = routeOf(name, configured, this.#asked, this.#message.attributes, this.#settings)
      outcome = await this.#send(this.#route, signal)
    } catch (error) {
      outcome = this.#rejection(name, error)
    }
    if (outcome.outcome !== 'accepted') this.#logFailure(outcome)
    return outcome
  }

  #logFailure({ outcome, provider, errorCode, errorMessage, providerCode, providerMessage }: Failure): void {
    const messageId = this.#message.id
    const line = { provider, messageId, outcome, errorCode, errorMessage, providerCode, providerMessage }
    this.#parts.log.warn(line, 'webhook not delivered')
  }

  async #send(route: Route, signal: AbortSignal): Promise<DeliveryOutcome> {
    const { clock, limits } = this.#parts
    const { provider } = route
    const { request, truncated } = buildRequest(route, this.#message, this.#asked.payload, clock.now())
    const receiver = () => limitedAddressOf(route)
    const isLimited = this.#settings.limited && provider.rateLimits !== undefined
    const waitMs = isLimited ? await limits.take(provider, receiver) : undefined
    if (waitMs !== undefined) {
      const text = `${localize(provider.displayName, 'en')} takes no more messages to this address now`
      return this.#failure(route, 'deferred', text, { hint: 'rate-limited', retryAfterMs: waitMs, isAttempted: false })
    }
    let [answer, result] = await this.#exchange(route, request, signal)
    let hint: WebhookHint | 'truncated' | undefined = truncated ? 'truncated' : undefined
    if (!result.delivered && result.outcome !== 'unknown') {
      const better = provider.corrected?.(answer, request)
      if (better !== undefined) {
        hint = better.hint
        ;[answer, result] = await this.#exchange(route, better.request, signal)
      }
    }
    if (!result.delivered) return this.#rejected(route, answer, result)
    const messageId = this.#masked(result.messageId ?? '')
    return {
      outcome: 'accepted',
      provider: route.name,
      ...(messageId === result.messageId && messageId !== '' ? { messageId: fitTextToColumn(messageId, 200) } : {}),
      ...(hint === undefined ? {} : { hint: hintKey(hint) }),
    }
  }

  async #exchange(
    route: Route,
    request: WebhookRequest,
    signal: AbortSignal,
  ): Promise<[WebhookResponse, WebhookVerdict]> {
    const { http, clock } = this.#parts
    const { provider, secret } = route
    const isSigned = provider.secret.use === 'signature' && secret !== undefined
    // Signs the request again on each attempt, because a signature expires quickly.
    const key = { secret: secret ?? '', nowMs: clock.now(), messageId: this.#message.id }
    const { url, headers, body } = (isSigned && provider.sign?.(request, key)) || request
    this.#request = { url, headers }
    this.#sent = false
    const { deadlineMs } = this.#settings
    const text = requestBodyText({ body }, this.#asked.payload === undefined ? 'content' : 'webhook.payload')
    const response = await http.request({ url, headers, body: text, deadlineMs, signal })
    this.#sent = true
    const answer = responseOf(response, clock.now())
    return [answer, provider.judge(answer)]
  }

  #rejected(route: Route, { status }: WebhookResponse, result: Refused): Failure {
    const code = this.#masked(result.code ?? '')
    const providerCode = codePattern.test(code) ? code : undefined
    const said = fitTextToColumn(this.#masked(result.message ?? ''), maxReplyLength)
    const did = {
      rejected: 'refused the message',
      deferred: 'did not take the message now',
      unknown: 'does not say whether it took the message',
    }[result.outcome]
    const details = [`HTTP ${status}`, ...(providerCode === undefined ? [] : [providerCode])].join(', ')
    const text = `${localize(route.provider.displayName, 'en')} ${did} (${details})`
    const { outcome, hint, retryAfterMs } = result
    return this.#failure(route, outcome, text, {
      hint,
      retryAfterMs,
      providerCode,
      providerMessage: said === '' ? undefined : said,
    })
  }

  #failure(
    { name }: Pick<Route, 'name'>,
    outcome: Failure['outcome'],
    errorMessage: string,
    more: {
      readonly errorCode?: string
      readonly hint?: WebhookHint | undefined
      readonly retryAfterMs?: number | undefined
      readonly isAttempted?: false
      readonly providerCode?: string | undefined
      readonly providerMessage?: string | undefined
    },
  ): Failure {
    const { hint, retryAfterMs, providerCode, providerMessage, errorCode = `webhook.${hint ?? 'refused'}` } = more
    const mayWait = outcome === 'deferred' && retryAfterMs !== undefined
    return omitUndefined<Failure>({
      outcome,
      errorCode,
      errorMessage: this.#masked(errorMessage),
      provider: name,
      providerCode,
      providerMessage,
      hint: hint && hintKey(hint),
      retryAfterMs: mayWait ? clampWaitMs(retryAfterMs) : undefined,
      isAttempted: mayWait ? more.isAttempted : undefined,
    })
  }

  #rejection(name: string, error: unknown): Failure {
    if (isOutgoingHttpError(error)) return this.#unanswered(name, error)
    if (error instanceof WebhookRouteError) {
      return this.#failure({ name }, 'rejected', error.message, { errorCode: `webhook.${error.code}` })
    }
    if (error instanceof Error && error.name === 'WebhookInputError') {
      return this.#failure({ name }, 'rejected', error.message, { errorCode: 'webhook.attribute-invalid' })
    }
    // The provider plugin threw an error. The response contains no part of its text, because the text may contain
    // anything.
    const reason = this.#masked(errorReason(error))
    this.#parts.log.error({ provider: name, messageId: this.#message.id, reason }, 'webhook provider failed')
    const text = 'The code of the provider failed; the log says why'
    return this.#failure({ name }, this.#sent ? 'unknown' : 'rejected', text, { errorCode: 'webhook.provider-failed' })
  }

  #unanswered(name: string, error: OutgoingHttpError): Failure {
    const outcome = isRejected(error) ? 'rejected' : error.mayHaveArrived ? 'unknown' : 'deferred'
    return this.#failure({ name }, outcome, error.message, { hint: hintOfFailure(error) })
  }

  #secrets(): readonly string[] {
    const { directory } = this.#parts
    const { 'content-type': _, ...headers } = this.#request?.headers ?? {}
    return [
      ...secretsOf(this.#message),
      ...[this.#asked.endpoint, this.#route?.endpoint, this.#request?.url].flatMap(secretPartsOfUrl),
      ...[this.#asked.secret, this.#route?.secret].flatMap((secret) => loginParts(secret ?? '')),
      ...sensitiveValues(directory.providers, this.#message.attributes),
      ...Object.values(headers),
    ]
  }

  /** Returns a text as one line with masked secrets. */
  #masked(text: string): string {
    if (text === '') return text
    const short = text.slice(0, 4096).replace(/\s+/g, ' ').trim()
    return maskPatterns(this.#parts.redact(short, this.#secrets()))
  }
}
