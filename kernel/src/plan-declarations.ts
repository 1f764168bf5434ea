import { environmentNameOf, type KeyDeclarations, validateDeclaration } from '@plinth/config-schema'
import type { OwnedKey } from './config-reading.ts'
import { orderByDependency } from './dependency-graph.ts'
import type { ErrorDetails, KernelErrorCode } from './errors.ts'
import { kernelKeys } from './kernel-keys.ts'
import type { Plugin } from './plugin.ts'

/** Owner name of what the kernel itself declares. */
export const kernelOwner = 'kernel'

/** Enters one problem of a plugin. */
export type Report = (code: KernelErrorCode, place: string, details: ErrorDetails, plugin?: string) => void

/** The first plugin that declares each name, the kernel's own names before all; every later one is reported. */
export function collectOwners(
  plugins: readonly Plugin[],
  ofKernel: readonly string[],
  namesOf: (plugin: Plugin) => readonly string[],
  reportTaken: (name: string, other: string, plugin: string) => void,
): Map<string, string> {
  const owners = new Map(ofKernel.map((name) => [name, kernelOwner]))
  for (const plugin of plugins) {
    for (const name of namesOf(plugin)) {
      const other = owners.get(name)
      if (other === undefined) owners.set(name, plugin.id)
      else reportTaken(name, other, plugin.id)
    }
  }
  return owners
}

const declarationFaults: Readonly<Record<string, KernelErrorCode>> = {
  name: 'PLINTH_PLAN_KEY_PREFIX',
  default: 'PLINTH_PLAN_INVALID_DEFAULT',
}

/** Keys of the kernel and of all plugins; faulty ones are reported and left out. */
export function collectKeys(plugins: readonly Plugin[], report: Report): Map<string, OwnedKey> {
  const keys = new Map<string, OwnedKey>()
  const byVariable = new Map<string, string>()
  const declared: [string, KeyDeclarations][] = [
    [kernelOwner, kernelKeys],
    ...plugins.map(({ id, config = {} }): [string, KeyDeclarations] => [id, config]),
  ]
  for (const [plugin, config] of declared) {
    for (const [key, declaration] of Object.entries(config)) {
      const place = `config["${key}"]`
      const other = keys.get(key)
      if (other !== undefined) {
        report('PLINTH_PLAN_DUPLICATE_KEY', place, { key, other: other.plugin }, plugin)
        continue
      }
      const faults = validateDeclaration(key, declaration)
      for (const { rule, message } of faults) {
        report(declarationFaults[rule] ?? 'PLINTH_PLAN_INVALID_KEY', place, { key, reason: message }, plugin)
      }
      if (faults.some(({ rule }) => rule !== 'default')) continue
      const env = environmentNameOf(key, declaration)
      const taken = byVariable.get(env)
      if (taken !== undefined) {
        report('PLINTH_PLAN_DUPLICATE_ENVIRONMENT_NAME', place, { key, other: taken, env }, plugin)
      }
      byVariable.set(env, key)
      keys.set(key, { key, plugin, env, declaration })
    }
  }
  return keys
}

/** What plugins declare beside services, extension points and keys. */
export function checkDeclarations(plugins: readonly Plugin[], report: Report): void {
  checkUnique(plugins, report)
  checkTasks(plugins, report)
  checkTables(plugins, report)
}

/** Commands of the `plinth` program itself; its groups take in others. */
const ownCommands = ['start', 'doctor', 'help', 'config', 'plugins'].concat(
  ['list', 'get', 'explain'].map((word) => `config ${word}`),
  ['list', 'graph', 'why'].map((word) => `plugins ${word}`),
)

/** Declarations that must be unique over the product. */
const uniqueDeclarations: readonly (readonly [string, string, (plugin: Plugin) => readonly string[]])[] = [
  ['permission', 'permissions', ({ permissions = [] }) => permissions.map(({ code }) => code)],
  ['install task', 'installTasks', ({ installTasks = [] }) => installTasks.map(({ code }) => code)],
  ['scheduled task', 'scheduledTasks', ({ scheduledTasks = [] }) => scheduledTasks.map(({ name }) => name)],
  ['command', 'commands', ({ commands = [] }) => commands.map(({ name }) => name)],
  ['change set', 'migrations', ({ id, migrations = [] }) => migrations.map((changeSet) => `${id}/${changeSet.id}`)],
]

/** Names that must be unique over the product. */
function checkUnique(plugins: readonly Plugin[], report: Report): void {
  for (const [kind, place, namesOf] of uniqueDeclarations) {
    collectOwners(plugins, kind === 'command' ? ownCommands : [], namesOf, (name, other, id) =>
      report('PLINTH_PLAN_DUPLICATE_DECLARATION', place, { kind, name, other }, id),
    )
  }
}

function checkTasks(plugins: readonly Plugin[], report: Report): void {
  for (const { id, config = {}, scheduledTasks = [] } of plugins) {
    for (const task of scheduledTasks) {
      for (const member of ['fixedDelay', 'autoStartup'] as const) {
        const key = task[member]
        if (typeof key !== 'string' || Object.hasOwn(config, key)) continue
        report('PLINTH_PLAN_TASK_KEY', 'scheduledTasks', { task: task.name, member, key }, id)
      }
    }
  }
  const tasks = plugins.flatMap(({ id, installTasks = [] }) => installTasks.map((task) => ({ id, task })))
  const byCode = new Map(tasks.map(({ id, task }) => [task.code, { id, task }]))
  const { cycles } = orderByDependency([...byCode.keys()], (code) => byCode.get(code)?.task.dependencies ?? [])
  for (const path of cycles) {
    const plugin = byCode.get(path[0] ?? '')?.id
    report('PLINTH_PLAN_DEPENDENCY_CYCLE', 'installTasks', { kind: 'Install tasks', path: path.join(' -> ') }, plugin)
  }
}

/** The database is migrated by whatever process comes first, so every process must know all change sets. */
function checkTables(plugins: readonly Plugin[], report: Report): void {
  for (const { id, roles, migrations = [], entities = [] } of plugins) {
    if (roles === undefined || migrations.length + entities.length === 0) continue
    report('PLINTH_PLAN_TABLES_IN_ROLES', 'roles', { roles: roles.join(', ') }, id)
  }
}
