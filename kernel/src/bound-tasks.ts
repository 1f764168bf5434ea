import type { ConfigValues } from './configuration/config-values.ts'
import type { BoundInstallTask, BoundScheduledTask } from './contracts/kernel.ts'
import { orderByDependency } from './dependency-graph.ts'
import { kernelError, type Problem, problem } from './errors/kernel-errors.ts'
import type { Plugin } from './plugin.ts'
import type { PluginHost } from './plugin-host.ts'

/**
 * Returns the install tasks of all plugins in the order in which they run: sorted by `order` and code, but each task
 * after its dependencies.
 */
export function bindInstallTasks(hosts: readonly PluginHost[]): readonly BoundInstallTask[] {
  const bound = hosts.flatMap((host) =>
    (host.plugin.installTasks ?? []).map((task): BoundInstallTask => {
      const context = (signal: AbortSignal, note = (_text: string) => {}) => ({ ...host.runtime, signal, note })
      return {
        ...task,
        plugin: host.plugin.id,
        isCompleted: async (signal, note) => task.isCompleted(context(signal, note)),
        run: async (signal, note) => task.run(context(signal, note)),
      }
    }),
  )
  bound.sort((a, b) => a.order - b.order || (a.code < b.code ? -1 : 1))
  return orderByDependency(bound, ({ code, dependencies = [] }) => ({ name: code, needs: dependencies })).order
}

const tasksOf = (plugins: readonly Plugin[]) =>
  plugins.flatMap(({ id, scheduledTasks = [] }) => scheduledTasks.map((task) => ({ ...task, plugin: id })))

type OwnedTask = ReturnType<typeof tasksOf>[number]

const placeOf = ({ nameFrom, plugin }: OwnedTask) =>
  nameFrom === undefined ? `a task of plugin "${plugin}"` : `the one named by ${nameFrom}`

/**
 * Returns a problem for each key whose value gives a scheduled task the same name as another task. If a configured name
 * equals the default name of another task, only the key of the configured name is reported.
 */
export function findTaskNameProblems(config: ConfigValues, plugins: readonly Plugin[]): readonly Problem[] {
  const named = tasksOf(plugins).map((task) => {
    const effective = task.nameFrom === undefined ? undefined : config.explain(task.nameFrom)?.effective
    return { task, effective, name: effective?.value ?? task.name, isSet: effective && effective.source !== 'default' }
  })
  return named.flatMap(({ task, effective, name, isSet }) => {
    const other = named.find((one) => one.task !== task && one.name === name)
    if (effective === undefined || other === undefined || (other.isSet && !isSet)) return []
    const details = { name: String(name), other: placeOf(other.task) }
    return [problem('PLINTH_CONFIG_TASK_NAME', effective.place, details, task.plugin)]
  })
}

/**
 * Registers a check of the keys that rename scheduled tasks. The check rejects a name that another task would also have
 * after the save.
 */
export function verifyTaskNames(config: ConfigValues, plugins: readonly Plugin[]): void {
  const tasks = tasksOf(plugins)
  for (const own of tasks) {
    if (own.nameFrom === undefined) continue
    config.onVerify(own.plugin, own.nameFrom, (name, _signal, after) => {
      const nameOf = (task: OwnedTask) => (task.nameFrom === undefined ? task.name : after(task.nameFrom))
      const other = tasks.find((task) => task !== own && nameOf(task) === name)
      if (other !== undefined)
        throw kernelError('PLINTH_CONFIG_TASK_NAME', { name: String(name), other: placeOf(other) })
    })
  }
}

/**
 * Returns the scheduled tasks of all plugins. Delays and names are functions or getters that read the configuration, so
 * that a changed value applies without a restart.
 */
export function bindScheduledTasks(hosts: readonly PluginHost[]): readonly BoundScheduledTask[] {
  return hosts.flatMap((host) =>
    (host.plugin.scheduledTasks ?? []).map((task): BoundScheduledTask => {
      const current = (member: unknown) => (typeof member === 'string' ? host.valueOf(member) : member)
      return {
        plugin: host.plugin.id,
        // A getter, because the stored values are not yet known when the tasks are bound.
        get name() {
          return task.nameFrom === undefined ? task.name : (host.valueOf(task.nameFrom) as string)
        },
        displayName: task.displayName,
        fixedDelayMs: () => current(task.fixedDelay) as number,
        autoStartup: () => current(task.autoStartup) as boolean,
        irreversible: task.irreversible ?? false,
        run: async (signal) => task.run({ ...host.runtime, signal }),
      }
    }),
  )
}
