import { inspect, isDeepStrictEqual } from 'node:util'
import { type LocalizedText, localize } from '@plinth/config-schema'

/**
 * A test of one rule of a contract. It works with any test runner: pass `run` to it, for example `for (const { name,
 * run } of rateLimitStoreCases(create)) t.test(name, run)`.
 */
export interface ConformanceCase {
  readonly name: string
  /**
   * Checks the rule.
   *
   * @throws ConformanceError if the implementation violates it
   */
  run(): Promise<void>
}

/** The error for an implementation that violates its contract. */
export class ConformanceError extends Error {
  override readonly name = 'ConformanceError'
  /** The violated rule of the contract. */
  readonly rule: string
  readonly expected: unknown
  readonly actual: unknown
  /** What the author of the implementation should do. */
  readonly advice: string | undefined

  constructor(rule: string, expected: unknown, actual: unknown, advice?: string) {
    const show = (value: unknown) =>
      typeof value === 'string' ? value : inspect(value, { depth: 6, breakLength: 120 })
    const lines = [rule, `  expected: ${show(expected)}`, `  actual:   ${show(actual)}`]
    super([...lines, ...(advice === undefined ? [] : [`  to do:    ${advice}`])].join('\n'))
    this.rule = rule
    this.expected = expected
    this.actual = actual
    this.advice = advice
  }
}

/**
 * Checks that two values are equal.
 *
 * @throws ConformanceError if they differ
 */
export function expectEqual(rule: string, actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) throw new ConformanceError(rule, expected, actual)
}

/**
 * Checks a condition.
 *
 * @param expected text that describes the expected value
 * @throws ConformanceError if the condition is false
 */
export function expectThat(rule: string, holds: boolean, expected: string, actual: unknown): asserts holds {
  if (!holds) throw new ConformanceError(rule, expected, actual)
}

/**
 * Checks that a text for users exists in both languages.
 *
 * @throws ConformanceError if it is missing or blank
 */
export function expectBothLanguages(rule: string, text: LocalizedText | undefined): void {
  const texts = ['en', 'zh-CN'].map((locale) => (text === undefined ? '' : localize(text, locale)))
  expectThat(
    rule,
    texts.every((one) => typeof one === 'string' && one.trim() !== ''),
    'text in English and Chinese',
    text,
  )
}

/** Returns the forms in which a secret may appear in a text. */
const formsOf = (secret: string) => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  Buffer.from(secret).toString('base64url'),
]

/**
 * Checks that no secret occurs in a value, at any depth.
 *
 * @throws ConformanceError if a secret occurs; the error does not contain the secret
 */
export function expectNoSecret(where: string, found: unknown, secrets: readonly string[]): void {
  const text = inspect(found, { depth: null, maxArrayLength: null, maxStringLength: null, breakLength: Infinity })
  const shown = secrets
    .filter((secret) => secret !== '' && formsOf(secret).some((form) => text.includes(form)))
    .map(({ length }) => `a secret of ${length} characters`)
  expectEqual(`No secret is in ${where}`, shown, [])
}

/** Time limits of a kit, in milliseconds of real time. */
export interface ConformanceLimits {
  /** Maximum duration of one call. A longer call is treated as hanging. Default: 5,000. */
  readonly patienceMs?: number
  /** Maximum duration of a whole case. Default: 120,000. */
  readonly caseLimitMs?: number
}

type Awaitable<T> = T | Promise<T>
/** How a call ended: with a value, with a thrown error, or not at all within the time limit. */
type Settled<T> = { value: T } | { thrown: unknown } | { hanging: true }

export interface CallTimeouts {
  /** Calls the function and returns how the call ended. Never throws. */
  settle<T>(work: () => Awaitable<T>): Promise<Settled<T>>
  /**
   * Calls the function and returns its result.
   *
   * @throws ConformanceError if the call does not end in time, otherwise the error of the call
   */
  answer<T>(what: string, work: () => Awaitable<T>): Promise<T>
}

export const createCallTimeouts = ({ patienceMs = 5000 }: ConformanceLimits = {}): CallTimeouts => {
  const settle = async <T>(work: () => Awaitable<T>): Promise<Settled<T>> => {
    let timer: NodeJS.Timeout | undefined
    const end = new Promise<{ hanging: true }>((resolve) => {
      timer = setTimeout(() => resolve({ hanging: true }), patienceMs)
    })
    const outcome = Promise.resolve()
      .then(work)
      .then(
        (value) => ({ value }),
        (thrown: unknown) => ({ thrown }),
      )
    try {
      return await Promise.race([outcome, end])
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    settle,
    async answer(what, work) {
      const settled = await settle(work)
      if ('value' in settled) return settled.value
      if ('thrown' in settled) throw settled.thrown
      const advice = `Let ${what} settle in every case; where it waits for something else, give that wait an end.`
      throw new ConformanceError(`${what} settles`, `an answer within ${patienceMs} ms`, 'none', advice)
    },
  }
}

/** Waits in real time, so that a test notices effects of work that continues after a call returned. */
export const waitForLateEffects = () => new Promise<void>((resolve) => setTimeout(resolve, 200))

/** Cases by name. Each has an advice for authors whose implementation fails, and the check itself. */
export type CaseBodies<Harness> = Readonly<
  Record<string, readonly [advice: string, check: (harness: Harness) => Awaitable<void>]>
>

/**
 * Creates the cases of a kit. Each case gets a new harness, which is always stopped at the end. If a check throws or
 * does not end, the case throws a `ConformanceError` with its advice.
 */
export function createCases<Harness extends { stop?(): Awaitable<void> }>(
  create: () => Awaitable<Harness>,
  bodies: CaseBodies<Harness>,
  { caseLimitMs = 120_000 }: ConformanceLimits = {},
): ConformanceCase[] {
  const limit = createCallTimeouts({ patienceMs: caseLimitMs })
  return Object.entries(bodies).map(([name, [advice, check]]) => ({
    name,
    async run() {
      const harness = await limit.answer('create() of the harness', create)
      try {
        await limit.answer(`The case "${name}"`, () => check(harness))
      } catch (error) {
        if (error instanceof ConformanceError) {
          throw new ConformanceError(error.rule, error.expected, error.actual, error.advice ?? advice)
        }
        throw new ConformanceError(`No call throws here: ${name}`, 'no exception', error, advice)
      } finally {
        await limit.answer('stop() of the harness', () => harness.stop?.())
      }
    },
  }))
}
