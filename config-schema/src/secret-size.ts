import type { JsonValue } from './declaration.ts'
import type { Violation } from './plain-schema.ts'

/** Characters (UTF-16 units) of the longest sensitive value, its names and items together; a schema may allow less. */
export const longestSecret = 2 ** 16

/** Characters of all sensitive values that one source gives: every text that leaves the product is searched for them. */
export const longestSecrets = 2 ** 20

/** Characters of a value with all its parts, each part counting one more; counts no further than past `longestSecret`. */
export function secretLength(value: JsonValue): number {
  let length = 0
  const waiting: JsonValue[] = [value]
  while (waiting.length > 0 && length <= longestSecret) {
    const next = waiting.pop() as JsonValue
    if (typeof next !== 'object' || next === null) length += String(next).length
    else if (Array.isArray(next)) {
      length += next.length
      if (length <= longestSecret) waiting.push(...next)
    } else {
      for (const [name, part] of Object.entries(next)) {
        length += name.length + 1
        waiting.push(part)
      }
    }
  }
  return length
}

/** That a sensitive value is too long to be masked wherever it may turn up. */
export function tooLongSecret(part: JsonValue): Violation | undefined {
  if (secretLength(part) <= longestSecret) return undefined
  const rule = {
    en: `have at most ${longestSecret} characters, like every sensitive value`,
    'zh-CN': `最多有 ${longestSecret} 个字符（敏感值的上限）`,
  }
  return { keyword: 'maxLength', path: '', rule, example: undefined, part }
}

/** Completes "<key> ...": with this value, all sensitive values of its source would be too long together. */
export const tooLongTogether = `must leave all sensitive values of its source within ${longestSecrets} characters together`
