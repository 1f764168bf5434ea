import type { Plugin } from '@plinth/kernel'
import type { PluginChangeSets } from '@plinth/migrations'
import { createIdNode } from './0001-create-id-node.ts'
import { createClock } from './0002-create-clock.ts'

export const changeSets = [createIdNode, createClock]

/**
 * Returns the change sets in the order of application. Those of `database` come first, because change sets of other
 * plugins use its ids.
 */
export function changeSetsOf(plugins: readonly Pick<Plugin, 'id' | 'migrations'>[]): PluginChangeSets[] {
  const own = plugins.filter(({ migrations }) => migrations === changeSets)
  const others = plugins.filter(({ migrations }) => migrations !== changeSets)
  return [...own, ...others].map(({ id, migrations = [] }) => ({ plugin: id, changeSets: migrations }))
}
