import { extensionPoint, service, shape } from '@plinth/kernel'

export type VerificationChannel = 'sms' | 'email'

/** Whose code, and what for. */
export interface VerificationSubject {
  readonly channel: VerificationChannel
  /** Mobile number or e-mail address, as somebody typed it. */
  readonly recipient: string
  /** What the code is for: 1 to 32 lower-case letters, digits and hyphens. Absent: the configured default. */
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
  /** Whole seconds until another code may be sent to the same recipient; 0: at once. */
  readonly resendAfter: number
}

/**
 * One-time codes by text message and e-mail (document 1, "Verification-code limiter"). Sending and checking are limited per
 * recipient and per client address together. Every method throws BusinessError
 *
 * - `403` `verification.disabled` when the channel is switched off
 * - `400` `verification.country-not-allowed` when only listed calling codes receive codes
 * - `400` `verification.mobile-invalid`, `verification.email-invalid`, `verification.scene-invalid`
 * - `429` `rate-limit.exceeded`, `503` `rate-limit.store-unavailable`
 * - `503` `verification.store-unavailable`
 */
export interface VerificationCodes {
  /**
   * Sends a fresh code, which replaces an earlier one. A delivery that fails costs the quota all the same, and the code is
   * void.
   *
   * @throws BusinessError also `503` `verification.sender-missing`, which costs no quota, or `verification.delivery-failed`
   */
  send(subject: VerificationSubject, origin: VerificationOrigin): Promise<SentCode>
  /**
   * Uses up the code. Of several callers with the right code one succeeds; a wrong code uses up nothing but an attempt.
   *
   * @throws BusinessError also `400` `verification.code-invalid`, the same for a wrong, old, used or never sent code
   */
  check(subject: VerificationSubject, code: string, origin: Pick<VerificationOrigin, 'clientIp'>): Promise<void>
}

export const verificationCodes = service<VerificationCodes>('iam.verification-codes', {
  from: '@plinth/iam/verification',
})

export interface VerificationMessage {
  readonly channel: VerificationChannel
  /** Checked mobile number or e-mail address. */
  readonly recipient: string
  /** In clear. A sender hands it to the next hop and keeps it out of logs, errors and records. */
  readonly code: string
  readonly scene: string
  /** Milliseconds that the code lives. */
  readonly ttlMs: number
  readonly locale: string
  readonly traceId: string
  /** Of an e-mail. */
  readonly subject?: string
  /** Code of the product's own template. */
  readonly template?: string
  /** Of a text message, at its provider. */
  readonly templateCode?: string
  readonly signName?: string
  readonly provider?: string
}

/** Delivers codes. Contributed by name: `ctx.contribute(verificationCodeSender, 'acme', sender)`. */
export interface VerificationCodeSender {
  readonly channels: readonly VerificationChannel[]
  /** False while the operator has switched the way of this kind of code off; absent: always on. Asked before every code. */
  isReady?(channel: VerificationChannel): boolean
  /** Resolves when the next hop took the message; throws when it did not. Gives up when the signal aborts. */
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
