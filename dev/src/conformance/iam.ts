/** Conformance kit for login guards: the contract of `LoginGuard` as test cases. Needs no test runner. */

import type { GuardedAttempt, LoginGuard } from '@plinth/iam'
import { isBusinessError } from '@plinth/kernel'
import {
  type CaseBodies,
  type ConformanceCase,
  type ConformanceLimits,
  createCallTimeouts,
  createCases,
  expectEqual,
  expectNoSecret,
  expectThat,
} from './index.ts'

type Awaitable<T> = T | Promise<T>

export interface LoginGuardHarness {
  /** A guard that has not seen any attempt yet. */
  readonly guard: LoginGuard
  stop?(): Awaitable<void>
}

export interface LoginGuardCaseOptions extends ConformanceLimits {
  /** Method of the attempts; default: `password`. */
  readonly method?: string
  /**
   * Number of failed attempts of one caller for one identifier that the guard allows before it rejects. `none` for a
   * guard that does not count.
   */
  readonly limit: number | 'none'
}

/**
 * A guard and the number of its caller. Each case uses a separate caller, so that guards may share one store of counts.
 */
interface World extends LoginGuardHarness {
  readonly number: number
}
const identifierOf = ({ number }: World, name = 'fitzgerald') => `zelda-${number}.${name}@acme.example`

interface Judged {
  readonly headers: Readonly<Record<string, string>>
  readonly rejection: unknown
}

/**
 * Returns the contract of `LoginGuard` as cases.
 *
 * @param create returns a guard that has counted no attempts of the callers of the kit; called for each case
 */
export function loginGuardCases<Harness extends LoginGuardHarness>(
  create: () => Awaitable<Harness>,
  options: LoginGuardCaseOptions,
): ConformanceCase[] {
  const { method = 'password', limit } = options
  const { settle } = createCallTimeouts(options)
  let [seen, worlds] = [0, Math.trunc(Date.now() % 1e6)]
  const createWorld = async (): Promise<World> => {
    const harness = await create()
    return { guard: harness.guard, number: worlds++, stop: () => harness.stop?.() }
  }

  const attemptOf = (world: World, changes: Partial<GuardedAttempt>, headers: Record<string, string>): GuardedAttempt =>
    Object.freeze({
      method,
      identifier: identifierOf(world),
      userId: 4711,
      clientIp: `2001:db8:${(world.number >> 16).toString(16)}:${(world.number & 0xffff).toString(16)}::7`,
      traceId: `conformance-${seen++}`,
      userAgent: 'conformance',
      setHeader: (name: string, value: string) => {
        headers[name] = value
      },
      ...changes,
    })
  /** Calls the guard as the product does. A rejection of the guard is a failed attempt. */
  const judge = async (world: World, changes: Partial<GuardedAttempt>, success: boolean): Promise<Judged> => {
    const headers: Record<string, string> = {}
    const { guard } = world
    const attempt = attemptOf(world, changes, headers)
    const before = await settle(() => guard.beforeAttempt(attempt))
    expectThat('beforeAttempt settles', !('hanging' in before), 'an end', 'none')
    const rejection = 'thrown' in before ? before.thrown : undefined
    const isAllowed = rejection === undefined
    expectThat(
      'A guard rejects only with a BusinessError',
      isAllowed || isBusinessError(rejection),
      'a BusinessError',
      rejection,
    )
    const after = await settle(() => guard.afterAttempt?.(attempt, { success: isAllowed && success }))
    expectThat('afterAttempt ends without an error', 'value' in after, 'no error', after)
    return { headers, rejection }
  }
  const shownOf = ({ headers, rejection }: Judged) => {
    // Only the names of the headers are compared, because a value such as the remaining time may change between two
    // attempts.
    const names = Object.keys(headers).sort()
    if (!isBusinessError(rejection)) return { headers: names, rejection }
    const { code, reason, message } = rejection
    return { headers: names, code, reason, message }
  }
  /** Number of attempts of one caller: two more than the limit. */
  const many = limit === 'none' ? 3 : limit + 2

  const cases: CaseBodies<World> = {
    'allows a first attempt': [
      'Reject only a caller that exceeded a limit or is blocked.',
      async (harness) => {
        const { rejection } = await judge(harness, {}, true)
        expectEqual('A first attempt is allowed', rejection, undefined)
        const unknown = await judge(harness, { identifier: identifierOf(harness, 'montgomery'), userId: null }, false)
        expectEqual('also for an unknown account', unknown.rejection, undefined)
      },
    ],

    'rejects with a business error, and never fails afterwards': [
      'Throw a BusinessError with a code such as "429". Catch errors of afterAttempt, because the attempt is over.',
      async (harness) => {
        for (const success of [false, true]) for (let n = 0; n < many; n++) await judge(harness, {}, success)
        for (const other of ['password-change', 'email-change', 'acme-sso'])
          await judge(harness, { method: other }, false)
      },
    ],

    'does not reveal whether an account exists': [
      'Decide by the identifier and the address of the caller. Give both kinds of accounts the same error and headers.',
      async () => {
        const outcomes = async (changes: Partial<GuardedAttempt>) => {
          const harness = await createWorld()
          try {
            const judged: unknown[] = []
            for (let n = 0; n < many; n++) judged.push(shownOf(await judge(harness, changes, false)))
            return judged
          } finally {
            await harness.stop?.()
          }
        }
        const known = await outcomes({})
        const unknown = await outcomes({ userId: null })
        expectEqual('An unknown account gets the same result', unknown, known)
      },
    ],

    'shows no identifier': [
      'Leave the identifier out of texts, data and headers. The login audit shows its masked form.',
      async (harness) => {
        for (let n = 0; n < many; n++) {
          const { headers, rejection } = await judge(harness, {}, false)
          const shown = isBusinessError(rejection)
            ? [rejection.message, rejection.params, rejection.data, headers]
            : [headers]
          expectNoSecret('a rejection', shown, [identifierOf(harness)])
        }
      },
    ],
  }
  const counting: CaseBodies<World> = {
    'counts failed attempts of one caller': [
      'Count before the credential is checked, by account and address together. Do not let a stranger lock out others.',
      async (harness) => {
        const rejected: boolean[] = []
        for (let n = 0; n < many; n++) rejected.push((await judge(harness, {}, false)).rejection !== undefined)
        const expected = rejected.map((_, index) => index >= many - 2)
        expectEqual('Attempts up to the limit are allowed, all later ones are rejected', rejected, expected)
        const other = { clientIp: '198.51.100.9', identifier: identifierOf(harness, 'montgomery'), userId: null }
        expectEqual('Another caller is allowed', (await judge(harness, other, false)).rejection, undefined)
      },
    ],
  }
  return createCases(createWorld, { ...cases, ...(limit === 'none' ? {} : counting) }, options)
}
