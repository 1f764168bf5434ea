/**
 * Common mistakes of plugins that the compiler must reject. Each such line has `@ts-expect-error`, so that the type
 * check fails if it compiles. The code never runs.
 */
import { databaseSecret } from '@plinth/database'
import { http, routesWith, Type } from '@plinth/http'
import {
  asClass,
  asFunction,
  type Clock,
  definePlugin,
  extensionPoint,
  healthCheck,
  key,
  service,
} from '@plinth/kernel'
import { configAdmin } from '@plinth/kernel/host'
import t from 'tap'

interface Till {
  charge(cents: number): Promise<number>
}
interface Ledger {
  lines(): readonly string[]
}
const till = service<Till>('shop.till')
const ledger = service<Ledger>('shop.ledger')
const discount = extensionPoint<(cents: number) => number>('shop.discount')
const receipt = extensionPoint<() => string>('shop.receipt')
/** Dependencies of a plugin. */
interface Parts {
  readonly clock: Clock
  readonly till: Drawer
  readonly opened: string
}
class Drawer {
  readonly openedAt: number
  constructor({ clock }: Pick<Parts, 'clock'>) {
    this.openedAt = clock.now()
  }
}
const open = {
  method: 'GET',
  path: '/api/v1/shop/hours',
  summary: 'x',
  access: 'public',
  response: Type.Null(),
  handler: () => null,
} as const
const identity = { version: '1.0.0', kernel: '^1.0.0' } as const

t.test('C-002 mistakes that reach beyond the declaration of a plugin do not compile', async (t) => {
  const shop = definePlugin({
    id: 'shop',
    ...identity,
    requires: { http, configAdmin },
    provides: [till],
    extensionPoints: [discount],
    contributes: [healthCheck],
    config: { 'platform.shop.currency': key.string({ title: 'Currency', default: 'EUR' }) },
    setup({ provide, own, contribute, contributions, services, config }) {
      provide(till, { charge: async (cents) => cents })
      contribute(healthCheck, 'till', () => {})
      contributions(discount).get('x')?.(100).toFixed()
      // @ts-expect-error 1: a service that is not in `provides`
      provide(ledger, { lines: () => [] })
      // @ts-expect-error 2: a point that is not in `contributes`
      contribute(receipt, 'paper', () => 'thank you')
      // @ts-expect-error 3: a service of another plugin as the own one
      own(ledger)
      // @ts-expect-error 4: contributions to a point of another plugin
      contributions(receipt)
      // @ts-expect-error 5: an implementation that is not of the type of the service
      provide(till, { charge: async (cents) => String(cents) })
      // @ts-expect-error 6: an implementation that is not of the type of the point
      contribute(healthCheck, 'till', 'fine')
      // @ts-expect-error 7: a service that is not required
      services.ledger
      // @ts-expect-error 8: a key of another plugin
      config.get('platform.database.url')
      // @ts-expect-error 9: the name of another plugin at a route
      services.http.route('iam', open)
      services.http.route(open)
      // @ts-expect-error 10: a route that does not say who may call it
      services.http.route({ method: 'GET', path: '/a', summary: 'x', response: Type.Null(), handler: () => null })
      // @ts-expect-error 11: a secret of another plugin, without the service that the declaration would show
      services.databaseSecret
      // @ts-expect-error 12: the configuration shows values of others masked, and has no way to read them
      services.configAdmin.get('platform.database.password')
    },
  })
  definePlugin({
    id: 'shop',
    ...identity,
    setup({ wire, clock }) {
      const resolvers = {
        till: asClass(Drawer),
        opened: asFunction(({ till }: Pick<Parts, 'till'>) => String(till.openedAt)),
      }
      const parts = wire<Parts>()({ clock }, resolvers)
      parts.opened.slice(parts.till.openedAt)
      // @ts-expect-error 13: a part that is neither given nor made
      wire<Parts>()({ clock }, { till: asClass(Drawer) })
      // @ts-expect-error 14: a resolver of another type
      wire<Parts>()({ clock }, { ...resolvers, opened: asFunction(() => new Date()) })
      // @ts-expect-error 15: a resolver for a part that nobody named
      wire<Parts>()({ clock }, { till: asClass(Drawer), opened: asFunction(() => 'x'), cents: asFunction(() => 1) })
      const opened = asFunction(({ ledger }: { readonly ledger: Ledger }) => ledger.lines().join())
      // @ts-expect-error 16: a function that takes a part that does not exist
      wire<Parts>()({ clock }, { ...resolvers, opened })
      // @ts-expect-error 17: a given part of another type
      wire<Parts>()({ clock: Date }, resolvers)
      // @ts-expect-error 18: parts without their types
      wire()({ clock }, resolvers).till
    },
  })
  const { route } = routesWith<{ readonly till: Till }>()
  // @ts-expect-error a declared route without an access rule
  route({ method: 'GET', path: '/a', summary: 'x', response: Type.Null(), handler: () => null })
  t.equal(shop.id, 'shop')
  t.equal(databaseSecret.id, 'database.secret', 'a plugin that reads it must declare that it requires it')
})
