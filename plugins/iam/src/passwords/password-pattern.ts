import { RE2JS } from 're2js'

type Matches = (text: string) => boolean

/**
 * A test by a regular expression of an operator, in a time that grows with the text and not beyond: the engine of RE2 never
 * goes back in the text, so there are no back-references. Looking ahead is possible directly after `^`, as in
 * `^(?=.*\d)(?=.*\p{Lu}).{8,}$`: there each condition is an expression of its own.
 *
 * @throws Error that says what is wrong with the expression
 */
export function passwordPattern(source: string): Matches {
  const { conditions, rest } = leadingConditions(source)
  const expected = conditions.map(({ body, holds }) => ({ matches: expression(`^(?:${body})`), holds }))
  const matches = expression(rest)
  return (text) => matches(text) && expected.every((condition) => condition.matches(text) === condition.holds)
}

function expression(source: string): Matches {
  const compiled = RE2JS.compile(RE2JS.translateRegExp(source))
  return (text) => compiled.matcher(text).find()
}

interface Condition {
  readonly body: string
  /** False for `(?!...)`. */
  readonly holds: boolean
}

/** `^(?=a)(?!b)c` as its conditions and `^c`. Alternatives outside of parentheses would not share the conditions. */
function leadingConditions(source: string): { readonly conditions: readonly Condition[]; readonly rest: string } {
  const whole = { conditions: [], rest: source }
  if (!source.startsWith('^')) return whole
  const conditions: Condition[] = []
  let rest = source.slice(1)
  while (rest.startsWith('(?=') || rest.startsWith('(?!')) {
    const end = endOfGroup(rest)
    if (end === undefined) return whole
    conditions.push({ body: rest.slice(3, end), holds: rest[2] === '=' })
    rest = rest.slice(end + 1)
  }
  // What repeats a condition, such as the star in `^(?=a)*`, belongs to it.
  if (conditions.length === 0 || /^[*+?{]/.test(rest) || hasAlternatives(rest)) return whole
  return { conditions, rest: `^${rest}` }
}

/** Position of the parenthesis that closes the first one. */
function endOfGroup(source: string): number | undefined {
  for (const { at, sign, depth } of signsOf(source)) if (sign === ')' && depth === 0) return at
  return undefined
}

const hasAlternatives = (source: string) => signsOf(source).some(({ sign, depth }) => sign === '|' && depth === 0)

/** Parentheses and bars that are no plain characters, with the number of groups that are open after them. */
function signsOf(source: string): readonly { readonly at: number; readonly sign: string; readonly depth: number }[] {
  const signs: { at: number; sign: string; depth: number }[] = []
  let depth = 0
  let isInClass = false
  for (let at = 0; at < source.length; at++) {
    const sign = source.charAt(at)
    if (sign === '\\') at++
    else if (isInClass) isInClass = sign !== ']'
    else if (sign === '[') isInClass = true
    else if (sign === '(' || sign === ')' || sign === '|') {
      depth += sign === '(' ? 1 : sign === ')' ? -1 : 0
      signs.push({ at, sign, depth })
    }
  }
  return signs
}
