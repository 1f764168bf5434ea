import { assertMembers, rejectsWith, startForTest } from '@plinth/dev/testing'
import { definePlugin, extensionPoint, optional, service, shape } from '@plinth/kernel'
import t from 'tap'
import { createSamplePlugin, productOf } from './sample-plugin.ts'

interface Badge {
  readonly id: string
  readonly title: string
}
const badges = extensionPoint<Badge>('badges', {
  live: true,
  namedBy: 'id',
  shape: shape.record<Badge>({ id: shape.text, title: shape.text }),
})
const checks = extensionPoint<() => number>('checks', { live: true, shape: shape.function })
interface Store {
  readonly rows: number
}
interface Stored {
  readonly store: Store
}
const store = service<Store>('store')
const gold: Badge = { id: 'gold', title: 'Gold' }
const silver: Badge = { id: 'silver', title: 'Silver' }

const owner = createSamplePlugin('owner', {
  extensionPoints: [badges, checks],
  provides: [store],
  setup: ({ provide }) => provide(store, { rows: 3 }),
})

t.test(
  'C-002 declared contributions are added before setup, in their order, with the services of the plugin',
  async (t) => {
    const shop = definePlugin({
      id: 'shop',
      version: '1.0.0',
      kernel: '^1.0.0',
      requires: { store },
      contributes: [
        badges.of([silver, gold]),
        checks.of(({ store }: Stored) => ({ 'shop.rows': () => store.rows })),
        optional(extensionPoint<Badge>('of.nobody').of({ lost: gold })),
      ],
      setup: ({ contribute }) => contribute(badges, 'bronze', { id: 'bronze', title: 'Bronze' }),
    })
    const running = await startForTest(productOf([owner, shop]))
    t.teardown(() => running.stop('done'))
    t.strictSame([...running.contributions(badges).keys()], ['silver', 'gold', 'bronze'])
    t.equal(running.contributions(badges).get('gold'), gold)
    t.equal(running.contributions(checks).get('shop.rows')?.(), 3)
  },
)

t.test('C-002 a function without contributions adds none', async (t) => {
  const shop = definePlugin({
    id: 'shop',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { missing: optional(service<object>('missing')) },
    contributes: [badges.of(({ missing }: { missing: object | undefined }) => missing && [gold])],
  })
  const running = await startForTest(productOf([owner, shop]))
  t.teardown(() => running.stop('done'))
  t.equal(running.contributions(badges).size, 0)
})

t.test('C-002 a wrong declared contribution stops the start like one of setup', async (t) => {
  const start = (values: unknown, point = badges) =>
    startForTest(productOf([owner, createSamplePlugin('shop', { contributes: [point.of(values as never)] })]))
  const fails = (values: unknown, message: RegExp, point = badges) =>
    rejectsWith(t, start(values, point), { code: 'PLINTH_START_FAILED', message })
  await fails([{ id: 'gold' }], /PLINTH_CONTRIBUTION_INVALID.* title must be text, but is missing/)
  await fails({ silver: gold }, /PLINTH_CONTRIBUTION_INVALID.* must equal its id "gold"/)
  await fails([() => 1], /PLINTH_CONTRIBUTION_INVALID.* the name must be text, but is missing/, checks as never)
  await fails([gold, gold], /PLINTH_CONTRIBUTION_DUPLICATE.* already uses that name/)
  const problem = await start(undefined).then(
    () => undefined,
    (error: { readonly problems?: readonly object[] }) => error.problems,
  )
  assertMembers(t, problem, [
    {
      code: 'PLINTH_PLAN_INVALID_DECLARATION',
      place: 'contributes[0].values',
      message: 'contributes[0].values must be a list, an object or a function, but is missing.',
    },
  ])
})

t.test('C-002 declared contributions are typed by their point and by the services of the plugin', async (t) => {
  const identity = { version: '1.0.0', kernel: '^1.0.0' } as const
  definePlugin({
    id: 'shop',
    ...identity,
    requires: { store },
    contributes: [checks.of(({ store }: Stored) => ({ rows: () => store.rows }))],
    setup({ contribute }) {
      // @ts-expect-error a point that is not in `contributes`
      contribute(badges, 'gold', gold)
    },
  })
  // @ts-expect-error a badge has a title
  badges.of([{ id: 'gold' }])
  definePlugin({
    id: 'other',
    ...identity,
    // @ts-expect-error the plugin does not require the service
    contributes: [checks.of(({ store }: Stored) => ({ rows: () => store.rows }))],
  })
  definePlugin({
    id: 'another',
    ...identity,
    requires: { store },
    contributes: [
      // @ts-expect-error the service has another type
      checks.of(({ store }: { store: { columns: number } }) => ({ columns: () => store.columns })),
    ],
  })
  t.pass('the compiler checks the lines above')
})
