import { emailForm } from '../accounts/account-names.ts'
import { callingCodeOf, mobileNumber } from '../accounts/mobile-number.ts'
import type { VerificationChannel } from './contract.ts'
import { refusal } from './failures.ts'

export interface Recipient {
  /** Where the message goes. */
  readonly address: string
  /** Equal for spellings of one recipient: a quota must not depend on the spelling. */
  readonly key: string
  /** Of a mobile number, such as `86`. */
  readonly callingCode?: string
}

/**
 * Reads a recipient, whose spellings are one: mobile numbers in E.164, e-mail addresses without regard to case.
 *
 * @param country of mobile numbers without a country code; empty: there are none
 * @throws BusinessError `400` `verification.mobile-invalid`, `verification.email-invalid`
 */
export const recipientOf: Readonly<Record<VerificationChannel, (text: string, country: string) => Recipient>> = {
  sms(text, country) {
    const address = mobileNumber(text, country)
    if (address === undefined) throw refusal('mobile-invalid', { data: { field: 'mobile' } })
    return { address, key: address, callingCode: callingCodeOf(address) ?? 'unknown' }
  },
  email(text) {
    const form = emailForm(text)
    if (form === undefined) throw refusal('email-invalid', { data: { field: 'email' } })
    return { address: form.email, key: form.emailKey }
  },
}

const scenePattern = /^[a-z0-9]+(-[a-z0-9]+)*$/

/** Throws `400` `verification.scene-invalid`. */
export function sceneOf(scene: string): string {
  if (scene.length > 32 || !scenePattern.test(scene)) throw refusal('scene-invalid', { data: { field: 'scene' } })
  return scene
}
