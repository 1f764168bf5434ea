import { extensionPoint, service, shape } from '@plinth/kernel'

export type VerificationChannel = 'sms' | 'email'

/** The recipient and the purpose of a code. */
export interface VerificationSubject {
  readonly channel: VerificationChannel
  /** Mobile number or e-mail address, as the user typed it. */
  readonly recipient: string
  /**
   * Scene, that is the purpose of the code: 1 to 32 lower-case letters, digits and hyphens. Default: the configured
   * scene.
   */
  readonly scene?: string
}

export interface VerificationOrigin {
  readonly clientIp: string
  readonly traceId: string
  /** Language of the message, as a BCP 47 tag. */
  readonly locale: string
}

export interface SentCode {
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
  /** Seconds until the same recipient can receive another code; 0: immediately. */
  readonly resendAfter: number
}

/**
 * Sends and checks one-time codes by text message and e-mail (document 1 of the specification, "Verification-code
 * limiter"). The number of codes and checks is limited per recipient and per client address. Every method throws
 * BusinessError
 * - `403` `verification.disabled` if the channel is disabled
 * - `400` `verification.country-not-allowed` if the calling code is not in the configured list
 * - `400` `verification.mobile-invalid`, `verification.email-invalid`, `verification.scene-invalid`
 * - `429` `rate-limit.exceeded`, `503` `rate-limit.store-unavailable`
 * - `503` `verification.store-unavailable`
 */
export interface VerificationCodes {
  /**
   * Sends a new code, which replaces an earlier one. If the delivery fails, the code is invalid, but still counts for
   * the limits.
   *
   * @throws BusinessError also `503` `verification.sender-missing`, which does not count for the limits, or
   *   `verification.delivery-failed`
   */
  send(subject: VerificationSubject, origin: VerificationOrigin): Promise<SentCode>
  /**
   * Checks a code and makes it invalid. If several callers pass the correct code, only one succeeds. A wrong code
   * leaves the stored code valid.
   *
   * @throws BusinessError also `400` `verification.code-invalid`, which is the same for a wrong, expired, used or never
   *   sent code
   */
  check(subject: VerificationSubject, code: string, origin: Pick<VerificationOrigin, 'clientIp'>): Promise<void>
}

export const verificationCodes = service<VerificationCodes>('iam.verification-codes', {
  from: '@plinth/iam/verification',
})

export interface VerificationMessage {
  readonly channel: VerificationChannel
  /** Normalised mobile number or e-mail address. */
  readonly recipient: string
  /** Code in plain text. A sender must not write it to logs, errors or tables. */
  readonly code: string
  readonly scene: string
  /** Lifetime of the code in milliseconds. */
  readonly ttlMs: number
  readonly locale: string
  readonly traceId: string
  readonly subject?: string
  /** Code of a message template that is stored in the product. */
  readonly template?: string
  /** Code of a text message template at the provider. */
  readonly templateCode?: string
  readonly signName?: string
  readonly provider?: string
}

/** Delivers codes. A plugin contributes it under a name: `ctx.contribute(verificationCodeSender, 'acme', sender)`. */
export interface VerificationCodeSender {
  readonly channels: readonly VerificationChannel[]
  /** Returns false while the operator has disabled this channel. Called before every code. Default: always true. */
  isReady?(channel: VerificationChannel): boolean
  /**
   * Resolves when the provider has accepted the message. Rejects if it was not accepted. Must stop when the signal
   * aborts.
   */
  send(message: VerificationMessage, signal: AbortSignal): Promise<void>
}

export const verificationCodeSender = extensionPoint<VerificationCodeSender>('iam.verification-code-sender', {
  from: '@plinth/iam/verification',
  names: shape.dotted,
  shape: shape.object<VerificationCodeSender>(
    { channels: shape.list(shape.among(['sms', 'email'] satisfies VerificationChannel[])), send: shape.function },
    { isReady: shape.function },
  ),
})
