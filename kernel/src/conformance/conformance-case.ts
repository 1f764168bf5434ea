import { inspect, isDeepStrictEqual } from 'node:util'
import { type LocalizedText, localize } from '@plinth/config-schema'

/**
 * One rule of a contract as a test. Independent of test runners: pass `run` to yours, for example `for (const { name,
 * run } of rateLimitStoreCases(create)) t.test(name, run)`.
 */
export interface ConformanceCase {
  readonly name: string
  /** @throws ConformanceError if the implementation violates the rule */
  run(): Promise<void>
}

/** An implementation violates its contract. */
export class ConformanceError extends Error {
  override readonly name = 'ConformanceError'
  /** The violated rule of the contract. */
  readonly rule: string
  readonly expected: unknown
  readonly actual: unknown
  /** Action for the author of the implementation. */
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

/** @throws ConformanceError if the two differ */
export function expectEqual(rule: string, actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) throw new ConformanceError(rule, expected, actual)
}

/** @throws ConformanceError if the condition is false; `expected` describes the expectation */
export function expectThat(rule: string, holds: boolean, expected: string, actual: unknown): asserts holds {
  if (!holds) throw new ConformanceError(rule, expected, actual)
}

/** @throws ConformanceError if a text for users is missing or blank in a language */
export function expectNamed(rule: string, text: LocalizedText | undefined): void {
  const texts = ['en', 'zh-CN'].map((locale) => (text === undefined ? '' : localize(text, locale)))
  expectThat(
    rule,
    texts.every((one) => typeof one === 'string' && one.trim() !== ''),
    'text in English and Chinese',
    text,
  )
}

/** Forms in which a secret may be shown. */
const formsOf = (secret: string) => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  Buffer.from(secret).toString('base64url'),
]

/** @throws ConformanceError if a secret is in the value at any depth. The error does not contain it */
export function expectNoSecret(where: string, found: unknown, secrets: readonly string[]): void {
  const text = inspect(found, { depth: null, maxArrayLength: null, maxStringLength: null, breakLength: Infinity })
  const shown = secrets
    .filter((secret) => secret !== '' && formsOf(secret).some((form) => text.includes(form)))
    .map(({ length }) => `a secret of ${length} characters`)
  expectEqual(`No secret is in ${where}`, shown, [])
}

/** Limits of the waits of a kit, in milliseconds of real time. */
export interface ConformanceLimits {
  /** Maximum duration of one call before it is treated as hanging; 5,000 when absent. */
  readonly patienceMs?: number
  /** Maximum duration of a whole case; 120,000 when absent. */
  readonly caseLimitMs?: number
}

type Awaitable<T> = T | Promise<T>
/** Result of work. */
type Settled<T> = { value: T } | { thrown: unknown } | { hanging: true }

export interface Patience {
  /** Returns the value, the thrown error, or `hanging` for a call that does not end. */
  settle<T>(work: () => Awaitable<T>): Promise<Settled<T>>
  /**
   * Returns the value. A call that hangs violates every contract. @throws ConformanceError, or the error of the work
   */
  answer<T>(what: string, work: () => Awaitable<T>): Promise<T>
}

export const patience = ({ patienceMs = 5000 }: ConformanceLimits = {}): Patience => {
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

/** Waits in real time for effects of work that continues after its result. */
export const lateWork = () => new Promise<void>((resolve) => setTimeout(resolve, 200))

/** Cases by name: the advice for a violated rule, and the check. */
export type CaseBodies<Harness> = Readonly<
  Record<string, readonly [advice: string, check: (harness: Harness) => Awaitable<void>]>
>

/**
 * Builds the cases of a kit. Each check gets a new harness, which is always stopped afterwards. Every error, and a case
 * that does not end, becomes a `ConformanceError` with advice.
 */
export function casesOver<Harness extends { stop?(): Awaitable<void> }>(
  create: () => Awaitable<Harness>,
  bodies: CaseBodies<Harness>,
  { caseLimitMs = 120_000 }: ConformanceLimits = {},
): ConformanceCase[] {
  const limit = patience({ patienceMs: caseLimitMs })
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
