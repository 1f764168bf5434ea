import { type LocalizedText, localize } from '@plinth/config-schema'
import { extensionPoint } from '../refs.ts'
import { shape } from '../shapes/shape.ts'

/** Who a message is for (document 2, "Recipient kinds"). */
export type Recipient =
  | { readonly kind: 'user'; readonly userId: number }
  | { readonly kind: 'email'; readonly address: string }
  | { readonly kind: 'mobile'; readonly number: string }
  | { readonly kind: 'websocket-user'; readonly userId: number }
  | { readonly kind: 'websocket-session'; readonly sessionId: string }
  | { readonly kind: 'websocket-group'; readonly group: string }
  | { readonly kind: 'websocket-guest' }
  | { readonly kind: 'social-openid'; readonly openId: string }
  | { readonly kind: 'topic'; readonly topic: string }

export type RecipientKind = Recipient['kind']

/** Part of a text, from `start` up to but not including `end`, in UTF-16 units. */
export type TextRange = readonly [start: number, end: number]

/** One message, ready to be sent (document 2, "Message"). */
export interface NotificationMessage {
  /** Assigned by the facade, unique per message. */
  readonly id: string
  readonly subject: string
  readonly content: string
  /**
   * Where a template or a text of the catalogue put values of variables into subject and content: ranges in ascending order that
   * do not overlap. A channel that reads markup shows these parts as they are written. Absent: the message was not rendered.
   */
  readonly valueRanges?: { readonly subject: readonly TextRange[]; readonly content: readonly TextRange[] }
  /**
   * HTML form of `content`, for channels that show HTML; the others send `content`. Whoever writes it has escaped what came
   * from people.
   */
  readonly html?: string
  readonly template?: string
  readonly variables: Readonly<Record<string, string | number | boolean | null>>
  /**
   * Names of variables whose values are secret, such as a one-time code. Subject and content may hold them in clear; a
   * log, result or record does not: whoever writes one masks them, `redact(text, secretsOf(message))`.
   */
  readonly secretVariables?: readonly string[]
  readonly recipients: readonly Recipient[]
  /** Channel-private data. May end up in send records: never keys, tokens or passwords. */
  readonly attributes: Readonly<Record<string, unknown>>
  /** BCP 47 language tag. */
  readonly locale?: string
}

/** Values of the secret variables of a message, in written form. */
export function secretsOf({ variables, secretVariables = [] }: NotificationMessage): string[] {
  return secretVariables.map((name) => String(variables[name] ?? '')).filter((value) => value !== '')
}

export interface SendContext {
  /** Aborts when the caller's deadline passes or the product stops; the channel must give up then. */
  readonly signal: AbortSignal
  /** Same key, same message: an idempotent channel sends it once. */
  readonly idempotencyKey: string
  /** 1 for the first try. */
  readonly attempt: number
  /** True: all recipients want the message, their preferences were asked. */
  readonly isWanted?: boolean
}

/** What a provider said, for the operator. Never signing secrets, tokens or request headers. */
export interface ProviderAnswer {
  readonly provider?: string
  readonly providerCode?: string
  readonly providerMessage?: string
  /** What the operator can do about it: a text, or the key of one (`messages.<path>`), which the facade translates. */
  readonly hint?: string
}

/**
 * - `accepted`: the next hop took responsibility.
 * - `rejected`: it will never be sent as it is; trying again is useless.
 * - `deferred`: not sent, try again later.
 * - `unknown`: it may or may not have been sent (a timeout); only an idempotent channel may try again.
 */
export type DeliveryOutcome =
  | ({ readonly outcome: 'accepted'; readonly messageId?: string } & ProviderAnswer)
  | ({ readonly outcome: 'rejected'; readonly errorCode: string; readonly errorMessage: string } & ProviderAnswer)
  | ({
      readonly outcome: 'deferred'
      readonly errorCode: string
      readonly errorMessage: string
      /** Milliseconds to wait, when the provider said so. */
      readonly retryAfterMs?: number
    } & ProviderAnswer)
  | ({ readonly outcome: 'unknown'; readonly errorCode: string; readonly errorMessage: string } & ProviderAnswer)

export type OutcomeName = DeliveryOutcome['outcome']

/** What a message may say to one provider of a channel, as a form asks for it. */
export interface ChannelAttribute {
  /** As a message has it, such as `webhook.acme.priority`. */
  readonly name: string
  readonly title: LocalizedText
  /** Values may also be written as text: `a,b` for a list, JSON for `object` and `objects` (a list of objects). */
  readonly type: 'text' | 'integer' | 'boolean' | 'list' | 'object' | 'objects'
  /** The only values that are allowed; absent: any. */
  readonly values?: readonly string[]
  /** Inclusive; of an integer its value, of a list the number of its items. */
  readonly minimum?: number
  readonly maximum?: number
  /** True: holds a token, or says who gets the message; a form may not give it. */
  readonly sensitive: boolean
}

/** A service behind a channel that messages may name. */
export interface ChannelProvider {
  readonly code: string
  readonly displayName: LocalizedText
  /** Forms in which it shows a message. */
  readonly messageTypes: readonly string[]
  readonly attributes: readonly ChannelAttribute[]
  /** Name of the attribute without which it reaches nobody, such as a chat; absent: it reaches somebody by itself. */
  readonly receiver?: string
}

/** What can be proved of a channel without sending anything, each after the one before. */
export const channelChecks = ['configuration', 'address', 'connection', 'credentials'] as const
export type ChannelCheck = (typeof channelChecks)[number]

/** Configuration keys that decide whether something can be sent: their names, never their values. */
export interface ConfigNeeds {
  /** The most important ones first. */
  readonly keys: readonly string[]
  /** Those that have no value, and without which nothing can be sent. */
  readonly missingKeys: readonly string[]
}

/** What a channel knows of itself in this process. */
export interface ChannelCondition extends ConfigNeeds {
  /** True: the operator has switched this provider off; absent: false. */
  readonly isOff?: boolean
  /** Milliseconds for which it is asked after others, or not at all, because it failed; absent or 0: it does not rest. */
  readonly restsForMs?: number
  /** Milliseconds for which it takes no more messages, because it had as many as it takes; absent or 0: it takes them. */
  readonly limitedForMs?: number
}

/** Why a channel could not send now, for its operator: what `verify` throws. Holds no secret. */
export class ChannelFault extends Error {
  override readonly name = 'ChannelFault'
  /** What failed. */
  readonly check: ChannelCheck
  /** What held before that. */
  readonly checked: readonly ChannelCheck[]
  readonly reason: LocalizedText
  /** What the next hop or a library said, in its own words; may be empty. */
  readonly detail: string

  constructor(check: ChannelCheck, reason: LocalizedText, checked: readonly ChannelCheck[] = [], detail = '') {
    const text = localize(reason, 'en')
    super(detail === '' ? text : `${text} ${detail}`)
    this.check = check
    this.checked = checked
    this.reason = reason
    this.detail = detail
  }
}

/** By name, because another copy of the kernel may have made it. */
export const isChannelFault = (error: unknown): error is ChannelFault =>
  error instanceof Error && error.name === 'ChannelFault' && 'check' in error && 'reason' in error

/** A way to deliver messages. Contributed under its code, in lower case: `ctx.contribute(notificationChannel, 'acme', channel)`. */
export interface NotificationChannel {
  /**
   * @example displayName: 'ACME SMS'
   */
  readonly displayName: LocalizedText
  /**
   * Kinds that it can reach; an empty list means that it needs no recipient.
   *
   * @example recipientKinds: ['mobile']
   */
  readonly recipientKinds: readonly RecipientKind[]
  /**
   * @example traits: { idempotent: false, recipients: 'each' }
   */
  readonly traits: {
    /** True when the same idempotency key never sends twice, so that an `unknown` outcome may be tried again. */
    readonly idempotent: boolean
    /**
     * `each`: the channel is given one recipient per send, so that every recipient has an outcome of its own, as SMS needs.
     * `together`, the default: all recipients of a message, up to 1,000 at a time.
     */
    readonly recipients?: 'together' | 'each'
    /**
     * `as-written`: subject and content reach the channel as the sender wrote them, because it translates them when they are
     * read. `resolved`, the default: keys of the catalogue are replaced by texts in the language of the message.
     */
    readonly texts?: 'resolved' | 'as-written'
  }
  /**
   * False while the operator has switched the channel off; absent means always on. Asked before every send.
   *
   * @example enabled: () => true
   */
  enabled?(): boolean
  /**
   * Services behind it, for pages that send messages; absent: it has none that a message may name.
   *
   * @example providers: () => [{ code: 'acme', displayName: 'ACME', messageTypes: ['text'], attributes: [] }]
   */
  providers?(): readonly ChannelProvider[]
  /**
   * Sends one message. A delivery failure is an outcome, not an exception.
   *
   * @example send: async ({ content }, { signal }) => ((await post(content, signal)) ? { outcome: 'accepted' } : refused)
   */
  send(message: NotificationMessage, context: SendContext): Promise<DeliveryOutcome>
  /**
   * Proves that the current configuration can reach the next hop; sends nothing. Gives up when the signal aborts. Answers
   * what it checked; nothing stands for configuration and connection. Throws when it could not send: a `ChannelFault` says in
   * both languages why, another error by its message. Absent: nobody can say more than whether keys are missing.
   *
   * @param provider code of one of its providers; absent: those that it would use for a message that names none
   * @example verify: async (signal) => assert(await account(signal), 'The account is closed.')
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: a verify that answers nothing is what most channels have
  verify?(signal: AbortSignal, provider?: string): Promise<readonly ChannelCheck[] | void>
  /**
   * What an operator has to fill in, and whether it rests. Asked whenever somebody looks at it, so it answers from memory.
   * Absent: the keys of its plugin, of which none is missing.
   *
   * @param provider code of one of its providers; absent: of the channel as a whole
   * @example condition: () => ({ keys: [tokenKey], missingKeys: hasToken() ? [] : [tokenKey] })
   */
  condition?(provider?: string): ChannelCondition
}

const recipientKinds: readonly RecipientKind[] = [
  ...(['user', 'email', 'mobile', 'websocket-user', 'websocket-session', 'websocket-group'] as const),
  ...(['websocket-guest', 'social-openid', 'topic'] as const),
]

export const notificationChannel = extensionPoint<NotificationChannel>('notification.channel', {
  from: '@plinth/notification',
  names: shape.kebab,
  shape: shape.object<NotificationChannel>(
    {
      displayName: shape.localized,
      recipientKinds: shape.list(shape.among(recipientKinds)),
      traits: shape.object<NotificationChannel['traits']>(
        { idempotent: shape.flag },
        { recipients: shape.among(['together', 'each']), texts: shape.among(['resolved', 'as-written']) },
      ),
      send: shape.function,
    },
    { enabled: shape.function, providers: shape.function, verify: shape.function, condition: shape.function },
  ),
})
