import { inBothLocales, type JsonSchema, type Localized } from '@plinth/config-schema'
import { collectKeys, type OwnedKey } from '@plinth/config-schema/reading'
import { orderByDependency } from './dependency-graph.ts'
import type { KernelErrorCode } from './errors/kernel-errors.ts'
import { kernelPlugin } from './kernel-plugin.ts'
import type { Plugin } from './plugin.ts'
import type { TextParams } from './text/text.ts'

/** Reports a problem of a declaration. */
export type ReportProblem = (code: KernelErrorCode, place: string, details: TextParams, plugin?: string) => void

/** Commands of the `plinth` program itself. Plugins may add commands to the groups `config` and `plugins`. */
const kernelCommands = ['start', 'doctor', 'help', 'config', 'plugins'].concat(
  ['list', 'get', 'explain'].map((word) => `config ${word}`),
  ['list', 'graph', 'why'].map((word) => `plugins ${word}`),
)

type NamesOf = (plugin: Plugin) => readonly string[]

/**
 * Properties of a declaration whose names must be unique in the product. Each has a word for error messages, and a
 * function that reads the names.
 */
const uniqueNames = {
  provides: ['service', ({ provides = [] }) => provides.map(({ id }) => id)],
  extensionPoints: ['extension point', ({ extensionPoints = [] }) => extensionPoints.map(({ id }) => id)],
  permissions: ['permission', ({ permissions = [] }) => permissions.map(({ code }) => code)],
  installTasks: ['install task', ({ installTasks = [] }) => installTasks.map(({ code }) => code)],
  scheduledTasks: ['scheduled task', ({ scheduledTasks = [] }) => scheduledTasks.map(({ name }) => name)],
  commands: [
    'command',
    (plugin) => (plugin === kernelPlugin ? kernelCommands : (plugin.commands ?? []).map(({ name }) => name)),
  ],
  migrations: ['change set', ({ id, migrations = [] }) => migrations.map((changeSet) => `${id}/${changeSet.id}`)],
} satisfies Readonly<Record<string, readonly [kind: string, NamesOf]>>

const duplicateCodes: Readonly<Record<string, KernelErrorCode>> = {
  provides: 'PLINTH_PLAN_DUPLICATE_SERVICE',
  extensionPoints: 'PLINTH_PLAN_DUPLICATE_EXTENSION_POINT',
}

/** Returns the first plugin that declares each name. Reports every other plugin that declares the same name. */
export function findOwners(
  member: keyof typeof uniqueNames,
  plugins: readonly Plugin[],
  report: ReportProblem,
): Map<string, string> {
  const [kind, namesOf] = uniqueNames[member]
  const owners = new Map<string, string>()
  for (const plugin of plugins) {
    for (const name of namesOf(plugin)) {
      const other = owners.get(name)
      const code = duplicateCodes[member] ?? 'PLINTH_PLAN_DUPLICATE_DECLARATION'
      if (other === undefined) owners.set(name, plugin.id)
      else report(code, member, { kind, name, other }, plugin.id)
    }
  }
  return owners
}

const keyProblems: Readonly<Record<string, KernelErrorCode>> = {
  name: 'PLINTH_PLAN_KEY_PREFIX',
  default: 'PLINTH_PLAN_INVALID_DEFAULT',
  'duplicate-key': 'PLINTH_PLAN_DUPLICATE_KEY',
  'duplicate-variable': 'PLINTH_PLAN_DUPLICATE_ENVIRONMENT_NAME',
  'secret-destination': 'PLINTH_PLAN_SECRET_DESTINATION',
}

/** Returns the valid keys of all plugins. */
export function collectPluginKeys(plugins: readonly Plugin[], report: ReportProblem): ReadonlyMap<string, OwnedKey> {
  const owners = plugins.map(({ id, config: keys = {}, configGroups: groups = {} }) => ({ plugin: id, keys, groups }))
  // A group that no plugin gives a title has the title of the plugin with its name.
  const titles = plugins.flatMap(({ id, title }) => (title ? { plugin: id, keys: {}, groups: { [id]: title } } : []))
  const { keys, faults } = collectKeys([...owners, ...titles])
  for (const { plugin, key, rule, message, other } of faults) {
    const first = other && { owner: other.plugin, other: other.key, env: other.env }
    const code = keyProblems[rule] ?? 'PLINTH_PLAN_INVALID_KEY'
    report(code, `config["${key}"]`, { key, reason: message, ...first }, plugin)
  }
  return keys
}

/** Checks the declarations that have no separate check: all except services, extension points and keys. */
export function checkDeclarations(plugins: readonly Plugin[], report: ReportProblem): void {
  for (const member of ['permissions', 'installTasks', 'scheduledTasks', 'commands', 'migrations'] as const) {
    findOwners(member, plugins, report)
  }
  for (const plugin of plugins) checkTaskKeys(plugin, report)
  checkInstallTasks(plugins, report)
  checkGroupTitles(plugins, report)
  for (const { id, roles, migrations = [], entities = [] } of plugins) {
    // Any process may be the first one that migrates the database. Therefore a plugin with tables must load in all
    // roles.
    if (roles === undefined || migrations.length + entities.length === 0) continue
    report('PLINTH_PLAN_TABLES_IN_ROLES', 'roles', { roles: roles.join(', ') }, id)
  }
}

/**
 * Properties of scheduled tasks that may contain a key: the check of the type of the key, and the builder for such
 * keys.
 */
const taskKeys = [
  ['fixedDelay', ({ format }: JsonSchema) => format === 'duration', 'key.duration'],
  ['autoStartup', ({ type }: JsonSchema) => type === 'boolean', 'key.boolean'],
  ['nameFrom', ({ type }: JsonSchema) => type === 'string', 'key.string'],
] as const

function checkTaskKeys({ id, config = {}, scheduledTasks = [] }: Plugin, report: ReportProblem): void {
  for (const [index, task] of scheduledTasks.entries()) {
    for (const [member, isOfType, builder] of taskKeys) {
      const key = task[member]
      if (typeof key !== 'string') continue
      const declaration = Object.hasOwn(config, key) ? config[key] : undefined
      const place = `scheduledTasks[${index}].${member}`
      const details = { task: task.name, member, key }
      if (declaration === undefined) report('PLINTH_PLAN_TASK_KEY', place, details, id)
      else if (!isOfType(Object(declaration.schema))) {
        report('PLINTH_PLAN_TASK_KEY_TYPE', place, { ...details, builder }, id)
      }
    }
  }
}

function checkInstallTasks(plugins: readonly Plugin[], report: ReportProblem): void {
  const tasks = plugins.flatMap(({ id, installTasks = [] }) => installTasks.map((task) => ({ ...task, plugin: id })))
  const { cycles } = orderByDependency(tasks, ({ code, dependencies = [] }) => ({ name: code, needs: dependencies }))
  for (const path of cycles) {
    const details = { kind: 'Install tasks', path: path.map(({ code }) => code).join(' -> ') }
    report('PLINTH_PLAN_DEPENDENCY_CYCLE', 'installTasks', details, path[0]?.plugin)
  }
}

/** Reports different titles for one group, because it would be unclear which one to show. */
function checkGroupTitles(plugins: readonly Plugin[], report: ReportProblem): void {
  const titles = new Map<string, { readonly plugin: string; readonly title: Localized }>()
  for (const { id, configGroups = {} } of plugins) {
    for (const [group, text] of Object.entries(configGroups)) {
      const title = inBothLocales(text)
      const first = titles.get(group)
      if (first === undefined) titles.set(group, { plugin: id, title })
      const locale = (['en', 'zh-CN'] as const).find((one) => (first?.title ?? title)[one] !== title[one])
      if (first === undefined || locale === undefined) continue
      const details = { group, title: title[locale], other: first.plugin, otherTitle: first.title[locale] }
      report('PLINTH_PLAN_GROUP_TITLED_TWICE', `configGroups["${group}"]`, details, id)
    }
  }
}
