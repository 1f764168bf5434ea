import { emailForm, mobileDigits } from '../account-names.ts'
import type { VerificationChannel } from './contract.ts'
import { refusal } from './failures.ts'

export interface Recipient {
  /** Where the message goes. */
  readonly address: string
  /** Equal for spellings of one recipient: a quota must not depend on the spelling. */
  readonly key: string
}

/** Reads a recipient. Throws `400` `verification.mobile-invalid` or `verification.email-invalid`. */
export const recipientOf: Readonly<Record<VerificationChannel, (text: string) => Recipient>> = {
  sms(text) {
    const address = mobileDigits(text)
    if (address === undefined) throw refusal('mobile-invalid', { data: { field: 'mobile' } })
    // +86138..., 0086138... and 86138... reach the same telephone.
    return { address, key: address.replace(/^(\+|00)/, '') }
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
