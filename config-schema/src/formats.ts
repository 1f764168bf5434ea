import { isIP } from 'node:net'
import type { Localized } from './declaration.ts'

const shortForm = /^(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/
const isoForm = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,3}))?S)?)?$/
const millisecondsPer = [604_800_000, 86_400_000, 3_600_000, 60_000, 1000, 1]

/**
 * Converts a duration to milliseconds. Accepts `500ms`, `30s`, `1h30m` (units w, d, h, m, s, ms, largest first, each at
 * most once), and ISO 8601 durations from weeks to seconds, such as `PT5M` and `P1DT2H`. Months and years are rejected
 * because their length varies.
 *
 * @returns undefined for other texts, and for durations above 2^53 - 1 milliseconds
 */
export function parseDuration(text: string): number | undefined {
  const short = shortForm.exec(text)
  const parts = short ?? isoForm.exec(text)
  if (!parts || !/\d/.test(text)) return undefined
  const amounts: (string | undefined)[] = parts.slice(1)
  // The last group of the ISO pattern contains the fraction of a second, for example `5` for 500 milliseconds.
  if (!short) amounts[5] = (amounts[5] ?? '').padEnd(3, '0')
  const total = millisecondsPer.reduce((sum, unit, index) => sum + Number(amounts[index] ?? 0) * unit, 0)
  return Number.isSafeInteger(total) ? total : undefined
}

/**
 * Returns the shortest text from which `parseDuration` reads the same duration: `5400000` -> `1h30m`, `0` -> `0s`.
 *
 * @throws RangeError unless `ms` is an integer from 0 to 2^53 - 1
 */
export function formatDuration(ms: number): string {
  if (!Number.isSafeInteger(ms) || ms < 0) throw new RangeError(`Not a whole number of milliseconds: ${ms}`)
  if (ms === 0) return '0s'
  let rest = ms
  let text = ''
  for (const [name, unit] of [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1000],
    ['ms', 1],
  ] as const) {
    if (rest >= unit) text += `${Math.floor(rest / unit)}${name}`
    rest %= unit
  }
  return text
}

const bytesPer: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
}

/**
 * Converts a size to bytes. Accepts `1024`, `64kB` (kB, MB, GB and TB are powers of 1000) and `10MiB` (KiB, MiB, GiB
 * and TiB are powers of 1024).
 *
 * @returns undefined for other texts, and for sizes above 2^53 - 1 bytes
 */
export function parseBytes(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d+)([A-Za-z]*)$/.exec(text) ?? []
  const factor = Object.hasOwn(bytesPer, unit) ? bytesPer[unit] : undefined
  if (amount === undefined || factor === undefined) return undefined
  const total = Number(amount) * factor
  return Number.isSafeInteger(total) ? total : undefined
}

/** A named rule for texts. Schemas refer to it with the keyword `format`. */
export interface Format {
  validate(text: string): boolean
  /** The rule in words. The text completes "must be ..." and "必须是…". */
  readonly rule: Localized
  /** A valid text. */
  readonly example: string
  /**
   * Converts the configured text to the number that plugins read. The numbers also define the order for `formatMinimum`
   * and `formatMaximum`. If absent, plugins read the text itself.
   */
  readonly decode?: (text: string) => number | undefined
}

const isHost = (text: string): boolean =>
  isAddress(text) ||
  (text.length <= 253 &&
    /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i.test(text) &&
    // URL parsers read a name whose last label is a number as an IPv4 address, so such a name is rejected (WHATWG URL
    // Standard, "ends in a number").
    !/(^|\.)(\d+|0x[0-9a-f]*)$/i.test(text))

/**
 * Returns true for an IPv4 address, or an IPv6 address without a zone such as `%eth0`, which is only valid on one
 * machine.
 */
const isAddress = (text: string): boolean => isIP(text) !== 0 && !text.includes('%')

function isCidr(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/')
  if (!isAddress(address) || more.length > 0) return false
  return (
    prefix === undefined || (/^(0|[1-9]\d{0,2})$/.test(prefix) && Number(prefix) <= (isIP(address) === 4 ? 32 : 128))
  )
}

function isUrl(text: string, credentials: boolean): boolean {
  // The URL parser silently corrects blanks, backslashes and missing slashes. A configured URL must be correct as
  // written.
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
 * The formats of this project, by name. The standard formats, such as `date-time` and `uuid`, are also accepted in
 * schemas that ajv checks.
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
    // Grammar of e-mail addresses in the HTML standard, with the length limit of RFC 5321.
    validate: (text) =>
      text.length <= 254 &&
      /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i.test(
        text,
      ),
    rule: { en: 'an e-mail address', 'zh-CN': '电子邮件地址' },
    example: 'name@example.com',
  },
  'time-zone': {
    // Intl also accepts offsets such as +08:00, but these ignore daylight saving time. `UTC` is the most frequent
    // value, so it is accepted without the slower call of Intl.
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
