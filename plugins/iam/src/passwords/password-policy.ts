import { type ConfigView, errorReason } from '@plinth/kernel'
import { RE2JS } from 're2js'
import type { keys } from '../config.ts'
import type { PasswordProblem, Passwords } from '../contract.ts'
import { businessError, iamError } from '../declarations.ts'

type Matches = (text: string) => boolean

/**
 * Compiles a regular expression that an operator configured. Matching takes time linear in the length of the text,
 * because the RE2 engine does not backtrack. So back-references are not supported. Lookaheads are only supported
 * directly after `^`, as in `^(?=.*\d)(?=.*\p{Lu}).{8,}$`, because each is compiled as a separate expression.
 *
 * @throws Error that describes the problem of the expression
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
  /** True for `(?=...)`, false for `(?!...)`. */
  readonly holds: boolean
}

/**
 * Splits `^(?=a)(?!b)c` into its conditions and `^c`. Does not split an expression with alternatives outside of
 * parentheses, because its conditions belong only to the first alternative.
 */
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
  // A quantifier directly after a condition, as in `^(?=a)*`, belongs to the condition, so it cannot be split off.
  if (conditions.length === 0 || /^[*+?{]/.test(rest) || hasAlternatives(rest)) return whole
  return { conditions, rest: `^${rest}` }
}

/** Returns the position of the parenthesis that closes the first parenthesis. */
function endOfGroup(source: string): number | undefined {
  for (const { at, sign, depth } of signsOf(source)) if (sign === ')' && depth === 0) return at
  return undefined
}

const hasAlternatives = (source: string) => signsOf(source).some(({ sign, depth }) => sign === '|' && depth === 0)

/**
 * Returns the unescaped parentheses and bars outside of character classes, each with the number of groups that are open
 * after it.
 */
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

/** Maximum length of a password, because hashing longer passwords costs time and memory without benefit. */
const maxPasswordLength = 128

const kinds = [/\p{Ll}/u, /\p{Lu}/u, /\p{Nd}/u, /[^\p{L}\p{Nd}]/u]
const letterAndDigit = [/\p{L}/u, /\p{Nd}/u]

/**
 * Stems of the passwords that attackers try first. `isWellKnown` removes digits and signs around a password before it
 * compares.
 */
const wellKnownStems = new Set(
  `password passwort passw0rd admin administrator root superuser welcome letmein qwerty qwertyuiop qwertz azerty asdfgh
  asdfghjkl zxcvbn zxcvbnm iloveyou monkey dragon football baseball basketball superman batman sunshine princess shadow
  master login hello whatever trustno starwars freedom secret changeme default test guest user computer internet
  abcdef abcdefg abcdefgh abcdefghij qazwsx qazwsxedc woaini mima plinth`.split(/\s+/),
)
const digitRuns = ['01234567890123456789', '98765432109876543210']
const leet: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
  '@': 'a',
  $: 's',
  '!': 'i',
}

/**
 * Implements the password policies (decision A28). Configuration values are read for each check, so a change takes
 * effect immediately.
 */
export class PasswordPolicy implements Passwords {
  readonly #config: ConfigView<typeof keys>
  #matches: (password: string) => boolean

  /**
   * @throws PlinthError `PLINTH_IAM_PASSWORD_PATTERN` for an invalid initial pattern. If a later pattern is invalid, it
   *   is not stored.
   */
  constructor(config: ConfigView<typeof keys>) {
    this.#config = config
    this.#matches = compiled(config.get('platform.iam.password.pattern'))
    config.onVerify('platform.iam.password.pattern', (pattern) => void compiled(pattern))
    config.onChange('platform.iam.password.pattern', (pattern) => {
      this.#matches = compiled(pattern)
    })
  }

  get policy() {
    return this.#config.get('platform.iam.password.policy')
  }

  check(password: string, username?: string, isOperator = false, policy = this.policy): readonly PasswordProblem[] {
    const length = [...password].length
    const byPolicy = { low: 6, medium: 8, high: 10, custom: this.#config.get('platform.iam.password.min-length') }[
      policy
    ]
    const shortest = Math.max(byPolicy, isOperator ? this.#config.get('platform.iam.password.operator-min-length') : 0)
    const rejectsWellKnown = policy === 'high' || this.#config.get('platform.iam.password.reject-well-known')
    const faults: PasswordProblem[] = []
    if (length < shortest)
      faults.push({ rule: 'too-short', limit: shortest, message: `at least ${shortest} characters` })
    if (length > maxPasswordLength)
      faults.push({ rule: 'too-long', limit: maxPasswordLength, message: `at most ${maxPasswordLength} characters` })
    if (policy === 'medium' && count(letterAndDigit, password) < 2) {
      faults.push({ rule: 'needs-letter-and-digit', message: 'a letter and a digit' })
    }
    if (policy === 'high' && count(kinds, password) < 3) {
      faults.push({
        rule: 'needs-three-kinds',
        message: 'three of: small letters, capital letters, digits, other characters',
      })
    }
    if (rejectsWellKnown && length <= maxPasswordLength && isWellKnown(password, username)) {
      faults.push({ rule: 'well-known', message: 'not a well-known password or the user name' })
    }
    if (policy === 'custom' && length <= maxPasswordLength) {
      const pattern = this.#config.get('platform.iam.password.pattern')
      if (!this.#matches(password)) faults.push({ rule: 'pattern', message: `the pattern ${pattern}` })
    }
    return faults
  }

  assertAllowed(
    password: string,
    { username, field = 'password', isOperator = false }: Parameters<Passwords['assertAllowed']>[1] = {},
  ): void {
    const faults = this.check(password, username, isOperator)
    if (faults.length === 0) return
    const params = { faults: faults.map(({ message }) => message).join('; ') }
    throw businessError('password-refused', { params, data: { field, faults } })
  }
}

const count = (patterns: readonly RegExp[], text: string) => patterns.filter((pattern) => pattern.test(text)).length

function compiled(pattern: string): (password: string) => boolean {
  try {
    return passwordPattern(pattern)
  } catch (error) {
    throw iamError('PLINTH_IAM_PASSWORD_PATTERN', { reason: errorReason(error) }, error)
  }
}

/**
 * Returns true for a well-known stem with digits or signs around it or digits instead of letters, for a repetition, for
 * a run of digits, and for a text that contains the user name.
 */
function isWellKnown(password: string, username: string | undefined): boolean {
  const text = password.normalize('NFKC').toLowerCase()
  const name = username?.toLowerCase()
  if (name !== undefined && name.length >= 3 && text.includes(name)) return true
  if (/^(.{1,5})\1+$/u.test(text) || digitRuns.some((run) => run.includes(text))) return true
  const withoutTail = text.replace(/[^\p{L}]+$/u, '')
  return [withoutTail, withoutTail.replace(/^[^\p{L}]+/u, '')]
    .map((core) => [...core].map((sign) => leet[sign] ?? sign).join(''))
    .some((core) => wellKnownStems.has(core.replace(/[^\p{L}]/gu, '')))
}
