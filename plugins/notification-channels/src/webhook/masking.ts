import { maskedValue } from '@plinth/kernel'

/** True if a path segment is an ordinary word. Tokens are longer, or contain digits or capitals. */
const isWord = (segment: string) => /^(?:[a-z._-]{1,15}|sendMessage)$/.test(segment)

/** Returns the parts of a URL that may be secret: query values and path segments, each also without its suffix. */
export function secretPartsOfUrl(address: string | URL | undefined): string[] {
  const url = address === undefined ? null : URL.parse(String(address))
  if (url === null) return address === undefined ? [] : [String(address)]
  const segments = url.pathname.split('/').filter((segment) => !isWord(segment))
  const parts = [
    ...segments.flatMap((segment) => [segment, segment.replace(/\.\w+$/, ''), segment.replace(/^bot/, '')]),
    ...url.searchParams.values(),
    ...url.search
      .slice(1)
      .split('&')
      .map((pair) => pair.replace(/^[^=]*=?/, '')),
    url.pathname.length > 1 ? url.pathname + url.search : '',
    url.href,
  ]
  return [...new Set(parts.flatMap((part) => [part, decodeEscapes(part)]))].filter((part) => part.length >= 6)
}

/** Decodes the escapes of a text. Returns it unchanged if they are invalid. */
export function decodeEscapes(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Patterns of the secrets that services use, as they appear in texts. */
const patterns: readonly RegExp[] = [
  /\b((?:access_token|token|key|sign|sig|secret|auth|password|device_key)["']?\s*[=:]\s*["']?)[^&\s"',}]+/gi,
  /(\bbearer\s+|\bbasic\s+)[\w.~+/=-]+/gi,
  /(\/bot)\d+:[\w-]+/g,
  /(\/hooks?\/)[\w/-]+/g,
  /(\/services\/)\S+/g,
  /(\/webhooks\/\d+\/)\S+/g,
  /(\bfrom ip:\s*)[\w.:]+/gi,
]

export const maskPatterns = (text: string): string =>
  patterns.reduce((masked, pattern) => masked.replace(pattern, `$1${maskedValue}`), text)
