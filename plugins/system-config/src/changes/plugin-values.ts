import type { Plugin, PluginDataStore } from '@plinth/kernel'
import type { ConfigCentre, ConfigChange } from '../contract.ts'

/** Finds and removes the stored values of a plugin, for the removal of the plugin. The history is kept. */
export function createPluginValueStore(
  centre: Pick<ConfigCentre, 'list' | 'history' | 'save' | 'saveState' | 'instances'>,
): PluginDataStore {
  const storedOf = async ({ config = {} }: Plugin) =>
    (await centre.list('')).filter(({ key, stored }) => key in config && stored !== undefined)
  return {
    async find(plugin) {
      const keys = Object.keys(plugin.config ?? {})
      const values = (await storedOf(plugin)).map(({ key }) => ({ kind: 'stored value', name: key, rows: 1 }))
      const histories = await Promise.all(
        keys.map(async (key) => {
          const { total } = await centre.history({ key }, { size: 1, offset: 0, count: 'exact' })
          return { kind: 'history of value', name: key, rows: total ?? 0, isKept: true }
        }),
      )
      return [...values, ...histories.filter(({ rows }) => rows > 0)]
    },
    async obstacle() {
      const [first] = await centre.instances()
      if (first === undefined) return undefined
      return `an instance ran on ${first.host} (process ${first.pid}) at ${first.seenAt.toISOString()}`
    },
    async remove(plugin) {
      const values = await storedOf(plugin)
      const options = { actor: { name: 'cli' }, reason: `plinth plugins remove ${plugin.id}`, verify: false }
      const reset = (isState: boolean): readonly ConfigChange[] =>
        values
          .filter(({ declaration }) => (declaration?.state === true) === isState)
          .map(({ key }) => ({ key, action: 'reset' }))
      const [saved, state] = [reset(false), reset(true)]
      if (saved.length > 0) await centre.save(saved, options)
      if (state.length > 0) await centre.saveState(plugin.id, state, options)
    },
  }
}
