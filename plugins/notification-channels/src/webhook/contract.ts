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

/** The attribute `webhook.<provider>.<name>`. */
export interface WebhookAttribute {
  readonly title: LocalizedText
  /**
   * Default: `text`. Values may be written as text: `5`, `true`, `a,b` for a list, JSON for `object` and `objects` (a
   * list of objects).
   */
  readonly type?: 'text' | 'integer' | 'boolean' | 'list' | 'object' | 'objects'
  readonly values?: readonly string[]
  /** Inclusive, for an integer or the length of a list. */
  readonly minimum?: number
  readonly maximum?: number
  /** A token or personal data, which forms and logs must not show. */
  readonly sensitive?: boolean
  /** Payload field. Default: `body` sets it. */
  readonly member?: string
}

/** Longer texts are cut between graphemes and get an ellipsis. */
export interface WebhookTextLimit {
  readonly max: number
  /** UTF-8 bytes, UTF-16 units, or code points. */
  readonly unit: 'bytes' | 'utf16' | 'characters'
  /** Path of the measured payload field, such as `text.content`. Default: the whole payload as JSON. */
  readonly member?: string
}

/**
 * Shows plain text literally, although the service interprets the format. Applied after cutting: for the type `text` to
 * all of subject and content, for other types only to values that a template inserted.
 */
export interface WebhookPlainText {
  /**
   * Matches what the service would interpret as a mention, a link or a format, and nothing else. Needs the flag `g`. An
   * empty match inserts text.
   */
  readonly tokens: RegExp
  /**
   * Returns what the service shows as this token.
   *
   * @param before text before the token
   */
  readonly show: (token: string, before: string) => string
}

export interface WebhookMessage {
  /** The same for every attempt. */
  readonly id: string
  /** One line with `plain` applied, for fields that the service interprets. */
  readonly subject: string
  readonly content: string
  /** Without `plain`, for fields that the service shows literally. */
  readonly written: { readonly subject: string; readonly content: string }
  readonly locale: string | undefined
  /** Converted to their types. Attributes without a value are left out. */
  readonly attributes: Readonly<Record<string, JsonValue>>
  /** Attributes of no channel, such as `module` and `targetRoute`. */
  readonly context: Readonly<Record<string, unknown>>
  /** Target URL. The provider may change this copy. */
  readonly endpoint: URL
  /** Undefined if the secret is not a token. */
  readonly token: string | undefined
  /** Milliseconds since the epoch. */
  readonly nowMs: number
}

export interface WebhookMessageType {
  /** Returns the payload for JSON. A pure function: called again with shorter texts if the message is too long. */
  body(message: WebhookMessage): object
  /** Default: the service shows the texts literally. */
  readonly plain?: WebhookPlainText
  readonly limit?: WebhookTextLimit
  /** Limit of the field with the subject. */
  readonly subjectLimit?: WebhookTextLimit
}

export interface WebhookRequest {
  /** Shared with other messages. Change a copy, as `withQuery` does. */
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
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Undefined if the body is not JSON. */
  readonly json: unknown
  /** From the header `Retry-After`. */
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
      /** From the provider. The channel masks and cuts them. */
      readonly code?: string | undefined
      readonly message?: string | undefined
      readonly hint?: WebhookHint | undefined
      readonly retryAfterMs?: number | undefined
    }

/**
 * - `signature`: requests are signed with `sign` while `signing-enabled` is true.
 * - `token`: identifies the sender. `into` inserts it: at the end of a URL with a trailing slash, as query parameter or
 *   payload field unless already set, or as header. Default: the provider inserts it.
 */
export type WebhookSecret = {
  /** Pattern of the configured value. It is not anchored. */
  readonly pattern?: string
  /** Explains the pattern to users: "must ...", 必须…. */
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
 * decision B29). Mostly data with pure functions. The channel sends, signs, cuts, limits, masks and retries.
 */
export interface WebhookProvider {
  /** Lower-case words joined by `-`. */
  readonly code: string
  /** Other codes of the service. Their configuration and attributes override those of `code`. */
  readonly aliases?: readonly string[]
  readonly displayName: LocalizedText
  /** For a service with one URL for all users. */
  readonly endpoint?: string
  /** `*.example.com` includes all subdomains. Empty for self-hosted services. */
  readonly knownHosts: readonly string[]
  readonly secret: WebhookSecret
  readonly attributes?: Readonly<Record<string, WebhookAttribute>>
  /**
   * By name; `text` is required. If the configured default is missing, the first is used. Texts of the type `text` are
   * plain, others are markup.
   */
  readonly messageTypes: Readonly<Record<string, WebhookMessageType>>
  /** Message type that attributes require, such as a parse mode. Default: they never change it. */
  messageTypeOf?(chosen: string, attributes: WebhookMessage['attributes']): string
  /** Requests per window for an endpoint, or with `rateLimitBy` for a value of that attribute. */
  readonly rateLimits?: readonly { readonly max: number; readonly windowMs: number }[]
  readonly rateLimitBy?: string
  /** Attribute for the chat or user, if required. */
  readonly receiver?: string
  /**
   * Request URL and headers. Default URL: the endpoint.
   *
   * @throws WebhookInputError
   */
  address?(message: WebhookMessage): Pick<WebhookRequest, 'headers'> & Partial<Pick<WebhookRequest, 'url'>>
  /** @throws WebhookInputError */
  sign?(request: WebhookRequest, key: WebhookSigningKey): WebhookRequest
  /** A `GET` request without side effects that proves URL and token. Default: only opens a connection. */
  readonly verify?: {
    /** Like `address` of the provider. The token is inserted as for messages. */
    address(
      of: Pick<WebhookMessage, 'endpoint' | 'token'>,
    ): Pick<WebhookRequest, 'headers'> & Partial<Pick<WebhookRequest, 'url'>>
    /** True if the response is the proof. Must not throw. `judge` reads other responses. */
    accepts(response: WebhookResponse): boolean
  }
  /** Must not throw. */
  judge(response: WebhookResponse): WebhookVerdict
  /** A corrected request, which is sent once after a failure. If it succeeds, the result gets the hint. */
  corrected?(
    response: WebhookResponse,
    request: WebhookRequest,
  ): { readonly request: WebhookRequest; readonly hint: WebhookHint } | undefined
}

/** The text contains the attribute and the rule, never the value. */
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

export interface ConfiguredWebhookProvider {
  readonly provider: WebhookProvider
  /** The same object until the configuration changes. @param name code or alias */
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
