import type { JsonValue } from './declaration.ts'
import type { Violation } from './plain-schema.ts'

/**
 * Characters (UTF-16 units) of the longest value of a key, its names and items together; a schema may allow less. It is
 * looked at before any other rule, whose cost may grow with the value.
 */
export const longestValue = 2 ** 16

/** Lists and objects within each other at most: what walks through a value calls itself at each level. */
const deepestValue = 64

/** Characters of all sensitive values that one source gives: every text that leaves the product is searched for them. */
export const longestSecrets = 2 ** 20

/**
 * Characters of a value with all its parts, each part counting one more; counts no further than past `longestValue`.
 * Infinity for a value of more than 64 levels. Never calls itself, so no value is too deep to ask about.
 */
export function valueLength(value: JsonValue): number {
  let length = 0
  const waiting: (readonly [part: JsonValue, level: number])[] = [[value, 0]]
  while (waiting.length > 0 && length <= longestValue) {
    const [next, level] = waiting.pop() as (typeof waiting)[number]
    if (typeof next !== 'object' || next === null) {
      length += String(next).length
      continue
    }
    if (level === deepestValue) return Number.POSITIVE_INFINITY
    const isList = Array.isArray(next)
    for (const name of Object.keys(next)) {
      length += isList ? 1 : name.length + 1
      if (length > longestValue) break
      waiting.push([(next as Readonly<Record<string, JsonValue>>)[name] as JsonValue, level + 1])
    }
  }
  return length
}

/** That a value is too long to be looked at, stored, sent and masked. */
export function tooLongValue(part: JsonValue): Violation | undefined {
  const length = valueLength(part)
  if (length <= longestValue) return undefined
  const rule =
    length === Number.POSITIVE_INFINITY
      ? {
          en: `have at most ${deepestValue} lists and objects within each other`,
          'zh-CN': `最多嵌套 ${deepestValue} 层列表和对象`,
        }
      : { en: `have at most ${longestValue} characters`, 'zh-CN': `最多有 ${longestValue} 个字符` }
  return { keyword: 'maxLength', path: '', rule, example: undefined, part }
}

/** Completes "<key> ...": with this value, all sensitive values of its source would be too long together. */
export const tooLongTogether = `must leave all sensitive values of its source within ${longestSecrets} characters together`
