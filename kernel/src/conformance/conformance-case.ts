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

  constructor(rule: string, expected: unknown, actual: unknown) {
    const show = (value: unknown) =>
      typeof value === 'string' ? value : inspect(value, { depth: 6, breakLength: 120 })
    super(`${rule}\n  expected: ${show(expected)}\n  actual:   ${show(actual)}`)
    this.rule = rule
    this.expected = expected
    this.actual = actual
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

/** Milliseconds of real time after which something that should have settled counts as hanging. */
export const patienceMs = 1000

/** What became of work: its value, what it threw, or `hanging`. Turns a hang into an answer, in real time. */
export async function settle<T>(
  work: () => T | Promise<T>,
): Promise<{ value: T } | { thrown: unknown } | { hanging: true }> {
  let timer: NodeJS.Timeout | undefined
  const patience = new Promise<{ hanging: true }>((resolve) => {
    timer = setTimeout(() => resolve({ hanging: true }), patienceMs)
  })
  const outcome = Promise.resolve()
    .then(work)
    .then(
      (value) => ({ value }),
      (thrown: unknown) => ({ thrown }),
    )
  try {
    return await Promise.race([outcome, patience])
  } finally {
    clearTimeout(timer)
  }
}

/** Throws when a text for people is missing or blank in a language. */
export function expectNamed(rule: string, text: LocalizedText | undefined): void {
  const told = ['en', 'zh-CN'].map((locale) => (text === undefined ? '' : localize(text, locale)))
  expectThat(
    rule,
    told.every((one) => typeof one === 'string' && one.trim() !== ''),
    'text in English and Chinese',
    text,
  )
}

type Awaitable<T> = T | Promise<T>

/** Builds the cases of a kit: each body gets a fresh harness, which is stopped afterwards whatever happens. */
export function casesOver<Harness extends { stop?(): Awaitable<void> }>(
  create: () => Awaitable<Harness>,
  bodies: Readonly<Record<string, (harness: Harness) => Awaitable<void>>>,
): ConformanceCase[] {
  return Object.entries(bodies).map(([name, body]) => ({
    name,
    async run() {
      const harness = await create()
      try {
        await body(harness)
      } finally {
        await harness.stop?.()
      }
    },
  }))
}
