import { inspect, isDeepStrictEqual } from 'node:util'
import { type LocalizedText, localize } from '@plinth/config-schema'

/**
 * One rule of a contract as a test. Free of any test runner: hand `run` to yours, for example
 * `for (const { name, run } of rateLimitStoreCases(create)) t.test(name, run)`.
 */
export interface ConformanceCase {
  readonly name: string
  /** Throws `ConformanceError` when the implementation breaks the rule. */
  run(): Promise<void>
}

/** An implementation breaks its contract. */
export class ConformanceError extends Error {
  override readonly name = 'ConformanceError'
  /** The broken rule, as the contract states it. */
  readonly rule: string
  readonly expected: unknown
  readonly actual: unknown
  /** What the author of the implementation does about it. */
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

/** Throws when the two differ. */
export function expectEqual(rule: string, actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) throw new ConformanceError(rule, expected, actual)
}

/** Throws when the condition is false; `expected` says in words what should have been. */
export function expectThat(rule: string, holds: boolean, expected: string, actual: unknown): void {
  if (!holds) throw new ConformanceError(rule, expected, actual)
}

/** Throws when a text for people is missing or blank in a language. */
export function expectNamed(rule: string, text: LocalizedText | undefined): void {
  const texts = ['en', 'zh-CN'].map((locale) => (text === undefined ? '' : localize(text, locale)))
  expectThat(
    rule,
    texts.every((one) => typeof one === 'string' && one.trim() !== ''),
    'text in English and Chinese',
    text,
  )
}

/** The forms in which a secret may show. */
const formsOf = (secret: string) => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  Buffer.from(secret).toString('base64url'),
]

/** Throws when one of the secrets shows in what was found, however deep. The error does not repeat it. */
export function expectNoSecret(where: string, found: unknown, secrets: readonly string[]): void {
  const text = inspect(found, { depth: null, maxArrayLength: null, maxStringLength: null, breakLength: Infinity })
  const shown = secrets
    .filter((secret) => secret !== '' && formsOf(secret).some((form) => text.includes(form)))
    .map(({ length }) => `a secret of ${length} characters`)
  expectEqual(`No secret is in ${where}`, shown, [])
}

/** Ends of the waits of a kit, in milliseconds of real time. */
export interface ConformanceLimits {
  /** After which one call that has not settled counts as hanging; 5,000 when absent. */
  readonly patienceMs?: number
  /** After which a whole case has failed, whatever it waits for; 120,000 when absent. */
  readonly caseLimitMs?: number
}

type Awaitable<T> = T | Promise<T>
/** What became of work. */
type Settled<T> = { value: T } | { thrown: unknown } | { hanging: true }

export interface Patience {
  /** The value, what was thrown, or `hanging`: turns a hang into an answer. */
  settle<T>(work: () => Awaitable<T>): Promise<Settled<T>>
  /** The value. A call that hangs breaks every contract. @throws ConformanceError, or what the work threw */
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

/** Real time in which work that goes on after its answer would show. */
export const lateWork = () => new Promise<void>((resolve) => setTimeout(resolve, 200))

/** Cases by name: what to do when the rule is broken, and the check. */
export type CaseBodies<Harness> = Readonly<
  Record<string, readonly [advice: string, check: (harness: Harness) => Awaitable<void>]>
>

/**
 * Builds the cases of a kit: each check gets a fresh harness, which is stopped afterwards whatever happens. Whatever it
 * throws becomes a `ConformanceError` that says what to do, and so does a case without an end.
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
