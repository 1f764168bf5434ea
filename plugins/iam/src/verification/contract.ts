import { extensionPoint, service, shape } from '@plinth/kernel'

export type VerificationChannel = 'sms' | 'email'

/** The recipient and the purpose of a code. */
export interface VerificationSubject {
  readonly channel: VerificationChannel
  /** Mobile number or e-mail address, as a person typed it. */
  readonly recipient: string
  /** Purpose of the code: 1 to 32 lower-case letters, digits and hyphens. Default: the configured scene. */
  readonly scene?: string
}

export interface VerificationOrigin {
  readonly clientIp: string
  readonly traceId: string
  /** BCP 47 language tag of the message. */
  readonly locale: string
}

export interface SentCode {
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
  /** Seconds until another code may be sent to the same recipient; 0: immediately. */
  readonly resendAfter: number
}

/**
 * One-time codes by text message and e-mail (document 1, "Verification-code limiter"). Sending and checking are limited
 * per recipient and per client address. Every method throws BusinessError
 * - `403` `verification.disabled` if the channel is disabled
 * - `400` `verification.country-not-allowed` if the calling code is not in the configured list
 * - `400` `verification.mobile-invalid`, `verification.email-invalid`, `verification.scene-invalid`
 * - `429` `rate-limit.exceeded`, `503` `rate-limit.store-unavailable`
 * - `503` `verification.store-unavailable`
 */
export interface VerificationCodes {
  /**
   * Sends a new code, which replaces an earlier one. A failed delivery also uses quota, and its code is invalid.
   * @throws BusinessError also `503` `verification.sender-missing`, which uses no quota, or
   * `verification.delivery-failed`
   */
  send(subject: VerificationSubject, origin: VerificationOrigin): Promise<SentCode>
  /**
   * Uses the code. Among several callers with the right code, one succeeds. A wrong code only uses an attempt.
   * @throws BusinessError also `400` `verification.code-invalid`, the same for a wrong, old, used or never sent code
   */
  check(subject: VerificationSubject, code: string, origin: Pick<VerificationOrigin, 'clientIp'>): Promise<void>
}

export const verificationCodes = service<VerificationCodes>('iam.verification-codes', {
  from: '@plinth/iam/verification',
})

export interface VerificationMessage {
  readonly channel: VerificationChannel
  /** Valid mobile number or e-mail address. */
  readonly recipient: string
  /** In plain text. A sender passes it on and must not write it to logs, errors or records. */
  readonly code: string
  readonly scene: string
  /** Lifetime of the code in milliseconds. */
  readonly ttlMs: number
  readonly locale: string
  readonly traceId: string
  /** Subject of an e-mail. */
  readonly subject?: string
  /** Code of a template of the product. */
  readonly template?: string
  /** Template of a text message at its provider. */
  readonly templateCode?: string
  readonly signName?: string
  readonly provider?: string
}

/** Delivers codes. Contributed with a name: `ctx.contribute(verificationCodeSender, 'acme', sender)`. */
export interface VerificationCodeSender {
  readonly channels: readonly VerificationChannel[]
  /**
   * Returns false while the operator has disabled this kind of delivery. Default: always true. Called before every
   * code.
   */
  isReady?(channel: VerificationChannel): boolean
  /** Resolves when the message is accepted for delivery, else throws. Stops when the signal aborts. */
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
