/**
 * Envelope codes of business failures (decision B1). They travel in the body as strings while the HTTP status stays 200.
 */
export type BusinessCode = '400' | '401' | '403' | '404' | '409' | '429' | '500' | '503' | (string & {})

export interface BusinessErrorOptions {
  /** Stable dotted code of the exact reason, for example `notification.channel-unknown`. Sent as `data.reason`. */
  readonly reason?: string
  /** Message catalogue key; defaults to `messages.` + reason. Without a translation the error's own text is sent. */
  readonly messageKey?: string
  /** Values for the placeholders of the message. Never secrets. */
  readonly params?: Readonly<Record<string, string | number>>
  /** More members for `data`. Never secrets. */
  readonly data?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/** A failure that a caller may see and understand. Services throw it; they know nothing of HTTP. */
export class BusinessError extends Error {
  override readonly name = 'BusinessError'
  readonly code: BusinessCode
  readonly reason: string | undefined
  readonly messageKey: string | undefined
  readonly params: Readonly<Record<string, string | number>>
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
