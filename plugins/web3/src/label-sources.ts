import { type LabelSource, labelsWith } from '@plinth/admin'
import type { ChainRegistry } from './chains/chain-registry.ts'
import { permissionCodes } from './permissions.ts'

/** Labels of chains by name, which orders and logs contain. */
export function chainLabels(registry: Pick<ChainRegistry, 'list'>): LabelSource {
  const labels = async () =>
    (await registry.list()).map(({ name, chainId }) => ({ id: name, name: `${name} (${chainId})` }))
  return {
    permission: permissionCodes.chainView,
    scope: 'none',
    byIds: async (ids) => (await labels()).filter(({ id }) => ids.includes(id)),
    search: async (text) => labelsWith(await labels(), text),
  }
}
