import { isIP } from 'node:net'
import type { Localized } from './declaration.ts'
import { parseBytes, parseDuration } from './quantity.ts'

/** A named rule for text, used as `format` in a schema. */
export interface Format {
  validate(text: string): boolean
  /** Completes "must be ...", 必须是…. */
  readonly rule: Localized
  /** A text that meets the rule. */
  readonly example: string
  /**
   * Converts the configured text to the number that plugins read. If absent, plugins read the text itself. The numbers
   * also define the order for `formatMinimum` and `formatMaximum`.
   */
  readonly decode?: (text: string) => number | undefined
}

const isHost = (text: string): boolean =>
  isAddress(text) ||
  (text.length <= 253 &&
    /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i.test(text) &&
    // A name whose last label is a number would be parsed as an IPv4 address (WHATWG URL, "ends in a number").
    !/(^|\.)(\d+|0x[0-9a-f]*)$/i.test(text))

/** Returns true for an IPv4 address, or an IPv6 address without a zone. A zone is only valid on one machine. */
const isAddress = (text: string): boolean => isIP(text) !== 0 && !text.includes('%')

function isCidr(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/')
  if (!isAddress(address) || more.length > 0) return false
  return (
    prefix === undefined || (/^(0|[1-9]\d{0,2})$/.test(prefix) && Number(prefix) <= (isIP(address) === 4 ? 32 : 128))
  )
}

function isUrl(text: string, credentials: boolean): boolean {
  // The parser corrects blanks, backslashes and missing slashes; a configuration value must be correct as written.
  if (!/^https?:\/\/[^\s\\/]+[^\s\\]*$/i.test(text)) return false
  const url = URL.parse(text)
  return url !== null && (credentials || (url.username === '' && url.password === ''))
}

function accepts(check: () => unknown): boolean {
  try {
    check()
    return true
  } catch {
    return false
  }
}

/**
 * The formats of this project by name. Schemas with other keywords also accept the standard formats (`date-time`,
 * `uuid`, ...).
 */
export const formats: Readonly<Record<string, Format>> = {
  duration: {
    validate: (text) => parseDuration(text) !== undefined,
    rule: {
      en: 'a duration with units (w, d, h, m, s, ms) or in ISO 8601 form',
      'zh-CN': '带单位（w、d、h、m、s、ms）或 ISO 8601 形式的时长',
    },
    example: '1h30m',
    decode: parseDuration,
  },
  bytes: {
    validate: (text) => parseBytes(text) !== undefined,
    rule: {
      en: 'a whole number of bytes, alone or with kB, MB, GB, TB, KiB, MiB, GiB or TiB',
      'zh-CN': '整数字节数，可带单位 kB、MB、GB、TB、KiB、MiB、GiB 或 TiB',
    },
    example: '10MiB',
    decode: parseBytes,
  },
  cidr: {
    validate: isCidr,
    rule: { en: 'an IP address or a CIDR range', 'zh-CN': 'IP 地址或 CIDR 网段' },
    example: '10.0.0.0/8',
  },
  url: {
    validate: (text) => isUrl(text, false),
    rule: {
      en: 'an http or https URL without user name and password',
      'zh-CN': '不含用户名和密码的 http 或 https 地址',
    },
    example: 'https://example.com/path',
  },
  'url-with-credentials': {
    validate: (text) => isUrl(text, true),
    rule: { en: 'an http or https URL', 'zh-CN': 'http 或 https 地址' },
    example: 'https://user:password@example.com/path',
  },
  host: {
    validate: isHost,
    rule: { en: 'a host name or an IP address', 'zh-CN': '主机名或 IP 地址' },
    example: 'db.example.com',
  },
  email: {
    // Grammar of the HTML standard, length limit of RFC 5321.
    validate: (text) =>
      text.length <= 254 &&
      /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i.test(
        text,
      ),
    rule: { en: 'an e-mail address', 'zh-CN': '电子邮件地址' },
    example: 'name@example.com',
  },
  'time-zone': {
    // Intl also accepts offsets such as +08:00, which have no daylight saving time. The usual value `UTC` needs no
    // Intl.
    validate: (text) =>
      text === 'UTC' || (/^[a-z]/i.test(text) && accepts(() => new Intl.DateTimeFormat('en', { timeZone: text }))),
    rule: { en: 'a time zone of the IANA database', 'zh-CN': 'IANA 数据库中的时区' },
    example: 'Asia/Shanghai',
  },
  locale: {
    validate: (text) => text !== '' && accepts(() => Intl.getCanonicalLocales(text)),
    rule: { en: 'a BCP 47 language tag', 'zh-CN': 'BCP 47 语言标签' },
    example: 'zh-CN',
  },
}
