import { filterLabels, type LabelSource } from '@plinth/admin'
import type { ChainRegistry } from './chains/chain-registry.ts'
import { permissionCodes } from './declarations.ts'

/** Labels of chains. The id of a label is the name of the chain, because orders and logs contain it. */
export function chainLabels(registry: Pick<ChainRegistry, 'list'>): LabelSource {
  const labels = async () =>
    (await registry.list()).map(({ name, chainId }) => ({ id: name, name: `${name} (${chainId})` }))
  return {
    permission: permissionCodes.chainView,
    scope: 'none',
    byIds: async (ids) => (await labels()).filter(({ id }) => ids.includes(id)),
    search: async (text) => filterLabels(await labels(), text),
  }
}
