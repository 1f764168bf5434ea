import { extensionPoint, type JsonValue, type LocalizedText, type Shape, shape } from '@plinth/kernel'

/** Advice for operators. The text has the key `messages.webhook.hint.<name>`. */
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

/** Rules for the attribute `webhook.<provider>.<name>`. */
export interface WebhookAttribute {
  readonly title: LocalizedText
  /**
   * Type of the value. Default: `text`. Values of other types may also be written as text: `5`, `true`, `a,b` for a
   * list, JSON for `object` and `objects` (a list of objects).
   */
  readonly type?: 'text' | 'integer' | 'boolean' | 'list' | 'object' | 'objects'
  readonly values?: readonly string[]
  /** Smallest allowed integer or length of a list; `maximum` is the largest. */
  readonly minimum?: number
  readonly maximum?: number
  /** True for a token or personal data, which forms and logs must not show. */
  readonly sensitive?: boolean
  /** Payload field that contains the value. Default: none, so that `body` must use the attribute. */
  readonly member?: string
}

/** Limit of a text. Longer texts are cut between graphemes and get an ellipsis. */
export interface WebhookTextLimit {
  readonly max: number
  /** Unit of `max`: UTF-8 bytes, UTF-16 units, or code points. */
  readonly unit: 'bytes' | 'utf16' | 'characters'
  /** Path of the measured payload field, such as `text.content`. Default: the whole payload as JSON. */
  readonly member?: string
}

/**
 * Rules that change plain text so that the service shows it literally and does not interpret it as formatting. They
 * are applied after the text has been truncated. For the message type `text` they apply to the whole subject and
 * content, for other types only to the values that a template inserted.
 */
export interface WebhookPlainText {
  /**
   * Matches what the service would interpret as a mention, a link or a format, and nothing else. Needs the flag `g`. An
   * empty match inserts text.
   */
  readonly tokens: RegExp
  /**
   * Returns a text that the service shows literally as this token.
   *
   * @param before text before the token
   */
  readonly show: (token: string, before: string) => string
  /**
   * Returns the text for a token inside a web address, in a service that recognises addresses before it undoes escapes:
   * `percentEncodedMark` keeps the address the same. Default: as `show`, for a service that undoes escapes first.
   */
  readonly inAddress?: (token: string) => string
}

export interface WebhookMessage {
  /** Id of the message. It is the same for every attempt. */
  readonly id: string
  /** Subject in one line. `plain` was applied, so that services that interpret the field show it literally. */
  readonly subject: string
  readonly content: string
  /** Texts to which `plain` was not applied, for fields that the service shows literally. */
  readonly written: { readonly subject: string; readonly content: string }
  readonly locale: string | undefined
  /** Attributes of this provider, converted to their types. Attributes without a value are left out. */
  readonly attributes: Readonly<Record<string, JsonValue>>
  /** Attributes that belong to no channel, such as `module` and `targetRoute`. */
  readonly context: Readonly<Record<string, unknown>>
  /** Target URL. The provider may change this copy. */
  readonly endpoint: URL
  /** Token of the sender. Undefined if the secret of the provider is not a token. */
  readonly token: string | undefined
  /** Milliseconds since the epoch. */
  readonly nowMs: number
}

export interface WebhookMessageType {
  /**
   * Returns the payload, which is sent as JSON. The function must be pure, because it is called again with shorter
   * texts if the message is too long.
   */
  body(message: WebhookMessage): object
  /** Rules to show texts literally. Default: none, because the service shows them literally. */
  readonly plain?: WebhookPlainText
  readonly limit?: WebhookTextLimit
  /** Limit of the field with the subject. */
  readonly subjectLimit?: WebhookTextLimit
  /** Maximum size of the whole payload as JSON in UTF-8 bytes, in addition to `limit`. */
  readonly payloadLimit?: number
}

export interface WebhookRequest {
  /** URL of the request. Other messages use the same object, so change only a copy, as `withQuery` does. */
  readonly url: Readonly<URL>
  readonly headers: Readonly<Record<string, string>>
  /** A text is sent unchanged, any other value as JSON. */
  readonly body: JsonValue | object
}

export interface WebhookSigningKey {
  readonly secret: string
  /** Milliseconds since the epoch. */
  readonly nowMs: number
  readonly messageId: string
}

export interface WebhookResponse {
  readonly status: number
  /** Headers by name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Parsed body. Undefined if the body is not JSON. */
  readonly json: unknown
  /** Milliseconds until a retry, from the header `Retry-After`. */
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
      /** Error code from the provider. The channel masks secrets in `code` and `message`, and shortens these texts. */
      readonly code?: string | undefined
      readonly message?: string | undefined
      readonly hint?: WebhookHint | undefined
      readonly retryAfterMs?: number | undefined
    }

/**
 * Secret of a provider.
 * - `signature`: `sign` signs requests with it while `signing-enabled` is true.
 * - `token`: identifies the sender. `into` tells where the channel inserts it: at the end of a URL with a trailing
 * slash, in a query parameter or payload field that is not set yet, or in a header. Default: the provider inserts it.
 */
export type WebhookSecret = {
  /** Regular expression for the configured value. It may match any part of the value. */
  readonly pattern?: string
  /** Text that explains the pattern to users, in the form "must ..." or "必须…". */
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
 * A bot or push service behind the channel `webhook` (document 2 of the specification, "Attributes and providers of the
 * webhook channel"). It consists of data and pure functions. The channel sends, signs, cuts, limits, masks and retries.
 */
export interface WebhookProvider {
  /** Code of the provider: lower-case words joined by `-`. */
  readonly code: string
  /** Other codes of the service. Configuration and attributes under an alias override those under `code`. */
  readonly aliases?: readonly string[]
  readonly displayName: LocalizedText
  /** Fixed URL, for a service that has the same URL for all users. */
  readonly endpoint?: string
  /** Known hosts of the service. `*.example.com` includes all subdomains. Empty for self-hosted services. */
  readonly knownHosts: readonly string[]
  readonly secret: WebhookSecret
  readonly attributes?: Readonly<Record<string, WebhookAttribute>>
  /**
   * Message types by name; `text` is required. If the configured default type does not exist, the first one is used.
   * The texts of a message of type `text` are plain text; those of other types are markup.
   */
  readonly messageTypes: Readonly<Record<string, WebhookMessageType>>
  /**
   * Returns the message type that the attributes require, for example because of a parse mode. Default: attributes
   * never change the type.
   */
  messageTypeOf?(chosen: string, attributes: WebhookMessage['attributes']): string
  /**
   * Maximum number of requests per window. It applies to each endpoint or, with `rateLimitBy`, to each value of that
   * attribute.
   */
  readonly rateLimits?: readonly { readonly max: number; readonly windowMs: number }[]
  readonly rateLimitBy?: string
  /** Name of the attribute for the chat or user, if the service requires one. */
  readonly receiver?: string
  /**
   * Returns headers and URL of the request. Default URL: the endpoint.
   *
   * @throws WebhookInputError
   */
  address?(message: WebhookMessage): Pick<WebhookRequest, 'headers'> & Partial<Pick<WebhookRequest, 'url'>>
  /** Returns the request with its signature. @throws WebhookInputError */
  sign?(request: WebhookRequest, key: WebhookSigningKey): WebhookRequest
  /**
   * A `GET` request without side effects that proves that URL and token are valid. Default: the channel only opens a
   * connection.
   */
  readonly verify?: {
    /** Returns the request like `address` of the provider. The channel inserts the token as for messages. */
    address(
      of: Pick<WebhookMessage, 'endpoint' | 'token'>,
    ): Pick<WebhookRequest, 'headers'> & Partial<Pick<WebhookRequest, 'url'>>
    /** True if the response proves that URL and token are valid. Must not throw. `judge` evaluates other responses. */
    accepts(response: WebhookResponse): boolean
  }
  /** Decides whether a response confirms the delivery. Must not throw. */
  judge(response: WebhookResponse): WebhookVerdict
  /**
   * Returns a corrected request after a failure. The channel sends it once. If this succeeds, the result contains the
   * hint.
   */
  corrected?(
    response: WebhookResponse,
    request: WebhookRequest,
  ): { readonly request: WebhookRequest; readonly hint: WebhookHint } | undefined
}

/** Error for an invalid attribute. Its text contains the attribute and the rule, but never the value. */
export class WebhookInputError extends Error {
  override readonly name = 'WebhookInputError'
  readonly attribute: string

  /** @param rule text that continues the sentence "The attribute must ..." */
  constructor(attribute: string, rule: string) {
    super(`${attribute} must ${rule}`)
    this.attribute = attribute
  }
}

export interface WebhookProviderSettings {
  readonly endpoint: string | undefined
  readonly secret: string | undefined
  readonly messageType: string | undefined
  /** True if the provider may be used. Default: true. */
  readonly enabled: boolean | undefined
}

export interface ConfiguredWebhookProvider {
  readonly provider: WebhookProvider
  /** Returns the settings: the same object until the configuration changes. @param name code or alias */
  settings(name: string): WebhookProviderSettings
}

/** Providers by code. */
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
  const plain = shape.object<WebhookPlainText>({ tokens: shape.anyObject, show: run }, { inAddress: run })
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
      messageTypes: map(
        shape.object<WebhookMessageType>(
          { body: run },
          { plain, limit, subjectLimit: limit, payloadLimit: integer(1) },
        ),
      ),
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
