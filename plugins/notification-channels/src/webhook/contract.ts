import { extensionPoint, type JsonValue, type LocalizedText, type Shape, shape } from '@plinth/kernel'

/** Advice for an operator about an error. The text has the key `messages.webhook.hint.<name>`. */
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
   * Default: `text`. Values may also be written as text: `5`, `true`, `a,b` for a list, JSON for `object` and `objects`
   * (a list of objects).
   */
  readonly type?: 'text' | 'integer' | 'boolean' | 'list' | 'object' | 'objects'
  /** The allowed values. */
  readonly values?: readonly string[]
  /** Inclusive. Limits the value of an integer, and the number of items of a list. */
  readonly minimum?: number
  readonly maximum?: number
  /** True for a token or personal data, which forms and records must not show. */
  readonly sensitive?: boolean
  /** Field of the payload for the value. If absent, `body` sets it. */
  readonly member?: string
}

/** Maximum length of a text. Longer contents are cut between graphemes, and get an ellipsis. */
export interface WebhookTextLimit {
  readonly max: number
  /** Bytes of UTF-8, UTF-16 units, or Unicode code points. */
  readonly unit: 'bytes' | 'utf16' | 'characters'
  /** Path of the measured payload field, such as `text.content`. If absent, the whole payload as JSON is measured. */
  readonly member?: string
}

/**
 * Shows plain text literally in a message type. The channel applies it after cutting the text. In the type `text`, it
 * applies to all of subject and content. Other types are markup, so it only applies to the values that a template
 * inserted.
 */
export interface WebhookPlainText {
  /**
   * Matches tokens that the parser of the service reads as a mention, a link with its own text, or a format. It must
   * match nothing else, because other text must arrive unchanged. It has the flag `g`. A match may be empty, to insert
   * text between two characters.
   */
  readonly tokens: RegExp
  /**
   * Returns the text that the service shows as this token.
   *
   * @param before text before the token
   */
  readonly show: (token: string, before: string) => string
}

/** A message for a provider. */
export interface WebhookMessage {
  /** The same for every attempt. */
  readonly id: string
  /** On one line, with `plain` applied. For fields that the service parses. */
  readonly subject: string
  readonly content: string
  /** Subject and content without `plain`, for fields that the service does not parse, such as titles. */
  readonly written: { readonly subject: string; readonly content: string }
  readonly locale: string | undefined
  /** Attributes of the provider, parsed by their types. Absent ones are omitted. */
  readonly attributes: Readonly<Record<string, JsonValue>>
  /** Attributes of no channel, such as `module` and `targetRoute`. */
  readonly context: Readonly<Record<string, unknown>>
  /** Target URL, as a copy. */
  readonly endpoint: URL
  /** The token, if the secret of the provider is one. */
  readonly token: string | undefined
  /** Milliseconds since the epoch. */
  readonly nowMs: number
}

/** One format of messages of a provider. */
export interface WebhookMessageType {
  /**
   * Returns the payload for JSON. It must be pure, because it is called again with shorter texts if the message is too
   * long.
   */
  body(message: WebhookMessage): object
  /** If absent, the service does not parse texts of this type. */
  readonly plain?: WebhookPlainText
  readonly limit?: WebhookTextLimit
  /** Limit of the field that shows the subject. */
  readonly subjectLimit?: WebhookTextLimit
}

export interface WebhookRequest {
  /** May be shared between messages. Change only a copy, as `withQuery` does. */
  readonly url: Readonly<URL>
  readonly headers: Readonly<Record<string, string>>
  /** A text is sent unchanged, any other value as JSON. */
  readonly body: JsonValue | object
}

export interface WebhookSigningKey {
  readonly secret: string
  /** Time of this attempt, in milliseconds since the epoch. */
  readonly nowMs: number
  readonly messageId: string
}

/** The response of a provider. */
export interface WebhookResponse {
  readonly status: number
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The body parsed as JSON, or undefined if it is invalid. */
  readonly json: unknown
  /** Milliseconds of the header `Retry-After`, which contains seconds or a date. */
  readonly retryAfterMs: number | undefined
}

export type WebhookVerdict =
  | { readonly delivered: true; readonly messageId?: string | undefined }
  | {
      readonly delivered: false
      /**
       * `rejected`: a retry is useless. `deferred`: not delivered, retry later. `unknown`: it may have been delivered.
       */
      readonly outcome: 'rejected' | 'deferred' | 'unknown'
      /** Business code and message of the provider. The channel masks and cuts them. */
      readonly code?: string | undefined
      readonly message?: string | undefined
      readonly hint?: WebhookHint | undefined
      readonly retryAfterMs?: number | undefined
    }

/**
 * - `signature`: signs requests while `signing-enabled` is true; needs `sign`.
 * - `token`: identifies the sender. `into` is its place: appended to a URL that ends with a slash; a query parameter or
 *   a field of the payload, unless it is already set; or a header. If absent, the provider places the token.
 */
export type WebhookSecret = {
  /** Regular expression for the configured value. It is not anchored. */
  readonly pattern?: string
  /** Description of the pattern for users. It completes "must ...", 必须…. */
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
 * A robot or push service behind the channel `webhook` (document 2, "Attributes and providers of the webhook channel";
 * decision B29). It is mostly data, and its functions are pure. The channel sends, signs, cuts, limits, masks and
 * retries.
 */
export interface WebhookProvider {
  /** Lower-case words joined by `-`. */
  readonly code: string
  /** Other codes of the same service. Their configuration and attributes take precedence over those of the code. */
  readonly aliases?: readonly string[]
  readonly displayName: LocalizedText
  /** Default endpoint, for a service with one URL for all users. */
  readonly endpoint?: string
  /** Hosts of the service; `*.example.com` includes all subdomains. Empty for self-hosted services. */
  readonly knownHosts: readonly string[]
  readonly secret: WebhookSecret
  readonly attributes?: Readonly<Record<string, WebhookAttribute>>
  /**
   * By name, including `text`. The first is used if the configured default is not among them. Texts of the type `text`
   * are plain; texts of other types are markup of the sender.
   */
  readonly messageTypes: Readonly<Record<string, WebhookMessageType>>
  /**
   * Returns the message type that attributes, such as a parse mode, require. If absent, attributes never change the
   * type.
   */
  messageTypeOf?(chosen: string, attributes: WebhookMessage['attributes']): string
  /** Requests per window to one endpoint, or with `rateLimitBy` per value of that attribute. */
  readonly rateLimits?: readonly { readonly max: number; readonly windowMs: number }[]
  readonly rateLimitBy?: string
  /** Attribute for the chat or user, if the service requires one. */
  readonly receiver?: string
  /**
   * Returns the URL, derived from the endpoint, and headers. Without it, or without `url`, the endpoint is used.
   *
   * @throws WebhookInputError
   */
  address?(message: WebhookMessage): Pick<WebhookRequest, 'headers'> & Partial<Pick<WebhookRequest, 'url'>>
  /** @throws WebhookInputError */
  sign?(request: WebhookRequest, key: WebhookSigningKey): WebhookRequest
  /**
   * A `GET` request without side effects that proves the URL and the token. If absent, the channel only opens a
   * connection.
   */
  readonly verify?: {
    /** Like `address` of the provider. A token is placed by its rule. */
    address(
      of: Pick<WebhookMessage, 'endpoint' | 'token'>,
    ): Pick<WebhookRequest, 'headers'> & Partial<Pick<WebhookRequest, 'url'>>
    /** Returns true if the response is the proof. Never throws. Other responses are judged by `judge`. */
    accepts(response: WebhookResponse): boolean
  }
  /** Judges a response. Never throws. */
  judge(response: WebhookResponse): WebhookVerdict
  /**
   * Returns a corrected request, which is sent once after a response without delivery. The hint accompanies its
   * success.
   */
  corrected?(
    response: WebhookResponse,
    request: WebhookRequest,
  ): { readonly request: WebhookRequest; readonly hint: WebhookHint } | undefined
}

/** A message is invalid for the provider. The text contains the attribute and the rule, never the value. */
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
  /** Default: true. */
  readonly enabled: boolean | undefined
}

/** A provider with its configuration. Created by `webhookProviderPlugin`. */
export interface ConfiguredWebhookProvider {
  readonly provider: WebhookProvider
  /** Returns the same object until the configuration changes. @param name the code or an alias */
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
