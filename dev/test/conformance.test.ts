import {
  ConformanceError,
  createCases,
  installTaskCases,
  notificationChannelCases,
  rateLimitStoreCases,
} from '@plinth/dev/conformance'
import { type BrokenImplementations, testConformanceKit, throwsWith } from '@plinth/dev/testing'
import t, { type Test } from 'tap'
import { brokenChannels, createChannelCases } from './fixtures/faulty-channels.ts'
import { brokenCleanups, createCleanupCases } from './fixtures/faulty-cleanups.ts'
import { createInstallTaskCases, faultyInstallTasks } from './fixtures/faulty-install-tasks.ts'
import { createScheduledTaskCases, faultyScheduledTasks } from './fixtures/faulty-scheduled-tasks.ts'
import { createStoreCases, faultyStores } from './fixtures/faulty-stores.ts'

// Some cases wait in real time, and tests of implementations that hang last until the timeout of the kit.
t.setTimeout(600_000)

/**
 * Checks that the kit accepts the correct implementation. Also checks that it rejects every broken one, in the case
 * that tests for the mistake of that implementation.
 */
async function proves<F>(
  t: Test,
  kit: Parameters<typeof testConformanceKit<F>>[0],
  table: BrokenImplementations<F>,
  atLeast: number,
) {
  const { faults, share, ...result } = await testConformanceKit(kit, table)
  t.same(result, { wronglyRejected: [], missed: [], noSurvivors: [], unproven: [], vague: [] })
  t.ok(faults >= atLeast, `${faults} faulty implementations`)
  t.ok(share >= 0.95, `refuses ${(100 * share).toFixed(1)} %`)
  for (const [what, { reason }] of Object.entries(table.survivors)) t.comment(`survives: ${what}. ${reason}`)
}

t.test('the channel kit rejects faulty channels', (t) => proves(t, createChannelCases, brokenChannels, 25))
t.test('the store kit rejects faulty stores with an injected clock', (t) =>
  proves(t, createStoreCases('injected'), faultyStores.injected, 25),
)
t.test('the store kit rejects faulty stores in real time', (t) =>
  proves(t, createStoreCases('own'), faultyStores.own, 25),
)
t.test('the install task kit rejects faulty tasks', (t) => proves(t, createInstallTaskCases, faultyInstallTasks, 20))

t.test('the scheduled task kit rejects faulty tasks', (t) =>
  proves(t, createScheduledTaskCases, faultyScheduledTasks, 18),
)
t.test('the cleanup kit rejects faulty cleanups', (t) => proves(t, createCleanupCases, brokenCleanups, 18))

t.test('every wait of a kit has an end', async (t) => {
  const endless = () => new Promise<never>(() => {})
  const failure = async (cases: readonly { run(): Promise<void> }[]) => cases[0]?.run().catch((error) => error)
  const limits = { caseLimitMs: 20, patienceMs: 20 }
  const advice = 'Give it an end.'
  t.match(await failure(createCases(() => ({}), { 'a case': [advice, endless] }, limits)), {
    rule: 'The case "a case" settles',
    message: /an answer within 20 ms/,
  })
  t.match(await failure(createCases(endless, { 'a case': [advice, () => {}] }, limits)), {
    rule: 'create() of the harness settles',
  })
  const neverStopped = { stop: endless }
  t.match(await failure(createCases(() => neverStopped, { 'a case': [advice, () => {}] }, limits)), {
    rule: 'stop() of the harness settles',
  })
  const silent = notificationChannelCases(
    () => ({
      channel: {
        displayName: 'Silent',
        recipientKinds: [],
        traits: { idempotent: true },
        send: async () => ({ outcome: 'accepted' }) as const,
      },
      delivered: endless,
    }),
    { nextHop: 'none', patienceMs: 20 },
  )
  const handsOn = silent.filter(({ name }) => name === 'hands a message on once')
  t.match(await failure(handsOn), { rule: 'delivered() of the harness settles' })
})

t.test('an exception in a case becomes a failure with a fix', async (t) => {
  const [one] = createCases(() => ({}), {
    'a case': [
      'Do not throw.',
      () => {
        throw new TypeError('of the implementation')
      },
    ],
  })
  const error: unknown = await one?.run().catch((thrown: unknown) => thrown)
  t.type(error, ConformanceError)
  t.match(error, { rule: 'No call throws here: a case', advice: 'Do not throw.', message: /of the implementation/ })
})

t.test('the kits name the option that is missing', async (t) => {
  const channel = {
    displayName: { en: 'Acme', 'zh-CN': '艾克美' },
    recipientKinds: ['email'] as const,
    traits: { idempotent: true },
    send: async () => ({ outcome: 'accepted' }) as const,
  }
  const [describes] = notificationChannelCases(() => ({ channel, delivered: async () => [] }), { nextHop: 'none' })
  const error: unknown = await describes?.run().catch((thrown: unknown) => thrown)
  t.match(error, {
    advice: 'Pass options.recipients with at least two recipients, and one or more of each kind: email.',
  })
  throwsWith(t, () => installTaskCases(() => ({}) as never, {} as never), {
    message: 'Pass options.dependency: { fail, recover }, or "none" for a task that cannot fail.',
  })
})

t.test('a store that returns seconds gets the advice to return milliseconds', async (t) => {
  const nowMs = 1_795_000_000_000
  const store = {
    name: 'seconds',
    traits: { shared: false },
    consume: async () => ({ allowed: true, remaining: 1, resetAtMs: nowMs / 1000, retryAfterMs: 0 }),
    reset: async () => {},
  }
  const cases = rateLimitStoreCases(() => ({ store }) as never, { clock: 'own' } as never)
  const range = cases.find(({ name }) => name === 'members of a decision are in range')
  const error: unknown = await range?.run().catch((thrown: unknown) => thrown)
  t.match(error, {
    rule: 'resetAtMs is in milliseconds since the epoch',
    expected: 'a whole number of milliseconds after 2001; seconds are a thousandth of it',
  })
})
