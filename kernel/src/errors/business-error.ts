import { fillText, type TextParams } from '../text/text.ts'

/**
 * Codes of business errors in the envelope of a response. They are strings. The HTTP status of the response stays 200.
 */
export const businessCodes = ['400', '401', '403', '404', '409', '422', '429', '500', '503'] as const
export type BusinessCode = (typeof businessCodes)[number] | (string & {})

export interface BusinessErrorOptions {
  /** Stable code of the exact reason with dots, for example `notification.channel-unknown`. Sent as `data.reason`. */
  readonly reason?: string
  /**
   * Key of the translated message. Default: `messages.` and the reason. If there is no translation, the message of the
   * error is sent.
   */
  readonly messageKey?: string
  /** Values for the placeholders of the message. Never secrets. */
  readonly params?: TextParams
  /**
   * Additional properties of `data` in the response. Never secrets. `retryAfter` (seconds) is also sent as the header
   * `Retry-After`. `maxAgeSeconds` of a "401" is also sent as the header `WWW-Authenticate` (RFC 9470).
   */
  readonly data?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/** A failure that the caller may see. Services throw it, so that they do not depend on HTTP. */
export class BusinessError extends Error {
  override readonly name = 'BusinessError'
  readonly code: BusinessCode
  readonly reason: string | undefined
  readonly messageKey: string | undefined
  readonly params: TextParams
  readonly data: Readonly<Record<string, unknown>> | undefined

  constructor(code: BusinessCode, message: string, options: BusinessErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.reason = options.reason
    this.messageKey = options.messageKey ?? (options.reason === undefined ? undefined : `messages.${options.reason}`)
    this.params = options.params ?? {}
    this.data = options.data
  }
}

/**
 * Returns true for every business error. Compares the name instead of the class, because another copy of the kernel may
 * have created the error.
 */
export const isBusinessError = (error: unknown): error is BusinessError =>
  error instanceof Error && error.name === 'BusinessError' && 'code' in error && typeof error.code === 'string'

/** The paths of all texts in a message file, with dots. */
type PathsOf<Texts> = {
  [Key in keyof Texts & string]: Texts[Key] extends string ? Key : `${Key}.${PathsOf<Texts[Key]>}`
}[keyof Texts & string]

/** Details of one error in addition to its declaration. */
export interface FailureDetails<Path> extends Omit<BusinessErrorOptions, 'reason' | 'messageKey'> {
  /** Path of the message text if it differs from the reason. */
  readonly text?: Path
}

type Details<Path, Name> = Name extends Path
  ? [details?: FailureDetails<Path>]
  : [details: FailureDetails<Path> & { readonly text: Path }]

/** The business errors of a plugin. `codes` contains the envelope code for the last part of each reason. */
export interface BusinessErrorsDeclaration {
  readonly area: string
  readonly codes: Readonly<Record<string, BusinessCode>>
}

/**
 * Declares the business errors of a plugin by name, each with its envelope code. The stable reason is `<area>.<name>`,
 * and the key of the translated message is `messages.<area>.<text>`. Without a translation, the English text is sent.
 * List the returned function in `businessErrors` of the plugin, so that the API description contains the reasons.
 *
 * @param area first part of the reasons; the texts of the plugin in `messages/` have the same name
 * @param texts the English texts below that name
 *
 * @example export const businessError = defineBusinessErrors('shop', en.shop, { 'order-unknown': '404', 'order-paid':
 * '409' }) throw businessError('order-paid', { params: { order }, data: { order } })
 */
export function defineBusinessErrors<Texts extends object, Codes extends Readonly<Record<string, BusinessCode>>>(
  area: string,
  texts: Texts,
  codes: Codes,
) {
  const make = <Name extends keyof Codes & string>(
    name: Name,
    ...[details]: Details<PathsOf<Texts>, Name>
  ): BusinessError => {
    const { text = name, ...options }: FailureDetails<string> = details ?? {}
    const found = text.split('.').reduce<unknown>((branch, key) => Object(branch)[key], texts)
    const reason = `${area}.${name}`
    const message = fillText(String(found), options.params ?? {})
    return new BusinessError(codes[name] ?? '500', message, {
      ...options,
      reason,
      messageKey: `messages.${area}.${text}`,
    })
  }
  return Object.assign(make, { area, codes } satisfies BusinessErrorsDeclaration)
}
