import { kernelPlugin } from '../kernel-plugin.ts'
import { implementedMembers, isPlugin, type Plugin } from '../plugin.ts'
import { type Optional, refOf } from '../refs.ts'

/** Returns the plugins that a module exports: alone or in lists. */
export const pluginsIn = (module: object): readonly Plugin[] => Object.values(module).flat().filter(isPlugin)

/** Plugins that the defaults of another one name, by its id: messages are sent on the channel `log`. */
const companions: Readonly<Record<string, string>> = { notification: 'notification-channels.log' }

/**
 * Returns the plugins without which a plugin does not start: the providers of its services, the owners of its extension
 * points, and the plugins that implement its declarations, with their own requirements.
 *
 * @returns the plugins, and whether the candidates contain all of them
 */
export function neededBy(plugin: Plugin, candidates: readonly Plugin[]) {
  const chosen = new Set<Plugin>()
  let isComplete = true
  const add = (accepts: (candidate: Plugin) => boolean | undefined) => {
    const candidate = candidates.find(accepts)
    if (candidate === undefined) isComplete = false
    else if (!chosen.has(candidate)) {
      chosen.add(candidate)
      addRequirements(candidate)
      const companion = companions[candidate.id]
      if (companion !== undefined) add(({ id }) => id === companion)
    }
  }
  const addRequirements = ({ requires = {}, contributes = [] }: Plugin) => {
    for (const { kind, id } of [...Object.values(requires), ...contributes].flatMap(required)) {
      add((one) => (kind === 'service' ? one.provides : one.extensionPoints)?.some((other) => other.id === id))
    }
  }
  addRequirements(plugin)
  for (const member of implementedMembers) {
    if (Object.keys(plugin[member] ?? {}).length > 0) add((one) => one.implements?.includes(member))
  }
  return { plugins: candidates.filter((candidate) => chosen.has(candidate)), isComplete }
}

/** Services and extension points of the kernel are part of every product. */
const ofKernel = new Set(
  [...(kernelPlugin.provides ?? []), ...(kernelPlugin.extensionPoints ?? [])].map(({ id }) => id),
)

const required = <Reference extends { readonly kind: string; readonly id: string }>(
  need: Reference | Optional<Reference>,
) => (need.kind === 'optional' || ofKernel.has(refOf(need).id) ? [] : [refOf(need)])
