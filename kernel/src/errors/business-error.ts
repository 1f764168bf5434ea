import { fillText, type TextParams } from '../text/text.ts'

/** Envelope codes of business errors (decision B1). They are strings in the body; the HTTP status stays 200. */
export type BusinessCode = '400' | '401' | '403' | '404' | '409' | '429' | '500' | '503' | (string & {})

export interface BusinessErrorOptions {
  /** Stable dotted code of the exact reason, for example `notification.channel-unknown`. Sent as `data.reason`. */
  readonly reason?: string
  /**
   * Key in the message catalogue; `messages.` + reason when absent. Without a translation the text of the error is
   * sent.
   */
  readonly messageKey?: string
  /** Values for the placeholders of the message. Never secrets. */
  readonly params?: TextParams
  /** More properties of `data`. Never secrets. `retryAfter`, in seconds, is also sent as the header `Retry-After`. */
  readonly data?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/** A failure that a caller may see and understand. Services throw it, and do not depend on HTTP. */
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

/** True for every business error. Checks the name, because another copy of the kernel may have created it. */
export const isBusinessError = (error: unknown): error is BusinessError =>
  error instanceof Error && error.name === 'BusinessError' && 'code' in error && typeof error.code === 'string'

/** Dotted paths of the texts of a message file. */
type PathsOf<Texts> = {
  [Key in keyof Texts & string]: Texts[Key] extends string ? Key : `${Key}.${PathsOf<Texts[Key]>}`
}[keyof Texts & string]

/** Details of one thrown error in addition to its declaration. */
export interface FailureDetails<Path> extends Omit<BusinessErrorOptions, 'reason' | 'messageKey'> {
  /** Path of the text, if it differs from the reason. */
  readonly text?: Path
}

type Details<Path, Name> = Name extends Path
  ? [details?: FailureDetails<Path>]
  : [details: FailureDetails<Path> & { readonly text: Path }]

/** The business errors that a plugin declares: codes by the part of the reason after the area. */
export interface BusinessErrorsDeclaration {
  readonly area: string
  readonly codes: Readonly<Record<string, BusinessCode>>
}

/**
 * Declares the business errors of a plugin: their names with the envelope codes (decision B1). The stable reason is
 * `<area>.<name>`, the message key `messages.<area>.<text>`; without a translation the English text is sent.
 *
 * The plugin lists the returned function in `businessErrors`, so that the API description contains the reasons.
 *
 * @param area first part of the reasons, and name of the plugin's texts in `messages/`
 * @param texts the English texts below that name
 *
 * @example
 * export const businessError = defineBusinessErrors('shop', en.shop, { 'order-unknown': '404', 'order-paid': '409' })
 * throw businessError('order-paid', { params: { order }, data: { order } })
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
