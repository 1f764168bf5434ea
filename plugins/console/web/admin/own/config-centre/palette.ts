import type { PaletteSource } from '../own-pages.tsx'
import { type KeyList, operationIds } from './config-types.ts'

/** Finds keys by their title or their name. */
const configKeys: PaletteSource = async (api, { id, operations }, signal) => {
  const keys = operations[operationIds.keys]
  if (keys === undefined) return []
  const { groups } = await api.call<KeyList>(keys, { signal })
  return groups.flatMap(({ group, items }) =>
    items.map(({ key, displayTitle }) => ({
      id: `key ${key}`,
      label: displayTitle,
      description: key,
      href: `/${id}?${new URLSearchParams({ group, key })}`,
    })),
  )
}

export default configKeys
