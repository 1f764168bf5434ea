import {
  appendPathProperty,
  describeValue,
  findShapeProblems,
  type Shape,
  type ShapeProblem,
  type ShapeType,
  shape,
} from '@plinth/config-schema/shapes'
import { businessCodes } from '../errors/business-error.ts'
import { kernelError } from '../errors/kernel-errors.ts'
import type { ReportProblem } from '../plan-declarations.ts'
import { type Declared, implementedMembers, type Plugin, roles } from '../plugin.ts'
import type { AnyReferenceType, ExtensionPoint } from '../refs.ts'
import { memberAt } from './contributions.ts'
import type { CommandDeclaration, InstallTask, PermissionDeclaration, ScheduledTask } from './declarations.ts'

const shapeTypes: readonly ShapeType[] = ['string', 'integer', 'number', 'boolean', 'array', 'object', 'function']
const knownShape: Shape = { properties: shapeOfShapes(), additionalProperties: false }

/** Returns the shape that describes valid shapes. */
function shapeOfShapes() {
  const type: Shape = { type: 'string', enum: shapeTypes }
  const text: Shape = { type: 'string' }
  const count: Shape = { type: 'integer', minimum: 0 }
  const number: Shape = { type: 'number' }
  return {
    type: { type: ['string', 'array'], enum: shapeTypes, items: type },
    description: text,
    enum: { type: 'array', minItems: 1 },
    pattern: text,
    minLength: count,
    maxLength: count,
    minItems: count,
    maxItems: count,
    minProperties: count,
    maxProperties: count,
    minimum: number,
    maximum: number,
    items: { type: 'object' },
    properties: { type: 'object' },
    required: { type: 'array', items: text },
    additionalProperties: { type: ['boolean', 'object'] },
    propertyNames: { type: 'object' },
    discriminator: { type: 'object', properties: { propertyName: text }, required: ['propertyName'] },
    oneOf: { type: 'array', items: { type: 'object' } },
  } satisfies Record<keyof Shape, Shape>
}

const isRecord = (value: unknown): value is object => typeof value === 'object' && value !== null
const checked = new WeakSet<object>()

/**
 * Returns the problems of a shape that an extension point declares, such as unknown keywords or operands of the wrong
 * type. Each shape is checked once.
 */
function problemsOfShape(shape: unknown, path: string): ShapeProblem[] {
  if (!isRecord(shape) || checked.has(shape)) {
    return isRecord(shape) ? [] : findShapeProblems({ type: 'object' }, shape, path)
  }
  checked.add(shape)
  const own = findShapeProblems(knownShape, shape, path)
  if (own.length > 0) {
    checked.delete(shape)
    return own
  }
  const { items, properties = {}, additionalProperties, propertyNames, oneOf = [] } = shape as Shape
  const inner: readonly (readonly [place: string, shape: unknown])[] = [
    ...(items === undefined ? [] : [[`${path}.items`, items] as const]),
    ...(propertyNames === undefined ? [] : [[`${path}.propertyNames`, propertyNames] as const]),
    ...(typeof additionalProperties === 'object'
      ? [[`${path}.additionalProperties`, additionalProperties] as const]
      : []),
    ...oneOf.map((one, index) => [`${path}.oneOf[${index}]`, one] as const),
    ...Object.entries(properties).map(([name, one]) => [appendPathProperty(`${path}.properties`, name), one] as const),
  ]
  const problems = inner.flatMap(([place, one]) => problemsOfShape(one, place))
  if (problems.length > 0) checked.delete(shape)
  return problems
}

/** Shape of a property of a declaration, and an example for error messages. */
type Member = readonly [shape: Shape, example: string]

const { localized, text, flag, list, map, record, integer, among } = shape
const run = shape.function

const permission = record<PermissionDeclaration>(
  { code: shape.coded, displayName: localized },
  { description: localized, perConfigGroup: flag },
)

const installTask = record<InstallTask<Declared>>(
  {
    code: shape.kebab,
    displayName: localized,
    order: integer(),
    required: flag,
    retryable: flag,
    isCompleted: run,
    run,
  },
  { dependencies: list(text) },
)

const scheduledTask = record<ScheduledTask<Declared>>(
  {
    name: shape.dotted,
    displayName: localized,
    fixedDelay: {
      type: ['integer', 'string'],
      description: 'a number of milliseconds above 0, or a key of the plugin',
      minimum: 1,
    },
    autoStartup: { type: ['boolean', 'string'], description: 'true, false, or a key of the plugin' },
    run,
  },
  { nameFrom: text, irreversible: flag },
)

const outgoingHost: Shape = {
  type: 'string',
  pattern: '^(\\*|(\\*\\.)?[a-z0-9-]+(\\.[a-z0-9-]+)*)$',
  description: 'a lower-case host name without protocol and port, *.name or *',
}

const command = record<CommandDeclaration<Declared>>(
  {
    name: {
      type: 'string',
      pattern: '^[a-z][a-z0-9-]*( [a-z][a-z0-9-]*)*$',
      description: 'lower-case words, such as "sms balance"',
    },
    summary: text,
    run,
  },
  {
    arguments: list(record<{ name: string; description: string }>({ name: text, description: text })),
    options: list(record<{ flags: string; description: string }>({ flags: text, description: text })),
    setsUp: among(['all', 'needed', 'possible']),
  },
)

const changeSet: Shape = {
  type: 'object',
  description: 'a change set made by defineChangeSet()',
  properties: {
    id: {
      type: 'string',
      pattern: '^\\d{4}(-[a-z0-9]+)+$',
      description: 'four digits and lower-case words, such as "0001-create-order"',
    },
    up: run,
    data: run,
    breaking: text,
  },
  required: ['id'],
}

const messageTree: { type: ['string', 'object']; description: string; additionalProperties?: Shape } = {
  type: ['string', 'object'],
  description: 'text, or an object of texts',
}
messageTree.additionalProperties = messageTree

const bilingual = "{ en: 'Orders', 'zh-CN': '订单' }"
const change = "defineChangeSet({ id: '0001-create-order', up: ({ schema, type }) => [...] })"

const members = {
  title: [localized, `title: ${bilingual}`],
  roles: [list(among(roles), 1), "roles: ['web', 'worker']"],
  suppliesConfiguration: [flag, 'suppliesConfiguration: true'],
  requires: [{ type: 'object' }, 'requires: { http }'],
  provides: [{ type: 'array' }, 'provides: [orders]'],
  extensionPoints: [{ type: 'array' }, 'extensionPoints: [courier], see docs/how-to/extension-point.md'],
  contributes: [{ type: 'array' }, 'contributes: [notificationChannel]'],
  businessErrors: [
    list({
      type: ['function', 'object'],
      properties: { area: shape.text, codes: map(among(businessCodes)) },
      required: ['area', 'codes'],
    }),
    "businessErrors: [defineBusinessErrors('shop', en.shop, { 'order-paid': '409' })]",
  ],
  config: [{ type: 'object' }, "config: { 'platform.shop.limit': key.integer({ title, default: 5 }) }"],
  configGroups: [map(localized), `configGroups: { shop: ${bilingual} }`],
  permissions: [list(permission), `permissions: [{ code: 'shop:order:view', displayName: ${bilingual} }]`],
  migrations: [list(changeSet), `migrations: [${change}]`],
  processTables: [list(text), "processTables: ['shop_presence']"],
  entities: [
    list({ type: 'object', description: 'an entity made by defineEntity(), or a class of one' }),
    "entities: [defineEntity({ name: 'Order', ... })]",
  ],
  messages: [
    { type: 'object', properties: { en: messageTree, 'zh-CN': messageTree }, additionalProperties: false },
    "messages: { en: { shop: { sold: '{{count}} sold' } }, 'zh-CN': { shop: { sold: '已售 {{count}}' } } }",
  ],
  installTasks: [
    list(installTask),
    `installTasks: [{ code: 'check-shop', displayName: ${bilingual}, order: 500, required: true, retryable: true, isCompleted, run }]`,
  ],
  scheduledTasks: [
    list(scheduledTask),
    `scheduledTasks: [{ name: 'shop.poll', displayName: ${bilingual}, fixedDelay: 60_000, autoStartup: true, run }]`,
  ],
  outgoingHosts: [list(outgoingHost), "outgoingHosts: ['api.acme.example', '*.acme.example']"],
  commands: [list(command), "commands: [{ name: 'shop list', summary: 'list the orders', run }]"],
  implements: [list(among(implementedMembers)), "implements: ['messages']"],
  setupDeadlineMs: [integer(1), 'setupDeadlineMs: 20_000'],
  setup: [run, 'setup: ({ services, provide }) => { ... }'],
  settingsFileKey: [shape.text, "settingsFileKey: 'platform.shop.settings-file'"],
  fallbackStart: [run, 'fallbackStart: ({ code }) => ({ ... })'],
} as const satisfies Partial<Record<keyof Plugin, Member>>

/** The properties of a declaration that have a shape. */
export const declarationMembers: readonly string[] = Object.keys(members)

/**
 * Checks the properties of a declaration. Returns the plugin without the invalid parts, so that later checks need not
 * handle them.
 */
export function checkShapes(plugin: Plugin, report: ReportProblem): Plugin {
  const replaced: Record<string, unknown> = {}
  for (const [member, [expected, example]] of Object.entries<Member>(members)) {
    const value: unknown = Reflect.get(plugin, member)
    if (value === undefined) continue
    const problems = findShapeProblems(expected, value, member)
    if (member === 'extensionPoints' && Array.isArray(value)) problems.push(...pointProblems(value))
    if (member === 'contributes' && Array.isArray(value)) problems.push(...contributionProblems(value))
    if (member === 'settingsFileKey' && plugin.config?.[String(value)] === undefined) {
      problems.push({ path: member, clause: 'must be a key in `config` of the plugin.' })
    }
    if (problems.length === 0) continue
    for (const { path, clause } of problems) {
      report('PLINTH_PLAN_INVALID_DECLARATION', path, { path, clause, example }, plugin.id)
    }
    const { items = {} } = expected
    replaced[member] = Array.isArray(value)
      ? value.filter((one) => findShapeProblems(items, one).length === 0)
      : undefined
  }
  return Object.keys(replaced).length === 0 ? plugin : { ...plugin, ...replaced }
}

/** Returns the problems of the rules that the extension points declare for their contributions. */
function pointProblems(points: readonly unknown[]) {
  return points.flatMap((point, index) => {
    const { names, shape: contract, namedBy }: Readonly<Record<string, unknown>> = Object(point)
    const place = `extensionPoints[${index}]`
    return [
      ...(names === undefined ? [] : problemsOfShape(names, `${place}.names`)),
      ...(contract === undefined ? [] : problemsOfShape(contract, `${place}.shape`)),
      ...(namedBy === undefined ? [] : findShapeProblems(text, namedBy, `${place}.namedBy`)),
    ]
  })
}

const declaredValues: Shape = { type: 'function', description: 'a list, an object or a function' }

/** Returns the problems of entries of `contributes` whose contributions are no values, for example by an import cycle. */
function contributionProblems(entries: readonly unknown[]) {
  return entries.flatMap((entry, index) => {
    const point: object = Object(Object(entry).ref ?? entry)
    if (!('values' in point)) return []
    return findShapeProblems(declaredValues, point.values, `contributes[${index}].values`)
  })
}

const nonEmpty: Shape = { type: 'string', minLength: 1, maxLength: 200 }

/**
 * Checks a contribution against the rules of its extension point.
 *
 * @throws PlinthError `PLINTH_CONTRIBUTION_INVALID` with every violated rule
 */
export function assertContribution(
  plugin: string,
  point: ExtensionPoint<AnyReferenceType>,
  name: unknown,
  implementation: unknown,
): void {
  const problems = [
    ...findShapeProblems(point.names ?? nonEmpty, name, 'the name'),
    ...findShapeProblems(point.shape ?? shape.anything, implementation),
    ...misnamed(point, name, implementation),
  ]
  if (problems.length === 0) return
  const details = {
    plugin,
    name: typeof name === 'string' ? name : describeValue(name),
    point: point.id,
    count: problems.length,
    problems: problems.map(({ path, clause }) => `${path === '' ? 'the contribution' : path} ${clause}`).join(' '),
    origin: point.from ?? '@plinth/kernel',
  }
  throw kernelError('PLINTH_CONTRIBUTION_INVALID', details)
}

/** Returns a problem if the name of a contribution differs from its property `namedBy`, for example `id`. */
function misnamed(
  { namedBy }: ExtensionPoint<AnyReferenceType>,
  name: unknown,
  implementation: unknown,
): ShapeProblem[] {
  if (namedBy === undefined) return []
  const member = memberAt(implementation, namedBy)
  if (typeof member !== 'string' || member === name) return []
  return [
    { path: 'the name', clause: `must equal its ${namedBy} ${JSON.stringify(member)}, but is ${describeValue(name)}.` },
  ]
}
