import type { ConfigView } from '@plinth/kernel'
import type { keys } from './config.ts'
import type { VerificationChannel, VerificationMessage } from './contract.ts'

export interface Limit {
  readonly maxAttempts: number
  readonly windowMs: number
}

export interface ChannelSettings {
  readonly enabled: boolean
  readonly defaultScene: string
  /** Country of mobile numbers without a calling code; empty: these numbers are invalid. */
  readonly defaultCountry: string
  readonly codeLength: number
  readonly ttlMs: number
  readonly keyPrefix: string
  readonly send: { readonly recipient: Limit; readonly ip: Limit }
  readonly check: { readonly recipient: Limit; readonly ip: Limit }
  /** Calling codes to which codes may be sent; empty: all. */
  readonly callingCodes: readonly string[]
  /** Limit for each calling code, while codes may be sent to all calling codes. */
  readonly perCallingCode: Limit
  /** Number of codes per day, to all recipients together, at which an alert is published; 0: no alert. */
  readonly alertAfter: number
  /** Texts for the message. Empty texts are omitted. */
  readonly texts: Partial<Pick<VerificationMessage, 'subject' | 'template' | 'templateCode' | 'signName' | 'provider'>>
}

export type Settings = Readonly<Record<VerificationChannel, () => ChannelSettings>>

/** Window of the daily counts in milliseconds. */
export const dayMs = 86_400_000
const root = 'platform.iam.auth.login.verification'

export function settingsOf({ get }: Pick<ConfigView<typeof keys>, 'get'>): Settings {
  const common = (channel: VerificationChannel) => ({
    enabled: get(`${root}.${channel}.enabled`),
    defaultScene: get(`${root}.${channel}.default-scene`),
    defaultCountry: get(`${root}.sms.default-country`),
    codeLength: get(`${root}.${channel}.code-length`),
    ttlMs: get(`${root}.${channel}.ttl`),
    keyPrefix: get(`${root}.${channel}.key-prefix`),
    callingCodes: get(`${root}.sms.countries`),
    perCallingCode: { maxAttempts: get(`${root}.sms.country-max-attempts`), windowMs: dayMs },
  })
  const perAddress = (channel: VerificationChannel, kind: '' | 'verify-') => ({
    maxAttempts: get(`${root}.${channel}.${kind}ip-max-attempts`),
    windowMs: get(`${root}.${channel}.${kind}ip-window`),
  })
  const perMobile = (kind: '' | 'verify-') => ({
    maxAttempts: get(`${root}.sms.${kind}mobile-max-attempts`),
    windowMs: get(`${root}.sms.${kind}mobile-window`),
  })
  const perEmail = (kind: '' | 'verify-') => ({
    maxAttempts: get(`${root}.email.${kind}email-max-attempts`),
    windowMs: get(`${root}.email.${kind}email-window`),
  })
  return {
    sms: () => ({
      ...common('sms'),
      alertAfter: 0,
      send: { recipient: perMobile(''), ip: perAddress('sms', '') },
      check: { recipient: perMobile('verify-'), ip: perAddress('sms', 'verify-') },
      texts: nonEmpty({
        template: get(`${root}.sms.template`),
        templateCode: get(`${root}.sms.template-code`),
        signName: get(`${root}.sms.sign-name`),
        provider: get(`${root}.sms.provider`),
      }),
    }),
    email: () => ({
      ...common('email'),
      alertAfter: get(`${root}.email.alert-after`),
      send: { recipient: perEmail(''), ip: perAddress('email', '') },
      check: { recipient: perEmail('verify-'), ip: perAddress('email', 'verify-') },
      texts: nonEmpty({ template: get(`${root}.email.template`), subject: get(`${root}.email.subject`) }),
    }),
  }
}

const nonEmpty = (texts: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''))
