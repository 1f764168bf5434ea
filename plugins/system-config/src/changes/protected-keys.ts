import { bilingual, guardsPermission, localize } from '@plinth/kernel'
import type { CatalogueEntry } from '@plinth/kernel/host'
import type { Actor, KeyProblem } from '../contract.ts'
import { businessError, savePermission } from '../declarations.ts'
import type { StoredConfig } from '../storage/config-store.ts'
import { problem } from './change-check.ts'
import type { SettledChange } from './destinations.ts'

type Catalogue = ReadonlyMap<string, CatalogueEntry>

/** A key whose stored value would change, and a permission that the actor needs for it and does not have. */
interface DeniedKey {
  /** `title` is the key itself if no loaded plugin declares the key. */
  readonly entry: Pick<CatalogueEntry, 'key' | 'title'>
  readonly permission: string
}

/**
 * Returns the keys whose stored values would change although the actor lacks their permission (decision G8). Compares
 * the stored values before and after all changes, including secrets that the changes remove. A deprecated key also needs
 * the permission of its replacement, because its value applies to it.
 *
 * @param actor undefined or without `userId` and `can`: not a user, so no permission is needed
 */
export function deniedKeys(
  changes: readonly SettledChange[],
  stored: StoredConfig,
  catalogue: Catalogue,
  {
    userId,
    can = () => userId === undefined,
    mayChange = () => true,
  }: Pick<Actor, 'userId' | 'can' | 'mayChange'> = {},
): readonly DeniedKey[] {
  return changes.flatMap((change): DeniedKey[] => {
    const { key } = change
    const entry = catalogue.get(key)
    // A value that no loaded plugin declares belongs to no group. Its plugin may come back, and may use it as a guard.
    if (entry === undefined) {
      const permission = mayChange('') ? guardsPermission : savePermission
      // A key that is not stored does not exist, so no permission is checked.
      const isAllowed = mayChange('') && (!stored.values.has(key) || can(permission))
      return isAllowed ? [] : [{ entry: { key, title: { en: key, 'zh-CN': key } }, permission }]
    }
    if (!isStoredValueChanged(change, entry, stored)) return []
    const replacement = catalogue.get(entry.deprecated?.replacement ?? '')
    const concerned = replacement === undefined ? [entry] : [entry, replacement]
    const foreign = concerned.find(({ group }) => !mayChange(group))
    const permission =
      foreign === undefined
        ? concerned.flatMap((one) => one.permission ?? []).find((one) => !can(one))
        : `${savePermission}:${foreign.group}`
    return permission === undefined ? [] : [{ entry, permission }]
  })
}

/**
 * Returns whether the changes concern a secret, a key that decides about access and so has a permission of its own, or a
 * value that no loaded plugin declares.
 */
export const needsFreshProof = (
  changes: readonly SettledChange[],
  stored: StoredConfig,
  catalogue: Catalogue,
): boolean =>
  changes.some((change) => {
    const entry = catalogue.get(change.key)
    const isSecret = entry?.sensitive === true || stored.values.get(change.key)?.sensitive === true
    const permission = entry?.permission ?? catalogue.get(entry?.deprecated?.replacement ?? '')?.permission
    if (entry === undefined) return stored.values.has(change.key)
    return (isSecret || permission !== undefined) && isStoredValueChanged(change, entry, stored)
  })

/** For a secret, an equal value also counts as a change. Otherwise the result would confirm a correct guess. */
export function isStoredValueChanged(
  change: SettledChange,
  { sensitive }: CatalogueEntry,
  { values }: StoredConfig,
): boolean {
  const row = values.get(change.key)
  if (change.action === 'reset') return row !== undefined
  return sensitive || row?.value === undefined || JSON.stringify(row.value) !== JSON.stringify(change.value)
}

export const permissionProblems = (denied: readonly DeniedKey[], locale: string): readonly KeyProblem[] =>
  denied.map(({ entry, permission }) =>
    problem(
      entry.key,
      'permission',
      bilingual(`needs the permission ${permission}, which you do not have`, `需要权限 ${permission}，您没有此权限`),
      locale,
    ),
  )

/** @throws BusinessError `403`, reason `system-config.key-protected`, with the problems and the missing permissions */
export function assertNoneDenied(denied: readonly DeniedKey[], locale: string): void {
  if (denied.length === 0) return
  const permissions = [...new Set(denied.map(({ permission }) => permission))].sort()
  const keys = denied.map(({ entry }) => localize(entry.title, locale))
  throw businessError('key-protected', {
    params: { permissions: permissions.join(', '), keys: keys.join(', ') },
    data: { permissions, errors: permissionProblems(denied, locale) },
  })
}
