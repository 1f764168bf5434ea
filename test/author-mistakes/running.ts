import databasePlugin from '@plinth/database'
import eventsPlugin, { event, events } from '@plinth/events'
import httpPlugin, { http, routesWith, Type } from '@plinth/http'
import { errorTable, healthCheck, key, service } from '@plinth/kernel'
import { createAcmePlugin, declareMembers, type Mistake, sendRequest } from './mistake.ts'

// biome-ignore lint/suspicious/noExplicitAny: plain JavaScript has no types
type Anything = any

const { route } = routesWith() as { readonly route: (declaration: Anything) => Anything }

/** Returns a product with one route, which the plugin with the mistake declares. */
const routed = (declaration: object) => () => [
  httpPlugin,
  createAcmePlugin({
    requires: { http },
    setup: ({ services }: Anything) =>
      services.http.addRoutes([
        route({
          method: 'GET',
          path: '/api/v1/acme/orders',
          summary: 'Orders',
          access: 'public',
          response: Type.Object({ id: Type.Integer() }),
          handler: () => ({ id: 1 }),
          ...declaration,
        }),
      ]),
  }),
]
const anyPort = { 'platform.http.port': 0, 'platform.http.response-check': true }

/** Returns a product whose plugin uses events in `setup`. */
const withEvents = (setup: (events: Anything) => unknown) => () => [
  databasePlugin,
  eventsPlugin,
  httpPlugin,
  createAcmePlugin({ requires: { events }, setup: ({ services }: Anything) => setup(services.events) }),
]
const paid = event('acme.order.paid', Type.Object({ orderNo: Type.String() }))

const shop = service<object>('acme.shop')

/** Mistakes in `setup`, and in the declarations that a plugin registers there. */
export const setupMistakes: readonly Mistake[] = [
  {
    id: 'setup-returns-stop',
    mistake: 'setup returns an object with stop, which nobody calls',
    product: declareMembers(() => ({ setup: () => ({ stop() {} }) })),
    code: 'PLINTH_SETUP_RESULT',
    place: 'setup',
    cause: 'an object with stop',
    fix: 'context.onStop',
  },
  {
    id: 'setup-throws-text',
    mistake: 'setup throws a text',
    product: declareMembers(() => ({
      setup() {
        throw 'no account'
      },
    })),
    code: 'PLINTH_NOT_AN_ERROR',
    place: import.meta.filename.replace('running.ts', 'mistake.ts'),
    cause: 'threw the text "no account" instead of an Error',
    fix: 'new Error(',
  },
  {
    id: 'setup-rejects-undefined',
    mistake: 'A promise of setup is rejected without a reason',
    product: declareMembers(() => ({ setup: () => Promise.reject() })),
    code: 'PLINTH_NOT_AN_ERROR',
    place: 'setup',
    cause: 'threw undefined instead of an Error',
    fix: 'new Error(',
  },
  {
    id: 'stop-hook-promise',
    mistake: 'onStop receives the promise of a call instead of a function',
    product: declareMembers(() => ({ setup: ({ onStop }: Anything) => onStop(Promise.resolve()) })),
    code: 'PLINTH_CONTEXT_ARGUMENT',
    place: 'onStop',
    cause: 'a promise instead of a function',
    fix: 'onStop(() =>',
  },
  {
    id: 'service-not-provided',
    mistake: 'A declared service is not provided',
    product: declareMembers(() => ({ provides: [shop], setup() {} })),
    code: 'PLINTH_SERVICE_NOT_PROVIDED',
    place: 'setup',
    cause: '"acme.shop"',
    fix: 'context.provide()',
  },
  {
    id: 'service-undefined',
    mistake: 'A service is provided without an implementation',
    product: declareMembers(() => ({ provides: [shop], setup: ({ provide }: Anything) => provide(shop) })),
    code: 'PLINTH_CONTEXT_ARGUMENT',
    place: 'provide',
    cause: 'undefined instead of',
    fix: 'implementation',
  },
  {
    id: 'service-undeclared',
    mistake: 'A service is provided that is not in provides',
    product: declareMembers(() => ({ setup: ({ provide }: Anything) => provide(shop, {}) })),
    code: 'PLINTH_SERVICE_UNDECLARED',
    place: 'setup',
    cause: '"acme.shop"',
    fix: 'provides',
  },
  {
    id: 'key-undeclared',
    mistake: 'The plugin reads a key that it does not declare',
    product: declareMembers(() => ({
      config: { 'platform.shop.limit': key.integer({ title: { en: 'a', 'zh-CN': 'b' }, default: 1 }) },
      setup: ({ config }: Anything) => void config.get('platform.shop.limits'),
    })),
    code: 'PLINTH_CONFIG_UNDECLARED',
    place: 'platform.shop.limits',
    cause: 'does not declare',
    fix: 'config',
  },
  {
    id: 'service-used-undeclared',
    mistake: 'The plugin uses a service that is not in requires',
    product: () => [httpPlugin, createAcmePlugin({ setup: ({ services }: Anything) => services.http.addRoutes([]) })],
    config: anyPort,
    code: 'PLINTH_START_FAILED',
    place: 'setup',
    cause: "reading 'addRoutes'",
    fix: 'requires',
  },
  {
    id: 'contribution-twice',
    mistake: 'Two contributions have one name',
    product: declareMembers(() => ({
      contributes: [healthCheck],
      setup({ contribute }: Anything) {
        contribute(healthCheck, 'acme', () => {})
        contribute(healthCheck, 'acme', () => {})
      },
    })),
    code: 'PLINTH_CONTRIBUTION_DUPLICATE',
    place: 'kernel.health-check',
    cause: '"acme"',
    fix: 'another name',
  },
  {
    id: 'error-without-fix',
    mistake: 'An error of the plugin has no line with the fix',
    product: declareMembers(() => ({ setup: () => void errorTable({ ACME_CLOSED: 'The shop is closed.' }) })),
    code: 'PLINTH_START_FAILED',
    place: 'ACME_CLOSED',
    cause: 'one line',
    fix: 'second line',
  },
  {
    id: 'circular-import',
    mistake: 'Two files of plugins import each other',
    product: {
      files: {
        'plinth.config.js': `import { defineProduct } from '@plinth/kernel'
          import shop from './shop.js'
          export default defineProduct({ name: 'mistake', plugins: [shop] })`,
        'shop.js': `import { definePlugin, service } from '@plinth/kernel'
          import { courier } from './courier.js'
          export const orders = service('acme.orders')
          export default definePlugin({ id: 'acme.shop', version: '1.0.0', kernel: '^1.0.0', requires: { courier } })`,
        'courier.js': `import { definePlugin, service } from '@plinth/kernel'
          import { orders } from './shop.js'
          export const courier = service('acme.courier')
          export default definePlugin({ id: 'acme.courier', version: '1.0.0', kernel: '^1.0.0', requires: { orders } })`,
      },
    },
    code: 'PLINTH_PRODUCT_IMPORT',
    plugin: null,
    place: 'courier.js:',
    cause: "Cannot access 'orders' before initialization",
    fix: 'import each other',
  },
]

const product = (plugins: string) => `import { defineProduct } from '@plinth/kernel'
  ${plugins}
  export default defineProduct({ name: 'mistake', plugins: [shop] })`

/** Mistakes that end the process. */
export const crashMistakes: readonly Mistake[] = [
  {
    id: 'promise-rejected',
    mistake: 'setup starts work without await, and its promise is rejected with a text',
    product: {
      files: {
        'plinth.config.js': `import { defineProduct } from '@plinth/kernel'
          import database from '@plinth/database'
          import shop from './shop.js'
          export default defineProduct({ name: 'mistake', plugins: [shop, database] })`,
        'shop.js': `import { definePlugin } from '@plinth/kernel'
          const open = async () => { throw 'no account' }
          export default definePlugin({ id: 'acme.shop', version: '1.0.0', kernel: '^1.0.0', setup: () => { open() } })`,
      },
    },
    command: ['start', '--no-supervisor'],
    code: 'PLINTH_UNHANDLED_ERROR',
    place: '"plugin":"acme.shop"',
    cause: 'no account',
    fix: 'await',
    absent: 'the database is not available',
  },
  {
    id: 'timer-throws',
    mistake: 'A timer of setup throws',
    product: {
      files: {
        'plinth.config.js': product("import shop from './shop.js'"),
        'shop.js': `import { definePlugin } from '@plinth/kernel'
          const setup = () => void setTimeout(() => { throw new Error('no account') })
          export default definePlugin({ id: 'acme.shop', version: '1.0.0', kernel: '^1.0.0', setup })`,
      },
    },
    command: ['start', '--no-supervisor'],
    code: 'PLINTH_UNHANDLED_ERROR',
    place: 'shop.js:2',
    cause: 'no account',
    fix: 'await',
  },
]

/** Mistakes in routes. */
export const routeMistakes: readonly Mistake[] = [
  {
    id: 'route-parameter',
    mistake: 'The path has :id and the schema of the parameters has di',
    product: routed({ path: '/api/v1/acme/orders/:id', request: { params: Type.Object({ di: Type.Integer() }) } }),
    config: anyPort,
    code: 'PLINTH_HTTP_ROUTE_REFUSED',
    place: 'GET /api/v1/acme/orders/:id',
    cause: 'has the parameter ":id", and the schema of its parameters has "di"',
    fix: 'Correct the declaration',
  },
  {
    id: 'route-method',
    mistake: 'The method of a route is in lower case',
    product: routed({ method: 'get' }),
    config: anyPort,
    code: 'PLINTH_HTTP_ROUTE_REFUSED',
    place: 'get /api/v1/acme/orders',
    cause: '"GET", "POST"',
    fix: 'Correct the declaration',
  },
  {
    id: 'route-without-response',
    mistake: 'A route has no schema of its response',
    product: routed({ response: undefined }),
    config: anyPort,
    code: 'PLINTH_HTTP_ROUTE_REFUSED',
    place: 'GET /api/v1/acme/orders',
    cause: 'response',
    fix: 'Correct the declaration',
  },
  {
    id: 'route-schema-plain',
    mistake: 'The schema of a response is a map of names and types',
    product: routed({ response: { id: 'integer' } }),
    config: anyPort,
    code: 'PLINTH_HTTP_ROUTE_REFUSED',
    place: 'GET /api/v1/acme/orders',
    cause: 'not a JSON Schema',
    fix: 'Correct the declaration',
  },
  {
    id: 'route-misspelt',
    mistake: 'A member of a route is misspelt',
    product: routed({ sumary: 'Orders' }),
    config: anyPort,
    code: 'PLINTH_HTTP_ROUTE_REFUSED',
    place: 'GET /api/v1/acme/orders',
    cause: 'did you mean "summary"?',
    fix: 'Correct the declaration',
  },
  {
    id: 'route-access',
    mistake: 'The access of a route is misspelt',
    product: routed({ access: 'pubic' }),
    config: anyPort,
    code: 'PLINTH_HTTP_ROUTE_REFUSED',
    place: 'GET /api/v1/acme/orders',
    cause: 'did you mean "public"?',
    fix: 'Correct the declaration',
  },
  {
    id: 'route-scope',
    mistake: 'A route with a permission declares no data scope',
    product: routed({ path: '/api/v1/admin/acme/orders', access: { permission: 'acme:order:view' } }),
    config: anyPort,
    code: 'PLINTH_HTTP_SCOPE_MISSING',
    place: 'GET /api/v1/admin/acme/orders',
    cause: 'no data scope',
    fix: 'scope',
  },
  {
    id: 'route-path',
    mistake: 'The path of a route has no version',
    product: routed({ path: '/acme/orders' }),
    config: anyPort,
    code: 'PLINTH_HTTP_ROUTE_REFUSED',
    place: 'GET /acme/orders',
    cause: '/api/v{major}',
    fix: 'Correct the declaration',
  },
  {
    id: 'route-handler',
    mistake: 'A handler is the result of a call',
    product: routed({ handler: { id: 1 } }),
    config: anyPort,
    code: 'PLINTH_HTTP_ROUTE_REFUSED',
    place: 'GET /api/v1/acme/orders',
    cause: 'handler',
    fix: 'Correct the declaration',
  },
  {
    id: 'response-missing-member',
    mistake: 'A handler leaves out a member that its schema requires',
    product: routed({ handler: () => ({ name: 'x' }) }),
    config: anyPort,
    use: sendRequest('/api/v1/acme/orders'),
    code: 'http.response-invalid',
    place: 'GET /api/v1/acme/orders',
    cause: 'data.id is missing',
    fix: 'Correct the handler or the schema',
  },
  {
    id: 'response-wrong-type',
    mistake: 'A handler returns a text where its schema has a number',
    product: routed({ handler: () => ({ id: 'one' }) }),
    config: anyPort,
    use: sendRequest('/api/v1/acme/orders'),
    code: 'http.response-invalid',
    place: 'GET /api/v1/acme/orders',
    cause: 'data.id',
    fix: 'handler',
  },
  {
    id: 'response-undeclared',
    mistake: 'A handler returns a member that its schema does not have',
    product: routed({ handler: () => ({ id: 1, total: 3 }) }),
    config: anyPort,
    use: sendRequest('/api/v1/acme/orders'),
    code: 'http.response-undeclared',
    place: 'GET /api/v1/acme/orders',
    cause: 'data.total',
    fix: 'handler',
  },
]

/** Mistakes in events. */
export const eventMistakes: readonly Mistake[] = [
  {
    id: 'event-id',
    mistake: 'The id of an event is a phrase',
    product: withEvents((bus) => bus.on(event('Order Paid', Type.Object({})), 'acme.count', () => {})),
    config: anyPort,
    code: 'PLINTH_EVENTS_EVENT',
    place: 'Order Paid',
    cause: 'is not an event id',
    fix: 'lower-case',
  },
  {
    id: 'event-text',
    mistake: 'A handler is added for the id of an event',
    product: withEvents((bus) => bus.on('acme.order.paid', 'acme.count', () => {})),
    config: anyPort,
    code: 'PLINTH_EVENTS_EVENT',
    place: '"acme.count"',
    cause: 'the text "acme.order.paid"',
    fix: 'event(',
  },
  {
    id: 'event-handler',
    mistake: 'A handler of an event is missing',
    product: withEvents((bus) => bus.on(paid, 'acme.count')),
    config: anyPort,
    code: 'PLINTH_EVENTS_HANDLER',
    place: 'acme.count',
    cause: 'undefined instead of a function',
    fix: 'function',
  },
  {
    id: 'event-payload',
    mistake: 'The payload of an event breaks its schema',
    product: withEvents((bus) => bus.publish(paid, { orderId: 1 })),
    config: anyPort,
    code: 'PLINTH_EVENTS_PAYLOAD',
    place: 'acme.order.paid',
    cause: 'orderNo',
    fix: 'schema',
  },
]
