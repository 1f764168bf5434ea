import {
  definePlugin,
  extensionPoint,
  type KeyDeclarations,
  key,
  type LocalizedText,
  type Plugin,
  service,
} from '@plinth/kernel'
import { planProduct } from '@plinth/kernel/host'

/** Times in milliseconds that were measured in one process. */
export interface PlanTimes {
  readonly first: number
  readonly warm: number
}

const pluginCount = 200
const serviceOf = (plugin: number, index: number) => service<object>(`bench.service-${plugin}-${index}`)
const pointOf = (plugin: number) => extensionPoint<object>(`bench.point-${plugin}`)
const servicesOf = (plugin: number) => [0, 1, 2].slice(0, 1 + (plugin % 3)).map((index) => serviceOf(plugin, index))

/** Returns a typical plugin with a few services, requirements on earlier plugins, and keys of common types. */
function samplePlugin(plugin: number): Plugin {
  const earlier = [plugin - 1, plugin - 7, Math.floor(plugin / 2)].filter((other) => other >= 0 && other < plugin)
  return definePlugin({
    id: `bench.plugin-${plugin}`,
    version: '1.2.3',
    kernel: '^1.0.0',
    requires: Object.fromEntries(earlier.map((other) => [`service${other}`, serviceOf(other, 0)])),
    provides: servicesOf(plugin),
    extensionPoints: plugin % 10 === 0 ? [pointOf(plugin)] : [],
    contributes: plugin % 10 === 9 && plugin + 1 < pluginCount ? [pointOf(plugin + 1)] : [],
    config: sampleKeys(plugin),
    permissions: [{ code: `bench-${plugin}:view`, displayName: { en: 'View', 'zh-CN': '查看' } }],
  })
}

const withObjects = process.argv[2] === 'objects'

/**
 * Returns three to five keys. If objects are used, one plugin in ten has a key with an object, which needs a complete
 * JSON Schema.
 */
function sampleKeys(plugin: number): KeyDeclarations {
  const title = { en: `Key of plugin ${plugin}`, 'zh-CN': `插件 ${plugin} 的键` }
  const keys: KeyDeclarations[string][] = [
    key.boolean({ title, default: true, reload: 'live' }),
    key.duration({ title, default: `${1 + plugin}s`, minimum: '1s', maximum: '1h' }),
    key.string({ title, default: `name-${plugin}`, minLength: 1, maxLength: 20 + plugin }),
    plugin % 2 === 0
      ? key.integer({ title, default: 10, minimum: 1, maximum: 100 + plugin })
      : key.enum({ title, values: ['memory', 'redis', `store-${plugin}`], default: 'memory' }),
    lastKey(plugin, title),
  ]
  return Object.fromEntries(
    keys.slice(plugin % 3).map((declaration, index) => [`platform.bench.plugin-${plugin}.key-${index}`, declaration]),
  )
}

function lastKey(plugin: number, title: LocalizedText): KeyDeclarations[string] {
  if (withObjects && plugin % 10 === 0) {
    return key.object({ title, default: {}, schema: { properties: { [`limit${plugin}`]: { type: 'integer' } } } })
  }
  if (plugin % 4 === 1) return key.stringList({ title, default: ['en', `locale-${plugin}`], maxItems: 10 })
  return key.url({ title, sensitive: plugin % 3 === 0 })
}

/** The list is reversed, so that the planner has to find the order. */
const plugins = Array.from({ length: pluginCount }, (_, plugin) => samplePlugin(plugin)).reverse()
const timePlan = () => {
  const startedAt = performance.now()
  const { problems } = planProduct(plugins, { kernelVersion: '1.0.0', roles: ['web', 'worker'] })
  const milliseconds = performance.now() - startedAt
  if (problems.length > 0) throw new Error(JSON.stringify(problems.slice(0, 3)))
  return milliseconds
}
const first = timePlan()
const warm = Array.from({ length: 21 }, timePlan).sort((a, b) => a - b)[10] ?? Number.NaN
process.send?.({ first, warm } satisfies PlanTimes)
process.disconnect?.()
