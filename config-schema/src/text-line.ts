import type { JsonValue } from './declaration.ts'
import { pathTo, type Violation } from './plain-schema.ts'

/** Control characters, and the two line breaks of Unicode. */
const control = /[\p{Cc}\u2028\u2029]/u
const controlInLines = /(?![\t\n\r])\p{Cc}/u

const oneLine = {
  en: 'be one line of text without control characters',
  'zh-CN': '是不含控制字符的单行文本',
}
const severalLines = {
  en: 'have no control characters besides line breaks and tabs',
  'zh-CN': '不含换行和制表符以外的控制字符',
}

/**
 * The first text of a value, names of members included, with a control character: values end up in mail headers, requests,
 * file names and logs, where such a character begins something else. Call it for values of bounded depth only.
 *
 * @param isMultiline line breaks and tabs are allowed
 */
export function controlCharacter(value: JsonValue, isMultiline: boolean, path = ''): Violation | undefined {
  if (typeof value === 'string') {
    if (!(isMultiline ? controlInLines : control).test(value)) return undefined
    return { keyword: 'line', path, rule: isMultiline ? severalLines : oneLine, example: undefined, part: value }
  }
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, part] of Object.entries(value)) {
    const found =
      (Array.isArray(value) ? undefined : controlCharacter(name, isMultiline, path)) ??
      controlCharacter(part, isMultiline, pathTo(path, name))
    if (found !== undefined) return found
  }
  return undefined
}
