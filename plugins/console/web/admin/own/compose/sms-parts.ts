/** Characters of the GSM 7-bit alphabet (3GPP TS 23.038, 6.2.1). */
const basic = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
)
/** Characters that take two places. */
const extended = new Set('\f^{}\\[~]|€')

/** Size of a text message as the provider counts it. */
interface SmsSize {
  readonly characters: number
  readonly parts: number
  /** Number of characters that one part holds. */
  readonly perPart: number
}

/** Counts the parts of a text message. Each part after the first costs some characters of every part. */
export function smsSize(text: string): SmsSize {
  const signs = [...text]
  const isGsm = signs.every((sign) => basic.has(sign) || extended.has(sign))
  const characters = isGsm ? signs.reduce((sum, sign) => sum + (extended.has(sign) ? 2 : 1), 0) : text.length
  const [single, several] = isGsm ? [160, 153] : [70, 67]
  const perPart = characters <= single ? single : several
  return { characters, parts: Math.max(1, Math.ceil(characters / perPart)), perPart }
}
