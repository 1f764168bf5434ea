import { extensionPoint, type JsonValue, type LocalizedText, type Shape, shape } from '@plinth/kernel'

/** Advice for operators about a failure. The key of the text is `messages.webhook.hint.<name>`. */
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

/** An attribute that messages may have, `webhook.<provider>.<name>`. */
export interface WebhookAttribute {
  readonly title: LocalizedText
  /**
   * Default: `text`. A value may also be written as text: `5`, `true`, `a,b` for a list, JSON for `object` and for
   * `objects`, a list of objects.
   */
  readonly type?: 'text' | 'integer' | 'boolean' | 'list' | 'object' | 'objects'
  /** Allowed values. */
  readonly values?: readonly string[]
  /** Minimum and maximum of an integer, or of the number of items in a list, both inclusive. */
  readonly minimum?: number
  readonly maximum?: number
  /** True for a token or personal data, which forms and logs must not show. */
  readonly sensitive?: boolean
  /** Payload field for the value. Default: `body` sets it. */
  readonly member?: string
}

/** Maximum length of a text. A longer text is cut between graphemes and gets an ellipsis. */
export interface WebhookTextLimit {
  readonly max: number
  /** Bytes in UTF-8, UTF-16 units, or Unicode code points. */
  readonly unit: 'bytes' | 'utf16' | 'characters'
  /** Path of the payload field that is measured, such as `text.content`. Default: the whole payload as JSON. */
  readonly member?: string
}

/**
 * How to show plain text literally in a format that the service interprets. The channel applies it after cutting. For
 * the message type `text`, it applies to the whole subject and content. For other types, whose texts are markup, it
 * applies only to values that a template inserted.
 */
export interface WebhookPlainText {
  /**
   * Matches what the service would interpret as a mention, a link or a format. It must match nothing else, because all
   * other text must arrive unchanged. Needs the flag `g`. May match an empty text, to insert something between two
   * characters.
   */
  readonly tokens: RegExp
  /**
   * Returns a text that the service shows like the token.
   *
   * @param before text before the token
   */
  readonly show: (token: string, before: string) => string
}

export interface WebhookMessage {
  /** The same for every attempt. */
  readonly id: string
  /** One line, with `plain` applied. For fields that the service interprets. */
  readonly subject: string
  readonly content: string
  /** Subject and content without `plain`, for fields that the service shows literally, such as titles. */
  readonly written: { readonly subject: string; readonly content: string }
  readonly locale: string | undefined
  /** Attributes of the provider, converted to their types. Attributes without a value are left out. */
  readonly attributes: Readonly<Record<string, JsonValue>>
  /** Attributes that belong to no channel, such as `module` and `targetRoute`. */
  readonly context: Readonly<Record<string, unknown>>
  /** Target URL. The provider may change this copy. */
  readonly endpoint: URL
  /** The token, if the secret of the provider is a token. */
  readonly token: string | undefined
  /** Milliseconds since the epoch. */
  readonly nowMs: number
}

/** A message format of a provider. */
export interface WebhookMessageType {
  /**
   * Returns the payload, which is sent as JSON. Must be a pure function: if the message is too long, it is called again
   * with shorter texts.
   */
  body(message: WebhookMessage): object
  /** Default: the service shows texts of this type literally. */
  readonly plain?: WebhookPlainText
  readonly limit?: WebhookTextLimit
  /** Limit of the field that shows the subject. */
  readonly subjectLimit?: WebhookTextLimit
}

export interface WebhookRequest {
  /** Other messages use the same object. To change it, make a copy, as `withQuery` does. */
  readonly url: Readonly<URL>
  readonly headers: Readonly<Record<string, string>>
  /** A text is sent unchanged, any other value as JSON. */
  readonly body: JsonValue | object
}

export interface WebhookSigningKey {
  readonly secret: string
  /** Time of this attempt in milliseconds since the epoch. */
  readonly nowMs: number
  readonly messageId: string
}

export interface WebhookResponse {
  readonly status: number
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The body parsed as JSON; undefined if it is not valid JSON. */
  readonly json: unknown
  /** Milliseconds from the header `Retry-After`, which contains seconds or a date. */
  readonly retryAfterMs: number | undefined
}

export type WebhookVerdict =
  | { readonly delivered: true; readonly messageId?: string | undefined }
  | {
      readonly delivered: false
      /**
       * `rejected`: a retry would fail too. `deferred`: not delivered, a retry may succeed. `unknown`: possibly
       * delivered.
       */
      readonly outcome: 'rejected' | 'deferred' | 'unknown'
      /** Error code and message of the provider. The channel masks and cuts them. */
      readonly code?: string | undefined
      readonly message?: string | undefined
      readonly hint?: WebhookHint | undefined
      readonly retryAfterMs?: number | undefined
    }

/**
 * - `signature`: requests are signed with `sign` while `signing-enabled` is true.
 * - `token`: identifies the sender. `into` says where the token is inserted: appended to a URL that ends with a slash,
 *   as query parameter or payload field unless already set, or as header. Without `into`, the provider inserts it.
 */
export type WebhookSecret = {
  /** Regular expression that the configured value must match. It is not anchored. */
  readonly pattern?: string
  /** Description of the pattern for users. It continues "must ...", 必须…. */
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
 * A bot or push service behind the channel `webhook` (document 2, "Attributes and providers of the webhook channel";
 * decision B29). A provider is mostly data, and its functions are pure. The channel does the rest: it sends, signs,
 * cuts, limits, masks and retries.
 */
export interface WebhookProvider {
  /** Lower-case words joined by `-`. */
  readonly code: string
  /** Other codes of the same service. Their configuration and attributes override those of `code`. */
  readonly aliases?: readonly string[]
  readonly displayName: LocalizedText
  /** Default endpoint, for a service with one URL for all users. */
  readonly endpoint?: string
  /** Hosts of the service; `*.example.com` includes all subdomains. Empty for self-hosted services. */
  readonly knownHosts: readonly string[]
  readonly secret: WebhookSecret
  readonly attributes?: Readonly<Record<string, WebhookAttribute>>
  /**
   * Message types by name. `text` is required. If the configured default is not among them, the first is used. Texts of
   * the type `text` are plain; those of other types are markup.
   */
  readonly messageTypes: Readonly<Record<string, WebhookMessageType>>
  /**
   * Returns the message type that certain attributes require, such as a parse mode. Default: attributes never change
   * the type.
   */
  messageTypeOf?(chosen: string, attributes: WebhookMessage['attributes']): string
  /** Allowed requests per window for one endpoint. With `rateLimitBy`, for each value of that attribute. */
  readonly rateLimits?: readonly { readonly max: number; readonly windowMs: number }[]
  readonly rateLimitBy?: string
  /** Attribute that specifies the chat or user, if the service requires one. */
  readonly receiver?: string
  /**
   * Returns the request URL and headers for a message. Default for the URL: the endpoint.
   *
   * @throws WebhookInputError
   */
  address?(message: WebhookMessage): Pick<WebhookRequest, 'headers'> & Partial<Pick<WebhookRequest, 'url'>>
  /** @throws WebhookInputError */
  sign?(request: WebhookRequest, key: WebhookSigningKey): WebhookRequest
  /** A `GET` request without side effects that proves URL and token. Default: the channel only opens a connection. */
  readonly verify?: {
    /** Like `address` of the provider. The token is inserted as for messages. */
    address(
      of: Pick<WebhookMessage, 'endpoint' | 'token'>,
    ): Pick<WebhookRequest, 'headers'> & Partial<Pick<WebhookRequest, 'url'>>
    /** True if the response proves URL and token. Must not throw. Other responses are passed to `judge`. */
    accepts(response: WebhookResponse): boolean
  }
  /** Interprets a response. Must not throw. */
  judge(response: WebhookResponse): WebhookVerdict
  /**
   * Returns a corrected request, which is sent once after a failed delivery. If it succeeds, the hint is added to the
   * result.
   */
  corrected?(
    response: WebhookResponse,
    request: WebhookRequest,
  ): { readonly request: WebhookRequest; readonly hint: WebhookHint } | undefined
}

/** The message is invalid for the provider. The text contains the attribute and the rule, never the value. */
export class WebhookInputError extends Error {
  override readonly name = 'WebhookInputError'
  readonly attribute: string

  /** @param rule continues "must ..." */
  constructor(attribute: string, rule: string) {
    super(`${attribute} must ${rule}`)
    this.attribute = attribute
  }
}

export interface WebhookProviderSettings {
  readonly endpoint: string | undefined
  readonly secret: string | undefined
  readonly messageType: string | undefined
  /** Default: true. */
  readonly enabled: boolean | undefined
}

/** A provider with its configuration, as `webhookProviderPlugin` creates it. */
export interface ConfiguredWebhookProvider {
  readonly provider: WebhookProvider
  /** Returns the same object until the configuration changes. @param name code or alias */
  settings(name: string): WebhookProviderSettings
}

/** Extension point for providers, by code. */
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
