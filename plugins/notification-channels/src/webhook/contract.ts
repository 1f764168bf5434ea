import { extensionPoint, type JsonValue, type LocalizedText, type Shape, shape } from '@plinth/kernel'

/** What an operator can do about a failure; each has a text in `messages/`, key `messages.webhook.hint.<name>`. */
export type WebhookHint =
  | 'keyword-missing'
  | 'signature-mismatch'
  | 'clock-skew'
  | 'ip-not-allowed'
  | 'token-invalid'
  | 'robot-disabled'
  | 'rate-limited'
  | 'provider-busy'
  | 'payload-too-large'
  | 'payload-invalid'
  | 'recipient-blocked'
  | 'recipient-moved'
  | 'refused'
  | 'unexpected-response'
  | 'endpoint-blocked'
  | 'timeout'
  | 'network'

/** One attribute of a message, `webhook.<provider>.<name>`. */
export interface WebhookAttribute {
  readonly title: LocalizedText
  /**
   * `text` when absent. Values may also be written as text: `5`, `true`, `a,b` for a list, JSON for `object` and `objects` (a
   * list of objects).
   */
  readonly type?: 'text' | 'integer' | 'boolean' | 'list' | 'object' | 'objects'
  /** The only values that are allowed. */
  readonly values?: readonly string[]
  /** Inclusive; of an integer its value, of a list the number of its items. */
  readonly minimum?: number
  readonly maximum?: number
  /** True: holds a token or leads to a person; forms and records do not show it. */
  readonly sensitive?: boolean
  /** Member of the payload that takes the value; absent: `body` places it. */
  readonly member?: string
}

/** How much text a provider takes. Longer contents are cut between characters as people see them (graphemes), with an ellipsis. */
export interface WebhookTextLimit {
  readonly max: number
  /** Bytes of UTF-8, UTF-16 units, or Unicode code points. */
  readonly unit: 'bytes' | 'utf16' | 'characters'
  /** Member of the payload that is measured, dots lead inwards (`text.content`); absent: the whole payload as JSON. */
  readonly member?: string
}

/**
 * How a message type shows text that people wrote as it is written. The channel applies it, after it has cut the text: in the type
 * `text` to all of subject and content, in other types, whose texts are markup, to the values that a template put into them.
 */
export interface WebhookPlainText {
  /**
   * What the parser of the service reads as a mention, a link with a text of its own, or a format; nothing else, because all other
   * text must arrive unchanged. With the flag `g`. A match may be empty where something belongs between two characters.
   */
  readonly tokens: RegExp
  /**
   * What the service shows as this token.
   *
   * @param before the text before it
   */
  readonly show: (token: string, before: string) => string
}

/** A message as a provider sees it. */
export interface WebhookMessage {
  /** Same for every try. */
  readonly id: string
  /** On one line. For members that the service reads as the message type says: `plain` is applied. */
  readonly subject: string
  readonly content: string
  /** Subject and content without `plain`, for members that the service shows without a parser, such as titles. */
  readonly written: { readonly subject: string; readonly content: string }
  readonly locale: string | undefined
  /** Own attributes of the provider, read by their types; absent ones are missing. */
  readonly attributes: Readonly<Record<string, JsonValue>>
  /** Attributes that belong to no channel, such as `module` and `targetRoute`. */
  readonly context: Readonly<Record<string, unknown>>
  /** Where it goes; a copy. */
  readonly endpoint: URL
  /** The token, for a provider whose secret is one. */
  readonly token: string | undefined
  /** Milliseconds since the epoch. */
  readonly nowMs: number
}

/** One form in which a provider shows a message. */
export interface WebhookMessageType {
  /** The payload, for JSON. Pure: called again with shorter texts when the message is too long. */
  body(message: WebhookMessage): object
  /** Absent: the service shows texts of this type without a parser. */
  readonly plain?: WebhookPlainText
  readonly limit?: WebhookTextLimit
  /** Of the member that shows the subject. */
  readonly subjectLimit?: WebhookTextLimit
}

export interface WebhookRequest {
  /** May be shared with other messages: whoever changes it takes a copy, as `withQuery` does. */
  readonly url: Readonly<URL>
  readonly headers: Readonly<Record<string, string>>
  /** A text is sent as it is, everything else as JSON. */
  readonly body: JsonValue | object
}

export interface WebhookSigningKey {
  readonly secret: string
  /** Time of this try in milliseconds since the epoch. */
  readonly nowMs: number
  readonly messageId: string
}

/** What a provider answered. */
export interface WebhookAnswer {
  readonly status: number
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The body read as JSON; `undefined` when it is none. */
  readonly json: unknown
  /** Milliseconds of a `Retry-After` header, in seconds or as a date. */
  readonly retryAfterMs: number | undefined
}

export type WebhookVerdict =
  | { readonly delivered: true; readonly messageId?: string | undefined }
  | {
      readonly delivered: false
      /** `rejected`: useless to try again; `deferred`: not delivered, try later; `unknown`: it may have been delivered. */
      readonly outcome: 'rejected' | 'deferred' | 'unknown'
      /** Business code and message of the provider; the channel masks and cuts them. */
      readonly code?: string | undefined
      readonly message?: string | undefined
      readonly hint?: WebhookHint | undefined
      readonly retryAfterMs?: number | undefined
    }

/**
 * - `signature`: signs requests while `signing-enabled`; needs `sign`.
 * - `token`: says who may send. `into` says where it goes: appended to an address that ends with a slash, a query parameter or a
 *   member of the payload unless already there, or a header; absent: the provider places it itself.
 */
export type WebhookSecret = {
  /** Rule for the configured value, a regular expression that is not anchored. */
  readonly pattern?: string
  /** What the pattern demands, for people; completes "must ...", 必须…. */
  readonly rule?: LocalizedText
} & (
  | { readonly use: 'signature' }
  | {
      readonly use: 'token'
      readonly into?:
        | 'path'
        | { readonly query: string }
        | { readonly member: string }
        | { readonly header: string; readonly prefix?: string }
    }
)

/**
 * A robot or push service behind the channel `webhook` (document 2, "Attributes and providers of the webhook channel"; decision
 * B29). Mostly data; its functions are pure. The channel sends, signs, cuts, limits, masks and tries again.
 */
export interface WebhookProvider {
  /** Lower-case words joined by `-`. */
  readonly code: string
  /** Other codes of the same service; their configuration and attributes go before those of the code. */
  readonly aliases?: readonly string[]
  readonly displayName: LocalizedText
  /** Used when no endpoint is configured, for a service that has one address for all. */
  readonly endpoint?: string
  /** Hosts of the service, `*.example.com` for all below a name; empty for what people host themselves. */
  readonly knownHosts: readonly string[]
  readonly secret: WebhookSecret
  readonly attributes?: Readonly<Record<string, WebhookAttribute>>
  /**
   * By name, `text` among them; the first is used when the configured default is none of them. Texts of the type `text` are text,
   * texts of all others are markup that the sender wrote.
   */
  readonly messageTypes: Readonly<Record<string, WebhookMessageType>>
  /** The message type of a message whose attributes choose another one, such as a parse mode; absent: they never do. */
  messageTypeOf?(chosen: string, attributes: WebhookMessage['attributes']): string
  /** Requests to one endpoint (with `rateLimitBy`: and one value of that attribute) in each window. */
  readonly rateLimits?: readonly { readonly max: number; readonly windowMs: number }[]
  readonly rateLimitBy?: string
  /** Attribute that names the chat or person, for a service that cannot send without one. */
  readonly receiver?: string
  /**
   * The address to send to, made of the endpoint, and headers; the endpoint itself where it, or its `url`, is absent.
   *
   * @throws WebhookInputError
   */
  address?(message: WebhookMessage): Pick<WebhookRequest, 'headers'> & Partial<Pick<WebhookRequest, 'url'>>
  /** @throws WebhookInputError */
  sign?(request: WebhookRequest, key: WebhookSigningKey): WebhookRequest
  /**
   * A question (`GET`) without any effect, by whose answer the service shows that it knows the address and the token. Absent: the
   * channel opens a connection and asks nothing.
   */
  readonly verify?: {
    /** As of a message; a token goes where its rule says. */
    address(
      of: Pick<WebhookMessage, 'endpoint' | 'token'>,
    ): Pick<WebhookRequest, 'headers'> & Partial<Pick<WebhookRequest, 'url'>>
    /** Whether the answer says so. Never throws. Another answer is judged as that to a message is. */
    accepts(answer: WebhookAnswer): boolean
  }
  /** Whether an answer means success. Never throws. */
  judge(answer: WebhookAnswer): WebhookVerdict
  /** What to send instead, once, after an answer that delivered nothing; the hint goes with a success. */
  corrected?(
    answer: WebhookAnswer,
    request: WebhookRequest,
  ): { readonly request: WebhookRequest; readonly hint: WebhookHint } | undefined
}

/** A message that a provider cannot send as it is. The text names the attribute and the rule, never the value. */
export class WebhookInputError extends Error {
  override readonly name = 'WebhookInputError'
  readonly attribute: string

  /** @param rule completes "must ..." */
  constructor(attribute: string, rule: string) {
    super(`${attribute} must ${rule}`)
    this.attribute = attribute
  }
}

export interface WebhookProviderSettings {
  readonly endpoint: string | undefined
  readonly secret: string | undefined
  readonly messageType: string | undefined
  /** Absent counts as true. */
  readonly enabled: boolean | undefined
}

/** A provider with what the operator configured for it. Made by `webhookProviderPlugin`. */
export interface ConfiguredWebhookProvider {
  readonly provider: WebhookProvider
  /** The same object as long as nothing has changed. @param name the code or an alias of it */
  settings(name: string): WebhookProviderSettings
}

/** Contributed under the code of the provider. */
export const webhookProvider = extensionPoint<ConfiguredWebhookProvider>('notification.webhook-provider', {
  from: '@plinth/notification-channels/webhook',
  names: shape.kebab,
  namedBy: 'provider.code',
  shape: shape.object<ConfiguredWebhookProvider>({ provider: providerShape(), settings: shape.function }),
})

function providerShape(): Shape {
  const { text, kebab, flag, list, map, among, integer, localized } = shape
  const run = shape.function
  const attribute = shape.record<WebhookAttribute>(
    { title: localized },
    {
      type: among(['text', 'integer', 'boolean', 'list', 'object', 'objects']),
      values: list(text),
      minimum: { type: 'number' },
      maximum: { type: 'number' },
      sensitive: flag,
      member: text,
    },
  )
  const limit = shape.record<WebhookTextLimit>(
    { max: integer(1), unit: among(['bytes', 'utf16', 'characters']) },
    { member: text },
  )
  const plain = shape.object<WebhookPlainText>({ tokens: shape.anyObject, show: run })
  const rules = { pattern: text, rule: localized }
  const place: Shape = {
    type: ['string', 'object'],
    description: '"path", or an object with query, member or header',
    enum: ['path'],
    properties: { query: text, member: text, header: text, prefix: { type: 'string' } },
    additionalProperties: false,
  }
  const secret = shape.variants('use', [
    shape.record<Extract<WebhookSecret, { use: 'signature' }>>({ use: among(['signature']) }, rules),
    shape.record<Extract<WebhookSecret, { use: 'token' }>>({ use: among(['token']) }, { ...rules, into: place }),
  ])
  const rateLimit = shape.record<{ max: number; windowMs: number }>({ max: integer(1), windowMs: integer(1) })
  return shape.object<WebhookProvider>(
    {
      code: kebab,
      displayName: localized,
      knownHosts: list(text),
      secret,
      judge: run,
      messageTypes: map(shape.object<WebhookMessageType>({ body: run }, { plain, limit, subjectLimit: limit })),
    },
    {
      aliases: list(kebab),
      endpoint: text,
      attributes: map(attribute),
      messageTypeOf: run,
      rateLimits: list(rateLimit),
      rateLimitBy: text,
      receiver: text,
      address: run,
      sign: run,
      corrected: run,
      verify: shape.object<NonNullable<WebhookProvider['verify']>>({ address: run, accepts: run }),
    },
  )
}
