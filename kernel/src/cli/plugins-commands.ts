import { didYouMean } from '@plinth/config-schema/reading'
import type { Command } from 'commander'
import { kernelError } from '../errors/kernel-errors.ts'
import { kernelPlugin, kernelVersion } from '../kernel-plugin.ts'
import { planProduct } from '../plan.ts'
import { type Plugin, type Role, roles } from '../plugin.ts'
import { type PreparedProduct, prepareProduct } from '../product.ts'
import { unwrapOptional } from '../refs.ts'
import { addRemoveCommand } from './remove-command.ts'
import { type CommandScope, parseRoles } from './scope.ts'

const defaultRoles: readonly Role[] = ['web', 'worker']

export function addPluginsCommands(program: Command, scope: CommandScope): void {
  const plugins = program
    .command('plugins')
    .alias('plugin')
    .summary('show the plugins of the product and how they depend on each other')
  const withRoles = (command: Command) =>
    command.option('--role <roles>', 'plan for these roles', parseRoles(roles), defaultRoles)
  const prepare = (role: readonly Role[]): PreparedProduct => {
    const prepared = prepareProduct(scope.product(), { ...scope.options(), roles: role })
    for (const { place, message } of [...prepared.plan.problems, ...prepared.plan.warnings])
      scope.output.progress(`${place}: ${message}`)
    return prepared
  }

  withRoles(plugins.command('list').summary('all plugins in set-up order')).action(
    ({ role }: { role: readonly Role[] }) => {
      const { plan } = prepare(role)
      const rows = [
        ...plan.plugins.map((plugin) => summarize(plugin, 'loads')),
        ...plan.inactive.map((plugin) => summarize(plugin, `only in role ${plugin.roles?.join(', ')}`)),
      ]
      const lines = rows.map(({ id, version, state, provides, kernel }) => {
        return [id, version, state, kernel.join(', '), provides.join(', ')]
      })
      scope.output.table(rows, [['PLUGIN', 'VERSION', 'STATE', 'KERNEL SERVICES', 'PROVIDES'], ...lines])
    },
  )

  withRoles(plugins.command('graph').summary('who needs whom, and through which service or extension point')).action(
    ({ role }: { role: readonly Role[] }) => {
      const { plan } = prepare(role)
      const edges = [...plan.dependencies].flatMap(([plugin, needs]) => needs.map((need) => ({ plugin, ...need })))
      const text = plan.plugins.map(({ id }) => {
        const needs = (plan.dependencies.get(id) ?? []).map(({ on, via, ref }) => `\n  <- ${on}  (${via} ${ref})`)
        return `${id}${needs.join('')}`
      })
      scope.output.result({ order: plan.plugins.map(({ id }) => id), edges }, text.join('\n'))
    },
  )

  withRoles(plugins.command('why').summary('why a plugin, service, extension point or key is there, and who needs it'))
    .argument('<name>')
    .action((name: string, { role }: { role: readonly Role[] }) => {
      const response = why(name, prepare(role))
      scope.output.result(response, response.lines.join('\n'))
    })
  addRemoveCommand(plugins, scope)
}

const servicesOfKernel: ReadonlySet<string> = new Set(kernelPlugin.provides?.map(({ id }) => id))

function requirementsOf({ requires = {} }: Plugin): { readonly ref: string; readonly via: 'requires' | 'optional' }[] {
  return Object.values(requires).map((need) => ({
    ref: unwrapOptional(need).id,
    via: need.kind === 'optional' ? 'optional' : 'requires',
  }))
}

const summarize = (plugin: Plugin, state: string) => ({
  id: plugin.id,
  version: plugin.version,
  state,
  /**
   * The services of the kernel that the plugin requires. They show, for example, which plugins can change the
   * configuration of others.
   */
  kernel: requirementsOf(plugin).flatMap(({ ref }) => (servicesOfKernel.has(ref) ? [ref] : [])),
  provides: (plugin.provides ?? []).map((ref) => ref.id),
})

interface WhyResult {
  readonly name: string
  readonly kind: 'plugin' | 'service' | 'extension point' | 'key'
  readonly lines: readonly string[]
}

function why(name: string, prepared: PreparedProduct): WhyResult {
  const { plan, config } = prepared
  const users = [...plan.dependencies].flatMap(([plugin, needs]) => needs.map((need) => ({ plugin, ...need })))
  const plugin = [...plan.plugins, ...plan.inactive].find(({ id }) => id === name)
  if (plugin !== undefined) {
    const dependants = users.filter(({ on }) => on === name)
    return {
      name,
      kind: 'plugin',
      lines: [
        plan.plugins.includes(plugin) ? `${name} ${plugin.version} loads.` : `${name} loads in other roles only.`,
        ...(plan.dependencies.get(name) ?? []).map(({ on, via, ref }) => `needs ${on} (${via} ${ref})`),
        ...dependants.map((user) => `needed by ${user.plugin} (${user.via} ${user.ref})`),
        ...withoutIt(name, prepared),
      ],
    }
  }
  const provider = plan.providers.get(name)
  if (provider !== undefined) {
    const lines = plan.plugins.flatMap((user) =>
      requirementsOf(user).flatMap(({ ref, via }) => (ref === name ? [`used by ${user.id} (${via})`] : [])),
    )
    return { name, kind: 'service', lines: [`provided by ${provider}`, ...lines] }
  }
  const owner = plan.owners.get(name)
  if (owner !== undefined) {
    const contributors = plan.plugins.filter(({ contributes = [] }) =>
      contributes.some((need) => unwrapOptional(need).id === name),
    )
    return {
      name,
      kind: 'extension point',
      lines: [`owned by ${owner}`, ...contributors.map(({ id }) => `contributed to by ${id}`)],
    }
  }
  const explained = config.explain(name)
  if (explained !== undefined) {
    const { place } = explained.effective
    return { name, kind: 'key', lines: [`owned by ${explained.plugin}`, `value from ${place}`] }
  }
  const known = [...plan.dependencies.keys(), ...plan.providers.keys(), ...plan.owners.keys(), ...plan.keys.keys()]
  throw kernelError('PLINTH_CLI_USAGE', {
    reason: `"${name}" is not a plugin, service, extension point or key of this product.${didYouMean(name, known)}`,
    command: 'plinth plugins why',
  })
}

/** Returns the problems that the product would have without the plugin. */
function withoutIt(name: string, { plan, product, roles }: PreparedProduct): string[] {
  const rest = product.plugins.filter(({ id }) => id !== name)
  const { problems } = planProduct(rest, { kernelVersion, roles })
  const known = new Set(plan.problems.map(({ message }) => message))
  const fresh = problems.filter(({ message }) => !known.has(message))
  return fresh.length === 0
    ? ['The product would start without it.']
    : fresh.map((found) => `without it, ${found.plugin} is refused: ${found.message}`)
}
